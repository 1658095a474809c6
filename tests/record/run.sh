#!/bin/sh
# run.sh BUILD [deep | SCRIPT...] - plays scripts to libpipeline-record.so with a CUPTI and a driver of
# the tests, and judges what it took down: each line of the recording and nothing else, and the
# program's own output and exit status as they are without the recorder. `deep` has longer scripts, too.
set -u
build=$(cd "$1" && pwd) || exit 2
shift
here=$build/tests/record
if [ ! -e "$build/libpipeline-record.so" ] || [ ! -e "$build/record-player" ]; then
    echo "record: the recorder was not built (it needs CUDA's headers and NVTX): nothing is tested"
    exit 0
fi
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0 checks=0

# Runs a script with the environment's settings before it: `play NAME [VARIABLE=VALUE...]`.
# The program's own words are in $work/NAME.out, the lines that are expected in $work/NAME.want.
play() {
    name=$1
    script=${1%%-*}
    shift
    folder=$work/$name.d
    mkdir -p "$folder"
    env LD_LIBRARY_PATH="$here/fakes" PLAYER_EXPECT="$work/$name.none" "$@" \
        timeout -s KILL 300 "$build/record-player" "$script" >"$work/$name.plain" 2>&1
    echo "status $?" >>"$work/$name.plain"
    env LD_LIBRARY_PATH="$here/fakes" PLAYER_EXPECT="$work/$name.want" PIPELINE_RECORD_TO="$folder" \
        CUDA_INJECTION64_PATH="$build/libpipeline-record.so" \
        NVTX_INJECTION64_PATH="$build/libpipeline-record.so" "$@" \
        timeout -s KILL 300 "$build/record-player" "$script" >"$work/$name.out" 2>&1
    echo "status $?" >>"$work/$name.out"
    checks=$((checks + 1))
    diff "$work/$name.plain" "$work/$name.out" >"$work/diff" ||
        fail "the program itself behaves otherwise" "$work/diff"
}

