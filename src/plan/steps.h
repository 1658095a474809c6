/* steps.h - the steps of a plan: one stage of one batch each.
 *
 * A batch is a tile, or with --issue=batch and --pack several that go as one. It goes through
 * stages: the first copies it in, then come the chain's kernels, and the last copies it out.
 * Where devices have parts of the chain, stages between these hand it on. The resident input's
 * copy into each device is a step, too: its stage is numbered behind those of a batch, and the
 * devices are its batches. */
#ifndef PIPELINE_PLAN_STEPS_H
#define PIPELINE_PLAN_STEPS_H

#include "plan/placement.h"
#include "plan/plan.h"
#include "plan/settings.h"

struct step {
    uint32_t stage, batch;
};

/* What a stage does with a batch: it goes in, through a kernel, and out; or from a device to
 * the next, by one copy, or by one out into the host's memory and one in from there. */
enum stage_kind {
    STAGE_IN,
    STAGE_KERNEL,
    STAGE_PEER,
    STAGE_TO_HOST,
    STAGE_FROM_HOST,
    STAGE_OUT,
    STAGE_ONCE, /* what is resident goes in, before all batches */
};
struct stage {
    enum stage_kind kind;
    uint32_t link;   /* of the chain: the kernel's, or the one whose output is handed on */
    uint32_t device; /* in whose streams it is, where devices have parts of the chain */
    int64_t stream;  /* that of all batches, by its number on its device, or STREAM_DEALT */
    uint32_t frees;  /* the stage of the slot's batch before that must have ended, for this one
                        overwrites what that works on; or STAGE_NONE */
    bool carries;    /* it goes on from what it left of the batch before: a scan */
    bool by_host;    /* what it carries so goes by the host */
    bool joins;      /* one launch takes all tiles of a batch */
    uint32_t launches;               /* of its kernel, one behind the other */
    bool takes_inputs, takes_output; /* memory that is taken within the run, right before it */
    bool gives_inputs, gives_output; /* and that is given back right behind it */
};
enum { STAGES_MOST = CHAIN_MAX + 2 + 2 * (MACHINE_DEVICES_MAX - 1) };
enum { STREAM_DEALT = -1 /* streams are dealt to batches in turn */, STAGE_NONE = INT32_MAX };

/* The steps of a plan. It refers to the plan. */
struct steps {
    const struct plan *plan;
    uint32_t batches; /* those of the tiles that are not the CPU's */
    uint32_t stages;  /* of a batch; there are no copies where kernels move the bytes */
    struct stage stage[STAGES_MOST + 1]; /* with what comes once, behind those of a batch */
    uint32_t kernel_stage[CHAIN_MAX];    /* of each link */
    uint32_t devices;                    /* that batches or links are dealt over */
    uint32_t tile_streams; /* a device's streams for them: the plan may have more */
    uint32_t slots;        /* that batches use in turn */
    uint32_t wave;    /* batches that go through a stage before they go through the next one */
    int ways;         /* as asked for; with no copies to overlap, 1 and 2 are 3 */
    bool by_stage;    /* each kind of stage has a stream of its own */
    uint32_t uploads; /* devices that what is resident is copied into, first of all */
};

/* Lists what stages there are, and sets the plan's streams and slots. The plan has its facts.
 */
void steps_begin(struct steps *steps, const struct settings *settings, struct plan *plan);

/* Settles what each stage does, once the plan has its placement. `kernel_stream`: all kernels'
 * stream, whatever their tile; negative: none such. */
void steps_settle(struct steps *steps, const struct placement *placement,
                  int32_t kernel_stream);

/* What a step is to a later one that must not begin before it has ended: what it leaves is
 * read, or what it reads is written over. A step follows others in this order. */
enum relation {
    RELATION_NONE,   /* what is no event has none */
    RELATION_AHEAD,  /* the same stage of the batch ahead, whose sum a scan goes on from */
    RELATION_LAST,   /* the last copy in to the device: 2-way kernels come behind it */
    RELATION_OWN,    /* the stage before, of the same batch */
    RELATION_BEFORE, /* a stage of the batch that had the slot before */
    RELATION_ONCE,   /* the copy of what is resident to the device, before all batches */
};
/* Where a step is issued. */
struct step_place {
    size_t index; /* among all steps */
    uint32_t stage, stream;
    enum relation event; /* what its event is to those that wait for it, where they are alike:
                            RELATION_LAST or RELATION_ONCE; else RELATION_OWN */
    bool copies_in;
};
struct step_place steps_place(const struct steps *steps, struct step step);

/* Returns how many steps there are at most. */
size_t steps_number(const struct steps *steps);

struct follow {
    enum relation relation;
    struct step_place step;
};

/* Fills `follows` with the steps that must end before `step` begins, beyond the order of its
 * own stream, and returns how many they are. */
enum { STEP_FOLLOWS_MAX = 5 };
int steps_follow(const struct steps *steps, struct step step,
                 struct follow follows[STEP_FOLLOWS_MAX]);

/* --- the loops that a plan is unrolled from --- */

/* A plan's ops come from a few loops over its batches. In a loop each batch goes through some
 * stages, and a stage does the same few things with every batch, or with all
 * from one batch on up to another: so there is no wait for the batch that had the slot before
 * as long as slots are new. The builder goes through the loops, and notes these things as it
 * appends their ops: so nobody has to look for loops in the ops again. */

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
