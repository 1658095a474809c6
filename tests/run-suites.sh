#!/bin/sh
# run-suites.sh BUILD SUITE... - runs suites side by side, each as a process of its own, the longest
# first. `all` stands for every suite of BUILD/check. `emulator` runs BUILD/check-emulator, the kernels
# without a GPU; `emulator-quick` and `emulator-full` do so with few and with all cases, whatever
# PIPELINE_TESTS says.
#
# JOBS is how many run at once (else one more than there are processors, since some suites wait more than
# they work), UNDER a command to run BUILD/check with (valgrind); CK_FORK and PIPELINE_TESTS go to the
# tests as they are. What a suite wrote is kept in BUILD/suites and shown if it failed. A line of each has
# the time that it took and, since others run beside it, that of the processors. The last line sums up all
# suites in the words of Check.
set -u
build=$1
shift
results=$build/suites

now() {
    date +%s.%N
}

# Suites that take longest go first, so that none of them is left to run alone at the end.
longest="calibrate_noise emulator emulator-full emulator-quick terminal inputs emit emit_spread emit_halo emit_own
emit_devices emit_calls emit_needs emit_chain plan_build writer_hostile writer_trace plot transpose foreign calibrate_held chain
hazard_bytes verdict html contract bench pages calibrate_file options npy scan deadlock"

# Runs the suite $1; its words and its exit status are left in BUILD/suites.
one() {
    log=$results/$(echo "$1" | tr ' ' _).log
    start=$(now)
    case $1 in
    emulator*)
        # A heap page that takes the place of a finished thread's stack is a false alarm without forks.
        unset CK_FORK
        [ "$1" != emulator-quick ] || export PIPELINE_TESTS=quick
        [ "$1" != emulator-full ] || unset PIPELINE_TESTS
        OMP_NUM_THREADS=1 "$build/check-emulator" >"$log" 2>&1
        ;;
    *) CK_RUN_SUITE=$1 ${UNDER:-} "$build/check" >"$log" 2>&1 ;;
    esac
    status=$?
    # A suite that died before it could sum up, or that no longer exists, is one error.
    line=$(grep '%: Checks: [1-9]' "$log" | tail -n 1)
    if [ -z "$line" ] || { [ $status -ne 0 ] && [ "${line#100%}" != "$line" ]; }; then
        echo "0%: Checks: 1, Failures: 0, Errors: 1 (exit status $status)" >>"$log"
        status=1
    fi
    times >"$log.times" # of this process, which has run nothing else that takes any
    words=$({
        echo "$start $(now)"
        tail -n 1 "$log.times" | tr 'ms' '  '
    } | awk 'NR == 1 { wall = $2 - $1 } NR == 2 { cpu = $1 * 60 + $2 + $3 * 60 + $4 }
        END { printf "%6.1f s %6.1f CPU s", wall, cpu }')
    rm -f "$log.times"
    if [ $status -eq 0 ]; then
        echo "  passed $words  $1"
    else
        echo "  FAILED $words  $1: $log"
        grep -v '^Running suite' "$log" | head -n 60
    fi
}

if [ "${1:-}" = --one ]; then
    one "$2"
    exit 0
fi

mkdir -p "$results"
rm -f "$results"/*.log
export CK_DEFAULT_TIMEOUT="${TIMEOUT:-300}" OMP_WAIT_POLICY=passive
for suite in "$@"; do
    if [ "$suite" = all ]; then
        "$build/check" --list
    else
        echo "$suite"
    fi
done | awk -v longest="$longest" '
    BEGIN { n = split(longest, name); for (i = 1; i <= n; i++) rank[name[i]] = i }
    { print ($1 in rank ? rank[$1] : n + 1) "\t" $0 }' | sort -s -n -k 1,1 | cut -f 2 | tr '\n' '\0' |
    xargs -0 -n 1 -P "${JOBS:-$(($(nproc) + 1))}" "$0" "$build" --one

awk '/%: Checks: / { checks[FILENAME] = $3; failures[FILENAME] = $5; errors[FILENAME] = $7 }
    END {
        for (file in checks) { c += checks[file]; f += failures[file]; e += errors[file] }
        printf "%d%%: Checks: %d, Failures: %d, Errors: %d\n", c ? (c - f - e) * 100 / c : 0, c, f, e
        exit f + e > 0 || c == 0
    }' "$results"/*.log
