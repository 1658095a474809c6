#!/bin/sh
# What was never written, or came too early, is never said to be verified, whatever the right answer
# is: NaN, infinite, -1. And where such an answer is right, it is verified.
#
#     tests/gpu/poison.sh PROGRAM [DEVICE]
#
# DEVICE is cuda:0 unless it is given; JOBS says how many processes run at once (else one for each
# processor). All cases of an input are one process, as starting CUDA takes longest. Exits 0, 1 when
# an answer was wrong, 77 where there is no device.
set -u

# --- one input ------------------------------------------------------------------------------------
# Prints each run's name and what the report says of it: true, false, null.
said() {
    awk -F '"' '$2 == "name" { name = $4 } $2 == "verified" { gsub(/[^a-z]/, "", $3); print name "|" $3 }' "$1"
}

# judge INPUT: runs INPUT.ini. A run whose name begins with "yes" must be verified, and no other may be.
judge() {
    "$program" --device="$device" -q --gantt=none --format=json --runs=3 --warmup=1 --input="$1.raw" "$1.ini" \
        >"$1.out" 2>"$1.err"
    code=$?
    [ $code -le 1 ] || echo "FAULT $1: exit code $code: $(tail -n 1 "$1.err")"
    said "$1.out" >"$1.said"
    sed -n 's/^\[\(.*\)\]$/\1/p' "$1.ini" | while read -r name; do
        verified=$(grep -F "$name|" "$1.said" | cut -d '|' -f 2)
        case "$name|$verified" in
        yes*'|true' | no*'|false' | no*'|null') echo "right $1: $name: verified: $verified" ;;
        *) echo "FAULT $1: $name: verified: ${verified:-nothing is said}; $(tail -n 1 "$1.err")" ;;
        esac
    done
}

if [ "${1:-}" = --judge ]; then
    judge "$2"
    exit 0
fi

# --- the inputs -----------------------------------------------------------------------------------
program=$(realpath "${1:?the program}")
device=${2:-cuda:0}
here=$(realpath "$0")
work=$(mktemp -d "${TMPDIR:-/tmp}/poison.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
cd "$work" || exit 1
export PIPELINE_NO_RATES=1 program device
"$program" --device="$device" -q -n 64k -t 2 --gantt=none >first 2>&1
[ $? -ne 77 ] || { cat first; exit 77; }

# numbers FILE WORD...: a MiB of these 32-bit words, given as four octal escapes each.
numbers() {
    file=$1
    shift
    # shellcheck disable=SC2059 # the words are the format: escapes
    printf "$(printf '%s' "$@")" >"$file"
    while [ "$(wc -c <"$file")" -lt 1048576 ]; do
        cat "$file" "$file" >twice && mv twice "$file"
    done
}
nan='\000\000\300\177' all_ones='\377\377\377\377' infinite='\000\000\200\177' minus_infinite='\000\000\200\377'
huge='\377\377\177\177' minus_one=$all_ones zero='\000\000\000\000' one='\001\000\000\000'
numbers nan.raw "$nan"
numbers ones.raw "$all_ones"
numbers infinite.raw "$infinite"
numbers mixed.raw "$infinite" "$minus_infinite"
numbers huge.raw "$huge"
numbers zero.raw "$zero"
numbers up_down.raw "$one" "$minus_one"
printf '%b' "$minus_one" | cat - zero.raw | head -c 1048576 >minus_one.raw

# run NAME SETTING...: adds a run to $ini.
run() {
    printf '[%s]\n' "$1" >>"$ini"
    shift
    printf '%s\n' "$@" >>"$ini"
}

for input in nan ones infinite mixed huge zero; do
    ini=$input.ini
    for kernel in scale wave sum scale,sum finite; do
        run "yes $kernel" kernel=$kernel
        run "yes $kernel by stages" kernel=$kernel layout=stage
        run "no $kernel" kernel=$kernel layout=stage mistake=missing-wait
    done
    run "yes mapped" memory=mapped
    run "yes graph" issue=graph
    run "yes with the CPU" ways=4 cpu-share=0.5
done
for input in minus_one up_down ones zero; do
    ini=$input.ini
    for kernel in scan reduce-shuffle reduce-many; do
        run "yes $kernel" kernel=$kernel
        run "no $kernel" kernel=$kernel layout=stage mistake=missing-wait
    done
done

for ini in *.ini; do echo "${ini%.ini}"; done | xargs -P "${JOBS:-$(nproc)}" -n 1 "$here" --judge | tee results
faults=$(grep -c '^FAULT' results)
echo "poison: $(grep -c '^right' results) cases as they should be, $faults faults"
[ "$faults" -eq 0 ]
