/* host_place.c - where the host was: the line that makes a call, and what it was in while it
 * was in no call. */
#include "causes/evidence.h"
#include "core/compare.h"
#include "core/escape.h"
#include "core/items.h"
#include "core/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- words --- */

/* Puts a name of the program's, or the beginning of a long one, behind what was seen. */
static void put_name(char seen[VERDICT_SEEN], const char *before, const char *what,
                     const char *name, const char *behind)
{
    enum { COLUMNS = 64, ROOM = 4 * COLUMNS };
    char shown[ROOM];
    text_add(seen, VERDICT_SEEN, "", "%s%s%s%s", before, what,
             escape_fit(shown, ROOM, name, COLUMNS, ".."), behind);
}

/* The host is in a function of the program's own Python, and in an operator or range, within
 * that or elsewhere; NULL stands for none that is known. */
struct place {
    const char *function, *range;
};

/* Goes on from a place to a range within it. Python's functions are called "train.py(88):
 * step". Modules, built-in functions and those of libraries tell the program less than what
 * called them, and annotations less than the operators in them. */
static void place_enter(struct place *place, const char *name)
{
    static const char *const libraries[] = {
        "<",         "torch/",         "nn.Module: ",   "ProfilerStep", "threading.py(",
        "queue.py(", "contextlib.py(", "functools.py(", "concurrent/",  "multiprocessing/"};
    static const char *const folders[] = {"-packages/", "/lib/python", "/torchinductor_"};
    const char *python = strstr(name, ".py(");
    bool own = true;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        own &= strncmp(name, libraries[i], strlen(libraries[i])) != 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        own &= python == NULL || strstr(name, folders[i]) == NULL;
    if (own && python != NULL)
        *place = (struct place){name, NULL};
    else if (own && (place->range == NULL ||
                     (strstr(place->range, "::") == NULL && strstr(name, "::") != NULL)))
        place->range = name;
}

/* Says "in step at train.py:88" of "/home/me/train.py(88): step". */
static void put_function(const char *function, const char *before, char seen[VERDICT_SEEN])
{
    char file[64];
    const char *end = strstr(function, ".py(") + 3, *name = strstr(end, "): ");
    const char *begin = end;
    while (begin > function && begin[-1] != '/')
        begin--;
    snprintf(file, sizeof file, "%.*s", (int)(end - begin), begin);
    put_name(seen, before, " in ", name != NULL ? name + 3 : "code", " at ");
    put_name(seen, "", "", file, "");
    text_add(seen, VERDICT_SEEN, "", ":%.*s", (int)strspn(end + 1, "0123456789"), end + 1);
}

/* A moment of a thread, and where it is then. */
struct look {
    int64_t at_ns;
    uint64_t thread;
    struct place place;
};

COMPARE_BY(compare_looks, struct look, at_ns);

/* Finds where threads are, in order of time. O(n log n), and for each look what is around it.
 */
static void look_around(const struct timeline *timeline, struct look *looks, size_t count)
{
    const int64_t from_ns = timeline->ranges_from_ns;
    EACH (const struct host_range, range, timeline->ranges, timeline->range_count) {
        BISECT(first, k, 0, count, looks[k].at_ns + from_ns < range->start_ns);
        if (first == count)
            break; /* all that follow begin even later */
        for (size_t i = first; i < count && looks[i].at_ns + from_ns < range->end_ns; i++) {
            if (looks[i].thread == range->thread)
                place_enter(&looks[i].place, range->name);
        }
    }
}

void sight_put_line(const struct sight *sight, const char *before, char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = sight->judge->timeline;
    if (sight->call >= timeline->call_count)
        return;
    const struct host_call *call = &timeline->calls[sight->call];
    const char *line = timeline_call_line(timeline, call);
    const char *slash = line != NULL ? strrchr(line, '/') : NULL;
    struct look look = {.at_ns = call->start_ns, .thread = call->thread};
    look_around(timeline, &look, 1);
    if (line != NULL || look.place.function != NULL)
        text_add(seen, VERDICT_SEEN, "", "%.*s", (int)strcspn(before, "}"), before);
    if (line != NULL)
        put_name(seen, "", " at ", slash != NULL ? slash + 1 : line, "");
    else if (look.place.function != NULL)
        put_function(look.place.function, "", seen);
}

