/* facts_foreign.c - causes that a recording's facts show: what copies brought, who touched
 * managed memory, how events and pools were made. */
#include "analysis/analysis.h"
#include "causes/evidence.h"

#include <inttypes.h>
#include <stdio.h>

/* --- waits --- */

/* Returns true if an op copies a few bytes back. */
static bool reads_few(const struct span *span)
{
    enum { FEW_BYTES = 64 };
    return span->kind == OP_D2H && span->bytes > 0 && span->bytes <= FEW_BYTES;
}

/* Counts the waits for such copies among all waits, each from the copy's call on, and finds
 * the most bytes of such a copy. */
static struct tally count_readbacks(const struct judge *judge, uint32_t *waits, uint64_t *bytes)
{
    const struct timeline *timeline = judge->timeline;
    struct tally reads = {.count = 0};
    *waits = 0;
    *bytes = 0;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const enum host_call_kind kind = host_call_kind(timeline->calls[i].row);
        const uint32_t copy = kind == CALL_COPY_WAIT ? i : judge->trace.call_before[i];
        const uint32_t op = copy != SPAN_NONE ? judge->trace.issued[copy] : SPAN_NONE;
        if (kind != CALL_SYNC && kind != CALL_COPY_WAIT)
            continue;
        ++*waits;
        if (op == SPAN_NONE || !reads_few(&timeline->spans[op]))
            continue;
        *bytes = timeline->spans[op].bytes > *bytes ? timeline->spans[op].bytes : *bytes;
        tally_add(&reads, i, timeline->calls[i].end_ns - timeline->calls[copy].start_ns);
    }
    return reads;
}

bool facts_reads_back(const struct judge *judge)
{
    enum { BEHIND = 16 }; /* ops that come late after a wait: where more do, the host is slow */
    uint32_t waits;
    uint64_t bytes;
    const uint32_t reads = count_readbacks(judge, &waits, &bytes).count;
    return reads > 0 && 2 * reads >= waits && BEHIND * reads >= pace_of(&judge->trace).late;
}

/* Returns the copy back to pageable memory whose call lasted most of the time, though the copy
 * took next to none of that: it waited for all that was before it. NULL: there is none. */
static const struct span *waiting_copy(const struct judge *judge, struct tally *calls)
{
    enum { TIMES = 16 };
    *calls = traced_calls(&judge->trace, 1U << CALL_COPY | 1U << CALL_COPY_WAIT, INT64_MAX);
    const uint32_t op = calls->count > 0 ? judge->trace.issued[calls->longest] : SPAN_NONE;
    const struct span *copy = op != SPAN_NONE ? &judge->timeline->spans[op] : NULL;
    const bool waits = copy != NULL && copy->kind == OP_D2H &&
                       copy->host_memory == HOST_MEMORY_PAGEABLE &&
                       2 * calls->longest_ns > judge->time_ns &&
                       TIMES * (copy->end_ns - copy->start_ns) < calls->longest_ns;
    return waits ? copy : NULL;
}

bool facts_put_readback(struct sight *sight)
{
    uint32_t waits;
    uint64_t bytes;
    struct tally calls;
    const struct span *copy = waiting_copy(sight->judge, &calls);
    if (copy != NULL) {
        sight->call = calls.longest;
        sight->verdict->carries_ns = calls.longest_ns;
        sight->longest_ns = (double)calls.longest_ns;
        sight->most_bytes = (double)copy->bytes;
        sight_say(sight, EVIDENCE_LIKELY,
                  "the host was in one call of {call} for {longest_ns}: a copy of {most_bytes} "
                  "back to pageable memory waits for all that is before it");
        return true;
    }
    const struct tally reads = count_readbacks(sight->judge, &waits, &bytes);
    if (!facts_reads_back(sight->judge))
        return false;
    sight_times(sight, reads.count);
    sight->all = waits;
    sight->copies = (double)bytes;
    sight->sum_ns = (double)reads.sum_ns;
    sight_say(sight, EVIDENCE_CERTAIN,
              "a copy back of {copies} bytes or less, then a wait: {times} of {all} "
              "waits, {sum_ns} in all; the host issues on by what it reads");
    return true;
}

int64_t facts_readback_ns(const struct judge *judge)
{
    const struct timeline *timeline = judge->timeline;
    int64_t sum_ns = 0, ended_ns = INT64_MAX;
    bool reads = false;
    if (!facts_reads_back(judge))
        return 0;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        if (!op_on_device(span->kind))
            continue;
        if (reads_few(span)) {
            reads = true;
            continue;
        }
        sum_ns = plus(sum_ns, reads ? later(0, span->start_ns - ended_ns) : 0);
        ended_ns = ended_ns == INT64_MAX ? span->end_ns : later(ended_ns, span->end_ns);
        reads = false;
    }
    return sum_ns;
}

/* --- memory of pools --- */

