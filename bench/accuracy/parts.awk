# parts.awk - cuts settings into config files that one process each can measure.
#
#     awk -v folder=PARTS -f parts.awk matrix.ini
#
# CUDA takes the number of hardware queues, and that each launch is to block, once in a process, and
# loads a kernel's code once: settings that differ in these are not in one file. Nor are those of
# dgemm, which needs libraries that may be missing, among others: they come first. A file has 24
# settings, or one more where a pair that differs in its order alone would be torn apart. Each
# process takes a second or two to begin and to measure its host.

/^\[/ {
    put_section()
    title = $0
}
/^\[/, 0 {
    section = section $0 "\n"
}
$1 == "connections" || $1 == "mistake" || $1 == "kernel" { VALUE[$1] = $3 }
END { put_section() }

function kind(    name) {
    name = "connections" in VALUE ? "queues-" VALUE["connections"] : "queues"
    if (VALUE["mistake"] == "launch-blocking")
        name = name "-blocking"
    if (VALUE["mistake"] == "lazy-loading")
        return name "-lazy-" ++lazy
    return VALUE["kernel"] == "dgemm" ? "dgemm-" name : name
}

function put_section(    name) {
    if (section != "") {
        name = kind()
        if (FILES[name] == 0 || (COUNT[name] >= 24 && title !~ /-breadth\]$/)) {
            FILES[name]++
            COUNT[name] = 0
        }
        COUNT[name]++
        file = folder "/" name "-" sprintf("%02d", FILES[name]) ".ini"
        printf "%s", section > file
    }
    section = ""
    delete VALUE
}
