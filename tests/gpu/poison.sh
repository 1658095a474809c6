#!/bin/sh
# What was never written, or came too early, is never said to be verified, whatever the right answer
# is: NaN, infinite, -1. And where such an answer is right, it is verified.
#
#     tests/gpu/poison.sh PROGRAM [DEVICE]
#
# DEVICE is cuda:0 unless it is given. Exits 0, 1 when an answer was wrong, 77 where there is no device.
set -u
program=$(realpath "${1:?the program}")
device=${2:-cuda:0}
work=$(mktemp -d "${TMPDIR:-/tmp}/poison.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
cd "$work" || exit 1
export PIPELINE_NO_RATES=1
faults=0 cases=0

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

# judge EXPECTED ARGUMENT...: `yes`, the result is verified; `no`, it must not be.
judge() {
    expected=$1
    shift
    cases=$((cases + 1))
    "$program" --device="$device" -q --gantt=none --format=json --runs=3 --warmup=1 "$@" >out 2>err
    code=$?
    [ $code -eq 77 ] && { cat err; exit 77; }
    said=no
    grep -q '"verified": true' out && said=yes
    [ $said = yes ] && [ $code -ne 0 ] && said="yes, and exit code $code"
    [ $code -le 1 ] || said="exit code $code"
    [ "$said" = "$expected" ] && return
    faults=$((faults + 1))
    echo "poison: $*: verified: $said; it should be $expected: $(tail -n 1 err)"
}

for input in nan ones infinite mixed huge zero; do
    for kernel in scale wave sum scale,sum finite; do
        judge yes --input=$input.raw --kernel=$kernel
        judge yes --input=$input.raw --kernel=$kernel --layout=stage
        judge no --input=$input.raw --kernel=$kernel --layout=stage --mistake=missing-wait
    done
    judge yes --input=$input.raw --memory=mapped
    judge yes --input=$input.raw --issue=graph
    judge yes --input=$input.raw --ways=4 --cpu-share=0.5
done
for input in minus_one up_down ones zero; do
    for kernel in scan reduce-shuffle reduce-many; do
        judge yes --input=$input.raw --kernel=$kernel
        judge no --input=$input.raw --kernel=$kernel --layout=stage --mistake=missing-wait
    done
done
echo "poison: $cases cases, $faults faults"
[ $faults -eq 0 ]
