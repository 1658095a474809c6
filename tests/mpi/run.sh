#!/bin/sh
# Ranks that share a run, on simulated devices: results and report are those of one process with as many
# devices, what can't be is refused in one line, and a rank that dies or hangs ends the run with its name
# in a few seconds, and no file.
#
#     tests/mpi/run.sh BUILD-FOLDER
#
# Without mpirun or pipeline-mpi it exits with 77.
set -u
build=$(realpath "${1:?the build folder}")
home=$(realpath "$(dirname "$0")/../..")
command -v mpirun >/dev/null 2>&1 && [ -x "$build/pipeline-mpi" ] || {
    echo "ranks: left out: it needs Open MPI's mpirun, and pipeline-mpi (make mpi)"
    exit 77
}
# Tests may run as root and on fewer cores than there are ranks.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMP_NUM_THREADS=1
export CUDA_VISIBLE_DEVICES= # a GPU that is there is not asked
work=$(mktemp -d "${TMPDIR:-/tmp}/ranks.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=0
failures=0

# check WORDS COMMAND...: the command has to succeed.
check() {
    words=$1
    shift
    checks=$((checks + 1))
    "$@" >/dev/null 2>&1 && return
    failures=$((failures + 1))
    echo "ranks: $words"
    sed 's/^/    /' err | head -n 8
}

# ranks N ARGUMENTS...: the exit code is left in code, words in out and err.
ranks() {
    number=$1
    shift
    timeout 60 mpirun -n "$number" "$build/pipeline-mpi" "$@" >out 2>err </dev/null
    code=$?
}

# Prints a report without what only ranks have.
without_ranks() {
    awk '/"ranks": \[/ { inside = 1 } !inside { print } inside && /^ *\],?$/ { inside = 0 }' "$1" | tr -d ' \n' | sed 's/,}/}/g'
}

# --- the same as one process's --------------------------------------------------------------------
# No rank reaches another one's memory: where that counts, nor does a device of the one process.
sed 's/^\(peer_[a-z_]*bytes_per_s *=\).*/\1 0/' "$home/configs/machines/h200.ini" >apart.ini
check "no machine without peers" grep -q '^peer_bytes_per_s *= 0$' apart.ini
while read -r number arguments; do
    # shellcheck disable=SC2086 # several words
    set -- -q -n 1M --intensity=1 -t 13 --format=json --timeline=t.csv -o o.npy $arguments
    rm -rf many one
    mkdir many one
    case $arguments in *chain* | *stencil*) machine=./apart.ini ;; *) machine=h200 ;; esac
    ranks "$number" -d "sim:$machine" "$@"
    mv out t.csv o.npy many
    "$build/pipeline" -d "sim:$machine*$number" "$@" >one/out
    mv t.csv o.npy one
    check "$number ranks, $arguments: exit code $code" [ "$code" -eq 0 ]
    check "$number ranks, $arguments: not verified" grep -q '"verified": true' many/out
    check "$number ranks, $arguments: another output" cmp many/o.npy one/o.npy
    check "$number ranks, $arguments: another timeline" cmp many/t.csv one/t.csv
    check "$number ranks, $arguments: no ranks" grep -q '"ranks"' many/out
    without_ranks many/out >n.txt
    without_ranks one/out >1.txt
    check "$number ranks, $arguments: another report" cmp n.txt 1.txt
done <<'END'
2 -k scale
4 -k scale --order=breadth --layout=stage
4 -k wave --scatter
2 -k scale,scale,sum --callbacks
4 -k sum --issue=batch --batch=2
2 -w 1
2 -k dgemm -n 256k --rows=512 --inner=64 -t 8
4 -k transpose-fine --columns=1024 -t 16
3 -k scale --share=slices -t 12
4 -k sum --share=mps -w 1
2 -k scan --carry=callback
3 -k scan-exclusive,scan --carry=sync --order=breadth --layout=stage
4 -k scan --carry=callback -s 3 --callbacks
2 -k scan --carry=callback -t 2048
2 -k stencil -t 8 --exchange=host
4 -k stencil -t 16 --halo=2 --steps=7 --hide=no --exchange=host
3 -k scale,scale,scale --spread=chain --callbacks --exchange=host
2 -k scale,wave,sum --spread=chain --order=breadth --layout=stage --exchange=host
3 -k scan,scan-exclusive,scan --carry=callback --spread=chain --exchange=host -t 3
4 -k scale,scale,scale,scale --spread=chain --exchange=host -t 2
END
# What ranks of one host hand on lies in memory of all of them, as do the flags that say so; or it goes by messages where it can't.
mpicc -shared -fPIC -o sends.so "$home/tests/mpi/sends.c" || exit 1
for arguments in "-k scale,scale --spread=chain --exchange=host" "-k scan --carry=callback"; do
    for common in true false; do
        unset PIPELINE_NO_COMMON
        [ $common = true ] || export PIPELINE_NO_COMMON=1
        export LD_PRELOAD="$work/sends.so"
        # shellcheck disable=SC2086 # several words
        ranks 2 -q -n 1M -t 13 -d sim:h200 --format=json $arguments
        unset LD_PRELOAD
        check "common memory $common, $arguments: messages" [ $common != "$(grep -q 'a message' err && echo true || echo false)" ]
        check "common memory $common, $arguments: exit code $code" [ "$code" -eq 0 ]
        check "common memory $common, $arguments: not verified" grep -q '"verified": true' out
        check "common memory $common, $arguments: not said" [ "$(grep -c "\"common_memory\": *$common" out)" -eq 2 ]
    done
