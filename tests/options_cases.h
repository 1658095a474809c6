/* options_cases.h - what the options room's test files share. */
#ifndef PIPELINE_TESTS_OPTIONS_CASES_H
#define PIPELINE_TESTS_OPTIONS_CASES_H

#include "options/options.h"
#include "test_folder.h"

#include <check.h>

/* A command line: LINE("--tiles=4"), or LINE(NULL) for the bare command. */
#define LINE(...) ((char *[]){"pipeline", __VA_ARGS__, NULL})

/* Parses `line`, which must be right. The caller frees the options. */
struct options parse_right(char *const line[]);

/* Parses `line`, which must be refused in one line that holds each of the texts, up to NULL. */
void parse_wrong(char *const line[], ...) __attribute__((sentinel));

/* Parses `line`, whatever it is: it is right, or refused in one line. True if it is right. */
bool parse_any(char *const line[]);

/* A fixture: tests run in an empty folder of their own, so that files have short names. */
void options_enter_folder(void);
void options_leave_folder(void);

/* The full path of configs/ways.ini. */
char *ways_config(void);

/* The suite's parts: tests/check_options_*.c. */
TCase *options_auto_tcase(void);
TCase *options_config_tcase(void);
TCase *options_refusals_tcase(void);
TCase *options_sweep_tcase(void);
TCase *options_random_tcase(void);
TCase *options_table_tcase(void);
TCase *options_together_tcase(void);

#define ADD_EACH(tcase, test, table)                                                           \
    tcase_add_loop_test(tcase, test, 0, (int)(sizeof(table) / sizeof(table)[0]))

#endif
