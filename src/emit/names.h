/* names.h - what a program of --emit calls its streams, slots and events, and where its
 * tiles are: a part of parts.h, which has the types. */
#ifndef PIPELINE_EMIT_NAMES_H
#define PIPELINE_EMIT_NAMES_H

#include "plan/steps.h"

#include <stdio.h>

struct emit_program;

enum { EMIT_TEXT = 96, EMIT_LINE = 512, EMIT_NAME = 64 };

/* Returns true if there are streams that batches are dealt to, and true if there is one for
 * each stage. */
bool emit_deals_streams(const struct emit_program *program);
bool emit_streams_by_stage(const struct emit_program *program);

/* Returns true if any batch does that, but to carry a scan. */
bool emit_has(const struct emit_program *program, enum op_kind kind);

/* Returns true if kernels work on the host's arrays. */
bool emit_on_host(const struct emit_program *program);

/* Returns true if batches take their slots in turn, so that the loops have a variable for it.
 */
bool emit_shares_slots(const struct emit_program *program);

/* Returns how many slots there are as the program has it: a name, or "" for one. */
const char *emit_slot_count(const struct emit_program *program);

/* Returns the name of the constant that is the GPU's tiles. */
const char *emit_tiles_name(const struct emit_program *program);

/* Return the names of the loops' variable; of the slot of its batch, which is a variable or 0;
 * of the constants that are the slots, of a device, and the batches of a wave; and of the
 * constant that is how many batches there are. */
const char *emit_index_name(const struct emit_program *program);
const char *emit_slot_name(const struct emit_program *program);
const char *emit_slots_name(const struct emit_program *program);
const char *emit_wave_name(const struct emit_program *program);
const char *emit_batches_name(const struct emit_program *program);

/* Returns the slots of all devices that batches are dealt over, as the program has them; no
 * name where batches don't take slots in turn. */
const char *emit_all_slots_name(const struct emit_program *program, char text[EMIT_NAME]);

/* Return true if there are several devices; and if batches, or a stencil's tiles, are divided
 * among them: parts of the chain get all of them. */
bool emit_has_devices(const struct emit_program *program);
bool emit_deals_devices(const struct emit_program *program);

/* Return true if devices have parts of the chain, and hand tiles on; and if a stage does that.
 */
bool emit_is_handed(const struct emit_program *program);
bool emit_hands_on(const struct emit_program *program, uint32_t stage);

/* Return the program for what is written on a device that has a part of the chain, and of a
 * stage: on its device. */
struct emit_program emit_on_device(const struct emit_program *program, uint32_t device);
struct emit_program emit_at(const struct emit_program *program, uint32_t stage);

/* Return what chooses the device of the loop's batch, or that of the part of the chain which is
 * being written, in an array that has an item for each, and what declares such an array behind
 * its name: "" where there is one device. */
const char *emit_of_device(const struct emit_program *program);
const char *emit_each_device(const struct emit_program *program);

/* Return the stream of a stage, the event that a stage's end is, and the address of the loop's
 * batch in a buffer; `each`: of tile i of the batch. Tiles of one size are rows of their array.
 */
const char *emit_stream_name(const struct emit_program *program, uint32_t stage,
                             char text[EMIT_TEXT]);
const char *emit_event_name(const struct emit_program *program, uint32_t stage,
                            enum relation relation, char text[EMIT_TEXT]);
const char *emit_address(const struct emit_program *program, enum buffer buffer, bool each,
                         char text[EMIT_TEXT]);

/* Returns the link whose blocks the program's MAP_BLOCKS are: the first of pipeline's maps, or
 * the first link where there is none. */
uint32_t emit_map_link(const struct emit_program *program);

/* Returns the blocks that the program calls BLOCKS. */
uint32_t emit_blocks(const struct emit_program *program);

/* Returns the blocks of a kernel's launches: the name of a constant or, of a kernel of the
 * user's, perhaps a number. */
const char *emit_blocks_name(const struct emit_program *program, uint32_t link,
                             char text[EMIT_NAME]);

/* Sets by which numbers the settings name the devices. Returns false where CUDA's own count,
 * from 0 on, is meant: of simulated devices, and of all. */
bool emit_named_numbers(const struct emit_program *program, int numbers[MACHINE_DEVICES_MAX]);

/* Returns a device as CUDA counts it: `device`, an expression, or its number in a table. */
const char *emit_device_number(const struct emit_program *program, const char *device,
                               char text[EMIT_NAME]);

/* Return true if it is the stencil with several steps; and if there are several devices, too,
 * so that neighbours exchange rows between them. */
bool emit_repeats_steps(const struct emit_program *program);
bool emit_exchanges(const struct emit_program *program);

/* Returns true if it is the stencil, and edges have streams of their own: their exchange is
 * hidden behind the inner rows. */
bool emit_hides(const struct emit_program *program);

/* Returns true if the kernel is the matrix product. */
bool emit_is_product(const struct emit_program *program);

/* Returns true if a buffer has a value for each tile; or slots, which batches take in turn. */
bool emit_has_values(const struct emit_program *program, enum buffer buffer);
bool emit_has_slots(enum buffer buffer);

/* Return the name of a buffer, and that of the constant which is a tile's bytes in it, if tiles
 * are of one size. */
const char *emit_buffer_name(const struct emit_program *program, enum buffer buffer);
const char *emit_bytes_name(const struct emit_program *program, enum buffer buffer);

/* Return the names of the first stream of a device, and of another one. */
const char *emit_first_stream(const struct emit_program *program, char text[EMIT_NAME]);
const char *emit_other_stream(const struct emit_program *program, char text[EMIT_NAME]);

/* Return the types of an element that is copied in, and of one that is copied out. */
const char *emit_input_type(const struct emit_program *program);
const char *emit_output_type(const struct emit_program *program);

/* --- devices.c: several devices --- */

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
