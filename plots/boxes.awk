# boxes.awk - timeline.awk's second pass: a box for every span, a text for every box that has room,
# and marks: gaps with their causes, ops that raced, urgent tiles, the limits.
#
# Lengths along the time axis are in pixels from its beginning until they are printed.

function draw() {
    if (run < FROM || run > TO)
        return
    if (rows != "streams" && engine != "none") {
        draw_issue()
        draw_box(engine, lane, 0)
    }
    if (rows != "engines")
        draw_box(in_stream ? "s" (field("stream") + 0) : engine == "cpu" ? "scpu" : "scalls", 0, 1)
}

# The ops as the host issued them, one after another: on the axis of time they would all be at its beginning. They
# go no farther than the run does.
function draw_issue(    from, width) {
    if (!((run, "issue") in BAND_TOP))
        return
    width = INFO[run, "time_ns"] * scale / ISSUED[run]
    width = width > 1.6 * em * density ? 1.6 * em * density : width
    from = width * issued[run]++
    BOX["wide", ++boxes] = box_text(from, from + width, BAND_TOP[run, "issue"], BAND_BOTTOM[run, "issue"])
    draw_label(from, from + width, BAND_TOP[run, "issue"], BAND_BOTTOM[run, "issue"], 0)
}

function draw_box(band, lane, by_stream,    top, bottom, i) {
    if (!((run, band) in BAND_TOP))
        return
    top = BAND_TOP[run, band] + lane * BAND_LANE[run, band]
    bottom = top + BAND_LANE[run, band]
    USED[class] = 1
    for (i = GAP_OF[run, field("op")]; i > 0; i = GAP_NEXT[run, i])
        draw_gap(i, BAND_TOP[run, band], BAND_BOTTOM[run, band], by_stream)
    put_span(start * scale, end * scale, top, bottom, by_stream, 1)
    if (run in LENS)
        put_span(lens_at(run, start), lens_at(run, end), top, bottom, by_stream, LENS[run])
    if (kind == "peer" && !by_stream && match(field("name"), /^to device [0-9]+$/))
        draw_hand(substr(field("name"), 11) + 0, top, bottom)
}

# An arrow from a copy's end to the kernels of the device that it is to, unless it would stand close
# by the last such one.
function draw_hand(to, top, bottom,    band, at, from, into) {
    band = on_device("compute", to, run)
    at = (run in LENS) ? lens_at(run, end) : end * scale
    if (!((run, band) in BAND_TOP) || \
        ((run, engine, to) in HAND_AT && at - HAND_AT[run, engine, to] < 5 * em * density))
        return
    HAND_AT[run, engine, to] = at
    from = BAND_TOP[run, band] > top ? bottom : top
    into = 0.4 * BAND_LANE[run, band]
    into = BAND_TOP[run, band] > top ? BAND_TOP[run, band] + into : BAND_BOTTOM[run, band] - into
    HAND_X[++hands] = at / scale / unit_ns
    HAND_Y[hands] = from
    HAND_TO[hands] = into
}

function put_hands(    i) {
    print "hands = " hands + 0
    print "array hand_x[" hands + 1 "]\narray hand_y[" hands + 1 "]\narray hand_to[" hands + 1 "]"
    for (i = 1; i <= hands; i++)
        printf "hand_x[%d] = %.9g\nhand_y[%d] = %.6g\nhand_to[%d] = %.6g\n", i, HAND_X[i], i, HAND_Y[i],
               i, HAND_TO[i]
}

# Where a run that is short beside the others is drawn once more, larger.
function lens_at(of, ns) {
    return LENS_FROM[of] + ns * scale * LENS[of]
}

# What is not work of a tile is seen however short it is, if there are not too many of it.
function is_extra(factor) {
    return KIND_EXTRA[class] && EXTRAS[run] * 5 * density < 0.5 * LENGTH[run] * scale * factor
}

