/* view_plan.c - races of a recording, without false alarms. */
#include "trace/view_parts.h"

#include "core/arena.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RACES_MOST = 256, /* of each kind; more are not looked for */
    LINE_MOST = 40,   /* letters of a place in the source */
    CLOCKS_NS = 2000, /* by which the clocks of the host and of the device may differ */
};

/* Makes what each op of a plan came from an index of the spans; UINT32_MAX where it has none.
 */
static enum status join_spans(const struct trace *trace, struct plan *plan, struct error *error)
{
    const size_t all = trace->recording->op_count + trace->recording->call_count;
    uint32_t *spans = calloc(all + 1, sizeof *spans);
    if (spans == NULL)
        return error_no_memory(error, "for the spans of %" PRIu32 " ops", plan->op_count);
    for (uint32_t i = 0; i < trace->origin_count; i++)
        spans[trace->origins[i]] = i;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        uint32_t *span = &plan->recorded->ops[i].span;
        *span = *span < all ? spans[*span] : UINT32_MAX;
    }
    free(spans);
    return STATUS_OK;
}

enum status view_make_plan(const struct trace *trace, struct plan *plan,
                           struct replan_left *left, struct error *error)
{
    enum status status = recording_plan(trace->recording, trace->device, plan, left, error);
    if (status != STATUS_OK)
        return status;
    status = join_spans(trace, plan, error);
    if (status != STATUS_OK)
        plan_free(plan);
    return status;
}

/* --- which accesses count --- */

/* Accesses of kernels are looked at again and again, each time as another kind. */
enum kernels_as {
    KERNELS_NONE,     /* copies and memsets alone */
    KERNELS_READERS,  /* of what copies to the device bring: those must not come too early */
    KERNELS_WRITERS,  /* of their results, which copies out of the device fetch */
    KERNELS_TOUCHING, /* of what copies out fetch, too; they may only read it */
};

struct judge {
    const struct plan *plan;
    struct plan copy; /* of the plan, with accesses of its own */
    struct plan_recorded recorded;
    struct touch *touches;   /* per access of the plan */
    struct arena arena;      /* what has these accesses and touches */
    enum kernels_as kernels; /* what is looked for now */
    struct hazard found[RACES_MOST];
    struct run_report *run;
    uint32_t doubtful; /* the first so many ops: the recording lacks what could have ordered
                          them before others */
    struct error *error;
};

static enum status no_memory(const struct judge *judge)
{
    return error_no_memory(judge->error, "to look for races in %" PRIu32 " ops",
                           judge->plan->op_count);
}

static enum status judge_init(struct judge *judge)
{
    const struct plan_recorded *recorded = judge->plan->recorded;
    const size_t ops = judge->plan->op_count, accesses = recorded->access_count;
    judge->copy = *judge->plan;
    judge->recorded = *recorded;
    judge->copy.recorded = &judge->recorded;
    judge->recorded.ops = arena_zeros(&judge->arena, ops, sizeof *recorded->ops);
    judge->recorded.accesses = arena_zeros(&judge->arena, accesses, sizeof *recorded->accesses);
    judge->touches = arena_zeros(&judge->arena, accesses, sizeof *judge->touches);
    if (judge->arena.full)
        return no_memory(judge);
    return view_find_touches(judge->plan, judge->touches, judge->error);
}

/* Returns true if an access of an op counts. One of a kernel does where a copy names the same
 * bytes, and where pointers that step show what it touches. */
static bool counts(bool sure, const struct access *access, const struct touch *touch,
                   enum kernels_as kernels)
{
    if (sure)
        return kernels <= KERNELS_READERS || !access->writes;
    if (kernels == KERNELS_READERS)
        return touch->steps || touch->brought;
    return kernels != KERNELS_NONE && touch->written == (kernels == KERNELS_WRITERS) &&
           (touch->fetched || (touch->steps && touch->written));
}

