/* steps.h - the steps of a plan: one stage of one batch each.
 *
 * A batch is a tile, or with --issue=batch and --pack several that go as one. It goes through
 * stages: the first copies it in, then come the chain's kernels, and the last copies it out.
 * Where devices have parts of the chain, stages between these hand it on. The resident input's
 * copy into each device is a step, too: stage 0 of a batch behind the last. */
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
    STAGE_OUT
};
struct stage {
    enum stage_kind kind;
    uint32_t link;   /* of the chain: the kernel's, or the one whose output is handed on */
    uint32_t device; /* in whose streams it is, where devices have parts of the chain */
};
enum { STAGES_MOST = CHAIN_MAX + 2 + 2 * (MACHINE_DEVICES_MAX - 1) };

/* The steps of a plan. It refers to the settings, the plan and its placement. */
struct steps {
    const struct settings *settings;
    const struct plan *plan;
    const struct placement *placement;
    uint32_t batches; /* those of the tiles that are not the CPU's */
    uint32_t stages;  /* of a batch */
    struct stage stage[STAGES_MOST];
    uint32_t kernel_stage[CHAIN_MAX]; /* of each link */
    uint32_t devices;                 /* that batches or links are dealt over */
    uint32_t tile_streams;            /* a device's streams for them: the plan may have more */
    int32_t kernel_stream; /* all kernels' stream, whatever their tile; negative: none such */
    int ways;              /* as asked for; with no copies to overlap, 1 and 2 are 3 */
};

/* Settles what steps there are, and sets the plan's streams and slots. The plan has its facts;
 * its placement may follow. */
void steps_begin(struct steps *steps, const struct settings *settings, struct plan *plan,
                 const struct placement *placement);

/* Returns the last stage, which copies out. */
static inline uint32_t steps_out(const struct steps *steps)
{
    return steps->stages - 1;
}

/* Return the first stage that writes what is copied out, and the last that needs what was
 * copied in. Not for a chain that is dealt by links, nor for mapped memory. */
static inline uint32_t steps_first_output(const struct steps *steps)
{
    return (uint32_t)steps->placement->first_output_link + 1;
}
static inline uint32_t steps_last_input(const struct steps *steps)
{
    return steps->placement->in_place ? steps_out(steps)
                                      : (uint32_t)steps->placement->last_input_link + 1;
}

/* Steps are numbered from 0: steps_number() of them at most. */
static inline size_t steps_number(const struct steps *steps)
{
    return ((size_t)steps->batches + steps->devices) * steps->stages; /* with the uploads */
}
static inline size_t steps_index(const struct steps *steps, struct step step)
{
    return (size_t)step.batch * steps->stages + step.stage;
}

/* Returns false for a tile's copies where kernels work on the host's memory: they need none. */
bool steps_have_stage(const struct steps *steps, uint32_t stage);

/* Returns the device that a step is for. */
static inline uint32_t steps_device(const struct steps *steps, struct step step)
{
    if (step.batch >= steps->batches)
        return step.batch - steps->batches;
    return steps->plan->by_link ? steps->stage[step.stage].device
                                : plan_batch_device(steps->plan, step.batch);
}

/* Returns the resident input's copy into a device, which comes first of all, in the device's
 * first stream. */
static inline struct step steps_upload(const struct steps *steps, uint32_t device)
{
    return (struct step){0, steps->batches + device};
}
bool steps_have_upload(const struct steps *steps);

/* Returns the stream that a stage of each batch is in, by its number on its device;
 * STREAM_DEALT where streams are dealt to batches in turn. */
enum { STREAM_DEALT = -1 };
int64_t steps_stage_stream(const struct steps *steps, uint32_t stage);

/* Returns the stream of a step. */
uint32_t steps_stream(const struct steps *steps, struct step step);

/* Returns how many batches go through a stage before they go through the next one. */
uint32_t steps_wave(const struct steps *steps);

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
struct follow {
    enum relation relation;
    struct step step;
};

/* Fills `follows` with the steps that must end before `step` begins, beyond the order of its
 * own stream, and returns how many they are. */
enum { STEP_FOLLOWS_MAX = 5 };
int steps_follow(const struct steps *steps, struct step step,
                 struct follow follows[STEP_FOLLOWS_MAX]);

/* Returns what the event of a step is to those that wait for it, where they are all alike:
 * RELATION_LAST or RELATION_ONCE; else RELATION_OWN. */
enum relation steps_event(const struct steps *steps, struct step step);

#endif
