/* trial.h - a kernel's work on its own, without a plan: odd numbers of elements, at any element
 * of memory, in place and not, by few blocks and by many; and nothing but its output may
 * change.
 *
 * All memory that a trial needs is one image: the arrays with guards before, between and behind
 * them. The image goes to where the work is done, and comes back. */
#ifndef PIPELINE_RUN_TRIAL_H
#define PIPELINE_RUN_TRIAL_H

#include "core/status.h"
#include "kernels/kernel.h"

/* One piece of work on an image. Places are bytes from the image's beginning. */
struct trial_work {
    uint64_t in[KERNEL_INPUTS_MAX], out;
    uint64_t count;  /* elements */
    uint32_t blocks; /* for a launcher */
};

/* Runs the work on the image, `bytes` long, in place or on a copy that it brings back. An error
 * says what is wrong with the work; it begins with a verb: its subject is the function that was
 * tried. */
typedef enum status trial_runner(void *context, const struct kernel *kernel,
                                 const struct trial_work *work, char *image, uint64_t bytes,
                                 struct error *error);

/* Tries a kernel of the user's by `run`: at 17 numbers of elements, each at three places, with
 * `blocks` blocks and with one, and maps whose types are equally large in place as well. What
 * is right is what the CPU twin makes of pieces of at most 509 elements or, where there is no
 * twin, what `run` makes of those. *trials gets the number of trials. STATUS_FAILED: the error
 * says in which of them what was wrong, and its subject is the function that was tried. */
enum status trial_kernel(const struct kernel *kernel, uint32_t blocks, trial_runner *run,
                         void *context, int *trials, struct error *error);

/* Calls the CPU twin, on the image itself. `context` is not used. */
enum status trial_on_host(void *context, const struct kernel *kernel,
                          const struct trial_work *work, char *image, uint64_t bytes,
                          struct error *error);

/* Calls the CPU twin from many threads at once, on an image each. */
enum status trial_threads(const struct kernel *kernel, int *trials, struct error *error);

#endif
