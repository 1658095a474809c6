/* simulator.h - runs a plan on a machine in virtual time.
 *
 * A discrete-event simulation: the host issues ops one call after another, streams and hardware
 * queues hold them back, engines do them. No I/O, no global state; the same plan and machine
 * give the same timeline, to the nanosecond. Time grows as n log n in ops, memory as n. */
#ifndef PIPELINE_SIM_SIMULATOR_H
#define PIPELINE_SIM_SIMULATOR_H

#include "core/status.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "plan/timeline.h"

/* Calls that tell how a simulation goes on, as its time goes by. */
struct simulator_hooks {
    /* Tells that an op has ended, in virtual time; events, waits and the host's own calls are
     * not told. May be NULL. A status other than STATUS_OK ends the simulation. */
    enum status (*on_end)(void *context, const struct op *op, struct error *error);
    /* Tells that an op begins to run: its span's start_ns is set. May be NULL; the status
     * counts as with on_end. */
    enum status (*on_start)(void *context, const struct op *op, struct error *error);
    /* Tells when a record passed, which no span says. May be NULL. */
    void (*on_record)(void *context, const struct op *op, int64_t passed_ns);
    void *context;
};

/* Checks what simulator_run() would refuse. STATUS_USAGE where the plan is to be one graph and
 * can't be, or the machine knows no graphs, or no batches where the plan has them. */
enum status simulator_check(const struct machine *machine, const struct plan *plan,
                            struct error *error);

/* Simulates `plan` on `machine` with `queues` hardware queues (0: the machine's default). Fills
 * *issued_ns with the time at which the host's last call returned and the initialised
 * `timeline` with a finished timeline (provenance is the caller's). `hooks` may be NULL.
 * Refuses what simulator_check() does. */
enum status simulator_run(const struct machine *machine, uint32_t queues,
                          const struct plan *plan, const struct simulator_hooks *hooks,
                          struct timeline *timeline, int64_t *issued_ns, struct error *error);

/* Simulates where nothing but the run's time is wanted, and sets *time_ns on STATUS_OK: of a
 * recorded plan that is timeline_extent_ns(). */
enum status simulator_time(const struct machine *machine, uint32_t queues,
                           const struct plan *plan, int64_t *time_ns, struct error *error);

#endif
