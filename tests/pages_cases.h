/* pages_cases.h - what the tests of the man page and of the completions share. */
#ifndef PIPELINE_TESTS_PAGES_CASES_H
#define PIPELINE_TESTS_PAGES_CASES_H

#include "options/table.h"

#include <check.h>
#include <stdbool.h>

#define PAGES_FOLDER TESTS_FOLDER "/../docs/manual"

/* A folder of the test's own becomes its working directory; and goes. */
void pages_enter_folder(void);
void pages_leave_folder(void);

/* All that a command prints, to be freed. It must end with `code`. */
char *pages_output(const char *command, int code);

/* Returns true if a tool that a machine may lack is there; else says that the test is skipped.
 */
bool pages_tool_there(const char *name);

TCase *pages_shells_case(void);

#endif
