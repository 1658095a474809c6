#!/bin/sh
# run.sh PROGRAM [DEVICE FROM STEP CLEAN] - judges the settings of bench/truth/cases.txt.
#
# It runs each as it stands, or, with a device, on that: of those that were drawn for an H200 every
# STEP-th with causes, from number FROM on, and the first CLEAN of the clean ones. A line is
# printed for each: right or wrong, what it was drawn for, the first three causes that were named,
# and the options. A single cause must come first, each of two must be among the first three, and
# nothing may be named of clean settings but the array's size, and a time that is said to be
# unknown, which accuses nothing. Then each fix that was offered is run by itself, and a line tells
# the time that was predicted and the one that it took. The sums come last.
program=$1 device=${2:-} from=${3:-1} step=${4:-1} clean_most=${5:-9999}
here=$(dirname "$0")
report=$(mktemp) || exit 1
trap 'rm -f "$report"' EXIT
faulty=0 clean=0
while read -r machine drawn options; do
    common="-q --format=json --no-data"
    if [ -n "$device" ]; then
        [ "$machine" = h200 ] || continue
        if [ "$drawn" = clean ]; then
            clean=$((clean + 1))
            [ $clean -le "$clean_most" ] || continue
        else
            faulty=$((faulty + 1))
            [ $faulty -ge "$from" ] && [ $(((faulty - from) % step)) -eq 0 ] || continue
        fi
        common="-q --format=json --device=$device --runs=3 --warmup=0" options="${options#* }"
        case $drawn in *lazy-loading*) common="$common --runs=1" ;; esac
    fi
    # shellcheck disable=SC2086 # the options are words
    timeout 100 "$program" $common $options >"$report" 2>/dev/null
    awk -v drawn="$drawn" -v options="$options" '
        function value(    text) {
            text = $0
            sub(/^[^:]*: /, "", text)
            gsub(/[",]/, "", text)
            return text
        }
        function excused_of(named, count,    i, excused) {
            for (i = 1; i <= count; i++)
                excused += named[i] == "short-run" || named[i] == "unknown"
            return excused
        }
        $1 == "\"time_ms\":" { time = value() }
        $1 == "\"code\":" { code = value() }
        $1 == "\"named\":" && $2 ~ /true/ { named[++count] = code }
        $1 == "\"command\":" && $2 != "null," { command = value() }
        $1 == "\"predicted_ms\":" && $2 != "null" && code != "" && named[count] == code {
            fixes = fixes "\nfix " code " " value() " " time " " options " " command
        }
        $1 == "\"modelled_ms\":" { code = "" } # what follows is no verdict any more
        END {
            split(drawn, wanted, ",")
            found = 0
            for (i in wanted)
                for (j = 1; j <= 3; j++)
                    found += named[j] == wanted[i]
            right = drawn == "clean" ? time > 0 && count == excused_of(named, count) \
                    : wanted[2] != "" ? found == 2 : named[1] == drawn
            print (right ? "right" : "WRONG"), drawn, named[1] "," named[2] "," named[3], options fixes
        }' "$report" >"$report.lines"
    while read -r kind code predicted original options; do
        if [ "$kind" != fix ]; then
            echo "$kind $code $predicted $original $options"
            continue
        fi
        # shellcheck disable=SC2086
        measured=$(timeout 100 "$program" $common $options 2>/dev/null |
            awk '$1 == "\"time_ms\":" { sub(/,/, "", $2); print $2; exit }')
        echo "fix $code $predicted ${measured:-none} $original $options"
    done <"$report.lines"
    rm -f "$report.lines"
done <"$here/cases.txt" | awk -f "$here/sums.awk"
