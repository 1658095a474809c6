/* recording_cases.h - shared by the files of the suite of recordings. */
#ifndef PIPELINE_TESTS_RECORDING_CASES_H
#define PIPELINE_TESTS_RECORDING_CASES_H

#include <check.h>

#define RECORDINGS TESTS_FOLDER "/recordings/"

/* Writes a recording of a loop in which the host waits, with its source lines. */
void recording_write_loop(const char *path);

TCase *recording_view_case(void);

#endif
