#!/bin/sh
# Every call of the CUDA driver made to fail in turn: the program must end with 1 (77 where starting
# CUDA fails), name the CUDA function and, of an issued op, the op; and leave every output file as it
# was. It may end with 0 only if its result is verified and every file whole: clean-up, which warns,
# and calls that CUDA's own libraries do without. The program is the one that users run: it finds
# failing_driver.c in the driver's place.
#
# A call is known by its site, the chain of return addresses, which a loop's turns share. First every
# site of all commands fails once, then in the other way (alone, or with all calls behind it), then
# once in every command, and then calls are drawn.
#
#     tests/gpu/failing_calls.sh BUILD-FOLDER [SECONDS]
#
# BUILD-FOLDER has pipeline and tests/failing/libcuda.so.1. With SECONDS no new run is begun after so
# long. Environment: SEED (of what is drawn; else the time), JOBS (runs at once; else one for each
# processor), MOST (faults at most), REAL (the real libcuda.so.1), KEEP (a folder for the lists of
# calls, every verdict, and what faulty runs said), ONLY (commands' names).
# Exits 0, 1 when a run was not as it should be, 77 where there is no device.
set -u

# --- the commands ---------------------------------------------------------------------------------
# name | variables | arguments behind the usual ones. All are small; copies are measured in each, and
# kernels where PIPELINE_NO_RATES is not set. Which tiles the CPU takes is fixed: its floats may be
# rounded in another way.
commands() {
    cat <<'END'
three-way|PIPELINE_NO_RATES=1|--timeline=t.csv --timeline=t.json
events|PIPELINE_NO_RATES=1 PIPELINE_NO_CUPTI=1|--timeline=t.csv
graph|PIPELINE_NO_RATES=1|--issue=graph --timeline=t.csv
graph-events|PIPELINE_NO_RATES=1 PIPELINE_NO_CUPTI=1|--issue=graph --timeline=t.csv
stage|PIPELINE_NO_RATES=1|--layout=stage --timeline=t.csv
callbacks|PIPELINE_NO_RATES=1|--callbacks --priorities=0,-1 --timeline=t.json
four-way|PIPELINE_NO_RATES=1|--ways=4 --cpu-share=0.5
pageable|PIPELINE_NO_RATES=1|--memory=pageable
registered|PIPELINE_NO_RATES=1|--memory=registered --order=breadth
mapped|PIPELINE_NO_RATES=1|--memory=mapped
alloc-loop|PIPELINE_NO_RATES=1|--alloc=loop
alloc-async|PIPELINE_NO_RATES=1|--alloc=async --layout=stage
alloc-pool|PIPELINE_NO_RATES=1|--alloc=pool
sum|PIPELINE_NO_RATES=1|--kernel=scale,sum
scan|PIPELINE_NO_RATES=1|--kernel=scan --issue=graph
scan-calls|PIPELINE_NO_RATES=1|--kernel=scan --callbacks
dgemm|PIPELINE_NO_RATES=1|--kernel=dgemm --rows=256 --inner=64
devices|PIPELINE_NO_RATES=1|--device=cuda:0,1 --timeline=t.csv
devices-events|PIPELINE_NO_RATES=1 PIPELINE_NO_CUPTI=1|--device=cuda:1,0 --callbacks --timeline=t.csv
alloc|PIPELINE_NO_RATES=1|--mistake=alloc-in-loop
pinned-alloc|PIPELINE_NO_RATES=1|--mistake=pinned-alloc-in-loop
sync|PIPELINE_NO_RATES=1|--mistake=sync-in-loop
blocking|PIPELINE_NO_RATES=1|--mistake=blocking-stream
profile|PIPELINE_NO_RATES=1|--profile
sweep|PIPELINE_NO_RATES=1|--sweep=intensity=1,2
rates||--ways=4 --cpu-share=0.5 --intensity=4
compare|PIPELINE_NO_RATES=1|compare
list||list
calibrate||calibrate
END
}

