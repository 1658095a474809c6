/* recording_cases.h - shared by the files of the suite of recordings. */
#ifndef PIPELINE_TESTS_RECORDING_CASES_H
#define PIPELINE_TESTS_RECORDING_CASES_H

#include <check.h>

#define RECORDINGS TESTS_FOLDER "/recordings/"

TCase *recording_view_case(void);

#endif