function box_text(from, to, top, bottom) {
    return sprintf("%.9g\t%.9g\t%.6g\t%.6g\t%d", from / scale / unit_ns, to / scale / unit_ns, top,
                   bottom, class)
}

# Boxes of two pixels or more are drawn as they are. Those that are less share their pixels.
function put_span(from, to, top, bottom, by_stream, factor,    table) {
    table = to - from >= 0.24 * em * density ? "wide" : "narrow"
    if (is_extra(factor)) {
        table = "extra"
        if (to - from < 0.14 * em * density)
            to = from + 0.14 * em * density
        if (to > columns) {
            from -= to - columns
            to = columns
        }
    }
    if (class == WAITS)
        table = "waits"
    if (to - from < 2) {
        put_share(from, to, top, bottom)
        return
    }
    # Browsers may leave out what is narrower than a pixel of an SVG.
    if (to - from < 1.01 * density)
        to = from + 1.01 * density
    BOX[table, ++boxes] = box_text(from, to, top, bottom)
    if (class == WAITS)
        return
    if ((run, field("op") + 0) in RACED)
        BOX["raced", ++boxes] = box_text(from, to, top, bottom)
    if (in_stream && (run, field("stream") + 0) in URGENT)
        BOX["urgent", ++boxes] = box_text(from, to, top, bottom)
    if (factor > 1 || !(run in LENS))
        draw_label(from, to, top, bottom, by_stream)
}

# What raced among them is hatched from the first to the last.
function put_share(from, to, top, bottom,    pixel, key) {
    if (!(top in LANE_BOTTOM)) {
        LANE_BOTTOM[top] = bottom
        DENSE[++dense] = top
    }
    SHORT[top]++
    BEGINS[top, int(from)]++
    if (!((top, int(from / 48)) in PARTS)) {
        PARTS[top, int(from / 48)] = 1
        PART_COUNT[top]++
    }
    if ((run, field("op") + 0) in RACED) {
        if (!(top in RACE_FROM))
            RACE_FROM[top] = from
        RACE_TO[top] = to
    }
    for (pixel = int(from); pixel <= to && (pixel < to || pixel == int(from)); pixel++) {
        key = top SUBSEP pixel
        if (!(top in PIXEL_FIRST) || pixel < PIXEL_FIRST[top])
            PIXEL_FIRST[top] = pixel
        if (pixel > PIXEL_LAST[top])
            PIXEL_LAST[top] = pixel
        TAKEN[key] = 1
        SHARE[key, class] += (to < pixel + 1 ? to : pixel + 1) - (from > pixel ? from : pixel)
    }
}

# The tile's number and, by stream, the stage's letter before it; else the kernel's name.
function draw_label(from, to, top, bottom, by_stream,    room, text, size, letters) {
    room = (to - from) / density
    text = field("tile")
    if (by_stream)
        text = LETTER[class] text
    if (field("tile") == "" && class == KERNELS)
        text = short_name(field("name"))
    if (text == "")
        return
    # All numbers of a picture are given the room that the longest takes: they look alike then.
    letters = field("tile") == "" ? characters(text) : tile_length + by_stream
    for (size = (bottom - top) * row < 0.85 * em ? 2 : 1; size <= 2; size++) {
        if (letters * 0.63 * em * (figure ? 1 : size == 1 ? 0.86 : 0.66) + 0.25 * em <= room)
            break
    }
    if (size > 2 && by_stream && LETTER[class] != "" && 0.7 * em <= room) {
        text = LETTER[class]
        size = 2
    }
    # Of ops that lie above one another in one row the first has its number.
    if (size > 2 || LABEL_FROM[top] < (from + to) / 2 && (from + to) / 2 < LABEL_TO[top])
        return
    LABEL_FROM[top] = from
    LABEL_TO[top] = to
    TEXT[++texts] = sprintf("%.9g\t%.6g\t%s\t%d\t%.6g", (from + to) / 2 / scale / unit_ns,
                            (top + bottom) / 2, text, class, bottom - top)
    TEXT_TOP[texts] = top
    TEXT_AT[texts] = (from + to) / 2
    TEXT_HALF[texts] = characters(text) * 0.32 * em * density * 0.86 + 0.15 * em * density
    if (size > ROW_SIZE[top])
        ROW_SIZE[top] = size # one size for a row: the smaller, which is number 2
}

