# judge.awk - one CSV of what was measured, in which the simulated times are those that a machine
# file predicts now.
#
#     awk -f plots/csv.awk -f shared.awk -f judge.awk -v settings=1 MEASURED.csv... > settings.ini
#     awk -f plots/csv.awk -f shared.awk -f judge.awk -v machine=NAME SIMULATED.csv MEASURED.csv...
#
# MEASURED.csv is what run.sh gathered, once or more often; its settings are what the first call
# prints, and SIMULATED.csv is what `pipeline --device=sim:... --format=csv` printed for those. Of a
# setting that was measured several times the fastest is kept: what a busy host adds is no part of
# the device. How much slower it was another time is the column `again`; low_ms and high_ms are the simulated
# time's interval. What was said of single
# spans is that of another simulation, and left out.

FNR == 1 {
    file++
    delete COLUMN
    columns = csv_heading($0)
    for (i = 1; i <= columns; i++)
        NAME[i] = F[i]
    measured = "simulated_ms" in COLUMN
    if (measured && heading == "") {
        heading = $0 ",again"
        first_columns = columns
    } else if (measured && heading != $0 ",again")
        fail(FILENAME " has other columns than the first file")
    next
}

{
    csv_split($0)
    if (measured)
        keep(field("run") "/" field("settings.connections"), field("time_ms") + 0)
    else {
        SIMULATED[field("run")] = field("time_ms")
        INTERVAL[field("run")] = "," field("time_low_ms") "," field("time_high_ms")
    }
}

END {
    if (failed || settings)
        exit failed
    print heading ",low_ms,high_ms"
    for (s = 1; s <= count; s++) {
        if (!(SETTING[s] in SIMULATED))
            fail("there is no simulated run for one of the settings")
        print row(SETTING[s])
    }
}

function fail(why) {
    if (!failed)
        print "judge.awk: " why > "/dev/stderr"
    failed = 1
    exit 1
}

function keep(setting, span,    i) {
    if (!(setting in FASTEST)) {
        SETTING[++count] = setting
        SLOWEST[setting] = span
        if (settings)
            printf "[%s]\n%s\n", setting, given_settings("", " = ", "\n")
    } else if (span >= FASTEST[setting]) {
        if (span > SLOWEST[setting])
            SLOWEST[setting] = span
        return
    }
    FASTEST[setting] = span
    for (i = 1; i <= columns; i++)
        VALUE[setting, i] = F[i]
}

function row(setting,    i, name, text, out) {
    for (i = 1; i <= first_columns; i++) {
        name = NAME[i]
        text = VALUE[setting, i]
        if (name == "simulated_ms")
            text = SIMULATED[setting]
        else if (name == "error")
            text = sprintf("%.6g", SIMULATED[setting] / FASTEST[setting] - 1)
        else if (name == "machine")
            text = machine
        else if (name ~ /^(traced_error|start_.*|end_.*|same_order)$/)
            text = ""
        out = out csv_quoted(text) ","
    }
    return out sprintf("%.6g", SLOWEST[setting] / FASTEST[setting] - 1) INTERVAL[setting]
}
