#!/bin/sh
# tier.sh quick|deep BUILD - runs the steps of `make test` or `make test-deep`, one after the other,
# and all of them, whatever fails. At the end come the ten steps and suites that took longest, a table of
# the time that each step took, what failed, and one line, in Check's words, that sums up the suites of every
# step; a step that failed in another way is an error.
# Each step's output is kept in BUILD/tier. tests/run-suites.sh runs the suites of a step side by side.
set -u
tier=$1
build=$2
cd "$(dirname "$0")/.." || exit 1
kept=$build/tier/$tier
rm -rf "$kept"
mkdir -p "$kept"

# The makes below share no jobs with the one that called; its variables go on to them.
MAKEFLAGS=$(echo "${MAKEFLAGS:-}" | sed 's/ -j[0-9]*//; s/ --jobserver-[^ ]*//g; s/ --output-sync[^ ]*//')
export MAKEFLAGS
unset MAKELEVEL MFLAGS MAKEOVERRIDES

# Seconds since 1970, and seconds of the processors that this shell's commands have used.
clock() {
    times >"$kept/$name.times"
    date +%s.%N | tr '\n' ' '
    tail -n 1 "$kept/$name.times" | tr 'ms' '  ' | awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }'
}

# step NAME COMMAND... runs one step; its output is shown and kept.
step() {
    name=$1
    shift
    [ "$show" = now ] && echo "== $name"
    clock >"$kept/$name.before"
    {
        "$@" 2>&1
        echo $? >"$kept/$name.status"
    } | if [ "$show" = now ]; then tee "$kept/$name.log"; else cat >"$kept/$name.log"; fi
    clock >"$kept/$name.after"
    [ "$show" = now ] || { echo "== $name" && cat "$kept/$name.log"; }
    cat "$kept/$name.before" "$kept/$name.after" | tr '\n' ' ' |
        awk -v name="$name" -v status="$(cat "$kept/$name.status")" \
            '{ print name, status, $3 - $1, $4 - $2 }' >>"$kept/steps"
}
show=now

# beside FUNCTION... runs functions, whose steps leave processors idle, beside one another. What a step has
# written is shown once it has ended.
beside() {
    for steps; do
        (show=later && "$steps") &
    done
    wait
}

run_make() {
    make --no-print-directory WERROR=1 "$@"
}

# left_out COMMAND... runs what is left out, by exit code 77, where something for it is missing.
left_out() {
    "$@" || [ $? -eq 77 ]
}

quick_steps() {
    step format make --no-print-directory check-format
    step headers make --no-print-directory check-headers
    step build run_make all check-programs
    step suites env PIPELINE_TESTS=few tests/run-suites.sh "$build" emulator-quick all
    step hostile "$build/hostile" --seed=1 --inputs=1000
    step memory tests/hostile/no_memory.sh "$build" --runs=1500 text json csv list view-csv
    beside quick_checks quick_runs
}

quick_checks() {
    step static make --no-print-directory check-static
    step rooms run_make check-rooms
    step hardening run_make check-hardening
    step library run_make check-library
}

quick_runs() {
    step foreign run_make check-foreign
    step record tests/record/run.sh "$build"
    step try left_out tests/cpu/try.sh "$build"
    step times left_out tests/cpu/times.sh "$build"
    step exercises left_out tests/cpu/exercises.sh "$build"
    # shellcheck disable=SC2046 # no word where there is no C++ compiler
    step shown tests/shown.sh "$build/pipeline" docs/record.md docs/slow-*.md \
        $([ ! -f "$build/libpipeline-cpu.a" ] || echo docs/try.md)
    step demo run_make run-demo
}

# Valgrind is for the suites that read files of others or parse words; the rest draw, compute or run the
# program, which the sanitizers look at in less time.
memcheck="units options npy machine trace recording view fuzz_seeds recorded"

