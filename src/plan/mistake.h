/* mistake.h - what --mistake breaks on purpose, so that one can see what it does.
 *
 * A mistake is a row of the table in plan/mistake.c: its name and words, and the hooks that
 * make it in a plan that is being built. Everything else - the option, its completions,
 * `pipeline list mistakes` - goes through that table. */
#ifndef PIPELINE_PLAN_MISTAKE_H
#define PIPELINE_PLAN_MISTAKE_H

#include "core/status.h"
#include "machine/machine.h"
#include "plan/placement.h"
#include "plan/plan.h"
#include "plan/settings.h"

#include <stdbool.h>

struct plan_mistake;

struct mistake_row {
    const char *name;    /* the value of --mistake */
    const char *summary; /* what it does, in one line */
    const char *effect;  /* its consequence, in one line */
    const char *shows;   /* the GPUs on which one sees that, in one line */
    const char *needs;   /* other settings without which it can't be made; NULL: none */
    const char *verdict; /* the verdict that names it; NULL: the one of its own name */
    bool races;          /* its plans have hazards, and run all the same */
    bool launches_block; /* sets plan.launches_block, and CUDA_LAUNCH_BLOCKING */
    bool loads_lazily;   /* its plans' loads_lazily; a process shows it once */
    bool pins;           /* the memory that it takes is page-locked */
    bool drops_waits;    /* kernels' waits for copies in are left out */
    bool needs_streams;  /* with one stream there is nothing that it could spoil */
    /* Changes the plan where no op does it. Each hook may be NULL; what goes
     * wrong is in the error of the mistake. */
    void (*shape)(struct plan_mistake *mistake);
    /* Appends ops before the GPU's first one. */
    void (*at_start)(struct plan_mistake *mistake);
    /* Appends ops before a tile's copies in, which are in `stream`, and behind their waits. */
    void (*before_tile)(struct plan_mistake *mistake, uint32_t stream, uint32_t tile);
    /* Appends ops behind all those of a tile, the last of which is in `stream`. */
    void (*after_tile)(struct plan_mistake *mistake, uint32_t stream, uint32_t tile);
};

/* Ended by a row with no name. settings.mistake is an index; row 0 breaks nothing. */
extern const struct mistake_row mistake_rows[];

/* Finds the mistake called `name`. Returns false, and leaves *mistake, where there is none. */
bool mistake_find(const char *name, int *mistake);

/* Returns the name in the table nearest to `name` by edit distance, or NULL if none is near. */
const char *mistake_nearest(const char *name);

/* Returns "none", "missing-wait" and so on. */
const char *mistake_name(int mistake);

/* --- while a plan is built --- */

enum { MISTAKE_NO_STREAM = -1 };

/* A mistake that is being made. It refers to the plan, its placement and its origin. */
struct plan_mistake {
    const struct mistake_row *row;
    const struct settings *settings;
    const struct machine *machine;
    struct plan *plan;
    const struct placement *placement;
    int32_t kernel_stream; /* all kernels' stream, whatever their tile; or MISTAKE_NO_STREAM */
    int32_t other_stream;  /* stream of code beside the pipeline; or MISTAKE_NO_STREAM */
    int64_t sleep_ns;      /* sleep of each tile's callback; 0: it has none by this mistake */
    uint32_t dropped;      /* waits that were left out so far */
    struct error *error;   /* the first one counts: nothing is appended behind it */
};

/* Begins the mistake of the settings, and makes what is no op: kinds of streams and one more of
 * them, where the arrays live, what calls wait for. The plan has its facts, streams, slots and
 * buffers, but no ops nor priorities yet. *error is STATUS_USAGE where the settings leave no
 * place for it; STATUS_NO_MEMORY when there is none. */
void mistake_begin(struct plan_mistake *mistake, const struct settings *settings,
                   const struct machine *machine, struct plan *plan,
                   const struct placement *placement, struct error *error);

/* Returns true if a wait is left out; `for_copy_in`: it is one for a tile's copy in. */
bool mistake_drops_wait(struct plan_mistake *mistake, bool for_copy_in);

/* Checks that a plan that has all its ops has the mistake, too: one that could not be made
 * would teach the wrong thing. *error, STATUS_USAGE, says what to use instead. */
void mistake_check(const struct plan_mistake *mistake);

#endif