done
unset PIPELINE_NO_COMMON
ranks 4 -q -d sim:h200 -n 1M -t 13 -k scale
check "no output: exit code $code" [ "$code" -eq 0 ]
check "no output: not verified by each rank" grep -q 'yes$' out
check "a report for each rank" [ "$(grep -c '^pipeline ' out)" -eq 1 ]
check "no line of ranks" grep -q '4 ranks on ' out
ranks 2 -n 1M -d auto
check "auto: exit code $code" [ "$code" -eq 0 ]
check "auto: not said once" [ "$(grep -c 'each rank simulates' err)" -eq 1 ]
ranks 2 -q -d sim:h200 --no-data -n 1M
check "--no-data: exit code $code" [ "$code" -eq 0 ]
ranks 2 --version
check "--version: exit code $code" [ "$code" -eq 0 ]
check "--version by one rank" [ "$(wc -l <out)" -eq 1 ]
ranks 2 -q -d sim:h200 -n 1M --dry-run
check "--dry-run: exit code $code" [ "$code" -eq 0 ]

# --- clocks that are off -----------------------------------------------------------------------------
for number in 2 4; do
    timeout 60 mpirun -n "$number" "$build/clocks-check" >out 2>err </dev/null
    code=$?
    check "$number clocks: exit code $code: $(cat out)" [ "$code" -eq 0 ]
    check "$number clocks: none" grep -q '^clocks: 0 of ' out
done

# --- refusals: one line, by one rank ----------------------------------------------------------------
# refused CODE WORDS: what ranks or mpirun did just now.
refused() {
    check "$2: exit code $code" [ "$code" -eq "$1" ]
    check "$2: not said" grep -q "^pipeline: .*$2" err
    check "$2: not one line" [ "$(grep -c '^pipeline: ' err)" -eq 1 ]
    check "$2: a report" [ ! -s out ]
}
while IFS='|' read -r number words arguments; do
    # shellcheck disable=SC2086 # several words
    ranks "$number" $arguments
    refused 2 "$words"
done <<'END'
4|each needs a tile|-d sim:h200 -t 3
2|each rank has one device|-d sim:h200*2
2|has 1 device|-d sim:c2050
2|leaves what a scan carries on one|-d sim:h200 -k scan
2|hands on from tile to tile|-d sim:h200 -k scan --carry=callback --share=slices
2|hands on from tile to tile|-d sim:h200 -k stencil --share=mps
2|--spread=chain has|-d sim:h200 -k scale,scale --spread=chain --share=mps
2|each rank has one device|-d sim:h200*2 -k scale,scale --spread=chain
2|--exchange copies into memory|-d sim:h200 -k scale,scale --spread=chain --exchange=peer
2|--exchange copies into memory|-d sim:h200 -k stencil --exchange=peer
2|has fewer than there are devices|-d sim:h200 -k scale --spread=chain
2|--ways=4 has|-d sim:h200 -w 4
2|--pack has|-d sim:h200 --pack
2|--issue=auto chooses|-d sim:h200 --issue=auto
2|issue=graph|-d sim:h200 --issue=graph
2|memory=mapped|-d sim:h200 --memory=mapped
2|--mistake=sync-in-loop is|-d sim:h200 --mistake=sync-in-loop
2|--fix|-d sim:h200 --fix
2|--model|-d sim:h200 --model=sim
2|--emit|-d sim:h200 --emit=-
2|one process|compare -d sim:h200
2|one process|lesson 8
9|8 at most|-d sim:h200
2|--nothing|--nothing
END

# other LEFT RIGHT: two ranks with arguments of their own.
other() {
    # shellcheck disable=SC2086 # several words
    timeout 60 mpirun -n 1 "$build/pipeline-mpi" -d sim:h200 $1 : -n 1 "$build/pipeline-mpi" -d sim:h200 $2 >out 2>err </dev/null
    code=$?
}
other "-t 8" "-t 16"
refused 2 "rank 1: it has --tiles=16, and rank 0 has --tiles=8"
other "-t 8" "-t none"
refused 2 "rank 1: --tiles=none"
other "-t none" "-t 8"
refused 2 "rank 0: --tiles=none"
other "-t 8 --dry-run" "-t 8"
refused 2 "rank 1: it has no --dry-run"
ranks 2 -d sim:h200 -n 1k -t 4 -o no/such/folder.npy
refused 2 "no/such/folder.npy"

