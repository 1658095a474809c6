# sweep.awk - lays a sweep out: reads the report's CSV, prints what sweep.gp draws.
#
#     awk -f csv.awk -f sweep.awk -v page=1920 -v em=28 DATA.csv
#
# A curve is a run of the config files (a section) at one value of the axis that is not on the
# x axis. Speed-ups are the report's, against the first row of the same work on the same device;
# where only the arrays' sizes differ, of the time that one element takes; and where the work or the
# device differs and there are none, each row is shown as a share of its own limit.

BEGIN {
    CURVES_MAX = 64
    KEY_MAX = 16
}

{
    sub(/\r$/, "")
}

/^# message: / {
    MESSAGE = substr($0, 12)
    next
}

/^# pipeline / {
    VERSION = $3
    next
}

/^# sweep:/ {
    axes = split(substr($0, 10), AXIS, " ")
    next
}

/^#/ {
    next
}

!headed {
    csv_heading($0)
    headed = 1
    if (!("time_ms" in COLUMN && "speedup" in COLUMN))
        refuse("this is no report: its first line has no column time_ms or speedup")
    next
}

{
    csv_split($0)
    if (axes == 0)
        guess_axes(field("run"))
    add_row()
}

END {
    if (failed)
        exit 1
    if (count == 0)
        refuse("there is nothing to draw: the file has no runs")
    lay_out()
    print "problem = ''"
}

# The axes stand behind the run's name: "depth streams=4 tiles=8".
function guess_axes(name,    words, n, i, at) {
    n = split(name, words, " ")
    for (i = n > 2 ? n - 1 : n; i <= n; i++) {
        at = index(words[i], "=")
        if (at > 1 && ("settings." substr(words[i], 1, at - 1)) in COLUMN)
            AXIS[++axes] = substr(words[i], 1, at - 1)
    }
    if (axes == 0)
        refuse("this is no sweep: no line '# sweep: OPTION', and no OPTION=VALUE behind a run's name")
}

# The value of an axis: as the name has it, which is as it was asked for; else as used.
function value_of(axis, name,    at, value) {
    at = index(name, " " axis "=")
    if (at == 0)
        return field("settings." axis)
    value = substr(name, at + length(axis) + 2)
    sub(/ .*/, "", value)
    return value
}

function section_of(name,    i, at) {
    for (i = axes; i >= 1; i--) {
        at = index(name, " " AXIS[i] "=")
        if (at > 0)
            name = substr(name, 1, at - 1)
    }
    sub(/~[0-9]+$/, "", name)
    return name
}

function add_row(    name, i, point) {
    name = field("run")
    count++
    for (i = 1; i <= 2; i++) {
        VALUE[count, i] = i <= axes ? value_of(AXIS[i], name) : ""
        if (!((i, VALUE[count, i]) in PLACE)) {
            PLACE[i, VALUE[count, i]] = ++VALUES[i]
            LIST[i, VALUES[i]] = VALUE[count, i]
        }
    }
    # The values come again with every section.
    point = VALUE[count, 1] SUBSEP VALUE[count, 2]
    SECTION[count] = ++SEEN[point]
    if (SECTION[count] > sections) {
        sections = SECTION[count]
        SECTION_NAME[sections] = one_line(section_of(name))
    }
    TIME[count] = field("time_ms") + 0
    LEAST[count] = field("time_min_ms") + 0
    MOST[count] = field("time_max_ms") + 0
    LIMIT[count] = field("limit_ms") + 0
    SPEEDUP[count] = field("speedup")
    WRONG[count] = field("verified") == "false"
    wrong += WRONG[count]
    ELEMENTS[count] = field("settings.elements") + 0
    if (ELEMENTS[count] != ELEMENTS[1])
        per_element = 1
    note("source", field("source"))
    note("device", field("device"))
    note("timing", field("timing"))
    note("streams", field("streams")) # those of the plan, not those that were asked for
    for (i in COLUMN) {
        if (i ~ /^settings\./)
            note(i, field(i))
    }
}

# Remembers what all rows have in common.
function note(key, value) {
    if (!(key in COMMON)) {
        COMMON[key] = value
        return
    }
    if (COMMON[key] != value && !(key in MIXED))
        MIXED[key] = 1
    if (key == "source" && COMMON[key] != value)
        COMMON[key] = "measured and simulated"
}

