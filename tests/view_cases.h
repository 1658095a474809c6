/* view_cases.h - shared by the files of the suite of views. */
#ifndef PIPELINE_TESTS_VIEW_CASES_H
#define PIPELINE_TESTS_VIEW_CASES_H

#include "report/report.h"

#include <check.h>

/* Writes a trace of `rows` to test_trace_path. */
void view_write_rows(const char *rows);

/* Returns the text that write_view() makes of a report, to be freed. */
char *view_text(const struct report *report, int width);

TCase *view_part_case(void);

#endif
