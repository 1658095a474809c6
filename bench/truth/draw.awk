# draw.awk - draws settings of which it is known what is wrong with them: bench/truth/cases.txt.
#
#     awk -f bench/truth/draw.awk -v seed=48271 -v program=build/pipeline > bench/truth/cases.txt
#     awk -f bench/truth/draw.awk -v seed=16807 -v program=build/pipeline -v part=apart >> bench/truth/cases.txt
#
# The simulator's times decide, never a verdict. A base is drawn over machines, kernels and options,
# and kept where nothing that is tried is faster by more than 2 %: such settings are clean. Tried are
# other tiles, streams, orders and layouts, a graph or none, no callbacks, blocks as the program
# chooses them, pinned memory, and, of 4 ways, 3. Other shares for the CPU, other connections, and 4
# ways in place of 3 are not. A fault is put into a base, and kept where it makes the run 10 %
# longer; missing-wait, which makes none longer, is kept anyhow. Of two faults at once each has to
# cost 5 % beside the other. The part `apart` is of small tiles that lie apart in the host's memory, go in
# batches, or are packed by the CPU: clean is the same work in large tiles that are handed over one by
# one, and of all ways for the small ones the given one is 10 % longer than the best. A line is the name of the device, the causes that the settings were
# drawn for (or "clean"), and the options.
BEGIN {
    state = seed
    machine_count = split("h200 h200 a100 k20c c2050 c1060 h200", machines)
    kernel_count = split( \
        "scale scale scale wave uniform divergent scale,scale wave,scale scale,scale,scale " \
        "sum sum-int sum-double all finite reduce-many reduce-shuffle reduce-sequential " \
        "reduce-unrolled scan scan-exclusive scan-efficient transpose-naive " \
        "transpose-conflict-free transpose-copy stride-copy dgemm scale,sum wave-launches", kernels)
    mistake_count = split( \
        "missing-wait pageable-memory legacy-stream blocking-stream sync-in-loop alloc-in-loop " \
        "pinned-alloc-in-loop launch-blocking slow-callback pin-in-run lazy-loading " \
        "memset-in-loop", mistakes)
    setting_count = split( \
        "few-tiles small-tiles one-stream few-streams needless-wait few-blocks cpu-share " \
        "pageable-memory mapped-memory one-copy-engine late-signal one-queue few-queues", settings)
    if (part == "apart") {
        draw_apart(60)
        exit
    }
    draw_clean(200, 50)
    draw_single(144, mistake_count, "mistake", 45)
    draw_single(105, setting_count, "setting", 40)
    draw_pairs(60, 20)
}

# Lehmer's generator (Park and Miller, CACM 1988) gives the same numbers in every awk.
function uniform() {
    state = (state * 48271) % 2147483647
    return state / 2147483647
}
function chance(p) { return uniform() < p }
function among(a, b) { return a + int(uniform() * (b - a + 1)) }
function power(a, b) { return 2 ^ among(a, b) }
function spread(a, b) { return int(exp(log(a) + uniform() * (log(b) - log(a))) + 0.5) }

# Returns the simulated time of the options in ms; 0 where they are refused.
function time_of(options,    command, line, fields, ms) {
    if (options in known)
        return known[options]
    command = program " -q --no-data --format=csv " options " 2>/dev/null"
    ms = 0
    while ((command | getline line) > 0)
        if (split(line, fields, ",") > 7 && fields[1] != "run")
            ms = fields[7]
        else if (fields[2] == "simulated")
            ms = fields[7]
    close(command)
    return known[options] = ms + 0
}

# Returns the least time of a sweep, 0 where it is refused.
function least_of(options,    command, line, fields, least) {
    command = program " -q --no-data --format=csv " options " 2>/dev/null"
    least = 0
    while ((command | getline line) > 0)
        if (split(line, fields, ",") > 7 && fields[2] == "simulated" && (least == 0 || fields[7] < least))
            least = fields[7]
    close(command)
    return least + 0
}

