/* own.h - `pipeline kernel`: the source of a kernel of the user's, and whether one that was
 * built does what is asked of it (kernels/own_kernel.h). */
#ifndef PIPELINE_APP_OWN_H
#define PIPELINE_APP_OWN_H

#include "options/options.h"

/* The command. `new` writes the source that options->words names, and pipeline/kernel.h beside
 * it; STATUS_USAGE where there is such a file already. `check` tries a library, part by part,
 * each in a process of its own, and prints on standard output what was tried and what is wrong;
 * STATUS_FAILED where anything is, STATUS_USAGE where it is no such library. */
enum status own_command(const struct options *options, struct error *error);

/* --- app/own_check.c --- */

enum status own_check(const struct options *options, struct error *error);

#endif
