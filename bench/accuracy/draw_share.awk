# draw_share.awk - draws settings for processes that share one device, each to be run in time slices and under MPS.
#
#     awk -v seed=2026 -f draw_share.awk > share.ini
#
# All are blind: they were drawn before any run of several processes was compared with its simulation, are run once, and
# what comes out is reported.

BEGIN {
    state = seed * 7919 + 1
    for (i = 0; i < 16; i++)
        uniform()
    print "; 12 settings to judge the simulator by, of four processes on one device; drawn by"
    print ";   awk -v seed=" seed " -f draw_share.awk"
    print "; They are to be run once in time slices and once under MPS, and what comes out is to be"
    print "; reported: nothing may be fitted to them, and no rule changed for them."
    for (number = 1; number <= 12; number++)
        draw(number)
}

# Lehmer's generator (Park and Miller, CACM 1988) gives the same numbers in every awk.
function uniform() {
    state = (state * 48271) % 2147483647
    return state / 2147483647
}

function pick(words,    list, count) {
    count = split(words, list, " ")
    return list[1 + int(uniform() * count)]
}

function draw(number,    tiles, bytes, ways) {
    tiles = 2 ^ (4 + int(uniform() * 5))    # 16 to 256
    bytes = 2 ^ (14 + int(uniform() * 9))   # of a tile: 16 KiB to 4 MiB
    ways = pick("1 3 3 3")
    print "\n[blind-" number "]"
    print "kernel = " pick("scale scale wave uniform sum")
    print "intensity = " pick("1 100 1000 1800")
    print "elements = " tiles * bytes / 4
    print "tiles = " tiles
    print "ways = " ways
    if (ways != 1) {
        print "streams = " pick("1 2 4")
        print "order = " pick("depth breadth")
        print "layout = " pick("tile tile stage")
    }
}
