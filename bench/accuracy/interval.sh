#!/bin/sh
# interval.sh - how many of the times that were measured lie in the intervals of simulated ones.
#
#     bench/accuracy/interval.sh BUILD OUT
#
# BUILD is the folder that `pipeline` was built in. Takes what bench/results has of single H200s but
# what is still blind: on other hosts by h200.ini, and of the starts whose calibration is kept by that
# file, the spreads of which are those of one start. OUT gets a folder for each, as judge.sh writes it.
set -eu

if [ $# -ne 2 ]; then
    echo "usage: $0 BUILD OUT" >&2
    exit 2
fi
here=$(dirname "$0")
results=$here/../results
build=$1
out=$2
mkdir -p "$out"

# Judges the files of bench/results that are named behind a machine file.
judge() {
    name=$1
    machine=$2
    shift 2
    files=
    for file; do
        xz -dc "$results/h200-$file.csv.xz" > "$out/$file.csv"
        files="$files $out/$file.csv"
    done
    # shellcheck disable=SC2086
    "$here/judge.sh" "$build" "$out/$name" "$machine" $files > /dev/null
    rm $files
    echo "$name:"
    sed -n '/settings; of those/p; /interval/p' "$out/$name/summary.txt"
}

# Judges what a start of 2026-11-30 measured by its own file. Where that has a spread of one pass it
# says what hosts differ by: calibrate now takes what calibrations of one start do, as here.
own() {
    awk '
    BEGIN {
        START["copies"] = 0.007; START["pageable"] = 0.1; START["kernels"] = 0.02
        START["calls"] = 0.2; START["cpu"] = 0.1
    }
    /^\[/ { spreads = $1 == "[spread]" }
    spreads && /not measured/ { $3 = $1 in START ? START[$1] : $3 / 2 }
    { print }' "$results/h200-2026-11-30-$2.ini" > "$out/own.ini"
    name=$1
    shift 2
    judge "$name" "$out/own.ini" "$@"
}

sed '/^\[kernel /,$d' "$results/h200-2026-11-23-blind-calibrated.ini" > "$out/same.ini"
cat >> "$out/same.ini" << 'END'

[spread]
copies = 0.005
pageable = 0.05
mapped = 0.03
kernels = 0.01
delays = 0.05
calls = 0.05
callbacks = 0.1
cpu = 0.05
allocations = 0.1

END
sed -n '/^\[kernel /,$p' "$results/h200-2026-11-23-blind-calibrated.ini" >> "$out/same.ini"
judge same-start "$out/same.ini" 2026-11-23-blind
judge usual h200 2026-11-21-accuracy-first 2026-11-21-accuracy-again
judge usual-again h200 2026-11-21-accuracy-third
judge matrix-part h200 2026-11-23-matrix-part
judge matrix-rest h200 2026-11-23-matrix-rest
judge drawn-second h200 2026-11-23-blind-second
judge drawn-third h200 2026-11-25-blind-third
own start-1-usual calibrated-1 2026-11-30-usual-1
own start-1-edges calibrated-1 2026-11-30-edges-1
own start-2-usual calibrated-2 2026-11-30-usual-2
own start-2-edges calibrated-2 2026-11-30-edges-2
for start in 1 2; do
    for draw in again drawn-anew; do
        own "$draw-$start-usual" "$draw-calibrated-$start" "2026-11-30-$draw-usual-$start"
        own "$draw-$start-edges" "$draw-calibrated-$start" "2026-11-30-$draw-edges-$start"
    done
done
own last-usual last-calibrated-1 2026-11-30-last-usual-1
own last-edges last-calibrated-1 2026-11-30-last-edges-1