# The options of the present base: an array of names, joined in a fixed order.
function join(base,    names, count, i, text) {
    count = split("device elements kernel intensity rows inner columns tiles streams order layout ways " \
                  "cpu-share memory scatter issue pack batch blocks connections callbacks mistake", names, " ")
    text = ""
    for (i = 1; i <= count; i++)
        if (names[i] in base)
            text = text (text == "" ? "" : " ") "--" names[i] "=" base[names[i]]
    gsub("--callbacks=on", "--callbacks", text)
    gsub("--scatter=on", "--scatter", text)
    gsub("--pack=on", "--pack", text)
    return text
}

function with(base, name, value,    copy, key) {
    for (key in base)
        copy[key] = base[key]
    if (value == "")
        delete copy[name]
    else
        copy[name] = value
    return join(copy)
}

function modern(machine) { return machine == "h200" || machine == "a100" }

function draw_base(base, machine, fault,    kernel, k) {
    delete base
    base["device"] = "sim:" machine
    kernel = kernels[among(1, kernel_count)]
    if (fault == "few-blocks" || fault == "cpu-share")
        kernel = kernels[among(1, 6)]
    if (fault == "late-signal" || fault == "one-queue" || fault == "few-queues")
        kernel = "scale,scale"
    if (!modern(machine) && (kernel ~ /transpose|stride|dgemm/))
        kernel = "scale"
    base["kernel"] = kernel
    base["elements"] = modern(machine) ? power(24, 28) : machine == "k20c" ? power(23, 26) : power(22, 25)
    if (fault == "lazy-loading")
        base["elements"] = power(20, 22)
    if (kernel == "dgemm") {
        base["rows"] = 4096
        base["inner"] = spread(64, 704)
        base["elements"] = power(24, 26)
    }
    if (kernel ~ /scale|wave|uniform|divergent/)
        base["intensity"] = kernel ~ /launches/ ? among(1, 6) : modern(machine) ? spread(1, 2000) \
                          : machine == "k20c" ? spread(1, 400) : spread(1, 100)
    if (kernel ~ /wave/ && kernel !~ /launches/)
        base["intensity"] = modern(machine) ? spread(1, 40) : spread(1, 8)
    base["tiles"] = kernel ~ /transpose|stride|dgemm/ ? power(4, 6) : among(12, 64)
    base["streams"] = among(3, 8)
    base["order"] = chance(0.3) ? "breadth" : "depth"
    base["layout"] = chance(0.25) ? "stage" : "tile"
    base["ways"] = 3
    if ((fault == "cpu-share" || chance(0.12)) && kernel !~ /scan|dgemm/) {
        base["ways"] = 4
        base["cpu-share"] = "auto"
    }
    base["memory"] = chance(0.15) ? "registered" : "pinned"
    if (modern(machine) && chance(0.2))
        base["issue"] = "graph"
    if (!("issue" in base) && chance(0.12))
        base["callbacks"] = "on"
    if (fault == "one-queue" || fault == "few-queues") {
        base["connections"] = 32
        base["streams"] = fault == "one-queue" ? among(8, 32) : among(16, 32)
        base["blocks"] = modern(machine) ? among(40, 140) : among(6, 13)
        base["intensity"] = spread(500, 20000)
        base["elements"] = power(20, 24)
        base["layout"] = "tile"
        base["order"] = "depth"
        base["ways"] = 3
        delete base["cpu-share"]
        delete base["issue"]
        delete base["callbacks"]
    }
    if (fault ~ /queue|few-streams|one-stream|few-tiles|legacy|blocking-s|loop|late|copy-engine|wait$/)
        delete base["issue"]
}

