/* whatif_knobs.c - knobs as fields of the settings, and as options. */
#include "causes/whatif.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIELD(knob, name)                                                                      \
    {                                                                                          \
        knob, offsetof(struct settings, name), sizeof(((struct settings *)0)->name)            \
    }

static const struct field {
    enum knob knob;
    size_t offset, size;
} fields[] = {
    FIELD(KNOB_LAYOUT, layout),       FIELD(KNOB_ORDER, order),
    FIELD(KNOB_ISSUE, issue),         FIELD(KNOB_ISSUE, pack),
    FIELD(KNOB_ISSUE, batch),         FIELD(KNOB_PRIORITIES, priority_count),
    FIELD(KNOB_CALLBACKS, callbacks), FIELD(KNOB_CARRY, carry),
    FIELD(KNOB_QUEUES, connections),  FIELD(KNOB_STREAMS, streams),
    FIELD(KNOB_TILES, tiles),         FIELD(KNOB_BLOCKS, blocks),
    FIELD(KNOB_SHARE, cpu_share),     FIELD(KNOB_WAYS, ways),
    FIELD(KNOB_EXCHANGE, exchange),   FIELD(KNOB_HIDE, hide),
    FIELD(KNOB_MEMORY, memory),       FIELD(KNOB_PREFETCH, prefetch),
    FIELD(KNOB_SHARING, sharing),     FIELD(KNOB_ALLOC, alloc),
    FIELD(KNOB_COPY, copy),           FIELD(KNOB_MISTAKE, mistake),
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

void whatif_turn(enum knob knob, const struct settings *from, struct settings *to)
{
    for (int i = 0; i < FIELDS; i++) {
        if (fields[i].knob == knob)
            memcpy((char *)to + fields[i].offset, (const char *)from + fields[i].offset,
                   fields[i].size);
    }
    if (knob == KNOB_WAYS && to->ways == 1)
        to->streams = 1; /* no other number of streams goes with serial */
}

bool whatif_is_turned(enum knob knob, const struct settings *a, const struct settings *b)
{
    bool turned = false;
    for (int i = 0; i < FIELDS; i++)
        turned |= fields[i].knob == knob &&
                  memcmp((const char *)a + fields[i].offset, (const char *)b + fields[i].offset,
                         fields[i].size) != 0;
    return turned;
}

bool whatif_set_way(int number, struct settings *settings)
{
    const int passes = settings_tiles_are_given(settings) ? 2 : 1; /* the second: in batches */
    for (int i = 0; i < passes * WAY_COUNT; i++) {
        const enum issue_way way = (enum issue_way)(i % WAY_COUNT);
        /* The layout is a knob of its own. */
        if (issue_ways[way].staged || issue_way_batches(way) != (i >= WAY_COUNT) ||
            number-- > 0)
            continue;
        settings_set_way(settings, way);
        settings->batch = 0;
        if (!issue_ways[way].mapped && settings->memory == MEMORY_MAPPED)
            settings->memory = MEMORY_PINNED;
        return true;
    }
    return false;
}

/* Writes what of the way in which tiles go has to be given anew. A size of batches that is no
 * longer meant would be refused beside a way that has none. */
static void issue_options(const struct settings *given, const struct settings *settings,
                          char *text, size_t room)
{
    char batch[32] = "--batch=auto";
    if (settings->batch > 0)
        snprintf(batch, sizeof batch, "--batch=%" PRIu32, settings->batch);
    const struct {
        bool needed;
        const char *before, *option;
    } options[] = {
        {given->pack && !settings->pack, "", "--pack=no"},
        {given->issue != settings->issue, "--issue=", issue_names[settings->issue]},
        {!given->pack && settings->pack, "", "--pack"},
        {given->batch != settings->batch, "", batch},
    };
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof options / sizeof options[0] && used + 1 < room; i++) {
        if (options[i].needed)
            snprintf(text + used, room - used, "%s%s%s", used > 0 ? " " : "", options[i].before,
                     options[i].option);
        used += strlen(text + used);
    }
}

void whatif_option(enum knob knob, const struct settings *given,
                   const struct settings *settings, char *text, size_t room)
{
    switch (knob) {
    case KNOB_LAYOUT:
        snprintf(text, room, "--layout=%s", layout_names[settings->layout]);
        break;
    case KNOB_ORDER:
        snprintf(text, room, "--order=%s", order_names[settings->order]);
        break;
    case KNOB_ISSUE:
        issue_options(given, settings, text, room);
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
        /* Serial has one stream by itself; other ways have it only when told. */
        snprintf(text, room, "--ways=%d%s", settings->ways,
                 given->ways == 1 && settings->ways != 1 && settings->streams == 1
                     ? " --streams=1"
                     : "");
        break;
    case KNOB_SHARING:
        snprintf(text, room, "--share=%s", sharing_names[settings->sharing]);
        break;
    case KNOB_EXCHANGE:
        snprintf(text, room, "--exchange=%s", exchange_names[settings->exchange]);
        break;
    case KNOB_HIDE:
        snprintf(text, room, "--hide=%s", hide_names[settings->hide]);
        break;
    case KNOB_MEMORY:
        snprintf(text, room, "--memory=%s", memory_names[settings->memory]);
        break;
    case KNOB_ALLOC:
        snprintf(text, room, "--alloc=%s", alloc_names[settings->alloc]);
        break;
    case KNOB_COPY:
        snprintf(text, room, "--copy=%s", copy_names[settings->copy]);
        break;
    case KNOB_PREFETCH:
        snprintf(text, room, "--prefetch=%s", settings->prefetch ? "yes" : "no");
        break;
    case KNOB_MISTAKE:
        snprintf(text, room, "--mistake=none");
        break;
    case KNOB_COUNT:
        text[0] = '\0';
        break;
    }
}
