#!/bin/sh
# shown.sh - holds what pages show of recordings to what the program prints of them.
#
#     tests/shown.sh PROGRAM [--write] PAGE.md ...
#
# A line "<!-- shown by: COMMAND -->" says that the fenced block behind it is what COMMAND prints. It is run in a
# folder of its own that has docs/ and the recordings of the page, unpacked: docs/recordings/PAGE/*.xz. With --write the
# blocks are put right; without it each that differs is printed, and the exit code is 1.
set -eu

if [ $# -lt 2 ]; then
    echo "usage: $0 PROGRAM [--write] PAGE.md ..." >&2
    exit 2
fi
program=$(realpath "$1")
shift
write=
if [ "$1" = --write ]; then
    write=yes
    shift
fi
source=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/place"
ln -s "$program" "$work/bin/pipeline"

# Prints the page with each such block as its command prints it.
renew() {
    awk -v place="$work/place" -v bin="$work/bin" '
        /^<!-- shown by: .* -->$/ { command = $0; sub(/^<!-- shown by: /, "", command); sub(/ -->$/, "", command) }
        inside && !/^```/ { next }
        { print }
        /^```/ && inside { inside = 0; next }
        /^```/ && command != "" {
            run = "cd \"" place "\" && PATH=\"" bin ":$PATH\" && " command " 2>&1"
            while ((run | getline line) > 0) print line
            close(run)
            command = ""
            inside = 1
        }' "$1"
}

failed=0
count=0
for page; do
    rm -rf "$work/place"
    mkdir "$work/place"
    ln -s "$source/docs" "$work/place/docs"
    for packed in "$source/docs/recordings/$(basename "$page" .md)"/*.xz; do
        [ -f "$packed" ] && xz -dc "$packed" >"$work/place/$(basename "$packed" .xz)"
    done
    count=$((count + $(grep -c '^<!-- shown by: ' "$page" || true)))
    renew "$page" >"$work/page"
    cmp -s "$page" "$work/page" && continue
    if [ -n "$write" ]; then
        cat "$work/page" >"$page"
        continue
    fi
    failed=$((failed + 1))
    diff -u "$page" "$work/page" || true
done
echo "shown.sh: $count blocks, $failed pages differ"
[ "$failed" = 0 ]
