/* trace_cases.h - shared by the suites of traces. */
#ifndef PIPELINE_TESTS_TRACE_CASES_H
#define PIPELINE_TESTS_TRACE_CASES_H

#include "test_folder.h"
#include "trace/trace.h"

#include <check.h>

#define DATA TESTS_FOLDER "/data/traces/"

/* A file in a folder of the test's own, which test_trace_begin() makes. */
extern char test_trace_path[128];
void test_trace_begin(void);
void test_trace_end(void);

/* Makes an SQLite database at `path` (anew) of the statements `sql`. False where the tests were
 * built without SQLite; asserts that all else worked. */
bool test_sqlite_file(const char *path, const char *sql);

/* Changes the database at `path`; a log that it keeps beside it stays as it is then. */
void test_sqlite_change(const char *path, const char *sql);

/* traces_read() that may not fail. */
struct traces test_traces(const char *path);

/* Asserts that reading test_trace_path is a usage error whose one line names it and has all of
 * `words` (separated by '|'). */
void test_trace_refused(const char *words);

void test_trace_span(const struct timeline *timeline, uint32_t index, const char *name,
                     uint32_t stream_id, int64_t start_ns, int64_t end_ns);

TCase *trace_saved_case(void);
TCase *trace_sqlite_case(void);
TCase *trace_chrome_case(void);

#endif
