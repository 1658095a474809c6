/* rework_turns.c - a change of a recorded plan, part by part. */
#include "causes/rework_find.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void rework_turn_part(enum rework_part part, const struct rework *from, struct rework *to)
{
    switch (part) {
    case REWORK_ORDER:
        to->order = from->order;
        break;
    case REWORK_GRAPH:
        to->graphs = from->graphs;
        break;
    case REWORK_PRIORITIES:
        to->evens_priorities = from->evens_priorities;
        break;
    case REWORK_WAITS:
        to->drops_waits = from->drops_waits;
        break;
    case REWORK_STREAMS:
        to->streams = from->streams;
        break;
    case REWORK_QUEUES:
        to->queues = from->queues;
        break;
    case REWORK_SIZES:
        to->pieces = from->pieces;
        to->merged = from->merged;
        break;
    case REWORK_BLOCKS:
        to->spreads_blocks = from->spreads_blocks;
        break;
    case REWORK_LARGE:
        to->cuts_copies = from->cuts_copies;
        break;
    case REWORK_DEVICE_COPIES:
        to->drops_device_copies = from->drops_device_copies;
        break;
    case REWORK_LOADS:
        to->loads_early = from->loads_early;
        break;
    case REWORK_CALLBACKS:
        to->shortens_callbacks = from->shortens_callbacks;
        break;
    case REWORK_MEMSETS:
        to->drops_memsets = from->drops_memsets;
        break;
    case REWORK_UNBLOCKS:
        to->unblocks = from->unblocks;
        break;
    case REWORK_LAUNCHES:
        to->frees_launches = from->frees_launches;
        break;
    case REWORK_ALLOCS:
        to->drops_allocs = from->drops_allocs;
        break;
    case REWORK_PINNED_ALLOCS:
        to->drops_pinned_allocs = from->drops_pinned_allocs;
        break;
    case REWORK_SYNCS:
        to->drops_syncs = from->drops_syncs;
        break;
    case REWORK_PINS:
        to->pins = from->pins;
        break;
    case REWORK_PART_COUNT:
        break;
    }
}

bool rework_is_turned(enum rework_part part, const struct rework *change)
{
    struct rework none, one;
    memset(&none, 0, sizeof none);
    memset(&one, 0, sizeof one);
    rework_turn_part(part, change, &one);
    return memcmp(&none, &one, sizeof one) != 0;
}

void rework_detail(const struct rework *change, enum rework_part part, char *text, size_t room)
{
    text[0] = '\0';
    if (part == REWORK_STREAMS)
        snprintf(text, room, "%" PRIu32 " streams", change->streams);
    else if (part == REWORK_QUEUES)
        snprintf(text, room, "%" PRIu32 " queues", change->queues);
    else if (part == REWORK_GRAPH)
        snprintf(text, room, "a graph");
    else if (part == REWORK_SIZES && change->merged > 1)
        snprintf(text, room, "%" PRIu32 " tiles as one", change->merged);
    else if (part == REWORK_SIZES)
        snprintf(text, room, "each tile in %" PRIu32 " pieces", change->pieces);
    else if (part == REWORK_ORDER)
        snprintf(text, room, "%s",
                 change->order == REWORK_DEPTH ? "tile by tile"
                                               : "stage by "
                                                 "stage");
}
