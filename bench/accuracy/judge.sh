#!/bin/sh
# judge.sh - a machine file against spans that were measured before: needs no GPU.
#
#     bench/accuracy/judge.sh BUILD OUT MACHINE MEASURED.csv...
#
# BUILD is the folder that `pipeline` was built in, MACHINE a name or a FILE.ini, MEASURED.csv what
# run.sh gathered (accuracy.csv); of several the fastest counts for each setting. OUT gets
# accuracy.csv, summary.txt and, where there is gnuplot, accuracy.svg.
set -eu

if [ $# -lt 4 ]; then
    echo "usage: $0 BUILD OUT MACHINE MEASURED.csv..." >&2
    exit 2
fi
here=$(dirname "$0")
plots=$here/../../plots
build=$1
out=$2
machine=$3
shift 3
mkdir -p "$out"

for connections in 1 8 32; do
    "$build/pipeline" -q "--device=sim:$machine" --no-data --runs=1 --warmup=0 --format=csv \
        "$here/connections-$connections.ini" > "$out/simulated-$connections.csv"
done
LC_ALL=C awk -v "machine=$machine" -f "$plots/csv.awk" -f "$here/judge.awk" \
    "$out/simulated-1.csv" "$out/simulated-8.csv" "$out/simulated-32.csv" "$@" > "$out/accuracy.csv"
rm "$out/simulated-1.csv" "$out/simulated-8.csv" "$out/simulated-32.csv"
"$here/summary.sh" "$plots" "$out"