# Runs command $1 in this folder, its words into out and err; what comes before it is $2...
run_command() {
    line=$(commands | grep "^$1|")
    shift
    variables=${line#*|}
    arguments=${variables#*|}
    variables=${variables%%|*}
    usual="--device=cuda:0 -q --no-calibrate --seed=7 --gantt=none --format=json -n 256k -t 4 -s 2 --runs=1 --warmup=1"
    case $arguments in
    list) arguments="list devices" ;;
    calibrate) arguments="calibrate --device=cuda:0 -q" ;;
    compare) arguments="compare $usual" ;;
    --sweep*) arguments="$usual $arguments" ;;
    *) arguments="$usual $arguments --output=o.npy" ;;
    esac
    # shellcheck disable=SC2086 # several words each
    env $variables "$@" "$build/pipeline" $arguments >out 2>err </dev/null
}

outputs() {
    commands | grep "^$1|" | tr ' ' '\n' | sed -n 's/.*--timeline=//p'
    case $1 in list | calibrate | compare | sweep) ;; *) echo o.npy ;; esac
}

# --- one fault ------------------------------------------------------------------------------------
# Prints "VERDICT|command|call|CUresult|kind|driver's function|who called|exit|site|words".
say() {
    printf '%s|%s|%s|%s|%s|%s|%s|%s|%s|%s\n' "$1" "$command" "$call" "$result" "$kind" "$function" \
        "$caller" "$code" "$site" "$2"
}

# The functions of the runtime that may be named for a driver's; nothing: any.
named_for() {
    case $1 in
    cuMemcpy*Async*) echo 'cudaMemcpyAsync|cublas' ;;
    cuLaunchKernel*) echo 'cudaLaunchKernel|cublas' ;;
    cuGraphLaunch*) echo 'cudaGraphLaunch' ;;
    cuEventRecord*) echo 'cudaEventRecord|cublas' ;;
    cuStreamWaitEvent*) echo 'cudaStreamWaitEvent|cublas' ;;
    cuLaunchHostFunc*) echo 'cudaLaunchHostFunc' ;;
    cuMemsetD*Async*) echo 'cudaMemset|cublas' ;;
    cuMemHostRegister*) echo 'cudaHostRegister' ;;
    cuMemHostUnregister*) echo 'cudaHostUnregister' ;;
    cuDevicePrimaryCtxRetain*) echo 'cudaSetDevice|cublas' ;;
    cuStreamCreate*) echo 'cudaStreamCreate|cublas' ;;
    cuEventCreate*) echo 'cudaEventCreate|cublas' ;;
    cuEventElapsedTime*) echo 'cudaEventElapsedTime' ;;
    cuStreamBeginCapture*) echo 'cudaStreamBeginCapture' ;;
    cuGraphInstantiate*) echo 'cudaGraphInstantiate' ;;
    esac
}

# What the command issues as ops. Where it failed for the program, it must say so, and of which op.
is_issued() {
    case $1 in
    cuMemcpy*Async* | cuLaunchKernel* | cuGraphLaunch* | cuLaunchHostFunc* | cuStreamWaitEvent* | \
        cuEventRecord* | cuMemsetD*Async*) [ "$caller" = pipeline ] ;;
    *) false ;;
    esac
}

# What CUDA calls first, to look around: where this fails it says that no driver is installed.
is_look_up() {
    case $1 in
    cuGetExportTable* | cuDriverGetVersion*) [ "$call" -le 2 ] ;;
    *) false ;;
    esac
}

# The files as they were, and no other?
files_as_before() {
    for file in $(outputs "$command"); do
        [ "$(cat "$file" 2>&1)" = "old $file" ] || { echo "$file is not as it was"; return; }
    done
    for file in * .[!.]*; do
        case " $(outputs "$command" | tr '\n' ' ') out err told words .* " in *" $file "*) continue ;; esac
        [ -e "$file" ] && { echo "$file was left"; return; }
    done
}

