#!/bin/sh
# overhead_parts.sh BUILD [RUNS] - on a GPU: what parts of recording cost. Runs loops of launches, and of
# PyTorch where python3 has it, bare, with parts of what CUPTI does for the recorder
# (overhead/libprobe.c), and recorded; in turns, RUNS times each (5), and prints how long a
# launch or a step took: the median, how much longer than bare, and the shortest, which neighbours disturb least. `host` and `sync` are what the host is too slow
# for. It judges nothing. Exits with 1 where a run fails, and with 77 where there is no device.
set -u
build=${1:?the build folder}
build=$(cd "$build" && pwd) || exit 2
runs=${2:-5}
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ls /dev/nvidia[0-9]* >/dev/null 2>&1 || {
    echo "overhead: there is no CUDA device: nothing was run"
    exit 77
}
failed=0

# Each line: what it is called, and the parts that libprobe.so does; `bare` and `recorded` do without it.
parts='bare
subscribe subscribe
runtime runtime
driver driver
both runtime,driver
both+clock runtime,driver,clock
launches runtime,driver,launches
kernels kernels,stamp
kernels,own-clock-off kernels
kernels+zeroed kernels,stamp,zeroed
kernels+pinned kernels,stamp,pinned
ops kernels,copies,stamp
all runtime,driver,clock,kernels,copies,stamp
all-but-runtime driver,clock,kernels,copies,stamp
all-but-driver runtime,clock,kernels,copies,stamp
recorded'

# once NAME PROBE COMMAND... adds a run's time to the file NAME.
once() {
    times=$folder/$1
    probe=$2
    name=$1
    shift 2
    case $name in
    bare) "$@" ;;
    recorded)
        rm -f "$folder"/out*.jsonl
        "$build/pipeline" record -q -o "$folder/out.jsonl" -- "$@"
        ;;
    *) CUDA_INJECTION64_PATH=$build/foreign/libprobe.so PROBE=$probe "$@" ;;
    esac >"$folder/said" 2>"$folder/err" && sed -n 's/^time_us=//p' "$folder/said" >>"$times" && return
    echo "overhead: exit code $? of $name: $*: $(tail -n 3 "$folder/said" "$folder/err")"
    failed=1
}

median() {
    sort -g "$1" | awk '{ t[NR] = $1 } END { print NR % 2 ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2 }'
}

# measure WHAT COMMAND...
measure() {
    what=$1
    shift
    rm -f "$folder"/*
    run=0
    while [ $run -lt "$runs" ]; do
        while read -r name probe; do
            once "$name" "${probe:-}" "$@" </dev/null
        done <<PARTS
$parts
PARTS
        run=$((run + 1))
    done
    [ -s "$folder/bare" ] || return
    bare=$(median "$folder/bare")
    echo "$what: $bare us bare"
    echo "$parts" | while read -r name probe; do
        [ -s "$folder/$name" ] || continue
        echo "$(median "$folder/$name") $bare $(sort -g "$folder/$name" | head -n 1)" | awk -v name="$name" \
            '{ printf "  %-22s %9.3f us  %+8.3f us  %+6.1f %%  %9.3f us at best\n", name, $1, $1 - $2, ($1 / $2 - 1) * 100, $3 }'
    done
    # What the recorder itself took in its callbacks, by its own account.
    grep -h '^\["cost"' "$folder"/out*.jsonl 2>/dev/null | head -n 12 | sed 's/^/  /'
    grep -h '^\["lost"' "$folder"/out*.jsonl 2>/dev/null | sed 's/^/  /'
}

for how in device host sync copies; do
    measure "launches $how, kernels of 5000 ns" "$build/foreign/launches" $how 50000 5000
done
parts=$(echo "$parts" | grep -x 'bare\|recorded\|\(both\|kernels\|ops\|all\|all-but-runtime\) .*')
measure "launches device, kernels of 10000 ns" "$build/foreign/launches" device 50000 10000
for how in host device; do
    if python3 -c 'import torch' 2>/dev/null; then
        measure "PyTorch, $how" python3 "$here/overhead/loop.py" $how 300
    fi
done
exit $failed
