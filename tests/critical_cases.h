/* critical_cases.h - shared by the suites of the critical path. */
#ifndef PIPELINE_TESTS_CRITICAL_CASES_H
#define PIPELINE_TESTS_CRITICAL_CASES_H

#include "analysis/critical.h"

#include <check.h>

/* critical_find() that may not fail. */
struct critical test_critical(const struct timeline *timeline);

TCase *critical_plans_case(void);

#endif
