# rooms.awk - the findings of check.sh. It reads these kinds of lines:
#
#     ROOM|pure or nothing|PATHS|WORDS          a row of docs/rooms.txt
#     include|FILE|PATH                         FILE includes "PATH"
#     file|FILE                                 FILE exists; an object of no file was left by an older one
#     inline|FILE|NAME                          the header FILE defines an inline function
#     call|FILE|NAME                            FILE calls what has that name
#     symbol|OBJECT|NAME|VALUE|CLASS|TYPE|...   what `nm -f sysv` says of OBJECT, section last
#
# A unit is a source and the header of its name: src/plan/plan for plan.c, plan.h and plan.o. Headers
# must not include each other in circles, nor units call each other so.

# What a pure room may need of the C library and libm, and of the compiler: nothing here reads or
# writes files, starts threads, or looks at the time or the environment.
BEGIN {
    split("malloc calloc realloc reallocarray free memcpy memmove memset memcmp memchr " \
          "strlen strcmp strncmp strcasecmp strncasecmp strcpy strncpy strcat strchr strrchr strstr " \
          "strpbrk strspn strcspn stpcpy strnlen strdup strndup strtok_r strtod strtol strtoll strtoul " \
          "strtoull newlocale uselocale snprintf vsnprintf sscanf qsort qsort_r bsearch tsearch tfind tdestroy abs labs llabs " \
          "tolower toupper __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __errno_location " \
          "fmax fmin fabs floor ceil round lround llround llrint lrint rint trunc sqrt cbrt pow exp exp2 expm1 " \
          "log log2 log10 log1p fmod modf frexp ldexp hypot sin cos tan nextafter " \
          "__divti3 __udivti3 __modti3 __umodti3 __udivmodti4 __multi3 __popcountdi2 " \
          "_GLOBAL_OFFSET_TABLE_ __stack_chk_fail __assert_fail", names, " ")
    for (i in names)
        allowed[names[i]] = 1
}

$1 == "include" {
    includer[++includes] = $2
    included[includes] = $3
    next
}

$1 == "file" {
    is_file[$2] = 1
    next
}

$1 == "inline" {
    inliner[$3] = $2
    next
}

$1 == "call" {
    caller[++calls] = $2
    called[calls] = $3
    next
}

$1 == "symbol" && ($2 ~ /^generated/ || source($2) in is_file) {
    symbol($2, $3, $5, $NF)
    next
}

$1 != "symbol" {
    room_name[++rooms] = $1
    pure[rooms] = $2 == "pure"
    room_paths[rooms] = $3
}

# _FORTIFY_SOURCE calls __strcpy_chk, which knows how much room there is, for strcpy; a glibc since
# 2.38 __isoc23_strtol, which reads C23's numbers, too, for strtol.
function symbol(object, name, class, section) {
    if (name ~ /^__.*_chk$/)
        name = substr(name, 3, length(name) - 6)
    sub(/^__isoc[0-9]+_/, "", name)
    if (class == "U" || class == "w")
        need[++needs] = object SUBSEP name
    else if (class ~ /[A-Z]/)
        definer[name] = object
    if (section ~ /^(\.(data|bss|tdata|tbss)|\*COM\*)/ && section !~ /^\.data\.rel\.ro/)
        writable[++writables] = object SUBSEP name
}

END {
    for (i = 1; i <= includes; i++)
        look_at_include(includer[i], included[i])
    for (i = 1; i <= needs; i++) {
        split(need[i], part, SUBSEP)
        look_at_need(part[1], part[2])
    }
    for (i = 1; i <= calls; i++)
        if (called[i] in inliner)
            edge(unit_of(caller[i]), unit_of(inliner[called[i]]), "needs " called[i])
    for (i = 1; i <= writables; i++) {
        split(writable[i], part, SUBSEP)
        if (pure[room_of(part[1])])
            finding(source(part[1]) " has data that can change: " part[2] " (" room_words(part[1]) " is pure)")
    }
    look_for_circles()
    if (rooms == 0 || includes == 0 || needs == 0)
        finding("no rooms, includes or symbols were read")
    print "rooms: " rooms " rooms, " nodes " files, " findings + 0 " findings"
    exit findings > 0
}

