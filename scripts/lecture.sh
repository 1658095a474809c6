#!/bin/sh
# lecture.sh - lessons as slides, as handouts and as a book.
#
#     [DEVICE=cuda] [PDF=yes|no] scripts/lecture.sh PROGRAM FOLDER [PLAN]
#
# FOLDER gets deck.html, the slides; handouts/NAME.html, a sheet of paper for each lesson; book.html, the lessons'
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
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints what the head of file $1 says behind "; $2", as HTML without its paragraph.
head_says() {
    sed -n -e '/^;/!q' -e "s/^; $2//p" "$1" | sed 1q | cmark-gfm | sed 's,</*p>,,g'
}

# What the head of file $1 explains.
explanation() {
    sed -n -e 1d -e '/^;/!q' -e '/^; [A-Z][a-z]*: /d' -e '/^;  /{/^;   [^ ]/!d;}' -e 's/^; \{0,1\}//p' "$1" | cmark-gfm
}

# A picture goes in as it is, less its XML head, and with ids of its own: all of them are one page.
# inline FILE PREFIX
inline() {
    sed -n '/<svg/,$p' "$1" |
        sed -e '/<title>.*<\/title>/d' -e '/<desc>/d' \
            -e "s/\\bid=\\(['\"]\\)/id=\\1$2-/g" -e "s/href=\\(['\"]\\)#/href=\\1#$2-/g" \
            -e "s/url(#/url(#$2-/g" -e 's/<!\[CDATA\[//g' -e 's/\]\]>//g' -e 's/^[[:space:]]*//' -e '/^$/d'
}

# head_of TITLE STYLE prints a page up to its body.
head_of() {
    echo '<!DOCTYPE html>'
    echo '<html lang="en"><head><meta charset="utf-8">'
    echo '<meta name="viewport" content="width=device-width">'
    echo '<meta http-equiv="Content-Security-Policy"' \
        "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">"
    echo "<title>$1</title><style>"
    cat "$docs/$2"
    echo '</style></head>'
}

# --- the runs ---

# simulate NAME WORDS: the timeline of what WORDS ask for goes into $work/NAME.csv, its report, as HTML, into
# $work/NAME.report. A result that is wrong on purpose is so only where there is data.
simulate() {
    wanted=$([ ! -e "$configs/lessons/$1.ini" ] || head_says "$configs/lessons/$1.ini" 'Exit: ')
    fast=--no-data
    code=0
    into=$work/$1
    shift
    [ -z "$wanted" ] || fast=
    "$program" "$@" -q $fast --gantt=none --timeline="$into.csv" >"$work/printed" 2>"$work/errors" || code=$?
    sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/\([0-9]\)x\>/\1×/g' "$work/printed" >"$into.report"
    # On a real GPU a race may end well.
    [ "$code" = "${wanted:-0}" ] || [ "$code$DEVICE" = 0cuda ] || { cat "$work/errors" >&2 && exit 1; }
}

# A line for each run of lesson $1: its name, its time in ns, and its devices where it has several.
facts() {
    awk -F': ' -v OFS='\t' '
        /^# run: / { name[++runs] = $2 }
        /^#   time_ns: / { time[runs] = $2 }
        split($0, field, ",") > 12 && field[13] >= devices[field[1]] { devices[field[1]] = field[13] + 1 }
        END { for (i = 1; i <= runs; i++) print name[i], time[i], devices[name[i]] }
    ' "$work/$1.csv"
}

# The number of the run that lesson $1 shows before it lets guess: the slowest that its first guess names, or of all.
run_asked() {
    sed -n '/^; Guess: /{s/^; Guess: //;s/ - .*//;p;q;}' "$configs/lessons/$1.ini" |
        awk 'NR == FNR { named = " " $0 " "; next }
            index(named, " " $1 " ") { some = 1 }
            { time[FNR] = $2; is_named[FNR] = index(named, " " $1 " ") }
            END { for (i = 1; i <= FNR; i++) if ((is_named[i] || !some) && time[i] > time[most]) most = i; print most }
        ' - "$work/$1.facts"
}

# What lesson $1 asks, as its report has it: the third part, whose choices are indented more than its questions.
asked() {
    awk -v RS= -F'\n' '
        NR == 3 {
            for (i = 1; i <= NF; i++)
                if ($i !~ /^    [A-Z]  /)
                    question = question substr($i, 2)
                else {
                    if (question != "")
                        printf "%s<div class=\"guess\"><h3>%s</h3>\n<ul>", (asked++ ? "</ul></div>\n" : ""), substr(question, 2)
                    question = ""
                    printf "<li><b>%s</b> %s</li>", substr($i, 5, 1), substr($i, 8)
                }
            print "</ul></div>"
        }' "$work/$1.report"
}