# Every file whole: the array is the reference's, and text ends as the reference does.
files_whole() {
    for file in $(outputs "$command"); do
        case $file in
        *.npy) cmp -s "$file" "$work/$command/$file" || { echo "$file is wrong"; return; } ;;
        *.csv) # as many lines, and the last one ends
            [ "$(grep -c '^run,' "$file").$(tail -c 1 "$file")" = \
                "$(grep -c '^run,' "$work/$command/$file")." ] || { echo "$file is not whole"; return; } ;;
        *) [ "$(tail -n 1 "$file")" = "$(tail -n 1 "$work/$command/$file")" ] ||
            { echo "$file is not whole"; return; } ;;
        esac
    done
    case $command in
    list) # that the devices can't be counted is said in the list, or a device is as it was
        grep -qE 'cuda[A-Z][A-Za-z]* failed' out || is_look_up "$function" || cmp -s out "$work/list/out" ||
            echo "the list is another" ;;
    calibrate) ;;
    *) grep -q '"verified": true' out && ! grep -q '"verified": false' out || echo "it does not say verified" ;;
    esac
}

# Judges exit code 1: the message names the call, and the op.
message_wrong() {
    words=$(grep '^pipeline: ' err | grep -v '^pipeline: warning' | tail -n 1)
    echo "$words" | grep -qE '(cuda|cublas)[A-Z][A-Za-z0-9_]* failed|cuda[A-Za-z]* or cuda[A-Za-z]* failed' ||
        { echo "no CUDA call is named"; return; }
    expected=$(named_for "$function")
    if [ "$caller" = pipeline ] && [ -n "$expected" ] && [ "$kind" = once ] &&
        ! echo "$words" | grep -qE "$expected"; then
        echo "another call is named"
        return
    fi
    if is_issued "$function" && [ "$command" != calibrate ] && ! echo "$words" | grep -qE 'op [0-9]+ \(|measuring |cudaGraphLaunch|cudaGraphUpload|cudaMemset |cudaEventRecord failed: |cudaStreamWaitEvent failed: '; then
        echo "the op is not named"
    fi
}

judge() {
    wrong=
    case $code in
    124 | 137) wrong="it hung" ;;
    99) wrong="the failing driver gave up" ;;
    1)
        wrong=$(files_as_before)
        # Other runs at the same time disturb it, so it may refuse what it measured.
        if [ -z "$wrong" ] && ! { [ "$command" = calibrate ] && grep -q "can't be calibrated" err; }; then
            wrong=$(message_wrong)
        fi
        ;;
    77)
        if is_look_up "$function"; then
            wrong=$(files_as_before)
        else
            wrong="it says that there is no device"
        fi
        ;;
    0)
        wrong=$(files_whole)
        if [ -z "$wrong" ] && is_issued "$function"; then
            wrong="it went on"
        fi
        ;;
    *) wrong="exit code $code" ;;
    esac
    words=$(tail -n 1 err | cut -c 1-300)
    if [ -n "$wrong" ]; then
        say FAULT "$wrong; $words"
        { say FAULT "$wrong" && sed 's/^/    /' err | head -n 30; } >words
        cat words >>"$keep/said.txt"
    elif [ $code -eq 0 ] && ! grep -q 'warning: cuda' err; then
        say ignored "$words"
    elif [ $code -eq 0 ]; then
        say warned "$words"
    else
        say failed "$words"
    fi
}

# fault COMMAND CALL RESULT KIND: makes one call fail in a folder of its own, and judges.
fault() {
    command=$1 call=$2 result=$3 kind=$4
    function=- caller=- code=- site=-
    if [ "$(date +%s)" -ge "$deadline" ]; then
        say "left out" "no time"
        return
    fi
    folder=$(mktemp -d "$work/run.XXXXXX") && cd "$folder" || exit 1
    for file in $(outputs "$command"); do echo "old $file" >"$file"; done
    run_command "$command" "LD_LIBRARY_PATH=$failing${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" FAILING_REAL="$real" \
        FAILING_CALL="$call" FAILING_KIND="$kind" FAILING_RESULT="$result" FAILING_TOLD="$folder/told" \
        timeout -k 5 "$([ "$command" = calibrate ] && echo 240 || echo 60)"
    code=$?
    if [ -s told ]; then
        read -r _ function caller site <told
        judge
    elif [ $code -eq 0 ]; then
        say "not reached" ""
    else
        say FAULT "no call failed, and it ended with $code: $(tail -n 1 err)"
    fi
    cd "$work" && rm -rf "$folder"
}

