/* try_foreign.h - which changes of a recorded program's calls would make it faster.
 *
 * As causes/try_own.h does with settings, by the steps of causes/search.h. */
#ifndef PIPELINE_CAUSES_TRY_FOREIGN_H
#define PIPELINE_CAUSES_TRY_FOREIGN_H

#include "causes/search.h"
#include "rework/rework.h"

/* Knobs, in the order in which they go back: the one that is blamed last first. */
enum change_knob {
    CHANGE_ORDER,
    CHANGE_GRAPH,
    CHANGE_PRIORITIES,
    CHANGE_STREAMS,
    CHANGE_QUEUES,
    CHANGE_SIZES,
    CHANGE_BLOCKS,
    CHANGE_LARGE,
    CHANGE_WAITS,
    CHANGE_LOADS,
    CHANGE_CALLBACKS,
    CHANGE_MEMSETS,
    CHANGE_DEVICE_COPIES,
    CHANGE_UNBLOCKS,
    CHANGE_LAUNCHES,
    CHANGE_ALLOCS,
    CHANGE_PINNED_ALLOCS,
    CHANGE_SYNCS,
    CHANGE_PINS,
    CHANGE_COUNT
};

extern const struct knob_set knobs_foreign;

/* Looks for them on `machine`, whose queues are those that the program had. Of a plan with very
 * many ops a part in the middle stands for all. Simulated times are from the first op's issue
 * to the last one's end. The statuses of rework_begin(), and those of the simulator for the
 * plan as it is; STATUS_NO_MEMORY. */
enum status rework_find(const struct plan *plan, const struct machine *machine,
                        struct found *found, struct error *error);

/* Returns the cause that a knob stands for, in a program that `looks` so, where `better` is the
 * best change. */
enum verdict_code change_cause(enum change_knob knob, const struct machine *machine,
                               const struct rework_looks *looks, const struct rework *better);

/* Writes what was tried for a knob, where its row does not say it ("4 streams"), or "". */
void change_detail(const struct rework *change, enum change_knob knob, char *text, size_t room);

#endif
