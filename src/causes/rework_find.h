/* rework_find.h - which changes of a recorded program's calls would make it faster.
 *
 * As causes/whatif.h does with settings: all that is known to be bad is put right at once,
 * the numbers that are free are looked for, and what need not have been changed goes back. What
 * stays changed are the causes; each gets the mean of what it gains when they are made in order
 * of weight and in the reverse order, so that causes that hide behind each other share. */
#ifndef PIPELINE_ANALYSIS_REWORK_FIND_H
#define PIPELINE_ANALYSIS_REWORK_FIND_H

#include "causes/verdict.h"
#include "rework/rework.h"

/* Parts of a change, in the order in which they go back: the one that is blamed last first. */
enum rework_part {
    REWORK_ORDER,
    REWORK_GRAPH,
    REWORK_PRIORITIES,
    REWORK_STREAMS,
    REWORK_QUEUES,
    REWORK_SIZES,
    REWORK_BLOCKS,
    REWORK_LARGE,
    REWORK_WAITS,
    REWORK_LOADS,
    REWORK_CALLBACKS,
    REWORK_MEMSETS,
    REWORK_DEVICE_COPIES,
    REWORK_UNBLOCKS,
    REWORK_LAUNCHES,
    REWORK_ALLOCS,
    REWORK_PINNED_ALLOCS,
    REWORK_SYNCS,
    REWORK_PINS,
    REWORK_PART_COUNT
};

struct rework_turn {
    enum rework_part part;
    enum verdict_code code;
    int64_t cost_ns;  /* its share of what all gain together; never negative */
    int64_t fixed_ns; /* the time with this one alone */
};

struct rework_found {
    struct rework better, whole; /* all turns; and what they take beside, to be applied */
    struct rework_turn turns[REWORK_PART_COUNT];
    int count;
    /* Simulated times, from the first op's issue to the last one's end, of the plan, or of the
     * part of it that stands for all, as it is and with all turns. */
    int64_t given_ns, better_ns;
    int64_t whole_ns; /* of all of the plan, as it is */
    uint32_t blind;   /* ops that may use any memory: no order was taken away */
};

/* Looks for them on `machine`, whose queues are those that the program had. Of a plan with very
 * many ops a part in the middle stands for all. The statuses of rework_begin(), and those of
 * the simulator for the plan as it is; STATUS_NO_MEMORY. */
enum status rework_find(const struct plan *plan, const struct machine *machine,
                        struct rework_found *found, struct error *error);

/* Sets *time_ns to the simulated time of a plan, from the first issue of an op to the last
 * end of one. */
enum status rework_time(const struct plan *plan, const struct machine *machine, uint32_t queues,
                        int64_t *time_ns, struct error *error);

/* The same of a timeline as it was recorded: the host's own calls before the first op, and
 * behind the last one, do not count. */
int64_t rework_extent_ns(const struct timeline *timeline);

/* Gives `to` the part that `from` has; and whether a change has it. A struct rework that is
 * compared so must have been zeroed. */
void rework_turn_part(enum rework_part part, const struct rework *from, struct rework *to);
bool rework_is_turned(enum rework_part part, const struct rework *change);

/* Writes what was tried for a turn, where its row does not say it ("4 streams"), or "". */
void rework_detail(const struct rework *change, enum rework_part part, char *text, size_t room);

#endif