# --- all of them ----------------------------------------------------------------------------------
# Prints the faults to try, as "command call result kind", in their order. Calibrating takes a minute
# where a call fails that it does without, so it only gets the sites that no other command has.
draw_faults() {
    awk -v seed="$seed" '
        # Each of the calls so far is the one that is kept with the same probability.
        function keep(kept, seen, key, what) {
            if (rand() * ++seen[key] < 1)
                kept[key] = what
        }
        function fault(round, what, kind) {
            print round + rand(), what, results[int(rand() * 7) + 1], kind
        }
        BEGIN {
            srand(seed)
            split("999 2 719 400 1 999 700", results, " ")
        }
        FNR == 1 {
            command = FILENAME
            gsub(/.*\/|\.calls$/, "", command)
            last = command == "calibrate"
        }
        $1 == 0 || (last && $4 in common) { next }
        {
            if (!last)
                common[$4]
            keep(first, seen_first, $4, command " " $1)
            keep(second, seen_second, $4, command " " $1)
            keep(each, seen_each, command " " $4, command " " $1)
            for (i = 0; i < 40 && !last; i++)
                keep(drawn, seen_drawn, command " " i, command " " $1)
        }
        END {
            for (site in first) {
                other = rand() < 0.5
                fault(1, first[site], other ? "from" : "once")
                fault(2, second[site], other ? "once" : "from")
            }
            for (key in each)
                fault(3, each[key], rand() < 0.33 ? "from" : "once")
            for (key in drawn)
                fault(4, drawn[key], rand() < 0.33 ? "from" : "once")
        }' "$@" | sort -n | cut -d ' ' -f 2- | awk '!tried[$1, $2, $4]++' | head -n "$most"
}

find_real() {
    for file in "${REAL:-}" $(echo "${LD_LIBRARY_PATH:-}" | tr ':' '\n' | sed 's,$,/libcuda.so.1,') \
        $(ldconfig -p 2>/dev/null | sed -n 's/.*libcuda\.so\.1 .*x86-64.* => //p') \
        /usr/lib/x86_64-linux-gnu/libcuda.so.1 /usr/lib64/libcuda.so.1 /usr/local/nvidia/lib64/libcuda.so.1 \
        /usr/local/nvidia/lib/libcuda.so.1 /usr/lib/wsl/lib/libcuda.so.1; do
        [ -e "$file" ] && { echo "$file"; return; }
    done
}

sites_of() {
    awk '$1 > 0 { print $4 }' "$@" | sort -u | wc -l
}

# Runs a command with nothing failing, and keeps its files and the list of its calls.
record() {
    mkdir -p "$work/$1"
    (
        cd "$work/$1" || exit 1
        run_command "$1" "LD_LIBRARY_PATH=$failing${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" FAILING_REAL="$real" \
            FAILING_LIST="$work/$1.calls" timeout -k 5 "$2"
    )
    code=$?
    [ "$1" = calibrate ] && [ $code -eq 124 ] && code=0
    command=$1 call=0 result=0 kind=record function=- caller=- site=-
    wrong=
    [ $code -eq 0 ] && wrong=$(cd "$work/$1" && files_whole)
    if [ $code -ne 0 ] || [ -n "$wrong" ]; then
        echo "$1: left out: with nothing failing it ends with $code: $wrong $(tail -n 1 "$work/$1/err")"
        rm -f "$work/$1.calls"
        return
    fi
    echo "$1: $(awk '$1 > 0' "$work/$1.calls" | wc -l) calls at $(sites_of "$work/$1.calls") sites"
}

