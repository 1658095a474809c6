/* stencil.h - the stencil in a program of --emit, on one device and on several: a part of
 * parts.h, which has the types. */
#ifndef PIPELINE_EMIT_STENCIL_H
#define PIPELINE_EMIT_STENCIL_H

#include "core/status.h"
#include "kernels/kernel.h"

#include <stdbool.h>
#include <stdio.h>

struct emit_program;

/* --- stencil.c --- */

enum { EMIT_STENCIL_BLOCK = 4 * KERNEL_THREADS }; /* elements, as in kernels/stencil.cu */

/* Write the line that says what the program shows; its constants and arrays; its kernel, and
 * the same step on the CPU; and the function that issues all ops. */
void emit_stencil_head(FILE *out, const struct emit_program *program);
void emit_stencil_constants(FILE *out, const struct emit_program *program);
void emit_stencil_arrays(FILE *out, const struct emit_program *program);
void emit_stencil_functions(FILE *out);
void emit_stencil_issue(FILE *out, const struct emit_program *program);

/* Write what main() does for it: memory of the device, its poison, and the check of the result,
 * which counts in `wrong`. */
void emit_stencil_memory(FILE *out, const struct emit_program *program);
void emit_stencil_poison(FILE *out, const struct emit_program *program);
void emit_stencil_check(FILE *out);

/* --- exchange.c --- */

/* Writes the function that issues all ops for several devices, and those that it calls. */
void emit_exchange_issue(FILE *out, const struct emit_program *program);

/* --- rows.c --- */

/* Write, for several devices, the lines that say what the program shows; constants and arrays;
 * streams, where edges have their own; events, where there are any; and the functions that tell
 * which rows a device has. */
void emit_rows_head(FILE *out, const struct emit_program *program);
void emit_rows_constants(FILE *out, const struct emit_program *program);
void emit_rows_arrays(FILE *out, const struct emit_program *program);
void emit_rows_streams(FILE *out);
void emit_rows_events(FILE *out, const struct emit_program *program);
void emit_rows_places(FILE *out, const struct emit_program *program);

/* Write what is made for a device: its memory; its streams, where edges have their own; its
 * events, where there are any; and, in main(), the host's memory that rows go through, where
 * they do, and the poison of all. */
void emit_rows_memory(FILE *out);
void emit_rows_stream_creation(FILE *out, const struct emit_program *program);
void emit_rows_event_creation(FILE *out, const struct emit_program *program);
void emit_rows_host(FILE *out, const struct emit_program *program);
void emit_rows_poison(FILE *out, const struct emit_program *program);

#endif
