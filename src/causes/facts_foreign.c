/* facts_foreign.c - causes that a recording's facts show: what copies brought, who touched
 * managed memory, how events and pools were made. */
#include "analysis/analysis.h"
#include "causes/judge.h"
#include "core/units.h"

#include <inttypes.h>
#include <stdio.h>

/* --- waits --- */

/* Returns true if an op copies a few bytes back. */
static bool reads_few(const struct span *span)
{
    enum { FEW_BYTES = 64 };
    return span->kind == OP_D2H && span->bytes > 0 && span->bytes <= FEW_BYTES;
}

bool facts_put_readback(const struct judge *judge, struct verdict *verdict)
{
    enum { BEHIND = 16 }; /* ops that come late after a wait: where more do, the host is slow */
    const struct traced *trace = &judge->trace;
    const struct timeline *timeline = judge->timeline;
    uint32_t waits = 0, reads = 0;
    uint64_t bytes = 0;
    int64_t sum_ns = 0;
    char text[UNITS_TEXT];
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const enum host_call_kind kind = host_call_kind(timeline->calls[i].row);
        const uint32_t copy = kind == CALL_COPY_WAIT ? i : trace->call_before[i];
        const uint32_t op = copy != SPAN_NONE ? trace->issued[copy] : SPAN_NONE;
        const struct span *span = op != SPAN_NONE ? &timeline->spans[op] : NULL;
        if (kind != CALL_SYNC && kind != CALL_COPY_WAIT)
            continue;
        const bool read = span != NULL && reads_few(span);
        waits++;
        reads += read;
        bytes = read && span->bytes > bytes ? span->bytes : bytes;
        if (read)
            sum_ns = plus(sum_ns, timeline->calls[i].end_ns - timeline->calls[copy].start_ns);
    }
    if (reads == 0 || 2 * reads < waits || BEHIND * reads < pace_of(trace).late)
        return false;
    if (verdict == NULL)
        return true;
    snprintf(verdict->seen, VERDICT_SEEN,
             "a copy back of %" PRIu64 " bytes or less, then a wait: %" PRIu32 " of %" PRIu32
             " waits, %s in all; the host issues on by what it reads",
             bytes, reads, waits, units_time(sum_ns, text));
    verdict->times = reads;
    return true;
}

