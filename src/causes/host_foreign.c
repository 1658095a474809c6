/* host_foreign.c - what was seen of the host: its calls, and that it is late: what it issues
 * comes when the device has done all that there was before. It issues slowly, or works for
 * itself in between. */
#include "causes/judge.h"
#include "core/compare.h"
#include "core/escape.h"
#include "core/items.h"
#include "core/names.h"
#include "core/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- words --- */

const char *foreign_counted(uint32_t count, const char *one, const char *many,
                            char text[FOREIGN_COUNT])
{
    snprintf(text, FOREIGN_COUNT, "%" PRIu32 " %s", count, count == 1 ? one : many);
    return text;
}

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

void foreign_put_line(const struct judge *judge, uint32_t index, const char *before,
                      char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = judge->timeline;
    if (index >= timeline->call_count)
        return;
    const struct host_call *call = &timeline->calls[index];
    const char *line = timeline_call_line(timeline, call);
    const char *slash = line != NULL ? strrchr(line, '/') : NULL;
    struct look look = {.at_ns = call->start_ns, .thread = call->thread};
    look_around(timeline, &look, 1);
    if (line != NULL)
        put_name(seen, before, " at ", slash != NULL ? slash + 1 : line, "");
    else if (look.place.function != NULL)
        put_function(look.place.function, before, seen);
}

/* --- a host that is late --- */

int64_t foreign_giving_back_ns(const struct judge *judge, uint32_t index)
{
    const struct host_call *call = &judge->timeline->calls[index];
    const bool gives =
        host_call_kind(call->row) == CALL_SYNC && traced_again(&judge->trace, CALL_POOL);
    const uint32_t last = gives ? traced_ended_by(&judge->trace, call->end_ns) : SPAN_NONE;
    if (last == SPAN_NONE)
        return 0;
    const int64_t behind_ns =
        call->end_ns - later(call->start_ns, judge->timeline->spans[last].end_ns);
    return behind_ns > TRACED_LATE_NS ? behind_ns : 0;
}

void foreign_note_seen(struct verdict *verdict, uint32_t times, int64_t sum_ns)
{
    const bool host = (verdict_rows[verdict->code].traits & KEEPS_ISSUE) ||
                      verdict->code == VERDICT_HOST_WORK;
    const int64_t ways_ns = host ? 0 : (int64_t)times * TRACED_LATE_NS;
    verdict->times = times;
    verdict->carries_ns = plus(sum_ns, ways_ns);
}

enum verdict_code host_op_cause(const struct judge *judge, const struct span *span)
{
    const bool pinned = span->kind == OP_ALLOC && span->link == SPAN_PINNED_PAIR;
    return op_is_sync(span->kind)    ? VERDICT_SYNC_IN_LOOP
           : span->kind == OP_PACK   ? VERDICT_PACKING
           : span->kind != OP_ALLOC  ? VERDICT_REST
           : !pinned                 ? VERDICT_ALLOC_IN_LOOP
           : judge->trace.pins_first ? VERDICT_PIN_IN_RUN
                                     : VERDICT_PINNED_ALLOC_IN_LOOP;
}

/* Says it of ops of the host's, which a simulated run has in the place of calls. */
static void put_ops(const struct tally *ops, struct verdict *verdict)
{
    char text[FOREIGN_COUNT], time[UNITS_TEXT];
    snprintf(verdict->seen, VERDICT_SEEN, "%s of the host, %s in all",
             verdict->code == VERDICT_SYNC_IN_LOOP
                 ? foreign_counted(ops->count, "wait", "waits", text)
                 : foreign_counted(ops->count, "call", "calls", text),
             units_time(ops->sum_ns, time));
    foreign_note_seen(verdict, ops->count, ops->sum_ns);
}

void host_put_calls(const struct judge *judge, const struct tally *calls, int64_t between_ns,
                    struct verdict *verdict)
{
    char text[FOREIGN_COUNT], time[UNITS_TEXT], between[UNITS_TEXT];
    if (judge->timeline->call_count == 0) {
        put_ops(&judge->kept[verdict->code], verdict);
        return;
    }
    const uint16_t row = calls->count > 0 ? judge->timeline->calls[calls->longest].row : 0;
    snprintf(verdict->seen, VERDICT_SEEN, "%s such as %s",
             foreign_counted(calls->count, "call", "calls", text), host_call_name(row));
    foreign_put_line(judge, calls->longest, "", verdict->seen);
    text_add(verdict->seen, VERDICT_SEEN, "", " before the last op was issued, %s in all",
             units_time(calls->sum_ns - between_ns, time));
    if (between_ns > calls->sum_ns / 10)
        text_add(verdict->seen, VERDICT_SEEN, "", ", and %s around them",
                 units_time(between_ns, between));
    foreign_note_seen(verdict, calls->count, calls->sum_ns);
}

