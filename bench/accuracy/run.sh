#!/bin/sh
# run.sh - every setting of this folder on a device and on its machine file, and how far the two are
# from one another.
#
#     bench/accuracy/run.sh BUILD OUT [MACHINE]
#
# BUILD is the folder that `pipeline` was built in. OUT gets what was measured as accuracy.csv, what
# that comes to as summary.txt, and, where there is gnuplot, accuracy.svg. MACHINE (a name or a
# FILE.ini) stands for the device; without it the machine file of the device's name does. In the
# environment DEVICE=sim:h200 runs the settings on another device than the first CUDA one, RUNS=3
# makes fewer repeats than 5, and SETTINGS=FILE.ini takes other settings than matrix.ini. On a CUDA
# device each process measures its host first: the predictions are made with that, and judge.sh says
# what they are by the machine file alone.
#
# The settings are measured in parts, a process each. Parts that were measured stay in OUT/parts
# until all are: when it was interrupted, or a part failed, the next call measures the others alone.
# PARTS=1 in the environment measures one more part and joins what there is: calls that take turns
# between usual.ini and edges.ini lose as much of both where time runs out.
set -eu

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    echo "usage: $0 BUILD OUT [MACHINE]" >&2
    exit 2
fi
here=$(dirname "$0")
plots=$here/../../plots
build=$1
out=$2
machine=${3:-}
settings=${SETTINGS:-$here/matrix.ini}
simulated=${DEVICE:-}
simulated=${simulated#sim:}

if [ -z "${DEVICE:-}" ] && ! "$build/pipeline" -q --device=cuda -n 1K -t 1 --dry-run >/dev/null; then
    echo "$0: DEVICE=sim:h200 would hold a simulated device against a machine file" >&2
    exit 1
fi

set -- compare -q "--runs=${RUNS:-5}" --warmup=0 --format=csv ${machine:+"--machine=$machine"} \
    ${DEVICE:+"--device=$DEVICE"}
case ${DEVICE:-} in
sim*) set -- "$@" --no-data ;; # whose bytes would only be computed by the CPU
esac

# Parts that were measured of other settings, with other options, on another simulated device or by
# another program are no part of this.
mkdir -p "$out/parts"
{
    echo "$@"
    cksum "$build/pipeline"
    cat "$settings"
    for file in "$machine" "$simulated"; do
        if [ -f "$file" ]; then cat "$file"; fi
    done
} > "$out/parts/asked.new"
if ! cmp -s "$out/parts/asked.new" "$out/parts/asked"; then
    rm -f "$out"/parts/*.ini "$out"/parts/*.csv
    awk -v "folder=$out/parts" -f "$here/parts.awk" "$settings"
    mv "$out/parts/asked.new" "$out/parts/asked"
fi

failed=0
later=0
left=${PARTS:--1} # which never comes to 0
for part in "$out"/parts/*.ini; do
    file=${part%.ini}.csv
    name=$(basename "$file" .csv)
    if [ -f "$file" ]; then
        echo "$name: measured before ($file)" >&2
        continue
    fi
    if [ "$left" -eq 0 ]; then
        later=$((later + 1))
        continue
    fi
    left=$((left - 1))
    echo "$name: $(grep -c '^\[' "$part") settings" >&2
    if "$build/pipeline" "$@" "$part" > "$file.new"; then
        mv "$file.new" "$file"
    else
        echo "$name: not measured: the settings are in $part" >&2
        rm "$file.new"
        failed=$((failed + 1))
    fi
done

set -- "$out"/parts/*.csv
if [ ! -f "$1" ]; then
    echo "$0: no part could be measured" >&2
    exit 1
fi
LC_ALL=C awk -f "$plots/csv.awk" -f "$here/shared.awk" -f "$here/join.awk" "$@" \
    > "$out/accuracy.csv.new"
mv "$out/accuracy.csv.new" "$out/accuracy.csv"
"$here/summary.sh" "$plots" "$out"
if [ "$failed" -gt 0 ]; then
    echo "parts that failed: $failed; their settings are missing; the next call tries them again" >&2
    exit 1
fi
if [ "$later" -gt 0 ]; then
    echo "parts that are left: $later" >&2
    exit 0
fi
rm -r "$out/parts"
