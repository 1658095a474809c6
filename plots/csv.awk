# csv.awk - what the pictures' tables share: reading CSV, and printing for gnuplot.
#
# For any POSIX awk, used as `awk -f csv.awk -f timeline.awk ...` under LC_ALL=C: text is bytes.

# Splits the record `line` into F[1], F[2], ... as RFC 4180 has it and returns how many. A field in
# quotes may go on over further lines of the file.
function csv_split(line,    fields, i) {
    fields = csv_fields(line)
    for (i = index(line, "'") > 0 ? fields : 0; i > 0; i--)
        F[i] = unmarked(F[i])
    return fields
}

# A field without its mark: a ' before what a spreadsheet or a terminal must not take as it is.
# What is escaped in it stays so, but for backslashes.
function unmarked(text) {
    if (substr(text, 1, 1) != "'")
        return text
    text = substr(text, 2)
    gsub(/\\\\/, "\\", text)
    return text
}

function csv_fields(line,    fields, more, text, part, began) {
    if (index(line, "\"") == 0) {
        sub(/\r$/, "", line)
        return split(line, F, ",")
    }
    while (csv_quotes(line) % 2 == 1 && (getline more) > 0)
        line = line "\n" more
    sub(/\r$/, "", line)
    fields = 0
    while (1) {
        text = ""
        # "a ""b""": three parts in quotes, with a quote between each and the next.
        for (began = 0; match(line, /^"[^"]*"/); began = 1) {
            part = substr(line, 2, RLENGTH - 2)
            text = text (began ? "\"" : "") part
            line = substr(line, RLENGTH + 1)
        }
        match(line, /^[^,]*/)
        F[++fields] = text substr(line, 1, RLENGTH)
        if (RLENGTH == length(line))
            return fields
        line = substr(line, RLENGTH + 2)
    }
}

