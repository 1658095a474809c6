#!/bin/sh
# run.sh PROGRAM [DEVICE [FAULTY CLEAN]] - judges the settings of bench/truth/cases.txt.
#
# It runs each as it stands, or, with a device, the first FAULTY and CLEAN that were drawn for an
# H200 on that. A line is printed for each: what it was drawn for, right or wrong, the first three
# causes that were named, and the options; then, how many were right. A single cause must come
# first, each of two must be among the first three, and nothing but the array's size may be named
# of clean settings.
program=$1 device=${2:-} faulty=${3:-9999} clean=${4:-9999}
here=$(dirname "$0")
while read -r machine drawn options; do
    data=--no-data
    if [ -n "$device" ]; then
        [ "$machine" = h200 ] || continue
        if [ "$drawn" = clean ]; then
            [ $((clean -= 1)) -ge 0 ] || continue
        else
            [ $((faulty -= 1)) -ge 0 ] || continue
        fi
        options="--device=$device --runs=3 ${options#* }" data=
        case $drawn in *lazy-loading*) options="$options --warmup=0" ;; esac
    fi
    # shellcheck disable=SC2086 # the options are words
    "$program" -q --format=json $data $options 2>/dev/null | awk -v drawn="$drawn" -v options="$options" '
        $1 == "\"code\":" { code = $2; gsub(/[",]/, "", code) }
        $1 == "\"named\":" && $2 ~ /true/ { count++; if (count < 4) named[count] = code }
        END {
            split(drawn, wanted, ",")
            found = 0
            for (i in wanted)
                for (j = 1; j <= 3; j++)
                    found += named[j] == wanted[i]
            if (drawn == "clean")
                right = count == 0 || (count == 1 && named[1] == "short-run")
            else if (wanted[2] != "")
                right = found == 2
            else
                right = named[1] == drawn
            print (right ? "right" : "WRONG"), drawn, named[1] "," named[2] "," named[3], options
        }'
done <"$here/cases.txt" | awk '
    BEGIN {
        split("missing-wait legacy-stream blocking-stream sync-in-loop alloc-in-loop pinned-alloc-in-loop " \
              "launch-blocking slow-callback pin-in-run lazy-loading memset-in-loop", list)
        for (i in list)
            mistake[list[i]] = 1
    }
    {
        print
        kind = $2 == "clean" ? "clean settings, none accused" : $2 ~ /,/ ? "two causes, both in the first three" \
             : ($2 in mistake) || /--mistake=/ ? "single mistakes, named first" : "single settings, named first"
        tried[kind]++
        right[kind] += $1 == "right"
    }
    END {
        for (kind in tried)
            printf "%-38s%4d of %4d%8.1f %%\n", kind, right[kind], tried[kind], 100 * right[kind] / tried[kind]
    }'
