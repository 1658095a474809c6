#!/bin/sh
# run.sh OUT [NAME...] - on a GPU: runs the experiments one after another, all of them or those that are named,
# and writes OUT/NAME.csv for each and OUT/all.csv for all that lie in OUT. `make experiments` builds them into
# build/experiments; BUILD in the environment names another folder than build, and QUICK=yes makes few repeats.
# Exits with 77 where there is no device, and with 1 where an experiment failed; the others run all the same.
set -u

# A name, the program, CUDA_DEVICE_MAX_CONNECTIONS (0: the driver's), and the parts of the program.
experiments="
callback     callback 0
pageable     pageable 0
packing      packing  0
graph        graph    0
l2           l2       0
launch       launch   0
launch-1     launch   1  kernels throughput
launch-32    launch   32 kernels throughput
copies       copies   0
devices      devices  0
handoff      handoff  0
memory-alloc memory   0  alloc
memory-columns memory 0  columns
memory-managed memory 0  managed
share        share    0
tiles-bare   tiles    0  bare batches
tiles-stream tiles    0  streams
tiles-stage  tiles    0  stages
cpu          cpu      0
small-mapped small    0  mapped
small-batch  small    0  batch
small-pack   small    0  pack
small-mixed  small    0  mixed
small-single small    0  single
"
list() {
    echo "$experiments" | awk 'NF'
}

if [ $# -lt 1 ]; then
    echo "usage: $0 OUT [NAME...]; names:$(list | awk '{ printf " %s", $1 }')" >&2
    exit 2
fi
out=$1
shift
build=${BUILD:-build}/experiments
for name in "$@"; do
    if ! list | awk -v name="$name" '$1 == name { found = 1 } END { exit !found }'; then
        echo "$0: there is no experiment \"$name\"; there are:$(list | awk '{ printf " %s", $1 }')" >&2
        exit 2
    fi
done
for program in $(list | awk '{ print $2 }' | sort -u); do
    if [ ! -x "$build/$program" ]; then
        echo "$0: $build/$program is not there: \`make experiments\` builds it" >&2
        exit 2
    fi
done
mkdir -p "$out" || exit 1

failed=0
# shellcheck disable=SC2046 # a word for each name
[ $# -gt 0 ] || set -- $(list | awk '{ print $1 }')
for name in "$@"; do
    # shellcheck disable=SC2046 # a word for each column
    set -- $(list | awk -v name="$name" '$1 == name')
    program=$2
    unset CUDA_DEVICE_MAX_CONNECTIONS
    [ "$3" = 0 ] || export CUDA_DEVICE_MAX_CONNECTIONS="$3"
    shift 3
    # Threads that spin between loops disturb what is timed; where the loops are timed they may.
    case $name in
    cpu | packing | small-pack) unset OMP_WAIT_POLICY ;;
    *) export OMP_WAIT_POLICY=passive ;;
    esac
    begin=$(date +%s)
    timeout 60 "$build/$program" ${QUICK:+--quick} "$@" >"$out/$name.csv.new"
    code=$?
    if [ $code -eq 77 ]; then
        rm -f "$out/$name.csv.new"
        exit 77
    fi
    mv "$out/$name.csv.new" "$out/$name.csv"
    echo "$name: $(grep -vc '^#' "$out/$name.csv") lines in $(($(date +%s) - begin)) s" >&2
    if [ $code -ne 0 ]; then
        echo "$name: failed with code $code (124: it took over 60 s); what it had printed is kept" >&2
        failed=1
    fi
done

# The name of the run stands for the program's, for some run more than once.
{
    echo experiment,variant,parameter,median_us,least_us,most_us
    list | while read -r name _; do
        [ ! -f "$out/$name.csv" ] || awk -F , -v OFS=, -v name="$name" \
            '/^#/ || $1 == "experiment" || NF != 6 { next } { $1 = name; print }' "$out/$name.csv"
    done
} >"$out/all.csv.new" && mv "$out/all.csv.new" "$out/all.csv"
exit $failed