# Returns whether nothing that is tried is faster by more than 2 %.
function is_clean(base,    own, best, i, text, t, tiles, options) {
    own = time_of(join(base))
    if (own <= 0)
        return 0
    best = own
    t = base["tiles"]
    tiles = int(t / 4) > 0 ? int(t / 4) "," int(t / 2) "," t "," 2 * t "," 4 * t : t "," 2 * t
    for (i = 0; i < 4; i++) {
        options = with(base, "order", i % 2 ? "breadth" : "depth")
        sub(/--layout=[a-z]*/, i < 2 ? "--layout=tile" : "--layout=stage", options)
        text = options
        sub(/ --tiles=[0-9]*/, "", text)
        sub(/ --streams=[0-9]*/, "", text)
        t = least_of(text " --sweep=tiles=" tiles " --sweep=streams=2,4,8,16")
        best = t > 0 && t < best ? t : best
    }
    best = least(best, time_of(with(base, "issue", "issue" in base ? "" : "graph")))
    best = least(best, time_of(with(base, "callbacks", "")))
    best = least(best, time_of(with(base, "blocks", "")))
    best = least(best, time_of(with(base, "memory", "pinned")))
    if (base["ways"] == 4)
        best = least(best, time_of(with(base, "ways", "3")))
    return own <= 1.02 * best
}
function least(a, b) { return b > 0 && b < a ? b : a }

# Puts a fault into the base. Returns whether that is possible.
function spoil(base, fault, machine) {
    if (fault in is_mistake) {
        if ("mistake" in base || (fault == "memset-in-loop" && modern(machine)) ||
            (fault == "lazy-loading" && !modern(machine)) || ("issue" in base))
            return 0
        if (fault == "missing-wait")
            base["layout"] = "stage"
        if (fault == "pageable-memory" && base["memory"] != "pinned")
            return 0
        base["mistake"] = fault
        return 1
    }
    if (fault == "few-tiles")
        base["tiles"] = among(1, 3)
    else if (fault == "small-tiles")
        base["tiles"] = least(16384, int(base["elements"] / power(10, 13)))
    else if (fault == "one-stream") {
        if (chance(0.5))
            base["streams"] = 1
        else
            base["ways"] = 1
        delete base["cpu-share"]
    } else if (fault == "few-streams")
        base["streams"] = 2
    else if (fault == "needless-wait") {
        base["ways"] = 2
        delete base["cpu-share"]
    } else if (fault == "few-blocks")
        base["blocks"] = spread(1, modern(machine) ? 40 : 6)
    else if (fault == "cpu-share") {
        base["ways"] = 4
        base["cpu-share"] = sprintf("%.2f", 0.05 + 0.85 * uniform())
    } else if (fault == "pageable-memory")
        base["memory"] = "pageable"
    else if (fault == "mapped-memory")
        base["memory"] = "mapped"
    else if (fault == "one-copy-engine") {
        if (machine != "c1060")
            return 0
        base["order"] = "depth"
        base["layout"] = "tile"
    } else if (fault == "late-signal") {
        if (machine != "c2050")
            return 0
        base["order"] = "breadth"
        base["layout"] = "tile"
    } else if (fault == "one-queue")
        base["connections"] = 1
    else if (fault == "few-queues")
        base["connections"] = among(2, 4)
    return 1
}

function draw_machine(i, wanted_h200, total, fault) {
    if (fault == "one-copy-engine")
        return "c1060"
    if (fault == "late-signal")
        return "c2050"
    if (i <= wanted_h200)
        return "h200"
    return machines[among(1, machine_count)]
}

function put(base, causes) {
    print substr(base["device"], 5), causes, join(base)
    fflush()
}

function draw_clean(count, on_h200,    i, base, machine) {
    for (i = 1; i <= count;) {
        machine = draw_machine(i, on_h200, count, "")
        draw_base(base, machine, "")
        if (!is_clean(base))
            continue
        put(base, "clean")
        i++
    }
}