function common(key) {
    return key in MIXED ? "" : COMMON[key]
}

# --- numbers ----------------------------------------------------------------------------------

# "64k" is 65536. -1: not a number.
function number_of(text,    digits, unit) {
    if (text !~ /^[0-9]+([.][0-9]*)?[kKmMgGtT]?$/)
        return -1
    digits = text
    sub(/[a-zA-Z]$/, "", digits)
    unit = index("kmgt", tolower(substr(text, length(text))))
    return digits * (unit > 0 && text ~ /[a-zA-Z]$/ ? 1024 ^ unit : 1)
}

# 0: words, 1: numbers, 2: numbers that grow by factors.
function scale_of(axis,    i, value, least, most) {
    if (VALUES[axis] < 2)
        return 0
    for (i = 1; i <= VALUES[axis]; i++) {
        value = number_of(LIST[axis, i])
        if (value < 0)
            return 0
        if (i == 1 || value < least)
            least = value
        if (i == 1 || value > most)
            most = value
    }
    # Evenly spaced values have a mean near the middle of the two ends.
    return least > 0 && most / least >= 8 && most / least >= 1.6 ^ (VALUES[axis] - 1) ? 2 : 1
}

# "speedup", "element" or "share": what the rows have in common to be compared by.
function choose_measure(    i, n, keys, alike, known, right) {
    for (i = 1; i <= count; i++) {
        right += !WRONG[i]
        known += !WRONG[i] && SPEEDUP[i] != ""
    }
    n = split("device settings.kernel settings.intensity settings.stride settings.columns " \
              "settings.rows settings.inner source", keys, " ")
    alike = 1
    for (i = 1; i <= n; i++)
        alike = alike && !(keys[i] in MIXED)
    return right > 0 && known == right ? "speedup" : per_element && alike ? "element" : \
           count == 1 ? "speedup" : "share"
}

# How good a row would be if it had taken `time`; 0 where nothing can be said.
function speedup(row, time) {
    if (WRONG[row] || time <= 0)
        return 0
    if (measure == "share")
        return 100 * LIMIT[row] / time
    if (measure == "element")
        return ELEMENTS[row] > 0 && ELEMENTS[1] > 0 ? \
               TIME[1] / ELEMENTS[1] / (time / ELEMENTS[row]) : 0
    return (SPEEDUP[row] == "" ? 1 : SPEEDUP[row]) * TIME[row] / time
}

function value_text(value) {
    return measure == "share" ? sprintf("%.0f%%", value) : sprintf("%.2f", value)
}

# --- the page ---------------------------------------------------------------------------------

function lay_out(    i, one, two) {
    one = scale_of(1)
    two = axes > 1 ? scale_of(2) : 0
    x_axis = axes > 1 && one == 0 && two > 0 ? 2 : 1
    other = 3 - x_axis
    x_scale = x_axis == 1 ? one : two
    heat = axes > 1 && VALUES[other] >= 3
    measure = choose_measure()
    print "y_unit = " quoted(measure == "share" ? "%%" : "x")
    print "heat = " heat + 0 "\nfields_named = " (sections > 1)
    print "bars = " (x_scale == 0 && !heat)
    print "x_name = " quoted(AXIS[x_axis])
    put_titles()
    put_best()
    if (heat)
        put_heat()
    else
        put_curves()
}

function position(text) {
    if (x_scale == 0 || heat)
        return PLACE[x_axis, text]
    return x_scale == 2 ? log(number_of(text)) / log(2) : number_of(text)
}

# Labels have `room` units in all; they go on over three lines before they are cut.
function put_ticks(array, axis, room,    i, step, n, letters, lines) {
    letters = int(room / VALUES[axis] / (0.6 * 0.89 * em))
    step = letters >= 4 ? 1 : int((VALUES[axis] - 1) / (room / (2.4 * em))) + 1
    letters = letters < 4 ? 12 : letters
    print "array " array "_at[" VALUES[axis] + 1 "]\narray " array "_text[" VALUES[axis] + 1 "]"
    for (i = 1; i <= VALUES[axis]; i += step) {
        n++
        printf "%s_at[%d] = %.9g\n", array, n, (axis == x_axis ? position(LIST[axis, i]) : i)
        print array "_text[" n "] = " wrapped(LIST[axis, i], letters, 3)
        if (WRAPPED_LINES > lines)
            lines = WRAPPED_LINES
    }
    print array "_ticks = " n "\n" array "_lines = " lines
}

