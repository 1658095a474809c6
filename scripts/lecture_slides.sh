# lecture_slides.sh - the slides of a lecture. Read by lecture.sh.
# shellcheck shell=sh
# shellcheck disable=SC2154 # lecture.sh sets them

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

    words=$(head_says "$file" 'Words: ')
    open_slide "$1-run"
    echo "<h2>$question</h2><p><b>$run</b>:$(settings "$1" "$run")</p>${words:+<p>$words</p>}"
    figure "$1" "$1-run" "$([ -n "$words" ] && echo 370 || echo 480)" "$about-$about" engines "$untold"
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
        echo "<h2>$(head_says "$file" 'Message: ')</h2>$([ "$from" -gt 1 ] || echo "<ul>$answers</ul>")"
        figure "$1" "$1-$from" "$([ "$from" -gt 1 ] && echo 530 || echo 480)" "$from-$to"
        close_slide "$(explanation "$file")${words:+<p>$words</p>}" "$foot"
        from=$((to + 1))
    done

    # What the lesson's page says below **Fix.**, to the last line of its code.
    sed -n '/^\*\*Fix\./,$p' "$pages/lessons/$1.md" | sed -e 's/^\*\*Fix\.\*\* *//' -e '/^\*\*/,$d' |
        awk '{ text = text $0 "\n" } /^    / { printf "%s", text; text = "" }' >"$work/fix.md"
    open_slide "$1-fix" fix
    echo "<h2>$(head_says "$file" 'Message: ')</h2>"
    page "$work/fix.md" | sed 's,</*a[^>]*>,,g'
    close_slide "<p>The code of it; the handout has the rest.</p>" "$foot"
}

# list_slides ID TITLE KEY NOTES [FOOT]: what the heads of the plan's lessons say behind KEY.
list_slides() {
    from=1
    slides=$(((lessons + 12) / 13))
    for part in $(seq $slides); do
        to=$((lessons * part / slides))
        open_slide "$1-$from" "contents$([ $((to - from)) -ge 9 ] || echo " few")"
        echo "<h2>$2</h2><ol>"
        sed -n "$from,${to}p" "$work/lessons" | while read -r name; do
            echo "<li value=\"$(expr "${name%%-*}" + 0)\"><a href=\"#$name\">$(head_says "$configs/lessons/$name.ini" "$3: ")</a></li>"
        done
        echo '</ol>'
        close_slide "$4" "${5:-}"
        from=$((to + 1))
    done
}

deck() {
    head_of "$title" deck.css
    echo '<body>'
    open_slide title title
    echo "<h1>$title</h1>"
    simulate title "$configs/lectures/3-limit.ini"
    figure title title 512 1-2 engines 'gaps\|limit_ns'
    close_slide "<p>Arrow keys, space, page keys, clicks and swipes turn the slides; Home and End go to the first and
        the last; <code>p</code> opens a window with these notes, for your own screen, which turns the slides as well;
        <code>n</code> shows and hides the notes here.</p>" "$lessons lessons on CUDA streams${plan:+, $plan minutes}"
    list_slides contents "$topic" Question \
        "<table>$(awk -F'\t' '$1 ~ /[0-9]/ { print "<tr><td>" $1 "<td>" $2 "<td>" $3 }' "$work/plan")</table>"
    while IFS=$tab read -r minutes name transition; do
        case $name in
        opening) for part in $opening; do opening_slide "$part"; done ;;
        *)
            echo "lecture: lesson $(grep -nx "$name" "$work/lessons" | cut -d : -f 1) of $lessons: $name" >&2
            simulate "$name" lesson "$name"
            lesson_slides "$name" "<p><b>$minutes</b> $transition</p>
                <p>Read the question aloud, and wait for answers from the room. The message comes three slides later.</p>"
            ;;
        esac
    done <"$work/plan"
    lab="<code>pipeline lab</code>"
    [ ! -e "$folder/lab.html" ] || lab="$lab<a href=\"lab.html\">The lab: all lessons, and your own settings</a>"
    list_slides remember "To remember" Message "<p>Each line leads back to its lesson. The lab runs them all, in any browser.</p>" "$lab"
    echo '<script>'
    cat "$docs/deck.js"
    echo '</script>'
    echo '</body></html>'
}
