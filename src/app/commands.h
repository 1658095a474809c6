/* commands.h - what main.c calls: the commands, file by file, and what comes before them. */
#ifndef PIPELINE_APP_COMMANDS_H
#define PIPELINE_APP_COMMANDS_H

#include "core/status.h"
#include "kernels/kernel.h"
#include "options/lesson.h"
#include "options/options.h"
#include "report/report.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

/* --- runs.c: the runs that options ask for, and their report --- */

/* Makes all runs, one after another, and writes their files and their report; with --dry-run or
 * --emit it writes their plans or programs instead. An error says in which of several runs it
 * was. STATUS_FAILED where a result is wrong, too, also one that was asked for. */
enum status runs_all(const struct options *options, struct error *error);

/* --- view.c: what other programs did --- */

/* Draws, measures and explains what the files that options->words name recorded. STATUS_FAILED
 * where --fail-above says so. */
enum status view_command(const struct options *options, struct error *error);

/* --- fix.c: each run again, with the best settings that the simulator found --- */

/* Puts behind each run of `options` one that is called "NAME fixed", where the simulator knows
 * settings that gain a hundredth or more; notes where it doesn't, and where one process can't
 * run both. The runs' devices are opened for that, and closed again. STATUS_USAGE for a sweep,
 * STATUS_NO_MEMORY, else the statuses of job_open() and job_plan(). */
enum status fix_add_runs(struct options *options, struct error *error);

/* --- list.c: `pipeline list`: what there is to choose from --- */

/* Prints the list that `what`, one of list_words, names; all of them for NULL. */
void list_print(FILE *out, const char *what);

/* --- own.c, own_check.c: `pipeline kernel` --- */

/* The command. `new` writes the source that options->words names, and pipeline/kernel.h beside
 * it; STATUS_USAGE where there is such a file already. `check` tries a library, part by part,
 * each in a process of its own, and prints on standard output what was tried and what is wrong;
 * STATUS_FAILED where anything is, STATUS_USAGE where it is no such library. */
enum status own_command(const struct options *options, struct error *error);

enum status own_check(const struct options *options, struct error *error);

/* --- own_parts.c: what `pipeline kernel check` tries in one process --- */

/* Tries a part, "twin", "launcher" or "cost", on a device, and says on `out` how. STATUS_USAGE
 * where there is no such part, or the device can't try it; STATUS_FAILED where it is wrong. */
enum status own_part_try(const char *part, const char *device, const struct kernel *kernel,
                         FILE *out, struct error *error);

/* Opens a device and closes it again. The statuses of a backend's open(). */
enum status own_part_open(const char *device, struct error *error);

/* --- exercise.c, exercise_check.c: `pipeline exercise` --- */

struct exercise; /* options/exercise.h */

/* The command: lists the exercises, writes a program or grades one. STATUS_FAILED where that
 * does not pass yet, STATUS_USAGE where it can't be graded. */
enum status exercise_command(const struct options *options, struct error *error);

enum status exercise_check(const struct exercise *exercise, const char *path,
                           const struct options *options, struct error *error);

/* --- process.c: environment, descriptors and signals --- */

/* Forgets the environment where the program has rights that its caller lacks, gives this thread
 * a locale that nobody else changes, opens /dev/null in place of each standard descriptor that
 * is closed, and has signals that end the program, and whatever calls exit(), leave no
 * temporary file and no progress line behind. A signal that was ignored stays ignored. Raises
 * the limits of open files and of the stack as far as the system lets us. STATUS_FAILED where
 * the stack is too small, or a descriptor can't be opened. */
enum status process_begin(struct error *error);

/* Finds a file that is built beside this program, or installed in ../lib/pipeline from there.
 * Returns false where there is none that can be read. */
bool process_find(const char *name, char path[PATH_MAX]);

/* Keeps pieces of memory of up to so many bytes that are given back, for one simulation after
 * another: pages that the kernel clears anew cost a tenth of a simulation's time and more.
 * Larger pieces come from the kernel itself, which enlarges them without a copy. */
void process_keep_memory(int largest_bytes);

/* Takes back what process_begin(), and OpenMP's library before it, changed: signals,
 * descriptors, processors and limits. For a child that is about to become a
 * program which shall have all that we were given. Async-signal-safe. */
void process_give_back(void);

/* --- lesson.c: a lesson in the terminal: what it asks, and what its runs answered --- */

/* Reads the head of options->lesson, and asks. On a terminal it takes guesses; *leaves: the
 * reader wants no answers. */
enum status lesson_begin(const struct options *options, struct lesson *lesson, bool *leaves,
                         struct error *error);

/* Prints what the runs answered, and the lesson's explanation. */
void lesson_end(const struct options *options, const struct lesson *lesson,
                const struct report *report);

#endif
