# draw.awk - draws the settings that the simulator's accuracy is judged on.
#
#     awk -v seed=18 -v count=408 -f draw.awk > matrix.ini
#     awk -v seed=184 -v count=200 -v blind=1 -f draw.awk > blind.ini
#     awk -v seed=120147 -v count=100 -v blind=1 -v usual=1 -f draw.awk > usual.ini
#     awk -v seed=81128 -v count=40 -v devices="1 2 2 2" -f draw.awk > devices.ini
#     awk -v seed=1920 -v count=20 -v devices=4 -f draw.awk > devices-four.ini
#
# Values of options are dealt like cards, so that each comes as often as it is in its deck, and
# sizes are drawn evenly on a logarithmic scale. Where order matters, most settings stand there
# depth-first and breadth-first, so that it can be seen which wins. A run's name says what it is
# for: fit-N may be used to fit a machine file, judge-N not, and blind-N is measured once. With a
# deck of `devices` all are blind, and copies rather than calls decide: tiles of a MiB or more. Usual
# ones are as users run them: 64 MiB to 2 GiB in 4 to 128 tiles, up to eight streams, no mistakes. What
# races, or what the program refuses, is never drawn. No machine's figures go into it but rough
# rates, which bound how long a setting takes.

BEGIN {
    state = seed * 7919 + 1
    for (i = 0; i < 16; i++)
        uniform()
    for (number = 1; drawn < count; number++) {
        draw()
        purpose = blind || devices ? "blind" : number % 3 == 0 ? "fit" : "judge"
        if (is_ordered() && uniform() < 0.6 && drawn + 2 <= count) {
            put("depth")
            put("breadth")
        } else
            put("")
    }
    put_head()
    printf "%s", sections
}

# Lehmer's generator (Park and Miller, CACM 1988) gives the same numbers in every awk.
function uniform() {
    state = (state * 48271) % 2147483647
    return state / 2147483647
}

function between(low, high) { return low * exp(uniform() * log(high / low)) }
function least(a, b) { return a < b ? a : b }
function most(a, b) { return a > b ? a : b }
function power_of_two(value) { return 2 ^ int(log(value) / log(2) + 0.5) }

# Takes a card from the deck `words`, which is filled again when it is empty.
function deal(words,    cards, count, i, card) {
    if (LEFT[words] + 0 == 0) {
        count = split(words, cards, " ")
        for (i = 1; i <= count; i++)
            DECK[words, i] = cards[i]
        LEFT[words] = count
    }
    i = 1 + int(uniform() * LEFT[words])
    card = DECK[words, i]
    DECK[words, i] = DECK[words, LEFT[words]--]
    return card
}

# --- what is run ---

# Draws `kernel`, and what can follow it: floats follow floats and ints ints, in place, and nothing
# follows a kernel that leaves one value per tile.
function draw_kernels(    family, first, links, i) {
    family = deal("map map map map map map map map fold fold fold fold scan scan scan " \
                  "move move move product")
    if (family == "fold")
        kernel = deal("sum reduce-shuffle reduce-divergent reduce-conflicts reduce-sequential " \
                      "reduce-first-add reduce-last-warp reduce-unrolled reduce-many sum-int " \
                      "sum-double all finite")
    else if (family == "scan") {
        kernel = deal("scan scan-exclusive scan-naive scan-efficient scan-conflict-free")
        if (uniform() < 0.3)
            kernel = kernel "," deal("scan scan-exclusive sum-int all reduce-many")
    } else if (family == "move") {
        kernel = deal("transpose-copy transpose-shared-copy transpose-naive transpose-coalesced " \
                      "transpose-conflict-free transpose-fine transpose-coarse " \
                      "transpose-diagonal stride-copy")
        if (uniform() < 0.3)
            kernel = kernel "," deal("scale uniform")
    } else if (family == "product")
        kernel = "dgemm"
    else {
        kernel = first = deal("scale scale scale scale uniform divergent wave wave-launches")
        links = deal("1 1 1 1 2 2 2 3 4 6")
        for (i = 2; i <= links; i++) {
            if (i == links && first != "wave-launches" && uniform() < 0.3)
                kernel = kernel "," deal("sum finite")
            else
                kernel = kernel "," deal("scale scale scale uniform divergent wave")
        }
    }
    scans = family == "scan"
    product = family == "product"
    double = product || kernel == "sum-double"
    inputs = kernel ~ /wave/ ? 2 : 1
    leaves_array = kernel !~ /(sum|reduce-[a-z-]*|sum-int|sum-double|all|finite)$/
}

