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

#endif