function draw_single(count, kinds, kind, on_h200,    i, base, machine, fault, clean, tries) {
    for (i = 1; i <= kinds; i++)
        if (kind == "mistake")
            is_mistake[mistakes[i]] = 1
    for (i = 1; i <= count;) {
        fault = kind == "mistake" ? mistakes[i % kinds + 1] : settings[i % kinds + 1]
        if (tries++ > 200) { # it can't be had on that machine, or hardly
            i++
            tries = 0
            continue
        }
        if (kind == "setting")
            delete is_mistake["pageable-memory"]
        machine = draw_machine(i, on_h200, count, fault)
        draw_base(base, machine, fault)
        if (fault == "missing-wait")
            base["layout"] = "stage"
        if (!is_clean(base))
            continue
        clean = time_of(join(base))
        if (!spoil(base, fault, machine))
            continue
        if (time_of(join(base)) < (fault == "missing-wait" ? 0.5 : 1.1) * clean)
            continue
        put(base, fault)
        i++
        tries = 0
    }
    is_mistake["pageable-memory"] = 1
}

# Returns the least time of all ways for the base's tiles.
function best_way(base,    i, n, ways, text, best, t) {
    n = split("issue=streams issue=graph issue=batch pack memory=mapped memory=mapped+issue=graph " \
              "memory=mapped+issue=batch", ways, " ")
    for (i = 1; i <= n; i++) {
        text = join(base)
        gsub(/ --(issue|memory|batch)=[a-z0-9]*| --pack/, "", text)
        gsub(/[+]/, " --", ways[i])
        t = time_of(text " --" ways[i])
        best = best == 0 ? t : least(best, t)
    }
    return best
}

function draw_apart(count,    i, base, machine, fault, clean, tiles) {
    for (i = 1; i <= count;) {
        fault = i % 3 == 0 ? "packing" : "small-tiles"
        machine = chance(0.7) ? "h200" : machines[among(1, machine_count)]
        draw_base(base, machine, "")
        if (base["kernel"] ~ /scan|transpose|stride|dgemm|launches/)
            continue
        base["ways"] = 3
        delete base["cpu-share"]
        delete base["issue"]
        delete base["callbacks"]
        if (!is_clean(base))
            continue
        clean = time_of(join(base))
        tiles = least(16384, int(base["elements"] / power(12, 15)))
        base["scatter"] = "on"
        base["tiles"] = tiles
        if (fault == "packing")
            base["pack"] = "on"
        else if (chance(0.6))
            base["issue"] = chance(0.5) && machine == "h200" ? "batch" : modern(machine) ? "graph" : "streams"
        else if (machine == "h200" && chance(0.3)) # elsewhere not mapped at all may be the better way
            base["memory"] = "mapped"
        if (time_of(join(base)) < 1.1 * clean || time_of(join(base)) < 1.1 * best_way(base))
            continue
        if (fault == "packing" && chance(0.3))
            delete base["scatter"]
        put(base, fault)
        i++
    }
}

function draw_pairs(count, on_h200,    i, base, first, second, machine, a, b, both, only_a, only_b, key) {
    for (i = 1; i <= count;) {
        a = settings[among(1, 9)]
        b = chance(0.7) ? mistakes[among(2, 11)] : settings[among(1, 9)]
        if (a == b)
            continue
        machine = draw_machine(i, on_h200, count, "")
        draw_base(base, machine, a)
        delete is_mistake["pageable-memory"]
        if (b == "pageable-memory" && a == "mapped-memory" || a == "pageable-memory" && b == "mapped-memory" ||
            !is_clean(base))
            continue
        delete first
        delete second
        for (key in base)
            first[key] = second[key] = base[key]
        if (!spoil(first, a, machine) || !spoil(second, b, machine))
            continue
        only_a = time_of(join(first))
        only_b = time_of(join(second))
        for (key in second)
            if (!(key in base) || second[key] != base[key]) {
                if ((key in first) && (!(key in base) || first[key] != base[key]))
                    continue # both want the same option
                first[key] = second[key]
            }
        if (first["ways"] < 4)
            delete first["cpu-share"]
        both = time_of(join(first))
        if (only_a <= 0 || only_b <= 0 || both < 1.05 * only_a || both < 1.05 * only_b)
            continue
        put(first, a "," b)
        i++
    }
}
