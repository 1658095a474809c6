#!/bin/sh
# lessons.sh - runs every lesson, and puts what it reports and its picture where lessons.md shows them.
#
#     scripts/lessons.sh PROGRAM FOLDER [DATA]
#
# Reads docs/lessons.md. FOLDER, which may be docs itself, gets lessons.md, with all that stands
# between a lesson's marker and the next "<!-- end -->" made anew, and a lessons/NAME.svg for each. The
# folder DATA gets each timeline as NAME.csv.
# Sections that name no device run on a simulated H200 or, with DEVICE=cuda in the environment, on the
# first CUDA device. A lesson that fails, or that lessons.md does not show, is an error; nothing in
# FOLDER has then changed but pictures.
set -eu

if [ $# -ne 2 ] && [ $# -ne 3 ]; then
    echo "usage: [DEVICE=cuda] $0 PROGRAM FOLDER [DATA]" >&2
    exit 2
fi
program=$(realpath -m "$1")
folder=$(realpath -m "$2")
data=${3:+$(realpath -m "$3")}
cd "$(dirname "$0")/.."
text=docs/lessons.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "lessons.sh: $*" >&2
    exit 1
}

case ${DEVICE:-} in
cuda)
    code=0
    "$program" -q --device=cuda --elements=4k --runs=1 --gantt=none >/dev/null || code=$?
    [ "$code" = 0 ] || exit "$code"
    ;;
'') export CUDA_VISIBLE_DEVICES= ;; # a GPU that is there is not asked
*)
    echo "lessons.sh: DEVICE=$DEVICE: allowed is cuda, or none, which is a simulated H200" >&2
    exit 2
    ;;
esac

# Prints the words behind "; KEY: " in a lesson's head.
head_says() {
    sed -n "/^;/!q; s/^; $2: //p" "$1"
}

# Prints the part of lessons.md between the markers of lesson $1, whose file is $2.
show() {
    title=$(sed -n "1s/^; $1\.ini - //p" "$2")
    echo "<a id=\"$1\"></a>"
    echo
    echo "## $(expr "${1%%-*}" + 0). $title"
    echo
    echo "*$(head_says "$2" Question)*"
    echo
    echo "![$title](lessons/$1.svg)"
    echo
    echo '<details><summary>The report</summary>'
    echo
    echo '```'
    echo "\$ pipeline --gantt=none $2"
    sed 's/[[:space:]]*$//' "$work/report"
    echo '```'
    echo
    echo '</details>'
}

run() {
    wanted=$(head_says "$2" Exit)
    code=0
    "$program" -q --gantt=none --size=paper --timeline="$work/$1.svg" \
        ${data:+--timeline="$data/$1.csv"} "$2" >"$work/report" \
        2>"$work/errors" || code=$?
    # On a real GPU a race may end well.
    if [ "$code" != "${wanted:-0}" ] && [ "$code${DEVICE:-}" != 0cuda ]; then
        cat "$work/report" "$work/errors" >&2
        fail "$2: exit code $code, not ${wanted:-0}"
    fi
    mv "$work/$1.svg" "$folder/lessons/$1.svg"
}

mkdir -p "$folder/lessons"
for file in configs/lessons/*.ini; do
    name=$(basename "$file" .ini)
    [ "$(grep -cxF "<!-- lesson $name -->" $text)" = 1 ] || fail "$text should show $name once"
    run "$name" "$file"
    show "$name" "$file" >"$work/$name.part"
    echo "- [$name](#$name): $(head_says "$file" Question)" >>"$work/contents.part"
done

awk -v work="$work" '
    skipping && $0 == "<!-- end -->" { skipping = 0 }
    skipping { next }
    { print }
    $1 == "<!--" && ($2 == "lesson" || $2 == "contents") {
        part = work "/" ($2 == "lesson" ? $3 : $2) ".part"
        shown = 0
        while ((getline line < part) > 0) {
            print line
            shown = 1
        }
        if (!shown) {
            print "lessons.sh: no such lesson: " $0 > "/dev/stderr"
            exit failed = 1
        }
        skipping = 1
    }
    END { if (skipping && !failed) print "lessons.sh: no end of " part > "/dev/stderr"
          exit failed || skipping }
' $text >"$work/lessons.md" || exit 1
mv "$work/lessons.md" "$folder/lessons.md"
for picture in "$folder"/lessons/*.svg; do
    [ -e "configs/lessons/$(basename "$picture" .svg).ini" ] || fail "$picture is of no lesson"
done