int64_t facts_readback_ns(const struct judge *judge)
{
    const struct timeline *timeline = judge->timeline;
    int64_t sum_ns = 0, ended_ns = INT64_MAX;
    bool reads = false;
    if (!facts_put_readback(judge, NULL))
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

enum evidence facts_null_free(const struct judge *judge, struct verdict *verdict)
{
    const struct tally calls = traced_calls(&judge->trace, 1U << CALL_POOL, INT64_MAX);
    char text[FOREIGN_COUNT];
    snprintf(verdict->seen, VERDICT_SEEN,
             "ops of blocking streams waited for each other where %s such as cudaFreeAsync had "
             "come in between: without a stream it is one of the default stream's",
             foreign_counted(calls.count, "call", "calls", text));
    verdict->times = calls.count;
    return EVIDENCE_LIKELY;
}

enum evidence facts_pool(const struct judge *judge, struct verdict *verdict)
{
    const struct plan *plan = judge->facts->plan;
    const struct tally calls = judge->kept[VERDICT_ALLOC_IN_STREAM];
    char text[FOREIGN_COUNT], sum[UNITS_TEXT], longest[UNITS_TEXT];
    snprintf(verdict->seen, VERDICT_SEEN, "%s such as %s took %s in all, the longest %s%s",
             foreign_counted(calls.count, "call", "calls", text),
             host_call_name(calls.count > 0 ? judge->timeline->calls[calls.longest].row : 0),
             units_time(calls.sum_ns, sum), units_time(calls.longest_ns, longest),
             plan != NULL && !plan->recorded->facts.keeps_pools
                 ? "; no pool was told to keep its memory"
                 : "");
    foreign_note_seen(verdict, calls.count, calls.sum_ns);
    return EVIDENCE_CERTAIN;
}

/* --- copies that bring the same --- */

/* Tells of those from the place that most bytes came from again in one copy. */
enum evidence facts_repeats(const struct judge *judge, struct verdict *verdict)
{
    const struct plan *plan = judge->facts->plan;
    const struct op_recorded *seen = plan->recorded->ops;
    const struct range *from = &plan->ops[0].copy.host;
    uint32_t repeats = 0, copies = 0;
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
        copies += same;
        repeats += same && seen[i].repeats;
    }
    char text[UNITS_TEXT];
    snprintf(verdict->seen, VERDICT_SEEN,
             "%" PRIu32 " of %" PRIu32 " copies in from 0x%" PRIx64
             ", %s each, brought the same bytes as the time before, sampled",
             repeats, copies, plan->recorded->buffers[from->buffer].address + from->offset,
             units_bytes(bytes, text));
    verdict->times = repeats;
    return EVIDENCE_LIKELY;
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

enum evidence facts_faults(const struct judge *judge, struct verdict *verdict)
{
    const struct plan *plan = judge->facts->plan;
    char text[FOREIGN_COUNT], bytes[UNITS_TEXT], time[UNITS_TEXT];
    if (plan == NULL) {
        const struct tally moves = count_moves(judge);
        snprintf(verdict->seen, VERDICT_SEEN,
                 "pages of managed memory moved %" PRIu32 " times, for %s in all", moves.count,
                 units_time(moves.sum_ns, time));
        foreign_note_seen(verdict, moves.count, moves.sum_ns);
        return EVIDENCE_LIKELY;
    }
    const struct recorded_facts *facts = &plan->recorded->facts;
    const uint32_t managed = count_managed(plan);
    if (facts->faults > 0)
        foreign_note_seen(verdict, facts->faults, facts->faults_ns);
    else
        verdict->times = managed;
    if (facts->faults > 0)
        snprintf(verdict->seen, VERDICT_SEEN,
                 "pages of managed memory moved %s as they were touched, %s in %s",
                 foreign_counted(facts->faults, "time", "times", text),
                 units_bytes(facts->fault_bytes, bytes), units_time(facts->faults_ns, time));
    else
        snprintf(verdict->seen, VERDICT_SEEN, "%s with managed memory, and %s",
                 foreign_counted(managed, "kernel works", "kernels work", text),
                 facts->prefetches > 0 ? "little is prefetched" : "nothing is prefetched");
    return facts->faults > 0 ? EVIDENCE_CERTAIN : EVIDENCE_LIKELY;
}

/* --- events, devices --- */

enum evidence facts_timed(const struct judge *judge, struct verdict *verdict)
{
    const struct recorded_facts *facts = &judge->facts->plan->recorded->facts;
    char text[FOREIGN_COUNT];
    snprintf(verdict->seen, VERDICT_SEEN,
             "%" PRIu32 " of %" PRIu32 " events keep the time, and streams share %s",
             facts->timed_events, facts->events,
             foreign_counted(judge->facts->model->queues, "hardware queue", "hardware queues",
                             text));
    verdict->times = facts->timed_events;
    return EVIDENCE_LIKELY;
}

enum evidence facts_peers(const struct judge *judge, struct verdict *verdict)
{
    const struct plan *plan = judge->facts->plan;
    const struct machine *model = judge->facts->model;
    uint32_t copies = 0;
    uint64_t bytes = 0;
    double ns = 0;
    char text[FOREIGN_COUNT];
    EACH (const struct op_recorded, seen, plan->recorded->ops, plan->op_count) {
        copies += seen->peer_bytes > 0;
        bytes += seen->peer_bytes;
        ns += seen->peer_bytes > 0 ? (double)seen->work_ns : 0;
    }
    snprintf(verdict->seen, VERDICT_SEEN,
             "%s between devices ran at %.3g GB/s, where their link does %.3g; no device was "
             "given access to another's memory",
             foreign_counted(copies, "copy", "copies", text), ns > 0 ? (double)bytes / ns : 0,
             model->peer_bytes_per_s / 1e9);
    verdict->times = copies;
    return EVIDENCE_CERTAIN;
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
    if (traced_keeps_loading(&judge->trace))
        return VERDICT_LAZY_LOADING;
    if (facts_moves_pages(judge))
        return facts == NULL || facts->faults > 0 || facts->prefetches == 0
                   ? VERDICT_PAGE_FAULTS
                   : VERDICT_REST; /* they move as they were asked to */
    return VERDICT_UNKNOWN;
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