function curve_name(row,    text) {
    text = sections > 1 || SECTION_NAME[1] != "run" ? SECTION_NAME[SECTION[row]] : ""
    if (axes > 1)
        text = text (text == "" ? "" : ", ") AXIS[other] "=" VALUE[row, other]
    return text
}

function put_curves(    i, id, c, key, x, y, longest, text, apart) {
    for (i = 1; i <= count; i++) {
        id = SECTION[i] SUBSEP VALUE[i, other]
        if (!(id in CURVE)) {
            CURVE[id] = ++curves
            CURVE_NAME[curves] = cut(one_line(curve_name(i)), 24)
        }
        c = CURVE[id]
        x = position(VALUE[i, x_axis])
        y = speedup(i, TIME[i])
        if (i == 1 || x < x_min)
            x_min = x
        if (i == 1 || x > x_max)
            x_max = x
        if (y > y_max)
            y_max = y
        if (speedup(i, LEAST[i]) > y_max)
            y_max = speedup(i, LEAST[i])
        if (speedup(i, LIMIT[i]) > limit_max)
            limit_max = speedup(i, LIMIT[i])
        if (WRONG[i])
            WRONGS = WRONGS sprintf("%.9g\t%d\n", x, c)
        else
            ROWS[c] = ROWS[c] sprintf("%.9g\t%.6g\t%.6g\t%.6g\t%s\n", x, y, speedup(i, MOST[i]),
                                      speedup(i, LEAST[i]), value_text(y))
        if (LIMIT[i] > 0 && !WRONG[i])
            LIMITS[c] = LIMITS[c] sprintf("%.9g\t%.4g\n", x, speedup(i, LIMIT[i]))
    }
    left_out = curves > CURVES_MAX ? curves - CURVES_MAX : 0
    curves -= left_out
    # A limit that is far away would leave no room for the rest.
    if (limit_max > y_max && limit_max <= 3 * y_max)
        y_max = limit_max
    printf "curves = %d\nx_min = %.9g\nx_max = %.9g\ny_max = %.9g\n", curves, x_min, x_max,
           (y_max > 0 ? y_max : 1)
    print "array curve_name[" curves + 1 "]"
    print "$points << END"
    for (c = 1; c <= curves; c++)
        print (ROWS[c] == "" ? "-9e9\t-9e9\t-9e9\t-9e9\t-\n" : ROWS[c]) "\n"
    print "END\n$wrongs << END\n-9e9\t1\n" WRONGS "END\nwrongs = " (WRONGS != "")
    for (c = 1; c <= curves; c++) {
        if (LIMITS[c] != "" && !(LIMITS[c] in LIMIT_SEEN))
            apart = LIMIT_SEEN[LIMITS[c]] = ++limits
    }
    split("", LIMIT_SEEN)
    limits = 0
    print "$limit << END"
    print "-9e9\t-9e9\t0"
    for (c = 1; c <= curves; c++) {
        if (LIMITS[c] == "" || (LIMITS[c] in LIMIT_SEEN))
            continue
        LIMIT_SEEN[LIMITS[c]] = 1
        limits++
        # Several limits have the colours of their curves.
        text = LIMITS[c]
        gsub(/\n/, "\t" (apart > 1 ? c : 0) "\n", text)
        print "\n" text
    }
    print "END\nlimits = " limits + 0
    for (c = 1; c <= curves; c++) {
        print "curve_name[" c "] = " quoted(c <= KEY_MAX ? CURVE_NAME[c] : "")
        if (characters(CURVE_NAME[c]) > longest)
            longest = characters(CURVE_NAME[c])
    }
    print "key_length = " (curves > 1 || longest > 0 ? longest : 0)
    print "limits_apart = " (apart > 1)
    text = curves > KEY_MAX ? "and " (curves - KEY_MAX + left_out) " more curves" : ""
    put_remark(text)
    put_ticks("x", x_axis, page - 14 * em)
}

