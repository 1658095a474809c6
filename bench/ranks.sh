#!/bin/sh
# ranks.sh BUILD devices|large|crossing|messages|share [N] - on GPUs: what N ranks of BUILD/pipeline-mpi take (2, or 4 that share one device)
# beside another way, in turn and seven times over, and prints medians and the ratio of each pair of runs:
#
# - devices: over one process with as many devices;
# - large: likewise, with the work that a GPU is taken for;
# - crossing: likewise, with scans, halos and chains, which ranks hand one another and the process copies through its memory;
# - messages: that, by messages over memory that the ranks of one host have in common;
# - share: in time slices over MPS, of whose daemon it starts one of its own.
#
# Every run verifies its results. Exits with 77 where something for it is missing, and with 1 where a run failed.
set -eu
build=${1:?the build folder}
what=${2:?devices, large, crossing, messages or share}
repeats=${REPEATS:-7}
here=$(dirname "$0")
out=$(mktemp -d)
trap 'rm -rf "$out"; [ "$what" != share ] || "$here/../scripts/mps.sh" stop "$out.mps" >/dev/null 2>&1 || true' EXIT

# name: options. Small kernels, tiles in between, and copies that bind.
settings="
small-kernels: -k scale -n 1M -t 64 -s 1
small-in-turn: -k scale -n 1M -t 64 -w 1
tiles-of-1MiB: -k scale -n 16M -t 64 -s 2
heavy-kernels: -k scale --intensity 4000 -n 1M -t 16 -s 2
copies-bind: -k sum -n 16M -t 64 -s 2
"

[ "$what" != large ] || settings="
scale: -k scale -n 512M -t 128 -s 4
sum: -k sum -n 512M -t 128 -s 4
stage-callbacks: -k scale -n 512M -t 128 --layout=stage --callbacks
"
case $what in crossing | messages) settings="
scan: -k scan --carry=callback -n 64M -t 32
scan-in-turn: -k scan --carry=sync -n 16M -t 16
thin-halos: -k stencil --columns=4k --steps=50 -n 16M -t 16 --exchange=host
wide-halos: -k stencil --columns=128k --halo=4 --steps=10 -n 16M -t 16 --exchange=host
halos-not-hidden: -k stencil --columns=128k --halo=4 --steps=10 -n 16M -t 16 --exchange=host --hide=no
chain: -k scale,scale --spread=chain --intensity=1 -n 64M -t 32 --exchange=host
heavy-chain: -k scale,scale --spread=chain -n 64M -t 32 --exchange=host
chain-by-stage: -k scale,scale --spread=chain --intensity=1 -n 64M -t 32 --exchange=host --layout=stage
heavy-by-stage: -k scale,scale --spread=chain -n 64M -t 32 --exchange=host --layout=stage
" ;; esac

[ -x "$build/pipeline-mpi" ] && command -v mpirun >/dev/null 2>&1 || {
    echo "$0: there is no mpirun, or no $build/pipeline-mpi" >&2
    exit 77
}

# took FILE COMMAND...: adds the milliseconds that a run took to out/FILE.
took() {
    file=$1
    shift
    "$@" --format=csv >"$out/run" 2>"$out/err" || {
        echo "$0: $* failed: $(tail -n 1 "$out/err")" >&2
        exit 1
    }
    sed 's/"[^"]*"//g' "$out/run" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["verified"] != "true" { print "not verified"; exit 1 }
        { print $at["time_ms"] }' >>"$out/$file" || {
        echo "$0: $*: a wrong result" >&2
        exit 1
    }
}

ranks() {
    mpirun --bind-to none -n "$count" "$build/pipeline-mpi" -q --gantt=none "$@"
}

case $what in
devices | large | crossing)
    count=${3:-2}
    first=ranks second=process
    list=$(seq -s , 0 $((count - 1)))
    # shellcheck disable=SC2086 # several words
    one_first() { took "$1" ranks -d cuda $2; }
    # shellcheck disable=SC2086
    one_second() { took "$1" "$build/pipeline" -q --gantt=none -d "cuda:$list" $2; }
    ;;
messages)
    count=${3:-2}
    first=messages second=common
    one_first() {
        export PIPELINE_NO_COMMON=1
        # shellcheck disable=SC2086
        took "$1" ranks -d cuda $2
        unset PIPELINE_NO_COMMON
    }
    # shellcheck disable=SC2086
    one_second() { took "$1" ranks -d cuda $2; }
    ;;
share)
    count=${3:-4}
    first=slices second=mps
    "$here/../scripts/mps.sh" start "$out.mps" >"$out/daemon" || exit $?
    pipe=$(sed -n "s/^export CUDA_MPS_PIPE_DIRECTORY='\(.*\)'$/\1/p" "$out/daemon")
    # shellcheck disable=SC2086
    one_first() { took "$1" ranks -d cuda:0 --share=slices $2; }
    one_second() {
        export CUDA_MPS_PIPE_DIRECTORY="$pipe"
        # shellcheck disable=SC2086
        took "$1" ranks -d cuda:0 --share=mps $2
        unset CUDA_MPS_PIPE_DIRECTORY
    }
    ;;
*)
    echo "usage: $0 BUILD devices|large|crossing|messages|share [N]" >&2
    exit 2
    ;;
esac

round=0
while [ $round -lt "$repeats" ]; do
    echo "$settings" | sed '/^$/d' >"$out/settings"
    while IFS=: read -r name options <&3; do
        # shellcheck disable=SC2086 # several words
        one_first "$name.1" "$options"
        # shellcheck disable=SC2086
        one_second "$name.2" "$options"
    done 3<"$out/settings"
    round=$((round + 1))
done

printf '%-17s %10s %10s %8s %8s %8s\n' settings "$first" "$second" ratio least most
while IFS=: read -r name options; do
    paste "$out/$name.1" "$out/$name.2" | awk -v name="$name" '
        function median(list, n,   i, j, t) {
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && list[j] < list[j - 1]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
            return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
        }
        { a[NR] = $1; b[NR] = $2; r[NR] = $1 / $2 }
        END {
            m = median(r, NR)
            printf "%-17s %7.3f ms %7.3f ms %8.3f %8.3f %8.3f\n", name, median(a, NR), median(b, NR), m, r[1], r[NR]
        }'
done <"$out/settings"
