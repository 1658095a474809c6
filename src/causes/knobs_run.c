/* knobs_run.c - the knobs of a run of our own: as fields of its settings, and as options. */
#include "causes/knobs.h"

#include "plan/rules.h"
#include "plan/together.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const flag_values[] = {"=no", ""}, *const yes_or_no[] = {"no", "yes"};
static const char *const none[] = {"none"}; /* what else it may be is never advised */

static const struct knob_field fields[] = {
#define KNOB(name, cause, ...) KNOB_TOO(name, __VA_ARGS__)
#define KNOB_TOO(name, member, ...)                                                            \
    {KNOB_##name, offsetof(union choice, settings.member),                                     \
     sizeof(((union choice *)0)->settings.member), __VA_ARGS__},
#include "causes/knobs.def"
};
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

static void settle(union choice *choice)
{
    settings_settle(&choice->settings);
}

/* More streams are of no use to a run that is serial, and options refuse them. */
static void fit(int knob, union choice *choice)
{
    struct settings *settings = &choice->settings;
    if (knob == KNOB_STREAMS && settings->streams > 1 && settings->ways == 1)
        settings->ways = 3;
    settle(choice);
}

_Static_assert((int)KNOB_COUNT <= (int)KNOBS_MOST, "a search has room for all knobs");

const struct knob_set knobs_run = {
    .count = KNOB_COUNT,
    .fields = fields,
    .field_count = FIELD_COUNT,
    .fit = fit,
    .settle = settle,
    .shared = KNOB_NONE,
};

bool knobs_set_way(int number, struct settings *settings)
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

/* --- as options --- */

static bool differ(const struct knob_field *field, const struct settings *a,
                   const struct settings *b)
{
    return memcmp((const char *)a + field->offset, (const char *)b + field->offset,
                  field->size) != 0;
}

/* Returns true where the option has to be typed, behind those of the run, to make it `better`.
 */
static bool is_typed(const struct knob_field *field, const struct settings *typed,
                     const struct settings *given, const struct settings *better)
{
    if (field->knob == KNOB_PREFETCH && better->memory != MEMORY_MANAGED)
        return false; /* other memory has nothing to prefetch */
    if (field->knob == KNOB_STREAMS && settings_has_halo(given) && !given->streams_given)
        return false; /* they follow from how copies are hidden */
    if (field->knob == KNOB_STREAMS && given->ways == 1 && better->ways != 1)
        return true; /* serial has one stream by itself, and other ways when told */
    /* The machine has queues where none are typed, and a device's share for its CPU is its own.
     * All else that was chosen could be chosen otherwise. */
    const bool of_machine = field->knob == KNOB_QUEUES || field->knob == KNOB_SHARE;
    return differ(field, of_machine ? given : typed, better);
}

/* Appends the option that sets a field as in `settings`. */
static void add_option(const struct knob_field *field, const struct settings *settings,
                       char text[VERDICT_COMMAND])
{
    const char *place = (const char *)settings + field->offset;
    char number[32] = "auto";
    uint32_t value = 0;
    if (field->size == sizeof(bool))
        value = *(const bool *)place;
    else if (field->size == sizeof value)
        memcpy(&value, place, sizeof value);
    if (field->knob == KNOB_SHARE && settings->cpu_share >= 0)
        snprintf(number, sizeof number, "%g", settings->cpu_share);
    else if (value > 0)
        snprintf(number, sizeof number, "%" PRIu32, value);
    text_add(text, VERDICT_COMMAND, " ", "%s%s", field->option,
             field->values != NULL ? field->values[value] : number);
}

void knobs_command(const struct found *found, const struct settings *typed,
                   const struct settings *better, char text[VERDICT_COMMAND])
{
    const struct settings *given = &found->given.settings;
    bool done[FIELD_COUNT] = {false};
    text[0] = '\0';
    for (int i = 0; i <= found->count; i++) {
        for (int k = 0; k < FIELD_COUNT; k++) {
            const bool turn = i == found->count || fields[k].knob == found->knobs[i].knob;
            if (!turn || done[k] || !is_typed(&fields[k], typed, given, better))
                continue;
            add_option(&fields[k], better, text);
            done[k] = true;
        }
    }
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
    EACH (const struct op, op, plan->ops, plan->op_count) {
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
    if (given->tiles == 1) /* further streams have nothing to do */
        return VERDICT_FEW_TILES;
    return plan->streams <= plan_devices(plan) ? VERDICT_ONE_STREAM /* of each device */
                                               : VERDICT_FEW_STREAMS;
}

/* Returns the cause of another number of tiles being better. */
static enum verdict_code tiles_cause(const struct settings *given,
                                     const struct settings *better)
{
    if (better->tiles > given->tiles)
        return VERDICT_FEW_TILES;
    /* The better run does not pack, so its fewer tiles are what makes its copies large. */
    const bool fewer_packed = better->tiles < given->tiles && leaves_packing(given, better);
    return fewer_packed ? VERDICT_PACKING : VERDICT_SMALL_TILES;
}

void knobs_name_causes(const struct verdict_case *facts, struct found *found)
{
    const struct settings *given = &found->given.settings, *better = &found->better.settings;
    const enum verdict_code codes[KNOB_COUNT] = {
#define KNOB(name, cause, ...) [KNOB_##name] = cause,
#define KNOB_TOO(name, ...)
#include "causes/knobs.def"
    };
    for (int i = 0; i < found->count; i++)
        found->knobs[i].code = codes[found->knobs[i].knob];
}