# What its runs answered.
answered() {
    sed -n '/^Answers:$/,/^$/s,^  \([^:]*\): \(.*\),<li><b>\1</b> \2</li>,p' "$work/$1.report"
}

# figure NAME PICTURE HEIGHT RUNS [ROWS [LESS]]: those runs of $work/NAME.csv as a picture, 1216 pixels wide, without
# what the expression LESS finds in the head of the data.
figure() {
    sed "/^#   \(${6:-nothing}\)/d" "$work/$1.csv" >"$work/shown.csv"
    gnuplot -d -e "figure_height=$3" -c "$here/../plots/timeline.gp" "$work/shown.csv" "$work/$2.svg" figure "${5:-engines}" "$4"
    awk -v from="${4%-*}" -v to="${4#*-}" '
        /^# run: / { name = substr($0, 8); runs++ }
        /^#   source: / { source = $3 }
        /^#   device: / { device = substr($0, 13) }
        /^#   time_ns: / && runs >= from && runs <= to { times = times sprintf("; %s: %.3g ms", name, $3 / 1e6) }
        END {
            text = "Timeline, " source ", " device times
            gsub(/&/, "\\&amp;", text)
            gsub(/</, "\\&lt;", text)
            gsub(/"/, "\\&quot;", text)
            printf "<figure role=\"img\" aria-label=\"%s\">\n", text
        }' "$work/$1.csv"
    inline "$work/$2.svg" "$2"
    echo '</figure>'
}

# --- the slides ---

number=0
# open_slide ID [CLASS]
open_slide() {
    number=$((number + 1))
    echo "<section id=\"$1\"${2:+ class=\"$2\"}>"
}

# close_slide NOTES [FOOT]: the notes are for the speaker alone.
close_slide() {
    echo "<footer>${2:-}<span class=\"number\">$number</span></footer>"
    echo "<aside>$1</aside>"
    echo '</section>'
}

# opening_figure NAME: what the words of configs/lectures/NAME.ini mean, as a picture.
opening_figure() {
    file=$configs/lectures/$1.ini
    simulate "$1" "$file"
    figure "$1" "$1" 352 "1-$(grep -c '^# run: ' "$work/$1.csv")" "$(head_says "$file" 'Rows: ')" \
        "$(head_says "$file" 'Less: ' | sed 's/ /\\|/')"
}

# opening_slide NAME: words of configs/lectures/NAME.ini that all lessons use.
opening_slide() {
    file=$configs/lectures/$1.ini
    open_slide "$1" opening
    echo "<h2>$(head_says "$file" 'Message: ')</h2>"
    opening_figure "$1"
    explanation "$file"
    close_slide "<p>Run it live: <code>$(sed -n '3s/^; *//p' "$file")</code></p>" "<code>$(sed -n '3s/^; *//p' "$file")</code>"
}

# Prints the settings of run $2 of lesson $1.
settings() {
    awk -v run="$2" '
        /^\[/ { section = $0 }
        /^[a-z]/ && (section == "[global]" || section == "[" run "]") {
            gsub(/ *= */, " ")
            value[$1] = $2
            if (!seen[$1]++)
                key[++keys] = $1
        }
        END { for (i = 1; i <= keys; i++) printf " <code>--%s=%s</code>", key[i], value[key[i]] }
    ' "$configs/lessons/$1.ini"
}

# The last run of each slide of the answer of lesson $1: none has many more than 18 rows, three for each device.
parts() {
    awk -F'\t' '
        { rows += through[NR] = 3 * ($3 ? $3 : 1) }
        END {
            share = rows / int((rows + 17) / 18)
            for (i = 1; i <= NR; i++)
                if ((so_far += through[i]) >= share || i == NR) {
                    print i
                    so_far = 0
                }
        }' "$work/$1.facts"
}

# What a picture would tell too soon: what its time was lost to, and by how much it is slower.
untold='gaps\|speedup'
# lesson_slides NAME NOTES: asks, shows a run, lets guess, and answers.
lesson_slides() {
    lesson=$(expr "${1%%-*}" + 0)
    file=$configs/lessons/$1.ini
    facts "$1" >"$work/$1.facts"
    question=$(head_says "$file" 'Question: ')
    about=$(run_asked "$1")
    run=$(sed -n "${about}s/	.*//p" "$work/$1.facts")
    asked=$(asked "$1")
    answers=$(answered "$1")
    foot="<code>pipeline lesson $lesson</code>"
    [ ! -e "$folder/lab.html" ] || foot="$foot<a href=\"lab.html#lesson=$1\">Lesson $lesson in the lab</a>"

    open_slide "$1" ask
    echo "<p>Lesson $lesson</p><h2>$question</h2>"
    close_slide "$2" "$foot"

    open_slide "$1-run"
    echo "<h2>$question</h2><p><b>$run</b>:$(settings "$1" "$run")</p>"
    figure "$1" "$1-run" 480 "$about-$about" engines "$untold"
    fast=", or at once, without a check of the results, <code>pipeline lesson $lesson --no-data</code>"
    [ -z "$(head_says "$file" 'Exit: ')" ] || fast=
    close_slide "<p>Run it live: <code>pipeline lesson $lesson</code>$fast</p>$(sed -n 's/^; Live: //p' "$file" | cmark-gfm)" "$foot"

    guesses=$(echo "$asked" | grep -c '<h3>')
    open_slide "$1-guess" "of-$guesses"
    echo "<h2>What is your guess?</h2>"
    figure "$1" "$1-guess" $((465 - 65 * guesses)) "$about-$about" engines "$untold"
    echo "$asked"
    close_slide "<p>A show of hands for each; nobody may abstain. The next slide answers:</p><ul>$answers</ul>" "$foot"

    from=1
    for to in $(parts "$1"); do
        open_slide "$1-answer$([ "$from" = 1 ] || echo "-$from")" answer
        echo "<h2>$(head_says "$file" 'Message: ')</h2><ul>$answers</ul>"
        figure "$1" "$1-$from" 480 "$from-$to"
        close_slide "$(explanation "$file")" "$foot"
        from=$((to + 1))
    done
}

# contents_slide FROM TO: those lessons of the plan.
contents_slide() {
    open_slide "contents-$1" "contents$([ $(($2 - $1)) -ge 9 ] || echo " few")"
    echo "<h2>$(sed -n '1s/^; [^ ]* - //p' "$work/plan")</h2><ol>"
    grep -v -e '^;' -e '^$' -e opening "$work/plan" | sed -n "$1,$2p" | while read -r length name _; do
        echo "<li value=\"$(expr "${name%%-*}" + 0)\"><a href=\"#$name\">$(head_says "$configs/lessons/$name.ini" 'Question: ')</a></li>"
    done
    echo '</ol>'
    close_slide "<table>$(awk '/^[0-9]/ { at += $1; minutes = $1; name = $2; sub(/^[^ ]* [^ ]* */, "")
        if (minutes > 0) print "<tr><td>" at - minutes " to " at "<td>" name "<td>" $0 }' "$work/plan")</table>"
}

deck() {
    head_of "$title" deck.css
    echo '<body>'
    open_slide title title
    echo "<h1>$title</h1>"
    figure ways ways 512 1-4
    close_slide "<p>Arrow keys, space, page keys, clicks and swipes turn the slides; Home and End go to the first and
        the last; <code>n</code> shows and hides these notes.</p>" "$lessons lessons on CUDA streams${plan:+, $plan minutes}"
    from=1
    slides=$(((lessons + 12) / 13))
    for part in $(seq $slides); do
        contents_slide "$from" $((lessons * part / slides))
        from=$((lessons * part / slides + 1))
    done
    at=0
    count=0
    while read -r length name transition; do
        case $length in
        ';'* | '') continue ;;
        esac
        time=
        [ "$length" = 0 ] || time="<b>Minute $at to $((at + length)).</b>"
        at=$((at + length))
        if [ "$name" = opening ]; then
            for part in 1-tile 2-stream 3-limit; do opening_slide "$part"; done
            continue
        fi
        count=$((count + 1))
        echo "lecture: lesson $count of $lessons: $name" >&2
        [ -e "$work/$name.csv" ] || simulate "$name" lesson "$name"
        lesson_slides "$name" "<p>$time $transition</p>
            <p>Read the question aloud, and wait for answers from the room. The message comes three slides later.</p>"
    done <"$work/plan"
    echo '<script>'
    cat "$docs/deck.js"
    echo '</script>'
    echo '</body></html>'
}

