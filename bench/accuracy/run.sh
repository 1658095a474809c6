#!/bin/sh
# run.sh - every setting of this folder on a device and on its machine file, and how far the two are
# from one another.
#
#     bench/accuracy/run.sh BUILD OUT [MACHINE]
#
# BUILD is the folder that `pipeline` was built in. OUT gets connections-1.csv, -8.csv and -32.csv,
# all of them together as accuracy.csv, what that comes to as summary.txt, and, where there is
# gnuplot, accuracy.svg. MACHINE (a name or a FILE.ini) stands for the device; without it the machine
# file of the device's name does. DEVICE=sim:h200 in the environment runs the settings on another
# device than the first CUDA one, and RUNS=3 makes fewer repeats than 7.
#
# A process has one number of hardware queues: so there are three.
set -eu

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    echo "usage: $0 BUILD OUT [MACHINE]" >&2
    exit 2
fi
here=$(dirname "$0")
plots=$here/../../plots
build=$1
out=$2
mkdir -p "$out"

set -- compare -q "--runs=${RUNS:-7}" --format=csv ${3:+"--machine=$3"} ${DEVICE:+"--device=$DEVICE"}
case ${DEVICE:-} in
sim*) set -- "$@" --no-data ;; # whose bytes would only be computed by the CPU
esac

for connections in 1 8 32; do
    file=$out/connections-$connections.csv
    echo "hardware queues: $connections; to $file" >&2
    "$build/pipeline" "$@" "$here/connections-$connections.ini" > "$file.new"
    mv "$file.new" "$file"
done

# One heading for all.
awk 'FNR > 1 || NR == 1' "$out/connections-1.csv" "$out/connections-8.csv" \
    "$out/connections-32.csv" > "$out/accuracy.csv"
"$here/summary.sh" "$plots" "$out"
