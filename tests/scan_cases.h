/* scan_cases.h - the tests of the scans that have a file of their own. */
#ifndef PIPELINE_TESTS_SCAN_CASES_H
#define PIPELINE_TESTS_SCAN_CASES_H

#include <check.h>

/* The rows of the table and their twins, in check_scan_twins.c. */
TCase *scan_twins_tcase(void);

#endif