# A kernel's own name, without its namespaces, template arguments and parameters.
function short_name(name) {
    name = one_line(name)
    sub(/[<(].*/, "", name)
    sub(/.*[ :]/, "", name)
    gsub(/["\\]/, "", name)
    return name
}

# --- many short spans: in columns of a few pixels, each stage as high as its share of the time ---

# Spans one by one, not a row of them: few begin near it, or anywhere in the lane where some do.
function is_alone(top, pixel) {
    return CROWDED[top] < 12 || begun(top, pixel + 24) - begun(top, pixel - 25) < 4
}

# How many short spans of a lane have begun up to a pixel.
function begun(top, pixel) {
    return pixel < PIXEL_FIRST[top] ? 0 : BEGUN[top, pixel > PIXEL_LAST[top] ? PIXEL_LAST[top] : pixel]
}

# A pixel that stands alone would hardly be seen as a share: it is as high as its row.
function put_alone(top, pixel,    most, winner) {
    most = -1
    for (class = 1; class <= CLASSES; class++) {
        if ((top, pixel, class) in SHARE && SHARE[top, pixel, class] > most) {
            most = SHARE[top, pixel, class]
            winner = class
        }
    }
    class = winner
    print box_text(pixel, pixel + 1.3 * density, top, LANE_BOTTOM[top])
}

function put_column(top, from, to,    height, share, pixel, y, used) {
    height = LANE_BOTTOM[top] - top
    y = LANE_BOTTOM[top]
    for (class = 1; class <= CLASSES; class++) {
        share = used = 0
        for (pixel = from; pixel < to; pixel++) {
            if ((top, pixel, class) in SHARE) {
                share += SHARE[top, pixel, class]
                used = 1
            }
        }
        share /= to - from
        share = int((share > 1 ? 1 : share < 0.08 ? 0.08 : share) * 50 + 0.5) / 50
        if (used && y > top) {
            print box_text(from, to + 1.1 * density, y - share * height < top ? top : y - share * height,
                           y)
            y -= share * height
        }
    }
    dense_drawn = 1
}

# A column is as wide as some 24 spans, so that none looks fuller for having one more.
function put_lane(top,    pixel, from, most, alone, gone) {
    for (pixel = PIXEL_FIRST[top]; pixel <= PIXEL_LAST[top]; pixel++)
        BEGUN[top, pixel] = BEGUN[top, pixel - 1] + BEGINS[top, pixel]
    CROWDED[top] = SHORT[top] / PART_COUNT[top]
    from = -1
    most = int(24 * (PIXEL_LAST[top] - PIXEL_FIRST[top] + 1) / SHORT[top])
    most = most < 8 * density ? 8 * density : most > 48 * density ? 48 * density : most
    for (pixel = PIXEL_FIRST[top]; pixel <= PIXEL_LAST[top] + 1; pixel++) {
        alone = (top, pixel) in TAKEN && is_alone(top, pixel)
        # A pixel without work between others with some is part of their column.
        gone = !((top, pixel) in TAKEN) && is_alone(top, pixel)
        if (from >= 0 && (gone || alone || pixel - from >= most || pixel > PIXEL_LAST[top])) {
            put_column(top, from, pixel)
            from = -1
        }
        if (alone)
            put_alone(top, pixel)
        else if (from < 0 && (top, pixel) in TAKEN)
            from = pixel
    }
}

# --- marks ------------------------------------------------------------------------------------------

# By stream a gap ends where its op begins; of one run by both it is drawn by engine alone.
function draw_gap(i, top, bottom, by_stream,    from, to, own, code) {
    if (by_stream && rows == "both" && GAP_PLACED[run, i])
        return
    GAP_PLACED[run, i] = 1
    from = GAP_FROM[run, i]
    to = GAP_TO[run, i]
    own = from >= start && from < end # the op itself takes too long
    if (own) {
        top += by_stream ? 0 : lane * BAND_LANE[run, engine]
        bottom = top + BAND_LANE[run, by_stream ? "s" (field("stream") + 0) : engine]
    } else if (by_stream && to > start) {
        to = start
    }
    from = (run in LENS) ? lens_at(run, from) : from * scale
    to = (run in LENS) ? lens_at(run, to) : to * scale
    # Of several gaps that are one, the height says which part of the time was lost.
    part_drawn = part_drawn || GAP_PART[run, i] < 1
    if (GAP_PART[run, i] < 1)
        bottom = top + (GAP_PART[run, i] < 0.15 ? 0.15 : GAP_PART[run, i]) * (bottom - top)
    BOX[own ? "slow" : "gaps", ++boxes] = box_text(from, to - from < density ? from + density : to, top, bottom)
    note_gap(run SUBSEP GAP_NAME[run, i], from, to, top, bottom, own, i)
}

# What a cause cost, and how much of that is marked where it is far less.
function cost_text(cost, placed) {
    return cost == 0 ? "" : " " time_text(cost) (placed < 0.6 * cost ? " (" time_text(placed) " hatched)" : "")
}

# Each cause has its name once, at its longest gap.
function note_gap(code, from, to, top, bottom, own, gap,    i) {
    if (!(code in NOTE_OF)) {
        NOTE_OF[code] = ++notes
        NOTE_RUN[notes] = run
        NOTE[notes] = substr(code, length(run) + 2)
        NOTE_COST[notes] = cost_text(SET[run, NOTE[notes]] + 0, PLACED[run, NOTE[notes]])
    }
    i = NOTE_OF[code]
    if (to - from <= NOTE_LENGTH[i] + 0)
        return
    NOTE_LENGTH[i] = to - from
    NOTE_AT[i] = (from + to) / 2
    NOTE_GAP[i] = top
    NOTE_MIDDLE[i] = (top + bottom) / 2
    NOTE_INSIDE[i] = !own && (bottom - top) * row >= 1.1 * strip_size && GAP_PART[run, gap] == 1 && \
                     to - from >= characters(NOTE[i] NOTE_COST[i]) * 0.6 * strip_size * density
}

# The strip above each section takes the limit's name and the causes' names; none covers another.
function put_notes(    i, s, x) {
    print "$notes << END\n0\t0\t\302\240\t1\n0\t0\t\302\240\t2\n0\t0\t\302\240\t3"
    for (s = 1; s <= sections; s++) {
        names = 0
        if (SECTION_RUN[s] in LENS)
            put_lens_axis(s, SECTION_RUN[s])
        if (LIMIT_AT[s] >= 0 && (s == 1 || LIMIT_AT[s] != LIMIT_AT[s - 1]))
            put_name(s, LIMIT_AT[s], limit_of(SECTION_RUN[s]), 1)
        for (i = 1; i <= notes; i++) {
            if (NOTE_RUN[i] != SECTION_RUN[s] || NOTE_GAP[i] < SECTION_TOP[s] || \
                NOTE_GAP[i] >= SECTION_BOTTOM[s])
                continue
            if (NOTE_INSIDE[i]) {
                put_note(NOTE_AT[i], NOTE_MIDDLE[i], NOTE[i] NOTE_COST[i], 4)
                inside = 1
            } else if (put_name(s, NOTE_AT[i], NOTE[i] NOTE_COST[i], 2) || put_name(s, NOTE_AT[i], NOTE[i], 2))
                LEAD[++leads] = sprintf("%.9g\t%.6g\t%.9g\t%.6g", NOTE_AT[i] / scale / unit_ns,
                                        SECTION_TOP[s] - 0.08, 0, NOTE_GAP[i] - SECTION_TOP[s] + 0.08)
        }
    }
    print "END\ninside = " inside + 0 "\n$leads << END\n-9\t-9\t0\t0"
    for (i = 1; i <= leads; i++)
        print LEAD[i]
    print "END\n$ticks << END\n-9\t-9\t0"
    for (i = 1; i <= ticks; i++)
        print TICK[i]
    print "END"
}

# Puts a name where it is nearest to `at`. Returns 0 where there is no room left.
function put_name(s, at, name, kind_,    half, i, best, x, side, apart) {
    half = characters(name) * 0.29 * strip_size * density
    apart = em * density / 2
    best = -1
    for (i = 0; i <= 2 * names; i++) {
        side = i % 2 ? NAME_FROM[(i + 1) / 2] - apart - half : NAME_TO[i / 2] + apart + half
        x = i == 0 ? fit(at, half) : side
        if (is_free(x, half, apart) && (best < 0 || distance(x, at) < distance(best, at)))
            best = x
    }
    if (best < 0)
        return 0
    put_note(best, SECTION_TOP[s] - strip / 2, name, kind_)
    NAME_FROM[++names] = best - half
    NAME_TO[names] = best + half
    return 1
}

function is_free(x, half, apart,    i) {
    for (i = 1; i <= names; i++) {
        if (x + half > NAME_FROM[i] - apart * 0.99 && x - half < NAME_TO[i] + apart * 0.99)
            return 0
    }
    return x - half >= -3 * em * density && x + half <= columns + 0.5
}

function distance(x, y) {
    return x > y ? x - y : y - x
}

function fit(x, half) {
    return x - half < 0 ? half : x + half > columns ? columns - half : x
}

function put_note(x, y, text, kind_) {
    gsub(/["\\\t]/, "", text)
    printf "%.9g\t%.6g\t%s\t%d\n", x / scale / unit_ns, y, text, kind_
}

# A limit is drawn behind the boxes, and over those whose number it does not cut.
function put_limits(    s, i, at) {
    for (i = 1; i <= texts; i++) {
        s = LANE_SECTION[TEXT_TOP[i]]
        if (near(s, TEXT_AT[i], TEXT_HALF[i]))
            CUT[TEXT_TOP[i]] = 1
    }
    for (i = 1; i <= notes; i++) {
        if (NOTE_INSIDE[i] && near(LANE_SECTION[NOTE_GAP[i]], NOTE_AT[i], 4 * em * density))
            CUT[NOTE_GAP[i]] = 1
    }
    print "$limits << END\n-9\t-9\t1"
    for (s = 1; s <= sections; s++) {
        if (LIMIT_AT[s] >= 0) {
            put_limit(s, SECTION_TOP[s] - 0.08, SECTION_TOP[s])
            put_limit(s, SECTION_BOTTOM[s], SECTION_BOTTOM[s] + 0.05)
        }
    }
    for (i = 1; i <= lanes; i++) {
        s = LANE_SECTION[LANE_TOP[i]]
        if (LIMIT_AT[s] >= 0 && CUT[LANE_TOP[i]] && !(LANE_TOP[i] in IS_ISSUE))
            put_limit(s, LANE_TOP[i], LANE_TOP[i] + LANE_HEIGHT[i])
    }
    print "END\n$limits_over << END\n-9\t-9\t1"
    for (i = 1; i <= lanes; i++) {
        s = LANE_SECTION[LANE_TOP[i]]
        if (LIMIT_AT[s] >= 0 && !CUT[LANE_TOP[i]] && !(LANE_TOP[i] in IS_ISSUE))
            put_limit(s, LANE_TOP[i], LANE_TOP[i] + LANE_HEIGHT[i])
    }
    print "END"
}

function near(s, x, half,    of, at) {
    of = SECTION_RUN[s]
    if (LIMIT_AT[s] < 0)
        return 0
    at = (of in LENS) ? lens_at(of, INFO[of, "limit_ns"]) : LIMIT_AT[s]
    return x - half < at && at < x + half
}

function put_limit(s, from, to,    of) {
    of = SECTION_RUN[s]
    printf "%.9g\t%.6g\t%.6g\n", LIMIT_AT[s] / scale / unit_ns, from, to - from
    if (of in LENS && lens_at(of, INFO[of, "limit_ns"]) <= columns)
        printf "%.9g\t%.6g\t%.6g\n", lens_at(of, INFO[of, "limit_ns"]) / scale / unit_ns, from,
               to - from
}

# The larger picture of a short run has an axis of its own, in the strip above it.
function put_lens_axis(s, of,    step, ns, unit) {
    unit = LENGTH[of] >= 1e6 ? 1e6 : LENGTH[of] >= 1e3 ? 1e3 : 1
    for (step = 1; step * scale * LENS[of] < 5 * em * density; step *= 10)
        ;
    step = step / 5 * scale * LENS[of] >= 5 * em * density ? step / 5 : \
           step / 2 * scale * LENS[of] >= 5 * em * density ? step / 2 : step
    for (ns = 0; ns <= LENGTH[of]; ns += step) {
        put_name(s, lens_at(of, ns), sprintf("%g", ns / unit) (ns == 0 ? "" : unit == 1e6 ? " ms" : unit == 1e3 ? " us" : " ns"), 3)
        TICK[++ticks] = sprintf("%.9g\t%.6g\t%.6g", lens_at(of, ns) / scale / unit_ns, SECTION_TOP[s] - 0.1,
                                SECTION_BOTTOM[s] - SECTION_TOP[s] + 0.1)
    }
}

function put_lenses(    s, of) {
    print "$lenses << END\n-9\t-8\t-9\t-8\t-9\t1"
    for (s = 1; s <= sections; s++) {
        of = SECTION_RUN[s]
        if (of in LENS)
            printf "%.9g\t%.9g\t%.6g\t%.6g\t%.9g\t%g\n", LENS_FROM[of] / scale / unit_ns,
                   lens_at(of, LENGTH[of]) / scale / unit_ns, SECTION_TOP[s], SECTION_BOTTOM[s],
                   LENGTH[of] / unit_ns, LENS[of]
    }
    print "END"
}

# --- all of it, for gnuplot -------------------------------------------------------------------------

# Each table begins with a row that is not seen: gnuplot complains of empty ones, or crashes.
function put_boxes(    i, k, n, list) {
    n = split("gaps waits narrow wide extra raced urgent slow", list, " ")
    for (i = 1; i <= n; i++) {
        print "$" list[i] " << END\n-9\t-8\t-9\t-8\t1"
        for (k = 1; k <= boxes; k++) {
            if ((list[i], k) in BOX) {
                print BOX[list[i], k]
                HAS[list[i]] = 1
            }
        }
        for (k = 1; list[i] == "narrow" && k <= dense; k++)
            put_lane(DENSE[k])
        for (k = 1; list[i] == "raced" && k <= dense; k++) {
            if (DENSE[k] in RACE_FROM) {
                class = KERNELS
                print box_text(RACE_FROM[DENSE[k]], RACE_TO[DENSE[k]], DENSE[k], LANE_BOTTOM[DENSE[k]])
                HAS["raced"] = 1
            }
        }
        print "END"
        print "has_" list[i] " = " HAS[list[i]] + 0
    }
    print "$labels << END\n0\t0\t\302\240\t1\t9\t1\n0\t0\t\302\240\t1\t9\t2"
    for (i = 1; i <= texts; i++)
        print TEXT[i] "\t" ROW_SIZE[TEXT_TOP[i]]
    print "END"
    put_limits()
    put_notes()
    put_lenses()
    put_hands()
    print "array used[" CLASSES "]"
    for (i = 1; i <= CLASSES; i++)
        print "used[" i "] = " USED[i] + 0
    print "dense = " dense_drawn + 0
}
