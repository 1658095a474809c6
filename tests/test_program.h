/* test_program.h - runs of the program itself, in the test's own folder. */
#ifndef PIPELINE_TESTS_TEST_PROGRAM_H
#define PIPELINE_TESTS_TEST_PROGRAM_H

/* What the last run printed. */
extern char program_out[65536], program_err[4096];

/* Where it is: as it was built, unless this is set. */
extern const char *program_path;

/* Runs the program with `arguments`, sets both, and gives its exit code. */
int program_run(const char *arguments);

/* Fails the test, showing `text`, unless `words` are in it. */
void assert_has(const char *text, const char *words);

#endif