deep_steps() {
    step build run_make all check-programs
    step clang run_make check-clang
    # -O1 compiles in two thirds of the time, and leaves more for the sanitizers to see. What gcc warns of
    # then is guessed: the other build has warnings as errors.
    step asan-build make --no-print-directory O="$build/asan" ASAN=1 CFLAGS="-O1 -g1" NVCC= LAB= check-programs
    # Without forks the tests share one process, which saves the sanitizer most of its time.
    step asan env CK_FORK=no PIPELINE_TESTS=quick tests/run-suites.sh "$build/asan" emulator all
    # Every program of --emit and every random case, of which the quick tier has a quarter.
    step exercises left_out env PIPELINE_TESTS=full tests/cpu/exercises.sh "$build"
    step suites env PIPELINE_TESTS=full tests/run-suites.sh "$build" emulator-full all
    step record tests/record/run.sh "$build" deep
    beside deep_pages deep_programs deep_hostile
    step fuzz run_make fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-20}"
    step gpu-build run_make gpu-binaries
}

deep_pages() {
    step browser run_make check-browser
    step lecture tests/lecture.sh "$build"
}

deep_programs() {
    step recording many_ops
    step wasm run_make check-wasm
    step install run_make check-install
    step docs tests/docs.sh "$build/pipeline"
    step ranks left_out tests/mpi/run.sh "$build"
    step make tests/make.sh
}

deep_hostile() {
    step many-cases env PIPELINE_TESTS=deep tests/run-suites.sh "$build" replan
    step hostile "$build/hostile" --seed=2 --inputs=3000
    # A part of the inputs and of the failing allocations: the suites ran with the sanitizers above.
    step asan-hostile "$build/hostile" --seed=3 --inputs=300 --program="$build/asan/pipeline"
    # nproc goes by OMP_NUM_THREADS, so how many suites run at once is said here.
    # shellcheck disable=SC2086 # a word for each suite
    step valgrind env JOBS="$(nproc)" CK_FORK=no PIPELINE_TESTS=quick OMP_NUM_THREADS=1 UNDER="valgrind -q \
        --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite \
        --suppressions=tests/valgrind.supp" tests/run-suites.sh "$build" $memcheck
    step memory tests/hostile/no_memory.sh "$build" --runs=1500
    step memory-asan tests/hostile/no_memory.sh "$build/asan" --runs=80
}

# A recording of 1,000,000 operations is read, judged and drawn in 2 GiB.
many_ops() {
    awk -v ops=1000000 -f tests/recordings/many.awk >"$kept/many.jsonl" &&
        prlimit --as=2147483648 "$build/pipeline" view "$kept/many.jsonl" --timeline="$kept/many.html" |
        tee "$kept/many.txt" | head -n 20
    grep '^1000000 ops in 4 streams' "$kept/many.txt"
    found=$?
    rm -f "$kept/many.jsonl"
    return $found
}

"${tier}_steps"

echo
echo "The ten steps and suites that took longest:"
{
    awk '{ print $3, $4, $1 }' "$kept/steps"
    for log in "$kept"/*.log; do
        sed -n "s,^  [a-zA-Z]* *\([0-9.]*\) s *\([0-9.]*\) CPU s  \([^:]*\).*,\1 \2 $(basename "$log" .log): \3,p" "$log"
    done
} | sort -r -n | head -n 10 | awk '{ printf "%8.1f s %8.1f CPU s  ", $1, $2; $1 = $2 = ""; sub(/^ */, ""); print }'
echo
awk 'BEGIN { printf "%-12s %8s %8s\n", "step", "seconds", "CPU s" }
    { printf "%-12s %8.1f %8.1f%s\n", $1, $3, $4, $2 ? "  FAILED" : ""; wall += $3; cpu += $4 }
    END { printf "%-12s %8.1f %8.1f\n", "all", wall, cpu }' "$kept/steps"
# What failed is said once more, where who reads the end alone sees it.
awk '$2 { print $1 }' "$kept/steps" | while read -r name; do
    echo "== $name failed:" && grep -E 'FAULT|FAILED|failed|rror|:[EF]:' "$kept/$name.log" | head -n 10
done
while read -r name status _; do
    line=$(grep '%: Checks: ' "$kept/$name.log" | tail -n 1)
    case $status:$line in
    0: | 0:100%* | [1-9]*:[0-9]%* | [1-9]*:[0-9][0-9]%*) echo "$line" ;;
    *) echo "0%: Checks: 1, Failures: 0, Errors: 1" ;;
    esac
done <"$kept/steps" |
    awk '{ c += $3; f += $5; e += $7 }
    END {
        printf "%d%%: Checks: %d, Failures: %d, Errors: %d\n", c ? (c - f - e) * 100 / c : 0, c, f, e
        exit f + e > 0 || c == 0
    }'
