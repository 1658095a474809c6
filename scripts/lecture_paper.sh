# lecture_paper.sh - the handouts of a lecture, and the book. Read by lecture.sh.
# shellcheck shell=sh
# shellcheck disable=SC2154 # lecture.sh sets them

# " class=\"tall\"" where a picture is nearly as high as wide, or higher.
shape() {
    awk -F'[ "]+' '/viewBox=/ { if ($6 > 0.85 * $5) print " class=\"tall\""; exit }' "$1"
}

# Prints page $1 as HTML, its headings one level lower; links to other files of the sources lead nowhere here. A comment
# that would make a line of code wider than a slide stands above it.
page() {
    awk 'length($0) > 88 && /^    .*[^ ] +\/\* .*\*\/$/ {
            at = index($0, "/*")
            match($0, /^ */)
            print substr($0, 1, RLENGTH) substr($0, at)
            $0 = substr($0, 1, at - 1)
            sub(/ +$/, "")
        }
        { print }' "$1" | cmark-gfm --unsafe --extension table |
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

# The handout of lesson $1, a sheet of paper: in front what to guess, on the back the lesson's page less its report. The more
# words there are, of which a line of code takes the place of twelve, the smaller is the picture.
handout() {
    question=$(head_says "$configs/lessons/$1.ini" 'Question: ')
    about=$(run_asked "$1")
    run=$(sed -n "${about}s/$tab.*//p" "$work/$1.facts")
    words=$(sed '/^<details>/,/^<\/details>/d' "$pages/lessons/$1.md" |
        awk '{ words += NF } /^(    |\|)/ { words += 12 } END { print words }')
    head_of "$question" book.css
    echo "<body class=\"handout$([ "$words" -lt 650 ] || echo " long")\" style=\"--picture: $((words < 625 ? 185 - words / 5 : 60))mm\">"
    echo "<section><h2>$question</h2><p>Lesson $(expr "${1%%-*}" + 0), <b>$run</b>:$(settings "$1" "$run")</p>"
    figure "$1" "$1-front" 480 "$about-$about" engines "$untold"
    asked "$1"
    echo '</section><section>'
    lesson_page "$1" | sed -e '/^<details>/,/<\/details>/d' -e 's,<a href="#[^"]*">,<a>,g'
    echo '</section></body></html>'
}

# The book starts with the words that all lessons use.
book() {
    head_of "$title" book.css
    echo "<body id=\"top\"><h1>$title</h1>"
    for name in $opening; do
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
