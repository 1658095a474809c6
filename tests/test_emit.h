/* test_emit.h - programs of --emit, as tests write, compile and run them in their own folder.
 */
#ifndef PIPELINE_TESTS_TEST_EMIT_H
#define PIPELINE_TESTS_TEST_EMIT_H

#include "plan/plan.h"
#include "plan/settings.h"

#include <stdbool.h>

enum { OPTIONS_TEXT = 256, SETTINGS_MAX = 512 };

/* The lines of tests/emit/settings.txt. */
extern char emit_settings[SETTINGS_MAX][OPTIONS_TEXT];

/* Reads them and returns how many there are. */
int emit_read_settings(void);

/* Returns false where this machine lacks what their kernel needs: OpenBLAS. */
bool emit_is_there(const char *options);

/* No line is too long for a slide, and none ends in a blank. */
void emit_check_lines(const char *text);

/* Writes a plan, which may have been changed since the settings were made into it, as a
 * program, and returns what write_program() does. */
enum status emit_plan(const struct plan *plan, const struct settings *settings,
                      const char *file);

/* Emits the plan of `options` into tiles.cu, and has the program print that plan. */
void emit_write(const char *options);

/* Returns how many of `all` programs a test compiles, of which that with index i is number
 * emit_nth(i): every fourth of them; with PIPELINE_TESTS=deep or programs each, and with quick,
 * for slow tools that see nothing of them, none. */
int emit_some(int all);
int emit_nth(int i);

/* Emits the plan of `options`, and has nvcc compile the program without a warning. */
void emit_check_nvcc(const char *options);

/* Does so with `count` programs at once, each in a namespace of its own, in a fifth of the
 * time: that one of them forgets to include what another does is not seen. */
void emit_check_nvcc_joined(char (*options)[OPTIONS_TEXT], int count);

/* Compiles tiles.cu for the CPU and runs it, which has it check its own result. Returns its
 * exit code; what it says is in the file `said`, its calls are in calls.txt, and its recording
 * is tiles.jsonl. */
int emit_run_on_cpu(const char *options);

/* Runs tiles.cu so with ops that are done late: first those of one end of the streams, which
 * `order` names: "first" or "last". */
int emit_run_late(const char *options, const char *order);

/* Emits the plan of `options`, edits the program by sed, which is to change it, and runs it.
 * Returns its exit code. */
int emit_run_edited(const char *options, const char *edit);

/* Does all of that for `options`, and holds the calls, and what `pipeline view` makes of the
 * recording, against the plan. The command in the program's head must make the program again.
 */
void emit_check_program(const char *options);

/* Copies the libraries of tests/emit/own.cu into the folder, and the header of such kernels. */
void emit_libraries(void);

#endif
