/* managed.h - managed memory: the rules of its pages, which move to the device and back by a
 * prefetch or because somebody touches them; and where it can't be had. */
#ifndef PIPELINE_PLAN_MANAGED_H
#define PIPELINE_PLAN_MANAGED_H

#include "plan/plan.h"

/* Managed memory. [Measured on an H200: the experiment `memory`] Pages that are prefetched, in
 * or out, go one call's after another's, in the order in which the calls became ready: both
 * directions at once took about the sum. A prefetch in takes some time before that, in its own
 * stream alone, which other streams hide. Return what a call's pages flow at, what it takes
 * beside them, and that time before. */
double rule_prefetch_bytes_per_s(const struct machine *machine, enum op_kind kind);
int64_t rule_prefetch_ns(const struct machine *machine, enum op_kind kind);
int64_t rule_prefetch_begin_ns(const struct machine *machine, enum op_kind kind);

/* Returns how long pages of `bytes` take that kernels fault on, of all kernels together. */
double rule_fault_ns(const struct machine *machine, double bytes);

/* Returns how long tiles of managed memory take on the link, with `in` bytes of inputs and
 * `out` of outputs: prefetched, or by faults. */
double rule_managed_ns(const struct machine *machine, bool prefetches, double in, double out);

/* Refuses a plan on managed memory for a machine whose host and kernels can't work on it at
 * once, or whose device has less than four times its arrays. Plans on other memory pass.
 * STATUS_USAGE. */
enum status managed_check(const struct plan *plan, const struct machine *machine,
                          struct error *error);

/* Refuses arrays of more than a quarter of `bytes` of the device's memory, of which the error
 * says that they `are` ("are free"). */
enum status managed_check_room(const struct plan *plan, uint64_t bytes, const char *are,
                               struct error *error);

#endif
