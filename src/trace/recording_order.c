/* recording_order.c - puts what was read in order, and joins it: calls and what they did, ops
 * and their calls, streams and devices, which event a record is of, and for how long memory was
 * taken. */
#include "core/compare.h"
#include "trace/recording_draft.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void sort(struct pile *pile, size_t size, int (*compare)(const void *a, const void *b))
{
    if (pile->count > 1)
        qsort(pile->items, pile->count, size, compare);
}

/* --- devices, streams --- */

COMPARE_BY(compare_devices, struct recorded_device, id);

/* Says how timelines call a device. */
static void set_shown(struct draft *draft, struct recorded_device *device)
{
    char text[TRACE_SHOWN + 32];
    snprintf(text, sizeof text, "%.*s (%" PRIu32 ")", TRACE_SHOWN,
             device->name[0] != '\0' ? device->name : "GPU", device->id);
    if (device->shown == NULL)
        device->shown = draft_text(draft, text);
}

/* Puts the devices in order of their ids. */
static void order_devices(struct draft *draft)
{
    struct place *places = draft->device_places.items;
    places_order(draft, &draft->device_places, "device");
    sort(&draft->devices, sizeof(struct recorded_device), compare_devices);
    for (size_t i = 0; i < draft->devices.count; i++) {
        places[i].index = (uint32_t)i;
        set_shown(draft, (struct recorded_device *)draft->devices.items + i);
    }
    for (size_t i = 0, near = 0; i < draft->memory.count; i++) {
        struct recorded_memory *memory = (struct recorded_memory *)draft->memory.items + i;
        memory->device = place_find(&draft->device_places, memory->device, &near);
    }
}

/* Sets the contexts' devices to their indexes. */
static void order_contexts(struct draft *draft)
{
    struct place *contexts = draft->contexts.items;
    for (size_t i = 0, near = 0; i < draft->contexts.count; i++)
        contexts[i].index = place_find(&draft->device_places, contexts[i].index, &near);
    places_order(draft, &draft->contexts, "context");
}

COMPARE_BY(compare_streams, struct draft_stream, stream.context, stream.number);

/* Makes up a device, last of all, for streams of which none is known. Returns its index. */
static uint32_t add_device(struct draft *draft)
{
    struct recorded_device *device = pile_add(draft, &draft->devices, sizeof *device);
    device->id = RECORDING_NONE;
    device->name = device->shown = draft_text(draft, "a GPU");
    return (uint32_t)draft->devices.count - 1;
}

/* Sets the streams' devices. One device is that of all streams. */
static void join_streams(struct draft *draft)
{
    struct draft_stream *streams = draft->streams.items;
    uint32_t made_up = draft->devices.count == 1 ? 0 : RECORDING_NONE;
    for (size_t i = 0, near = 0; i < draft->streams.count; i++) {
        uint32_t device = place_find(&draft->contexts, streams[i].stream.context, &near);
        if (device == RECORDING_NONE && made_up == RECORDING_NONE)
            made_up = add_device(draft);
        streams[i].stream.device = device == RECORDING_NONE ? made_up : device;
    }
}

/* Puts the streams in order, and notes which index each number has. */
static void order_streams(struct draft *draft)
{
    struct recording *recording = draft->recording;
    struct draft_stream *streams = draft->streams.items;
    const size_t count = recording->stream_count = draft->streams.count;
    for (size_t i = 0; i < count; i++)
        streams[i].line = i; /* its number: no line is wrong any more */
    sort(&draft->streams, sizeof *streams, compare_streams);
    for (size_t i = 0; i < count; i++) {
        recording->streams[i] = streams[i].stream;
        draft->moved[streams[i].line] = (uint32_t)i;
    }
}

/* --- calls --- */

COMPARE_BY(compare_calls, struct recorded_call, start_ns, id, end_ns, thread, row);

/* Puts the calls in order. */
static void order_calls(struct draft *draft)
{
    const struct recorded_call *calls = draft->calls.items;
    struct place *places = draft->call_places.items;
    places_order(draft, &draft->call_places, "call");
    sort(&draft->calls, sizeof *calls, compare_calls);
    for (size_t i = 0; i < draft->calls.count; i++)
        places[i] = (struct place){.id = calls[i].id, .line = i, .index = (uint32_t)i};
    places_order(draft, &draft->call_places, "call");
    for (size_t i = 1; i < draft->calls.count; i++)
        draft->recording->doubled += places[i].id == places[i - 1].id;
}

