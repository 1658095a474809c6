#!/bin/sh
# lecture.sh - lessons as slides, as handouts and as a book.
#
#     [DEVICE=cuda] [PDF=yes|no] scripts/lecture.sh PROGRAM FOLDER [PLAN]
#
# FOLDER gets deck.html, the slides; handouts/NAME.html, a sheet of paper per lesson; book.html, the lessons'
# pages in one; and lab.html where the program has the lab. The slides and handouts are of the lessons of
# PLAN (configs/lectures/PLAN.plan), or of all. The pages need no network and no other file. Next to each comes
# a PDF where weasyprint is there, and with PDF=yes it has to be; PDF=no makes none.
# Needs cmark-gfm and gnuplot.
set -eu

if [ $# -ne 2 ] && [ $# -ne 3 ]; then
    echo "usage: [DEVICE=cuda] [PDF=yes|no] $0 PROGRAM FOLDER [PLAN]" >&2
    exit 2
fi
program=$1
folder=$2
plan=${3:-}
here=$(dirname "$0")
docs=$here/../docs
configs=$here/../configs
pages=$docs # with what the lessons report
case $plan in
*[!A-Za-z0-9._-]*) named= ;;
*) named=$configs/lectures/$plan.plan ;;
esac
if [ -n "$plan" ] && { [ -z "$named" ] || [ ! -e "$named" ]; }; then
    echo "lecture.sh: there is no plan $plan: allowed is" "$(cd "$configs/lectures" && echo *.plan | sed "s/[.]plan//g")" >&2
    exit 2
fi
case ${PDF:-} in
yes) tools="cmark-gfm gnuplot weasyprint" ;;
no) tools="cmark-gfm gnuplot" ;;
*) tools="cmark-gfm gnuplot" && PDF=$(command -v weasyprint >/dev/null 2>&1 && echo yes || echo no) ;;
esac
for tool in $tools; do
    command -v $tool >/dev/null 2>&1 || {
        echo "lecture.sh: there is no $tool: apt-get install cmark-gfm gnuplot-nox weasyprint" >&2
        exit 1
    }
done
tab=$(printf '\t')
opening="1-tile 2-stream 3-limit"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=lecture_runs.sh
. "$here/lecture_runs.sh"
# shellcheck source=lecture_slides.sh
. "$here/lecture_slides.sh"
# shellcheck source=lecture_paper.sh
. "$here/lecture_paper.sh"

title="Why streams overlap, and why they don't"
mkdir -p "$folder/handouts"
if [ "${DEVICE:-}" = cuda ]; then
    pages=$work/pages
    "$here/lessons.sh" "$program" "$pages"
else
    export CUDA_VISIBLE_DEVICES=
fi
if [ -z "$plan" ]; then
    named=$work/all.plan
    { echo "; all - The lessons" && echo "0 opening" && (cd "$configs/lessons" && ls) | sed 's/^\(.*\)\.ini$/0 \1/'; } >"$named"
fi
topic=$(sed -n '1s/^; [^ ]* - //p' "$named")

# The plan as a line for each part, "Minute 0 to 4" if it takes any time, its name and its transition; and its lessons.
(cd "$configs/lessons" && ls) | awk -v plan="$plan" -v OFS='\t' -v parts="$work/plan" -v lessons="$work/lessons" '
    FNR == NR { sub(/[.]ini$/, ""); is_lesson[$0] = 1; next }
    /^;/ || NF == 0 { next }
    $1 !~ /^[0-9]+$/ || NF < 2 { fault = "is no line of MINUTES LESSON WORDS" }
    !fault && $2 != "opening" && !($2 in is_lesson) { fault = "there is no lesson " $2 }
    !fault && had[$2]++ { fault = $2 " is there twice" }
    fault { print "lecture.sh: " plan ".plan:" FNR ": " fault; exit }
    {
        minutes = $1
        name = $2
        $1 = $2 = ""
        sub(/^\t+/, "")
        gsub(/\t/, " ")
        print (minutes > 0 ? "Minute " at + 0 " to " at + minutes : " "), name, $0 >parts
        at += minutes
        if (name != "opening")
            print name >lessons
        found += name != "opening"
    }
    END { if (!fault && !found) print "lecture.sh: " plan ".plan has no lesson" }
' - "$named" >"$work/faults"
if [ -s "$work/faults" ]; then
    cat "$work/faults" >&2
    exit 1
fi
lessons=$(($(wc -l <"$work/lessons")))
rm -f "$folder/lab.html"
"$program" lab -o "$folder/lab.html" || echo "lecture: slides have no links to the lab (make lab)"
deck >"$folder/deck.html"
while read -r name; do
    handout "$name" >"$folder/handouts/$name.html"
done <"$work/lessons"
book >"$folder/book.html"
if [ "$PDF" = yes ]; then
    for page in "$folder"/handouts/*.html "$folder/book.html" "$folder/deck.html"; do
        echo "lecture: ${page%html}pdf" >&2
        sed 's,<a href="lab[^>]*>[^<]*</a>,,g' "$page" >"$work/print.html"
        weasyprint -q -p "$work/print.html" "${page%html}pdf"
    done
fi
echo "lecture: $folder/deck.html $folder/book.html $folder/handouts"
