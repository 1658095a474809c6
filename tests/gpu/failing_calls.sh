#!/bin/sh
# Every call of the CUDA driver made to fail in turn: the program must end with 1 (77 where starting
# CUDA fails), name the CUDA function and, of an issued op, the op; and leave every output file as it
# was. It may end with 0 only if its result is verified and every file whole: clean-up, which warns,
# and calls that CUDA's own libraries do without. The program is the one that users run: it finds
# failing_driver.c in the driver's place.
#
#     tests/gpu/failing_calls.sh BUILD-FOLDER [SECONDS]
#
# BUILD-FOLDER has pipeline and tests/failing/libcuda.so.1. With SECONDS no new run is begun after so
# long. Environment: SEED (of what is drawn; else the time), JOBS (runs at once; else one for each
# processor), MOST (faults of a command; else 400), REAL (the real libcuda.so.1), KEEP (a folder
# for the lists of calls, every verdict, and what faulty runs said), ONLY (a command's name).
# Exits 0, 1 when a run was not as it should be, 77 where there is no device.
set -u

# --- the commands ---------------------------------------------------------------------------------
# name | variables | arguments behind the usual ones. All are small; copies are measured in each, and
# kernels where PIPELINE_NO_RATES is not set.
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
sum|PIPELINE_NO_RATES=1|--kernel=scale,sum
scan|PIPELINE_NO_RATES=1|--kernel=scan --issue=graph
scan-calls|PIPELINE_NO_RATES=1|--kernel=scan --callbacks
dgemm|PIPELINE_NO_RATES=1|--kernel=dgemm --rows=256 --inner=64
alloc|PIPELINE_NO_RATES=1|--mistake=alloc-in-loop
pinned-alloc|PIPELINE_NO_RATES=1|--mistake=pinned-alloc-in-loop
sync|PIPELINE_NO_RATES=1|--mistake=sync-in-loop
blocking|PIPELINE_NO_RATES=1|--mistake=blocking-stream
profile|PIPELINE_NO_RATES=1|--profile
sweep|PIPELINE_NO_RATES=1|--sweep=intensity=1,2
rates||--ways=4 --intensity=4
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
    usual="--device=cuda:0 -q --seed=7 --gantt=none --format=json -n 256k -t 4 -s 2 --runs=1 --warmup=1"
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
# Prints "VERDICT|command|call|CUresult|kind|driver's function|who called|exit|words".
say() {
    printf '%s|%s|%s|%s|%s|%s|%s|%s|%s\n' "$1" "$command" "$call" "$result" "$kind" "$function" \
        "$caller" "$code" "$2"
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
    list | calibrate) ;;
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
        [ -n "$wrong" ] || wrong=$(message_wrong)
        ;;
    77)
        case $function in
        cuInit | cuDeviceGetCount | cuDriverGetVersion) wrong=$(files_as_before) ;;
        *) wrong="it says that there is no device" ;;
        esac
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
    function=- caller=- code=-
    if [ "$(date +%s)" -ge "$deadline" ]; then
        say "left out" "no time"
        return
    fi
    folder=$(mktemp -d "$work/run.XXXXXX") && cd "$folder" || exit 1
    for file in $(outputs "$command"); do echo "old $file" >"$file"; done
    run_command "$command" "LD_LIBRARY_PATH=$failing${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" FAILING_REAL="$real" \
        FAILING_CALL="$call" FAILING_KIND="$kind" FAILING_RESULT="$result" FAILING_TOLD="$folder/told" \
        timeout -k 5 60
    code=$?
    if [ -s told ]; then
        read -r _ function caller <told
        judge
    elif [ $code -eq 0 ]; then
        say "not reached" ""
    else
        say FAULT "no call failed, and it ended with $code: $(tail -n 1 err)"
    fi
    cd "$work" && rm -rf "$folder"
}

# --- all of them ----------------------------------------------------------------------------------
# Prints the faults of a list of calls: every call of a function that is called seldom, and so many of
# the others, spread and drawn, that there are MOST. Of two in three only that call fails; of the third
# all later ones do, too. Calibrating takes a minute, so only its beginning is tried.
draw_faults() {
    awk -v command="$1" -v most="$most" -v seed="$2" '
        $1 > 0 && (command != "calibrate" || $1 < 5000) { calls[$2, ++count[$2]] = $1; total++ }
        END {
            srand(seed)
            split("999 2 719 400 1 999 700", results, " ")
            # The most calls of one function that keep the sum within `most`.
            for (each = total; each > 1; each--) {
                sum = 0
                for (name in count) sum += count[name] < each ? count[name] : each
                if (sum <= most) break
                if (each > 64) each = int(each * 0.95) + 1
            }
            for (name in count) {
                take = count[name] < each ? count[name] : each
                for (i = 0; i < take; i++) {
                    at = int((i + (take < count[name] ? rand() : 0)) * count[name] / take) + 1
                    print rand(), command, calls[name, at], results[int(rand() * 7) + 1],
                        rand() < 0.33 ? "from" : "once"
                }
            }
        }' "$work/$1.calls"
}

find_real() {
    for file in "${REAL:-}" $(echo "${LD_LIBRARY_PATH:-}" | tr ':' '\n' | sed 's,$,/libcuda.so.1,') \
        $(ldconfig -p 2>/dev/null | sed -n 's/.*libcuda\.so\.1 .*x86-64.* => //p') \
        /usr/lib/x86_64-linux-gnu/libcuda.so.1 /usr/lib64/libcuda.so.1 /usr/local/nvidia/lib64/libcuda.so.1 \
        /usr/local/nvidia/lib/libcuda.so.1 /usr/lib/wsl/lib/libcuda.so.1; do
        [ -e "$file" ] && { echo "$file"; return; }
    done
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
    command=$1 call=0 result=0 kind=record function=- caller=-
    wrong=
    [ $code -eq 0 ] && wrong=$(cd "$work/$1" && files_whole)
    if [ $code -ne 0 ] || [ -n "$wrong" ]; then
        echo "$1: left out: with nothing failing it ends with $code: $wrong $(tail -n 1 "$work/$1/err")"
        rm -f "$work/$1.calls"
        return
    fi
    echo "$1: $(awk '$1 > 0' "$work/$1.calls" | wc -l) calls of $(awk '$1 > 0 { print $2 }' "$work/$1.calls" |
        sort -u | wc -l) functions"
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
most=${MOST:-400}
jobs=${JOBS:-$(nproc)}
failing=$build/tests/failing
real=$(find_real)
deadline=$(($(date +%s) + ${2:-86400}))
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
# Calibrating takes longest, and is the last of the commands.
echo "$names" | tac | xargs -P "$jobs" -n 1 "$here" --record
for name in $names; do
    [ -s "$work/$name.calls" ] && draw_faults "$name" "$seed" >>"$work/faults"
done
for list in "$work"/*.calls; do
    echo "== $(basename "$list")"
    awk '$1 > 0 { print $2, $3 }' "$list" | uniq -c | head -n 3000
done >"$keep/calls.txt"
[ -s "$work/faults" ] || { echo "failing calls: nothing could be recorded"; exit 1; }
sort "$work/faults" | cut -d ' ' -f 2- | tr '\n' '\0' | xargs -0 -P "$jobs" -n 1 "$here" --fault |
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
echo "failing calls: $runs runs, $faults faults (SEED=$seed)"
[ "$faults" -eq 0 ]