enum evidence facts_null_free(struct sight *sight)
{
    const struct traced *trace = &sight->judge->trace;
    sight_times(sight, traced_calls(trace, 1U << CALL_POOL, INT64_MAX).count);
    return sight_say(sight, EVIDENCE_LIKELY,
                     "ops of blocking streams waited for each other where "
                     "{times:call|calls} such as cudaFreeAsync had come in between: without "
                     "a stream it is one of the default stream's");
}

enum evidence facts_pool(struct sight *sight)
{
    const struct plan *plan = sight->judge->facts->plan;
    sight_note(sight, &sight->judge->kept[VERDICT_ALLOC_IN_STREAM]);
    sight->also = plan != NULL && !plan->recorded->facts.keeps_pools
                      ? "; no pool was told to keep its memory"
                      : "";
    return sight_say(sight, EVIDENCE_CERTAIN,
                     "{times:call|calls} such as {call} took {sum_ns} in all, the longest "
                     "{longest_ns}{also}");
}

/* --- copies that bring the same --- */

/* Tells of those from the place that most bytes came from again in one copy. */
enum evidence facts_repeats(struct sight *sight)
{
    const struct plan *plan = sight->judge->facts->plan;
    const struct op_recorded *seen = plan->recorded->ops;
    const struct range *from = &plan->ops[0].copy.host;
    char address[24];
    uint32_t repeats = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (seen[i].repeats && op_bytes(&plan->ops[i]) > bytes) {
            from = &plan->ops[i].copy.host;
            bytes = from->bytes;
        }
    }
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const bool same = plan->ops[i].kind == OP_H2D && seen[i].took != 0 &&
                          range_equal(&plan->ops[i].copy.host, from);
        sight->all += same;
        repeats += same && seen[i].repeats;
    }
    sight_times(sight, repeats);
    sight->most_bytes = (double)bytes;
    snprintf(address, sizeof address, "0x%" PRIx64,
             plan->recorded->buffers[from->buffer].address + from->offset);
    sight->also = address;
    return sight_say(sight, EVIDENCE_LIKELY,
                     "{times} of {all} copies in from {also}, {most_bytes} each, brought the "
                     "same bytes as the time before, sampled");
}

/* --- managed memory --- */

/* Counts the copies that no call asked for, though the trace has the calls: moves of pages,
 * which recordings have lines of their own for, and Chrome traces none. */
static struct tally count_moves(const struct judge *judge)
{
    const struct timeline *timeline = judge->timeline;
    struct tally moves = {.count = 0};
    const bool known = !timeline->issue_unknown && timeline->timing != TIMING_RECORDED &&
                       timeline->timing != TIMING_CHROME;
    for (uint32_t i = 0; i < timeline->span_count && known; i++) {
        const struct span *span = &timeline->spans[i];
        const bool cut = timeline->partial && span->start_ns == 0; /* where its call is, too */
        if (!op_is_copy(span->kind) || span->issue_ns != span->start_ns || cut ||
            traced_call_of(&judge->trace, i) != SPAN_NONE)
            continue;
        moves.count++;
        moves.sum_ns = plus(moves.sum_ns, span->end_ns - span->start_ns);
    }
    return moves;
}

/* Counts the kernels that may touch managed memory. */
static uint32_t count_managed(const struct plan *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op_recorded *seen = &plan->recorded->ops[i];
        bool managed = false;
        for (uint32_t k = 0; k < seen->access_count && !managed; k++) {
            const struct access *access = &plan->recorded->accesses[seen->first_access + k];
            managed = plan->recorded->buffers[access->range.buffer].managed;
        }
        count += managed && plan->ops[i].kind == OP_KERNEL;
    }
    return count;
}

enum evidence facts_faults(struct sight *sight)
{
    const struct plan *plan = sight->judge->facts->plan;
    const struct recorded_facts *facts = plan != NULL ? &plan->recorded->facts : NULL;
    if (facts == NULL) {
        const struct tally moves = count_moves(sight->judge);
        sight_note(sight, &moves);
        return sight_say(sight, EVIDENCE_LIKELY,
                         "pages of managed memory moved {times} times, for {sum_ns} in all");
    }
    if (facts->faults > 0) {
        sight_note(sight, &(struct tally){.count = facts->faults, .sum_ns = facts->faults_ns});
        sight->most_bytes = (double)facts->fault_bytes;
        return sight_say(sight, EVIDENCE_CERTAIN,
                         "pages of managed memory moved {times:time|times} as they were "
                         "touched, {most_bytes} in {sum_ns}");
    }
    sight_times(sight, count_managed(plan));
    sight->also = facts->prefetches > 0 ? "little" : "nothing";
    return sight_say(sight, EVIDENCE_LIKELY,
                     "{times:kernel works|kernels work} with managed memory, and {also} is "
                     "prefetched");
}

/* --- events, devices --- */