function finding(words) {
    if (words in found)
        return
    found[words] = 1
    findings++
    print "rooms: " words
}

# The number of the room with the longest path that `path` begins with.
function room_of(path,    r, i, n, paths, best, longest) {
    if (path in room_cache)
        return room_cache[path]
    for (r = 1; r <= rooms; r++) {
        n = split(room_paths[r], paths, " ")
        for (i = 1; i <= n; i++)
            if (index(path, stem(paths[i])) == 1 && length(stem(paths[i])) > longest + 0 && \
                (paths[i] ~ /\/$/ || unit_of(path) == unit_of(paths[i]))) {
                longest = length(stem(paths[i]))
                best = r
            }
    }
    if (!best)
        finding(path " is in no room of docs/rooms.txt")
    return room_cache[path] = best
}

function room_words(path) {
    return "room " room_name[room_of(path)]
}

function stem(path) {
    return path ~ /\/$/ ? path : unit_of(path)
}

function unit_of(path) {
    sub(/(\.cu)?\.[a-z]+$/, "", path)
    return path
}

# The C or CUDA file that an object was made of.
function source(object) {
    sub(/(\.cu)?\.o$/, "", object)
    return (object ".cu") in is_file ? object ".cu" : object ".c"
}

# A path in an include starts at src/ or at the root, and one without a folder where the file is.
function path_of(header, file) {
    if (header !~ /\//) {
        sub(/[^\/]*$/, header, file)
        return file
    }
    return header ~ /^(kernels|bench|docs|generated)\// ? header : "src/" header
}

function look_at_include(file, header,    path) {
    path = path_of(header, file)
    edge(file, path, "includes " header)
    if (room_of(file) && room_of(path) && room_of(path) > room_of(file))
        finding(file " includes \"" header "\": " room_words(path) " is below " room_words(file))
    else if (path ~ /(\/|_)parts[.]h$/ && room_of(path) != room_of(file))
        finding(file " includes \"" header "\", which is private to " room_words(path))
}

function look_at_need(object, name,    from, where) {
    where = room_of(object)
    if (!(name in definer)) {
        if (pure[where] && !(name in allowed))
            finding(source(object) " needs " name \
                    ", which no pure room and no allowed function of the C library gives")
        return
    }
    from = definer[name]
    edge(unit_of(object), unit_of(from), "needs " name)
    if (room_of(from) > where)
        finding(source(object) " needs " name " of " source(from) ": " room_words(from) " is below " \
                room_words(object))
}

# --- circles ---

function edge(from, to, why) {
    if (from == to)
        return
    if (!(from in targets))
        node[++nodes] = from
    if (!((from, to) in reason)) {
        reason[from, to] = why
        targets[from] = targets[from] " " to
    }
}

# Prints the shortest circle through each file or unit that is in one, but none twice.
function look_for_circles(    i, line) {
    for (i = 1; i <= nodes; i++) {
        if (node[i] in reported)
            continue
        line = circle_through(node[i])
        if (line != "")
            finding("circle: " line)
    }
}

function circle_through(start,    queue, head, tail, before, at, list, n, i, line, last) {
    queue[tail = 1] = start
    for (head = 1; head <= tail; head++) {
        at = queue[head]
        n = split(targets[at], list, " ")
        for (i = 1; i <= n; i++) {
            if (list[i] == start) {
                line = at " " reason[at, start]
                for (; ; at = before[at]) {
                    reported[at] = 1
                    if (at == start)
                        return line
                    line = before[at] " " reason[before[at], at] "; " line
                }
            }
            if (!(list[i] in before)) {
                before[list[i]] = at
                queue[++tail] = list[i]
            }
        }
    }
    return ""
}
