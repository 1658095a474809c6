/* host_foreign.c - what was seen of the host: its calls, and that it is late: what it issues
 * comes when the device has done all that there was before. It issues slowly, or works for
 * itself in between. */
#include "causes/foreign.h"
#include "core/escape.h"
#include "core/units.h"

#include <inttypes.h>
#include <stdio.h>
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

void foreign_put_line(const struct foreign *foreign, uint32_t index, const char *before,
                      char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    const char *line = index < timeline->call_count
                           ? timeline_call_line(timeline, &timeline->calls[index])
                           : NULL;
    const char *slash = line != NULL ? strrchr(line, '/') : NULL;
    if (line != NULL)
        put_name(seen, before, " at ", slash != NULL ? slash + 1 : line, "");
}

/* --- a host that is late --- */

int64_t foreign_giving_back_ns(const struct foreign *foreign, uint32_t index)
{
    const struct host_call *call = &foreign->timeline->calls[index];
    const bool gives =
        host_call_kind(call->row) == CALL_SYNC && traced_again(&foreign->trace, CALL_POOL);
    const uint32_t last = gives ? traced_ended_by(&foreign->trace, call->end_ns) : SPAN_NONE;
    if (last == SPAN_NONE)
        return 0;
    const int64_t behind_ns =
        call->end_ns - later(call->start_ns, foreign->timeline->spans[last].end_ns);
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

enum verdict_code host_op_cause(const struct foreign *foreign, const struct span *span)
{
    const bool pinned = span->kind == OP_ALLOC && span->link == SPAN_PINNED_PAIR;
    return op_is_sync(span->kind)      ? VERDICT_SYNC_IN_LOOP
           : span->kind == OP_PACK     ? VERDICT_PACKING
           : span->kind != OP_ALLOC    ? VERDICT_REST
           : !pinned                   ? VERDICT_ALLOC_IN_LOOP
           : foreign->trace.pins_first ? VERDICT_PIN_IN_RUN
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

void host_put_calls(const struct foreign *foreign, const struct tally *calls,
                    int64_t between_ns, struct verdict *verdict)
{
    char text[FOREIGN_COUNT], time[UNITS_TEXT], between[UNITS_TEXT];
    if (foreign->timeline->call_count == 0) {
        put_ops(&foreign->kept[verdict->code], verdict);
        return;
    }
    const uint16_t row = calls->count > 0 ? foreign->timeline->calls[calls->longest].row : 0;
    snprintf(verdict->seen, VERDICT_SEEN, "%s such as %s",
             foreign_counted(calls->count, "call", "calls", text), host_call_name(row));
    foreign_put_line(foreign, calls->longest, "", verdict->seen);
    text_add(verdict->seen, VERDICT_SEEN, "", " before the last op was issued, %s in all",
             units_time(calls->sum_ns - between_ns, time));
    if (between_ns > calls->sum_ns / 10)
        text_add(verdict->seen, VERDICT_SEEN, "", ", and %s around them",
                 units_time(between_ns, between));
    foreign_note_seen(verdict, calls->count, calls->sum_ns);
}

void host_put_polls(const struct foreign *foreign, struct verdict *verdict)
{
    const struct timeline *timeline = foreign->timeline;
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

enum evidence host_put_launches(const struct foreign *foreign, struct verdict *verdict)
{
    const struct pace pace = pace_of(&foreign->trace);
    const int64_t ops = pace.ops > 0 ? pace.ops : 1, gaps = pace.ops > 1 ? pace.ops - 1 : 1;
    char work[UNITS_TEXT], each[UNITS_TEXT];
    snprintf(verdict->seen, VERDICT_SEEN,
             "an op takes %s, and one begins every %s; %" PRIu32 " of %" PRIu32
             " ops came when the device had done all before them",
             units_time(pace.work_ns / ops, work), units_time(pace.span_ns / gaps, each),
             pace.late, pace.ops);
    verdict->times = pace.ops > 1 ? pace.late : 0;
    verdict->carries_ns = pace.span_ns;
    return pace_is_late(&pace) ? EVIDENCE_CERTAIN : EVIDENCE_LIKELY;
}

/* The times that the host was in no call, by the call behind them. */
struct pauses {
    uint32_t count, longest; /* a call; SPAN_NONE: none */
    int64_t sum_ns, longest_ns;
    uint32_t pinned; /* calls that then copied in from page-locked memory */
};

static struct pauses pauses_of(const struct foreign *foreign)
{
    const struct timeline *timeline = foreign->timeline;
    struct pauses pauses = {.longest = SPAN_NONE};
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const uint32_t before = foreign->trace.call_before[i], op = foreign->trace.issued[i];
        const int64_t pause_ns =
            before != SPAN_NONE ? timeline->calls[i].start_ns - timeline->calls[before].end_ns
                                : 0;
        if (pause_ns <= foreign->trace.work_ns ||
            (foreign->trace.once_ns > 0 && pause_ns >= foreign->trace.once_ns))
            continue;
        const struct span *span = op != SPAN_NONE ? &timeline->spans[op] : NULL;
        pauses.count++;
        pauses.sum_ns = plus(pauses.sum_ns, pause_ns);
        pauses.pinned +=
            span != NULL && span->kind == OP_H2D && span->host_memory == HOST_MEMORY_PINNED;
        pauses.longest = pause_ns > pauses.longest_ns ? i : pauses.longest;
        pauses.longest_ns = later(pauses.longest_ns, pause_ns);
    }
    return pauses;
}

/* Says in which NVTX range, or operator or function of Python, the host was for most of its
 * longest pause: of those around it, the one that began last. */
static void put_range(const struct foreign *foreign, const struct pauses *pauses,
                      char seen[VERDICT_SEEN])
{
    const struct timeline *timeline = foreign->timeline;
    if (pauses->longest == SPAN_NONE)
        return;
    const struct host_call *call = &timeline->calls[pauses->longest];
    const int64_t until_ns = call->start_ns + timeline->ranges_from_ns;
    const struct host_range *last = NULL;
    EACH (const struct host_range, range, timeline->ranges, timeline->range_count) {
        const int64_t inside_ns = earlier(range->end_ns, until_ns) -
                                  later(range->start_ns, until_ns - pauses->longest_ns);
        if (range->thread == call->thread && 2 * inside_ns > pauses->longest_ns)
            last = range;
    }
    if (last != NULL)
        put_name(seen, "", ", in range \"", last->name, "\"");
}

bool host_works(const struct foreign *foreign)
{
    return pauses_of(foreign).count > 0;
}

enum evidence host_put_work(const struct foreign *foreign, struct verdict *verdict)
{
    const struct pauses pauses = pauses_of(foreign);
    char sum[UNITS_TEXT], longest[UNITS_TEXT], times[FOREIGN_COUNT];
    snprintf(verdict->seen, VERDICT_SEEN,
             "it was in no call to CUDA %s for %s in all, at most %s before %s",
             foreign_counted(pauses.count, "time", "times", times),
             units_time(pauses.sum_ns, sum), units_time(pauses.longest_ns, longest),
             host_call_name(pauses.longest != SPAN_NONE
                                ? foreign->timeline->calls[pauses.longest].row
                                : 0));
    foreign_note_seen(verdict, pauses.count, pauses.sum_ns);
    foreign_put_line(foreign, pauses.longest, "", verdict->seen);
    put_range(foreign, &pauses, verdict->seen);
    if (2 * pauses.pinned > pauses.count)
        text_add(verdict->seen, VERDICT_SEEN, "",
                 "; page-locked memory is copied in then: the host seems to fill it");
    return EVIDENCE_CERTAIN;
}
