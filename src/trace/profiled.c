/* profiled.c - a recording made of what another profiler wrote. */
#include "trace/profiled.h"

#include "core/compare.h"
#include "core/items.h"
#include "trace/build.h"

#include <stdlib.h>
#include <string.h>

void profiled_begin(struct profiled *profiled, struct error *error)
{
    struct draft *draft = &profiled->draft;
    draft->lenient = true;
    draft->text.error = error;
    draft->recording = calloc(1, sizeof *draft->recording);
    if (draft->recording == NULL)
        error_no_memory(error, "for the trace");
}

uint32_t profiled_name(struct profiled *profiled, const char *name)
{
    struct draft *draft = &profiled->draft;
    const uint32_t number = draft_number(draft, &profiled->names, name, strlen(name));
    if (number < draft->names.count)
        return number;
    char **text = pile_add(draft, &draft->names, sizeof *text);
    *text = draft_text(draft, name);
    place_add(draft, &draft->name_places, number, number);
    return number;
}

struct recorded_device *profiled_device(struct profiled *profiled, uint32_t id,
                                        const char *name)
{
    struct draft *draft = &profiled->draft;
    const uint32_t number = draft_number(draft, &profiled->devices, &id, sizeof id);
    struct recorded_device *device = draft->devices.items;
    if (number < draft->devices.count) {
        device += number;
    } else {
        device = pile_add(draft, &draft->devices, sizeof *device);
        place_add(draft, &draft->device_places, id, 0);
    }
    device->id = id;
    if (device->name == NULL || *name != '\0')
        device->name = draft_text(draft, name);
    return device;
}

uint32_t profiled_stream(struct profiled *profiled, uint32_t process, uint64_t context,
                         uint32_t device, uint32_t number)
{
    struct draft *draft = &profiled->draft;
    const uint64_t key[] = {process, context, device};
    const uint32_t one = draft_number(draft, &profiled->contexts, key, sizeof key);
    if (one == draft->contexts.count) {
        profiled_device(profiled, device, "");
        place_add(draft, &draft->contexts, one, device);
    }
    return draft_stream_of(draft, one, number);
}

struct recorded_call *profiled_call(struct profiled *profiled, uint64_t id, const void *thread,
                                    size_t length, uint16_t row)
{
    struct draft *draft = &profiled->draft;
    struct recorded_call *call = pile_add(draft, &draft->calls, sizeof *call);
    call->thread = draft_number(draft, &draft->threads, thread, length);
    call->id = id != DRAFT_NO_CALL ? id : DRAFT_NO_CALL - ++profiled->unnumbered;
    call->row = row;
    call->stream = RECORDING_NONE;
    place_add(draft, &draft->call_places, call->id, 0);
    return call;
}

struct recorded_op *profiled_op(struct profiled *profiled, uint64_t id, const char *name,
                                uint32_t stream)
{
    struct draft_op *op = pile_add(&profiled->draft, &profiled->draft.ops, sizeof *op);
    op->call = id;
    op->name = profiled_name(profiled, name);
    op->op.name = RECORDING_NONE;
    op->op.kind = (uint8_t)trace_kind(name);
    op->op.from = op->op.to = HOST_MEMORY_UNKNOWN;
    op->op.stream = stream;
    return &op->op;
}

void profiled_range(struct profiled *profiled, const char *name, const void *thread,
                    size_t length, int64_t start_ns, int64_t end_ns)
{
    struct draft *draft = &profiled->draft;
    const uint32_t number = profiled_name(profiled, name);
    struct host_range *range = pile_add(draft, &draft->ranges, sizeof *range);
    range->thread = draft_number(draft, &draft->threads, thread, length);
    range->start_ns = start_ns;
    range->end_ns = later(end_ns, start_ns);
    if (!draft_failed(draft))
        range->name = ((char **)draft->names.items)[number];
}

void profiled_effect(struct profiled *profiled, uint64_t id, enum recorded_effect effect,
                     uint32_t stream, uint64_t event)
{
    struct recorded_call *made =
        pile_add(&profiled->draft, &profiled->draft.effects, sizeof *made);
    *made = (struct recorded_call){
        .id = id, .effect = (uint8_t)effect, .stream = stream, .event = event};
}

/* Counts the pages that move, gives ops the bytes that only their calls have, and takes from
 * calls that only ask what they would wait for. */
