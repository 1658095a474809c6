/* view_plan.c - races of a recording, without false alarms. */
#include "trace/view_parts.h"

#include "core/anonymous.h"
#include "core/arena.h"
#include "plan/host_call.h"

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
    const struct trace *trace;
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

enum { RACER_TEXT = HAZARD_TEXT / 4 };

/* Writes "h2d (fit.cu:88, stream 13, at 1.2 ms)"; `line` is NULL where the op's call has it. */
static void put_op(const struct judge *judge, uint32_t op, const char *line,
                   char text[RACER_TEXT])
{
    char label[OP_LABEL];
    const struct timeline *timeline = &judge->run->timeline;
    const struct span *span = &timeline->spans[judge->plan->recorded->ops[op].span];
    const struct host_call *call = timeline_call_of(timeline, span);
    if (line == NULL)
        line = call != NULL ? timeline_call_line(timeline, call) : NULL;
    snprintf(text, RACER_TEXT, "%s (%.*s%sstream %" PRIu32 ", at %.3f ms)",
             plan_op_label(judge->plan, &judge->plan->ops[op], label), LINE_MOST,
             line != NULL ? anonymous_file(line) : "", line != NULL ? ", " : "",
             timeline_stream_id(timeline, span->stream), (double)span->start_ns / 1e6);
}

static void put_race(const char *first, const char *second, const struct recorded_race *race,
                     bool host, bool certain, char text[HAZARD_TEXT])
{
    snprintf(text, HAZARD_TEXT,
             "%s and %s both touch %" PRIu64 " bytes of the %s's memory at 0x%" PRIx64 "%s",
             first, second, race->bytes, host ? "host" : "device", race->address,
             certain ? ", and nothing orders them" : "");
}

