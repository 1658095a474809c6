#!/bin/sh
# Every test that needs a CUDA device: the GPU suites, whether poison is ever verified, the programs
# that --emit writes, a minute of failing CUDA calls, then compute-sanitizer's four tools over real runs
# of the program. Exits 77 where there is no device, 1 when anything failed.
#
#     tests/gpu/run.sh BUILD-FOLDER
#
# FAILING is how many seconds calls are made to fail for (60; 0: not at all).
set -u
build=${1:?the build folder}
here=$(dirname "$0")
summary=
failed=0

note() {
    summary="$summary$(printf '\n  %-14s %s' "$1" "$2")"
}

PIPELINE_BUILD=$build "$build/check-gpu"
code=$?
[ $code -eq 77 ] && exit 77
if [ $code -eq 0 ]; then
    note "GPU suites" passed
else
    note "GPU suites" FAILED
    failed=1
fi

# Runs a script that sums up in its last line.
part() {
    name=$1
    shift
    log=$(mktemp)
    "$@" >"$log" 2>&1
    code=$?
    if [ $code -eq 0 ]; then
        note "$name" "passed ($(tail -n 1 "$log"))"
    else
        note "$name" FAILED
        failed=1
        cat "$log"
    fi
    rm -f "$log"
}

part poison "$here/poison.sh" "$build/pipeline"
if [ -x "${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}" ]; then
    part emit "$here/emit.sh" "$build/pipeline"
else
    note emit "left out: there is no nvcc"
fi
part "own kernels" "$here/own.sh" "$build"
if [ ! -e "$build/tests/failing/libcuda.so.1" ]; then
    note "failing calls" "left out: there are no thunks for this processor"
elif [ "${FAILING:-60}" -gt 0 ]; then
    part "failing driver" "$build/failing-driver-check" "$build/tests/failing/libcuda.so.1" \
        "$build/tests/stub/libcuda.so.1"
    part "failing calls" "$here/failing_calls.sh" "$build" "${FAILING:-60}"
fi

sanitizer=$(command -v compute-sanitizer || true)
for folder in /usr/local/cuda/bin /usr/local/cuda/compute-sanitizer; do
    [ -z "$sanitizer" ] && [ -x "$folder/compute-sanitizer" ] &&
        sanitizer=$folder/compute-sanitizer
done

# Only one tool may trace a process, so times come from events here; kernels are not run over and
# over to measure them. For initcheck the device's buffers stay as allocated: what was filled with
# poison would count as initialised.
settings=$(mktemp)
sanitize() {
    tool=$1
    shift
    log=$(mktemp)
    if env PIPELINE_NO_CUPTI=1 PIPELINE_NO_RATES=1 "$@" "$build/pipeline" -q --no-calibrate --gantt=none "$settings" \
        >"$log" 2>&1; then
        note "$tool" "passed ($(grep SUMMARY "$log" | tail -n 1 | tr -d =))"
    else
        note "$tool" FAILED
        failed=1
        tail -n 60 "$log"
    fi
    rm -f "$log"
}

if [ -z "$sanitizer" ]; then
    note "sanitizer" "not found: its checks were left out"
else
    echo "$sanitizer: memcheck, racecheck, initcheck, synccheck"
    cat "$here/sanitize.ini" > "$settings"
    sanitize memcheck "$sanitizer" --tool=memcheck --leak-check=full --error-exitcode=9
    sanitize racecheck "$sanitizer" --tool=racecheck --racecheck-report=all --error-exitcode=9
    sanitize synccheck "$sanitizer" --tool=synccheck --error-exitcode=9
    # initcheck of CUDA 13.0 does not see what cudaMemcpyBatchAsync() writes on the device: every read
    # of it counts as uninitialised, in runs whose results are right.
    awk '/^\[/ { put() } { section = section $0 "\n" } END { put() }
        function put() {
            if (section !~ /issue = batch/ || section ~ /memory = mapped/)
                printf "%s", section
            section = ""
        }' "$here/sanitize.ini" > "$settings"
    sanitize initcheck env PIPELINE_NO_POISON=1 \
        "$sanitizer" --tool=initcheck --error-exitcode=9
fi

rm -f "$settings"
printf '\ngpu-test:%s\n' "$summary"
exit $failed
