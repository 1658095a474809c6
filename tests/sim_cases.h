/* sim_cases.h - what the suites of the simulator have in common. */
#ifndef PIPELINE_TESTS_SIM_CASES_H
#define PIPELINE_TESTS_SIM_CASES_H

#include "fixtures.h"
#include "sim/simulator.h"

/* Runs `plan` on `machine`, which has to work; timeline_free() what comes out. */
struct timeline sim_run(const struct machine *machine, const struct plan *plan);

/* The same with host arrays in pageable memory; *issued_ns: when the last call returned. */
struct timeline sim_run_pageable(const struct machine *machine, const struct plan *plan,
                                 int64_t *issued_ns);

/* Runs `plan` and gives how long it took. */
int64_t sim_span_ns(const struct machine *machine, const struct plan *plan);

void sim_assert_span(struct timeline *timeline, uint32_t op, int64_t start, int64_t end);

/* Runs `plan` and checks that op `op` starts at `start`. */
void sim_assert_start(const struct machine *machine, const struct plan *plan, uint32_t op,
                      int64_t start);

/* Appends a host callback. */
uint32_t sim_callback(struct plan *plan, uint32_t stream, uint32_t tile);

/* Part of the suite sim_sync. */
TCase *sim_sync_random_case(void);

#endif
