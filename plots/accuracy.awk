# accuracy.awk - how far predictions were from what was measured: reads the CSV of
# `pipeline compare`, prints what accuracy.gp draws.
#
#     awk -f csv.awk -f accuracy.awk ACCURACY.csv

BEGIN {
    CURVE[1] = "simulator"
    CURVE[2] = "werkhoven"
    CURVE[3] = "gomez-luna"
    CURVE[4] = "noise"
    LEAST = 1e-4 # of an error: what is smaller is drawn there
}

/^#/ {
    next
}

!headed {
    csv_heading($0)
    headed = 1
    if (!("simulated_ms" in COLUMN && "time_ms" in COLUMN))
        refuse("this is no comparison: its first line has no column simulated_ms")
    next
}

{
    csv_split($0)
    add(field("time_ms") + 0, field("simulated_ms") + 0)
}

END {
    if (failed)
        exit 1
    if (count == 0)
        refuse("there is nothing to draw: the file has no runs")
    lay_out()
    print "problem = ''"
}

function size(value) {
    return value < 0 ? -value : value
}

function remember(key, value) {
    if (value == "" || ((key, value) in KNOWN))
        return
    KNOWN[key, value] = 1
    TEXT[key] = TEXT[key] (TEXT[key] == "" ? "" : " and ") value
}

function add(measured, simulated,    ways) {
    if (measured <= 0 || simulated <= 0)
        return
    ways = field("settings.ways") + 0
    POINTS[++count] = sprintf("%d\t%.9g\t%.9g", ways, measured, simulated)
    used[ways] = 1
    if (count == 1 || measured < least)
        least = measured
    if (count == 1 || simulated < least)
        least = simulated
    if (measured > most)
        most = measured
    if (simulated > most)
        most = simulated
    keep(1, size(simulated / measured - 1))
    if (field("werkhoven_ms") != "")
        keep(2, size(field("werkhoven_ms") / measured - 1))
    if (field("gomez-luna_ms") != "")
        keep(3, size(field("gomez-luna_ms") / measured - 1))
    if (field("repeats") > 1)
        keep(4, field("noise") + 0)
    remember("source", field("source"))
    remember("device", field("device"))
    remember("driver", field("driver"))
    remember("machine", field("machine"))
}

function keep(curve, error) {
    ERRORS[curve, ++kept[curve]] = error < LEAST ? LEAST : error
    if (error > worst)
        worst = error
}

function sort(curve,    i, k, error) {
    for (i = 2; i <= kept[curve]; i++) {
        error = ERRORS[curve, i]
        for (k = i - 1; k >= 1 && ERRORS[curve, k] > error; k--)
            ERRORS[curve, k + 1] = ERRORS[curve, k]
        ERRORS[curve, k + 1] = error
    }
}

# The share of settings, in %, whose error in % is not larger.
function put_curves(    curve, i) {
    print "$curves << END"
    for (curve = 1; curve <= 4; curve++) {
        sort(curve)
        print 100 * LEAST "\t0"
        for (i = 1; i <= kept[curve]; i++)
            printf "%.6g\t%.6g\n", 100 * ERRORS[curve, i], 100 * i / kept[curve]
        print "\n"
    }
    print "END\narray has[4]\narray median[4]"
    for (curve = 1; curve <= 4; curve++) {
        i = int((kept[curve] + 1) / 2)
        print "has[" curve "] = " (kept[curve] > 0) "\nmedian[" curve "] = " \
              quoted(kept[curve] > 0 ? percent_text(ERRORS[curve, i]) : "")
    }
}

function percent_text(share) {
    return share <= LEAST ? "0 %" : sprintf(share < 0.1 ? "%.2g %%" : "%.0f %%", 100 * share)
}

# The next power of ten below or above.
function decade(value, up,    at) {
    at = 1e-9
    while (at * 10 <= value * 1.000001)
        at *= 10
    at = up && at < value * 0.999999 ? at * 10 : at
    return sprintf("%g", at) + 0
}

# Labels of ticks are formats: their % is doubled.
function put_ticks(name, low, high, as_time,    at, n) {
    print "array " name "_at[24]\narray " name "_text[24]"
    for (at = low; at <= high * 1.01; at = decade(at * 10, 0)) {
        n++
        print name "_at[" n "] = " at "\n" name "_text[" n "] = " \
              quoted(as_time ? time_text(at * 1e6) : sprintf("%g %%%%", at))
    }
    print name "_ticks = " n
}

function lay_out(    i, low, high, most_error) {
    print "$points << END"
    for (i = 1; i <= count; i++)
        print POINTS[i]
    print "END\narray used[4]"
    for (i = 1; i <= 4; i++)
        print "used[" i "] = " used[i] + 0
    low = decade(least, 0)
    high = decade(most, 1)
    if (high <= low)
        high = 10 * low
    put_curves()
    most_error = decade(100 * (worst > 1 ? worst : 1), 1)
    print "low = " low "\nhigh = " high "\nmost_error = " most_error "\nleast_error = " 100 * LEAST
    print "$ends << END\n" low "\n" high "\nEND"
    put_ticks("time", low, high, 1)
    put_ticks("error", 100 * LEAST, most_error, 0)
    print "settings = " quoted(counted(count, "setting") ", simulated on " TEXT["machine"])
    print "provenance = " quoted(listed(listed(TEXT["source"], TEXT["device"]), TEXT["driver"]))
}
