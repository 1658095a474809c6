/* rework_cases.h - what the tests of changed plans share. */
#ifndef PIPELINE_TESTS_REWORK_CASES_H
#define PIPELINE_TESTS_REWORK_CASES_H

#include "causes/knobs.h"
#include "plan/plan.h"

#include <check.h>

/* Checks that every order that `fixed` itself asks for is kept: it has no race. */
void rework_assert_no_race(const struct plan *fixed);

/* Returns what rework_find() finds for the plan on the machine. */
struct found rework_must_find(const struct plan *plan, const struct machine *machine);

/* A part of the suite `rework`. */
TCase *rework_work_case(void);

#endif
