# draw_memory.awk - draws settings for the memory calls of the lectures: memory taken for each tile
# (alloc), blocks of columns (copy), and managed memory.
#
#     awk -v seed=2003 -f draw_memory.awk > memory.ini
#
# All are blind: they were drawn before the program had these options, are run once after the last
# change of the simulator's rules, and what comes out is reported.

BEGIN {
    state = seed * 7919 + 1
    for (i = 0; i < 16; i++)
        uniform()
    print "; 30 settings to judge the simulator by, over alloc, copy and managed memory; drawn by"
    print ";   awk -v seed=" seed " -f draw_memory.awk"
    print "; They are to be run once, after the last change of the simulator's rules, and what comes"
    print "; out is to be reported: nothing may be fitted to them, and no rule changed for them."
    for (number = 1; number <= 30; number++)
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

function draw(number,    tiles, bytes, width, copy) {
    tiles = 2 ^ (2 + int(uniform() * 5))    # 4 to 64
    bytes = 2 ^ (18 + int(uniform() * 7))   # of a tile: 256 KiB to 16 MiB
    width = 2 ^ (6 + int(uniform() * 9))    # elements of a tile's row: 64 to 16384
    print "\n[blind-" number "]"
    print "kernel = " pick("scale scale scale uniform sum")
    print "intensity = " pick("1 100 1000 1800")
    print "elements = " tiles * bytes / 4
    print "tiles = " tiles
    print "streams = " pick("1 2 3 4 8")
    print "ways = " pick("1 2 3 3 3 3")
    print "order = " pick("depth breadth")
    print "layout = " pick("tile tile stage")
    if (number <= 10)
        print "alloc = " pick("loop async async pool")
    else if (number <= 20) {
        copy = pick("2d 2d rows")
        if (copy == "rows") # every row is a call
            width = width < 4096 ? 4096 : width
        print "copy = " copy
        print "tile-width = " width
    } else {
        print "memory = managed"
        print "prefetch = " pick("yes yes no")
    }
}