# Draws how large the array is, and how it is cut: a tile has 1024 elements at least, and is whole
# rows or columns where the kernel asks for such.
function draw_size() {
    elements = int(usual ? between(2 ^ 24, 2 ^ 29 + 1) : between(65536, 536870913))
    tiles = int(usual ? between(4, 129) : between(1, 8193))
    if (deal("even odd") == "even") {
        elements = power_of_two(elements)
        tiles = power_of_two(tiles)
    }
    columns = kernel ~ /^transpose/ ? deal("64 256 1000 1024 4096 16384") : 0
    rows = product ? deal("256 1000 1024 4096 16384") : 0
    inner = product ? int(between(32, 2049)) : 0
    stride = kernel ~ /^stride/ ? int(between(1, 257)) : 0
    cut()
}

function cut(    unit, each) {
    unit = columns + rows > 0 ? columns + rows : 1
    tiles = most(fewest, int(least(tiles, elements / most(unit, 1024))))
    each = int(elements / unit / tiles)
    if (unit > 1)
        elements = unit * tiles * most(each, int(65535 / unit / tiles) + 1)
}

# Draws the arithmetic: for all the chain's kernels together, from hardly any to three times a copy.
function draw_intensity(    names, count, i) {
    count = split(kernel, names, ",")
    flops = waves = 0                                 # of an element, at an intensity of 1
    for (i = 1; i <= count; i++) {
        flops += names[i] ~ /^wave/ ? 100 : names[i] ~ /^(scale|uniform|divergent)$/ ? 2 : 0
        waves += names[i] ~ /^wave/
    }
    links = count
    intensity = 0
    if (flops == 0)
        return
    intensity = int(most(1, least(between(0.02, 3) * 4000 / flops, 65536)))
    if (kernel ~ /wave-launches/)
        intensity = int(between(1, 33))
}

# --- how it is run ---

function draw_options() {
    streams = int(between(1, 33))
    ways = deal(scans ? "1 2 3 3 3 3" : "1 2 3 3 3 3 3 4")
    share = ways == 4 && deal("auto auto given") == "given" ? 0.05 + 0.45 * uniform() : ""
    layout = deal("tile tile stage")
    memory = deal(product ? "pinned pinned registered pageable" : "pinned pinned pinned pinned " \
                  "pinned registered registered pageable pageable mapped mapped")
    issue = deal("streams streams streams graph batch")
    callbacks = deal("no no no yes")
    carry = scans ? deal("device device callback sync") : ""
    connections = deal("- - - - 1 2 4 16 32")
    blocks = can_have_blocks() && deal("auto auto auto given") == "given" ? int(between(1, 529)) : 0
    urgent = deal("no no no no no no yes") == "yes" ? priorities() : ""
    mistake = deal("no no no no no no yes") == "yes" \
              ? deal("pageable-memory legacy-stream blocking-stream sync-in-loop alloc-in-loop " \
                     "pinned-alloc-in-loop memset-in-loop launch-blocking slow-callback " \
                     "lazy-loading pin-in-run") : ""
    scatter = deal("no no no yes")
    pack = deal("no no no no no yes")
    batch = deal("auto auto given") == "given" ? int(between(2, 257)) : 0
}

# Other kernels settle their number of blocks themselves.
function can_have_blocks() {
    return kernel !~ /^(transpose|stride|dgemm)/ && \
           kernel !~ /^reduce-(divergent|conflicts|sequential|first|last|unrolled)/
}

# "0,-5,-2": priorities, dealt over the streams.
function priorities(    text, i, count) {
    count = 2 + int(uniform() * 3)
    text = "0"
    for (i = 1; i < count; i++)
        text = text "," (-int(uniform() * 6))
    return text
}

# Changes what a mistake does not go with, or the program would refuse.
function make_possible() {
    if (mistake ~ /legacy-stream|blocking-stream|sync-in-loop/) {
        streams = most(2, streams)
        ways = ways == 1 ? 3 : ways
        layout = memory == "mapped" ? "tile" : layout  # else all would be in one stream
        fewest = 2
        cut()
    }
    if (mistake ~ /pageable-memory|memset-in-loop|pin-in-run/)
        memory = "pinned"
    if (mistake == "launch-blocking") # has a process of its own for each number of connections
        connections = "-"
    if (mistake ~ /callback/)
        callbacks = "no"
    if (memory == "pageable" || carry == "sync" || mistake !~ /^$|slow-callback|memset-in-loop/ || \
        (issue == "batch" && mistake != ""))
        issue = "streams"
    if (ways == 1)
        streams = 1
    if (ways != 3 || issue != "streams" || memory == "mapped" || mistake != "")
        pack = "no"
    if (issue != "batch" && pack == "no")
        batch = 0
    if (scans || product || kernel ~ /transpose|stride/)
        scatter = "no"
}

function draw() {
    fewest = 1                                        # tiles
    draw_kernels()
    draw_size()
    draw_intensity()
    draw_options()
    if (devices)
        draw_devices()
    if (usual)
        draw_usual()
    make_possible()
    while (usual && seconds() > 8 && intensity > 1)
        intensity = int(intensity / 2)
    while (seconds() > 8 || host_gib() > 12) {
        elements = int(elements / 2)
        tiles = int(tiles / 2)
        cut()
    }
}

