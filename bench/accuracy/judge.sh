#!/bin/sh
# judge.sh - a machine file against times that were measured before: needs no GPU.
#
#     bench/accuracy/judge.sh BUILD OUT MACHINE MEASURED.csv...
#
# BUILD is the folder that `pipeline` was built in, MACHINE a name or a FILE.ini, MEASURED.csv what
# run.sh gathered (accuracy.csv), which says the settings, too; of several the fastest counts for
# each setting. OUT gets accuracy.csv, summary.txt and, where there is gnuplot, accuracy.svg.
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

judge() {
    LC_ALL=C awk -f "$plots/csv.awk" -f "$here/shared.awk" -f "$here/judge.awk" "$@"
}
judge -v settings=1 "$@" > "$out/settings.ini"
"$build/pipeline" -q "--device=sim:$machine" --no-data --format=csv "$out/settings.ini" \
    > "$out/simulated.csv"
judge -v "machine=$machine" "$out/simulated.csv" "$@" > "$out/accuracy.csv"
rm "$out/settings.ini" "$out/simulated.csv"
"$here/summary.sh" "$plots" "$out"