function csv_quotes(line) {
    return gsub(/"/, "", line)
}

# Remembers where the columns of a heading are: COLUMN["start_ns"].
function csv_heading(line,    i, fields) {
    fields = csv_split(line)
    for (i = 1; i <= fields; i++) {
        sub(/^span_/, "time_", F[i]) # as reports before schema 2 call them
        COLUMN[F[i]] = i
    }
    return fields
}

function field(name) {
    return name in COLUMN ? F[COLUMN[name]] : ""
}

# Text for one line of a picture: no control characters, nothing that XML can't hold.
function one_line(text) {
    gsub(/[\001-\037\177]/, "?", text)
    gsub(/\302[\200-\237]/, "?", text)
    gsub(/\357\277[\276\277]/, "?", text)
    return text
}

# A string for gnuplot, in which nothing is special. (Between single quotes it gets a quote at the
# beginning wrong.)
function quoted(text,    i, byte, out) {
    text = one_line(text)
    for (i = 1; i <= length(text); i++) {
        byte = substr(text, i, 1)
        out = out (byte == "\\" ? "\\134" : byte == "\"" ? "\\042" : byte == "`" ? "\\140" : byte)
    }
    return "\"" out "\""
}

# Ends the script, whose END asks for `failed`. gnuplot takes what it is told for a format.
function refuse(why) {
    failed = 1
    gsub(/%/, "%%", why)
    print "problem = " quoted(why)
    exit 1
}

# How many characters UTF-8 text has, its first `count` characters, and it cut to that many.
function characters(text) {
    gsub(/[\200-\277]/, "", text)
    return length(text)
}

function first_characters(text, count,    i, byte) {
    for (i = 1; i <= length(text); i++) {
        byte = substr(text, i, 1)
        if ((byte < "\200" || byte > "\277") && count-- == 0)
            break
    }
    return substr(text, 1, i - 1)
}

function cut(text, count) {
    return characters(text) > count ? first_characters(text, count - 2) ".." : text
}

# gnuplot's expression for `text` on lines of at most `count` characters, at most `most` lines;
# broken behind '-', '_', '.', ',' or a blank where there is one. Sets WRAPPED to the longest line,
# and WRAPPED_LINES to their number.
function wrapped(text, count, most,    lines, line, part, out) {
    text = one_line(text)
    WRAPPED = 0
    for (lines = 1; text != ""; lines++) {
        line = lines == most ? cut(text, count) : first_characters(text, count)
        if (lines < most && length(line) < length(text)) {
            part = line
            if ((match(part, /.* /) && RLENGTH > length(line) * 2 / 3) || \
                (match(part, /.*[-_., ]/) && RLENGTH > length(line) / 3))
                line = substr(line, 1, RLENGTH)
        }
        text = lines == most ? "" : substr(text, length(line) + 1)
        sub(/ +$/, "", line)
        if (characters(line) > WRAPPED)
            WRAPPED = characters(line)
        out = out (lines > 1 ? ".\"\\n\"." : "") quoted(line)
    }
    WRAPPED_LINES = lines - 1
    return out == "" ? quoted("") : out
}

# A number with its unit, to three digits: "22.4 ms", "16 MiB".
function scaled(value, step, units,    names, i, count, text) {
    count = split(units, names, " ")
    for (i = 1; i < count && value >= step - 0.5; i++)
        value /= step
    text = sprintf(value >= 1e6 ? "%.3g" : value >= 99.95 ? "%.0f" : value >= 9.995 ? "%.1f" : \
                   "%.2f", value)
    if (index(text, ".") > 0) {
        sub(/0+$/, "", text)
        sub(/\.$/, "", text)
    }
    return text " " names[i]
}

function time_text(ns) {
    return scaled(ns, 1000, "ns us ms s")
}

function bytes_text(bytes) {
    return scaled(bytes, 1024, "B KiB MiB GiB TiB PiB EiB")
}

# A count as the options take it: 64M for 67108864.
function count_text(count,    i) {
    for (i = 1; i < 5 && count != 0 && count % 1024 == 0; i++)
        count /= 1024
    return sprintf("%.0f%s", count, substr(" kMGT", i, i > 1))
}

# "a, b", where either may be empty.
function listed(text, item) {
    return item == "" ? text : text == "" ? item : text ", " item
}

# "1 tile", "16 tiles"; nothing for no number.
function counted(count, word) {
    return count == "" ? "" : count " " word (count == "1" ? "" : "s")
}

# What times come from, in words.
function timing_text(timing) {
    return timing == "virtual" ? "virtual time" : timing == "cupti" ? "CUPTI" : \
           timing == "nsys" ? "Nsight Systems" : timing == "chrome" ? "a Chrome trace" : timing
}

# A setting's value, as pictures say it; nothing for what goes without saying.
function setting_text(key, value) {
    if (value == "")
        return ""
    if (key == "ways")
        return value == "1" ? "serial" : value "-way"
    if (key == "order")
        return value "-first"
    if (key == "layout")
        return value == "tile" ? "" : "layout by " value
    if (key == "memory")
        return value " memory"
    if (key == "callbacks")
        return value == "true" ? "callbacks" : ""
    if (key == "blocks")
        return value == "auto" ? "" : counted(value, "block")
    if (key == "carry")
        return value == "device" ? "" : "carry: " value
    if (key == "connections")
        return counted(value, "connection")
    if (key == "issue")
        return value == "streams" ? "" : value == "graph" ? "issued as a graph" : \
               value == "batch" ? "issued in batches" : "issued by " value
    if (key == "pack")
        return value == "true" ? "packed by the CPU" : ""
    if (key == "spread")
        return value == "chain" ? "chain over devices" : ""
    if (key == "exchange")
        return value == "peer" ? "peer copies" : value == "host" ? "handed on by the host" : ""
    if (key == "halo")
        return "halo of " value
    if (key == "steps")
        return counted(value, "step")
    if (key == "hide")
        return value == "no" ? "exchange not hidden" : "exchange hidden"
    if (key == "scatter")
        return value == "true" ? "tiles scattered" : ""
    return key == "mistake" ? "mistake: " value : value
}

# "scale, sum at intensity 250 on 64M elements"
function work_text(kernel, intensity, elements) {
    if (kernel == "")
        return ""
    gsub(/,/, ", ", kernel)
    if (intensity != "" && intensity != "1")
        kernel = kernel " at intensity " intensity
    return elements ~ /^[0-9]+$/ ? kernel " on " count_text(elements + 0) " elements" : kernel
}

# Prints a message as a title of at most two lines, as large as there is room for, and returns where
# it ends. What is too long loses its last clause.
function print_title(text, room,    size, shown, tries) {
    for (tries = 1; tries <= 2; tries++) {
        for (size = large; size > 0.65 * large; size *= 0.9) {
            shown = wrapped(text, int(room / (0.56 * size)), 2)
            if (shown !~ /\.\."$/)
                break
        }
        if (size > 0.65 * large || !sub(/, which (loses .*|[^,]*)$/, "", text))
            break
    }
    print "title = " shown
    printf "title_size = %.6g\n", size
    printf "title_bottom = %.6g\n", 0.5 * em + WRAPPED_LINES * 1.25 * size
    return 0.5 * em + WRAPPED_LINES * 1.25 * size
}
