# draw.awk - draws the settings that the simulator's accuracy is judged on.
#
#     awk -v connections=8 -v seed=8 -f draw.awk > connections-8.ini
#
# Every setting is drawn at random, evenly on a logarithmic scale, and stands there depth-first and
# breadth-first, so that it can be seen which wins. No machine's figures go into it but a rough rate
# of the link and of the arithmetic, which keep a run between one and some tens of ms.

# Knuth's minimal 48-bit generator would not fit awk's doubles; Lehmer's (Park and Miller, CACM 1988)
# does, and gives the same numbers in every awk.
function uniform() {
    state = (state * 48271) % 2147483647
    return state / 2147483647
}

function between(low, high) { return low * exp(uniform() * log(high / low)) }
function pick(words,    list, count) {
    count = split(words, list, " ")
    return list[1 + int(uniform() * count)]
}
function smaller(a, b) { return a < b ? a : b }
function larger(a, b) { return a > b ? a : b }

# "0,-5,-2": priorities, dealt over the streams.
function priorities(    text, i, count) {
    count = 2 + int(uniform() * 3)
    text = "0"
    for (i = 1; i < count; i++)
        text = text "," (-int(uniform() * 6))
    return text
}

function draw(    link, flops, links, count) {
    tiles = int(between(1, 1025))
    streams = int(between(1, 33))
    ways = pick("1 2 2 3 3 3 3 3 3 4")
    layout = pick("tile tile stage")
    kernel = pick("scale scale scale scale,scale scale,scale scale,scale,scale sum scale,sum wave")
    # Large enough that what begins and ends a run counts little; `wave` takes long to verify.
    elements = int(kernel == "wave" ? between(8388608, 16777216) : between(25165824, 134217728))
    link = elements * 4 / 50e9                        # seconds, at a rough rate of the link
    flops = between(0.02, 3) * link * 50e12           # of all kernels, at a rough rate
    count = split(kernel, links, ",")
    intensity = smaller(larger(1, int(flops / elements / 2 / count)), 65536)
    if (kernel == "wave")
        intensity = 1 + intensity % 2
    urgent = uniform() < 0.15 && streams > 1 && ways > 1 && layout == "tile" ? priorities() : ""
}

function put(order) {
    printf "\n[%d-%s]\n", number, order
    printf "elements = %d\nkernel = %s\nintensity = %d\ntiles = %d\nstreams = %d\n",
           elements, kernel, intensity, tiles, ways == 1 ? 1 : streams
    printf "ways = %d\nlayout = %s\norder = %s\n", ways, layout, order
    if (urgent != "")
        printf "priorities = %s\n", urgent
}

BEGIN {
    state = seed * 7919 + 1
    for (i = 0; i < 16; i++)
        uniform()
    printf "; Settings to judge the simulator by, with %d hardware queue%s; drawn by\n", connections,
           connections == 1 ? "" : "s"
    printf ";   awk -v connections=%d -v seed=%d -f draw.awk\n\n[global]\nconnections = %d\n",
           connections, seed, connections
    for (number = 1; number <= 45; number++) {
        draw()
        put("depth")
        if (ways > 1)
            put("breadth")
    }
}