/* Gives each call what it did. Of one that did several things nothing is known. */
static void join_effects(struct draft *draft)
{
    enum { SEVERAL = UINT8_MAX };
    struct recorded_call *calls = draft->calls.items;
    for (size_t i = 0, near = 0; i < draft->effects.count; i++) {
        const struct recorded_call *made =
            (const struct recorded_call *)draft->effects.items + i;
        uint32_t index = place_find(&draft->call_places, made->id, &near);
        if (index == RECORDING_NONE)
            continue;
        struct recorded_call *call = &calls[index];
        call->effect = call->effect == EFFECT_NONE || draft->lenient ? made->effect : SEVERAL;
        call->known = made->known;
        call->touched = made->touched;
        call->stream =
            made->stream != RECORDING_NONE ? draft->moved[made->stream] : RECORDING_NONE;
        memcpy(&call->bytes, &made->bytes, sizeof call->bytes);
    }
    for (size_t i = 0; i < draft->calls.count; i++) {
        if (calls[i].effect == SEVERAL) {
            calls[i].effect = EFFECT_NONE;
            calls[i].known = false;
            calls[i].stream = RECORDING_NONE;
            calls[i].bytes = 0;
        }
    }
}

/* Numbers threads as they first call. Ranges of those that never do have no thread. */
static void order_threads(struct draft *draft)
{
    struct recorded_call *calls = draft->calls.items;
    struct host_range *ranges = draft->ranges.items;
    uint32_t *count = &draft->recording->threads;
    for (size_t i = 0; i < draft->calls.count; i++) {
        uint32_t *number = &draft->numbers[calls[i].thread];
        if (*number == RECORDING_NONE)
            *number = (*count)++;
        calls[i].thread = *number;
    }
    for (size_t i = 0; i < draft->ranges.count; i++)
        ranges[i].thread = draft->numbers[ranges[i].thread];
}

/* --- what recording took --- */

/* CUPTI takes at least so much of a call that hands an op to the device, as measured on an H200
 * (bench/results/h200-2026-11-29-loops.txt); recorders that did not measure it are taken to
 * have that. */
enum { CUPTI_CALL_NS = 1000 };

/* Returns what the recorder's own callbacks took of a call; 0 where too few were looked at. */
static int64_t callbacks_ns(const struct recording_cost *cost)
{
    enum { LEAST = 8 };
    return cost->calls >= LEAST ? cost->sum_ns / (int64_t)cost->calls : 0;
}

/* Returns what recording took of a call that ended `length_ns` after its thread's call before:
 * the part that it takes of the calls that were measured, since a call that does more, or a
 * processor that is slower then, takes longer in both; but no more than twice what it took of
 * those. About a quarter of it lies before the call. Half of the time is the program's and
 * CUDA's in any case where nothing was measured. */
static int64_t added_ns(const struct recording *recording, const struct recorded_call *call,
                        int64_t length_ns)
{
    const enum recorded_effect effect = (enum recorded_effect)call->effect;
    const bool hands_over =
        effect == EFFECT_COPY || effect == EFFECT_SET || effect == EFFECT_LAUNCH;
    const bool waits = effect == EFFECT_SYNC_STREAM || effect == EFFECT_SYNC_EVENT;
    const struct recording_cost *cost = &recording->costs[waits ? EFFECT_SYNC_DEVICE : effect];
    const int64_t more_ns = later(cost->recorded_ns - cost->alone_ns, 0);
    if (call->added_ns > 0) /* the recorder says it of this one */
        return earlier(call->added_ns, length_ns);
    if (cost->recorded_ns == 0)
        return earlier(callbacks_ns(cost) + (hands_over ? CUPTI_CALL_NS : 0), length_ns / 2);
    const int64_t own_ns = earlier(length_ns, call->end_ns - call->start_ns + more_ns / 4);
    return earlier((int64_t)((double)own_ns * (double)more_ns / (double)cost->recorded_ns),
                   2 * more_ns);
}

static void find_added(struct draft *draft)
{
    const struct recording *recording = draft->recording;
    struct recorded_call *calls = draft->calls.items;
    int64_t *ended_ns = draft->ended_ns;
    for (size_t i = 0; i < draft->calls.count && recording->costs_known; i++) {
        struct recorded_call *call = &calls[i];
        const int64_t before_ns = ended_ns[call->thread];
        const int64_t from_ns =
            before_ns > 0 ? earlier(before_ns, call->start_ns) : call->start_ns;
        call->added_ns = (uint32_t)earlier(
            later(added_ns(recording, call, call->end_ns - from_ns), 0), UINT32_MAX);
        ended_ns[call->thread] = call->end_ns;
    }
}

/* --- names, ops --- */

