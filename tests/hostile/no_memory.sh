#!/bin/sh
# no_memory.sh BUILD [--runs=R] [--seconds=S] [--seed=N] [--jobs=J] [-v] [COMMAND...] - runs BUILD/pipeline with each
# of its allocations failing, by BUILD/no-memory and BUILD/tests/hostile/no_memory.so; tests/hostile/no_memory_run.c
# says how runs are judged. The last line is "memory: N runs, F faults"; the exit status is 0, or
# 1 after a fault, or 2 where the test itself failed or has run nothing.
set -eu
build=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
folder=$(mktemp -d "${TMPDIR:-/tmp}/no_memory.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

options=
for word in "$@"; do
    case $word in
    -*)
        options="$options $word"
        shift
        ;;
    *) break ;;
    esac
done

# What commands read.
mkdir "$folder/in"
cp tests/data/traces/*.csv tests/recordings/*.jsonl tests/data/traces/trace.sql tests/data/f32.npy configs/ways.ini "$folder/in"
gzip -c tests/data/traces/pytorch.json >"$folder/in/pytorch.json.gz"
cp configs/machines/h200.ini "$folder/in/machine.ini"
"$build/pipeline" -q -d sim:h200 -n 64k -t 4 --timeline="$folder/in/saved.csv" >"$folder/made"

# Threads that wait leave their processor to others; what is drawn says when it was made, always then.
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive SOURCE_DATE_EPOCH=0 LC_ALL=C
# The library comes before a sanitizer's, whose allocations may fail, too.
export ASAN_OPTIONS="verify_asan_link_order=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}"
# shellcheck disable=SC2086 # a word for each option
"$build/no-memory" $options "$build/pipeline" "$build/tests/hostile/no_memory.so" "$folder" "$@"
