#!/bin/sh
# lecture.sh BUILD - makes the lecture, and holds it to what a lecturer counts on: each lesson asks before it answers,
# nothing is too small to read, nothing is fetched from anywhere, the plans take the time that they are named
# for, a slide is a page of paper, and a handout a sheet whose front does not answer. The lessons' pages show what the program prints now.
# Where cmark-gfm isn't there, only that is tested.
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

# The reports are made without data, on which no time depends, but for two lessons that show a result. Whether
# results were checked is then all that differs.
rm -rf "$made"
mkdir -p "$made/pages"
cat >"$made/quick" <<END
#!/bin/sh
case "\$*" in *one-direction* | *missing-wait*) data= ;; *) data=--no-data ;; esac
exec "$build/pipeline" \$data "\$@"
END
chmod +x "$made/quick"
DEVICE='' scripts/lessons.sh "$made/quick" "$made/pages" || exit 1
diff -u docs/lessons.md "$made/pages/lessons.md" || failed=1
for page in docs/lessons/*.md; do
    sed 's/  yes$//' "$page" >"$made/wanted"
    sed 's/  not asked$//;s/  yes$//' "$made/pages/lessons/${page##*/}" | diff -u "$made/wanted" - || failed=1
done
command -v cmark-gfm >/dev/null 2>&1 || { echo "lecture: there is no cmark-gfm: only the lessons' pages are tested" && exit $failed; }

DEVICE='' PDF=no scripts/lecture.sh "$build/pipeline" "$made" 2>"$made/progress" || exit 1
deck=$made/deck.html
book=$made/book.html
lessons=$(find configs/lessons -name '*.ini' | wc -l)
same "lessons counted" "$(grep -c "^lecture: lesson [0-9]* of $lessons: " "$made/progress")" "$lessons"

# place TEXT: the line of the deck that has it.
place() {
    grep -nF -m 1 "$1" "$deck" | cut -d : -f 1
}

for file in configs/lessons/*.ini; do
    name=$(basename "$file" .ini)
    last=0
    for slide in "" -run -guess -answer; do
        at=$(place "<section id=\"$name$slide\"")
        [ "${at:-0}" -gt "$last" ] || fail "slide $name$slide is not where it should be"
        last=$at
    done
    message=$(sed -n 's/^; Message: //p' "$file" | cmark-gfm | sed 's,</*p>,,g')
    [ "$(place "<h2>$message</h2>")" -gt "$at" ] || fail "$name answers before it asks"
    sed -n "/<section id=\"$name-fix\"/,/<\/section>/p" "$deck" | grep -q '<pre>' || fail "$name has no code"
    same "questions of $name" "$(sed -n "/<section id=\"$name-guess\"/,/<\/section>/p" "$deck" | grep -c '<h3>')" \
        "$(grep -c '^; Guess: ' "$file")"
    grep -q '^; Live: [A-Z`]' "$file" || fail "$name does not say what may go wrong live"
    front=$(sed '/<\/section>/q' "$made/handouts/$name.html")
    same "questions of the handout of $name" "$(echo "$front" | grep -c '<h3>')" "$(grep -c '^; Guess: ' "$file")"
    case $front in *"$message"*) fail "the front of the handout of $name answers" ;; esac
    grep -qF "<section id=\"$name\">" "$book" || fail "the book has no lesson $name"
    [ ! -e "$made/lab.html" ] || grep -qF "<a href=\"lab.html#lesson=$name\">" "$deck" || fail "$name is not linked in the lab"
done
slides=$(grep -c '^<section id="' "$deck")
same "headings of slides" "$(grep -cE '<h[12]>' "$deck")" "$slides"
same "notes of slides" "$(grep -c '^<aside><[pt]' "$deck")" "$slides"
[ "$(grep -c '<b></b>' "$deck")" = 0 ] || fail "a guess has no answer"

# No text of a picture is below 24 pixels of a slide, and no style of a slide below 1.5 rem, which is that.
small=$(grep -o 'font-size="[0-9.]*"' "$deck" | awk -F'"' '$2 < 24 { n++ } END { print n + 0, (NR > 0) }')
same "texts below 24 pixels, and whether there are texts" "$small" "0 1"
small=$(grep -oE 'font(-size)?: [0-9.]+rem' docs/deck.css | awk '$2 + 0 < 1.5' | wc -l)
same "styles below 1.5 rem" "$small" 0

# Only links lead elsewhere, and what a page links in itself is there.
for page in "$deck" "$book" "$made"/handouts/*.html; do
    fetched=$(sed -e 's/xmlns[:a-z]*="[^"]*"//g' -e 's/<a href="[^"]*">//g' "$page" |
        grep -nE '(src|href)="[^#]|url\([^#]|@import|<link|<base' | cut -c 1-100)
    [ -z "$fetched" ] || fail "$page: $fetched"
    for place in $(grep -o '<a href="#[^"]*"' "$page" | cut -d '"' -f 2 | sort -u); do
        grep -q "id=\"${place#?}\"" "$page" || fail "$page has no $place"
    done
done

# The plans, and the shortest on paper.
for plan in configs/lectures/*.plan; do
    minutes=$(basename "$plan" .plan)
    same "minutes of $plan" "$(awk '/^[0-9]/ { at += $1 } END { print at }' "$plan")" "$minutes"
    same "lines of $plan that lead to no lesson" "$(grep -vcE '^;|^$|^[0-9]+ (opening|[0-9]{2}-[a-z-]+) [A-Z]' "$plan")" 0
    for name in $(sed -n 's/^[0-9]* \([0-9][^ ]*\).*/\1/p' "$plan"); do
        [ -e "configs/lessons/$name.ini" ] || fail "$plan: there is no lesson $name"
    done
done
scripts/lecture.sh "$build/pipeline" "$made/none" 21 2>/dev/null && fail "there is a plan 21"
DEVICE='' PDF='' scripts/lecture.sh "$build/pipeline" "$made/20" 20 2>/dev/null || exit 1
if command -v weasyprint >/dev/null 2>&1; then
    same "pages of deck.pdf" "$(grep -ac '^/Type /Page$' "$made/20/deck.pdf")" "$(grep -c '^<section id="' "$made/20/deck.html")"
    for page in "$made"/20/handouts/*.pdf; do
        same "pages of $page" "$(grep -ac '^/Type /Page$' "$page")" 2
    done
    [ "$(grep -ac file:// "$made/20/deck.pdf")" = 0 ] || fail "deck.pdf has a path of this machine"
fi

[ $failed = 0 ] && exec tests/browser/run.sh "$build" lecture
exit $failed
