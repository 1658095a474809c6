/* test_run.h - a run on a simulated machine with its arrays, step by step, so that a test can
 * change the plan or the workload between two steps. A step that fails ends the test, naming
 * the settings. */
#ifndef PIPELINE_TESTS_TEST_RUN_H
#define PIPELINE_TESTS_TEST_RUN_H

#include "run/arrays.h"
#include "run/backend.h"

#include <stdbool.h>

/* What a run holds while it lasts. */
struct test_run {
    const struct backend_ops *ops;
    struct backend *backend;
    struct settings settings;
    struct machine machine;
    struct plan plan;
    struct arrays arrays;
    struct workload workload;
    bool prepared;
};

/* Opens the device of the settings, builds the plan, and fills the arrays. test_run_end() it.
 */
void test_run_begin(struct test_run *run, const struct settings *settings);

/* Prepares the backend for the workload as it is now. */
void test_run_prepare(struct test_run *run);

/* Poisons the results and runs the plan once, prepared before or not. Returns the time in ns.
 */
int64_t test_run_go(struct test_run *run);

/* Returns what is wrong with the result; its status is STATUS_OK where all is right. */
struct error test_run_wrong(const struct test_run *run);

/* Fails the test unless the result is right. */
void test_run_assert_right(const struct test_run *run);

/* Returns the output as a file would have it, *size bytes, to be freed. */
char *test_run_output(const struct test_run *run, size_t *size);

void test_run_end(struct test_run *run);

#endif