# --- the book and the handouts ---

# " class=\"tall\"" where a picture is nearly as high as wide, or higher.
shape() {
    awk -F'[ "]+' '/viewBox=/ { if ($6 > 0.85 * $5) print " class=\"tall\""; exit }' "$1"
}

# Prints page $1 as HTML, its headings one level lower; links to other files of the sources lead nowhere here.
page() {
    cmark-gfm --unsafe --extension table "$1" |
        sed -e 's|<a href="[^"]*\([0-9][0-9]-[a-z0-9-]*\)\.md">|<a href="#\1">|g' \
            -e 's|<a href="sources\.md">|<a href="#sources">|g' -e 's|<a href="[^#h][^"]*">\([^<]*\)</a>|\1|g' \
            -e '/^<p>All lessons<\/p>$/d' -e '/^<!-- .* -->$/d' -e 's|<\(/*\)h2>|<\1h3>|g' -e 's|<\(/*\)h1>|<\1h2>|g'
}

# Prints the page of lesson $1, its picture a figure.
lesson_page() {
    page "$pages/lessons/$1.md" |
        while IFS= read -r line; do
            case $line in
            '<p><img src="'*)
                alt=${line#*alt=\"}
                echo "<figure$(shape "$pages/lessons/$1.svg") role=\"img\" aria-label=\"${alt%%\"*}\">"
                inline "$pages/lessons/$1.svg" "$1"
                echo '</figure>'
                ;;
            *) printf '%s\n' "$line" ;;
            esac
        done
}