static void settle_calls(struct recording *recording)
{
    struct recorded_facts *facts = &recording->facts;
    EACH (const struct recorded_op, op, recording->ops, recording->op_count) {
        facts->faults += op->moves;
        facts->fault_bytes += op->moves ? op->bytes : 0;
        facts->faults_ns += op->moves ? op->end_ns - op->start_ns : 0;
    }
    EACH (struct recorded_call, call, recording->calls, recording->call_count) {
        struct recorded_op *op = &recording->ops[call->first_op];
        if (call->effect == EFFECT_NONE && call->op_count == 1 && op->bytes == 0)
            op->bytes = call->bytes;
        if (call->effect == EFFECT_SYNC_EVENT && host_call_kind(call->row) != CALL_SYNC)
            call->effect = EFFECT_NONE;
    }
}

/* An op without a call that began before all of its stream that have one was issued before the
 * profiler began; of others, and of pages that move, the call is not known. Puts the first kind
 * first of those without a call, which are last, and returns how many there are. */
static bool find_early(const struct recording *recording, struct recorded_op *ops, size_t count,
                       uint32_t *early)
{
    struct arena arena = {0};
    int64_t *called_ns =
        arena_zeros(&arena, recording->stream_count, sizeof *called_ns); /* when they began */
    struct recorded_op *late = arena_zeros(&arena, count, sizeof *late);
    size_t late_count = 0;
    *early = 0;
    for (size_t i = 0; i < recording->stream_count && !arena.full; i++)
        called_ns[i] = INT64_MAX;
    for (size_t i = 0; i < recording->op_count && !arena.full; i++) {
        const struct recorded_op *op = &recording->ops[i];
        if (op->call != RECORDING_NONE)
            called_ns[op->stream] = earlier(called_ns[op->stream], op->start_ns);
    }
    for (size_t i = 0; i < count && !arena.full; i++) {
        if (ops[i].moves || ops[i].start_ns > called_ns[ops[i].stream])
            late[late_count++] = ops[i];
        else
            ops[(*early)++] = ops[i];
    }
    if (!arena.full)
        memcpy(ops + *early, late, late_count * sizeof *late);
    const bool room = !arena.full;
    arena_free(&arena);
    return room;
}

/* Has the ops that were issued before the profiler began be those of a call at the beginning:
 * nothing says that they were late. */
static bool add_first_call(struct recording *recording)
{
    const size_t count = recording->call_count;
    uint32_t first = 0, early = 0;
    recording->begin_ns = count > 0 ? recording->calls[0].start_ns : INT64_MAX;
    EACH (const struct recorded_op, op, recording->ops, recording->op_count) {
        recording->begin_ns = earlier(recording->begin_ns, op->start_ns);
        first += op->call != RECORDING_NONE;
    }
    if (count == 0 || first == recording->op_count)
        return true;
    if (!find_early(recording, recording->ops + first, recording->op_count - first, &early))
        return false;
    if (early == 0)
        return true;
    struct recorded_call *calls = realloc(recording->calls, (count + 1) * sizeof *calls);
    if (calls == NULL)
        return false;
    memmove(calls + 1, calls, count * sizeof *calls);
    recording->calls = calls;
    recording->call_count = count + 1;
    calls[0] = (struct recorded_call){.id = DRAFT_NO_CALL,
                                      .start_ns = recording->begin_ns,
                                      .end_ns = recording->begin_ns,
                                      .thread = calls[1].thread,
                                      .row = host_call_row("cudaLaunchKernel"),
                                      .stream = RECORDING_NONE,
                                      .first_op = first,
                                      .op_count = early};
    for (size_t i = 0; i < recording->op_count; i++) {
        struct recorded_op *op = &recording->ops[i];
        op->call = i < first ? op->call + 1 : i < first + early ? 0 : RECORDING_NONE;
    }
    return true;
}

enum status profiled_finish(struct profiled *profiled, enum timing timing,
                            const char *traced_by, struct traces *traces)
{
    struct recording *recording = profiled->draft.recording;
    struct error *error = profiled->draft.text.error;
    names_free(&profiled->names);
    names_free(&profiled->contexts);
    names_free(&profiled->devices);
    names_free(&profiled->processes);
    if (recording == NULL) /* there was no memory for it, and nothing was read */
        return error->status;
    if (draft_close(&profiled->draft) != STATUS_OK) {
        free(recording);
        return error->status;
    }
    settle_calls(recording);
    recording->timing = timing;
    recording->traced_by = traced_by;
    recording->facts.by_node = timing == TIMING_CHROME;
    recording->end = RECORDING_EXIT;
    recording->lazy = true;
    if (!add_first_call(recording)) {
        recording_free(recording);
        free(recording);
        return error_no_memory(error, "for the trace");
    }
    enum status status = recording_traces(recording, traces, error);
    if (status == STATUS_OK && !profiled_find_waits(recording)) {
        traces_free(traces);
        status = error_no_memory(error, "for the trace");
    }
    return status;
}
