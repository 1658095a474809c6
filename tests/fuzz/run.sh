#!/bin/sh
# run.sh BUILD SECONDS READER... - runs libFuzzer on readers of files, side by side. What it learns is
# kept in BUILD/corpus/READER, so that the next run goes on from there; its words are in
# BUILD/READER.log, and the input that broke a promise is in BUILD/found: once that is fixed, keep it
# in tests/fuzz/seeds/READER.
set -u

build=$1
seconds=$2
shift 2
here=$(realpath "$0")
cd "$(dirname "$0")/../.." || exit 1
mkdir -p "$build/found"

# Prints a folder of machines without comments, so that most changes hit a figure, and with kernels.
plain_machines() {
    mkdir -p "$build/machines"
    for machine in configs/machines/*.ini; do
        {
            sed 's/ *;.*//; s/ = /=/; /^$/d' "$machine"
            for kernel in wave sum; do
                printf '[kernel %s]\nbytes_per_s=1e12\nflops_per_s=1e13\n' $kernel
                printf 'cpu_bytes_per_s=5e10\ncpu_flops_per_s=1e11\n'
            done
            printf '[own mine]\nbytes_per_s=1e12\nfixed_ns=2000\nmemory_fill=0.5\n'
        } >"$build/machines/${machine##*/}"
    done
    echo "$build/machines"
}

# Files that are there for other reasons serve as seeds, too.
seeds_of() {
    echo "tests/fuzz/seeds/$1"
    case $1 in
    config) echo configs ;;
    machine) plain_machines ;;
    npy) echo tests/data ;;
    recording) echo tests/recordings ;;
    rewrite) echo programs/exercises ;;
    trace) echo tests/data/traces ;;
    esac
}

fuzz() {
    reader=$1
    mkdir -p "$build/corpus/$reader"
    log=$build/$reader.log
    # shellcheck disable=SC2046 # one word a folder
    OMP_NUM_THREADS=1 "$build/fuzz-$reader" -max_total_time="$seconds" -max_len=8192 -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 -dict="tests/fuzz/$reader.dict" \
        -artifact_prefix="$build/found/$reader-" \
        "$build/corpus/$reader" $(seeds_of "$reader") >"$log" 2>&1
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    cover=$(sed -n 's/^#.* \(cov: [0-9]* ft: [0-9]* corp: [^ ]*\).*/\1/p' "$log" | tail -n 1)
    if [ $status -eq 0 ]; then
        echo "fuzz $reader: no finding in $seconds s: ${runs:-?} runs, $cover"
    else
        echo "fuzz $reader: FOUND something, exit $status: ${runs:-?} runs, $cover: see $log"
        grep -m 3 -E 'broken promise|ERROR|runtime error|Test unit written' "$log"
    fi
    return $status
}

if [ "${1:-}" = --one ]; then
    fuzz "$2"
    exit
fi
# A reader for each processor; xargs fails if one of them found something.
printf '%s\n' "$@" | xargs -n 1 -P "${JOBS:-$(nproc)}" "$here" "$build" "$seconds" --one || exit 1