fail() {
    echo "record: $name: $1"
    [ $# -lt 2 ] || cut -c 1-300 "$2" | head -n "${LINES_SHOWN:-12}"
    failed=$((failed + 1))
}

# Judges the recordings of the script, together, with further lines that are expected; `pipeline view`
# has to understand each.
judge() {
    how=$1
    shift
    touch "$work/$name.want"
    for line in "$@"; do
        echo "$line" >>"$work/$name.want"
    done
    : >"$work/$name.got"
    for recording in "$folder"/*.jsonl; do
        "$build/record-judge" "$recording" "$how" >>"$work/$name.got" 2>"$work/judged" ||
            fail "no good recording" "$work/judged"
        [ ! -x "$build/pipeline" ] || "$build/pipeline" view "$recording" >"$work/seen" 2>&1 ||
            fail "it can't be viewed" "$work/seen"
    done
    sort "$work/$name.want" >"$work/want"
    sort "$work/$name.got" | diff "$work/want" - >"$work/diff" ||
        fail "the recording differs (< is expected)" "$work/diff"
}

whole='["end","*","exit"]'
note_held='["note","another tool in the program holds CUPTI: a \"profiler\""]'
note_old='["note","libcupti.so was not found, or is too old: it comes with the CUDA Toolkit"]'

scripts_quick() {
    for script in calls own launches graphs captures takings settings names ranges contexts lose buffers threads functions \
        visitors return exit chdir closed taken lifted again fork; do
        play $script
        judge whole "$whole"
    done
    costs_are_told
    added_is_measured
    connections_are_told
    python_lines
    for script in abort kill segv _exit fsize; do
        play $script
        judge cut
    done
    full_disk
    play gone
    [ ! -e "$folder" ] || fail "the folder came back"
    play exec
    judge cut "$whole"
    play part-kernel PIPELINE_RECORD_START=part PIPELINE_RECORD_STOP=end
    judge whole '["end","*","stop"]'
    play part-range PIPELINE_RECORD_START='the part' PIPELINE_RECORD_STOP='the part'
    judge whole '["end","*","stop"]'
    play passes PIPELINE_RECORD_START=3 PIPELINE_RECORD_STOP=4
    judge whole '["end","*","stop"]'
    play passes-named PIPELINE_RECORD_START=step:3 PIPELINE_RECORD_STOP=step:4
    judge whole '["end","*","stop"]'
    play waits PIPELINE_RECORD_START=2 PIPELINE_RECORD_STOP=4
    judge whole '["end","*","stop"]'
    play early PLAYER_RANGE='the part' PIPELINE_RECORD_START='the part' PIPELINE_RECORD_STOP='the part'
    judge whole '["end","*","stop"]'
    play child PIPELINE_RECORD_START='the part'
    judge whole "$whole"
    play frames PIPELINE_RECORD_BACKTRACE=1
    judge whole "$whole"
    play without-holder PLAYER_HOLDER='a "profiler"'
    rm -f "$work/$name.want"
    judge whole "$note_held" "$whole"
    play without-old LD_LIBRARY_PATH="$here/old:$here/fakes"
    rm -f "$work/$name.want"
    judge whole "$note_old" "$whole"
    play threads-limit PIPELINE_RECORD_LIMIT=100000
    limit_is_kept 100000
    ends_early cancelled busy asking handler handler handler handler handler
}

# How much of the time is the recorder's: of some of its calls.
costs_are_told() {
    play contexts
    line=$(grep -h '^\["cost"' "$folder"/*.jsonl)
    echo "$line" | grep -q '^\["cost","sync",[1-9][0-9]*,[1-9][0-9]*,0\]$' || fail "the cost is '$line'"
}

# Each kind of call was made as often with the recorder as without, and takes that much longer; on a machine that is
# at work elsewhere one of several times. Nothing is measured in a handler of a signal, while other threads make calls, nor where
# the context can't be used; a device that is at work is not waited for.
added_is_measured() {
    for try in 1 2 3 4 5; do
        play calls-added-$try
        grep -h '^\["added"' "$folder"/*.jsonl | tr -d '[]"' >"$work/added"
        awk -F, '$3 >= 24 && $5 >= 1000 && $4 - $5 >= 2000 { good++ } END { exit !(NR == 5 && good == 5) }' "$work/added" && break
        [ "$try" -lt 5 ] || fail "what recording adds is otherwise" "$work/added"
    done
    for context in gone busy lost; do
        play calls-$context PLAYER_CONTEXT=$context
        ! grep -q '^\["added"' "$folder"/*.jsonl || fail "it was measured all the same"
        judge whole "$whole"
    done
    for script in handler busy; do
        play $script-added
        ! grep -q '^\["added"' "$folder"/*.jsonl || fail "it was measured while something else went on"
    done
}

# As many as CUDA took when it was first used, also where the program itself said so.
connections_are_told() {
    play calls-connections PLAYER_CONNECTIONS=1
    judge whole "$whole"
    head -n 1 "$folder"/*.jsonl | grep -q '"connections":1,' || fail "the connections are others"
}

# Calls from Python have the lines of its source. PYTHONS names others to try.
python_lines() {
    scripts=$(cd "$(dirname "$0")" && pwd)
    for python in ${PYTHONS:-python3}; do
        name=python-$(basename "$(dirname "$(dirname "$python")")") folder=$work/$name.d
        mkdir -p "$folder"
        "$python" -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1]); sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
            "$build/libpipeline-record.so" >/dev/null 2>&1 || {
            echo "record: skipped: lines of $python: it is none of 3.11 to 3.13, or cannot load the recorder"
            continue
        }
        checks=$((checks + 1))
        LD_LIBRARY_PATH="$here/fakes" PIPELINE_RECORD_TO="$folder" PIPELINE_RECORD_BACKTRACE=1 \
            "$python" "$scripts/calls.py" "$here/fakes" "$build/libpipeline-record.so" >"$work/want" 2>&1 ||
            fail "the program fails" "$work/want"
        grep -h '^\["line",' "$folder"/*.jsonl >"$work/got"
        diff "$work/want" "$work/got" >"$work/diff" || fail "lines of Python differ (< is expected)" "$work/diff"
        ! grep -q '^\["frames"' "$folder"/*.jsonl || fail "calls from Python have frames, too"
    done
}

# A disk that is full is one of memory, which only root may make.
full_disk() {
    mkdir "$work/full.d"
    if ! mount -t tmpfs -o size=16k none "$work/full.d" 2>/dev/null; then
        echo "record: no file system could be mounted: a full disk is not tried"
        return
    fi
    play full
    "$build/record-judge" "$folder"/*.jsonl cut >"$work/judged" 2>&1 || fail "no good recording" "$work/judged"
    grep -q '^\["sync"' "$work/judged" || fail "what fits on the disk is not there"
    umount "$work/full.d"
}

# The file is not larger than that, and its last line says so.
limit_is_kept() {
    recording=$(echo "$folder"/*.jsonl)
    [ "$(wc -c <"$recording")" -le "$1" ] || fail "the file is larger than the limit"
    "$build/record-judge" "$recording" >"$work/judged" || fail "no good recording"
    tail -n 1 "$work/judged" | grep -q '"limit"' || fail "the limit is not said"
}

# Programs that end while something goes on: what is there makes sense.
ends_early() {
    times=0
    for script in "$@"; do
        times=$((times + 1))
        play "$script-$times"
        "$build/record-judge" "$folder"/*.jsonl cut >"$work/judged" 2>&1 ||
            fail "no good recording" "$work/judged"
    done
}

scripts_deep() {
    play flood
    "$build/record-judge" "$folder"/*.jsonl >"$work/judged" || fail "no good recording"
    calls=$(grep -c '^\["call"' "$work/judged")
    lost=$(sed -n 's/^\["lost",\([0-9]*\),.*/\1/p' "$work/judged")
    made=$(sed -n 's/ calls$//p' "$work/$name.out")
    [ "$((calls + lost))" -eq "$made" ] || fail "$calls calls and $lost lost are not $made"
    [ "$lost" -gt 0 ] || fail "nothing was lost"
}

case ${1:-} in
deep)
    scripts_quick
    scripts_deep
    ;;
'') scripts_quick ;;
flood) scripts_deep ;;
python) python_lines ;;
*)
    for script in "$@"; do
        play "$script"
        judge cut "$whole"
    done
    ;;
esac
echo "$(((checks - failed) * 100 / checks))%: Checks: $checks, Failures: $failed, Errors: 0"
[ "$failed" -eq 0 ]
