/* host_foreign.c - what was seen of the host: its calls, and that it is late: what it issues
 * comes when the device has done all that there was before. It issues slowly, or works for
 * itself in between. */
#include "causes/evidence.h"

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

enum evidence host_calls(struct sight *sight)
{
    const enum verdict_code code = sight->verdict->code;
    const struct tally *calls = &sight->judge->kept[code];
    const int64_t between_ns = sight->judge->between_ns[code];
    sight_note(sight, calls);
    if (sight->judge->timeline->call_count == 0) /* a simulated run has ops in their place */
        return sight_say(sight, EVIDENCE_CERTAIN,
                         code == VERDICT_SYNC_IN_LOOP
                             ? "{times:wait|waits} of the host, {sum_ns} in all"
                             : "{times:call|calls} of the host, {sum_ns} in all");
    sight->sum_ns = (double)(calls->sum_ns - between_ns);
    sight->every_ns = (double)between_ns;
    sight_say(sight, EVIDENCE_CERTAIN,
              "{times:call|calls} such as {call}{line} before the last op was issued, {sum_ns} "
              "in all");
    return between_ns > calls->sum_ns / 10
               ? sight_say(sight, EVIDENCE_CERTAIN, ", and {every_ns} around them")
               : EVIDENCE_CERTAIN;
}

void host_put_polls(struct sight *sight)
{
    const struct timeline *timeline = sight->judge->timeline;
    struct tally polls = {0};
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct host_call *call = &timeline->calls[i];
        if (call->not_ready)
            tally_add(&polls, i, call->end_ns - call->start_ns);
    }
    if (polls.count == 0)
        return;
    sight_note(sight, &polls);
    sight_say(sight, EVIDENCE_CERTAIN, "{times:call|calls} of {call} that said not ready");
}

/* Counts the times that the host was in no call, by the call behind them, and the calls among
 * these that then copied in from page-locked memory. */
static struct tally pauses_of(const struct judge *judge, uint32_t *pinned)
{
    const struct timeline *timeline = judge->timeline;
    struct tally pauses = {.longest = SPAN_NONE};
    *pinned = 0;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const uint32_t op = judge->trace.issued[i];
        const int64_t ns = host_pause_ns(judge, i, true);
        const struct span *span = op != SPAN_NONE ? &timeline->spans[op] : NULL;
        if (ns == 0)
            continue;
        tally_add(&pauses, i, ns);
        *pinned +=
            span != NULL && span->kind == OP_H2D && span->host_memory == HOST_MEMORY_PINNED;
    }
    return pauses;
}

enum evidence host_launches(struct sight *sight)
{
    const struct pace pace = pace_of(&sight->judge->trace);
    sight_times(sight, pace.late);
    sight->all = pace.ops;
    sight->each_ns = (double)(pace.work_ns / (pace.ops > 0 ? pace.ops : 1));
    sight->every_ns = (double)(pace.span_ns / (pace.ops > 1 ? pace.ops - 1 : 1));
    sight_say(sight, EVIDENCE_CERTAIN,
              "an op takes {each_ns}, and one begins every {every_ns}; {times} of {all} ops "
              "came when the device had done all before them");
    sight->verdict->times = pace.ops > 1 ? pace.late : 0;
    sight->verdict->carries_ns = pace.span_ns;
    host_put_shares(sight->judge, false, " of the time between calls", sight->verdict->seen);
    return pace_is_late(&pace) ? EVIDENCE_CERTAIN : EVIDENCE_LIKELY;
}

bool host_works(const struct judge *judge)
{
    uint32_t pinned;
    return pauses_of(judge, &pinned).count > 0;
}

enum evidence host_work(struct sight *sight)
{
    uint32_t pinned;
    const struct tally pauses = pauses_of(sight->judge, &pinned);
    sight_note(sight, &pauses);
    sight_say(sight, EVIDENCE_CERTAIN,
              "it was in no call to CUDA {times:time|times} for {sum_ns} in all, at most "
              "{longest_ns} before {call}{line}");
    host_put_shares(sight->judge, true, " of that", sight->verdict->seen);
    return 2 * pinned > pauses.count
               ? sight_say(sight, EVIDENCE_CERTAIN,
                           "; page-locked memory is copied in then: the host seems to fill it")
               : EVIDENCE_CERTAIN;
}
