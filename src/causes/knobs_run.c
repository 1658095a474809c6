/* knobs_run.c - the knobs of a run of our own: as fields of its settings, and as options. */
#include "causes/knobs.h"

#include "plan/rules.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIELD(knob, name)                                                                      \
    {                                                                                          \
        knob, offsetof(union choice, settings.name),                                           \
            sizeof(((union choice *)0)->settings.name)                                         \
    }

static const struct knob_field fields[] = {
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

/* No other number of streams goes with serial. */
static void fit(int knob, union choice *choice)
{
    if (knob == KNOB_WAYS && choice->settings.ways == 1)
        choice->settings.streams = 1;
}

_Static_assert((int)KNOB_COUNT <= (int)KNOBS_MOST, "a search has room for all knobs");

const struct knob_set knobs_run = {
    .count = KNOB_COUNT,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .fit = fit,
    .shared = KNOB_NONE,
};

void whatif_turn(enum knob knob, const struct settings *from, struct settings *to)
{
    const union choice given = {.settings = *from};
    union choice turned = {.settings = *to};
    knob_turn(&knobs_run, (int)knob, &given, &turned);
    *to = turned.settings;
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

/* The options that set knobs, up to their values. */
static const struct knob_option {
    const char *option;
    const char *const *names; /* of the values; NULL: a number, or the option says all */
} options[KNOB_COUNT] = {
    [KNOB_LAYOUT] = {"--layout=", layout_names},
    [KNOB_ORDER] = {"--order=", order_names},
    [KNOB_PRIORITIES] = {.option = "--priorities=none"},
    [KNOB_CALLBACKS] = {.option = "--callbacks=no"},
    [KNOB_CARRY] = {"--carry=", carry_names},
    [KNOB_QUEUES] = {.option = "--connections="},
    [KNOB_STREAMS] = {.option = "--streams="},
    [KNOB_TILES] = {.option = "--tiles="},
    [KNOB_BLOCKS] = {.option = "--blocks=auto"},
    [KNOB_SHARING] = {"--share=", sharing_names},
    [KNOB_EXCHANGE] = {"--exchange=", exchange_names},
    [KNOB_HIDE] = {"--hide=", hide_names},
    [KNOB_MEMORY] = {"--memory=", memory_names},
    [KNOB_ALLOC] = {"--alloc=", alloc_names},
    [KNOB_COPY] = {"--copy=", copy_names},
    [KNOB_MISTAKE] = {.option = "--mistake=none"},
};

/* Writes an option of the table. Its value is a number of 32 bits, or an enum. */
static void plain_option(enum knob knob, const struct settings *settings, char *text,
                         size_t room)
{
    const struct knob_option *option = &options[knob];
    const struct knob_field *field = fields;
    uint32_t value = 0;
    while (field->knob != (int)knob)
        field++;
    if (field->size == sizeof value)
        memcpy(&value, (const char *)settings + field->offset, sizeof value);
    if (option->names != NULL)
        snprintf(text, room, "%s%s", option->option, option->names[value]);
    else if (option->option[strlen(option->option) - 1] == '=')
        snprintf(text, room, "%s%" PRIu32, option->option, value);
    else
        snprintf(text, room, "%s", option->option);
}

void whatif_option(enum knob knob, const struct settings *given,
                   const struct settings *settings, char *text, size_t room)
{
    if (knob == KNOB_ISSUE)
        issue_options(given, settings, text, room);
    else if (knob == KNOB_SHARE && settings->cpu_share < 0)
        snprintf(text, room, "--cpu-share=auto");
    else if (knob == KNOB_SHARE)
        snprintf(text, room, "--cpu-share=%g", settings->cpu_share);
    else if (knob == KNOB_WAYS) /* serial has one stream by itself; other ways when told */
        snprintf(text, room, "--ways=%d%s", settings->ways,
                 given->ways == 1 && settings->ways != 1 && settings->streams == 1
                     ? " --streams=1"
                     : "");
    else if (knob == KNOB_PREFETCH)
        snprintf(text, room, "--prefetch=%s", settings->prefetch ? "yes" : "no");
    else
        plain_option(knob, settings, text, room);
}

/* --- the causes that knobs stand for --- */

/* Returns the cause of a mistake that the plan has, by what is seen in the plan: the first of
 * these that is there. A mistake may bring with it what those behind it are known by. */
static enum verdict_code mistake_cause(const struct verdict_case *facts,
                                       const struct settings *given)
{
    const struct plan *plan = facts->plan;
    bool pins = false, pinned = false, allocs = false, memsets = false, syncs = false,
         sleeps = false, legacy = false, legacy_memsets = false;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        bool in_legacy =
            plan_stream_kind(plan, op->stream) == STREAM_LEGACY && op_on_device(op->kind);
        allocs |= op->kind == OP_ALLOC;
        pins |= op->kind == OP_ALLOC && op->tile < 0;
        pinned |= op->kind == OP_ALLOC && op->alloc.pinned;
        memsets |= op->kind == OP_MEMSET;
        legacy |= in_legacy;
        legacy_memsets |= in_legacy && op->kind == OP_MEMSET;
        sleeps |= op->kind == OP_CALLBACK && op->callback.sleep_ns > 0;
        syncs |= op->kind == OP_SYNC;
    }
    const bool pageable = plan->memory == MEMORY_PAGEABLE;
    const struct {
        bool seen;
        enum verdict_code code;
    } causes[] = {
        /* Where the settings ask for other memory than the plan has, that is the mistake. */
        {pageable && given->memory != MEMORY_PAGEABLE, VERDICT_PAGEABLE_MEMORY},
        {facts->races, VERDICT_MISSING_WAIT},
        {pins, VERDICT_PIN_IN_RUN},
        {pinned, VERDICT_PINNED_ALLOC_IN_LOOP},
        {allocs, VERDICT_ALLOC_IN_LOOP},
        {legacy_memsets, VERDICT_BLOCKING_STREAM},
        {legacy, VERDICT_LEGACY_STREAM},
        {memsets, VERDICT_MEMSET_IN_LOOP},
        {sleeps, VERDICT_SLOW_CALLBACK},
        {plan->launches_block, VERDICT_LAUNCH_BLOCKING},
        {plan->loads_lazily, VERDICT_LAZY_LOADING},
        {syncs, VERDICT_SYNC_IN_LOOP},
        {pageable, VERDICT_PAGEABLE_MEMORY},
    };
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
        if (causes[i].seen)
            return causes[i].code;
    }
    return VERDICT_MISSING_WAIT;
}

