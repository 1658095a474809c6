# lecture_runs.sh - what pages of a lecture are made of: heads of files, runs, questions and pictures. Read by lecture.sh,
# which says where all is.
# shellcheck shell=sh
# shellcheck disable=SC2154 # lecture.sh sets them

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
    [ "$code" = "${wanted:-0}" ] || [ "$code${DEVICE:-}" = 0cuda ] || { cat "$work/errors" >&2 && exit 1; }
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

# The number of the run that lesson $1 shows before it lets guess: the slowest that its first guess names, or of all; the
# first where the slowest is what is asked for.
run_asked() {
    sed -n '/^; Guess: /{s/^; Guess: //;s/ - .*//;p;q;}' "$configs/lessons/$1.ini" |
        awk 'NR == FNR { kind = $1; named = " " $0 " "; next }
            index(named, " " $1 " ") { some = 1 }
            { time[FNR] = $2; is_named[FNR] = index(named, " " $1 " ") }
            END { for (i = 1; i <= FNR; i++) if ((is_named[i] || !some) && time[i] > time[most]) most = i
                print (kind == "slowest" ? 1 : most) }
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