enum evidence facts_timed(struct sight *sight)
{
    const struct recorded_facts *facts = &sight->judge->facts->plan->recorded->facts;
    sight_times(sight, facts->timed_events);
    sight->all = facts->events;
    sight->queues = sight->judge->facts->model->queues;
    return sight_say(sight, EVIDENCE_LIKELY,
                     "{times} of {all} events keep the time, and streams share "
                     "{queues:hardware queue|hardware queues}");
}

enum evidence facts_peers(struct sight *sight)
{
    const struct plan *plan = sight->judge->facts->plan;
    struct tally copies = {.count = 0};
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (plan->ops[i].kind != OP_PEER)
            continue;
        tally_add(&copies, 0, plan->recorded->ops[i].work_ns);
        bytes += op_bytes(&plan->ops[i]);
    }
    sight_times(sight, copies.count);
    sight->own_rate = copies.sum_ns > 0 ? (double)bytes / (double)copies.sum_ns : 0;
    sight->link_rate = sight->judge->facts->model->peer_bytes_per_s / 1e9;
    return sight_say(sight, EVIDENCE_CERTAIN,
                     "{times:copy|copies} between devices ran at {own_rate} GB/s, where their "
                     "link does {link_rate}; no device was given access to another's memory");
}

enum evidence facts_other_device(struct sight *sight)
{
    const struct judge *judge = sight->judge;
    uint32_t held = 0, ops = 0;
    for (uint32_t i = 0; i < judge->timeline->span_count; i++) {
        held += judge->facts->critical->holds[i].by == HELD_BY_DEVICE;
        ops += !op_is_call(judge->timeline->spans[i].kind);
    }
    sight_times(sight, held);
    sight->all = ops;
    return sight_say(sight, EVIDENCE_CERTAIN,
                     "{times} of {all} ops could begin only when an event of another device "
                     "came, which their streams waited for");
}

bool facts_moves_pages(const struct judge *judge)
{
    const struct plan *plan = judge->facts->plan;
    return count_moves(judge).count > 0 || (plan != NULL && count_managed(plan) > 0);
}

/* --- what holds things up unseen --- */

enum verdict_code facts_suspect(const struct judge *judge)
{
    const struct plan *plan = judge->facts->plan;
    const struct recorded_facts *facts = plan != NULL ? &plan->recorded->facts : NULL;
    struct tally calls;
    if (waiting_copy(judge, &calls) != NULL)
        return VERDICT_SYNC_IN_LOOP;
    if (traced_keeps_loading(&judge->trace))
        return VERDICT_LAZY_LOADING;
    if (facts_moves_pages(judge))
        return facts == NULL || facts->faults > 0 || facts->prefetches == 0
                   ? VERDICT_PAGE_FAULTS
                   : VERDICT_REST; /* they move as they were asked to */
    return VERDICT_UNKNOWN;
}

/* --- what is not seen --- */

uint32_t facts_unseen_knobs(const struct judge *judge)
{
    const struct engine_use *engines = judge->trace.analysis.engines;
    const bool tiles =
        engines[ENGINE_H2D].spans + engines[ENGINE_D2H].spans > 0 && !facts_reads_back(judge);
    const bool room = judge->timeline->streams < 2 || judge->stream_waits > 0;
    return (judge->trace.in_graphs ? 1U << CHANGE_GRAPH : 0) |
           (room ? 0 : 1U << CHANGE_STREAMS) | (tiles ? 0 : 1U << CHANGE_SIZES) |
           (host_works(judge) ? 0 : 1U << CHANGE_WORK);
}

/* --- what is not known --- */

/* Returns true if kernels that take `shared_ns` where blocks slow each other would have to
 * share multiprocessors more, to take `fixed_ns`, than those of the run did: how much that
 * slows them is not known, as a kernel that waits for memory leaves room that one that computes
 * does not. */
static bool shares_more(const struct judge *judge, int64_t shared_ns, int64_t fixed_ns)
{
    static const double MORE = 1.1; /* what kernels' ends and beginnings leave is not it */
    const struct verdict_case *facts = judge->facts;
    const double busy_ns = (double)judge->trace.analysis.engines[ENGINE_COMPUTE].busy_ns;
    const double run_ns = (double)chain_shared_ns(facts->plan, facts->model);
    const double shared = run_ns > busy_ns && busy_ns > 0 ? run_ns / busy_ns : 1;
    return (double)shared_ns > MORE * shared * (double)fixed_ns;
}

bool facts_withhold(const struct judge *judge, struct verdicts *verdicts)
{
    const struct found *found = &judge->found;
    EACH (struct verdict, verdict, verdicts->items, verdicts->count) {
        bool shares = false;
        for (int k = 0; k < found->count; k++)
            shares |= found->knobs[k].code == verdict->code &&
                      shares_more(judge, found->knobs[k].shared_ns, found->knobs[k].fixed_ns);
        if (!shares || verdict->predicted_ns == 0)
            continue;
        verdict->predicted_ns = 0;
        verdict->no_time = "with it kernels share multiprocessors, and how much they slow each "
                           "other there is not known: no time is predicted";
    }
    return shares_more(judge, found->shared_ns, found->better_ns);
}
