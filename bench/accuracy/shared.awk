# shared.awk - what the scripts of this folder share, used as `awk -f csv.awk -f shared.awk -f ...`.

BEGIN {
    GIVEN = split("kernel elements intensity columns stride rows inner blocks tiles streams " \
                  "order layout ways cpu-share memory prefetch alloc scatter copy tile-width priorities callbacks carry connections " \
                  "mistake issue batch pack", \
                  GIVEN_NAMES, " ")
    split("columns=1024 stride=1 rows=16384 inner=1408 blocks=auto order=depth layout=tile ways=3 " \
          "cpu-share=auto memory=pinned prefetch=false alloc=once scatter=false copy=whole tile-width=1024 callbacks=false carry=device mistake=none issue=streams " \
          "batch=auto pack=false", \
          given_defaults, " ")
    for (i in given_defaults)
        GIVEN_DEFAULT[given_defaults[i]] = 1
}

# Returns the settings of the present row that are not what they are by default, each as BEFORE name
# BETWEEN value AFTER: "--tiles=4 ", "tiles = 4\n".
function given_settings(before, between, after,    i, name, value, text) {
    for (i = 1; i <= GIVEN; i++) {
        name = GIVEN_NAMES[i]
        value = field("settings." name)
        if (value != "" && !((name "=" value) in GIVEN_DEFAULT))
            text = text before name between (value == "true" ? "yes" : value) after
    }
    return text
}

function csv_quoted(text) {
    if (text !~ /[,"#\r\n]/)
        return text
    gsub(/"/, "\"\"", text)
    return "\"" text "\""
}