/* Returns the cause of another order being better. */
static enum verdict_code order_cause(const struct machine *machine,
                                     const struct settings *given)
{
    if (machine->copy_engines == 1)
        return VERDICT_ONE_COPY_ENGINE;
    if (rule_checks_dependencies(machine) && given->order == ORDER_BREADTH)
        return VERDICT_LATE_SIGNAL;
    if (given->connections < given->streams)
        return given->connections == 1 ? VERDICT_ONE_QUEUE : VERDICT_FEW_QUEUES;
    return VERDICT_FULL_GPU;
}

/* Returns true if it is better not to pack: what has to come in its place is of the same cause.
 */
static bool leaves_packing(const struct settings *given, const struct settings *better)
{
    return given->pack && !better->pack;
}

/* Returns the cause of another way for tiles being better, in which fewer or more go as one. */
static enum verdict_code issue_cause(const struct settings *given,
                                     const struct settings *better)
{
    const uint32_t before = settings_batch(given), now = settings_batch(better);
    if (leaves_packing(given, better))
        return VERDICT_PACKING;
    if (!given->pack && better->pack && given->copy != COPY_WHOLE)
        return given->copy == COPY_ROWS ? VERDICT_ROW_COPIES : VERDICT_NARROW_ROWS;
    if (now < before)
        return VERDICT_FEW_TILES;
    return given->issue == ISSUE_GRAPH && now == 1 ? VERDICT_GRAPH_LAUNCH : VERDICT_SMALL_TILES;
}

