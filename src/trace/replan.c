/* replan.c - the calls of a recording, one after another, turned into ops.
 *
 * The files, each using only those below it:
 * - replan: calls and ops;
 * - replan_graph: a launch of a graph, and replan_shape: the order of its nodes;
 * - replan_ops: ops, and their streams, names and events;
 * - replan_host: what calls take the host, and threads that take turns;
 * - replan_work: how much of a GPU launches take, and how long they would have taken alone;
 * - replan_facts: copies that bring the same again, and what is no op's;
 * - replan_memory: what ops touch;
 * - replan_live: the memory that the program has at a moment. */
#include "trace/replan.h"

#include "analysis/analysis.h"
#include "core/compare.h"
#include "core/items.h"
#include "trace/replan_parts.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- events --- */

static void number_handles(struct replan *replan)
{
    const struct recording *recording = replan->recording;
    EACH (const struct recorded_call, call, recording->calls, recording->call_count) {
        uint32_t number = 0;
        if (call->effect != EFFECT_RECORD)
            continue;
        if (!names_number(&replan->handles, &call->event, sizeof call->event, &number))
            replan_no_memory(replan);
        replan->records[number] = RECORDING_NONE;
    }
}

/* Returns where the latest record of an event is kept; NULL: it is never recorded. */
static uint32_t *latest_record(const struct replan *replan, uint64_t handle)
{
    const struct names_item *found = names_find(&replan->handles, &handle, sizeof handle);
    return found != NULL ? &replan->records[found->number] : NULL;
}

/* --- what calls do --- */

/* Appends the ops that a call issued to the device. */
static void append_issued(struct replan *replan, const struct recorded_call *call)
{
    uint64_t done = 0;
    for (uint32_t i = 0; i < call->op_count && !replan_failed(replan); i++) {
        const struct recorded_op *ran = &replan->recording->ops[(size_t)call->first_op + i];
        if (ran->h2h || !replan_is_ours(replan, ran->stream))
            continue;
        replan_append_ran(replan, call, ran, replan_find_stream(replan, ran->stream));
        replan_touch_made(replan, call, ran, done);
        done += ran->bytes;
    }
}

/* Appends a wait of `stream`, or with RECORDING_NONE of the host, for an event. */
static void take_wait(struct replan *replan, const struct recorded_call *call, uint32_t stream)
{
    const uint32_t *record = latest_record(replan, call->event);
    if (record != NULL && *record != RECORDING_NONE && *record != EVENT_FOREIGN)
        replan_append_wait(replan, call, stream, *record);
    else
        replan->left.waited_ops = replan->plan->op_count;
}

static void sort_ends(struct replan *replan)
{
    const struct recording *recording = replan->recording;
    for (size_t i = 0; i < recording->op_count; i++) {
        if (replan_is_ours(replan, recording->ops[i].stream))
            replan->ends_ns[replan->end_count++] = recording->ops[i].end_ns;
    }
    qsort(replan->ends_ns, replan->end_count, sizeof *replan->ends_ns, compare_i64);
}

/* Returns what a call took itself: one that takes or gives back memory of the device may wait
 * first until the device is idle, which is when the latest op ends within the call. */
static int64_t own_ns(const struct replan *replan, const struct recorded_call *call, bool waits)
{
    int64_t begin_ns = call->start_ns;
    BISECT(at, i, 0, waits ? replan->end_count : 0, replan->ends_ns[i] <= call->end_ns);
    if (at > 0)
        begin_ns = later(begin_ns, replan->ends_ns[at - 1]);
    return later(call->end_ns - begin_ns, 0);
}

static void take_sync(struct replan *replan, const struct recorded_call *call, uint32_t stream)
{
    const struct op op = {.kind = OP_SYNC, .stream = stream};
    replan_append(replan, call, op, (struct op_recorded){0});
    replan_note_given(replan, call, own_ns(replan, call, true));
}