# Every section is a field of cells, side by side.
function put_heat(    i, shown, y) {
    shown = sections > 4 ? 4 : sections
    put_ticks("x", x_axis, (page - 16 * em) / shown)
    put_ticks("y", other, 1e6)
    print "columns = " VALUES[x_axis] "\nrows = " VALUES[other] "\nfields = " shown
    print "y_name = " quoted(AXIS[other])
    print "array field_name[" shown + 1 "]"
    for (i = 1; i <= shown; i++)
        print "field_name[" i "] = " quoted(sections > 1 ? SECTION_NAME[i] : "")
    print "$cells << END"
    for (i = 1; i <= count; i++) {
        if (SECTION[i] > shown)
            continue
        y = speedup(i, TIME[i])
        if (y > y_max)
            y_max = y
        if (y > 0 && (y_min == "" || y < y_min))
            y_min = y
        printf "%d\t%d\t%d\t%.6g\t%d\t%s\t%d\n", SECTION[i], PLACE[x_axis, VALUE[i, x_axis]],
               PLACE[other, VALUE[i, other]], y, (i == best), WRONG[i] ? "WRONG" : value_text(y), WRONG[i]
    }
    print "END"
    printf "y_min = %.9g\ny_max = %.9g\n", y_min + 0, (y_max > y_min ? y_max : y_min + 1)
    put_remark(sections > shown ? "and " (sections - shown) " more runs" : "")
}

function put_remark(text) {
    if (wrong)
        text = (text == "" ? "" : text "; ") wrong " of " count " runs with a WRONG RESULT"
    print "remark = " quoted(text)
}

# Of equals the first; none where every result is wrong.
function put_best(    i, name, gain) {
    best = 0
    for (i = 1; i <= count; i++) {
        if (!WRONG[i] && (!best || speedup(i, TIME[i]) > speedup(best, TIME[best])))
            best = i
    }
    if (best) {
        name = sections > 1 ? SECTION_NAME[SECTION[best]] : ""
        for (i = 1; i <= axes; i++)
            name = name (name == "" ? "" : ", ") AXIS[i] "=" VALUE[best, i]
        # The best of all may be the one that the others are compared with.
        gain = value_text(speedup(best, TIME[best])) (measure == "share" ? "" : "x")
        if (gain == "1.00x")
            gain = time_text(TIME[best] * 1e6)
        name = "best: " cut(one_line(name), 36)
    }
    print "best_note = " quoted(gain)
    print "best_small = " quoted(name)
    name = sections > 1 || SECTION_NAME[1] != "run" ? SECTION_NAME[1] : ""
    for (i = 1; i <= axes; i++)
        name = name (name == "" ? "" : " ") AXIS[i] "=" VALUE[1, i]
    if (measure == "speedup" && groups())
        name = "the first of the same work and device"
    print "y_title = " quoted(measure == "share" ? "share of each run's own limit" : \
                              (measure == "element" ? "speed-up per element, " : "speed-up, ") \
                              "1 is " cut(one_line(name), 40))
}

# Speed-ups of 1 stand for more than one piece of work.
function groups(    i, base) {
    for (i = 1; i <= count; i++) {
        if (WRONG[i] || SPEEDUP[i] == "")
            continue
        if (base > 0 && (SPEEDUP[i] * TIME[i] / base > 1.001 || SPEEDUP[i] * TIME[i] / base < 0.999))
            return 1
        base = base > 0 ? base : SPEEDUP[i] * TIME[i]
    }
    return 0
}

function put_titles(    text, keys, n, i, work, room) {
    work = work_text(common("settings.kernel"), common("settings.intensity"),
                     common("settings.elements"))
    text = MESSAGE != "" ? MESSAGE : work == "" ? "sweep" : work
    room = page - 14 * em
    print_title(text, room)
    print "title_wrong = " (text ~ /WRONG RESULT/)
    text = MESSAGE != "" ? work : ""
    text = listed(text, counted(common("settings.tiles"), "tile"))
    text = listed(text, counted(common("streams"), "stream"))
    n = split("blocks ways order layout memory scatter callbacks carry connections spread exchange halo steps hide issue pack mistake", keys, " ")
    for (i = 1; i <= n; i++)
        text = listed(text, setting_text(keys[i], common("settings." keys[i])))
    print "settings = " quoted(text)
    text = listed(COMMON["source"], "device" in MIXED ? "several devices" : COMMON["device"])
    if (common("timing") != "")
        text = text "; timeline: " timing_text(common("timing"))
    if (VERSION != "")
        text = text "; pipeline " VERSION
    print "provenance = " quoted(text)
}
