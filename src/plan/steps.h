/* steps.h - the steps of a plan: one stage of one batch each.
 *
 * A batch is a tile, or with --issue=batch and --pack several that go as one. It goes through
 * stages: 0 copies it in, 1 to L run the chain's L kernels, L + 1 copies it out. The resident
 * input's copy into each device is a step, too: stage 0 of a batch behind the last. */
#ifndef PIPELINE_PLAN_STEPS_H
#define PIPELINE_PLAN_STEPS_H

#include "plan/placement.h"
#include "plan/plan.h"
#include "plan/settings.h"

struct step {
    uint32_t stage, batch;
};

/* The steps of a plan. It refers to the settings, the plan and its placement. */
struct steps {
    const struct settings *settings;
    const struct plan *plan;
    const struct placement *placement;
    uint32_t batches;      /* those of the tiles that are not the CPU's */
    uint32_t stages;       /* of a batch */
    uint32_t devices;      /* that batches are dealt over */
    uint32_t tile_streams; /* a device's streams for them: the plan may have more */
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
    return step.batch < steps->batches ? plan_batch_device(steps->plan, step.batch)
                                       : step.batch - steps->batches;
}

/* Returns the resident input's copy into a device, which comes first of all, in the device's
 * first stream. */
static inline struct step steps_upload(const struct steps *steps, uint32_t device)
{
    return (struct step){0, steps->batches + device};
}
bool steps_have_upload(const struct steps *steps);

/* Returns the stream of a step. */
uint32_t steps_stream(const struct steps *steps, struct step step);

/* Fills `follows` with the steps that must end before `step` begins, beyond the order of its
 * own stream, and returns how many they are. */
enum { STEP_FOLLOWS_MAX = 5 };
int steps_follow(const struct steps *steps, struct step step,
                 struct step follows[STEP_FOLLOWS_MAX]);

#endif
