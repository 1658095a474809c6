# summary.awk - how far the simulator is from the device, against the goals, and where it is worst.
#
#     awk -f plots/csv.awk -f bench/accuracy/shared.awk -f bench/accuracy/summary.awk accuracy.csv
#
# Reads what run.sh gathered. Settings that may be used to fit a machine file ("fit-12") are not
# judged: the others are held back. Quantiles are by nearest rank.

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
    put_wrong_orders()
    put_worst()
}

function fail(why) {
    failed = 1
    print "summary.awk: " why > "/dev/stderr"
    exit 1
}

function size_of(value) {
    return value < 0 ? -value : value
}

function larger(a, b) {
    return a > b ? a : b
}

# --- reading ---

# Keeps a value of the setting `row` in the list `name`, whose settings are quantiled together.
function keep(name, value) {
    VALUES[name, ++COUNT[name]] = value
}

# Names that are numbers are of the settings of 2026-11-21: of those each third was to fit.
function is_to_fit(name) {
    return name ~ /^fit-/ || (name ~ /^[0-9]/ && (name + 0) % 3 == 0)
}

function add(    name, measured, error) {
    name = field("run")
    measured = field("time_ms") + 0
    if (measured <= 0)
        fail("the run '" name "' took no time")
    count++
    error = field("simulated_ms") / measured - 1
    SOURCE = field("source") ", " field("device")
    MACHINE = field("machine")
    if (is_to_fit(name)) {
        fitted++
        keep("fitted", error)
        return
    }
    NAME[++held] = name
    ERROR[held] = error
    TIME[held] = measured
    NOISE[held] = larger(field("noise") + 0, field("again") + 0)
    OPTIONS[held] = given_settings("--", "=", " ")
    sub(/--callbacks=yes/, "--callbacks", OPTIONS[held])
    keep("noise", field("noise") + 0)
    if (field("again") != "")
        keep("again", field("again") + 0)
    if (field("low_ms") != "") {
        keep("covered", measured >= field("low_ms") + 0 && measured <= field("high_ms") + 0)
        keep("width", (field("high_ms") - field("low_ms")) / field("simulated_ms"))
    }
    if (field("same_order") != "") {
        keep("start", field("start_p95_ms") / measured)
        keep("end", field("end_p95_ms") / measured)
        keep("astray", 1 - field("same_order"))
    }
    add_groups(error)
    add_parts(error)
    add_order(name)
}

# --- the groups of settings that are judged ---

function add_groups(error,    memory, calls_back) {
    memory = field("settings.memory")
    calls_back = field("settings.callbacks") == "true" || field("settings.carry") == "callback" || \
                 field("settings.mistake") == "slow-callback"
    keep("held", error)
    if (memory == "pageable" || calls_back)
        keep("hard", error)
    else if (memory == "pinned" || memory == "registered")
        keep("plain", error)
}

# `rank` is the number by which the values of a group are sorted; values of one rank by their names.
function add_part(group, value, error, rank) {
    if (!((group, value) in RANK))
        PARTS[group] = PARTS[group] (PARTS[group] == "" ? "" : "|") value
    RANK[group, value] = rank + 0
    keep("part" SUBSEP group SUBSEP value, error)
}

# The first power of `base` above a value.
function power_above(value, base,    high) {
    for (high = 1; high <= value + 0; high *= base)
        ;
    return high
}

# "1 to 3", "4 to 15", "16 to 63"
function add_count(group, count, error,    high) {
    high = power_above(count, 4)
    add_part(group, high / 4 " to " high - 1, error, high)
}

function add_kernels(error,    chain, links, i, seen) {
    links = split(field("settings.kernel"), chain, ",")
    add_part("kernels", links, error, links)
    for (i = 1; i <= links; i++)
        if (!seen[chain[i]]++)
            add_part("kernel", chain[i], error)
    return chain[1] ~ /^(dgemm|sum-double)$/ ? 8 : 4
}

function add_sizes(error, width,    high, elements) {
    elements = field("settings.elements") + 0
    if (elements == 0)
        return
    high = power_above(elements, 16)
    add_part("elements", count_text(high / 16) " to " count_text(high), error, high)
    high = power_above(elements / field("settings.tiles") * width, 16)
    add_part("tile bytes", bytes_text(high / 16) " to " bytes_text(high), error, high)
}

