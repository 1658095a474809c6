#!/bin/sh
# lecture.sh - all lessons as slides and as a book, each as an HTML page and as a PDF.
#
#     scripts/lecture.sh PROGRAM FOLDER
#
# Runs them by lessons.sh, which takes DEVICE=cuda from the environment. FOLDER gets deck.html and
# deck.pdf, the slides; book.html, in which everything is, and book.pdf, with a lesson a page, less the
# reports; and lab.html where the program has the lab. The pages need no network and no other file.
# Needs cmark-gfm, weasyprint and gnuplot.
set -eu

if [ $# -ne 2 ]; then
    echo "usage: [DEVICE=cuda] $0 PROGRAM FOLDER" >&2
    exit 2
fi
program=$1
folder=$2
here=$(dirname "$0")
docs=$here/../docs
for tool in cmark-gfm weasyprint gnuplot; do
    command -v $tool >/dev/null 2>&1 || {
        echo "lecture.sh: there is no $tool: apt-get install cmark-gfm weasyprint gnuplot-nox" >&2
        exit 1
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/lessons.sh" "$program" "$folder" "$work"

# A picture goes in as it is, less its XML head, and with ids of its own: all of them are one page.
# inline FILE PREFIX
inline() {
    sed -n '/<svg/,$p' "$1" |
        sed -e '/<title>Gnuplot<\/title>/d' -e '/<desc>/d' \
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

# --- the book ---

# " class=\"tall\"" where a picture is nearly as high as wide, or higher.
shape() {
    awk -F'[ "]+' '/viewBox=/ { if ($6 > 0.85 * $5) print " class=\"tall\""; exit }' "$folder/lessons/$1.svg"
}

# Prints page $1 as HTML, its headings one level lower; links to other files of the sources lead nowhere here.
page() {
    cmark-gfm --unsafe --extension table "$1" |
        sed -e 's|<a href="\(lessons/\)\{0,1\}\([0-9][0-9]-[a-z0-9-]*\)\.md">|<a href="#\2">|g' \
            -e 's|<a href="sources\.md">|<a href="#sources">|g' -e 's|<a href="[^#h][^"]*">\([^<]*\)</a>|\1|g' \
            -e '/^<p>All lessons<\/p>$/d' -e '/^<!-- .* -->$/d' \
            -e 's|<\(/\{0,1\}\)h2>|<\1h3>|g' -e 's|<\(/\{0,1\}\)h1>|<\1h2>|g'
}

# Each lesson is a section, each picture a figure.
book() {
    head_of "Lessons: why streams overlap, and why they don't" book.css
    echo '<body id="top">'
    page "$folder/lessons.md" | sed 's|<\(/\{0,1\}\)h2>|<\1h1>|g'
    for name in $(cd "$folder/lessons" && ls [0-9]*.md) sources.md; do
        name=${name%.md}
        echo "<section id=\"$name\">"
        echo '<p class="up"><a href="#top">all lessons</a></p>'
        page "$folder/lessons/$name.md" |
            while IFS= read -r line; do
                case $line in
                '<p><img src="'*)
                    title=${line#*alt=\"}
                    echo "<figure$(shape "$name") role=\"img\" aria-label=\"${title%%\"*}\">"
                    inline "$folder/lessons/$name.svg" "$name"
                    echo '</figure>'
                    ;;
                *) printf '%s\n' "$line" ;;
                esac
            done
        echo '</section>'
    done
    echo '</body></html>'
}

# --- the slides ---

# Prints what the head of lesson $1 says behind "; $2", as HTML without its paragraph.
head_says() {
    sed -n -e '/^;/!q' -e "s/^; $2//p" "$here/../configs/lessons/$1.ini" | sed 1q | cmark-gfm | sed 's,</*p>,,g'
}

# What is to be seen in lesson $1, by its head.
explanation() {
    sed -n -e 1d -e '/^;/!q' -e '/^; [A-Z][a-z]*: /d' -e '/^;  /d' -e 's/^; \{0,1\}//p' \
        "$here/../configs/lessons/$1.ini" | cmark-gfm
}

# figure NAME FROM TO: those runs of $work/NAME.csv as a picture, with veils over all but the first. A veil
# reaches from the end of one run to that of the next, which are those of the grounds behind them.
figure() {
    picture=$1-$2.svg
    gnuplot -d -c "$here/../plots/timeline.gp" "$work/$1.csv" "$work/$picture" figure engines "$2-$3"
    awk -v from="$2" -v to="$3" -v picture="$picture" '
        /^# run: / { name = substr($0, 8); runs++ }
        /^#   source: / { source = $3 }
        /^#   device: / { device = substr($0, 13) }
        /^#   time_ns: / && runs >= from && runs <= to { times = times sprintf("; %s: %.3g ms", name, $3 / 1e6) }
        END {
            text = "Timeline, " source ", " device times
            gsub(/&/, "\\&amp;", text)
            gsub(/</, "\\&lt;", text)
            gsub(/"/, "\\&quot;", text)
            printf "<figure data-picture=\"%s\" role=\"img\" aria-label=\"%s\">\n", picture, text
        }' "$work/$1.csv"
    inline "$work/$picture" "$1-$2"
    awk -F"[ ,']+" -v runs=$(($3 - $2 + 1)) '
        /viewBox=/ { split($0, box, "[ \"]"); height = box[6] }
        /polygon fill = .rgb\(244/ && found < runs {
            bottom = 100 * ($10 + 2) / height
            if (found++)
                printf "<i class=\"veil\" style=\"top:%.2f%%;height:%.2f%%\"></i>\n", top, bottom - top
            top = bottom
        }' "$work/$picture"
    echo '</figure>'
}

# slide NUMBER NAME FROM TO PART
slide() {
    lesson=$(expr "${2%%-*}" + 0)
    message=$(head_says "$2" 'Message: ')
    echo "<section id=\"$1\">"
    echo "<p class=\"question\">$(head_says "$2" 'Question: ')$5</p>"
    echo "<h2>${message:-$(head_says "$2" "$2.ini - ")}</h2>"
    figure "$2" "$3" "$4"
    echo "<footer><code>pipeline lesson $lesson</code>"
    [ ! -e "$folder/lab.html" ] || echo "<a href=\"lab.html#lesson=$2\">Lesson $lesson in the lab</a>"
    echo "<span class=\"number\">$1</span></footer>"
    echo "<aside><p>Run it live: <code>pipeline lesson $lesson</code></p>"
    explanation "$2"
    echo '</aside>'
    echo '</section>'
}

# A line for each slide of a lesson: its number, lesson, first and last run, and which part it is. More than
# six runs take two slides. The slides before them are the title and $contents of contents.
contents=3
number_slides() {
    for file in "$here"/../configs/lessons/*.ini; do
        name=$(basename "$file" .ini)
        echo "$name $(grep -c '^# run: ' "$work/$name.csv")"
    done | awk -v number=$((1 + contents)) '
        $2 <= 6 { print ++number, $1, 1, $2 }
        $2 > 6 {
            print ++number, $1, 1, int($2 / 2), " (1 of 2)"
            print ++number, $1, int($2 / 2) + 1, $2, " (2 of 2)"
        }'
}

# contents_slide NUMBER FROM TO
contents_slide() {
    echo "<section id=\"$1\" class=\"contents\"><h2>Lessons $2 to $3</h2><ol start=\"$2\">"
    awk '!seen[$2]++' "$work/slides" | sed -n "$2,$3p" | while read -r number name _; do
        echo "<li><a href=\"#$number\">$(head_says "$name" 'Question: ')</a></li>"
    done
    echo '</ol>'
    echo '</section>'
}

deck() {
    lessons=$(find "$here/../configs/lessons" -name '*.ini' | wc -l)
    head_of "Why streams overlap, and why they don't" deck.css
    echo '<body>'
    echo '<section id="1" class="title">'
    echo '<h1>Why streams overlap, and why they don'"'"'t</h1>'
    figure ways 1 4 | grep -v '^<i class="veil"'
    echo "<p>$lessons lessons on CUDA streams</p>"
    echo '<aside><p>Arrow keys, space, page keys, clicks and swipes turn the slides and add the runs of a lesson'
    echo 'one by one; Home and End go to the first and the last; <code>n</code> shows and hides these notes.</p>'
    echo '</aside>'
    echo '</section>'
    for part in $(seq $contents); do
        contents_slide $((1 + part)) $((lessons * (part - 1) / contents + 1)) $((lessons * part / contents))
    done
    while read -r number name from to part; do
        slide "$number" "$name" "$from" "$to" "${part:+ $part}"
    done <"$work/slides"
    echo '<script>'
    cat "$docs/deck.js"
    echo '</script>'
    echo '</body></html>'
}

# The deck as it is printed: each step of a slide is a page, with its picture once in a file, and what is not
# for the wall is left out.
steps() {
    awk '
        function flush(step,    i) {
            for (i = 1; i <= lines; i++)
                if (!VEIL[i] || VEIL[i] > step)
                    print (step > 0 && i == 1 ? "<section>" : LINE[i])
        }
        function add(line, veil) {
            LINE[++lines] = line
            VEIL[lines] = veil
        }
        /^<section/ {
            flush(0)
            lines = veils = 0
        }
        /^<(aside|svg|script)/ { skipping = 1 }
        !skipping && !/^<a href="lab/ { add($0, /^<i class="veil"/ ? ++veils : 0) }
        /^<\/(aside|svg|script)>/ { skipping = 0 }
        /^<figure/ {
            split($0, part, "\"")
            add("<img alt=\"\" src=\"" part[2] "\">", 0)
        }
        /^<\/section>/ {
            for (step = 0; step <= veils; step++)
                flush(step)
            lines = 0
        }
        END { flush(0) }' | sed 's/^<body>/<body class="steps">/'
}

# The title's picture: all ways of overlapping, beside each other.
fast=
[ -n "${DEVICE:-}" ] || { export CUDA_VISIBLE_DEVICES= && fast=--no-data; }
"$program" -q $fast --gantt=none --timeline="$work/ways.csv" "$here/../configs/ways.ini" >/dev/null
rm -f "$folder/lab.html"
"$program" lab -o "$folder/lab.html" || echo "lecture: slides have no links to the lab"
number_slides >"$work/slides"
deck >"$folder/deck.html"
steps <"$folder/deck.html" >"$work/print.html"
weasyprint -q -p "$work/print.html" "$folder/deck.pdf" &
book >"$folder/book.html"
weasyprint -q "$folder/book.html" "$folder/book.pdf"
wait $!
echo "lecture: $folder/deck.html $folder/deck.pdf $folder/book.html $folder/book.pdf"
