/* backend.h - what runs a plan: a real device or the simulator.
 *
 * The order of calls: configure, open, describe, then for each plan prepare, run (as often as
 * wanted), release; close. Every hook is required, unless it says otherwise, but in a backend
 * that is missing.
 *
 * A backend is added by a row of plan/devices.def and a file that defines its struct
 * backend_ops. */
#ifndef PIPELINE_RUN_BACKEND_H
#define PIPELINE_RUN_BACKEND_H

#include "core/status.h"
#include "kernels/kernel.h"
#include "machine/machine.h"
#include "options/options.h"
#include "plan/plan.h"
#include "plan/timeline.h"
#include "run/arrays.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* --- trial.c --- */

/* A kernel's work on its own, without a plan: odd numbers of elements, at any element
 * of memory, in place and not, by few blocks and by many; and nothing but its output may
 * change.
 *
 * All memory that a trial needs is one image: the arrays with guards before, between and behind
 * them. The image goes to where the work is done, and comes back. */

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

/* --- flags.c --- */

/* Words of the host's memory by which streams and other processes tell each other how
 * far they are: a portion's record raises one, and its waits await one (plan/portion.h). */

struct flags {
    _Atomic uint32_t *words; /* page-aligned; flag 1 is the first. 0: lowered, 1: raised */
    uint32_t count;
    uint64_t bytes; /* whole pages */
};

/* Takes `count` flags, all lowered. STATUS_NO_MEMORY. */
enum status flags_take(struct flags *flags, uint32_t count, struct error *error);

/* Gives them back, or does nothing where none were taken. */
void flags_free(struct flags *flags);

/* Lowers all of them. Nobody may look at them meanwhile. */
void flags_lower(struct flags *flags);

/* Whoever sees a flag raised also sees what was written before it was. */
static inline void flags_raise(struct flags *flags, uint32_t flag)
{
    atomic_store_explicit(&flags->words[flag - 1], 1, memory_order_release);
}

static inline bool flags_is_raised(const struct flags *flags, uint32_t flag)
{
    return atomic_load_explicit(&flags->words[flag - 1], memory_order_acquire) != 0;
}

/* Returns when the flag is raised. */
void flags_await(const struct flags *flags, uint32_t flag);

struct backend; /* each backend defines its own */

/* A plan, with everything that it runs on. */
struct workload {
    const struct plan *plan;
    const struct settings *settings;
    struct arrays *arrays; /* NULL with --no-data */
    bool
        traced; /* every run that is timed gets a timeline: a tracer may stay from run to run */
    bool races; /* the plan has hazards: a simulated machine's bytes show which were lost */
    /* A callback op calls it, in stream order, one at a time, on any thread. It may be NULL,
     * and must not call CUDA. */
    void (*on_tile)(void *context, int32_t tile);
    void *context;
    /* A device that measures calls it right before the first call that is timed: other
     * processes begin with this one. It comes twice where the run has to be made again. NULL:
     * nobody waits.
     */
    void (*on_begin)(void *begins);
    void *begins;
    struct flags
        *flags; /* of a portion with crossings, for its streams; NULL: there are none */
};

/* The times of one run that are not in its timeline, in ns. */
struct run_times {
    int64_t
        time_ns; /* first issue to last end, by the host's clock (simulated: the machine's) */
    int64_t issue_ns; /* first issue to the return of the last call: the host's cost of issuing.
                         A call that waits hears late of what it waited for, so this may exceed
                         time_ns by that much */
    int64_t begin_ns; /* the host's clock at the first issue; 0 where time is virtual */
};

struct backend_ops {
    const char *name;    /* its row's in plan/devices.def */
    const char *missing; /* the reason why this program is without it; NULL: it is there */

    /* Sets everything that has to be set before the device is first touched: called once, with
     * the first run's settings (connections), before list() and open(). */
    void (*configure)(const struct settings *settings);

    /* Opens the device that `argument` (the part after the colon; "" when absent) names.
     * STATUS_NO_DEVICE when there is none, STATUS_USAGE when the name is wrong. The backend
     * heeds those `settings` that count before the device is first touched (connections). */
    enum status (*open)(const char *argument, const struct settings *settings,
                        struct backend **backend, struct error *error);

    /* Describes the device: the simulator's machine, or a real one's properties with its copy
     * rates measured now, and, for the chain of `settings`, the kernels' and the CPU's. */
    enum status (*describe)(struct backend *backend, const struct settings *settings,
                            struct machine *machine, struct error *error);

    /* Refuses a plan that the device can't run, of all that is known before it is prepared: how
     * it is issued. A plan without ops asks about that alone. */
    enum status (*check)(struct backend *backend, const struct plan *plan, struct error *error);

    /* Runs a kernel without a plan, by its launcher (trial.c). NULL: the device has
     * no use for launchers. */
    enum status (*try_work)(struct backend *backend, const struct kernel *kernel,
                            const struct trial_work *work, char *image, uint64_t bytes,
                            struct error *error);

    /* Takes device memory, page-locks the host arrays, creates streams and events, preloads
     * kernels: everything that should not be in the timed run. Refuses a plan with ops that it
     * can't do. */
    enum status (*prepare)(struct backend *backend, const struct workload *workload,
                           struct error *error);

    /* Runs the prepared plan once, to its end. Unless `timeline` is NULL, it also records when
     * each op ran: the timeline, which must be initialised, is filled and finished. `times` may
     * not be NULL. With --profile a device that measures leaves that to an outside profiler: it
     * records nothing, tells the profiler where this run begins and ends, and `timeline` gets
     * no spans, only the device's and driver's names. */
    enum status (*run)(struct backend *backend, struct timeline *timeline,
                       struct run_times *times, struct error *error);

    /* Undoes prepare. Safe after a failed prepare. */
    void (*release)(struct backend *backend);

    void (*close)(struct backend *backend);

    /* Calls `each` for every device, for `pipeline list devices`; having none is no error. */
    void (*list)(void (*each)(void *context, const char *device, const char *summary),
                 void *context);

    bool measures; /* its times vary, so that repeats mean something */
};

/* The simulated device, which every program has. */
extern const struct backend_ops backend_sim_ops;

/* Tells whoever waits for it that the timed part of a run begins now. */
static inline void workload_begin(const struct workload *workload)
{
    if (workload->on_begin != NULL)
        workload->on_begin(workload->begins);
}

/* Calls configure() of every backend of a list that ends with NULL. */
void backends_configure(const struct backend_ops *const list[],
                        const struct settings *settings);

/* Finds the backend of the list for a --device value, and the argument behind the colon. "auto"
 * means the first real device, or else the simulator's usual machine. STATUS_USAGE for an
 * unknown name, STATUS_NO_DEVICE for a backend that is missing. */
enum status backend_select(const struct backend_ops *const list[], const char *device,
                           const struct backend_ops **ops, const char **argument,
                           struct error *error);

/* Writes which devices a backend's argument means, "cuda:0" or "sim:h200*4", into a text of
 * `size` bytes. All devices are named one by one, as in "cuda:0,1", unless there is none or
 * there are more than a run can have: those the backend refuses to open. */
void backend_name_devices(const struct backend_ops *ops, const char *argument, char *text,
                          size_t size);

/* Sets a machine by its name, or from a file of the user's. It reads the file `name` if it
 * holds a '/' or ends in ".ini", else the machine of that name that is part of the program.
 * STATUS_USAGE names the file and line, or all machines. */
enum status machine_load(struct machine *machine, const char *name, struct error *error);

#endif