int64_t host_pause_ns(const struct judge *judge, uint32_t index, bool work)
{
    const struct host_call *calls = judge->timeline->calls;
    const uint32_t before = judge->trace.call_before[index];
    const int64_t once_ns = judge->trace.once_ns;
    const int64_t pause_ns =
        before != SPAN_NONE ? calls[index].start_ns - calls[before].end_ns : 0;
    const bool once = once_ns > 0 && pause_ns >= once_ns;
    return pause_ns > 0 && !once && (pause_ns > judge->trace.work_ns) == work ? pause_ns : 0;
}

/* --- where the host was then --- */

/* How often the host was where, by names: of functions, and of what else it was in. */
enum { LOOKS = 500 };
struct shares {
    struct names names;
    uint32_t counts[2 * LOOKS];
};

/* Autograd has an operator for each one of the program's, so all of them count as one; a number
 * behind a comma tells ranges of one name apart, so it is left out. */
static void add_share(struct shares *shares, const char *name)
{
    static const char gradients[] = "autograd";
    enum { LENGTH = sizeof gradients - 1 };
    uint32_t number;
    if (name != NULL &&
        names_number(&shares->names, name,
                     strncmp(name, gradients, LENGTH) == 0 ? LENGTH : strcspn(name, ","),
                     &number))
        shares->counts[number]++;
}

/* Adds the largest share of a function, or of another range, unless that is little of all.
 * Returns true if there is one. */
static bool put_share(const struct shares *shares, bool function, const char *before,
                      const char *of, char seen[VERDICT_SEEN])
{
    const char *name = NULL;
    uint32_t most = LOOKS / 10;
    for (size_t i = 0; i < shares->names.count; i++) {
        const char *text = shares->names.items[i]->text;
        if (shares->counts[i] > most && (strstr(text, ".py(") != NULL) == function) {
            most = shares->counts[i];
            name = text;
        }
    }
    if (name == NULL)
        return false;
    text_add(seen, VERDICT_SEEN, "", "%s%u%%%s", before, (100 * most + LOOKS / 2) / LOOKS, of);
    if (function)
        put_function(name, "", seen);
    else
        put_name(seen, " in \"", "", name, "\"");
    return true;
}

/* This looks as a sampling profiler does, at so many moments that lie as far apart. */
void host_put_shares(const struct judge *judge, bool work, const char *of,
                     char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = judge->timeline;
    struct shares shares = {.counts = {0}};
    struct look looks[LOOKS] = {{0}};
    int64_t all_ns = 0, passed_ns = 0, count = 0;
    for (uint32_t i = 0; i < timeline->call_count && timeline->range_count > 0; i++)
        all_ns = plus(all_ns, host_pause_ns(judge, i, work));
    for (uint32_t i = 0; i < timeline->call_count && all_ns >= LOOKS; i++) {
        const struct host_call *call = &timeline->calls[i];
        passed_ns = plus(passed_ns, host_pause_ns(judge, i, work));
        for (; count < LOOKS && count * (all_ns / LOOKS) < passed_ns; count++)
            looks[count] =
                (struct look){.at_ns = call->start_ns - (passed_ns - count * (all_ns / LOOKS)),
                              .thread = call->thread};
    }
    qsort(looks, (size_t)count, sizeof *looks, compare_looks);
    look_around(timeline, looks, (size_t)count);
    EACH (const struct look, look, looks, count) {
        add_share(&shares, look->place.range);
        add_share(&shares, look->place.function);
    }
    const bool said = put_share(&shares, false, "; ", of, seen);
    put_share(&shares, true, said ? ", " : "; ", said ? "" : of, seen);
    names_free(&shares.names);
}
