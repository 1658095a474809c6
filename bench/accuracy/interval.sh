#!/bin/sh
# interval.sh - how many of the times that were measured lie in the intervals of simulated ones.
#
#     bench/accuracy/interval.sh BUILD OUT
#
# BUILD is the folder that `pipeline` was built in. Takes what bench/results has of single H200s but
# what is still blind: on other hosts by h200.ini, and of the start whose calibration is kept by that
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