# Files of one name, and not the same: other bytes are another array.
mkdir -p a b
head -c 262144 /dev/zero >a/in.f32
head -c 262144 /dev/zero | tr '\0' '\1' >b/in.f32
timeout 60 mpirun -n 1 -wdir "$work/a" "$build/pipeline-mpi" -d sim:h200 -i in.f32 -t 16 : \
    -n 1 -wdir "$work/b" "$build/pipeline-mpi" -d sim:h200 -i in.f32 -t 16 >out 2>err </dev/null
code=$?
refused 1 "rank 1 reads another --input=in.f32"
timeout 60 mpirun -n 1 "$build/pipeline-mpi" -d sim:h200 -n 1M : -n 1 "$build/pipeline-mpi" --version >out 2>err </dev/null
code=$?
refused 2 "rank 1 has another command"
# A rank without the memory that others have is told by its name, whatever they wait for meanwhile.
cat >small.sh <<'END'
#!/bin/sh
ulimit -v "$1"
shift
exec "$@"
END
chmod +x small.sh
for limit in 200000 225000 235000 260000 300000; do
    timeout 30 mpirun -n 1 "$build/pipeline-mpi" -q -d sim:h200 -n 4M -t 16 -k scan --carry=callback : \
        -n 1 ./small.sh $limit "$build/pipeline-mpi" -q -d sim:h200 -n 4M -t 16 -k scan --carry=callback >out 2>err </dev/null
    code=$?
    check "$limit KiB for rank 1: exit code $code" [ "$code" -ne 124 ]
    check "$limit KiB for rank 1: exit code $code" [ "$code" -ne 139 ]
done

# --- the daemon of one's own ----------------------------------------------------------------------------
# In the place of NVIDIA's stands one that does nothing.
mkdir bin
cp "$(command -v sleep)" bin/nvidia-cuda-mps-sleep
cat >bin/nvidia-cuda-mps-control <<'END'
#!/bin/sh
if [ "${1:-}" = -d ]; then
    nvidia-cuda-mps-sleep 60 >/dev/null 2>&1 &
    echo $! >"$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid"
else
    kill "$(cat "$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid")"
fi
END
chmod +x bin/nvidia-cuda-mps-control
mps() {
    PATH="$work/bin:$PATH" "$home/scripts/mps.sh" "$@" >out 2>err
}
check "mps.sh: no daemon is stopped" eval '! mps stop daemon'
check "mps.sh: starts" mps start daemon
check "mps.sh: its lines are a shell's" eval 'eval "$(cat out)" && [ "$CUDA_MPS_PIPE_DIRECTORY" = "$work/daemon/pipe" ]'
check "mps.sh: is there" mps status daemon
check "mps.sh: starts twice" eval '! mps start daemon'
touch daemon/mine
check "mps.sh: stops" mps stop daemon
check "mps.sh: took what it had not made" [ -f daemon/mine ]
check "mps.sh: starts where something lies" eval '! mps start daemon && grep -q "holds something else" err'
check "mps.sh: a name with a quote" eval "! mps start \"it's\""
rm daemon/mine
check "mps.sh: starts again" mps start daemon
check "mps.sh: stops again" mps stop daemon
check "mps.sh: left its folder" [ ! -e daemon ]

# --- a rank that dies, and one that hangs -----------------------------------------------------------
# The process of rank $1 below mpirun, once it has begun to share its run.
rank_pid() {
    for pid in $(pgrep -P "$mpirun"); do
        tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$pid"
    done
}
while read -r signal rank said; do
    rm -f left.csv left.npy
    mpirun -n 3 "$build/pipeline-mpi" -q -d sim:h200 -n 4M --sweep=seed=1..1000 -t 512 --timeline=left.csv \
        >out 2>err </dev/null &
    mpirun=$!
    (sleep 40 && kill -9 "$mpirun") 2>/dev/null & # a hang that does not end is a failure, too
    guard=$!
    sleep 2
    pid=$(rank_pid "$rank")
    begin=$(date +%s)
    checks=$((checks + 1))
    kill -s "$signal" $pid || failures=$((failures + 1))
    wait "$mpirun"
    code=$?
    kill "$guard" 2>/dev/null
    took=$(($(date +%s) - begin))
    check "$signal to rank $rank: exit code $code" [ "$code" -ne 0 ]
    check "$signal to rank $rank: took $took s" [ "$took" -le 5 ]
    check "$signal to rank $rank: not said" grep -q "$said" err
    check "$signal to rank $rank: a file" [ ! -e left.csv ]
    check "$signal to rank $rank: a report" [ ! -s out ]
    check "$signal to rank $rank: something else lies here" [ "$(find . -name '*left*' | wc -l)" -eq 0 ]
done <<'END'
KILL 0 rank 0
KILL 1 rank 1
STOP 0 ^pipeline: rank 0 of 3 does not answer
STOP 2 ^pipeline: rank 2 of 3 does not answer
END

[ "$failures" -eq 0 ] || echo "ranks: $failures of $checks checks failed"
echo "$(((checks - failures) * 100 / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
exit $((failures > 0))
