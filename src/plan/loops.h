/* loops.h - the loops that a plan was unrolled from.
 *
 * A plan's ops come from a few loops over its batches. In a loop each batch goes through some
 * stages (plan/steps.h), and a stage does the same few things with every batch, or with all
 * from one batch on up to another: so there is no wait for the batch that had the slot before
 * as long as slots are new. The builder goes through the loops, and notes these things as it
 * appends their ops: so nobody has to look for loops in the ops again. */
#ifndef PIPELINE_PLAN_LOOPS_H
#define PIPELINE_PLAN_LOOPS_H

#include "plan/steps.h"

/* Something that a stage does with each of the batches [from, to). It may be several ops of one
 * kind: a copy for each input or row, a launch for each tile or repeat. */
struct loop_item {
    enum op_kind kind;
    enum relation relation; /* OP_RECORD, OP_WAIT, OP_SYNC_EVENT: to the step with the event */
    uint32_t event_stage;   /* and that step's stage */
    bool carries; /* OP_H2D, OP_D2H, OP_CALLBACK, OP_SYNC: a part of a scan's way by the host */
    enum alloc_action
        action;         /* OP_ALLOC: a pair, or a slot of `buffer` is taken or given back */
    enum buffer buffer; /* OP_MEMSET: BUFFER_DEVICE_OTHER where it is other code's */
    uint32_t from, to;
};

enum { LOOP_ITEMS_MOST = 12 };

struct loop_stage {
    struct stage what;                       /* it does; its device is a part of the chain's */
    struct loop_item items[LOOP_ITEMS_MOST]; /* in their order */
    int item_count;                          /* 0: there are no batches */
};

/* A loop over all batches: stages [first, end) of each, or, where wave is above 1, of that many
 * batches a stage at a time. */
struct loop {
    uint32_t first, end, wave;
};

struct plan_loops {
    /* Number stage_count is no stage of a batch: it is what comes once on each device, before
     * the loops. Its batches are the devices. */
    struct loop_stage stages[STAGES_MOST + 1];
    uint32_t stage_count;
    struct loop loops[STAGES_MOST];
    int loop_count;
    uint32_t blocks[CHAIN_MAX]; /* of each kernel's largest launch */
    int64_t sleep_ns;           /* of each callback that only tells that its tile has ended */
    bool broken;                /* what was noted is no such loop */

    struct step step; /* that is being noted */
    int place;        /* behind its latest item */
};

/* Begins `loops`, which are zero, in the order that the settings ask for and without items. The
 * first step to be noted is what comes once on the first device. */
void loops_begin(struct plan_loops *loops, const struct steps *steps);

/* Says that what is noted from now on is of that step. */
void loops_step(struct plan_loops *loops, struct step step);

/* Notes something that the step does; `item` has no batches yet. */
void loops_note(struct plan_loops *loops, struct loop_item item);

#endif
