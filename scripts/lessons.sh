#!/bin/sh
# lessons.sh - runs every lesson, and puts what it reports and its picture on the lesson's page.
#
#     scripts/lessons.sh PROGRAM FOLDER
#
# FOLDER, which may be docs itself, gets a page and a picture for each lesson, lessons/NAME.md and
# lessons/NAME.svg: docs/lessons/NAME.md, of which all above "<!-- end -->" is made anew. It also gets
# lessons.md: docs/lessons.md, with a table of the lessons below each "<!-- lessons FIRST to LAST -->"; and
# the page of sources.
# Sections that name no device run on a simulated H200 or, with DEVICE=cuda in the environment, on the
# first CUDA device. A lesson that fails, or that has no page, is an error.
set -eu

if [ $# -ne 2 ]; then
    echo "usage: [DEVICE=cuda] $0 PROGRAM FOLDER" >&2
    exit 2
fi
program=$(realpath -m "$1")
folder=$(realpath -m "$2")
cd "$(dirname "$0")/.."
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

# Prints the title of the lesson in file $1.
title_of() {
    sed -n "1s/^; .*\.ini - //p" "$1"
}

# Prints the head of the page of lesson $1, whose file is $2.
show() {
    number=$(expr "${1%%-*}" + 0)
    title=$(title_of "$2")
    echo "[All lessons](../lessons.md)"
    echo
    echo "# $number. $title"
    echo
    echo "*$(head_says "$2" Question)*"
    echo
    echo "![$title]($1.svg)"
    echo
    echo '<details><summary>The report, less its causes</summary>'
    echo
    echo '```'
    echo "\$ pipeline --gantt=none $2"
    awk '$0 == "why" { last = ""; exit }
         NR > 1 { print last }
         { sub(/[ \t]+$/, ""); last = $0 }
         END { if (last != "") print last }' "$work/report"
    echo '```'
    echo
    echo '</details>'
}

run() {
    wanted=$(head_says "$2" Exit)
    code=0
    "$program" -q --gantt=none --size=paper --timeline="$work/$1.svg" "$2" >"$work/report" \
        2>"$work/errors" || code=$?
    # On a real GPU a race may end well.
    if [ "$code" != "${wanted:-0}" ] && [ "$code${DEVICE:-}" != 0cuda ]; then
        cat "$work/report" "$work/errors" >&2
        fail "$2: exit code $code, not ${wanted:-0}"
    fi
    mv "$work/$1.svg" "$folder/lessons/$1.svg"
}

mkdir -p "$folder/lessons"
cmp -s docs/lessons/sources.md "$folder/lessons/sources.md" || cp docs/lessons/sources.md "$folder/lessons/"
for file in configs/lessons/*.ini; do
    name=$(basename "$file" .ini)
    page=docs/lessons/$name.md
    [ "$(grep -cx '<!-- end -->' "$page")" = 1 ] || fail "$page should have one <!-- end -->"
    run "$name" "$file"
    { show "$name" "$file" && sed -n '/^<!-- end -->$/,$p' "$page"; } >"$work/page"
    mv "$work/page" "$folder/lessons/$name.md"
    number=$(expr "${name%%-*}" + 0)
    echo "$number | [$number. $(title_of "$file")](lessons/$name.md) |" \
        "$(head_says "$file" Question) | $(head_says "$file" Message) |" >>"$work/rows"
done

awk -v rows="$work/rows" '
    $0 == "<!-- end -->" { skipping = 0 }
    skipping { next }
    { print }
    /^<!-- lessons [0-9]+ to [0-9]+ -->$/ {
        print "| lesson | question | what it shows |\n|---|---|---|"
        while ((getline line < rows) > 0)
            if (line + 0 >= $3 && line + 0 <= $5)
                print substr(line, index(line, "|"))
        close(rows)
        skipping = 1
    }' docs/lessons.md >"$work/index"
mv "$work/index" "$folder/lessons.md"
for made in "$folder"/lessons/[0-9]*; do
    name=$(basename "${made%.*}")
    [ -e "configs/lessons/$name.ini" ] || fail "$made is of no lesson"
    grep -q "^| \[.*](lessons/$name\.md)" "$folder/lessons.md" || fail "docs/lessons.md has no table for $name"
done
