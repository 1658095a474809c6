# timeline.awk - lays a timeline out: reads its CSV twice, prints what timeline.gp draws.
#
#     awk -f csv.awk -f boxes.awk -f timeline.awk -v page=1920 -v em=28 -v density=1 \
#         -v rows=engines -v only=0 -v only_to=0 -v large=43 -v page_height=1080 -v paper=0 -v figure=0 \
#         -v engine_names=... pass=1 DATA.csv pass=2 DATA.csv
#
# The lists of kinds and engines are those of ops.gp: timeline.gp hands them on.
# A section is a part of the picture with a name: a run or, of one run by engine and by stream
# (rows=both), one of the two. A band is an engine or a stream of a section; its lanes lie in it. A
# class is what a box is coloured by: the number of its kind of op. Lengths are in units of the page, of which `em` make the size
# of the text and each has `density` pixels; heights are in rows, downwards.

BEGIN {
    SECTIONS_MAX = 24
    engines = split(engine_names, ENGINES, " ")
    split(engine_labels, ENGINE_LABEL, " ")
    for (i = 1; i <= engines; i++)
        IS_ENGINE[ENGINES[i]] = 1
    CLASSES = split(kind_names, KINDS, " ")
    split(kind_engines, KIND_ENGINE, " ")
    split(kind_letters, LETTER, " ")
    split(kind_in_stream, KIND_IN_STREAM, " ")
    for (i = CLASSES; i >= 1; i--) {
        CLASS_OF_KIND[KINDS[i]] = i
        CLASS[KIND_ENGINE[i]] = i # of a kind that is not known: the first of its engine
    }
    CLASS["none"] = WAITS = CLASS_OF_KIND["wait"]
    KERNELS = CLASS_OF_KIND["kernel"]
    n = split("callback d2d memset sync event-sync alloc pack peer", extras, " ")
    for (i = 1; i <= n; i++)
        KIND_EXTRA[CLASS_OF_KIND[extras[i]]] = 1
}

{
    sub(/\r$/, "")
}

# --- first pass: what there is ----------------------------------------------------------------

pass == 1 && /^#/ {
    comment($0)
    next
}

pass == 1 && !headed {
    csv_heading($0)
    headed = 1
    if (!("start_ns" in COLUMN && "engine" in COLUMN))
        refuse("this is no timeline: its first line has no column start_ns or engine")
    next
}

pass == 2 && !laid_out {
    lay_out()
    laid_out = 1
    told = 0
    run = 0
    last_op = ""
}

pass == 2 && (/^#/ || !told) {
    told = told || !/^#/ # the heading
    next
}

{
    csv_split($0)
    run = run_of(field("run"), field("op") + 0)
    if (run == 0)
        next
    start = field("start_ns") + INFO[run, "clock_ns"]
    end = field("end_ns") + INFO[run, "clock_ns"]
    engine = field("engine")
    kind = field("kind")
    if (!(engine in IS_ENGINE) || start < 0 || end < start)
        next
    lane = engine == "compute" && (run, field("device") + 0) in ONE_ROW ? 0 : field("lane") + 0
    class = kind in CLASS_OF_KIND ? CLASS_OF_KIND[kind] : CLASS[engine]
    engine = on_device(engine, field("device") + 0, run)
    in_stream = KIND_IN_STREAM[class]
    if (pass == 1)
        measure()
    else
        draw()
}

END {
    if (failed)
        exit 1
    if (!laid_out)
        lay_out()
    put_boxes()
    put_remark()
    print "problem = ''"
}

