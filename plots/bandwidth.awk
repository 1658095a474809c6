# bandwidth.awk - how fast copies of each size were: reads a timeline's or a report's CSV, prints
# what bandwidth.gp draws.
#
#     awk -f csv.awk -f bandwidth.awk DATA.csv

BEGIN {
    DIRECTION[1] = "h2d"
    DIRECTION[2] = "d2h"
}

/^# pipeline / {
    VERSION = $3
    next
}

/^#   (source|device|timing): / {
    key = substr($2, 1, length($2) - 1)
    remember(key, substr($0, index($0, ": ") + 2))
    next
}

/^#   settings:/ {
    if (match($0, / memory=[a-z]+/))
        remember("memory", substr($0, RSTART + 8, RLENGTH - 8))
    next
}

/^#/ {
    next
}

!headed {
    csv_heading($0)
    headed = 1
    spans = "start_ns" in COLUMN && "kind" in COLUMN
    if (!spans && !("h2d_busy_ms" in COLUMN))
        refuse("this is neither a timeline nor a report")
    next
}

spans {
    csv_split($0)
    for (i = 1; i <= 2; i++) {
        if (field("kind") == DIRECTION[i])
            add(i, field("bytes") + 0, field("end_ns") - field("start_ns"), 1)
    }
    next
}

# A report has what a direction moved in all, and how long its engine was busy with it.
{
    csv_split($0)
    remember("source", field("source"))
    remember("device", field("device"))
    remember("timing", field("timing"))
    remember("memory", field("settings.memory"))
    tiles = field("settings.tiles") - field("cpu_tiles")
    if (field("settings.ways") == 1)
        tiles = field("settings.tiles") + 0
    for (i = 1; i <= 2 && tiles > 0; i++)
        add(i, field(DIRECTION[i] "_bytes") / tiles, field(DIRECTION[i] "_busy_ms") * 1e6 / tiles,
            tiles)
}

END {
    if (failed)
        exit 1
    lay_out()
    print "problem = ''"
}

function remember(key, value) {
    if (value == "" || ((key, value) in KNOWN))
        return
    KNOWN[key, value] = 1
    TEXT[key] = TEXT[key] (TEXT[key] == "" ? "" : " and ") value
}

# `copies` copies of `bytes` bytes that took `ns` each.
function add(direction, bytes, ns, copies,    x, rate, key) {
    if (bytes <= 0 || ns <= 0)
        return
    x = log(bytes) / log(2)
    rate = bytes / ns
    key = sprintf("%d\t%.3f\t%.3g", direction, x, rate)
    if (!(key in DOT))
        DOTS[++dots] = sprintf("%d\t%.6f\t%.6g", direction, x, rate)
    DOT[key] = 1
    # Where tiles can't be alike, their sizes differ by a few bytes.
    key = sprintf("%.3f", x)
    if (!((direction, key) in BYTES)) {
        SIZE[direction, ++sizes[direction]] = key
        used[direction] = 1
    }
    BYTES[direction, key] += bytes * copies
    TIME[direction, key] += ns * copies
    if (dots == 1 || x < x_min)
        x_min = x
    if (dots == 1 || x > x_max)
        x_max = x
    if (rate > y_max)
        y_max = rate
}

# In order of size. There are few sizes, or they come in order.
function sort_sizes(direction,    i, k, size) {
    for (i = 2; i <= sizes[direction]; i++) {
        size = SIZE[direction, i]
        for (k = i - 1; k >= 1 && SIZE[direction, k] + 0 > size + 0; k--)
            SIZE[direction, k + 1] = SIZE[direction, k]
        SIZE[direction, k + 1] = size
    }
}

function lay_out(    i, k, size, text, step, n, low, high) {
    print "$dots << END\n0\t-9\t-9"
    for (i = 1; i <= dots; i++)
        print DOTS[i]
    print "END\n$means << END"
    for (i = 1; i <= 2; i++) {
        sort_sizes(i)
        print "-9\t-9\n"
        for (k = 1; k <= sizes[i]; k++) {
            size = SIZE[i, k]
            printf "%s\t%.6g\n", size, BYTES[i, size] / TIME[i, size]
        }
        print "\n"
    }
    print "END\narray used[2]\nused[1] = " used[1] + 0 "\nused[2] = " used[2] + 0
    low = int(x_min)
    high = int(x_max) + (x_max > int(x_max))
    if (high <= low)
        high = low + 1
    print "dots = " dots + 0 "\nx_min = " low "\nx_max = " high
    print "y_max = " (y_max > 0 ? y_max : 1)
    step = int((high - low) / 12) + 1
    print "array x_at[64]\narray x_text[64]"
    for (i = low; i <= high; i += step) {
        n++
        print "x_at[" n "] = " i "\nx_text[" n "] = " quoted(bytes_text(2 ^ i))
    }
    print "x_ticks = " n
    print "x_name = " quoted(spans ? "bytes per copy" : "bytes per tile")
    print "settings = " quoted(TEXT["memory"] == "" ? "" : TEXT["memory"] " memory")
    text = listed(TEXT["source"], TEXT["device"])
    if (TEXT["timing"] != "")
        text = text "; timeline: " timing_text(TEXT["timing"])
    if (VERSION != "")
        text = text "; pipeline " VERSION
    print "provenance = " quoted(text)
}
