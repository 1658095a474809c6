#!/bin/sh
# summary.sh - what the settings in OUT/accuracy.csv come to: as text, and as a picture.
#
#     bench/accuracy/summary.sh PLOTS OUT
set -eu

here=$(dirname "$0")
LC_ALL=C awk -f "$1/csv.awk" -f "$here/shared.awk" \
    -f "$here/summary.awk" "$2/accuracy.csv" > "$2/summary.txt"
if command -v gnuplot > /dev/null; then
    gnuplot -c "$1/accuracy.gp" "$2/accuracy.csv" "$2/accuracy.svg"
fi
cat "$2/summary.txt"