/* Returns the cause of other memory being better. */
static enum verdict_code memory_cause(const struct machine *machine,
                                      const struct settings *given,
                                      const struct settings *better)
{
    const bool mapped = better->memory == MEMORY_MAPPED;
    if (given->memory == MEMORY_MAPPED)
        return VERDICT_MAPPED_MEMORY;
    if (given->memory == MEMORY_MANAGED)
        return VERDICT_MANAGED_MEMORY;
    if (leaves_packing(given, better))
        return VERDICT_PACKING;
    if (mapped && machine->copy_engines == 1)
        return VERDICT_ONE_COPY_ENGINE;
    return mapped && given->memory != MEMORY_PAGEABLE ? VERDICT_SMALL_TILES
                                                      : VERDICT_PAGEABLE_MEMORY;
}

/* Returns the cause of another number of streams being better. */
static enum verdict_code streams_cause(const struct plan *plan, const struct settings *given,
                                       const struct settings *better)
{
    if (better->streams < given->streams)
        return given->connections < given->streams ? VERDICT_FEW_QUEUES : VERDICT_FULL_GPU;
    return plan->streams <= plan_devices(plan) ? VERDICT_ONE_STREAM /* of each device */
                                               : VERDICT_FEW_STREAMS;
}

void whatif_name_causes(const struct verdict_case *facts, struct found *found)
{
    const struct settings *given = &found->given.settings, *better = &found->better.settings;
    const bool fewer_packed = better->tiles < given->tiles && leaves_packing(given, better);
    const enum verdict_code codes[KNOB_COUNT] = {
        [KNOB_LAYOUT] = VERDICT_FEW_STREAMS,
        [KNOB_ORDER] = order_cause(facts->model, given),
        [KNOB_ISSUE] = issue_cause(given, better),
        [KNOB_PRIORITIES] = VERDICT_PRIORITY_INVERSION,
        [KNOB_CALLBACKS] = VERDICT_SLOW_CALLBACK,
        [KNOB_CARRY] =
            given->carry == CARRY_SYNC ? VERDICT_SYNC_IN_LOOP : VERDICT_SLOW_CALLBACK,
        [KNOB_STREAMS] = streams_cause(facts->plan, given, better),
        [KNOB_BLOCKS] = VERDICT_FEW_BLOCKS,
        [KNOB_QUEUES] = given->connections == 1 ? VERDICT_ONE_QUEUE : VERDICT_FEW_QUEUES,
        [KNOB_TILES] =
            fewer_packed /* which made large copies of small tiles */
                ? VERDICT_PACKING
                : better->tiles > given->tiles ? VERDICT_FEW_TILES : VERDICT_SMALL_TILES,
        [KNOB_SHARE] = VERDICT_CPU_SHARE,
        [KNOB_WAYS] = given->ways == 1 ? VERDICT_ONE_STREAM : VERDICT_NEEDLESS_WAIT,
        [KNOB_SHARING] = VERDICT_TIME_SLICES,
        [KNOB_EXCHANGE] =
            better->exchange == EXCHANGE_HOST ? VERDICT_SLOW_PEERS : VERDICT_HOST_EXCHANGE,
        [KNOB_HIDE] = better->hide == HIDE_YES /* to hide takes launches of their own */
                          ? VERDICT_BARE_EXCHANGE
                          : VERDICT_SMALL_TILES,
        [KNOB_MEMORY] = memory_cause(facts->model, given, better),
        [KNOB_PREFETCH] = VERDICT_PAGE_FAULTS,
        [KNOB_ALLOC] =
            given->alloc == ALLOC_LOOP ? VERDICT_ALLOC_IN_LOOP : VERDICT_ALLOC_IN_STREAM,
        [KNOB_COPY] = /* packed rows are no copies, before packing is left */
        given->pack ? VERDICT_PACKING : VERDICT_ROW_COPIES,
        [KNOB_MISTAKE] = mistake_cause(facts, given),
    };
    for (int i = 0; i < found->count; i++)
        found->knobs[i].code = codes[found->knobs[i].knob];
}
