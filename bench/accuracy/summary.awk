# summary.awk - how far the simulator is from the device, against the goals, and where it is worst.
#
#     awk -f plots/csv.awk -f bench/accuracy/summary.awk accuracy.csv
#
# Reads what run.sh gathered. A setting's number is what its run's name begins with ("12-depth").
# Settings whose number 3 divides may be used to fit a machine file; the simulator is judged by the
# others, which are held back. Quantiles are by nearest rank.

!headed {
    csv_heading($0)
    headed = 1
    if (!("simulated_ms" in COLUMN && "settings.connections" in COLUMN))
        fail("this is not what pipeline compare --format=csv printed")
    next
}

{
    csv_split($0)
    add()
}

END {
    if (failed)
        exit 1
    if (count == 0)
        fail("there are no settings")
    put_head()
    put_goals()
    put_parts()
    put_worst()
}

function fail(why) {
    failed = 1
    print "summary.awk: " why > "/dev/stderr"
    exit 1
}

function size(value) {
    return value < 0 ? -value : value
}

# --- reading ---

# Keeps a value of the setting `row` in the list `name`, whose settings are quantiled together.
function keep(name, value) {
    VALUES[name, ++COUNT[name]] = value
}

function add(    name, number, measured, error) {
    name = field("run")
    number = name + 0
    measured = field("time_ms") + 0
    if (number < 1 || measured <= 0)
        fail("the run '" name "' has no number, or took no time")
    count++
    error = field("simulated_ms") / measured - 1
    SOURCE = field("source") ", " field("device")
    MACHINE = field("machine")
    if (number % 3 == 0) {
        fitted++
        keep("fitted", size(error))
        return
    }
    NAME[++held] = name ", connections=" field("settings.connections")
    ERROR[held] = error
    keep("held", size(error))
    keep("noise", field("noise") + 0)
    if (field("again") != "")
        keep("again", field("again") + 0)
    if (field("same_order") != "") {
        keep("start", field("start_p95_ms") / measured)
        keep("end", field("end_p95_ms") / measured)
        keep("astray", 1 - field("same_order"))
    }
    add_parts(size(error))
    add_order(field("settings.connections") "." number, field("settings.order"), measured)
}

function part(group, value, error) {
    if (!((group, value) in PART)) {
        PART[group, value] = 1
        PARTS[group] = PARTS[group] (PARTS[group] == "" ? "" : "|") value
    }
    keep("part" SUBSEP group SUBSEP value, error)
}

# The power of 4 that holds a count: "17 to 64".
function range(value,    low, high) {
    low = 0
    for (high = 4; high < value + 0; high *= 4)
        low = high
    return (low + 1) " to " high
}

function add_parts(error,    chain) {
    part("ways", field("settings.ways"), error)
    part("layout", field("settings.layout"), error)
    part("order", field("settings.order"), error)
    part("connections", field("settings.connections"), error)
    part("kernels", split(field("settings.kernel"), chain, ","), error)
    part("tiles", range(field("settings.tiles")), error)
    part("streams", range(field("settings.streams")), error)
    part("priorities", field("settings.priorities") == "" ? "none" : "some", error)
}

function add_order(pair, order, measured) {
    if (!(pair in SEEN))
        PAIR[++pairs_seen] = pair
    SEEN[pair] = 1
    TIME[pair, order] = measured
    PREDICTED[pair, order] = field("simulated_ms") + 0
    UNSURE[pair] += measured * field("again")
}

# --- quantiles ---

function sort(name,    i, k, value) {
    if (name in SORTED)
        return
    SORTED[name] = 1
    for (i = 2; i <= COUNT[name]; i++) {
        value = VALUES[name, i]
        for (k = i - 1; k >= 1 && VALUES[name, k] > value; k--)
            VALUES[name, k + 1] = VALUES[name, k]
        VALUES[name, k + 1] = value
    }
}

function quantile(name, hundredths) {
    if (COUNT[name] == 0)
        return 0
    sort(name)
    return VALUES[name, int((hundredths * COUNT[name] + 99) / 100)]
}

# --- writing ---

function put_head() {
    print "The simulator (" MACHINE ") against: " SOURCE
    printf "%d settings; of those %d may be used to fit, and %d are held back and judged\n",
           count, fitted, held
}

