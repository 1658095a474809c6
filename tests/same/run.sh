#!/bin/sh
# run.sh - whether two builds of the program give the same, byte for byte.
#
#     tests/same/run.sh OLD NEW [COUNT [SEED]]
#
# OLD and NEW are two `pipeline` programs. Each runs every config under configs/ and COUNT settings
# drawn at random (500), and each run's JSON, CSV, timeline as CSV and as a Chrome trace, and exit code
# are compared. A report of schema 1 is read as one of schema 2: names differ between the two, the CSV
# lacks the two closed formulas' columns, and a trace's process is no longer called 1.00x as fast as
# itself. The sentences of verdicts, which say the same in other words, are left out.
# What differs is kept in out/same, and the exit code is then 1.
set -eu
if [ $# -lt 2 ]; then
    echo "usage: $0 OLD NEW [COUNT [SEED]]" >&2
    exit 2
fi
here=$(dirname "$0")
old=$(realpath "$1")
new=$(realpath "$2")
count=${3:-500}
seed=${4:-1}
out=out/same
rm -rf "$out"
mkdir -p "$out"
cases=$out/cases
for config in configs/lessons/*.ini configs/history/*.ini configs/ways.ini configs/dgemm-small.ini; do
    case $config in
        configs/history/*) echo "--no-data $config" ;; # some are hours of a CPU's work
        *) echo "$config" ;;
    esac
    echo "--no-data --device=sim:h200 $config"
done > "$cases"
awk -v seed="$seed" -v count="$count" -f "$here/settings.awk" >> "$cases"

# renamed FILE: a report or a timeline in the names of schema 2.
renamed() {
    sed -e 's/"schema": *1\b/"schema":2/' -e 's/"schema":  *2/"schema":2/' \
        -e 's/^#   span_ns:/#   time_ns:/' -e 's/, 1[.]00x, limit/, limit/' \
        -e 's/"span_\(min_\|max_\|\)ms"/"time_\1ms"/g' -e '1s/\bspan_\(min_\|max_\|\)ms\b/time_\1ms/g' \
        -e '/^ *"\(text\|fix\)": /d' "$1" |
        awk -F , -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) drop[i] = $i ~ /^predicted_(werkhoven|gomez)/; any = /gomez/ }
            any { line = ""; for (i = 1; i <= NF; i++) if (!drop[i]) line = line (line == "" ? "" : ",") $i; $0 = line }
            { print }'
}

# one PROGRAM FOLDER ARGUMENT...: everything that one program gives for one case.
one() {
    program=$1
    to=$2
    shift 2
    mkdir -p "$to"
    for format in json csv; do
        code=0
        timelines=
        [ $format = csv ] || timelines="--timeline=$to/timeline.csv --timeline=$to/trace.json"
        # shellcheck disable=SC2086 # no argument has a blank
        "$program" -q --format=$format $timelines "$@" > "$to/report.$format" 2> "$to/errors.$format" ||
            code=$?
        echo "$code" > "$to/exit.$format"
    done
}

differ=0
number=0
refused=0
while read -r line; do
    number=$((number + 1))
    # shellcheck disable=SC2086
    one "$old" "$out/old" $line &
    # shellcheck disable=SC2086
    one "$new" "$out/new" $line
    wait
    same=yes
    for file in report.json report.csv timeline.csv trace.json exit.json exit.csv; do
        [ -e "$out/old/$file" ] || [ -e "$out/new/$file" ] || continue
        case $file in
        report.* | timeline.csv | trace.json)
            [ -e "$out/old/$file" ] && [ -e "$out/new/$file" ] || { same="$file"; continue; }
            renamed "$out/old/$file" > "$out/a"
            renamed "$out/new/$file" > "$out/b"
            ;;
        *)
            cp "$out/old/$file" "$out/a" 2>/dev/null || : > "$out/a"
            cp "$out/new/$file" "$out/b" 2>/dev/null || : > "$out/b"
            ;;
        esac
        cmp -s "$out/a" "$out/b" || same="$file"
    done
    [ "$(cat "$out/old/exit.json")" = 0 ] || refused=$((refused + 1))
    if [ "$same" != yes ]; then
        differ=$((differ + 1))
        echo "differs ($same): $line"
        mkdir -p "$out/differs"
        cp -r "$out/old" "$out/differs/$number.old"
        cp -r "$out/new" "$out/differs/$number.new"
    fi
    rm -rf "$out/old" "$out/new"
done < "$cases"
echo "$number cases, $refused of them refused or wrong on purpose: $differ differ"
[ $differ = 0 ]
