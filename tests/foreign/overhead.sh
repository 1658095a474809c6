#!/bin/sh
# overhead.sh BUILD [RUNS] - on a GPU: how much longer a program's work takes when recorded. Runs it bare
# and recorded in turns, 11 times each, and prints the medians and their ratio; at most 3 % is promised
# at 32 tiles of 32 MiB and 15 % at 4096 tiles of 256 KiB. Exits with 1 where it is more or a run fails,
# and with 77 where there is no device.
set -u
build=${1:?the build folder}
runs=${2:-11}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ls /dev/nvidia[0-9]* >/dev/null 2>&1 || {
    echo "overhead: there is no CUDA device: nothing was run"
    exit 77
}

# once FILE COMMAND... adds a run's time to FILE.
once() {
    times=$1
    shift
    "$@" >"$folder/out" 2>"$folder/err" && sed -n 's/^time_ms=//p' "$folder/out" >>"$times" && return
    echo "overhead: exit code $? of $*: $(tail -n 3 "$folder/out" "$folder/err")"
    failed=1
}

median() {
    sort -g "$1" | awk '{ t[NR] = $1 } END { print NR % 2 ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2 }'
}

# measure TILES BYTES PERCENT
measure() {
    bare=$folder/bare-$1 recorded=$folder/recorded-$1
    : >"$bare"
    : >"$recorded"
    run=0
    while [ $run -lt "$runs" ]; do
        once "$bare" "$build/foreign/tiles" "$1" "$2"
        rm -f "$folder"/tiles*.jsonl
        once "$recorded" "$build/pipeline" record -q -o "$folder/tiles.jsonl" -- "$build/foreign/tiles" "$1" "$2"
        run=$((run + 1))
    done
    [ -s "$bare" ] && [ -s "$recorded" ] || return
    lost=$(grep -c '^\["lost"' "$folder/tiles.jsonl")
    ops=$(grep -c '^\["op"\|^\["kernel"' "$folder/tiles.jsonl")
    echo "$(median "$bare") $(median "$recorded")" | awk -v tiles="$1" -v bytes="$2" -v most="$3" -v ops="$ops" -v lost="$lost" '{
        printf "%d tiles of %d KiB: %.3f ms bare, %.3f ms recorded: %+.1f %% (at most %d %%); %d of %d ops recorded, %d losses\n",
            tiles, bytes / 1024, $1, $2, ($2 / $1 - 1) * 100, most, ops, 6 * tiles, lost
        exit $2 / $1 - 1 > most / 100 || ops != 6 * tiles || lost > 0
    }' || failed=1
}

failed=0
measure 32 33554432 3
measure 4096 262144 15
exit $failed
