#!/bin/sh
# judge.sh - whether `pipeline try` finds the races of drawn programs, and none in right ones.
#
#     tests/cpu/judge.sh BUILD SEED [FOLDER]
#
# BUILD is the folder that `pipeline` was built in. draw.py draws 40 programs with a race and 60
# right ones into FOLDER (default: BUILD/races-SEED), which gets what `try` said of each, too.
# Seeds are for looking at what is missed, but for 91149: that one is blind. It was drawn up
# before anything was judged, has kinds of races that no other seed has, and is run once.
#
# A race counts as found where a verdict is missing-wait, which it must be where the runtime names
# a race at once, or where another order of the streams gives another result. Exits with 1 where
# one was missed, or one named in a right program. ORDERS=2 in the environment tries so many other orders, too;
# JOBS=2 judges so many programs at a time.
set -u

if [ $# -lt 2 ]; then
    echo "usage: $0 BUILD SEED [FOLDER]" >&2
    exit 2
fi

# judge.sh --program BUILD PROGRAM.cu says of a program: `race` and what names it, `none`, or
# `failed` where it did not run to its end.
if [ "$1" = --program ]; then
    out=${3%.cu}.out
    timeout 300 "$2/pipeline" try ${ORDERS:+"--orders=$ORDERS"} --format=json "$3" > "$out" 2>&1
    code=$?
    if grep -Eq '"code": ?"missing-wait"' "$out"; then
        echo "race (verdict)"
    elif grep -q '^pipeline: race: ' "$out"; then
        echo "failed, a race at once that the report lacks"
    elif grep -q ' other orders of the streams, .* give another result' "$out"; then
        echo "race (orders)"
    elif [ $code -ne 0 ]; then
        echo "failed, exit $code: $(grep -v '^[]{} ]' "$out" | tail -n 1)"
    else
        echo none
    fi > "${3%.cu}.said"
    exit 0
fi

build=$1
seed=$2
folder=${3:-$build/races-$seed}
here=$(dirname "$0")
mkdir -p "$folder"
python3 "$here/draw.py" "$seed" "$folder" || exit 2
printf '%s\n' "$folder"/race-*.cu "$folder"/right-*.cu |
    xargs -P "${JOBS:-1}" -I '{}' "$0" --program "$build" '{}'

found=0 races=0 false=0 rights=0 failed=0
for program in "$folder"/race-*.cu "$folder"/right-*.cu; do
    said=$(cat "${program%.cu}.said")
    what=$(sed -n '1s,^/\* \(.*\) \*/$,\1,p' "$program")
    case $said in failed*) failed=$((failed + 1)) ;; esac
    case $program in
    */race-*)
        races=$((races + 1))
        case $said in
        race*) found=$((found + 1)) ;;
        *) echo "missed: $program: $said: $what" ;;
        esac
        ;;
    *)
        rights=$((rights + 1))
        case $said in
        race*) false=$((false + 1)) && echo "false: $program: $said: $what" ;;
        failed*) echo "failed: $program: $said: $what" ;;
        esac
        ;;
    esac
done
echo "$found of $races races found, $false named in $rights right programs, $failed programs failed"
[ "$found" -eq "$races" ] && [ "$false" -eq 0 ] && [ "$failed" -eq 0 ]