void host_put_polls(const struct judge *judge, struct verdict *verdict)
{
    const struct timeline *timeline = judge->timeline;
    struct tally polls = {0};
    char calls[FOREIGN_COUNT];
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *call = &timeline->calls[i];
        if (call->not_ready)
            tally_add(&polls, i, call->end_ns - call->start_ns);
    }
    if (polls.count == 0)
        return;
    snprintf(verdict->seen, VERDICT_SEEN, "%s of %s that said not ready",
             foreign_counted(polls.count, "call", "calls", calls),
             host_call_name(timeline->calls[polls.longest].row));
    foreign_note_seen(verdict, polls.count, polls.sum_ns);
}

/* Returns how long the host was in no call before call `index`, if it worked for itself then
 * or, unless `work`, if it did not; else 0. */
static int64_t pause_ns(const struct judge *judge, uint32_t index, bool work)
{
    const struct host_call *calls = judge->timeline->calls;
    const uint32_t before = judge->trace.call_before[index];
    const int64_t once_ns = judge->trace.once_ns;
    const int64_t pause_ns =
        before != SPAN_NONE ? calls[index].start_ns - calls[before].end_ns : 0;
    const bool once = once_ns > 0 && pause_ns >= once_ns;
    return pause_ns > 0 && !once && (pause_ns > judge->trace.work_ns) == work ? pause_ns : 0;
}

/* The times that the host was in no call, by the call behind them. */
struct pauses {
    uint32_t count, longest; /* a call; SPAN_NONE: none */
    int64_t sum_ns, longest_ns;
    uint32_t pinned; /* calls that then copied in from page-locked memory */
};

static struct pauses pauses_of(const struct judge *judge)
{
    const struct timeline *timeline = judge->timeline;
    struct pauses pauses = {.longest = SPAN_NONE};
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const uint32_t op = judge->trace.issued[i];
        const int64_t ns = pause_ns(judge, i, true);
        const struct span *span = op != SPAN_NONE ? &timeline->spans[op] : NULL;
        pauses.count += ns > 0;
        pauses.sum_ns = plus(pauses.sum_ns, ns);
        pauses.pinned += ns > 0 && span != NULL && span->kind == OP_H2D &&
                         span->host_memory == HOST_MEMORY_PINNED;
        pauses.longest = ns > pauses.longest_ns ? i : pauses.longest;
        pauses.longest_ns = later(pauses.longest_ns, ns);
    }
    return pauses;
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

/* Says in which operator or range, and in which function of the program, the host was for most
 * of its pauses, which `of` names: by looking as a sampling profiler does, at so many moments
 * that lie as far apart. */
static void put_shares(const struct judge *judge, bool work, const char *of,
                       char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = judge->timeline;
    struct shares shares = {.counts = {0}};
    struct look looks[LOOKS] = {{0}};
    int64_t all_ns = 0, passed_ns = 0, count = 0;
    for (uint32_t i = 0; i < timeline->call_count && timeline->range_count > 0; i++)
        all_ns = plus(all_ns, pause_ns(judge, i, work));
    for (uint32_t i = 0; i < timeline->call_count && all_ns >= LOOKS; i++) {
        const struct host_call *call = &timeline->calls[i];
        passed_ns = plus(passed_ns, pause_ns(judge, i, work));
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

enum evidence host_put_launches(const struct judge *judge, struct verdict *verdict)
{
    const struct pace pace = pace_of(&judge->trace);
    const int64_t ops = pace.ops > 0 ? pace.ops : 1, gaps = pace.ops > 1 ? pace.ops - 1 : 1;
    char work[UNITS_TEXT], each[UNITS_TEXT];
    snprintf(verdict->seen, VERDICT_SEEN,
             "an op takes %s, and one begins every %s; %" PRIu32 " of %" PRIu32
             " ops came when the device had done all before them",
             units_time(pace.work_ns / ops, work), units_time(pace.span_ns / gaps, each),
             pace.late, pace.ops);
    verdict->times = pace.ops > 1 ? pace.late : 0;
    verdict->carries_ns = pace.span_ns;
    put_shares(judge, false, " of the time between calls", verdict->seen);
    return pace_is_late(&pace) ? EVIDENCE_CERTAIN : EVIDENCE_LIKELY;
}

bool host_works(const struct judge *judge)
{
    return pauses_of(judge).count > 0;
}

enum evidence host_put_work(const struct judge *judge, struct verdict *verdict)
{
    const struct pauses pauses = pauses_of(judge);
    char sum[UNITS_TEXT], longest[UNITS_TEXT], times[FOREIGN_COUNT];
    snprintf(verdict->seen, VERDICT_SEEN,
             "it was in no call to CUDA %s for %s in all, at most %s before %s",
             foreign_counted(pauses.count, "time", "times", times),
             units_time(pauses.sum_ns, sum), units_time(pauses.longest_ns, longest),
             host_call_name(
                 pauses.longest != SPAN_NONE ? judge->timeline->calls[pauses.longest].row : 0));
    foreign_note_seen(verdict, pauses.count, pauses.sum_ns);
    foreign_put_line(judge, pauses.longest, "", verdict->seen);
    put_shares(judge, true, " of that", verdict->seen);
    if (2 * pauses.pinned > pauses.count)
        text_add(verdict->seen, VERDICT_SEEN, "",
                 "; page-locked memory is copied in then: the host seems to fill it");
    return EVIDENCE_CERTAIN;
}
