/* scan.h - scans in a program of --emit: their kernels, and what they carry from tile to
 * tile: a part of parts.h, which has the types. */
#ifndef PIPELINE_EMIT_SCAN_H
#define PIPELINE_EMIT_SCAN_H

#include "emit/names.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdio.h>

/* --- scan.c --- */

/* Returns the scan that is the chain, or NULL. */
const struct kernel *emit_scan(const struct emit_program *program);

/* Writes a copy, a callback or a wait of the host that carries a scan; `when`: on which
 * condition. */
void emit_put_carry(FILE *out, int indent, const struct emit_program *program, uint32_t stage,
                    const struct loop_item *item, const char *when);

/* Returns what a scan works on beside its elements, as arguments of a launch. */
const char *emit_scan_arguments(const struct emit_program *program, char text[EMIT_TEXT]);

#endif
