#!/bin/sh
# lecture.sh BUILD - makes the lecture, and holds it to what a lecturer counts on: every lesson and every run
# of it is on a slide, nothing is too small to read, nothing is fetched from anywhere, and the PDF has a page for
# each step. The lessons' pages that come with it are, word for word, those of docs. Where weasyprint or
# cmark-gfm isn't there, only that is tested.
set -u
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.." || exit 1
made=$build/lecture
failed=0

fail() {
    echo "lecture: $*" >&2
    failed=1
}

# same WHAT HAVE WANTED
same() {
    [ "$2" = "$3" ] || fail "$1: $2, not $3"
}

same_pages() {
    diff -u docs/lessons.md "$made/lessons.md" && diff -ux '*.svg' docs/lessons "$made/lessons" || failed=1
}

mkdir -p "$made"
whole=yes
for tool in weasyprint cmark-gfm; do
    command -v $tool >/dev/null 2>&1 || { echo "lecture: there is no $tool: only the lessons are tested" && whole=; }
done
if [ -z "$whole" ]; then
    DEVICE='' scripts/lessons.sh "$build/pipeline" "$made" || exit 1
    same_pages
    exit $failed
fi
DEVICE='' scripts/lecture.sh "$build/pipeline" "$made" || exit 1
same_pages
deck=$made/deck.html
book=$made/book.html

# The slides of a lesson are found by the command on them; each of its runs but a slide's first has a veil.
contents=3
slides=$((1 + contents))
runs=0
for file in configs/lessons/*.ini; do
    number=$(expr "$(basename "$file" | cut -c 1-2)" + 0)
    of_lesson=$(grep -c "^<footer><code>pipeline lesson $number</code>" "$deck")
    of_runs=$(grep -c '^\[' "$file")
    grep -q '^\[global\]' "$file" && of_runs=$((of_runs - 1))
    [ "$of_lesson" = 1 ] || [ "$of_lesson" = 2 ] || fail "lesson $number has $of_lesson slides"
    slides=$((slides + of_lesson))
    runs=$((runs + of_runs))
    grep -qF "<section id=\"$(basename "$file" .ini)\">" "$book" || fail "the book has no lesson $number"
done
veils=$(grep -c '^<i class="veil"' "$deck")
same slides "$(grep -c '^<section id="[0-9]*"' "$deck")" "$slides"
same "headings of slides" "$(grep -cE '<h[12]>' "$deck")" "$slides"
same "runs on slides" "$((veils + slides - 1 - contents))" "$runs"
same "pictures with names" "$(grep -c '^<figure .*aria-label="Timeline, simulated, ' "$deck")" "$((slides - contents))"
same "notes of slides" "$(grep -c '^<aside' "$deck")" "$((slides - contents))"
same "pages of deck.pdf" "$(grep -ac '^/Type /Page$' "$made/deck.pdf")" "$((slides + veils))"

if [ -e "$made/lab.html" ]; then
    for file in configs/lessons/*.ini; do
        grep -qF "<a href=\"lab.html#lesson=$(basename "$file" .ini)\">" "$deck" || fail "$file is not linked in the lab"
    done
fi
[ "$(grep -ac file:// "$made/deck.pdf")" = 0 ] || fail "deck.pdf has a path of this machine"

# No text of a picture is below 24 pixels of a slide, and no style of a slide below 1.5 rem, which is that.
small=$(grep -o 'font-size="[0-9.]*"' "$deck" | awk -F'"' '$2 < 24 { n++ } END { print n + 0, (NR > 0) }')
same "texts below 24 pixels, and whether there are texts" "$small" "0 1"
small=$(grep -oE 'font(-size)?: [0-9.]+rem' docs/deck.css | awk '$2 + 0 < 1.5' | wc -l)
same "styles below 1.5 rem" "$small" 0

# Only links lead elsewhere.
for page in "$deck" "$book"; do
    fetched=$(sed -e 's/xmlns[:a-z]*="[^"]*"//g' -e 's/<a href="[^"]*">//g' "$page" |
        grep -nE '(src|href)="[^#]|url\([^#]|@import|<link|<base' | cut -c 1-100)
    [ -z "$fetched" ] || fail "$page: $fetched"
done

# Every place that a page links in itself is there.
for page in "$deck" "$book"; do
    for place in $(grep -o '<a href="#[^"]*"' "$page" | cut -d '"' -f 2 | sort -u); do
        grep -q "id=\"${place#?}\"" "$page" || fail "$page has no $place"
    done
done

[ $failed = 0 ] && exec tests/browser/run.sh "$build" lecture
exit $failed
