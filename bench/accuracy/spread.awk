# spread.awk - how much several calibrations of one kind of device differ, figure by figure.
#
#     awk -f bench/accuracy/spread.awk FILE.ini...
#
# A line for each figure: how many files have it, its least, median and largest value, and half their
# range as a part of the median. Figures come in the order of the first file that has them.

{
    sub(/;.*/, "")
    gsub(/^[ \t]+|[ \t\r]+$/, "")
}

/^\[kernel / {
    kernel = $0 " "
    next
}

/^\[/ {
    kernel = ""
    next
}

/^[a-z_0-9]+ *= *-?[0-9.]+(e[-+]?[0-9]+)?$/ {
    split($0, part, / *= */)
    name = kernel part[1]
    if (name == "format")
        next
    if (!(name in count))
        names[++figures] = name
    value[name, ++count[name]] = part[2] + 0
}

# Sorts the values of a figure.
function sort_values(name,    i, j, held) {
    for (i = 2; i <= count[name]; i++) {
        held = value[name, i]
        for (j = i - 1; j > 0 && value[name, j] > held; j--)
            value[name, j + 1] = value[name, j]
        value[name, j + 1] = held
    }
}

function median_of(name,    half) {
    half = int((count[name] + 1) / 2)
    return count[name] % 2 ? value[name, half] : (value[name, half] + value[name, half + 1]) / 2
}

END {
    printf "%-44s %5s %12s %12s %12s %9s\n", "figure", "files", "least", "median", "largest", "spread"
    for (i = 1; i <= figures; i++) {
        name = names[i]
        sort_values(name)
        middle = median_of(name)
        range = value[name, count[name]] - value[name, 1]
        printf "%-44s %5d %12.6g %12.6g %12.6g %9s\n", name, count[name], value[name, 1], middle, \
               value[name, count[name]], \
               middle != 0 ? sprintf("%.1f %%", 50 * range / (middle < 0 ? -middle : middle)) : \
               range == 0 ? "0.0 %" : "-"
    }
}
