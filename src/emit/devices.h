/* devices.h - what a program of --emit has for each of several devices, and what it has
 * where these have parts of the chain, and hand tiles on: a part of parts.h, which has the
 * types. */
#ifndef PIPELINE_EMIT_DEVICES_H
#define PIPELINE_EMIT_DEVICES_H

#include "emit/names.h"

#include <stdio.h>

/* Writes that calls go to `device`, and why; nothing where there is one. */
void emit_enter_device(FILE *out, int indent, const struct emit_program *program,
                       const char *why);

/* Writes the numbers of the devices where CUDA counts them otherwise. */
void emit_device_numbers(FILE *out, const struct emit_program *program);

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
void emit_put_handing(FILE *out, int indent, const struct emit_program *program);

#endif