# Changes what users hardly ever run.
function draw_usual() {
    streams = int(between(1, 9))
    mistake = ""
    connections = "-"
    batch = 0
    fewest = 4
    cut()
}

# Draws how many devices there are, and changes what several can't have.
function draw_devices() {
    device_count = deal(devices)
    mistake = ""
    connections = "-"
    fewest = device_count
    elements = int(between(2 ^ 24, 2 ^ 29 + 1))
    tiles = most(device_count, int(least(tiles, elements / 2 ^ 18)))
    cut()
    memory = memory == "mapped" ? "pinned" : memory
    issue = issue == "graph" || memory == "pageable" ? "streams" : issue
    carry = carry == "device" ? "callback" : carry
}

function is_ordered() { return ways > 1 && streams > 1 && tiles > 1 }

# --- how long it takes, and how much memory ---

# A guess of the seconds that a setting takes: five repeats and a traced run, each of which the CPU
# verifies. With 16 cores that is about a nanosecond for an element, and 3 for one of a scan, which
# one core goes through, or for each time that `wave` is repeated.
function seconds(    width, bytes, work, gpu, calls, host) {
    width = double ? 8 : 4
    bytes = elements * width * inputs + second_bytes()
    work = elements * (product ? 2 * inner : flops * intensity)
    gpu = bytes / (memory == "pageable" || mistake == "pageable-memory" ? 8e9 \
                   : memory == "mapped" ? 25e9 : 50e9)
    gpu += (work / 20e12 + links * elements * 2 * width / 1e12) * \
           (blocks ? most(1, 528 / blocks) : 1)
    calls = tiles * (8 + links * (kernel ~ /wave-launches/ ? intensity : 1)) * 5e-6
    if (callbacks == "yes" || carry == "callback")
        calls += tiles * 100e-6
    if (mistake == "slow-callback")
        calls += tiles * 200e-6 + 4 * bytes / 50e9
    if (mistake ~ /loop/ || carry == "sync")
        calls += tiles * 500e-6
    if (mistake ~ /pin/)
        calls += 3 * bytes * 0.4e-9
    if (ways == 4)
        host = (share == "" ? 0.1 : share) * work / 2e11
    host += elements * (1 + 3 * scans + 3 * waves * intensity) * 1e-9
    return 0.1 + 6 * (gpu + calls + host)
}

# A product reads more than C: a tile's columns of B, and A.
function second_bytes() {
    return product ? 8 * inner * (elements / rows + rows) : 0
}

function host_gib() {
    return (elements * (double ? 8 : 4) * (inputs + leaves_array) + second_bytes()) / 2 ^ 30
}

# --- writing ---

function line(name, value) {
    return name " = " value "\n"
}

function put(order,    text) {
    if (order == "" && is_ordered())
        text = line("order", deal("depth breadth"))
    else if (order != "")
        text = line("order", order)
    text = "\n[" purpose "-" number (order == "" ? "" : "-" order) "]\n" line("kernel", kernel) \
           line("elements", elements) line("tiles", tiles) line("streams", streams) \
           line("ways", ways) text
    if (device_count > 1)
        text = text line("device", "cuda:" substr("0,1,2,3", 1, 2 * device_count - 1))
    text = text line("layout", layout) line("memory", memory) line("issue", issue)
    if (intensity)
        text = text line("intensity", intensity)
    if (columns)
        text = text line("columns", columns)
    if (stride)
        text = text line("stride", stride)
    if (product)
        text = text line("rows", rows) line("inner", inner)
    if (blocks)
        text = text line("blocks", blocks)
    if (share != "")
        text = text line("cpu-share", sprintf("%.2f", share))
    if (urgent != "")
        text = text line("priorities", urgent)
    if (callbacks == "yes")
        text = text line("callbacks", "yes")
    if (carry != "")
        text = text line("carry", carry)
    if (connections != "-")
        text = text line("connections", connections)
    if (mistake != "")
        text = text line("mistake", mistake)
    if (scatter == "yes")
        text = text line("scatter", scatter)
    if (pack == "yes")
        text = text line("pack", pack)
    if (batch)
        text = text line("batch", batch)
    sections = sections text
    drawn++
    total += seconds()
    memory_most = most(memory_most, host_gib())
}

function put_head() {
    printf "; %d settings to judge the simulator by; drawn by\n", drawn
    printf ";   awk -v seed=%d -v count=%d%s -f draw.awk\n", seed, count,
           devices ? " -v devices=\"" devices "\"" : \
           (blind ? " -v blind=1" : "") (usual ? " -v usual=1" : "")
    if (blind || devices)
        print "; They are to be run once, after the last change of the simulator's rules, and\n" \
              "; what comes out is to be reported: nothing may be fitted to them, and no rule\n" \
              "; changed for them."
    printf "; By a rough guess they take %d s with five repeats, and %.1f GiB of host memory.\n",
           total, memory_most
}
