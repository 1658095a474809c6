/* whatif_knobs.c - knobs as fields of the settings, and as options. */
#include "analysis/whatif.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIELD(name)                                                                            \
    {                                                                                          \
        offsetof(struct settings, name), sizeof(((struct settings *)0)->name)                  \
    }

static const struct {
    size_t offset, size;
} fields[KNOB_COUNT] = {
    [KNOB_LAYOUT] = FIELD(layout),       [KNOB_ORDER] = FIELD(order),
    [KNOB_ISSUE] = FIELD(issue),         [KNOB_PRIORITIES] = FIELD(priority_count),
    [KNOB_CALLBACKS] = FIELD(callbacks), [KNOB_CARRY] = FIELD(carry),
    [KNOB_QUEUES] = FIELD(connections),  [KNOB_STREAMS] = FIELD(streams),
    [KNOB_TILES] = FIELD(tiles),         [KNOB_BLOCKS] = FIELD(blocks),
    [KNOB_SHARE] = FIELD(cpu_share),     [KNOB_WAYS] = FIELD(ways),
    [KNOB_MEMORY] = FIELD(memory),       [KNOB_MISTAKE] = FIELD(mistake),
};

void whatif_turn(enum knob knob, const struct settings *from, struct settings *to)
{
    memcpy((char *)to + fields[knob].offset, (const char *)from + fields[knob].offset,
           fields[knob].size);
    if (knob == KNOB_WAYS && to->ways == 1)
        to->streams = 1; /* no other number of streams goes with serial */
}

bool whatif_is_turned(enum knob knob, const struct settings *a, const struct settings *b)
{
    return memcmp((const char *)a + fields[knob].offset, (const char *)b + fields[knob].offset,
                  fields[knob].size) != 0;
}

void whatif_option(enum knob knob, const struct settings *settings, char *text, size_t room)
{
    switch (knob) {
    case KNOB_LAYOUT:
        snprintf(text, room, "--layout=%s", layout_names[settings->layout]);
        break;
    case KNOB_ORDER:
        snprintf(text, room, "--order=%s", order_names[settings->order]);
        break;
    case KNOB_ISSUE:
        snprintf(text, room, "--issue=%s", issue_names[settings->issue]);
        break;
    case KNOB_PRIORITIES:
        snprintf(text, room, "--priorities=none");
        break;
    case KNOB_CALLBACKS:
        snprintf(text, room, "--callbacks=no");
        break;
    case KNOB_CARRY:
        snprintf(text, room, "--carry=%s", carry_names[settings->carry]);
        break;
    case KNOB_QUEUES:
        snprintf(text, room, "--connections=%" PRIu32, settings->connections);
        break;
    case KNOB_STREAMS:
        snprintf(text, room, "--streams=%" PRIu32, settings->streams);
        break;
    case KNOB_TILES:
        snprintf(text, room, "--tiles=%" PRIu32, settings->tiles);
        break;
    case KNOB_BLOCKS:
        snprintf(text, room, "--blocks=auto");
        break;
    case KNOB_SHARE:
        if (settings->cpu_share < 0)
            snprintf(text, room, "--cpu-share=auto");
        else
            snprintf(text, room, "--cpu-share=%g", settings->cpu_share);
        break;
    case KNOB_WAYS:
        snprintf(text, room, "--ways=%d", settings->ways);
        break;
    case KNOB_MEMORY:
        snprintf(text, room, "--memory=%s", memory_names[settings->memory]);
        break;
    case KNOB_MISTAKE:
        snprintf(text, room, "--mistake=none");
        break;
    case KNOB_COUNT:
        text[0] = '\0';
        break;
    }
}
