#!/bin/sh
# mps.sh start|stop|status [FOLDER] - starts and stops an MPS daemon of its own in FOLDER (else $TMPDIR/pipeline-mps-UID),
# so that kernels of several processes run on one GPU at once:
#
#     eval "$(scripts/mps.sh start)"
#     mpirun -n 4 build/pipeline-mpi -d cuda:0 --share=mps
#     scripts/mps.sh stop
#
# `start` prints the two lines that a shell has to set for programs to find the daemon. A daemon that is somebody else's is
# left alone, as is the GPU's compute mode: no setting of the card is changed. Exits with 77 where MPS is not installed.
# The method: NVIDIA, Multi-Process Service, "Starting and stopping MPS on Linux".
set -eu

usage() {
    echo "usage: $0 start|stop|status [FOLDER]" >&2
    exit 2
}

[ $# -ge 1 ] && [ $# -le 2 ] || usage
folder=${2:-${TMPDIR:-/tmp}/pipeline-mps-$(id -u)}
case $folder in
/*) ;;
*) folder=$PWD/$folder ;;
esac
pipe=$folder/pipe
mine=$folder/ours # holds the daemon's process

fail() {
    echo "$0: $1" >&2
    exit 1
}

# A folder that others may write to could hold anybody's pipe.
own_folder() {
    [ -d "$folder" ] && [ ! -L "$folder" ] && [ -O "$folder" ]
}

# Returns true if something lies there that start() did not make.
holds_more() {
    [ -n "$(find "$folder" -mindepth 1 -maxdepth 1 ! -name pipe ! -name log ! -name ours)" ]
}

alive() {
    own_folder && [ -f "$mine" ] && kill -0 "$(cat "$mine")" 2>/dev/null &&
        grep -q nvidia-cuda-mps "/proc/$(cat "$mine")/comm" 2>/dev/null
}

tell() {
    echo "$1" | CUDA_MPS_PIPE_DIRECTORY=$pipe CUDA_MPS_LOG_DIRECTORY=$folder/log nvidia-cuda-mps-control
}

start() {
    ! alive || fail "a daemon runs in $folder already, as process $(cat "$mine"): \`$0 stop $folder\` ends it"
    case ${CUDA_MPS_PIPE_DIRECTORY:-$pipe} in
    "$pipe") ;;
    *) fail "CUDA_MPS_PIPE_DIRECTORY names $CUDA_MPS_PIPE_DIRECTORY, somebody else's daemon: unset it, or use that one" ;;
    esac
    [ ! -e "$folder" ] || own_folder || fail "$folder belongs to somebody else: name another folder"
    [ ! -e "$folder" ] || ! holds_more || fail "$folder holds something else: name an empty folder, or a new one"
    case $folder in *\'*) fail "$folder: the name has a quote, which the lines for a shell can't have" ;; esac
    mkdir -p -m 700 "$folder"
    mkdir -p "$pipe" "$folder/log"
    # The daemon keeps no pipe of this script's open, or whoever reads that would wait for it.
    CUDA_MPS_PIPE_DIRECTORY=$pipe CUDA_MPS_LOG_DIRECTORY=$folder/log nvidia-cuda-mps-control -d >"$folder/log/start" 2>&1 </dev/null ||
        fail "the daemon does not start: $(cat "$folder/log/start" "$folder/log/control.log" 2>/dev/null | tail -n 1)"
    pid=$(cat "$pipe/nvidia-cuda-mps-control.pid" 2>/dev/null) || pid=
    [ -n "$pid" ] || fail "the daemon has not said which process it is: see $folder/log"
    echo "$pid" >"$mine"
    echo "export CUDA_MPS_PIPE_DIRECTORY='$pipe'"
    echo "export CUDA_MPS_LOG_DIRECTORY='$folder/log'"
}

stop() {
    alive || fail "no daemon of ours runs in $folder"
    pid=$(cat "$mine")
    tell quit >/dev/null || fail "the daemon, process $pid, does not answer"
    waited=0
    while kill -0 "$pid" 2>/dev/null && [ $waited -lt 100 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    ! kill -0 "$pid" 2>/dev/null || fail "the daemon, process $pid, still runs after 10 s: programs may use it"
    rm -rf "$pipe" "$folder/log" "$mine"
    rmdir "$folder" 2>/dev/null || true # somebody may have left something there
}

case $1 in
start)
    command -v nvidia-cuda-mps-control >/dev/null 2>&1 || {
        echo "$0: there is no nvidia-cuda-mps-control, which comes with NVIDIA's driver" >&2
        exit 77
    }
    start
    ;;
stop) stop ;;
status)
    if alive; then
        echo "a daemon runs in $folder, as process $(cat "$mine")"
    else
        echo "no daemon of ours runs in $folder"
        exit 1
    fi
    ;;
*) usage ;;
esac