function add_parts(error,    names, count, i, value, time, issue) {
    count = split("memory issue layout order ways", names, " ")
    for (i = 1; i <= count; i++)
        add_part(names[i], field("settings." names[i]), error)
    add_part("callbacks", field("settings.callbacks") == "true" ? "yes" : "no", error)
    value = field("settings.connections")
    add_part("connections", value == "" ? "by default" : value, error, value)
    value = field("settings.blocks")
    add_part("blocks", value == "" || value == "auto" ? "auto" : "given", error)
    add_part("priorities", field("settings.priorities") == "" ? "none" : "some", error)
    value = field("settings.mistake")
    add_part("mistake", value == "" ? "none" : value, error, value != "" && value != "none")
    if (field("settings.kernel") ~ /scan/)
        add_part("scan's carry", field("settings.carry"), error)
    add_count("streams", field("settings.streams"), error)
    add_count("tiles", field("settings.tiles"), error)
    add_sizes(error, add_kernels(error))
    time = power_above(field("time_ms") * 1e6, 10)
    add_part("time", time_text(time / 10) " to " time_text(time), error, time)
    issue = field("issue_ms") / field("time_ms")
    add_part("host issues for", issue < 0.5 ? "less than half of it" : \
             issue < 0.9 ? "half to 0.9 of it" : "0.9 of it or more", error, issue < 0.5 ? 0 : \
             issue < 0.9 ? 1 : 2)
}

# --- depth or breadth ---

function add_order(name,    pair, order) {
    order = field("settings.order")
    pair = name
    if (!sub("-" order "$", "", pair))
        return
    pair = pair "/" field("settings.connections")
    if (!((pair, "depth") in PAIRED) && !((pair, "breadth") in PAIRED))
        PAIR[++pairs_seen] = pair
    PAIRED[pair, order] = held
    PREDICTED[held] = field("simulated_ms") + 0
}