/* Writes a race of two ops that was found here. */
static void put_found(const struct judge *judge, const struct hazard *hazard, bool certain,
                      char text[HAZARD_TEXT])
{
    char first[RACER_TEXT], second[RACER_TEXT];
    const struct recorded_buffer *buffer =
        &judge->plan->recorded->buffers[hazard->where.buffer];
    const struct recorded_race race = {.address = buffer->address + hazard->where.offset,
                                       .bytes = hazard->where.bytes};
    put_op(judge, hazard->first, NULL, first);
    put_op(judge, hazard->second, NULL, second);
    put_race(first, second, &race, buffer->host, certain, text);
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

/* Makes room for one more race that is certain, of two spans. Returns its text; NULL: there is
 * no memory. */
static char *add_race(struct run_report *run, uint32_t first, uint32_t second)
{
    const struct timeline *timeline = &run->timeline;
    struct hazard *hazards =
        realloc(run->hazards, (run->hazard_count + 1) * sizeof *run->hazards);
    if (hazards != NULL)
        run->hazards = hazards;
    void *texts =
        realloc(run->hazard_texts, (run->hazard_count + 1) * sizeof *run->hazard_texts);
    if (texts != NULL)
        run->hazard_texts = texts;
    if (hazards == NULL || texts == NULL)
        return NULL;
    run->hazards[run->hazard_count] = (struct hazard){.first = first, .second = second};
    run->hazards_lost += first < timeline->span_count && second < timeline->span_count &&
                         timeline->spans[first].end_ns > timeline->spans[second].start_ns;
    return run->hazard_texts[run->hazard_count++];
}

static enum status add_certain(struct judge *judge, const struct hazard *hazard)
{
    const struct op_recorded *ops = judge->plan->recorded->ops;
    char *text = add_race(judge->run, ops[hazard->first].span, ops[hazard->second].span);
    if (text == NULL)
        return no_memory(judge);
    put_found(judge, hazard, true, text);
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
    put_found(judge, hazard, false, run->possible_texts[run->possible_count]);
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

/* --- races that the recording tells --- */

/* Returns the op of the plan that a call issued, or a node of its graph; UINT32_MAX: none. */
static uint32_t op_of(const struct judge *judge, const struct recorded_racer *racer)
{
    const struct trace *trace = judge->trace;
    const struct recording *recording = trace->recording;
    for (uint32_t i = 0; i < judge->plan->op_count && racer->call != RECORDING_NONE; i++) {
        const uint32_t span = judge->plan->recorded->ops[i].span;
        if (span >= trace->origin_count)
            continue;
        const uint32_t origin = trace->origins[span];
        const bool ran = origin < recording->op_count;
        const uint32_t call =
            ran ? recording->ops[origin].call : origin - (uint32_t)recording->op_count;
        if (call == racer->call &&
            (racer->node == 0 || (ran && recording->ops[origin].node == racer->node)))
            return i;
    }
    return UINT32_MAX;
}

/* Writes "cudaMemcpyAsync (fit.cu:88, on NVIDIA H200 (1))" of a call that has no op here, or
 * "the host's code, which reads (fit.cu:90)". */
static void put_elsewhere(const struct judge *judge, const struct recorded_racer *racer,
                          char text[RACER_TEXT])
{
    const struct recording *recording = judge->trace->recording;
    const bool host = racer->call == RECORDING_NONE;
    const struct recorded_call *call = host ? NULL : &recording->calls[racer->call];
    uint32_t stream = host ? RECORDING_NONE : call->stream;
    if (!host && call->op_count > 0)
        stream = recording->ops[call->first_op].stream;
    const uint32_t device = stream < recording->stream_count ? recording->streams[stream].device
                                                             : judge->trace->device;
    const char *what =
        racer->writes ? "the host's code, which writes" : "the host's code, which reads";
    const char *where = device != judge->trace->device ? recording->devices[device].shown : "";
    const bool known = racer->place[0] != '\0';
    snprintf(text, RACER_TEXT, "%s%s%.*s%s%.48s%s", host ? what : host_call_name(call->row),
             known || where[0] != '\0' ? " (" : "", LINE_MOST, anonymous_file(racer->place),
             where[0] == '\0' ? ""
             : known          ? ", on "
                              : "on ",
             where, known || where[0] != '\0' ? ")" : "");
}

/* Returns true if an address is of a device's memory. */
static bool is_devices(const struct recording *recording, uint64_t address)
{
    EACH (const struct recorded_memory, memory, recording->memory, recording->memory_count) {
        if (memory->device != RECORDING_NONE && address >= memory->address &&
            address - memory->address < memory->bytes)
            return true;
    }
    return false;
}

/* Takes up what the recording tells of this device, or of none: the machine that ran the
 * program knew all that its ops and its host touched. */
static enum status add_told(struct judge *judge)
{
    const struct recording *recording = judge->trace->recording;
    EACH (const struct recorded_race, race, recording->races, recording->race_count) {
        char texts[2][RACER_TEXT];
        uint32_t spans[2];
        bool elsewhere = false, here = false;
        for (int i = 0; i < 2; i++) {
            const struct recorded_racer *racer = &race->sides[i];
            const uint32_t op = op_of(judge, racer);
            spans[i] = op != UINT32_MAX ? judge->plan->recorded->ops[op].span : SPAN_NONE;
            here |= op != UINT32_MAX;
            elsewhere |= op == UINT32_MAX && racer->call != RECORDING_NONE;
            if (op != UINT32_MAX)
                put_op(judge, op, racer->place[0] != '\0' ? racer->place : NULL, texts[i]);
            else
                put_elsewhere(judge, racer, texts[i]);
        }
        if (elsewhere && !here)
            continue;
        char *text = add_race(judge->run, spans[0], spans[1]);
        if (text == NULL)
            return no_memory(judge);
        put_race(texts[0], texts[1], race, !is_devices(recording, race->address), true, text);
    }
    return STATUS_OK;
}

enum status view_judge_plan(const struct trace *trace, const struct plan *plan,
                            const struct replan_left *left, struct run_report *run,
                            struct error *error)
{
    const struct recording *recording = trace->recording;
    const bool told = recording->race_count > 0;
    run->plan = plan;
    if (plan->recorded->access_count == 0 && !told)
        return STATUS_OK;
    struct judge *judge = calloc(1, sizeof *judge);
    if (judge == NULL)
        return error_no_memory(error, "to judge a recording");
    judge->trace = trace;
    judge->plan = plan;
    judge->run = run;
    judge->error = error;
    /* What a wait lacks is an event that was recorded before it. */
    judge->doubtful =
        recording->lost > 0 || left->stray_ops > 0 ? UINT32_MAX : left->waited_ops;
    enum status status = judge_init(judge);
    if (status == STATUS_OK && told)
        status = add_told(judge);
    /* A recording that tells races tells all that are certain, so these need not be looked for;
     * one of an older version tells none. Races that kernels only may have are looked for in
     * any case. */
    for (int kernels = told ? KERNELS_READERS : KERNELS_NONE;
         kernels <= KERNELS_TOUCHING && status == STATUS_OK; kernels++)
        status = judge_races(judge, (enum kernels_as)kernels);
    arena_free(&judge->arena);
    free(judge);
    return status;
}
