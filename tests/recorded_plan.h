/* recorded_plan.h - plans as a recording of them would give. */
#ifndef PIPELINE_TESTS_RECORDED_PLAN_H
#define PIPELINE_TESTS_RECORDED_PLAN_H

#include "sim_cases.h"

/* Returns what a recording of `built`, run on `machine`, would give: the same ops, of one
 * thread that does nothing else; the buffers are those of enum buffer; every launch takes as
 * long, and as much room, as it does alone. The CPU may have no part in it, and memory may not
 * be mapped. Free with plan_free(). */
struct plan recorded_of(const struct plan *built, const struct machine *machine);

/* Appends the host's wait for an event; recorded_of() then makes a plan of it that can be. */
uint32_t recorded_sync_event(struct plan *built, uint32_t event);

/* Parts of the suite `recorded`. */
TCase *recorded_hazards_case(void);
TCase *recorded_times_case(void);
TCase *recorded_threads_case(void);

#endif
