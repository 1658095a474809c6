/* knobs_foreign.c - the knobs of a recorded program: as fields of a change of its calls, and
 * the causes that they stand for. */
#include "causes/knobs.h"
#include "plan/rules.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

static const struct knob_field fields[] = {
#define CHANGE(name, cause, ...) CHANGE_TOO(name, __VA_ARGS__)
#define CHANGE_TOO(name, member, value)                                                        \
    {.knob = CHANGE_##name,                                                                    \
     .offset = offsetof(union choice, change.member),                                          \
     .size = sizeof(((union choice *)0)->change.member)},
#include "causes/knobs.def"
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

/* Returns the cause of another order being better. */
static enum verdict_code order_cause(const struct machine *machine)
{
    return machine->copy_engines == 1          ? VERDICT_ONE_COPY_ENGINE
           : rule_checks_dependencies(machine) ? VERDICT_LATE_SIGNAL
                                               : VERDICT_FULL_GPU;
}

enum verdict_code change_cause(enum change_knob knob, const struct machine *machine,
                               const struct rework_looks *looks, const struct rework *better)
{
    const enum verdict_code codes[CHANGE_COUNT] = {
#define CHANGE(name, cause, ...) [CHANGE_##name] = cause,
#define CHANGE_TOO(name, ...)
#include "causes/knobs.def"
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
    else if (knob == CHANGE_CALLBACKS)
        snprintf(text, room, "%" PRIu32 " threads that share their work",
                 change->function_threads);
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