static void take_function(struct replan *replan, const struct recorded_call *call,
                          uint32_t stream)
{
    const struct op op = {.kind = OP_CALLBACK, .stream = stream};
    const struct recording *recording = replan->recording;
    struct op_recorded seen = {.span = UINT32_MAX};
    if (call->known)
        seen.span = (uint32_t)(recording->op_count + (size_t)(call - recording->calls));
    if (call->known)
        seen.work_ns = later(call->function->end_ns - call->function->start_ns, 0);
    replan_append(replan, call, op, seen);
}

/* Takes up a call that takes or gives back memory of the device or of the host. */
static void take_alloc(struct replan *replan, const struct recorded_call *call, bool pinned)
{
    struct replan_thread *thread = &replan->threads[replan_thread_of(replan, call)];
    struct op op = {.kind = OP_ALLOC, .stream = RECORDING_NONE, .alloc.pinned = pinned};
    const struct op_recorded seen = {.work_ns = own_ns(replan, call, !pinned)};
    bool given_back;
    if (replan->recording->traced_by != NULL) { /* a profiler's trace has no addresses */
        replan_append(replan, call, op, seen);
        return;
    }
    uint32_t index = live_change(&replan->live, call, pinned, &given_back);
    if (index == RECORDING_NONE)
        return;
    const struct recorded_memory *memory = &replan->recording->memory[index];
    if (memory->device != RECORDING_NONE && memory->device != replan->device)
        return;
    if (given_back && thread->alloc != RECORDING_NONE && thread->memory == index) {
        replan->recorded->ops[thread->alloc].work_ns += seen.work_ns;
        thread->alloc = RECORDING_NONE;
        thread->ended_ns = call->end_ns;
        return;
    }
    op.alloc.bytes = memory->bytes;
    replan_append(replan, call, op, seen);
    if (!given_back) {
        thread->alloc = replan->plan->op_count - 1;
        thread->memory = index;
    }
}

/* Takes up a call's effect in `stream`, one of the plan's; with RECORDING_NONE of the whole
 * device. */
static void take_effect(struct replan *replan, const struct recorded_call *call,
                        uint32_t stream)
{
    switch ((enum recorded_effect)call->effect) {
    case EFFECT_RECORD:
        *latest_record(replan, call->event) =
            replan_append_record(replan, call, stream, call->known);
        break;
    case EFFECT_WAIT:
        take_wait(replan, call, stream);
        break;
    case EFFECT_SYNC_STREAM:
        take_sync(replan, call, stream);
        break;
    case EFFECT_SYNC_DEVICE:
        take_sync(replan, call, RECORDING_NONE);
        break;
    case EFFECT_SYNC_EVENT:
        take_wait(replan, call, RECORDING_NONE);
        break;
    case EFFECT_FUNCTION:
        take_function(replan, call, stream);
        break;
    case EFFECT_GRAPH:
        replan_graph(replan, call, stream);
        break;
    default:
        append_issued(replan, call);
    }
}

static void take_call(struct replan *replan, const struct recorded_call *call)
{
    const enum host_call_kind kind = host_call_kind(call->row);
    const enum recorded_effect effect = (enum recorded_effect)call->effect;
    const bool anywhere = effect == EFFECT_SYNC_DEVICE || effect == EFFECT_SYNC_EVENT;
    const bool ours = replan_is_ours(replan, call->stream);
    if (!live_advance(&replan->live, call->start_ns))
        replan_no_memory(replan);
    replan_note_cost(replan, call);
    replan_note_made(replan, call);
    if (call->result != 0)
        return;
    if (effect == EFFECT_NONE && (kind == CALL_ALLOC || kind == CALL_PIN) &&
        call->op_count == 0) {
        take_alloc(replan, call, kind == CALL_PIN);
    } else if (ours || (anywhere && call->stream == RECORDING_NONE)) {
        const bool in_stream = ours && effect != EFFECT_NONE && !anywhere;
        take_effect(replan, call,
                    in_stream ? replan_find_stream(replan, call->stream) : RECORDING_NONE);
    } else {
        if (effect == EFFECT_RECORD)
            *latest_record(replan, call->event) = EVENT_FOREIGN;
        append_issued(replan, call);
    }
}