# The handout of lesson $1: what to guess, and below it the lesson's page less its report. The more words there are, of which
# a line of code takes the place of twelve, the smaller is the picture: it is one sheet.
handout() {
    head_of "$(head_says "$configs/lessons/$1.ini" "$1.ini - ")" book.css
    words=$(sed '/^<details>/,/^<\/details>/d' "$pages/lessons/$1.md" |
        awk '{ words += NF } /^(    |\|)/ { words += 12 } END { print words }')
    echo "<body class=\"handout$([ "$words" -lt 550 ] || echo " long")\" style=\"--picture: $((words < 525 ? 165 - words / 5 : 60))mm\">"
    echo '<section>'
    lesson_page "$1" | sed -e '/^<details>/,/<\/details>/d' -e 's,<a href="#[^"]*">,<a>,g' |
        awk -v asked="$(asked "$1" | tr '\n' ' ')" '/^<figure/ { print asked } { print }'
    echo '</section></body></html>'
}

# The book starts with the words that all lessons use.
book() {
    head_of "$title" book.css
    echo "<body id=\"top\"><h1>$title</h1>"
    for name in 1-tile 2-stream 3-limit; do
        echo "<h2>$(head_says "$configs/lectures/$name.ini" 'Message: ')</h2>"
        opening_figure "$name"
        explanation "$configs/lectures/$name.ini"
    done
    echo '<nav aria-label="Lessons">'
    page "$pages/lessons.md" | sed -n -e '/^<h3>Slides/q' -e '/^<h3>/,$p'
    echo '</nav>'
    for name in $(cd "$pages/lessons" && ls [0-9]*.md) sources.md; do
        echo "<section id=\"${name%.md}\"><p class=\"up\"><a href=\"#top\">all lessons</a></p>"
        lesson_page "${name%.md}"
        echo '</section>'
    done
    echo '</body></html>'
}

# --- all of it ---

title="Why streams overlap, and why they don't"
mkdir -p "$folder/handouts"
if [ "${DEVICE:-}" = cuda ]; then
    pages=$work/pages
    "$here/lessons.sh" "$program" "$pages" "$work"
else
    export CUDA_VISIBLE_DEVICES=
fi
if [ -n "$plan" ]; then
    awk 1 "$named" >"$work/plan" # the last line may have no end
else
    { echo "; all - The lessons" && echo "0 opening" && (cd "$configs/lessons" && ls) | sed 's/^\(.*\)\.ini$/0 \1/'; } >"$work/plan"
fi
(cd "$configs/lessons" && ls) | awk -v plan="$plan" '
    FNR == NR { sub(/[.]ini$/, ""); is_lesson[$0] = 1; next }
    /^;/ || /^$/ { next }
    !/^[0-9]+ [^ ]/ { fault = "is no line of MINUTES LESSON WORDS" }
    !fault && $2 != "opening" && !($2 in is_lesson) { fault = "there is no lesson " $2 }
    !fault && had[$2]++ { fault = $2 " is there twice" }
    fault { print "lecture.sh: " plan ".plan:" FNR ": " fault; exit }
    END { if (!fault && length(had) - ("opening" in had) == 0) print "lecture.sh: " plan ".plan has no lesson" }
' - "$work/plan" >"$work/faults"
if [ -s "$work/faults" ]; then
    cat "$work/faults" >&2
    exit 1
fi
lessons=$(grep -c '^[0-9]* [0-9]' "$work/plan")
simulate ways "$configs/ways.ini"
rm -f "$folder/lab.html"
"$program" lab -o "$folder/lab.html" || echo "lecture: slides have no links to the lab (make lab)"
deck >"$folder/deck.html"
for name in $(sed -n 's/^[0-9]* \([0-9][0-9]-[^ ]*\).*/\1/p' "$work/plan"); do
    handout "$name" >"$folder/handouts/$name.html"
done
book >"$folder/book.html"
if [ "$PDF" = yes ]; then
    for page in "$folder"/handouts/*.html "$folder/book.html" "$folder/deck.html"; do
        echo "lecture: ${page%html}pdf" >&2
        sed 's,<a href="lab[^>]*>[^<]*</a>,,g' "$page" >"$work/print.html"
        weasyprint -q -p "$work/print.html" "${page%html}pdf"
    done
fi
echo "lecture: $folder/deck.html $folder/book.html $folder/handouts"
