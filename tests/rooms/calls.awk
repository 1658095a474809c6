# calls.awk - of all files that it is given: the inline functions that headers define, and the names
# that a file calls, outside of comments and texts, and does not define for itself alone:
#
#     inline|FILE|NAME
#     call|FILE|NAME

FNR == 1 {
    in_comment = 0
}

{
    line = in_comment ? "*/" $0 : $0
    gsub(/"([^"\\]|\\.)*"/, "", line)
    if (in_comment) {
        if (!sub(/^\*\/.*\*\//, "", line))
            next
        in_comment = 0
    }
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", line)
    sub(/\/\/.*/, "", line)
    in_comment = sub(/\/\*.*/, "", line)
    here = ""
    if (line ~ /^static / && line !~ /;$/ && match(line, /[A-Za-z_0-9]+\(/))
        here = substr(line, RSTART, RLENGTH - 1)
    if (here != "" && FILENAME ~ /h$/)
        print "inline|" FILENAME "|" here
    if (here != "")
        own[FILENAME, here] = 1
    while (match(line, /[A-Za-z_][A-Za-z_0-9]*\(/)) {
        name = substr(line, RSTART, RLENGTH - 1)
        line = substr(line, RSTART + RLENGTH)
        if (!((FILENAME, name) in own)) {
            own[FILENAME, name] = 1
            print "call|" FILENAME "|" name
        }
    }
}
