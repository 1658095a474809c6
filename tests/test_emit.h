/* test_emit.h - programs of --emit, as tests write, compile and run them in their own folder.
 */
#ifndef PIPELINE_TESTS_TEST_EMIT_H
#define PIPELINE_TESTS_TEST_EMIT_H

#include "plan/plan.h"
#include "plan/settings.h"

#include <stdbool.h>

enum { OPTIONS_TEXT = 256, SETTINGS_MAX = 640 };

/* The lines of tests/emit/chosen.txt, or of the file that EMIT_SETTINGS names: settings.txt has
 * all that it was chosen of. */
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

/* Emits the plan of `options` into tiles.cu. */
void emit_write(const char *options);

/* Has the program print that plan into the file `out`. */
void emit_print_plan(const char *options);

/* Returns how many programs share one that is compiled, of which each that stands first is:
 * four; with PIPELINE_TESTS=deep or full one, and with quick, for slow tools that see
 * nothing of them, 0: none is; nor with sanitizers, which libpipeline-cpu.a can't have. */
int emit_share(void);

/* Has nvcc compile a file without a warning. */
void emit_nvcc_takes(const char *file, const char *options);

/* Emits the plan of `options`, and has nvcc compile the program so. */
void emit_check_nvcc(const char *options);

/* Does so with `count` programs at once, each in a namespace of its own, in a fifth of the
 * time: that one of them forgets to include what another does is not seen. */
void emit_check_nvcc_joined(char (*options)[OPTIONS_TEXT], int count);

/* Programs are compiled for the CPU beside one another, too, EMIT_AT_ONCE at most, in a tenth
 * of the time. emit_add() adds tiles.cu, as it was emitted for `options` or edited since, and
 * returns its number; emit_compile() compiles those that were added since it did so before. */
enum { EMIT_AT_ONCE = 16 };
int emit_add(const char *options);
void emit_compile(void);

/* Runs the program with a number, which has it check its own result, and returns its exit code;
 * another one than 0, too, where ops race, or devices are no peers. What it says is in the file
 * `said`, and its recording is tiles.jsonl. `order`: "first" or "last", and its ops are done
 * late: first those of that end of the streams; NULL: in the simulated order. */
int emit_run(int number, const char *order);

/* Compiles tiles.cu alone and runs it so. */
int emit_run_on_cpu(const char *options);

/* A program, and what is to come of it. */
struct emit_trial {
    const char *options; /* of whose plan it is made */
    const char *edit;    /* by sed, which has to change it; NULL: none */
    const char *order;   /* as emit_run() has it */
    const char *says;    /* words among those that it is to say; NULL: whatever they are */
    int code;            /* its exit code */
};
enum { EMIT_NOT_RIGHT = -1 /* any exit code but 0 */ };

/* Compiles, runs and judges `count` programs, or their share. */
void emit_try(const struct emit_trial *trials, int count);

/* Tries programs as they are with ops that are done late, from the first stream on and from the
 * last: each has to be right. */
void emit_try_late(const char *const *options, int count);

/* A call, a pattern of sed's, that the first of the runs alone makes, as often as `calls`: what
 * it left is poisoned, so that the program has to find itself wrong. */
struct emit_left_out {
    const char *options, *call;
    int calls;
};
void emit_try_left_out(const struct emit_left_out *rows, int count);

/* Does so with the programs of `options`, and holds the calls of each, and what `pipeline view`
 * makes of its recording, against the plan. The command in the program's head must make the
 * program again. */
void emit_check_programs(const char *const *options, int count);

/* Copies the libraries of tests/emit/own.cu into the folder, and the header of such kernels. */
void emit_libraries(void);

#endif