case ${1:-} in
--fault) # shellcheck disable=SC2086 # four words
    fault $2
    exit 0
    ;;
--record)
    record "$2" 45
    exit 0
    ;;
esac

build=$(realpath "${1:?the build folder}")
here=$(realpath "$0")
seed=${SEED:-$(date +%s)}
most=${MOST:-1000000}
jobs=${JOBS:-$(nproc)}
failing=$build/tests/failing
real=$(find_real)
begun=$(date +%s)
deadline=$((begun + ${2:-86400}))
[ -n "$real" ] || { echo "failing calls: there is no libcuda.so.1"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/failing.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
keep=${KEEP:-$work/keep}
mkdir -p "$keep"
export work keep build failing real deadline

"$build/pipeline" --device=cuda:0 -q -n 64k -t 2 --gantt=none >/dev/null 2>"$work/first"
code=$?
[ $code -eq 77 ] && { cat "$work/first"; exit 77; }
echo "failing calls: SEED=$seed, $jobs at once, the driver is $real"
names=${ONLY:-$(commands | cut -d '|' -f 1)}
# Calibrating needs the device for itself.
for name in $names; do [ "$name" = calibrate ] && "$here" --record calibrate; done
echo "$names" | tr ' ' '\n' | grep -vx calibrate | xargs -r -P "$jobs" -n 1 "$here" --record
lists=
for name in $(echo "$names" | tr ' ' '\n' | grep -vx calibrate) calibrate; do
    [ -s "$work/$name.calls" ] && lists="$lists $work/$name.calls"
done
[ -n "$lists" ] || { echo "failing calls: nothing could be recorded"; exit 1; }
# shellcheck disable=SC2086 # several files, of which calibrate's is the last
draw_faults $lists >"$work/faults"
# shellcheck disable=SC2086
sites=$(sites_of $lists)
echo "failing calls: $sites sites, $(wc -l <"$work/faults") faults to try, after $(($(date +%s) - begun)) s"
for list in "$work"/*.calls; do
    echo "== $(basename "$list")"
    awk '$1 > 0 { print $2, $3, $4 }' "$list" | uniq -c
done >"$keep/calls.txt"
tr '\n' '\0' <"$work/faults" | xargs -0 -P "$jobs" -n 1 "$here" --fault |
    tee "$keep/verdicts.txt" | grep -E --line-buffered '^FAULT'

echo
awk -F '|' '{
        outcome = $1 == "failed" ? "exit " $8 : $1
        count[$2, outcome]++; commands[$2]; outcomes[outcome]
    }
    END {
        n = 0
        for (o in outcomes) order[++n] = o
        printf "%-14s", "command"
        for (i = 1; i <= n; i++) printf "%13s", order[i]
        print ""
        for (c in commands) {
            printf "%-14s", c
            for (i = 1; i <= n; i++) printf "%13d", count[c, order[i]]
            print ""
        }
    }' "$keep/verdicts.txt"
printf '\ncalls whose failing changed nothing (how often, function, who called):\n'
awk -F '|' '$1 == "ignored" || $1 == "warned" { print $1, $6, $7 }' "$keep/verdicts.txt" | sort | uniq -c | sort -rn
runs=$(grep -cvE '^(left out|not reached)' "$keep/verdicts.txt")
faults=$(grep -c '^FAULT' "$keep/verdicts.txt")
left=$(grep -c '^left out' "$keep/verdicts.txt")
[ "$left" -eq 0 ] || echo "failing calls: for $left there was no time"
[ "$runs" -gt 0 ] || { echo "failing calls: not one was made to fail in that time"; exit 1; }
hit=$(awk -F '|' '$9 != "-" { print $9 }' "$keep/verdicts.txt" | sort -u | wc -l)
echo "failing calls: $runs runs at $hit of $sites sites, $faults faults (SEED=$seed)"
[ "$faults" -eq 0 ]
