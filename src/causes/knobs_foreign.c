/* knobs_foreign.c - the knobs of a recorded program: as fields of a change of its calls, and
 * the causes that they stand for. */
#include "causes/knobs.h"
#include "plan/rules.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#define FIELD(of, name)                                                                        \
    {                                                                                          \
        .knob = (of), .offset = offsetof(union choice, change.name),                           \
        .size = sizeof(((union choice *)0)->change.name)                                       \
    }

static const struct knob_field fields[] = {
    FIELD(CHANGE_ORDER, order),
    FIELD(CHANGE_GRAPH, graphs),
    FIELD(CHANGE_WORK, work_threads),
    FIELD(CHANGE_PRIORITIES, evens_priorities),
    FIELD(CHANGE_PRIORITIES, raises_priorities),
    FIELD(CHANGE_STREAMS, streams),
    FIELD(CHANGE_QUEUES, queues),
    FIELD(CHANGE_SIZES, pieces),
    FIELD(CHANGE_SIZES, merged),
    FIELD(CHANGE_BLOCKS, spreads_blocks),
    FIELD(CHANGE_LARGE, cuts_copies),
    FIELD(CHANGE_WAITS, drops_waits),
    FIELD(CHANGE_LOADS, loads_early),
    FIELD(CHANGE_CALLBACKS, shortens_callbacks),
    FIELD(CHANGE_MEMSETS, drops_memsets),
    FIELD(CHANGE_DEVICE_COPIES, drops_device_copies),
    FIELD(CHANGE_REPEATS, drops_repeats),
    FIELD(CHANGE_PEERS, reaches_peers),
    FIELD(CHANGE_UNBLOCKS, unblocks),
    FIELD(CHANGE_LAUNCHES, frees_launches),
    FIELD(CHANGE_ALLOCS, drops_allocs),
    FIELD(CHANGE_PINNED_ALLOCS, drops_pinned_allocs),
    FIELD(CHANGE_MAKES, makes_early[0]),
    FIELD(CHANGE_MAKES + CALL_HANDLE - CALL_MAKE, makes_early[CALL_HANDLE - CALL_MAKE]),
    FIELD(CHANGE_MAKES + CALL_STREAM - CALL_MAKE, makes_early[CALL_STREAM - CALL_MAKE]),
    FIELD(CHANGE_MAKES + CALL_POOL - CALL_MAKE, makes_early[CALL_POOL - CALL_MAKE]),
    FIELD(CHANGE_SYNCS, drops_syncs),
    FIELD(CHANGE_PINS, pins),
};

/* Those that take away all waits that no data asks for, too. */
static const bool drop_waits[CHANGE_COUNT] = {
    [CHANGE_STREAMS] = true, [CHANGE_ORDER] = true, [CHANGE_SIZES] = true};

_Static_assert((int)CHANGE_COUNT <= (int)KNOBS_MOST, "a search has room for all knobs");

const struct knob_set knobs_foreign = {
    .count = CHANGE_COUNT,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .shared = CHANGE_WAITS,
    .shares = drop_waits,
};

enum verdict_code change_cause(enum change_knob knob, const struct machine *machine,
                               const struct rework_looks *looks, const struct rework *better)
{
    const enum verdict_code codes[CHANGE_COUNT] = {
        [CHANGE_ORDER] = machine->copy_engines == 1          ? VERDICT_ONE_COPY_ENGINE
                         : rule_checks_dependencies(machine) ? VERDICT_LATE_SIGNAL
                                                             : VERDICT_FULL_GPU,
        [CHANGE_GRAPH] = VERDICT_LAUNCH_BOUND,
        [CHANGE_WORK] = VERDICT_HOST_WORK,
        [CHANGE_PRIORITIES] = VERDICT_PRIORITY_INVERSION,
        [CHANGE_STREAMS] = looks->streams < 2 ? VERDICT_ONE_STREAM : VERDICT_FEW_STREAMS,
        [CHANGE_QUEUES] = machine->queues < 2 ? VERDICT_ONE_QUEUE : VERDICT_FEW_QUEUES,
        [CHANGE_SIZES] = better->merged > 1 ? VERDICT_SMALL_TILES : VERDICT_FEW_TILES,
        [CHANGE_BLOCKS] = VERDICT_FEW_BLOCKS,
        [CHANGE_LARGE] = VERDICT_LARGE_COPY,
        [CHANGE_WAITS] = VERDICT_NEEDLESS_WAIT,
        [CHANGE_LOADS] = VERDICT_LAZY_LOADING,
        [CHANGE_CALLBACKS] = VERDICT_SLOW_CALLBACK,
        [CHANGE_MEMSETS] = VERDICT_MEMSET_IN_LOOP,
        [CHANGE_DEVICE_COPIES] = VERDICT_DEVICE_COPIES,
        [CHANGE_REPEATS] = VERDICT_REPEATED_COPY,
        [CHANGE_PEERS] = VERDICT_PEER_ACCESS,
        [CHANGE_UNBLOCKS] =
            looks->legacy_works ? VERDICT_LEGACY_STREAM : VERDICT_BLOCKING_STREAM,
        [CHANGE_LAUNCHES] = VERDICT_LAUNCH_BLOCKING,
        [CHANGE_ALLOCS] = VERDICT_ALLOC_IN_LOOP,
        [CHANGE_PINNED_ALLOCS] = VERDICT_PINNED_ALLOC_IN_LOOP,
        [CHANGE_MAKES] = VERDICT_GRAPH_IN_LOOP,
        [CHANGE_MAKES + CALL_HANDLE - CALL_MAKE] = VERDICT_HANDLE_IN_LOOP,
        [CHANGE_MAKES + CALL_STREAM - CALL_MAKE] = VERDICT_STREAM_IN_LOOP,
        [CHANGE_MAKES + CALL_POOL - CALL_MAKE] = VERDICT_ALLOC_IN_STREAM,
        [CHANGE_SYNCS] = VERDICT_SYNC_IN_LOOP,
        [CHANGE_PINS] = VERDICT_PAGEABLE_MEMORY,
    };
    return codes[knob];
}

void change_detail(const struct rework *change, enum change_knob knob, char *text, size_t room)
{
    text[0] = '\0';
    if (knob == CHANGE_STREAMS)
        snprintf(text, room, "%" PRIu32 " streams", change->streams);
    else if (knob == CHANGE_QUEUES)
        snprintf(text, room, "%" PRIu32 " queues", change->queues);
    else if (knob == CHANGE_WORK && change->work_threads > 1)
        snprintf(text, room, "%" PRIu32 " threads that share it", change->work_threads);
    else if (knob == CHANGE_GRAPH)
        snprintf(text, room, "graphs of what repeats");
    else if (knob == CHANGE_SIZES && change->merged > 1)
        snprintf(text, room, "%" PRIu32 " tiles as one", change->merged);
    else if (knob == CHANGE_SIZES)
        snprintf(text, room, "each tile in %" PRIu32 " pieces", change->pieces);
    else if (knob == CHANGE_ORDER)
        snprintf(text, room, "%s",
                 change->order == REWORK_DEPTH ? "tile by tile" : "stage by stage");
}
