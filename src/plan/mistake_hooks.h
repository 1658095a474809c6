/* mistake_hooks.h - makes the mistake that was asked for in a plan that is being built.
 *
 * plan/build.c calls these at the places where a program could go wrong; a table in
 * plan/mistake_hooks.c says what each mistake does there, mostly nothing. */
#ifndef PIPELINE_PLAN_MISTAKE_HOOKS_H
#define PIPELINE_PLAN_MISTAKE_HOOKS_H

#include "core/status.h"
#include "machine/machine.h"
#include "plan/placement.h"
#include "plan/plan.h"
#include "plan/settings.h"

enum { PLAN_MISTAKE_NO_STREAM = -1 };

/* A mistake, while it is made. Plain data; it refers to the plan and its placement. */
struct plan_mistake {
    enum mistake which;
    struct plan *plan;
    const struct placement *placement;
    int32_t kernel_stream; /* where all kernels go, whatever their tile; or NO_STREAM */
    int32_t other_stream;  /* where other code works that is no part of the pipeline; or that */
    int64_t sleep_ns; /* each tile has a callback that sleeps for so long; 0: it does not */
    uint32_t made;    /* in how many places, so far */
    struct error *error;
};

/* Begins it, and makes what is no op: kinds of streams and one more of them, where the arrays
 * live, what calls wait for. The plan has its facts, streams, slots and buffers, but no ops nor
 * priorities yet. STATUS_USAGE where the settings leave no place for it; STATUS_FAILED when
 * there is no memory. */
enum status plan_mistake_begin(struct plan_mistake *mistake, const struct settings *settings,
                               const struct machine *machine, struct plan *plan,
                               const struct placement *placement, struct error *error);

/* Appends what the mistake has before the first op of the GPU's; before a tile's copies in,
 * which are in `stream`, and behind what those wait for; and behind all ops of a tile, of which
 * the last is in `stream`. */
enum status plan_mistake_at_start(struct plan_mistake *mistake);
enum status plan_mistake_before_tile(struct plan_mistake *mistake, uint32_t stream,
                                     uint32_t tile);
enum status plan_mistake_after_tile(struct plan_mistake *mistake, uint32_t stream,
                                    uint32_t tile);

/* Whether a wait is left out; `for_copy_in`: it is one for a tile's copy in. */
bool plan_mistake_drops_wait(struct plan_mistake *mistake, bool for_copy_in);

/* A mistake that could not be made would teach the wrong thing: STATUS_USAGE says what to use
 * instead. For a plan that has all its ops. */
enum status plan_mistake_check(const struct plan_mistake *mistake);

#endif
