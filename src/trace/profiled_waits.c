/* profiled_waits.c - what calls waited for, where a trace does not say it.
 *
 * An op's end tells it: a call that waits returns right behind the end of what it waited for,
 * and an op that is held by an event starts right behind the op before that. Only calls that
 * the trace has are taken to wait and to record, so that nothing is made up but what they name.
 * It is likely and no more: plans rest on it, and are checked by what they take. */
#include "trace/profiled.h"

#include "core/compare.h"
#include "core/items.h"

#include <stdlib.h>
#include <string.h>

enum {
    CLOCKS_NS = 2000, /* by which the clocks of the host and of the device may differ */
    NEAR_NS = 20000,  /* an op starts within that behind what it waited for */
};

COMPARE_POINTERS_BY(compare_starts, struct recorded_op, start_ns, end_ns);
COMPARE_POINTERS_BY(compare_ends, struct recorded_op, end_ns, start_ns);

struct finder {
    struct recording *recording;
    struct recorded_op **starts, **ends; /* all ops, by when they began and ended */
    int64_t *free_ns;                    /* per stream: when what began there last ends */
    struct arena arena;
};

/* Returns the place behind the last op that ended up to `time_ns`, in order of ends. */
static size_t ended_by(const struct finder *finder, int64_t time_ns)
{
    BISECT(at, i, 0, finder->recording->op_count,
           finder->ends[i]->end_ns - CLOCKS_NS <= time_ns);
    return at;
}

static bool is_called(const struct recorded_call *call, const char *what)
{
    return strstr(host_call_name(call->row), what) != NULL;
}

/* Returns a number for the event that a call recorded, which no trace gives one. */
static uint64_t profiled_event(const struct recorded_call *call)
{
    return ~call->id;
}

/* Returns the call that recorded an event right behind an op, of its thread and before `until`;
 * NULL: there is none. */
static struct recorded_call *record_behind(const struct recording *recording,
                                           const struct recorded_op *op,
                                           const struct recorded_call *until)
{
    struct recorded_call *issued = &recording->calls[op->call];
    for (struct recorded_call *call = issued + 1; call < until; call++) {
        if (call->thread != issued->thread)
            continue;
        if (call->effect == EFFECT_RECORD && call->stream == op->stream)
            return call;
        if (is_called(call, "EventRecord") && call->effect == EFFECT_NONE) {
            call->effect = EFFECT_RECORD;
            call->stream = op->stream;
            call->event = profiled_event(call);
            return call;
        }
        if (call->op_count > 0 && recording->ops[call->first_op].stream == op->stream)
            return NULL;
    }
    return NULL;
}

/* Finds the op that a call of the host's waited for: the latest that ended before it returned,
 * unless that was before it began. */
static void find_sync(const struct finder *finder, struct recorded_call *call)
{
    const size_t ended = ended_by(finder, call->end_ns);
    const struct recorded_op *op = ended > 0 ? finder->ends[ended - 1] : NULL;
    if (op == NULL || op->end_ns <= call->start_ns || op->call == RECORDING_NONE)
        return;
    if (is_called(call, "Event")) {
        const struct recorded_call *record = record_behind(finder->recording, op, call);
        call->effect = record != NULL ? EFFECT_SYNC_EVENT : EFFECT_NONE;
        call->event = record != NULL ? record->event : 0;
    } else {
        const bool stream = is_called(call, "Stream");
        call->effect = stream ? EFFECT_SYNC_STREAM : EFFECT_SYNC_DEVICE;
        call->stream = stream ? op->stream : RECORDING_NONE;
    }
}

/* Returns the call by which a stream was told to wait, of those right before an op's. */
static struct recorded_call *wait_before(const struct recording *recording,
                                         const struct recorded_op *op)
{
    struct recorded_call *issued = &recording->calls[op->call], *call = issued;
    while (call-- > recording->calls) {
        if (call->thread != issued->thread)
            continue;
        if (is_called(call, "StreamWaitEvent") && call->effect == EFFECT_NONE)
            return call;
        if (call->op_count > 0 && recording->ops[call->first_op].stream == op->stream)
            return NULL;
    }
    return NULL;
}

/* Finds what an op waited for that started late for its issue and its stream. */
static void find_wait(const struct finder *finder, const struct recorded_op *op)
{
    const struct recording *recording = finder->recording;
    const struct recorded_call *issued = &recording->calls[op->call];
    if (op->start_ns - later(finder->free_ns[op->stream], issued->end_ns) < NEAR_NS)
        return;
    struct recorded_call *wait = wait_before(recording, op);
    for (size_t at = ended_by(finder, op->start_ns); wait != NULL && at > 0; at--) {
        const struct recorded_op *before = finder->ends[at - 1];
        if (op->start_ns - before->end_ns > NEAR_NS)
            return;
        if (before->stream == op->stream || before->call == RECORDING_NONE)
            continue;
        const struct recorded_call *record = record_behind(recording, before, wait);
        if (record == NULL)
            continue;
        wait->effect = EFFECT_WAIT;
        wait->stream = op->stream;
        wait->event = record->event;
        return;
    }
}

bool profiled_find_waits(struct recording *recording)
{
    const size_t count = recording->op_count;
    struct finder finder = {.recording = recording};
    finder.starts = arena_zeros(&finder.arena, count, sizeof *finder.starts);
    finder.ends = arena_zeros(&finder.arena, count, sizeof *finder.ends);
    finder.free_ns =
        arena_zeros(&finder.arena, recording->stream_count, sizeof *finder.free_ns);
    const bool room = !finder.arena.full;
    for (size_t i = 0; i < count && room; i++)
        finder.starts[i] = finder.ends[i] = &recording->ops[i];
    if (room) {
        qsort(finder.starts, count, sizeof *finder.starts, compare_starts);
        qsort(finder.ends, count, sizeof *finder.ends, compare_ends);
    }
    for (size_t i = 0; i < recording->call_count && room; i++) {
        struct recorded_call *call = &recording->calls[i];
        if (call->effect == EFFECT_NONE && host_call_kind(call->row) == CALL_SYNC)
            find_sync(&finder, call);
    }
    for (size_t i = 0; i < count && room; i++) {
        const struct recorded_op *op = finder.starts[i];
        if (op->call != RECORDING_NONE)
            find_wait(&finder, op);
        finder.free_ns[op->stream] = later(finder.free_ns[op->stream], op->end_ns);
    }
    arena_free(&finder.arena);
    return room;
}