/* Puts the names in order of their ids. */
static void order_names(struct draft *draft)
{
    struct recording *recording = draft->recording;
    struct place *places = draft->name_places.items;
    char **names = draft->names.items;
    places_order(draft, &draft->name_places, "name");
    recording->name_count = draft->names.count;
    for (size_t i = 0; i < recording->name_count; i++) {
        recording->names[i] = names[places[i].index];
        places[i].index = (uint32_t)i;
    }
}

COMPARE_BY(compare_ops, struct recorded_op, start_ns, end_ns, node, stream, kind, name, bytes);

/* Puts the ops in the order of their calls, those without one last. */
static void place_ops(struct draft *draft)
{
    struct recording *recording = draft->recording;
    const struct draft_op *items = draft->ops.items;
    struct recorded_call *calls = draft->calls.items;
    size_t count = draft->ops.count;
    uint32_t next = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].op.call != RECORDING_NONE)
            calls[items[i].op.call].op_count++;
    }
    for (size_t i = 0; i < draft->calls.count; i++) {
        calls[i].first_op = next;
        next += calls[i].op_count;
        calls[i].op_count = 0;
    }
    uint32_t first_without = next;
    for (size_t i = 0; i < count; i++) {
        uint32_t call = items[i].op.call;
        uint32_t place =
            call != RECORDING_NONE ? calls[call].first_op + calls[call].op_count++ : next++;
        recording->ops[place] = items[i].op;
    }
    for (size_t i = 0; i < draft->calls.count; i++) {
        if (calls[i].op_count > 1)
            qsort(&recording->ops[calls[i].first_op], calls[i].op_count, sizeof *recording->ops,
                  compare_ops);
    }
    qsort(&recording->ops[first_without], next - first_without, sizeof *recording->ops,
          compare_ops);
    recording->op_count = count;
}

/* Looks up what the ops refer to. */
static void join_ops(struct draft *draft)
{
    struct draft_op *ops = draft->ops.items;
    for (size_t i = 0, near = 0, near_name = 0; i < draft->ops.count; i++) {
        struct recorded_op *op = &ops[i].op;
        op->call = place_find(&draft->call_places, ops[i].call, &near);
        op->stream = draft->moved[op->stream];
        if (op->kind == OP_KERNEL && !op->h2h)
            op->name = place_find(&draft->name_places, ops[i].name, &near_name);
    }
}

/* --- memory --- */

COMPARE_BY(compare_memory, struct recorded_memory, address, from_ns, bytes, kind);

COMPARE_BY(compare_frees, struct draft_free, address, time_ns);

/* Memory is taken until the first time that it is given back behind its own, or until memory is
 * taken that begins there, too: then the line that gave it back is lost. */
static void order_memory(struct draft *draft)
{
    const struct draft_free *frees = draft->frees.items;
    size_t next = 0;
    sort(&draft->memory, sizeof(struct recorded_memory), compare_memory);
    sort(&draft->frees, sizeof *frees, compare_frees);
    for (size_t i = 0; i < draft->memory.count; i++) {
        struct recorded_memory *memory = (struct recorded_memory *)draft->memory.items + i,
                               *behind = memory + 1;
        const struct draft_free began = {.address = memory->address,
                                         .time_ns = memory->from_ns};
        if (i + 1 < draft->memory.count && behind->address == memory->address)
            memory->until_ns = behind->from_ns;
        while (next < draft->frees.count && compare_frees(&frees[next], &began) < 0)
            next++;
        if (next < draft->frees.count && frees[next].address == memory->address &&
            frees[next].time_ns <= memory->until_ns)
            memory->until_ns = frees[next++].time_ns;
    }
}

/* --- events --- */

COMPARE_BY(compare_events, struct draft_event, event, time_ns, timed);

/* Says of records whether their events keep the time: the latest that was made of that handle.
 */
static void join_events(struct draft *draft)
{
    const struct draft_event *events = draft->events.items;
    struct recorded_call *calls = draft->calls.items;
    sort(&draft->events, sizeof *events, compare_events);
    for (size_t i = 0; i < draft->calls.count; i++) {
        if (calls[i].effect != EFFECT_RECORD)
            continue;
        const struct draft_event now = {calls[i].event, calls[i].start_ns, true};
        BISECT(end, k, 0, draft->events.count, compare_events(&events[k], &now) <= 0);
        calls[i].known = end > 0 && events[end - 1].event == now.event && events[end - 1].timed;
    }
}

/* --- lines of the source, graphs, ranges --- */

static int compare_lines(const void *a, const void *b)
{
    const struct recorded_line *x = a, *y = b;
    return COMPARE_ELSE(COMPARE_MEMBERS(call), strcmp(x->text, y->text));
}

