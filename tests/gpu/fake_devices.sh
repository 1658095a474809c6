#!/bin/sh
# Several devices without a GPU: the program on tests/gpu/fake_runtime.c, which judges whether every
# call was made for the right device. Results are right, times are of every op and device, what can't be
# is refused in one line, and whichever call fails, files stay as they were and nothing is left behind.
#
#     tests/gpu/fake_devices.sh BUILD-FOLDER
#
# FAILING=N makes each N-th call fail (97; 1: every one, which takes long).
set -u
build=$(realpath "${1:?the build folder}")
every=${FAILING:-97}
export LD_LIBRARY_PATH="$build/tests/fake" PIPELINE_NO_RATES=1 OMP_NUM_THREADS=1
work=$(mktemp -d "${TMPDIR:-/tmp}/fake.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

fault() {
    echo "fake devices: $*"
    sed 's/^/    /' err | head -n 5
    failed=1
}

# run VARIABLES... -- ARGUMENTS...: the exit code is left in code, words in out and err.
run() {
    variables=
    while [ "$1" != -- ]; do variables="$variables $1"; shift; done
    shift
    # shellcheck disable=SC2086 # several words
    env $variables "$build/pipeline-fake" "$@" >out 2>err </dev/null
    code=$?
    if { grep -q '^fake: left' err && [ "$code" -ne 1 ]; } || grep '^fake:' err | grep -qv '^fake: left'; then
        fault "$*:"
    fi
}

# --- right results, and a span of each op -----------------------------------------------------------
# By CUPTI's records, whose streams have the same numbers on all devices, and by events.
while read -r arguments; do
    arguments=$(echo "$arguments" | sed "s,OWN/,$build/tests/own/,g")
    for source in CUPTI=1 PIPELINE_NO_CUPTI=1; do
        # shellcheck disable=SC2086 # several words
        run $source FAKE_DEVICES=3 -- -q -d cuda:2,0,1 --intensity=1 -n 64k -t 13 --runs=1 --gantt=none \
            --format=json --timeline=t.csv $arguments
        { [ "$code" -eq 0 ] && grep -q '"verified": true' out; } || fault "$source $arguments: exit code $code"
        case $source$arguments in
        *NO_CUPTI* | */own/*) ;; # the runtime sees no launch that is a library's own
        *) grep -q '"timing": "cupti"' out || fault "$arguments: no times by CUPTI" ;;
        esac
        grep -q '^#   devices: 3' t.csv || fault "$arguments: not of 3 devices"
        # Tile t is the work of device t mod 3, and none ends before it starts.
        case $arguments in *cpu-share* | *batch* | *pack* | *auto* | *chain* | *stencil*) continue ;; esac
        awk -F, '$3 == "kernel" { n++; bad += $NF != $5 % 3 || $12 < $11 } END { exit bad || n < 3 }' t.csv ||
            fault "$source $arguments: a kernel's device or time is wrong"
    done
done <<'END'
-k scale
-k scale --order=breadth
-k scale,scale,sum --order=breadth
-k wave --layout=stage
-k sum --layout=stage --order=breadth --callbacks
-w 1
-w 2 -s 3
-w 4 --cpu-share=0.4
--memory=pageable
--memory=registered --priorities=0,-1
--callbacks --scatter
--issue=batch -t 200
--issue=batch -t 200 --scatter
--pack -t 200
--copy=2d --tile-width=16 -t 128
--copy=rows --tile-width=16 -t 128 -k wave --order=breadth
--copy=2d --tile-width=8 -t 128 --pack
--issue=auto --machine=h200
--tiles=auto --streams=auto --machine=h200
-k OWN/SOFT.so --callbacks
-k scale,OWN/SOFT.so,sum --issue=batch --batch=2
-k scan-exclusive --carry=callback
-k scan-exclusive --carry=sync -w 2
-t 3
--spread=chain -k scale,scale,sum
--spread=chain -k scale,scale,scale,scale --exchange=host --order=breadth --callbacks
--spread=chain -k wave,scale,scale --layout=stage --scatter
--spread=chain -k scan,scan,scan-exclusive --carry=callback
--spread=chain -k scale,scale,scale --ways=4 --cpu-share=0.3
-k stencil --columns=64 -t 16 --halo=2 --steps=1
-k stencil --columns=64 -t 16 --halo=3 --steps=7
-k stencil --columns=64 -t 16 --halo=3 --steps=7 --hide=no
END

# --- kernels of users' own: launchers on their own, and those that have no twin -----------------------
# library|exit code|words. There are no graphs on the runtime that stands for CUDA's.
while IFS='|' read -r library wanted words; do
    run FAKE_DEVICES=1 -- kernel check "$build/tests/own/$library.so"
    [ "$code" -eq "$wanted" ] || fault "kernel check $library: exit code $code, not $wanted"
    cat err >>out
    grep -qF -e "$words" out || fault "kernel check $library: not '$words'"
done <<'END'
SOFT|1|ok         launcher  204 trials
SOFT|1|: 1 of 27 tries went wrong
BLIND|1|: 1 of 24 tries went wrong
BLIND|1|not tried  twin      it has none
BLINDSUM|1|: 1 of 22 tries went wrong
BLINDSUM|1|ok         run       -n 1009 -t 1009 --streams=8
BLINDPLACE|1|where it itself, in pieces of 509 elements, gives
STRAY|1|WRONG      launcher  with 1 element: writes outside its output: 8 bytes behind it
ODD|1|WRONG      launcher  with 33 elements: gives
FAILING|1|with 1 element: returns an error (cudaErrorFake
AXPY|0|tried on sim:h200
END
for library in BLIND BLINDSUM scale,BLIND,scale; do
    run FAKE_DEVICES=2 -- -q -d cuda:1 -n 64k -t 13 --intensity=1 --runs=2 --gantt=none --format=json \
        -k "$(echo $library | sed "s,BLIND[A-Z]*,$build/tests/own/&.so,")"
    { [ "$code" -eq 0 ] && grep -q '"verified": true' out; } || fault "$library: exit code $code"
done
run FAKE_DEVICES=1 -- -q -d cuda:0 -n 64k -t 13 --runs=1 -k "$build/tests/own/BLINDPLACE.so"
{ [ "$code" -eq 1 ] && grep -q 'wrong result: tile 1, element 0' err; } || fault "BLINDPLACE: exit code $code"
run FAKE_DEVICES=1 -- -q -d cuda:0 -n 64k -w 4 --runs=1 -k "$build/tests/own/BLIND.so"
{ [ "$code" -eq 2 ] && grep -q 'no CPU can do its share' err; } || fault "BLIND -w 4: exit code $code"
run FAKE_DEVICES=1 -- -q -d cuda:0 -n 64k -t 13 --runs=1 -k "$build/tests/own/BLIND.so,sum"
{ [ "$code" -eq 2 ] && grep -q 'or run it without sum' err; } || fault "BLIND,sum: exit code $code"

# Whom a tile goes to, and by which way: as peers, unless they can't be.
for peers in 0 1; do
    run FAKE_DEVICES=3 FAKE_PEERS=$peers -- -q -d cuda:2,0,1 --spread=chain -k scale,scale,scale -n 64k -t 13 --intensity=1 \
        --runs=1 --gantt=none --timeline=t.csv
    [ "$code" -eq 0 ] || fault "a chain, peers $peers: exit code $code"
    copies=$(grep -c ',peer,' t.csv)
    [ "$copies" -eq $((26 * peers)) ] || fault "a chain, peers $peers: $copies copies from device to device"
done
run -- -q -d cuda:0,1 -k dgemm -n 64k --rows=256 --inner=64 -t 16 --runs=1 --gantt=none
[ "$code" -eq 0 ] || grep -q libopenblas err || fault "dgemm: exit code $code"

run FAKE_DEVICES=3 -- -q -d cuda:all -n 64k --intensity=1 --runs=1 --gantt=none
grep -q 'measured, 3 x FAKE' out || fault "cuda:all is not 3 devices"
run FAKE_DEVICES=1 -- -q -d cuda:all -n 64k --intensity=1 --runs=1 --gantt=none
grep -q 'measured, FAKE' out || fault "cuda:all is not one device"
run FAKE_MODELS=ONE,OTHER -- -q -d cuda:1,0 -n 64k --intensity=1 --runs=1 --gantt=none
grep -q 'measured, OTHER + ONE' out || fault "two models are not both named"
printf '[global]\nelements = 64k\nintensity = 1\n[two]\ndevice = cuda:0,1\n[one]\ndevice = cuda:1\n' >two.ini
run -- -q two.ini --gantt=none --runs=1
[ "$code" -eq 0 ] || fault "two.ini: exit code $code"
run -- -q -n 64k --intensity=1 --gantt=none --runs=1 --sweep=device=cuda:0,cuda:0,1,sim:h200
{ [ "$code" -eq 0 ] && grep -q 'cuda:0,1' out; } || fault "a sweep of devices: exit code $code"
run -- -q -d cuda:1,0 -n 64k --intensity=1 --profile --gantt=none
[ "$code" -eq 0 ] || fault "--profile: exit code $code"

# Managed memory is taken, moved and given back as it has to be, and callbacks read results there.
for more in "" "--prefetch" "--prefetch -k wave --layout=stage" "--prefetch -k sum --callbacks -w 2" "--prefetch -w 4 --cpu-share=0.4"; do
    # shellcheck disable=SC2086 # several words
    run -- -q -d cuda:1 -n 64k -t 13 --intensity=1 --runs=2 --gantt=none --format=json --memory=managed $more
    { [ "$code" -eq 0 ] && grep -q '"verified": true' out; } || fault "--memory=managed $more: exit code $code"
    grep -q '"timing": "events"' out || fault "--memory=managed $more: not timed by events"
    grep -q '"result": null' out && [ "$more" != "${more#*callbacks}" ] && fault "--memory=managed $more: no result"
done

# --- refusals ----------------------------------------------------------------------------------------
# exit code|variable|words|arguments
while IFS='|' read -r wanted variable words arguments; do
    echo old >o.npy
    # shellcheck disable=SC2086 # several words
    run "$variable" -- -q -n 64k --intensity=1 -o o.npy $arguments
    [ "$code" -eq "$wanted" ] || fault "$arguments: exit code $code, not $wanted"
    { [ "$(grep -vc '^fake: left' err)" -eq 1 ] && grep -qF -e "$words" err; } || fault "$arguments: not '$words'"
    [ "$(cat o.npy)" = old ] || fault "$arguments: the output is not as it was"
done <<'END'
2|A=1|twice|-d cuda:0,0
2|A=1|twice|-d cuda:1,01
2|A=1|has an empty item|-d cuda:0,,1
2|A=1|has an empty item|-d cuda:,
2|A=1|has an empty item|-d cuda:0,
2|A=1|is unknown|-d cuda:0,all
2|A=1|more devices than a run|-d cuda:0,1,2,3,4,5,6,7,8
2|FAKE_DEVICES=9|allowed are 8 at once|-d cuda:all
77|A=1|no cuda:5: there are 2 CUDA devices, cuda:0 to cuda:1|-d cuda:0,5
77|FAKE_DEVICES=1|no cuda:1: there is one CUDA device, cuda:0|-d cuda:0,1
77|FAKE_DEVICES=0|there is none|-d cuda:all
77|FAKE_DEVICES=0|there is none|-d cuda:0,1
2|FAKE_DEVICES=3|more devices than there are tiles|-d cuda:0,1,2 -t 2
2|FAKE_DEVICES=3|more devices than there are tiles|-d cuda:all -t 2
2|A=1|--issue=graph|-d cuda:0,1 --issue=graph
2|A=1|issue=graph is for one|-d cuda:all --issue=graph
2|A=1|--memory=mapped|-d cuda:0,1 --memory=mapped
2|A=1|--memory=managed|-d cuda:0,1 --memory=managed
2|FAKE_BYTES=1073741824|a quarter|-d cuda:0 --memory=managed --prefetch -n 64M
2|A=1|--mistake=sync-in-loop|-d cuda:0,1 --mistake=sync-in-loop
2|A=1|carry=device|-d cuda:0,1 -k scan
2|A=1|carry=device|-d cuda:all -k scan
1|FAKE_BYTES=4294967296,134217728|on cuda:1 and 128 MiB are free|-d cuda:0,1 -n 128M -t 2
1|FAKE_LOSE=1:2|on cuda:1|-d cuda:0,1
1|FAKE_LOSE=1:2|on cuda:1|-d cuda:0,1 --spread=chain -k scale,scale
2|FAKE_PEERS=0|can't reach each other's memory|-d cuda:0,1 --spread=chain -k scale,scale --exchange=peer
2|FAKE_PEERS=0|can't reach each other's memory|-d cuda:0,1 -k stencil --columns=64 -t 16 --steps=2
END

# --- every call fails ---------------------------------------------------------------------------------
# Clean-up only warns, so a run may still end well.
fails() {
    run FAKE_TOLD=told -- "$@"
    read -r calls _ <told
    call=1
    while [ "$call" -le "$calls" ]; do
        rm -f t.csv
        run FAKE_TOLD=told "FAKE_FAIL=$call" -- "$@"
        read -r _ name <told
        case $code in
        0) grep -q 'warning: ' err || grep -q '"timing": "events"' out || [ "$name" = cudaGetDeviceProperties ] ||
            fault "call $call, $name, failed unseen: $*" ;;
        1) grep -q '^pipeline: .*cuda[A-Z][A-Za-z]* .*failed\|^pipeline: .*cuda[A-Z][A-Za-z]* failed\|workspace' err ||
            fault "call $call, $name: $*"
            [ ! -e t.csv ] || fault "call $call, $name: a file was left: $*" ;;
        *) fault "call $call, $name: exit code $code: $*" ;;
        esac
        grep -q '^fake: left' err && ! grep -q 'warning: ' err && fault "call $call, $name: $*"
        call=$((call + every))
    done
}
usual="-q -n 16k -t 4 -s 2 --intensity=1 --runs=1 --warmup=0 --gantt=none --format=json --timeline=t.csv"
# shellcheck disable=SC2086 # several words
for more in "" "--issue=batch --scatter" "-k scan-exclusive --carry=callback" "--ways=4 --cpu-share=0.5" \
    "--spread=chain -k scale,scale" "-k stencil --columns=64 --steps=2"; do
    fails -d cuda:1,0 $usual $more
done

# shellcheck disable=SC2086 # several words
fails -d cuda:1 $usual --memory=managed --prefetch

# --- what is chosen is tried, and a program is for the device that was named --------------------------
run FAKE_DEVICES=3 -- -d cuda:2 -n 64k --intensity=1 --runs=1 --gantt=none --machine=h200 --tiles=auto --streams=auto
{ [ "$code" -eq 0 ] && grep -q 'note: of [0-9]* settings run on the device' err; } || fault "nothing was tried"
for device in cuda:2 cuda:2,1; do
    run FAKE_DEVICES=3 -- -q -d $device -n 64k --emit=-
    { [ "$code" -eq 0 ] && grep -A 1 'int main() {' out | grep -q 'cudaSetDevice(2)'; } || fault "--emit: $device:"
done

# --- ranks, each with a device --------------------------------------------------------------------------
# ranks N VARIABLES... -- ARGUMENTS...: as run, but with ranks.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
ranks() {
    number=$1
    shift
    variables=
    while [ "$1" != -- ]; do variables="$variables $1"; shift; done
    shift
    # shellcheck disable=SC2086 # several words
    env $variables timeout 60 mpirun -n "$number" "$build/pipeline-mpi-fake" "$@" >out 2>err </dev/null
    code=$?
}

share() {
    while read -r number arguments; do
        for source in CUPTI=1 PIPELINE_NO_CUPTI=1; do
            rm -f t.csv
            # shellcheck disable=SC2086 # several words
            ranks "$number" $source FAKE_DEVICES=3 -- -q --intensity=1 -n 64k -t 13 --runs=2 --gantt=none \
                --format=json --timeline=t.csv $arguments
            { [ "$code" -eq 0 ] && grep -q '"verified": true' out; } || fault "ranks: $source $arguments: exit code $code"
            grep -q '"clock_error_ns": *[0-9]' out || fault "ranks: $source $arguments: clocks are not compared"
            grep -q '^#   devices: '"$number" t.csv || fault "ranks: $arguments: not of $number devices"
            case $arguments in *batch* | *chain* | *stencil*) continue ;; esac
            awk -F, -v n="$number" '$3 == "kernel" { k++; bad += $NF != $5 % n || $12 < $11 || $11 < $10 || $10 < 0 }
                END { exit bad || k < 13 }' t.csv || fault "ranks: $source $arguments: a kernel's device or time is wrong"
        done
    done <<'END'
2 -d cuda -k scale
3 -d cuda:2,0,1 -k scale,sum --layout=stage --callbacks
2 -d auto -k wave --scatter --order=breadth
3 -d cuda:all -k scale --issue=batch --batch=2 -o o.npy
2 -d cuda -k scan --carry=callback
3 -d cuda -k scan-exclusive,scan --carry=sync --order=breadth --layout=stage
2 -d cuda -k stencil -t 8
3 -d cuda -k stencil --hide=no --halo=2 -t 8
3 -d cuda -k scale,scale,scale --spread=chain --callbacks
2 -d cuda -k scale,scale,sum --spread=chain --order=breadth --layout=stage
END
    while IFS='|' read -r expected number variables words arguments; do
        # shellcheck disable=SC2086 # several words
        ranks "$number" $variables -- -n 64k --intensity=1 $arguments
        [ "$code" -eq "$expected" ] || fault "ranks: $arguments: exit code $code"
        grep -q "^pipeline: .*$words" err || fault "ranks: $arguments: not said: $words"
        [ "$(grep -c '^pipeline: ' err)" -eq 1 ] || fault "ranks: $arguments: not one line"
    done <<'END'
77|3|FAKE_DEVICES=2|rank 2: .*there are 2 CUDA devices|-d cuda
77|2|FAKE_DEVICES=0|there is none|-d cuda
2|2|A=1|one number for each rank|-d cuda:0
2|2|FAKE_DEVICES=3|one number for each rank|-d cuda:0,1,2
1|2|FAKE_LOSE=1:2|rank 1: |-d cuda
END
    # Whichever call of one rank fails, all end, in one line.
    usual="-q -n 16k -t 4 -s 2 --intensity=1 --runs=1 --warmup=0 --gantt=none --format=json --timeline=t.csv -d cuda"
    fail_ranks
    usual="$usual -k scan --carry=callback"
    fail_ranks
}

fail_ranks() {
    # shellcheck disable=SC2086 # several words
    ranks 2 FAKE_TOLD=told -- $usual
    read -r calls _ <told
    call=1
    while [ "$call" -le "$calls" ]; do
        rm -f t.csv
        # shellcheck disable=SC2086 # several words
        timeout 60 mpirun -n 1 "$build/pipeline-mpi-fake" $usual : \
            -n 1 env FAKE_FAIL="$call" "$build/pipeline-mpi-fake" $usual >out 2>err </dev/null
        code=$?
        case $code in
        0) ;;
        1) { grep -q '^pipeline: rank 1: ' err && [ ! -e t.csv ] && [ ! -s out ]; } || fault "ranks: call $call: not said, or a file" ;;
        *) fault "ranks: call $call of rank 1: exit code $code" ;;
        esac
        call=$((call + every / 2))
    done
}
if command -v mpirun >/dev/null 2>&1 && [ -x "$build/pipeline-mpi-fake" ]; then share; else echo "fake devices: without ranks"; fi

if [ $failed -eq 0 ]; then echo "fake devices: passed"; else echo "fake devices: FAILED"; fi
exit $failed
