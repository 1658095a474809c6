/* backend.h - what runs a plan: a real device or the simulator.
 *
 * The order of calls: configure, open, describe, then for each plan prepare, run (as often as
 * wanted), release; close. Every hook is required. */
#ifndef PIPELINE_RUN_BACKEND_H
#define PIPELINE_RUN_BACKEND_H

#include "core/status.h"
#include "machine/machine.h"
#include "options/options.h"
#include "plan/plan.h"
#include "plan/timeline.h"
#include "run/arrays.h"

#include <stdbool.h>

struct backend; /* each backend's own */

/* What a plan runs on, beside the plan. */
struct workload {
    const struct plan *plan;
    const struct settings *settings;
    struct arrays *arrays; /* NULL with --no-data */
    bool races; /* the plan has hazards: a simulated machine's bytes tell which of them were
                   lost */
    /* Called by a callback op, in stream order, one at a time, on any thread; may be NULL. No
     * CUDA call is allowed in it. */
    void (*on_tile)(void *context, int32_t tile);
    void *context;
};

/* What one run gave beside its timeline. Times in ns. */
struct run_times {
    int64_t time_ns;  /* first issue to last end, as the host clock saw it (virtual: the
                         machine's) */
    int64_t issue_ns; /* of that, until the last call returned: the host's cost of issuing */
};

struct backend_ops {
    const char *name;    /* the part of --device before the colon: "sim", "cuda" */
    const char *summary; /* one line for `pipeline list devices` */

    /* Sets what has to be set before the device is first touched: called once, with the first
     * run's settings (connections), before list() and open(). */
    void (*configure)(const struct settings *settings);

    /* Opens the device that `argument` (the part after the colon; "" when absent) names.
     * STATUS_NO_DEVICE when there is none, STATUS_USAGE when the name is wrong. `settings`
     * gives what must be known before the device is first touched (connections). */
    enum status (*open)(const char *argument, const struct settings *settings,
                        struct backend **backend, struct error *error);

    /* Describes the device: the simulator's machine, or a real one's properties with its copy
     * rates measured now, and, for the chain of `settings`, the kernels' and the CPU's. */
    enum status (*describe)(struct backend *backend, const struct settings *settings,
                            struct machine *machine, struct error *error);

    /* Takes device memory, page-locks the host arrays, creates streams and events, preloads
     * kernels: everything that should not be in the timed run. Refuses ops it can't do. */
    enum status (*prepare)(struct backend *backend, const struct workload *workload,
                           struct error *error);

    /* Runs the prepared plan once, to its end. With `timeline` not NULL also records when each
     * op ran (an initialised timeline; it is filled and finished). `times` may not be NULL.
     * With --profile a device that measures leaves that to an outside profiler: it records
     * nothing, tells the profiler where this run begins and ends, and `timeline` gets no spans,
     * only the device's and driver's names. */
    enum status (*run)(struct backend *backend, struct timeline *timeline,
                       struct run_times *times, struct error *error);

    /* Undoes prepare. Safe after a failed prepare. */
    void (*release)(struct backend *backend);

    void (*close)(struct backend *backend);

    /* One line per device for `pipeline list devices`, calling `each`; none is not an error. */
    void (*list)(void (*each)(void *context, const char *device, const char *summary),
                 void *context);

    bool measures; /* its times vary: repeats mean something */
};

/* The backends linked into this program: "cuda" only where nvcc was found. NULL-terminated. */
extern const struct backend_ops *const backends[];

/* Calls every backend's configure(). */
void backends_configure(const struct settings *settings);

/* The backend for a --device value, and the argument after the colon in *argument. "auto" takes
 * the first CUDA device, else sim:h200. STATUS_USAGE for an unknown one. */
enum status backend_select(const char *device, const struct backend_ops **ops,
                           const char **argument, struct error *error);

#endif