# The noise of a difference is that of both, taken together as of independent causes.
function judge_orders(    i, depth, breadth, gap, noise, good) {
    for (i = 1; i <= pairs_seen; i++) {
        if (!((PAIR[i], "depth") in PAIRED) || !((PAIR[i], "breadth") in PAIRED))
            continue
        pairs++
        depth = PAIRED[PAIR[i], "depth"]
        breadth = PAIRED[PAIR[i], "breadth"]
        gap = TIME[depth] - TIME[breadth]
        noise = sqrt((NOISE[depth] * TIME[depth]) ^ 2 + (NOISE[breadth] * TIME[breadth]) ^ 2)
        if (size_of(gap) <= larger(2 * noise, 0.03 * (gap > 0 ? TIME[breadth] : TIME[depth])))
            continue
        apart++
        good = gap * (PREDICTED[depth] - PREDICTED[breadth]) > 0
        right += good
        if (!good)
            WRONG[++wrongs] = depth SUBSEP breadth
    }
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

# The list of the errors' sizes, whose own signs say which way they are.
function sizes(name,    i) {
    if (!(name in SIZED)) {
        SIZED[name] = 1
        for (i = 1; i <= COUNT[name]; i++)
            keep(name SUBSEP "sizes", size_of(VALUES[name, i]))
    }
    return name SUBSEP "sizes"
}

# --- writing ---

function put_head() {
    print "The simulator (" MACHINE ") against: " SOURCE
    printf "%d settings; of those %d may be used to fit, and %d are held back and judged\n",
           count, fitted, held
}

function put_goal(what, value, goal, met) {
    printf "%-58s%14s", what, value
    print goal == "" ? "" : sprintf("   %-8s%s", goal, met ? "met" : "missed")
}

function percent(share) {
    return sprintf("%.2f %%", 100 * share)
}

# A line of a group's errors at a quantile, against the goal in hundredths.
function put_error(what, name, hundredths, goal,    value) {
    value = quantile(sizes(name), hundredths)
    put_goal(what, percent(value), goal " %", value <= goal / 100)
}

function put_goals() {
    printf "\n%-58s%14s   %s\n", "|error| of the time, of those held back", "", "goal"
    put_error("all " held " settings: median", "held", 50, 2)
    put_error("  95th percentile", "held", 95, 8)
    put_error("  worst", "held", 100, 20)
    if (COUNT["plain"] > 0) {
        put_error("pinned or registered, no callbacks (" COUNT["plain"] "): median", "plain", \
                  50, 1.5)
        put_error("  95th percentile", "plain", 95, 5)
    }
    if (COUNT["hard"] > 0)
        put_error("callbacks or pageable (" COUNT["hard"] "): median", "hard", 50, 5)
    put_order()
    if (COUNT["covered"] > 0)
        put_intervals()
    put_goal("noise of the device's repeats, median", percent(quantile("noise", 50)), "")
    put_goal("  95th percentile", percent(quantile("noise", 95)), "")
    if (COUNT["again"] > 0) {
        put_goal("the device itself at another time, median", percent(quantile("again", 50)), "")
        put_goal("  95th percentile", percent(quantile("again", 95)), "")
        put_goal("  largest", percent(quantile("again", 100)), "")
    }
    if (COUNT["astray"] > 0)
        put_spans()
}

function put_intervals(    i, inside, share) {
    for (i = 1; i <= COUNT["covered"]; i++)
        inside += VALUES["covered", i]
    share = inside / COUNT["covered"]
    put_goal("measured times in the interval of the simulated one", percent(share), "90 %", \
             share >= 0.85 && share <= 0.95)
    put_goal("  the interval's width, of the simulated time, median", \
             percent(quantile("width", 50)), "")
}

function put_spans() {
    put_goal("spans' starts off (p95), of the run, median", percent(quantile("start", 50)), "")
    put_goal("spans' ends off (p95), of the run, median", percent(quantile("end", 50)), "")
    put_goal("spans out of order on their engine, median", percent(quantile("astray", 50)), "")
    put_goal("  95th percentile", percent(quantile("astray", 95)), "")
}

function put_order() {
    judge_orders()
    if (pairs == 0)
        return
    put_goal("right one of depth and breadth, where clearly apart", right + 0 " of " apart + 0, \
             "all", right == apart)
    print "  (by over 3 % and twice the noise; of " pairs " pairs that differ in their order alone)"
}

function put_row(name, list) {
    printf "%-36s%9d%10s%10s%10s%10.2f %%\n", name, COUNT[list], percent(quantile(sizes(list), 50)),
           percent(quantile(sizes(list), 95)), percent(quantile(sizes(list), 100)),
           100 * quantile(list, 50)
}

function comes_after(group, a, b) {
    return RANK[group, a] != RANK[group, b] ? RANK[group, a] > RANK[group, b] : a "" > b ""
}

function put_group(group,    names, n, i, k, name) {
    n = split(PARTS[group], names, "|")
    for (i = 2; i <= n; i++) {
        name = names[i]
        for (k = i - 1; k >= 1 && comes_after(group, names[k], name); k--)
            names[k + 1] = names[k]
        names[k + 1] = name
    }
    for (i = 1; i <= n; i++)
        put_row(group " " names[i], "part" SUBSEP group SUBSEP names[i])
}

function put_parts(    groups, n, i) {
    print "\nBy the value of each option: the size of the error, and its median with its sign (+:"
    print "the simulator is too slow, -: too fast). A chain counts for each of its kernels."
    printf "%-36s%9s%10s%10s%10s%12s\n", "", "settings", "median", "p95", "worst", "signed"
    put_row("held back", "held")
    if (fitted > 0)
        put_row("may be used to fit", "fitted")
    n = split("memory|issue|callbacks|mistake|order|layout|ways|connections|streams|priorities|" \
              "blocks|scan's carry|elements|tiles|tile bytes|time|host issues for|kernels|kernel", \
              groups, "|")
    for (i = 1; i <= n; i++)
        put_group(groups[i])
}

function put_setting(i) {
    printf "%+9.2f %%%13s%10s  %s\n    %s\n", 100 * ERROR[i], time_text(TIME[i] * 1e6),
           percent(NOISE[i]), NAME[i], OPTIONS[i]
}

function put_wrong_orders(    i, two) {
    if (wrongs > 0)
        print "\nwhere the wrong one of depth and breadth was said to be faster\n" \
              "    error     measured     noise  setting"
    for (i = 1; i <= wrongs; i++) {
        split(WRONG[i], two, SUBSEP)
        put_setting(two[1])
        put_setting(two[2])
    }
}

function put_worst(    i, k, worst) {
    print "\nthe worst of those held back\n    error     measured     noise  setting"
    for (i = 1; i <= 20 && i <= held; i++) {
        worst = 0
        for (k = 1; k <= held; k++) {
            if (!(k in SHOWN) && (worst == 0 || size_of(ERROR[k]) > size_of(ERROR[worst])))
                worst = k
        }
        SHOWN[worst] = 1
        put_setting(worst)
    }
}
