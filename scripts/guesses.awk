# guesses.awk - what a lesson asks its readers to guess, by the head of its file.
#
#     awk -v wanted=WANTED -v facts=FACTS -f guesses.awk configs/lessons/NAME.ini
#
# WANTED is `ask`, the questions with their choices, as HTML; `answer`, what the runs say, as HTML; or `run`, the number
# of the run that the guesses are about: the slower one of those that the first guess names. FACTS has a line
# for each run: its name, its time in ns and what costs it most, with tabs between them.
function plain(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    return text
}
function ask(choices,    i, choice, count) {
    printf "<div class=\"guess\"><h3>%s</h3>\n<ul>", plain(question)
    count = split(choices, choice, " ")
    for (i = 1; i <= count; i++)
        printf "<li><b>%s</b> %s</li>", substr("ABCDEFGH", i, 1), choice[i]
    print "</ul></div>"
}
# Five factors from `least` to `most`, rounded to what can be said aloud.
function scale(least, most,    i, k, at, best, text, nice, known) {
    known = split("0.1 0.2 0.25 0.3 0.5 0.7 0.8 1 1.2 1.5 2 2.5 3 4 5 6 8 10 15 20 30 40 60", nice, " ")
    for (i = 0; i < 5; i++) {
        at = log(least) + i / 4 * log(most / least)
        best = 1
        for (k = 2; k <= known; k++)
            if ((log(nice[k]) - at) ^ 2 < (log(nice[best]) - at) ^ 2)
                best = k
        text = text " " nice[best] "×"
    }
    return text
}
function extreme(sign,    i, best) {
    best = name[1]
    for (i = 2; i <= runs; i++)
        if (sign * time[name[i]] < sign * time[best])
            best = name[i]
    return best
}
function slower(a, b) { return time[a] > time[b] ? a : b }
function take(choices, result, about) {
    if (wanted == "ask")
        ask(choices)
    if (wanted == "answer")
        print "<li>" result "</li>"
    if (wanted == "run" && !found++)
        print number[about]
}
BEGIN {
    FS = "\t"
    while ((getline < facts) > 0) {
        name[++runs] = $1
        number[$1] = runs
        time[$1] = $2
        cause[$1] = $3
        all = all " " $1
    }
}
!/^;/ { exit }
!sub(/^; Guess: /, "") { next }
{
    at = index($0 " - ", " - ")
    question = substr($0, at + 3)
    split(substr($0, 1, at - 1), word, " ")
    a = word[2]
    b = word[3]
    ratio = word[1] ~ /^(faster|either)$/ ? time[a] / time[b] : 1
}
word[1] == "faster" {
    take(scale(word[4], word[5]), sprintf("%s: <b>%.2g×</b> as fast as %s", b, ratio, a), slower(a, b))
}
word[1] == "either" {
    alike = ratio <= 1.01 && ratio >= 1 / 1.01
    take(a " " b " alike", alike ? a " and " b ": <b>alike</b>" : "faster: <b>" (ratio < 1 ? a : b) "</b>", \
         slower(a, b))
}
word[1] == "fastest" { take(all, "fastest: <b>" extreme(1) "</b>", extreme(-1)) }
word[1] == "slowest" { take(all, "slowest: <b>" extreme(-1) "</b>", extreme(-1)) }
word[1] == "cause" {
    if (question == "")
        question = "What costs " a " the most time?"
    gsub(/,/, " ", b)
    take(b, a ": <b>" cause[a] "</b>", a)
}
