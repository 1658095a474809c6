/* devices.h - what a program of --emit has for each of several devices, and what it has
 * where these have parts of the chain, and hand tiles on: a part of parts.h, which has the
 * types. */
#ifndef PIPELINE_WRITERS_EMIT_DEVICES_H
#define PIPELINE_WRITERS_EMIT_DEVICES_H

#include "emit/names.h"

#include <stdio.h>

/* --- enter.c --- */

/* Writes that calls go to `device`, and why; nothing where there is one. */
void emit_enter_device(FILE *out, int indent, const struct emit_program *program,
                       const char *why);

/* Writes, in main(), that all begins on the first device that the settings name. */
void emit_first_device(FILE *out, const struct emit_program *program);

/* Write the numbers of the devices where CUDA counts them otherwise; the function by which a
 * device reaches another, nothing where no copies go from device to device; and its calls. */
void emit_device_numbers(FILE *out, const struct emit_program *program);
void emit_reach_function(FILE *out, const struct emit_program *program);
void emit_reach_others(FILE *out, const struct emit_program *program);

/* --- devices.c --- */

/* Write the function that makes what a device has, where there are several; what main() does
 * for that; and now_ms(). */
void emit_preparation(FILE *out, const struct emit_program *program);
void emit_make_devices(FILE *out, const struct emit_program *program);
void emit_clock(FILE *out, const struct emit_program *program);

/* Writes that what the run before left on the devices is no result of the next. */
void emit_poison(FILE *out, const struct emit_program *program);

/* --- chain.c --- */

/* Return why a stage waits, what it is in words, and what its function is called, where it is
 * none that a program for one device has. */
const char *emit_why_handed(const struct emit_program *program, const struct loop_item *item,
                            uint32_t stage, char text[EMIT_LINE]);
const char *emit_handing_words(const struct emit_program *program, uint32_t stage,
                               char text[EMIT_NAME]);
const char *emit_handing_function(const struct emit_program *program, uint32_t stage,
                                  char text[EMIT_TEXT]);

/* Writes that calls go to a stage's device, where they have not before and it has kernels among
 * the stages up to `end`. `current`: the device, and 1, that they go to. */
void emit_enter_part(FILE *out, int indent, const struct emit_program *program, uint32_t stage,
                     uint32_t end, uint32_t *current);

/* Writes the copy of the loop's tile to the next device, or a half of its way by the host. */
void emit_put_handing(FILE *out, int indent, const struct emit_program *program, uint32_t stage,
                      const char *stream);

/* Write the host's memory that tiles go by: its declaration, its allocation, and its poison. */
void emit_handing_variables(FILE *out, const struct emit_program *program);
void emit_handing_memory(FILE *out, const struct emit_program *program, const char *bytes);
void emit_handing_poison(FILE *out, int indent, const struct emit_program *program,
                         const char *bytes);

#endif
