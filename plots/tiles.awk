# tiles.awk - times over the sizes of tiles: reads what `pipeline bench small-tiles --format=csv`
# printed, or small-tiles-sim, prints what tiles.gp draws.
#
#     awk -f csv.awk -f tiles.awk DATA.csv
#
# The device's rows are drawn; where there are none, the simulator's.

BEGIN {
    UNITS["KiB"] = 1024
    UNITS["MiB"] = 1024 * 1024
    UNITS["GiB"] = 1024 * 1024 * 1024
    PANELS = split("contiguous scattered", PANEL, " ")
    COLOURS = 9 # of the ways: the bare copies and auto need none
    CURVES_MAX = COLOURS + 1
}

/^# pipeline / {
    VERSION = $3
    sub(/,$/, "", VERSION) # ", quick" follows
    next
}

/^#   (source|device|cpu): / {
    key = substr($2, 1, length($2) - 1)
    TEXT[key] = substr($0, index($0, ": ") + 2)
    next
}

/^#/ {
    next
}

!headed {
    csv_heading($0)
    headed = 1
    if (!("group" in COLUMN && "median" in COLUMN && "unit" in COLUMN))
        refuse("this is not what pipeline bench --format=csv printed")
    next
}

{
    csv_split($0)
    if (field("unit") == "ms" && field("group") ~ /^(small|scattered)-tiles(-sim)?$/)
        add(field("group") ~ /-sim$/ ? 2 : 1, field("name"))
}

END {
    if (failed)
        exit 1
    if (count[1] + count[2] == 0)
        refuse("the file has no rows of the group small-tiles")
    lay_out(count[1] > 0 ? 1 : 2)
    print "problem = ''"
}

# "1 GiB each way, scattered, tiles of 64 KiB: mapped batch".
function add(who, name,    parts, words, way, bytes, panel) {
    way = name
    sub(/^[^:]*: /, "", way)
    sub(/: .*/, "", name)
    if (split(name, parts, ", ") != 3 || split(parts[3], words, " ") != 4 || \
        !(words[4] in UNITS) || field("median") + 0 <= 0)
        refuse("'" name "' is no row of the group small-tiles")
    panel = parts[2] == PANEL[1] ? 1 : 2
    bytes = words[3] * UNITS[words[4]]
    if (TITLE[who] != "" && TITLE[who] != parts[1])
        refuse("the file has several measurements: leave one")
    TITLE[who] = parts[1]
    count[who]++
    if (!((who, way) in CURVE)) {
        CURVE[who, way] = way == "bare copies" ? 0 : ++curves[who]
        WAY[who, CURVE[who, way]] = way
    }
    if (curves[who] - ((who, "auto") in CURVE) > COLOURS)
        refuse("the file has more ways than there are colours")
    ROWS[who, panel, CURVE[who, way]] = ROWS[who, panel, CURVE[who, way]] \
        sprintf("%d\t%.6g\t%.6g\t%.6g\n", bytes, field("median"), field("least"), field("most"))
    seen[who, panel] = 1
    widen(who, bytes, field("least") + 0, field("most") + 0)
}

function widen(who, bytes, least, most) {
    if (x_min[who] == 0 || bytes < x_min[who])
        x_min[who] = bytes
    if (bytes > x_max[who])
        x_max[who] = bytes
    if (y_min[who] == 0 || least < y_min[who])
        y_min[who] = least
    if (most > y_max[who])
        y_max[who] = most
}

function lay_out(who,    p, c, n, panels, bytes, tick, text) {
    print "array panel_name[2]\narray curve_name[" CURVES_MAX "]\narray x_at[32]\narray x_text[32]"
    print "$points << END"
    # The bare copies are a panel's first. What has no rows there holds a point of none.
    for (p = 1; p <= PANELS; p++) {
        panels += seen[who, p]
        for (c = 0; c <= curves[who] && seen[who, p]; c++)
            printf "%s\n\n", ROWS[who, p, c] == "" ? "NaN\tNaN\tNaN\tNaN\n" : ROWS[who, p, c]
    }
    print "END"
    for (p = 1; p <= PANELS; p++)
        if (seen[who, p])
            print "panel_name[" ++n "] = " quoted("tiles " PANEL[p])
    print "panels = " panels "\ncurves = " curves[who]
    for (c = 1; c <= curves[who]; c++)
        print "curve_name[" c "] = " quoted(WAY[who, c])
    print "auto = " ((who, "auto") in CURVE ? CURVE[who, "auto"] : 0)
    print "x_min = " x_min[who] "\nx_max = " x_max[who]
    print "y_min = " y_min[who] "\ny_max = " y_max[who]
    n = 0
    for (bytes = 1024; bytes <= x_max[who]; bytes *= 4)
        if (bytes >= x_min[who]) {
            print "x_at[" ++n "] = " bytes "\nx_text[" n "] = " quoted(bytes_text(bytes))
        }
    print "x_ticks = " n + 0
    n = 0
    print "array y_at[64]"
    for (tick = 1e-3; tick < 2 * y_max[who]; tick *= 10)
        for (c = 1; c <= 5; c += c == 1 ? 1 : 3)
            if (tick * c > y_min[who] / 1.5 && tick * c < y_max[who] * 1.5 && n < 64)
                print "y_at[" ++n "] = " tick * c
    print "y_ticks = " n
    print "settings = " quoted(TITLE[who])
    text = who == 1 ? listed(TEXT["source"], TEXT["device"]) : "simulated, sim:h200, without data"
    if (VERSION != "")
        text = text "; pipeline " VERSION
    print "provenance = " quoted(text)
}
