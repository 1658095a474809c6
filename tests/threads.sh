#!/bin/sh
# threads.sh BUILD - runs what has threads under ThreadSanitizer: the CPU's tiles and all loops that are shared
# among cores, the worker beside a device of the tests, the line that tells how far a run is, ranks with their
# watchers and couriers, and the recorder in programs of many threads. BUILD was made with clang and
# -fsanitize=thread (make check-threads). What libraries do, which are not instrumented, is left out; OpenMP tells of
# its barriers by LLVM's archer.
set -u
build=$(cd "$1" && pwd) || exit 2
cd "$(dirname "$0")/.." || exit 2
archer=$(dirname "$(ldd "$build/pipeline" | awk '/libomp/ { print $3 }')")/libarcher.so
export OMP_TOOL_LIBRARIES="$archer" OMP_NUM_THREADS=3 PIPELINE_NO_RATES=1
# The tests of the recorder have programs that crash, which a sanitizer leaves alone.
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 handle_segv=0 halt_on_error=0 exitcode=66"
export LD_LIBRARY_PATH="$build/tests/fake"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
runs=0 failed=0

# clean COMMAND... runs it, for at most two minutes, which has to end well and without a report.
clean() {
    runs=$((runs + 1))
    timeout -s KILL 120 "$@" >"$work/out" 2>&1 </dev/null
    status=$?
    if [ $status -ne 0 ] || grep -q 'WARNING: ThreadSanitizer' "$work/out"; then
        echo "threads: $*: exit code $status"
        head -n 40 "$work/out"
        failed=$((failed + 1))
    fi
}

# A race has to be found, or all of this tells nothing.
cat >"$work/race.c" <<'END'
#include <pthread.h>
static int shared;
static void *add(void *unused) { shared++; return unused; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, add, 0);
    shared++;
    return pthread_join(thread, 0);
}
END
clang -O1 -g -fsanitize=thread -pthread -o "$work/race" "$work/race.c" && "$work/race" >"$work/out" 2>&1
if [ $? -ne 66 ] || [ ! -e "$archer" ]; then
    echo "threads: ThreadSanitizer finds no race here, or there is no $archer: nothing is tested"
    exit 77
fi

for kernel in $(sed -n 's/^KERNEL([a-z0-9_]*, [a-z0-9_]*, \.name = "\([^"]*\)".*/\1/p' kernels/kernels.def); do
    case $kernel in
    transpose* | stencil | scan*) clean "$build/pipeline" -q -k "$kernel" -n 128k -t 4 ;;
    dgemm) clean "$build/pipeline" -q -k dgemm --rows=256 --inner=64 -n 64k -t 4 ;;
    *) clean "$build/pipeline" -q -k "$kernel" -n 100k -t 8 --ways=4 ;;
    esac
done
clean "$build/pipeline" -q kernel check "$build/tests/own/new.so"
clean script -qec "$build/pipeline -k scan -n 1M --sweep=tiles=1,2,4,8,16" "$work/typescript"
while read -r arguments; do
    # shellcheck disable=SC2086 # several words
    clean "$build/pipeline-fake" -q -d cuda $arguments
done <<'END'
--ways=4 -n 300k -t 8
--ways=4 -n 300k -t 8 -k sum --issue=batch
-n 300k -t 8 -k scan --carry=callback
-n 300k -t 8 --pack --scatter
-n 300k -t 8 --memory=pageable -k wave,sum
END
if [ -e "$build/pipeline-mpi" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    for arguments in "-n 1M -t 6" "-k sum -n 1M -t 6" "-k scan -n 1M -t 6 --carry=callback" "--spread=chain -k scale,scale,sum -n 1M -t 6"; do
        # shellcheck disable=SC2086 # several words
        clean mpirun -n 3 "$build/pipeline-mpi" $arguments
    done
fi
runs=$((runs + 1))
tests/record/run.sh "$build" >"$work/record" 2>&1 && ! grep -q 'WARNING: ThreadSanitizer' "$work/record" || {
    cat "$work/record"
    failed=$((failed + 1))
}
echo "$((100 * (runs - failed) / runs))%: Checks: $runs, Failures: $failed, Errors: 0"
[ $failed -eq 0 ]
