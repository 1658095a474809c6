/* emit.h - a plan as one CUDA program that people read: --emit=FILE.cu.
 *
 * The program has loops where the plan has a list of ops: those that the plan was unrolled from
 * (plan/steps.h). */
#ifndef PIPELINE_EMIT_EMIT_H
#define PIPELINE_EMIT_EMIT_H

#include "core/status.h"
#include "plan/plan.h"
#include "plan/settings.h"

#include <stdio.h>

/* Writes `plan`, which `settings` were made into, as a program. STATUS_USAGE, and nothing is
 * written, where it has what can't be written as one; the error names that. STATUS_NO_MEMORY.
 * Errors of `out` are left to its owner. */
enum status write_program(FILE *out, const struct plan *plan, const struct settings *settings,
                          struct error *error);

/* Returns what write_program() does for the plan, but for want of memory, and writes nothing.
 */
enum status check_program(const struct plan *plan, const struct settings *settings,
                          struct error *error);

#endif