function put_goal(what, value, goal, met) {
    printf "%-44s%12s", what, value
    print goal == "" ? "" : sprintf("   %-14s%s", goal, met ? "met" : "missed")
}

function percent(share) {
    return sprintf("%.2f %%", 100 * share)
}

function put_goals() {
    printf "\n%-44s%12s   %s\n", "held back", "", "goal"
    put_goal("|error| of the span, median", percent(quantile("held", 50)), "2 %", \
             quantile("held", 50) <= 0.02)
    put_goal("  95th percentile", percent(quantile("held", 95)), "5 %", quantile("held", 95) <= 0.05)
    put_goal("  largest", percent(quantile("held", 100)), "10 %", quantile("held", 100) <= 0.1)
    put_goal("noise of the device's repeats, median", percent(quantile("noise", 50)), "")
    put_goal("  95th percentile", percent(quantile("noise", 95)), "")
    if (COUNT["again"] > 0) {
        put_goal("the device itself at another time, median", percent(quantile("again", 50)), "")
        put_goal("  95th percentile", percent(quantile("again", 95)), "")
        put_goal("  largest", percent(quantile("again", 100)), "")
    }
    put_order()
    if (COUNT["astray"] > 0)
        put_spans()
}

function put_spans() {
    put_goal("spans' starts off (p95), of the run, median", percent(quantile("start", 50)), "")
    put_goal("spans' ends off (p95), of the run, median", percent(quantile("end", 50)), "")
    put_goal("spans out of order on their engine, median", percent(quantile("astray", 50)), "")
    put_goal("  95th percentile", percent(quantile("astray", 95)), "")
}

function put_order(    i, pair, depth, breadth, pairs, apart, right, sure, sure_right, gain, good) {
    for (i = 1; i <= pairs_seen; i++) {
        pair = PAIR[i]
        if (!((pair, "depth") in TIME) || !((pair, "breadth") in TIME))
            continue
        pairs++
        depth = TIME[pair, "depth"]
        breadth = TIME[pair, "breadth"]
        if (size(depth - breadth) <= 0.03 * (depth < breadth ? depth : breadth))
            continue
        apart++
        gain = PREDICTED[pair, "depth"] - PREDICTED[pair, "breadth"]
        good = depth > breadth ? gain > 0 : gain < 0
        right += good
        if (size(depth - breadth) > UNSURE[pair]) {
            sure++
            sure_right += good
        }
    }
    put_goal("depth or breadth, where over 3 % apart", right + 0 " of " apart + 0, "all", \
             right == apart)
    printf "  (of %d pairs of settings that differ in their order alone)\n", pairs
    if (COUNT["again"] > 0)
        put_goal("  and by more than each from time to time", sure_right + 0 " of " sure + 0, "")
}

function put_row(name, list) {
    printf "%-24s%9d%11s%11s%11s\n", name, COUNT[list], percent(quantile(list, 50)),
           percent(quantile(list, 95)), percent(quantile(list, 100))
}

# In order of the number that a part's name begins with.
function put_group(group,    names, n, i, k, name) {
    n = split(PARTS[group], names, "|")
    for (i = 2; i <= n; i++) {
        name = names[i]
        for (k = i - 1; k >= 1 && (names[k] + 0 > name + 0); k--)
            names[k + 1] = names[k]
        names[k + 1] = name
    }
    for (i = 1; i <= n; i++)
        put_row(group " " names[i], "part" SUBSEP group SUBSEP names[i])
}

function put_parts(    groups, n, i) {
    printf "\n%-24s%9s%11s%11s%11s\n", "|error| of the span", "settings", "median", "p95", "largest"
    put_row("held back", "held")
    put_row("fitted on", "fitted")
    n = split("ways layout order connections kernels tiles streams priorities", groups, " ")
    for (i = 1; i <= n; i++)
        put_group(groups[i])
}

function put_worst(    i, k, worst) {
    print "\nthe worst of those held back"
    for (i = 1; i <= 10 && i <= held; i++) {
        worst = 0
        for (k = 1; k <= held; k++) {
            if (!(k in SHOWN) && (worst == 0 || size(ERROR[k]) > size(ERROR[worst])))
                worst = k
        }
        SHOWN[worst] = 1
        printf "%-36s%+10.2f %%\n", NAME[worst], 100 * ERROR[worst]
    }
}
