/* mistake_cases.h - shared by the parts of the suite `mistakes`. */
#ifndef PIPELINE_TESTS_MISTAKE_CASES_H
#define PIPELINE_TESTS_MISTAKE_CASES_H

#include "plan/plan.h"

#include <check.h>

/* A GPU of each generation that the rules tell apart. */
enum { MISTAKE_MACHINES = 4 };
extern const char *const mistake_machines[MISTAKE_MACHINES];

/* Returns how many ops of a kind there are. */
uint32_t mistake_count_kind(const struct plan *plan, enum op_kind kind);

/* Fails the test where ops may race. */
void mistake_assert_no_hazards(const struct plan *plan);

/* The other parts: mistakes together with all other settings, and the program. */
TCase *mistake_runs_case(void);
TCase *mistake_program_case(void);

#endif
