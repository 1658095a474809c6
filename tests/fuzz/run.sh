#!/bin/sh
# Runs libFuzzer on readers of files: run.sh BUILD SECONDS READER... What it learns is kept in
# BUILD/corpus/READER, so that the next run goes on from there, its words in BUILD/READER.log, and
# what broke a promise in BUILD/found. Keep that, once mended, in tests/fuzz/seeds/READER.
set -u

build=$1
seconds=$2
shift 2
cd "$(dirname "$0")/../.." || exit 1
mkdir -p "$build/found"
failed=

# Machines without comments, in which a change is mostly of a figure, and with rows for kernels.
plain_machines() {
    mkdir -p "$build/machines"
    for machine in configs/machines/*.ini; do
        {
            sed 's/ *;.*//; s/ = /=/; /^$/d' "$machine"
            for kernel in wave sum; do
                printf '[kernel %s]\nbytes_per_s=1e12\nflops_per_s=1e13\n' $kernel
                printf 'cpu_bytes_per_s=5e10\ncpu_flops_per_s=1e11\n'
            done
        } >"$build/machines/${machine##*/}"
    done
    echo "$build/machines"
}

# Seeds that are there for other reasons, too.
seeds_of() {
    echo "tests/fuzz/seeds/$1"
    case $1 in
    config) echo configs ;;
    machine) plain_machines ;;
    npy) echo tests/data ;;
    trace) echo tests/data/traces ;;
    esac
}

for reader in "$@"; do
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
        failed="$failed $reader"
    fi
done
[ -z "$failed" ] || exit 1
