# boxes.awk - timeline.awk's second pass: a box for every span, and a text for every box that has
# room.

function draw() {
    if (run < FROM || run > TO)
        return
    if (rows != "streams" && engine != "none")
        draw_box(engine, field("lane"), class, 0)
    if (rows != "engines")
        draw_box(in_stream ? "s" (field("stream") + 0) : engine == "cpu" ? "scpu" : "scalls", 0,
                 class, 1)
}

# Boxes of two pixels or more are drawn as they are. Those that are less share a pixel's column,
# which is the darker the longer they fill it.
function draw_box(band, lane, class, by_stream,    top, bottom, key, pixel, from, to, table) {
    if (!((run, band) in BAND_TOP))
        return
    top = BAND_TOP[run, band] + lane * BAND_LANE[run, band]
    bottom = top + BAND_LANE[run, band]
    USED[class] = 1
    from = start * scale
    to = end * scale
    if (to - from >= 2) {
        table = class == WAITS ? "waits" : to - from >= 0.24 * em * density ? "wide" : "narrow"
        BOX[table, ++boxes] = \
            sprintf("%.9g\t%.9g\t%.6g\t%.6g\t%d\t1", start / unit_ns, end / unit_ns, top, bottom,
                    class)
        if (class != WAITS)
            draw_label((to - from) / density, (top + bottom) / 2, BAND_LANE[run, band], class,
                       by_stream)
        return
    }
    for (pixel = int(from); pixel <= to && (pixel < to || pixel == int(from)); pixel++) {
        key = pixel SUBSEP top
        BOTTOM[key] = bottom
        SHARE[key, class] += (to < pixel + 1 ? to : pixel + 1) - (from > pixel ? from : pixel)
    }
}

# The tile's number and, by stream, the stage's letter before it; else the kernel's name.
function draw_label(room, middle, height, class, by_stream,    text, size, letters) {
    text = field("tile")
    if (by_stream)
        text = LETTER[class] text
    if (field("tile") == "" && class == KERNELS)
        text = short_name(field("name"))
    if (text == "")
        return
    # All numbers of a picture are given the room that the longest takes: they look alike then.
    letters = field("tile") == "" ? characters(text) : tile_length + by_stream
    for (size = 1; size <= 2; size++) {
        if (letters * 0.63 * em * (size == 1 ? 0.86 : 0.66) + 0.25 * em <= room)
            break
    }
    if (size > 2 && by_stream && LETTER[class] != "" && 0.7 * em <= room) {
        text = LETTER[class]
        size = 2
    }
    if (size > 2)
        return
    TEXT[++texts] = sprintf("%.9g\t%.6g\t%s\t%d\t%.6g", (start + end) / 2 / unit_ns, middle, text,
                            class, height)
    TEXT_ROW[texts] = middle
    if (size > ROW_SIZE[middle])
        ROW_SIZE[middle] = size # one size for a row: the smaller, which is number 2
}

# A kernel's own name, without its namespaces, template arguments and parameters.
function short_name(name) {
    name = one_line(name)
    sub(/[<(].*/, "", name)
    sub(/.*[ :]/, "", name)
    gsub(/["\\]/, "", name)
    return name
}

# Each table begins with a row that is not seen: gnuplot complains of empty ones, or crashes.
function put_boxes(    i, k, list) {
    split("waits wide narrow", list, " ")
    for (i = 1; i <= 3; i++) {
        print "$" list[i] " << END\n-9\t-8\t-9\t-8\t1\t1"
        for (k = 1; k <= boxes; k++) {
            if ((list[i], k) in BOX)
                print BOX[list[i], k]
        }
        if (list[i] == "narrow")
            put_shares()
        print "END"
    }
    print "$labels << END\n0\t0\t\302\240\t1\t9\t1\n0\t0\t\302\240\t1\t9\t2"
    for (i = 1; i <= texts; i++)
        print TEXT[i] "\t" ROW_SIZE[TEXT_ROW[i]]
    print "END"
    print "array used[" CLASSES "]"
    for (i = 1; i <= CLASSES; i++)
        print "used[" i "] = " USED[i] + 0
}

function neighbours(pixel, top) {
    return ((pixel - 2, top) in BOTTOM) + ((pixel - 1, top) in BOTTOM) + \
           ((pixel + 1, top) in BOTTOM) + ((pixel + 2, top) in BOTTOM)
}

# A pixel has the colour of what took most of its time, and among others of its kind as much of it
# as was taken. One that stands alone would not be seen then: it has it all.
function put_shares(    key, parts, class, share, most, winner) {
    for (key in BOTTOM) {
        most = -1
        share = 0
        for (class = 1; class <= CLASSES; class++) {
            if (!((key, class) in SHARE))
                continue
            share += SHARE[key, class]
            if (SHARE[key, class] > most) {
                most = SHARE[key, class]
                winner = class
            }
        }
        split(key, parts, SUBSEP)
        if (neighbours(parts[1], parts[2]) < 2)
            share = 1
        share = share > 1 ? 1 : share < 0.3 ? 0.3 : share
        printf "%.9g\t%.9g\t%.6g\t%.6g\t%d\t%.3g\n", parts[1] / scale / unit_ns,
               (parts[1] + 1.3) / scale / unit_ns, parts[2], BOTTOM[key], winner, share
    }
}
