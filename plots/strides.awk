# strides.awk - bandwidth against stride: reads what `pipeline bench strides --format=csv` printed,
# prints what strides.gp draws.
#
#     awk -f csv.awk -f strides.awk DATA.csv
#
# The GPU's rows are drawn; where there are none, the CPU's.

BEGIN {
    STRIDE_MAX = 65536
}

/^# pipeline / {
    VERSION = $3
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
    if (field("group") == "strides" && field("unit") == "GB/s" && \
        match(field("name"), /stride [0-9]+$/))
        add(field("name"))
}

END {
    if (failed)
        exit 1
    if (count[1] + count[2] == 0)
        refuse("the file has no rows of the group strides")
    lay_out(count[1] > 0 ? 1 : 2)
    print "problem = ''"
}

# "stride-copy, 256 MiB each way: stride 8", or "...: the CPU, 16 threads, stride 8".
function add(name,    stride, who, colon) {
    stride = substr(name, RSTART + 7) + 0
    colon = index(name, ": ")
    who = substr(name, colon + 2) ~ /^stride / ? 1 : 2
    if (stride < 1 || stride > STRIDE_MAX || field("median") + 0 <= 0)
        refuse("stride " stride " has no rate")
    if (TITLE != "" && TITLE != substr(name, 1, colon - 1))
        refuse("the file has several measurements: leave one")
    TITLE = substr(name, 1, colon - 1)
    if (who == 2)
        WHO = substr(name, colon + 2, RSTART - colon - 4)
    ROW[who, ++count[who]] = sprintf("%d\t%.6g\t%.6g\t%.6g", stride, field("median"),
                                     field("least"), field("most"))
    if (stride > x_max[who])
        x_max[who] = stride
    if (field("most") + 0 > y_max[who])
        y_max[who] = field("most") + 0
    if (stride == 1)
        first[who] = field("median") + 0
}

function lay_out(who,    i, n, text) {
    print "$rates << END"
    for (i = 1; i <= count[who]; i++)
        print ROW[who, i]
    print "END"
    print "x_max = " (x_max[who] > 1 ? x_max[who] : 2) "\ny_max = " y_max[who]
    # What is left where every sector of 8 floats is read for as few as are wanted of it.
    print "first = " (who == 1 ? first[who] + 0 : 0)
    print "array x_at[32]"
    for (i = 1; i <= x_max[who]; i *= 2)
        print "x_at[" ++n "] = " i
    print "x_ticks = " n
    print "settings = " quoted(TITLE)
    text = listed(TEXT["source"], who == 1 ? TEXT["device"] : listed(TEXT["cpu"], WHO))
    if (VERSION != "")
        text = text "; pipeline " VERSION
    print "provenance = " quoted(text)
}
