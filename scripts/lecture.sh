#!/bin/sh
# lecture.sh - all lessons as one HTML page and one PDF.
#
#     scripts/lecture.sh PROGRAM FOLDER
#
# Runs them by lessons.sh, which takes DEVICE=cuda from the environment. FOLDER gets lecture.html, in
# which everything is: it needs no network, no script and no other file; and lecture.pdf, with a lesson
# a page, less the reports. Needs cmark-gfm and weasyprint.
set -eu

if [ $# -ne 2 ]; then
    echo "usage: [DEVICE=cuda] $0 PROGRAM FOLDER" >&2
    exit 2
fi
program=$1
folder=$2
here=$(dirname "$0")
for tool in cmark-gfm weasyprint gnuplot; do
    command -v $tool >/dev/null 2>&1 || {
        echo "lecture.sh: there is no $tool: apt-get install cmark-gfm weasyprint gnuplot-nox" >&2
        exit 1
    }
done
"$here/lessons.sh" "$program" "$folder"

# A picture goes in as it is, less its XML head, and with ids of its own: all of them are one page.
inline() {
    sed -n '/<svg/,$p' "$folder/lessons/$1.svg" |
        sed -e '/<title>Gnuplot<\/title>/d' -e '/<desc>/d' \
            -e "s/\\bid=\\(['\"]\\)/id=\\1$1-/g" -e "s/href=\\(['\"]\\)#/href=\\1#$1-/g" \
            -e "s/url(#/url(#$1-/g" -e 's/<!\[CDATA\[//g' -e 's/\]\]>//g'
}

# " class=\"tall\"" where a picture is nearly as high as wide, or higher.
shape() {
    awk -F'[ "]+' '/viewBox=/ { if ($6 > 0.85 * $5) print " class=\"tall\""; exit }' "$folder/lessons/$1.svg"
}

# Each lesson is a section, each picture a figure; links to other files of the sources lead nowhere here.
page() {
    echo '<!DOCTYPE html>'
    echo '<html lang="en"><head><meta charset="utf-8">'
    echo '<meta name="viewport" content="width=device-width">'
    echo '<title>Lessons: why streams overlap, and why they don'"'"'t</title>'
    echo '<style>'
    cat "$here/../docs/lecture.css"
    echo '</style></head><body id="top">'
    cmark-gfm --unsafe --extension table "$folder/lessons.md" |
        sed -e 's,<a href="[^#h][^"]*">\([^<]*\)</a>,\1,g' -e '/^<!-- .* -->$/d' |
        while IFS= read -r line; do
            case $line in
            '<p><a id="'*)
                [ -z "${in_section:-}" ] || echo '</section>'
                in_section=yes
                name=${line#*id=\"}
                echo "<section id=\"${name%%\"*}\">"
                echo '<p class="up"><a href="#top">all lessons</a></p>'
                ;;
            '<h2>Sources'*)
                echo '</section><section>'
                printf '%s\n' "$line"
                ;;
            '<p><img src="lessons/'*)
                name=${line#*lessons/}
                name=${name%%.svg*}
                echo "<figure$(shape "$name")>"
                inline "$name"
                echo '</figure>'
                ;;
            *) printf '%s\n' "$line" ;;
            esac
        done
    echo '</section></body></html>'
}

page >"$folder/lecture.html"
weasyprint -q "$folder/lecture.html" "$folder/lecture.pdf"
echo "lecture: $folder/lecture.html $folder/lecture.pdf"
