#!/bin/sh
# docs.sh - runs every command that README.md and the pages of docs print, on a simulated machine.
#
#     tests/docs.sh PROGRAM [FILE.md ...]
#
# A command is a line indented by four spaces or more, outside of a fenced block, that calls `pipeline`
# or `build/pipeline`, unless its comment begins with "on a GPU". It has to exit with 0, or with what its
# comment says ("exits with 1"). The commands of a page run in turn in a folder of their own, which has
# the folders that they name, the page's own recordings, docs/recordings/PAGE/*.xz, and a profiler's trace
# called trace.csv. Measurements, comparisons and sweeps do as little as they can: with --quick, and without
# data; a run whose size is not said has 4M elements.
set -eu

if [ $# -lt 1 ]; then
    echo "usage: $0 PROGRAM [FILE.md ...]" >&2
    exit 2
fi
program=$(realpath "$1")
shift
source=$(realpath "$(dirname "$0")/..")
[ $# -gt 0 ] || set -- "$source"/README.md "$source"/docs/*.md "$source"/docs/lessons/*.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CUDA_VISIBLE_DEVICES= # a GPU that is there is not asked

commands() {
    awk '/^ *```/ { fenced = !fenced }
         /^ *pipeline [0-9]/ || /# on a GPU/ { next } # the first line of a report
         !fenced && /^    +(\$ )?([A-Z_]+=[^ ]* )?(build\/)?pipeline( |$)/ {
             sub(/^ +(\$ )?/, ""); sub(/ \\$/, ""); print }' "$1"
}

pages=0
count=0
failed=0
for page; do
    pages=$((pages + 1))
    place=$work/$pages
    mkdir "$place" "$place/build" "$place/bin" # new, so that no link lands in a folder of the source
    for name in configs plots bench docs tests kernels; do
        ln -s "$source/$name" "$place/$name"
    done
    ln -s "$program" "$place/build/pipeline"
    ln -s "$program" "$place/bin/pipeline"
    cp "$source/tests/data/traces/streams.csv" "$place/trace.csv"
    gzip -c "$source/tests/data/traces/pytorch.json" >"$place/train.pt.trace.json.gz"
    for rank in 0 1; do
        sed "s/\"schemaVersion\"/\"distributedInfo\":{\"rank\":$rank,\"world_size\":2},&/" \
            "$source/tests/data/traces/pytorch.json" >"$place/rank$rank.pt.trace.json"
    done
    for packed in "$source/docs/recordings/$(basename "$page" .md)"/*.xz; do
        [ ! -f "$packed" ] || xz -dc "$packed" >"$place/$(basename "$packed" .xz)"
    done
    if grep -q '#include "pipeline/kernel.h"' "$page"; then # the page's first C is a library
        mkdir -p "$work/include/pipeline"
        ln -sf "$source/kernels/own_kernel.h" "$work/include/pipeline/kernel.h"
        awk '/^```c$/ { n++ } /^```/ { inside = /c$/; next } inside && n == 1' "$page" >"$work/first.c"
        "${CC:-cc}" -O2 -shared -fPIC -I"$work/include" -o "$work/first.so" "$work/first.c" -lm
        "$program" -q -d sim:h200 --gantt=none -n 1M --kernel="$work/first.so" >/dev/null
    fi
    if grep -q 'mine\.so' "$page"; then # what `pipeline kernel new` writes, built
        mkdir -p "$work/include/pipeline"
        ln -sf "$source/kernels/own_kernel.h" "$work/include/pipeline/kernel.h"
        "${CC:-cc}" -O2 -shared -fPIC -I"$work/include" -x c -o "$place/mine.so" "$source/configs/kernels/mine.cu" -lm
    fi
    commands "$page" >"$place.commands"
    while IFS= read -r command; do
        wanted=$(expr "$command" : '.*# .*exits with \([0-9]*\)' || true)
        run=$(echo "$command" | sed 's/pipeline bench/& --quick/; s/pipeline compare/& --no-data/
                                     /compare\|--no-data/!s/--sweep/--no-data &/
                                     / -n\| -i\|--elements\|--rows\|--input\|--sweep\|--help/!{
                                         s/\(pipeline\) *\( -[-a-z].*\| configs.*\| #.*\|\)$/\1 -n 4M\2/
                                     }')
        code=0
        (cd "$place" && PATH="$place/bin:$PATH" timeout 300 sh -c "$run") >"$work/output" 2>&1 </dev/null ||
            code=$?
        count=$((count + 1))
        [ "$code" = "${wanted:-0}" ] && continue
        failed=$((failed + 1))
        echo "$(basename "$page"): $command"
        echo "  exit code $code, not ${wanted:-0}; $(tail -1 "$work/output")"
    done <"$place.commands"
done
echo "docs.sh: $count commands, $failed failed"
[ "$failed" = 0 ] && [ "$count" -gt 0 ]
