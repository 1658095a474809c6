/* recording_staged.c - copies from device to device by way of the host.
 *
 * Where no device has access to the other's memory, CUDA copies by way of memory of its own, in
 * pieces. CUPTI reports two ops of such a copy, each with all bytes and the times of the last
 * piece: a copy out in the sender's stream, and a copy in, in a stream of the driver's own
 * (seen with CUDA 13.0 on two H200s: 2 times 21 us of a copy that took 483). */
#include "trace/recording_draft.h"

#include "core/compare.h"

#include <stdlib.h>

/* A call with several copies out, such as a graph's: which copy in belongs to which is not
 * known. */
#define SEVERAL (RECORDING_NONE - 1)

void draft_join_staged(struct draft *draft)
{
    struct draft_op *ops = draft->ops.items;
    size_t kept = 0, pairs = 0;
    bool any = false;
    for (size_t i = 0; i < draft->ops.count && !any; i++)
        any = ops[i].op.staged;
    if (!any)
        return;
    uint32_t *outs = arena_ones(&draft->recording->arena, draft->calls.count, sizeof *outs);
    if (outs == NULL) {
        draft_no_memory(draft);
        return;
    }
    for (size_t i = 0; i < draft->ops.count; i++) {
        const struct recorded_op *op = &ops[i].op;
        if (op->staged && op->kind == OP_D2H && op->call != RECORDING_NONE)
            outs[op->call] = outs[op->call] == RECORDING_NONE ? (uint32_t)i : SEVERAL;
    }
    for (size_t i = 0; i < draft->ops.count; i++) {
        struct recorded_op *op = &ops[i].op;
        const bool in = op->staged && op->kind == OP_H2D && op->call != RECORDING_NONE;
        struct recorded_op *out =
            in && outs[op->call] < SEVERAL ? &ops[outs[op->call]].op : NULL;
        if (out == NULL || out->kind == OP_PEER)
            continue;
        out->kind = OP_PEER;
        out->end_ns = later(out->end_ns, op->end_ns);
        op->kind = OP_KIND_COUNT;
        pairs++;
    }
    for (size_t i = 0; i < draft->ops.count && pairs > 0; i++) {
        if (ops[i].op.kind != OP_KIND_COUNT)
            ops[kept++] = ops[i];
    }
    if (pairs > 0)
        draft->ops.count = kept;
}

/* When what was issued so far ends: in streams, and before records of events. */
struct ends {
    int64_t *streams;
    struct names events;  /* handles, numbered */
    struct pile recorded; /* int64_t, by those numbers */
};

/* Returns when the event of a call was recorded last. */
static int64_t *recorded_at(struct draft *draft, struct ends *ends, uint64_t event)
{
    const uint32_t number = draft_number(draft, &ends->events, &event, sizeof event);
    return number < ends->recorded.count ? (int64_t *)ends->recorded.items + number
                                         : pile_add(draft, &ends->recorded, sizeof(int64_t));
}

/* Returns when a stream was free: a blocking one waits for the default stream, that for all
 * blocking ones of its device. */
static int64_t free_at(const struct recording *recording, const struct ends *ends, uint32_t of)
{
    const struct recorded_stream *streams = recording->streams, *self = &streams[of];
    int64_t free_ns = ends->streams[of];
    for (size_t i = 0; i < recording->stream_count; i++) {
        const bool meet =
            streams[i].device == self->device &&
            ((streams[i].kind == STREAM_LEGACY && self->kind == STREAM_BLOCKING) ||
             (streams[i].kind == STREAM_BLOCKING && self->kind == STREAM_LEGACY));
        free_ns = meet ? later(free_ns, ends->streams[i]) : free_ns;
    }
    return free_ns;
}

/* Follows one call: what it waits for, and its ops, of which a staged one begins when its
 * stream was free and the call was made. */
static void follow(struct draft *draft, struct ends *ends, const struct recorded_call *call)
{
    struct recorded_op *ops = draft->recording->ops;
    if (call->stream != RECORDING_NONE &&
        (call->effect == EFFECT_RECORD || call->effect == EFFECT_WAIT)) {
        int64_t *event = recorded_at(draft, ends, call->event);
        int64_t *stream = &ends->streams[call->stream];
        if (call->effect == EFFECT_RECORD)
            *event = *stream;
        else
            *stream = later(*stream, *event);
    }
    if (call->effect == EFFECT_FUNCTION && call->known && call->stream != RECORDING_NONE)
        ends->streams[call->stream] =
            later(ends->streams[call->stream], call->function->end_ns);
    for (uint32_t i = call->first_op; i < call->first_op + call->op_count; i++) {
        int64_t *stream = &ends->streams[ops[i].stream];
        if (ops[i].staged && ops[i].kind == OP_PEER)
            ops[i].start_ns =
                earlier(ops[i].start_ns,
                        later(free_at(draft->recording, ends, ops[i].stream), call->start_ns));
        *stream = later(*stream, ops[i].end_ns);
    }
}

void draft_time_staged(struct draft *draft)
{
    struct arena *arena = &draft->recording->arena;
    struct ends ends = {
        .streams = arena_zeros(arena, draft->recording->stream_count + 1, sizeof(int64_t))};
    const struct recorded_call *calls = draft->calls.items;
    if (ends.streams == NULL)
        draft_no_memory(draft);
    for (size_t i = 0; i < draft->calls.count && !draft_failed(draft); i++)
        follow(draft, &ends, &calls[i]);
    names_free(&ends.events);
    free(ends.recorded.items);
}
