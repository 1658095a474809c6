/* tune_cases.h - what the tests of choices share: check_tune.c of tiles and streams,
 * check_tune_issue.c of the way to issue. */
#ifndef PIPELINE_TESTS_TUNE_CASES_H
#define PIPELINE_TESTS_TUNE_CASES_H

#include "fixtures.h"

#include <jansson.h>

struct machine tune_h200(void);

/* Returns how long the plan of the settings takes on the machine. */
int64_t tune_simulated_ns(const struct settings *settings, const struct machine *machine);

/* Runs `pipeline ARGUMENTS` with its output in "out" and its notes in "err"; returns its exit
 * code. */
int tune_program(const char *arguments);

/* Fails unless `wanted` is in the file, of 4095 bytes at most. */
void tune_assert_said(const char *path, const char *wanted);

/* Returns the JSON report of a run on sim:h200 that succeeds, and one run of a report. */
json_t *tune_report(const char *arguments);
json_t *tune_run_of(const json_t *report, size_t index);

TCase *tune_issue_room_case(void);
TCase *tune_issue_program_case(void);
TCase *tune_try_case(void);

#endif
