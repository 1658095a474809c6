#!/bin/sh
# run.sh PROGRAM [DEVICE FROM STEP CLEAN SECONDS] - judges the settings of bench/truth/cases.txt.
#
# It runs each as it stands, or, with a device, on that: of those that were drawn for an H200 every
# STEP-th with causes, from number FROM on, and the first CLEAN of the clean ones, two of the former
# to one of the latter, until SECONDS are over. A line is printed for each: right or wrong, what it
# was drawn for, the first three causes that were named, and the options. A single cause must come
# first, each of two must be among the first three, and nothing may be named of clean settings but
# the array's size, and a time that is said to be unknown, which accuses nothing. Then each fix that
# was offered is run by itself, and a line tells the time that was predicted, the one that it took
# (none: it could not be run), and that of the case, in ms. The sums come last.
if [ $# -eq 0 ]; then
    echo "usage: sh bench/truth/run.sh PROGRAM [DEVICE FROM STEP CLEAN SECONDS]" >&2
    exit 2
fi
program=$1 device=${2:-} from=${3:-1} step=${4:-1} clean_most=${5:-9999}
until=$(($(date +%s) + ${6:-86400}))
here=$(dirname "$0")
report=$(mktemp) || exit 1
trap 'rm -f "$report" "$report".*' EXIT

# On a device: the cases that were asked for, in their order.
select_cases() {
    [ -n "$device" ] || { cat "$here/cases.txt" && return; }
    awk -v from="$from" -v step="$step" -v most="$clean_most" '
        $1 != "h200" { next }
        $2 == "clean" { if (clean < most) ok[++clean] = $0; next }
        ++seen >= from && (seen - from) % step == 0 { bad[++faulty] = $0 }
        END {
            for (i = j = 1; i <= faulty || j <= clean; j++) {
                if (i <= faulty) print bad[i++]
                if (i <= faulty) print bad[i++]
                if (j <= clean) print ok[j]
            }
        }' "$here/cases.txt"
}

select_cases >"$report.cases"
while read -r machine drawn options; do
    [ "$(date +%s)" -lt "$until" ] || break
    common="-q --format=json --no-data"
    if [ -n "$device" ]; then
        common="-q --format=json --device=$device --runs=2 --warmup=0" options="${options#* }"
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
done <"$report.cases" | tee "$report.all"
awk -f "$here/sums.awk" "$report.all"