/* Keeps the lines of calls that are there. */
static void join_lines(struct draft *draft)
{
    struct recording *recording = draft->recording;
    struct draft_line *lines = draft->lines.items;
    for (size_t i = 0, near = 0; i < draft->lines.count; i++) {
        uint32_t call = place_find(&draft->call_places, lines[i].call, &near);
        if (call == RECORDING_NONE)
            continue;
        recording->lines[recording->line_count++] =
            (struct recorded_line){.call = call, .text = lines[i].text};
    }
    qsort(recording->lines, recording->line_count, sizeof *recording->lines, compare_lines);
}

/* Keeps the races whose calls are there. */
static void join_races(struct draft *draft)
{
    struct recording *recording = draft->recording;
    EACH (const struct draft_race, from, draft->races.items, draft->races.count) {
        struct recorded_race *race = &recording->races[recording->race_count];
        bool known = true;
        *race = from->race;
        for (int i = 0; i < 2; i++) {
            size_t near = 0;
            if (from->calls[i] != DRAFT_NO_CALL)
                race->sides[i].call = place_find(&draft->call_places, from->calls[i], &near);
            known &= from->calls[i] == DRAFT_NO_CALL || race->sides[i].call != RECORDING_NONE;
        }
        recording->race_count += known;
    }
}

COMPARE_BY(compare_nodes, struct recorded_node, exec, node, kind);

COMPARE_BY(compare_edges, struct recorded_edge, exec, from, to);

static int compare_ranges(const void *a, const void *b)
{
    const struct host_range *x = a, *y = b;
    const int same = COMPARE_ELSE(COMPARE_MEMBERS(thread), strcmp(x->name, y->name));
    const int ends = COMPARE(y->end_ns, x->end_ns); /* the outer one first */
    return COMPARE_ELSE(COMPARE_MEMBERS(start_ns), COMPARE_ELSE(ends, same));
}

/* --- all of it --- */

/* Moves a pile's items to where they are to stay. */
static void *move(struct pile *pile, size_t *count)
{
    void *items = pile->items;
    *count = pile->count;
    *pile = (struct pile){0};
    return items;
}

static void keep(struct draft *draft)
{
    struct recording *recording = draft->recording;
    recording->devices = move(&draft->devices, &recording->device_count);
    recording->memory = move(&draft->memory, &recording->memory_count);
    recording->calls = move(&draft->calls, &recording->call_count);
    recording->nodes = move(&draft->nodes, &recording->node_count);
    recording->edges = move(&draft->edges, &recording->edge_count);
    recording->ranges = move(&draft->ranges, &recording->range_count);
    recording->words = move(&draft->words, &recording->word_count);
    recording->notes = move(&draft->notes, &recording->note_count);
}

/* Takes what the steps below fill. */
static void take_tables(struct draft *draft)
{
    struct recording *recording = draft->recording;
    struct arena *arena = &recording->arena;
    const size_t streams = draft->streams.count;
    draft->moved = arena_zeros(arena, streams, sizeof *draft->moved);
    draft->numbers = arena_ones(arena, draft->threads.count, sizeof *draft->numbers);
    draft->ended_ns = arena_zeros(arena, draft->threads.count, sizeof *draft->ended_ns);
    recording->streams = arena_zeros(arena, streams, sizeof *recording->streams);
    recording->names = arena_zeros(arena, draft->names.count, sizeof *recording->names);
    recording->lines = arena_zeros(arena, draft->lines.count, sizeof *recording->lines);
    recording->races = arena_zeros(arena, draft->races.count, sizeof *recording->races);
    recording->ops = malloc((draft->ops.count + 1) * sizeof *recording->ops);
    if (arena->full || recording->ops == NULL)
        draft_no_memory(draft);
}

static void order_rest(struct draft *draft)
{
    order_memory(draft);
    join_events(draft);
    sort(&draft->nodes, sizeof(struct recorded_node), compare_nodes);
    sort(&draft->edges, sizeof(struct recorded_edge), compare_edges);
    sort(&draft->ranges, sizeof(struct host_range), compare_ranges);
}

enum status draft_close(struct draft *draft)
{
    static void (*const steps[])(struct draft * draft) = {
        take_tables, order_devices,     order_contexts, join_streams,      order_streams,
        order_calls, order_threads,     join_effects,   find_added,        order_names,
        join_ops,    draft_join_staged, place_ops,      draft_time_staged, join_lines,
        join_races,  order_rest,        keep,           draft_settle_rows};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !draft_failed(draft); i++)
        steps[i](draft);
    draft_free(draft);
    if (draft_failed(draft))
        recording_free(draft->recording);
    return draft->text.error->status;
}