/* Leaves the accesses that count in the copy of the plan. */
static void keep_accesses(struct judge *judge, enum kernels_as kernels)
{
    const struct plan_recorded *recorded = judge->plan->recorded;
    size_t count = 0;
    for (uint32_t i = 0; i < judge->plan->op_count; i++) {
        struct op_recorded *seen = &judge->recorded.ops[i];
        *seen = recorded->ops[i];
        seen->access_count = 0;
        for (uint32_t k = 0; k < recorded->ops[i].access_count; k++) {
            const size_t index = recorded->ops[i].first_access + k;
            struct access access = recorded->accesses[index];
            const struct touch *touch = &judge->touches[index];
            if (!counts(seen->sure, &access, touch, kernels))
                continue;
            if (!seen->sure) {
                access.writes = kernels != KERNELS_READERS;
                access.range.bytes = touch->bytes;
            }
            judge->recorded.accesses[count + seen->access_count++] = access;
        }
        seen->first_access = count;
        count += seen->access_count;
    }
    judge->recorded.access_count = count;
}

/* --- races in words --- */

/* Writes "h2d (fit.cu:88, stream 13, at 1.2 ms)". */
static void put_op(const struct run_report *run, const struct plan *plan, uint32_t op,
                   char text[HAZARD_TEXT / 4])
{
    char label[OP_LABEL];
    const struct span *span = &run->timeline.spans[plan->recorded->ops[op].span];
    const struct host_call *call = timeline_call_of(&run->timeline, span);
    const char *line = call != NULL ? timeline_call_line(&run->timeline, call) : NULL;
    const char *slash = line != NULL ? strrchr(line, '/') : NULL;
    line = slash != NULL ? slash + 1 : line;
    snprintf(text, HAZARD_TEXT / 4, "%s (%.*s%sstream %" PRIu32 ", at %.3f ms)",
             plan_op_label(plan, &plan->ops[op], label), LINE_MOST, line != NULL ? line : "",
             line != NULL ? ", " : "", timeline_stream_id(&run->timeline, span->stream),
             (double)span->start_ns / 1e6);
}

static void put_race(const struct judge *judge, const struct hazard *hazard, bool certain,
                     char text[HAZARD_TEXT])
{
    char first[HAZARD_TEXT / 4], second[HAZARD_TEXT / 4];
    const struct recorded_buffer *buffer =
        &judge->plan->recorded->buffers[hazard->where.buffer];
    put_op(judge->run, judge->plan, hazard->first, first);
    put_op(judge->run, judge->plan, hazard->second, second);
    snprintf(text, HAZARD_TEXT,
             "%s and %s both touch %" PRIu64 " bytes of the %s's memory at 0x%" PRIx64 "%s",
             first, second, hazard->where.bytes, buffer->host ? "host" : "device",
             buffer->address + hazard->where.offset,
             certain ? ", and nothing orders them" : "");
}

/* --- which races are told --- */

/* Returns true if the second op was issued while the first one was still to end: nothing that
 * the program saw can have told it that this had ended. */
static bool is_in_flight(const struct judge *judge, uint32_t before, uint32_t after)
{
    const struct op_recorded *ops = judge->plan->recorded->ops;
    const struct timeline *timeline = &judge->run->timeline;
    const uint32_t first = ops[before].span, second = ops[after].span;
    if (timeline->issue_unknown || first >= timeline->span_count ||
        second >= timeline->span_count)
        return false;
    return timeline->spans[first].end_ns > timeline->spans[second].issue_ns + CLOCKS_NS;
}

static bool is_wanted(void *context, uint32_t first, uint32_t second)
{
    const struct judge *judge = context;
    const struct op_recorded *ops = judge->plan->recorded->ops;
    const int sure = ops[first].sure + ops[second].sure;
    return sure == (judge->kernels == KERNELS_NONE ? 2 : 1) &&
           is_in_flight(judge, first, second);
}

/* Returns true if an op reaches the bytes of a race by atomic operations alone. */
static bool is_atomic(const struct plan_recorded *recorded, uint32_t op,
                      const struct range *where)
{
    const struct op_recorded *seen = &recorded->ops[op];
    for (uint32_t i = 0; i < seen->access_count; i++) {
        const struct access *access = &recorded->accesses[seen->first_access + i];
        if (!access->atomic && ranges_overlap(&access->range, where))
            return false;
    }
    return true;
}

