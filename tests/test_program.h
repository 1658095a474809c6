/* test_program.h - runs of the program itself, in the test's own folder. */
#ifndef PIPELINE_TESTS_TEST_PROGRAM_H
#define PIPELINE_TESTS_TEST_PROGRAM_H

/* Defined where the program was built with a sanitizer. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#endif

/* The output and the errors of the last run, as texts. */
extern char program_out[65536], program_err[4096];

/* The path of the program to run: the one that was built with the tests, unless a test sets
 * another. */
extern const char *program_path;

/* Runs the program with `arguments`, sets program_out and program_err, and returns its exit
 * code. */
int program_run(const char *arguments);

/* Fails the test, showing `text`, unless `words` are in it. */
void assert_has(const char *text, const char *words);

/* Does the same for each of `words`, which '|' separates. */
void assert_shown(const char *text, const char *words);

/* Does the same as assert_has() wherever the lines of `text` end: the program wraps what it
 * says. */
void assert_says(const char *text, const char *words);

#endif
