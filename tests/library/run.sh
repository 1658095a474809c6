#!/bin/sh
# run.sh - the command, the library and the library as WebAssembly give the same nanoseconds.
#
#     tests/library/run.sh BUILD [WALK.wasm]
#
# Each line of settings is run by all three (by two without WALK.wasm), and every span's times are
# compared. Then the example of
# docs/ is run, and the library's archive is searched for names that a program could stumble over.
set -eu
build=${1:?the build folder}
wasm=${2:-}
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0

fail() {
    echo "library: $*" >&2
    exit 1
}

# command MACHINE OPTION=VALUE ...: what the command says of each span.
command_spans() {
    machine=$1
    shift
    # shellcheck disable=SC2046 # options are words; a flag takes no value
    set -- $(printf -- '--%s ' "$@" | sed 's/=yes//g')
    "$build/pipeline" -q --no-data --device="sim:$machine" --format=csv --timeline="$work/t.csv" "$@" \
        > /dev/null
    grep -v '^#' "$work/t.csv" | tail -n +2 | cut -d, -f 2,3,5-
}

spans() {
    grep '^[0-9]'
}

while read -r machine options; do
    # shellcheck disable=SC2086 # options are words
    command_spans "$machine" $options > "$work/command"
    # shellcheck disable=SC2086
    "$build/walk" "machine=$machine" $options > "$work/walked"
    spans < "$work/walked" > "$work/library"
    [ -s "$work/library" ] || fail "no spans: $machine $options"
    cmp -s "$work/command" "$work/library" || fail "command and library differ: $machine $options"
    passed=$((passed + 1))
    [ -n "$wasm" ] || continue
    # shellcheck disable=SC2086
    node --no-warnings "$here/run.mjs" "$wasm" "machine=$machine" $options > "$work/wasm"
    cmp -s "$work/walked" "$work/wasm" || fail "library and WebAssembly differ: $machine $options"
done <<'SETTINGS'
h200 tiles=32 streams=4
h200 elements=256M tiles=100 streams=8 order=breadth kernel=scale,scale intensity=100
c1060 tiles=8 streams=4
c2050 tiles=16 streams=4 order=breadth mistake=legacy-stream
k20x ways=2 tiles=12 memory=pageable callbacks=yes
a100 layout=stage kernel=scan tiles=16
h200 kernel=sum tiles=64 streams=8 priorities=0,-5 connections=2
h100 issue=graph tiles=128
h200 ways=4 tiles=16 intensity=250
h200 layout=stage mistake=missing-wait
v100 memory=mapped kernel=wave streams=3
h200 ways=1 memory=mapped elements=1231 tiles=16
SETTINGS

# The example says what the command's first verdict says.
"$build/example" streams=1 tiles=16 > "$work/example"
grep -q '^one-stream cost [0-9.]* ms: ' "$work/example" || fail "the example's first verdict: $(cat "$work/example")"
"$build/example" streams=many 2> /dev/null && fail "the example accepts streams=many"

# A program that links the library sees the names of pipeline.h and no others.
names=$(nm -g --defined-only "$build/libpipeline.a" | awk 'NF == 3 && $3 !~ /^pipeline_/ { print $3 }')
[ -z "$names" ] || fail "visible names that are not the library's: $names"
echo "library: $passed settings alike in command, library${wasm:+ and WebAssembly}"