/* Takes up a race that is certain. In the report its ops are spans. */
static enum status add_certain(struct judge *judge, const struct hazard *hazard)
{
    struct run_report *run = judge->run;
    const struct op_recorded *ops = judge->plan->recorded->ops;
    const struct span *spans = run->timeline.spans;
    struct hazard *hazards =
        realloc(run->hazards, (run->hazard_count + 1) * sizeof *run->hazards);
    if (hazards != NULL)
        run->hazards = hazards;
    void *texts =
        realloc(run->hazard_texts, (run->hazard_count + 1) * sizeof *run->hazard_texts);
    if (texts != NULL)
        run->hazard_texts = texts;
    if (hazards == NULL || texts == NULL)
        return no_memory(judge);
    put_race(judge, hazard, true, run->hazard_texts[run->hazard_count]);
    const uint32_t first = ops[hazard->first].span, second = ops[hazard->second].span;
    run->hazards[run->hazard_count] = *hazard;
    run->hazards[run->hazard_count].first = first;
    run->hazards[run->hazard_count++].second = second;
    run->hazards_lost += spans[first].end_ns > spans[second].start_ns;
    return STATUS_OK;
}

static enum status add_possible(struct judge *judge, const struct hazard *hazard)
{
    struct run_report *run = judge->run;
    const bool likely = judge->kernels == KERNELS_READERS || judge->kernels == KERNELS_WRITERS;
    void *texts =
        realloc(run->possible_texts, (run->possible_count + 1) * sizeof *run->possible_texts);
    if (texts == NULL)
        return no_memory(judge);
    run->possible_texts = texts;
    put_race(judge, hazard, false, run->possible_texts[run->possible_count]);
    if (likely && hazard->first >= judge->doubtful && run->likely == 0)
        run->likely = run->possible_count + 1;
    run->possible_count++;
    return STATUS_OK;
}

static enum status judge_races(struct judge *judge, enum kernels_as kernels)
{
    const struct hazard_filter filter = {.counts = is_wanted, .context = judge};
    struct error why = {0};
    size_t count = 0;
    judge->kernels = kernels;
    keep_accesses(judge, kernels);
    enum status status =
        plan_hazards_wanted(&judge->copy, &filter, judge->found, RACES_MOST, &count, &why);
    if (count == RACES_MOST)
        judge->run->races_left = "the search ended when its list was full";
    if (status == STATUS_FAILED) {
        judge->run->races_left = "the program has too many streams to look for them";
        return STATUS_OK;
    }
    if (status != STATUS_OK)
        return error_pass(judge->error, &why);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        const struct hazard *found = &judge->found[i];
        if (is_atomic(&judge->recorded, found->first, &found->where) &&
            is_atomic(&judge->recorded, found->second, &found->where))
            continue; /* those need no order */
        if (kernels == KERNELS_NONE && judge->found[i].first >= judge->doubtful)
            status = add_certain(judge, &judge->found[i]);
        else
            status = add_possible(judge, &judge->found[i]);
    }
    return status;
}

enum status view_judge_plan(const struct recording *recording, const struct plan *plan,
                            const struct replan_left *left, struct run_report *run,
                            struct error *error)
{
    run->plan = plan;
    if (plan->recorded->access_count == 0)
        return STATUS_OK;
    struct judge *judge = calloc(1, sizeof *judge);
    if (judge == NULL)
        return error_no_memory(error, "to judge a recording");
    judge->plan = plan;
    judge->run = run;
    judge->error = error;
    /* What a wait lacks is an event that was recorded before it. */
    judge->doubtful =
        recording->lost > 0 || left->stray_ops > 0 ? UINT32_MAX : left->waited_ops;
    enum status status = judge_init(judge);
    for (int kernels = KERNELS_NONE; kernels <= KERNELS_TOUCHING && status == STATUS_OK;
         kernels++)
        status = judge_races(judge, (enum kernels_as)kernels);
    arena_free(&judge->arena);
    free(judge);
    return status;
}
