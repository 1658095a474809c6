#!/bin/sh
# times.sh BUILD - how long `pipeline try` takes the kernels of times.cu to run, beside an H200; and how
# long a function of the host's, whose accesses are watched. 77: there is no C++ compiler, or no objdump.
#
# The times are medians of kernels like these, of programs that nobody had tuned it by and of exercises
# (bench/results/try-2026-11-30-drawn.txt), recorded on an H200, 2026-11-30.
set -u
build=$(realpath "$1")
[ -f "$build/libpipeline-cpu.a" ] || { echo "times.sh: skipped: there was no C++ compiler" >&2; exit 77; }
command -v objdump >/dev/null || { echo "times.sh: skipped: there is no objdump" >&2; exit 77; }
program=$(realpath "$(dirname "$0")/times.cu")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

timeout -s INT 100 "$build/pipeline" try -q --gantt=none -o run.jsonl "$program" >out 2>err && grep -q '^right$' out ||
    { echo "times.sh: times.cu failed" >&2; head -n 4 out err >&2; exit 1; }

# The last launch of each kernel counts: by then the cache has what it keeps.
tr -d '[]"' <run.jsonl | awk -F, '
    BEGIN {
        truth["in_cache"] = 6000; truth["in_turns"] = 6750; truth["one_place"] = 4670; truth["chain"] = 35200
        truth["begin"] = 3260; truth["one_thread"] = 768; truth["tree"] = 1056; truth["scattered"] = 33980
        truth["filter"] = 11040; truth["mapped"] = 13400
        most = 0.2
    }
    $1 == "name" { name[$2] = $3 }
    $1 == "kernel" { took[$7] = $6 - $5; overlap = $5 < ended; ended = $6 }
    $1 == "call" && $3 ~ /[Rr]egister$/ { register_ns += $6 - $5 }
    $1 == "call" { between_ns = $5 - call_ns > between_ns && after_function ? $5 - call_ns : between_ns; call_ns = $6 }
    $1 == "call" { after_function = $3 == "cudaLaunchHostFunc" }
    $1 == "function" { function_ns = $6 - $5 }
    END {
        for (n in name)
            if (name[n] in truth) {
                kernels++
                off = took[n] / truth[name[n]] - 1
                if (off > most || off < -most) {
                    printf "times.sh: %s took %d ns, an H200 %d\n", name[n], took[n], truth[name[n]]
                    bad = 1
                }
            }
        if (kernels != 10) { print "times.sh: " kernels " kernels, not 10"; bad = 1 }
        if (overlap) { print "times.sh: two kernels have the link each for itself"; bad = 1 }
        if (register_ns < 120e3 || register_ns > 200e3) {
            printf "times.sh: to register 1 MiB took %d ns, an H200 164000\n", register_ns
            bad = 1
        }
        # A million accesses: 1 to 3 ms where they are no time of the program'"'"'s, 800 where they were; so
        # it is where they race, once that was told: it was 400 ms.
        if (between_ns > 30e6) {
            printf "times.sh: the host took %d ns where it races\n", between_ns
            bad = 1
        }
        if (function_ns <= 0 || function_ns > 30e6) {
            printf "times.sh: the function took %d ns\n", function_ns
            bad = 1
        }
        exit bad
    }' >&2