/* --- the plan as a whole --- */

static void take_tables(struct replan *replan)
{
    const struct recording *recording = replan->recording;
    struct arena *arena = &replan->arena;
    replan->recorded = replan->plan->recorded = calloc(1, sizeof *replan->recorded);
    replan->threads = arena_zeros(arena, recording->threads, sizeof *replan->threads);
    replan->streams = arena_ones(arena, recording->stream_count, sizeof *replan->streams);
    replan->names = arena_ones(arena, recording->name_count + 1, sizeof *replan->names);
    replan->ends_ns = arena_zeros(arena, recording->op_count, sizeof *replan->ends_ns);
    replan->records = arena_zeros(arena, recording->call_count + 1, sizeof *replan->records);
    if (replan->recorded != NULL)
        replan->recorded->names =
            calloc(recording->name_count + 1, sizeof *replan->recorded->names);
    if (arena->full || replan->recorded == NULL || replan->recorded->names == NULL) {
        replan_no_memory(replan);
        return;
    }
    for (uint32_t i = 0; i < recording->threads; i++)
        replan->threads[i] = (struct replan_thread){.alloc = RECORDING_NONE};
    replan_find_host(replan);
    replan_find_graphs(replan);
    replan->recorded->threads =
        recording->threads > 0 && !replan->turns ? recording->threads : 1;
    live_init(&replan->live, recording, arena, replan->error);
    sort_ends(replan);
    number_handles(replan);
}

static void free_tables(struct replan *replan)
{
    replan_graphs_free(replan);
    live_free(&replan->live);
    arena_free(&replan->arena);
    names_free(&replan->handles);
}

/* Returns true if most launches returned only when their kernels had ended. The environment
 * that asks for it may have been set after CUDA had read it. */
static bool launches_wait(const struct recording *recording)
{
    enum { CLOCKS_NS = 2000 }; /* by which the clocks of the host and the device may differ */
    size_t launches = 0, waited = 0;
    EACH (const struct recorded_op, op, recording->ops, recording->op_count) {
        if (op->kind != OP_KERNEL || op->call == RECORDING_NONE)
            continue;
        launches++;
        waited += recording->calls[op->call].end_ns + CLOCKS_NS >= op->end_ns;
    }
    return launches > 0 && 2 * waited >= launches;
}

/* Takes up all calls, and what is no call's. */
static void take_all(struct replan *replan)
{
    const struct recording *recording = replan->recording;
    struct plan *plan = replan->plan;
    for (size_t i = 0; i < recording->call_count && !replan_failed(replan); i++)
        take_call(replan, &recording->calls[i]);
    for (size_t i = 0; i < recording->op_count; i++)
        replan->left.stray_ops += recording->ops[i].call == RECORDING_NONE &&
                                  replan_is_ours(replan, recording->ops[i].stream);
    /* A call that waits for its kernel takes long in any case. */
    plan->loads_lazily = recording->lazy && !plan->launches_block && replan->slow_loads > 0 &&
                         2 * replan->slow_loads >= replan->loads;
}

enum status recording_plan(const struct recording *recording, uint32_t device,
                           struct plan *plan, struct replan_left *left, struct error *error)
{
    static void (*const steps[])(struct replan * replan) = {
        take_tables,          take_all,       replan_share_time,
        replan_number_events, replan_resolve, replan_mark_repeats,
        replan_note_facts};
    struct error why = {0};
    struct replan replan = {
        .recording = recording, .device = device, .plan = plan, .error = &why};
    *plan = (struct plan){0};
    plan->launches_block = recording->launch_blocking && launches_wait(recording);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !replan_failed(&replan); i++)
        steps[i](&replan);
    replan_number_streams(plan);
    free_tables(&replan);
    if (replan_failed(&replan)) {
        plan_free(plan);
        return error_pass(error, &why);
    }
    if (left != NULL)
        *left = replan.left;
    return STATUS_OK;
}