function comment(line,    key) {
    if (match(line, /^# pipeline [^ ]*/)) {
        VERSION = substr(line, 12, RLENGTH - 11)
    } else if (line ~ /^# message: /) {
        MESSAGE = substr(line, 12)
    } else if (line ~ /^# run: /) {
        add_run(unmarked(substr(line, 8)))
    } else if (runs > 0 && match(line, /^#   [a-z_]*:/)) {
        key = substr(line, 5, RLENGTH - 5)
        sub(/^span_/, "time_", key) # as timelines before schema 2 call it
        INFO[runs, key] = unmarked(substr(line, RLENGTH + 2))
        if (key == "settings")
            settings(runs, INFO[runs, key])
        if (key == "streams") # those that the plan has, not those that were asked for
            SET[runs, key] = INFO[runs, key]
        if (key == "busy_ns" || key == "lost_ns")
            settings(runs, INFO[runs, key])
        if (key == "gaps")
            read_gaps(runs, INFO[runs, key])
        if (key == "raced" || key == "urgent" || key == "one_row")
            read_numbers(runs, key, INFO[runs, key])
    }
}

# "sync-in-loop 17 1234 5678; ...": a cause, an op in whose row its gap lies, from when, to when; of several
# gaps that are one also what was lost there.
function read_gaps(of, text,    list, parts, i, n, fields) {
    n = split(text, list, "; *")
    for (i = 1; i <= n; i++) {
        fields = split(list[i], parts, " ")
        if (fields < 4 || fields > 5)
            continue
        GAP_NAME[of, ++GAPS[of]] = one_line(parts[1])
        GAP_NEXT[of, GAPS[of]] = GAP_OF[of, parts[2]] # of the same op
        GAP_OF[of, parts[2]] = GAPS[of]
        GAP_FROM[of, GAPS[of]] = parts[3] + INFO[of, "clock_ns"]
        GAP_TO[of, GAPS[of]] = parts[4] + INFO[of, "clock_ns"]
        GAP_PART[of, GAPS[of]] = fields == 5 && parts[4] > parts[3] ? parts[5] / (parts[4] - parts[3]) : 1
        PLACED[of, GAP_NAME[of, GAPS[of]]] += fields == 5 ? parts[5] : parts[4] - parts[3]
    }
}

function read_numbers(of, key, text,    list, i, n) {
    n = split(text, list, " ")
    for (i = 1; i <= n; i++) {
        if (key == "raced")
            RACED[of, list[i] + 0] = 1
        else if (key == "urgent")
            URGENT[of, list[i] + 0] = 1
        else
            ONE_ROW[of, list[i] + 0] = 1 # a device whose kernels share a row
    }
}

function add_run(name) {
    NAME[++runs] = name
    if (FIRST[name] == "")
        FIRST[name] = runs
    return runs
}

# key=value or key="value with blanks"
function settings(of, text,    key, value) {
    while (match(text, /[a-z0-9-]+=/)) {
        key = substr(text, RSTART, RLENGTH - 1)
        text = substr(text, RSTART + RLENGTH)
        match(text, text ~ /^"/ ? "^\"[^\"]*\"?" : "^[^ ]*")
        value = substr(text, 1, RLENGTH)
        text = substr(text, RLENGTH + 1)
        gsub(/"/, "", value)
        SET[of, key] = value
    }
}

# The run that a row belongs to. Runs may be called alike: their rows stand together, and the ops
# of a run count upwards.
function run_of(name, op,    next_run) {
    if (run > 0 && name == last_name && !(op < last_op && NAME[run + 1] == NAME[run])) {
        last_op = op
        return run
    }
    last_name = name
    name = one_line(name)
    next_run = run > 0 && NAME[run] == name && NAME[run + 1] == name ? run + 1 : FIRST[name]
    last_op = op
    return next_run > 0 ? next_run : add_run(name)
}

# The band of an engine: of several devices each has its own, "1-h2d"; the host has the last ones.
function on_device(engine, device, of) {
    return INFO[of, "devices"] > 1 && !is_host(engine) ? device "-" engine : engine
}

function is_host(engine) {
    return engine ~ /^(cpu|host|none)$/
}

function measure(    band) {
    if (length(field("tile")) > tile_length)
        tile_length = length(field("tile"))
    if (end > LENGTH[run])
        LENGTH[run] = end
    spans[run]++
    ISSUED[run] += engine != "none"
    EXTRAS[run] += KIND_EXTRA[class]
    if (engine != "none" && lane + 1 > LANES[run, engine])
        LANES[run, engine] = lane + 1
    if (!in_stream) {
        if (engine == "cpu")
            HAS_CPU[run] = 1
        else
            HAS_CALLS[run] = 1
        return
    }
    band = field("stream") + 0
    if (!((run, band) in STREAM)) {
        STREAM[run, band] = 1
        if (band > STREAM_LAST[run])
            STREAM_LAST[run] = band
        FOUND[run, ++STREAMS[run]] = band
    }
}

# --- between the passes: where everything goes ------------------------------------------------

function lay_out(    first, last, room) {
    if (!headed)
        refuse("this is no timeline: it is empty")
    if (rows == "" || rows == "auto")
        rows = runs == 1 || (only > 0 && only_to <= only) ? "both" : "engines"
    if (only_to < only)
        only_to = only
    if (only_to > runs)
        refuse("there is no run " only_to ": there are " runs)
    first = only > 0 ? only : 1
    last = only > 0 ? only_to : runs
    if (rows == "both" && last > first)
        last = first
    left_out = only == 0 ? runs - last : 0
    if (last - first >= SECTIONS_MAX) {
        left_out = runs - SECTIONS_MAX
        last = first + SECTIONS_MAX - 1
    }
    FROM = first
    TO = last
    choose_axis()
    # Room above each section for the names of its limit and of its gaps.
    strip = last - first >= 12 ? 0.35 : figure ? 0.9 : 0.8
    add_sections(first, last)
    # In a figure it is as high as the text, if the rows are left half of that.
    room = page_height - 4.35 * em - sections * em
    if (figure && room / (y - sections * strip) >= 0.3 * em) {
        strip = em * (y - sections * strip) / room
        y = sections = bands = lanes = heads = 0
        add_sections(first, last)
    }
    print "sections = " sections + 0
    print "rows_both = " (rows == "both")
    y += 0.1
    print "y_max = " (y > 0.1 ? y : 2)
    if (figure)
        put_foot()
    else
        put_titles()
    set_page()
    set_margins()
    put_sections()
}

# The longest run, and its limit unless that is far away.
function choose_axis(    i, limit, longest) {
    for (i = FROM; i <= TO; i++) {
        if (LENGTH[i] > longest)
            longest = LENGTH[i]
    }
    x_max = longest
    for (i = FROM; i <= TO; i++) {
        limit = INFO[i, "limit_ns"] + 0
        if (limit > x_max && limit <= 4 * longest)
            x_max = limit
    }
    if (x_max <= 0)
        x_max = 1
    unit_ns = x_max >= 1e9 ? 1e9 : x_max >= 1e6 ? 1e6 : x_max >= 1e3 ? 1e3 : 1
    printf "x_max = %.9g\n", x_max / unit_ns
    print "time_unit = " quoted(unit_ns == 1e9 ? "s" : unit_ns == 1e6 ? "ms" : \
                              unit_ns == 1e3 ? "us" : "ns")
    printf "spans = %d\n", total_spans()
}

function total_spans(    i, total) {
    for (i = FROM; i <= TO; i++)
        total += spans[i]
    return total
}

function add_sections(first, last,    i) {
    for (i = first; i <= last; i++) {
        if (rows != "streams")
            add_section(i, 0)
        if (rows != "engines")
            add_section(i, 1)
    }
}

function add_section(of, by_stream,    from) {
    y += strip + (sections > 0 && TO - FROM < 6 ? 0.15 : 0)
    SECTION_RUN[++sections] = of
    SECTION_KIND[sections] = by_stream
    from = y + 0
    if (by_stream)
        add_streams(of)
    else
        add_engines(of)
    if (y == from)
        y += 2
    SECTION_TOP[sections] = from
    SECTION_BOTTOM[sections] = y
    SECTION_HEIGHT[sections] = y - from
}

function add_streams(of,    i, n, most, height) {
    for (i = 0; i <= STREAM_LAST[of] && i < 100000; i++) {
        if ((of, i) in STREAM)
            STREAM_ORDER[of, n++] = i
    }
    # Ids that go beyond counting stay as they were found.
    for (i = 1; i <= STREAMS[of]; i++) {
        if (FOUND[of, i] >= 100000)
            STREAM_ORDER[of, n++] = FOUND[of, i]
    }
    most = rows == "both" ? 16 : 8
    height = n > most ? most / n : n + HAS_CPU[of] + HAS_CALLS[of] < 2 ? 2 : 1
    for (i = 0; i < n; i++)
        add_band(of, "s" STREAM_ORDER[of, i], (rows == "both" ? "" : "stream ") STREAM_ORDER[of, i],
                 1, height)
    if (HAS_CPU[of])
        add_band(of, "scpu", "CPU", 1, n > 0 ? height : 2)
    if (HAS_CALLS[of])
        add_band(of, "scalls", "host", 1, n > 0 ? height : 2)
}

# An engine with several lanes is higher, but not as often. Above them stands the order of issue, where
# that was asked for.
function add_engines(of,    device, devices, i, keys, n, busy) {
    if (INFO[of, "issue"] == "drawn") {
        add_band(of, "issue", "issue order", 1, 1)
        IS_ISSUE[BAND_TOP[of, "issue"]] = ++issues
        y += 0.25
    }
    devices = INFO[of, "devices"] > 1 ? INFO[of, "devices"] : 1
    for (device = 0; device <= devices; device++) { # the last one stands for the host
        for (i = 1; i <= engines; i++) {
            if (is_host(ENGINES[i]) != (device == devices))
                continue
            KEY[++keys] = on_device(ENGINES[i], device, of)
            LABEL[keys] = ENGINE_LABEL[i]
            HOME[keys] = KEY[keys] == ENGINES[i] ? -1 : device
            busy += LANES[of, KEY[keys]] > 0
        }
    }
    for (i = 1; i <= keys; i++) {
        n = LANES[of, KEY[i]]
        if (n == 0)
            continue
        if (HOME[i] >= 0 && (heads == 0 || HOME[i] != HEAD[heads] || sections != HEAD_SECTION[heads])) {
            HEAD[++heads] = HOME[i]
            HEAD_SECTION[heads] = sections
            HEAD_NAME[heads] = (SET[of, "share"] ~ /slices|mps/ ? "process " : "GPU ") HOME[i]
            HEAD_TOP[heads] = y
        }
        add_band(of, KEY[i], LABEL[i], n, busy == 1 ? 2 : n == 1 ? 1 : n < 5 ? 0.7 * n : 3)
        if (HOME[i] >= 0)
            HEAD_BOTTOM[heads] = y
    }
}

function add_band(of, key, label, lanes_, height,    i) {
    BAND_TOP[of, key] = y
    BAND_BOTTOM[of, key] = y + height
    BAND_LANE[of, key] = height / lanes_
    BAND_LANES[bands + 1] = lanes_
    for (i = 0; i < lanes_; i++) {
        LANE_TOP[++lanes] = y + i * height / lanes_
        LANE_HEIGHT[lanes] = height / lanes_
        LANE_SECTION[LANE_TOP[lanes]] = sections
    }
    BAND_NAME[++bands] = label
    BAND_Y[bands] = y + height / 2
    BAND_HEIGHT[bands] = height
    if (characters(label) > label_length)
        label_length = characters(label)
    if (rows == "both" && key != "issue" && SET[of, key] != "" && INFO[of, "time_ns"] > 0 && LENGTH[of] > 0)
        BAND_NOTE[bands] = sprintf("%.0f%%", 100 * SET[of, key] / LENGTH[of])
    y += height
}

# A slide has its height; paper gives each row what it needs, within a page. `row` is as high as a
# row, in units of the page.
function set_page(    height) {
    height = page_height
    if (paper) {
        height = top + bottom + y * 1.35 * em
        height = height < 300 ? 300 : height > 880 ? 880 : height
    }
    row = (height - top - bottom) / (y > 0.1 ? y : 2)
    strip_size = strip * row / 1.15 < 0.75 * em ? strip * row / 1.15 : 0.75 * em
    if (figure) # nothing below the size of the text
        strip_size = strip * row >= 0.8 * em ? em : 0
    least_band = figure ? 0.85 : 0.6 # the least height, in em, of a band with a name
    printf "page_height = %.6g\ntop = %.6g\nbottom = %.6g\nrow = %.9g\n", height, top, bottom, row
    printf "strip_size = %.6g\nleast_band = %g\n", strip_size, least_band
}

function lowest_of(list, count,    i, found) {
    found = list[1]
    for (i = 2; i <= count; i++)
        found = list[i] < found ? list[i] : found
    return found
}

function set_margins(    i, of) {
    for (i = 1; i <= sections; i++) {
        SECTION_NAME[i] = rows == "both" ? quoted("") : wrapped(NAME[SECTION_RUN[i]], 14, 3)
        if (WRAPPED > name_length)
            name_length = WRAPPED
    }
    for (i = 1; i <= heads; i++)
        head_length = characters(HEAD_NAME[i]) > head_length ? characters(HEAD_NAME[i]) : head_length
    labels_width = (label_length * 0.6 + 0.5 + head_length * 0.6) * em * (figure ? 1.05 : 0.9) # their texts are larger
    if (rows == "both") {
        names_width = em * 1.9
        right = em * 3
    } else {
        names_width = (name_length * 0.62 + 1) * em
        right = em * (figure && lowest_of(SECTION_HEIGHT, sections) * row < 2.6 * em ? 9.5 : 7)
        if (figure && lowest_of(BAND_HEIGHT, bands) * row < least_band * em)
            labels_width = head_length > 0 ? (head_length * 0.6 + 0.4) * em : issues > 0 ? 7.2 * em : 0 # the colours tell
    }
    left = names_width + labels_width
    printf "left = %.1f\nlabels_left = %.1f\nright = %.1f\n", left, names_width, right
    columns = (page - left - right) * density
    scale = columns / x_max # pixels per ns
    for (i = 1; i <= sections; i++) {
        of = INFO[SECTION_RUN[i], "limit_ns"] + 0
        of += of > 0 ? INFO[SECTION_RUN[i], "clock_ns"] : 0
        LIMIT_AT[i] = of > 0 && of <= x_max ? of * scale : -1
        limits += LIMIT_AT[i] >= 0
    }
    choose_lenses()
}

# A run that takes little of the axis is drawn once more, larger, in the room beside it.
function choose_lenses(    i, from, factor, step) {
    for (i = FROM; i <= TO && rows != "both"; i++) {
        if (LENGTH[i] <= 0 || LENGTH[i] * 8 > x_max)
            continue
        from = LENGTH[i] * scale + (figure ? 5.5 : 4.5) * em * density
        factor = (columns - from - em * density) / (LENGTH[i] * scale)
        for (step = 1; step * 10 <= factor; step *= 10)
            ;
        factor = factor >= 5 * step ? 5 * step : factor >= 2 * step ? 2 * step : step
        if (factor < 4)
            continue
        LENS[i] = factor
        LENS_FROM[i] = from
    }
}

function put_sections(    i, of, note) {
    print "array section_name[" sections + 1 "]"
    print "array section_short[" sections + 1 "]"
    print "array section_note[" sections + 1 "]"
    print "array section_small[" sections + 1 "]"
    print "array section_wrong[" sections + 1 "]"
    print "array section_axis[" sections + 1 "]"
    print "array section_top[" sections + 1 "]"
    print "array section_bottom[" sections + 1 "]"
    for (i = 1; i <= sections; i++) {
        of = SECTION_RUN[i]
        print "section_name[" i "] = " SECTION_NAME[i]
        print "section_short[" i "] = " quoted(cut(one_line(NAME[of]), int(name_length / 0.6)))
        print "section_axis[" i "] = " quoted(rows != "both" ? "" : \
                                              SECTION_KIND[i] ? "streams" : "engines")
        print "section_top[" i "] = " SECTION_TOP[i]
        print "section_bottom[" i "] = " SECTION_BOTTOM[i]
        print "section_note[" i "] = " quoted(time_text(time_of(of)))
        print "section_small[" i "] = " quoted(speedup_of(of))
        print "section_wrong[" i "] = " (INFO[of, "verified"] == "no")
    }
    print "bands = " bands + 0
    print "busy_known = " (BAND_NOTE[1] BAND_NOTE[2] != "")
    print "array band_name[" bands + 1 "]"
    print "array band_note[" bands + 1 "]"
    print "array band_y[" bands + 1 "]"
    print "array band_height[" bands + 1 "]"
    print "array band_lanes[" bands + 1 "]\narray band_issue[" bands + 1 "]"
    for (i = 1; i <= bands; i++) {
        print "band_name[" i "] = " quoted(BAND_NAME[i])
        print "band_note[" i "] = " quoted(BAND_NOTE[i])
        print "band_y[" i "] = " BAND_Y[i]
        print "band_height[" i "] = " BAND_HEIGHT[i]
        print "band_lanes[" i "] = " BAND_LANES[i]
        print "band_issue[" i "] = " ((BAND_Y[i] - BAND_HEIGHT[i] / 2) in IS_ISSUE)
    }
    print "limits = " limits + 0
    print "heads = " heads + 0 "\narray head_name[" heads + 1 "]\narray head_top[" heads + 1 "]"
    print "array head_bottom[" heads + 1 "]\narray head_odd[" heads + 1 "]"
    for (i = 1; i <= heads; i++) {
        print "head_name[" i "] = " quoted(HEAD_NAME[i])
        print "head_top[" i "] = " HEAD_TOP[i] "\nhead_bottom[" i "] = " HEAD_BOTTOM[i]
        print "head_odd[" i "] = " HEAD[i] % 2
    }
}

# What the run took (the median), and what it took while it was drawn.
function time_of(of) {
    return (of, "time_ns") in INFO ? INFO[of, "time_ns"] + 0 : LENGTH[of] + 0
}

# A run alone has nothing to be compared with.
function speedup_of(of) {
    return runs > 1 && INFO[of, "speedup"] + 0 > 0 ? sprintf("%.2fx", INFO[of, "speedup"]) : ""
}

function limit_of(of) {
    return INFO[of, "limit_ns"] + 0 > 0 ? "limit " time_text(INFO[of, "limit_ns"] + 0) : ""
}

# --- what it is a picture of ------------------------------------------------------------------

# The values of a setting that the runs have, joined by `sign` if there are no more than three.
function common(key, sign,    i, value, seen, count, text) {
    for (i = FROM; i <= TO; i++) {
        value = (i, key) in SET ? SET[i, key] : INFO[i, key]
        if (value == "" || (value in seen))
            continue
        seen[value] = 1
        text = text (count++ > 0 ? sign : "") value
    }
    return count > 3 ? "" : text
}

# The numbers of a setting: "4 streams", "1 to 4 streams".
function range(key, word,    i, least, most, value) {
    for (i = FROM; i <= TO; i++) {
        if (!((i, key) in SET) || SET[i, key] !~ /^[0-9]+$/)
            continue
        value = SET[i, key] + 0
        if (least == "" || value < least)
            least = value
        if (most == "" || value > most)
            most = value
    }
    if (least == "")
        return ""
    return (least < most ? sprintf("%.0f to ", least) : "") counted(sprintf("%.0f", most), word)
}

function how(    text, keys, n, i) {
    text = listed(range("tiles", "tile"), range("streams", "stream"))
    n = split("blocks ways order layout memory scatter callbacks carry connections spread exchange halo steps hide issue pack mistake", keys, " ")
    for (i = 1; i <= n; i++)
        if (keys[i] != "ways" || common("ways", "/") !~ /\//)
            text = listed(text, setting_text(keys[i], common(keys[i], "/")))
    return text
}

# "measured, NVIDIA H200; timeline: CUPTI; pipeline 0.1.0"
function provenance(    i, item, seen, text, timing, several, loop, source) {
    for (i = FROM; i <= TO; i++) {
        several = INFO[i, "devices"] > 1 ? INFO[i, "devices"] " x " : ""
        item = several INFO[i, "device"]
        if (several != "" && SET[i, "share"] ~ /slices|mps/)
            item = INFO[i, "device"] " shared by " INFO[i, "devices"] " processes"
        if (INFO[i, "source"] item == "" || ((INFO[i, "source"], item) in seen))
            continue
        seen[INFO[i, "source"], item] = 1
        if (i > FROM && INFO[i, "source"] == source) # said already
            sub(/NVIDIA /, "", item)
        else
            item = listed(INFO[i, "source"], item)
        text = text (text == "" ? "" : INFO[i, "source"] == source ? ", " : "; ") item
        source = INFO[i, "source"]
    }
    timing = timing_text(common("timing", " and "))
    if (timing != "" && !figure)
        text = text "; timeline: " timing
    loop = common("loop", " and ")
    if (loop != "" && !figure)
        text = text "; the loop: " loop
    if (VERSION != "")
        text = text "; pipeline " VERSION
    return text
}

# What a reader could not know from the picture alone.
function put_remark(    text) {
    if (left_out > 0)
        text = "and " left_out " more runs"
    if (beside)
        text = text (text == "" ? "" : "; ") "several rows of an engine: its ops ran side by side"
    if (dense_drawn)
        text = text (text == "" ? "" : "; ") "ops too short to draw: as high as their share of the time"
    if (part_drawn)
        text = text (text == "" ? "" : "; ") "hatching: as high as the share of the time lost"
    print "remark = " quoted(text)
}

# The slide that a figure is for has the title.
function put_foot() {
    print "title = ''\ntitle_size = 1\ntitle_bottom = 0\ntitle_wrong = 0\nnote_apart = 0"
    print "settings = ''\nsettings_lines = 0\ntop_note = ''\ntop_small = ''"
    print "provenance = " quoted(provenance())
    top = 0.15 * em
    bottom = 4.2 * em
}

function put_titles(    title, work, top_, small, room, size, settings_text) {
    work = work_text(common("kernel", " or "), common("intensity", "/"), common("elements", "/"))
    title = runs > 1 && FROM == TO ? INFO[FROM, "answer"] : only == 0 ? MESSAGE : ""
    if (title == INFO[FROM, "answer"] && FROM == TO && NAME[FROM] != "" && NAME[FROM] != "run")
        title = NAME[FROM] (title == "" ? "" : ": " title)
    if (title == "") {
        title = work != "" ? work : TO > FROM ? (TO - FROM + 1) " runs" : "timeline"
        work = ""
    }
    if (rows == "both" && runs > 0) {
        top_ = time_text(time_of(FROM))
        small = listed(speedup_of(FROM), limit_of(FROM))
    }
    work = work (work != "" && how() != "" ? "; " : "") how()
    room = page - 1.2 * em - (top_ == "" ? 0 : 9 * em)
    top = print_title(title, room)
    settings_text = wrapped(work, int(room / (0.56 * 0.8 * em)), 2)
    top += (work == "" ? 0 : WRAPPED_LINES * 1.05 * em) + 1.3 * em
    # The figures in the corner end above the heads of the columns.
    if (small != "" && top < 1.3 * large + 2.9 * em)
        top = 1.3 * large + 2.9 * em
    print "settings_lines = " (work == "" ? 0 : WRAPPED_LINES)
    # On paper what has to be said below does not stand beside the legend.
    for (size = 1; size <= bands; size++)
        beside = beside || BAND_LANES[size] > 1
    note_apart = paper && (beside || left_out || total_spans() > 100)
    print "note_apart = " note_apart + 0
    bottom = (note_apart ? 4.7 : 3.7) * em
    print "title_wrong = " (title ~ /WRONG RESULT/)
    print "settings = " settings_text
    print "provenance = " quoted(provenance())
    print "top_note = " quoted(top_)
    print "top_small = " quoted(small)
}
