# record_roundtrip.awk OURS THEIRS - compares a plan of ours with the plan of its recording, both as
# `--dry-run --format=json` prints them: every op's kind, stream and bytes, and every edge. Streams may
# have other numbers. A plan that is a graph (-v graph=1) has no streams once it was recorded: its ops
# are compared by what each comes behind and before. Prints "OPS EDGES", or what differs, and exits 1.
function field(line, key,    at, text) {
    at = index(line, "\"" key "\":")
    if (at == 0)
        return ""
    text = substr(line, at + length(key) + 3)
    sub(/[,}].*/, "", text)
    gsub(/"/, "", text)
    return text
}

function differ(text) {
    print text
    failed = 1
    exit 1
}

# An op is a line, and so is a stream.
FNR == 1 { side++ }
/^ *{"kind":"[a-z-]*","priority":/ {
    streams[side, stream_count[side]++] = field($0, "kind") " " field($0, "priority")
    next
}
/^ *{"id":[0-9]*,"kind":/ {
    kind = field($0, "kind")
    if (kind == "cpu")
        next
    at = count[side]++
    kinds[side, at] = kind
    stream[side, at] = field($0, "stream")
    event[side, at] = field($0, "event")
    bytes[side, at] = kind == "callback" || kind == "kernel" ? "" : field(substr($0, 1, index($0, "\"reads\"")), "bytes")
}

# Sets `before` for all ops: the ops that each comes behind, as "|3||7|"; and how many of each kind.
function order(side, all,    i, k, other, latest, recorded, mask) {
    for (i = 0; i < all; i++) {
        mask = ""
        kind = kinds[side, i]
        if (stream[side, i] == "null")
            continue
        if (stream[side, i] in latest)
            mask = reach[side, latest[stream[side, i]]] "|" latest[stream[side, i]] "|"
        if (kind == "wait") {
            other = recorded[event[side, i]]
            k = split(reach[side, other] "|" other "|", parts, "|")
            for (; k > 0; k--)
                if (parts[k] != "" && index(mask, "|" parts[k] "|") == 0)
                    mask = mask "|" parts[k] "|"
        }
        if (kind == "record")
            recorded[event[side, i]] = i
        reach[side, i] = mask
        latest[stream[side, i]] = i
    }
}

function works(kind) {
    return kind == "h2d" || kind == "d2h" || kind == "d2d" || kind == "kernel" || kind == "memset"
}

# Sets `shapes` to each op with how many of each kind come before and behind it, and how often that is.
function describe(side, all,    i, k, other, name) {
    for (i = 0; i < all; i++) {
        if (!works(kinds[side, i]))
            continue
        k = split(reach[side, i], parts, "|")
        for (; k > 0; k--) {
            if (parts[k] == "" || !works(kinds[side, parts[k]]))
                continue
            behind[side, i, kinds[side, parts[k]]]++
            ahead[side, parts[k], kinds[side, i]]++
            edges[side]++
        }
    }
    for (i = 0; i < all; i++) {
        kind = kinds[side, i]
        if (!works(kind))
            continue
        name = kind " of " bytes[side, i] " behind " behind[side, i, "h2d"] + 0 "," behind[side, i, "kernel"] + 0 "," \
            behind[side, i, "d2h"] + 0 " before " ahead[side, i, "h2d"] + 0 "," ahead[side, i, "kernel"] + 0 "," \
            ahead[side, i, "d2h"] + 0
        shapes[name] += side == 1 ? 1 : -1
        works_count[side]++
    }
}

function compare_graph(    name) {
    for (side = 1; side <= 2; side++) {
        order(side, count[side])
        describe(side, count[side])
    }
    for (name in shapes)
        if (shapes[name] != 0)
            differ((shapes[name] > 0 ? "did not come back: " : "was not there: ") name)
    print works_count[1] + 0, edges[1] + 0
}

function compare_calls(    i, mine, other) {
    # The program itself waits behind the plan.
    if (count[2] == count[1] + 1 && kinds[2, count[1]] == "sync")
        count[2]--
    if (count[1] != count[2])
        differ(count[1] " ops came back as " count[2])
    for (i = 0; i < count[1]; i++) {
        if (kinds[1, i] != kinds[2, i])
            differ("op " i ": " kinds[1, i] " came back as " kinds[2, i])
        if (bytes[1, i] != bytes[2, i])
            differ("op " i ": " bytes[1, i] " bytes came back as " bytes[2, i])
        mine = stream[1, i]
        other = stream[2, i]
        if ((mine == "null") != (other == "null"))
            differ("op " i ": is in another stream")
        if (mine == "null")
            continue
        if (!(mine in renamed) && !(other in taken)) {
            renamed[mine] = other
            taken[other] = 1
            if (streams[1, mine] != streams[2, other])
                differ("stream " mine ", " streams[1, mine] ", came back as " streams[2, other])
        }
        if (!(mine in renamed) || renamed[mine] != other)
            differ("op " i ": is in another stream")
        edge_count += last[mine]++ > 0
        if (kinds[1, i] == "record") {
            recorded_ours[event[1, i]] = i
            recorded_theirs[event[2, i]] = i
        } else if (kinds[1, i] == "wait") {
            edge_count++
            if (recorded_ours[event[1, i]] != recorded_theirs[event[2, i]])
                differ("op " i ": waits for another record")
        }
    }
    print count[1], edge_count + 0
}

END {
    if (failed)
        exit 1
    if (count[1] == 0 || count[2] == 0)
        differ("no ops")
    if (graph)
        compare_graph()
    else
        compare_calls()
}
