/* parts.h - a plan as loops: private to the files that write it as a program.
 *
 *   buffers.c  which buffers there are, and how many slots they have
 *   kernels.c  the kernels that can be written, and their references on the CPU
 *   ladder.c   the sums of ints that are steps of a ladder
 *   scan.c     scans, and what they carry from tile to tile
 *   scan_kernel.c  their kernels
 *   (scan.h)   declares these two
 *   transpose.c  transposes of a tile's matrix
 *   stride.c   the copy whose reads lie apart
 *   dgemm.c    the matrix product, by cuBLAS: what is resident, panels, and its check
 *   stencil.c  the stencil, whose rows stay on the device for all steps
 *   (stencil.h)  declares it, and the next two
 *   exchange.c those of several, in which devices exchange their outer rows
 *   rows.c     and what each device has for that
 *   cpu.c      the tiles that the CPU works on: the fourth way
 *   alloc.c    device memory that is taken for each tile
 *   pin.c      page-locked memory that is taken within a run
 *   other.c    other code, which knows no streams
 *   managed.c  managed memory: prefetches, and pages that go home
 *   own.c      kernels of users' own: their libraries, launchers and CPU twins
 *   text.c     lines, broken where they are too long
 *   names.c    what streams, slots and events are called, and where tiles are
 *   (names.h)  declares these
 *   places.c   where tiles lie on the host
 *   pack.c     tiles that the CPU packs and unpacks
 *   calls.c    the calls as text, and why each is there
 *   when.c     which batches have them, as conditions
 *   body.c     the loops around them
 *   graph.c    their capture as a graph
 *   enter.c    by which numbers devices are known, and going from one to the next
 *   devices.c  what each of several devices has, and waiting for all
 *   chain.c    devices that have parts of the chain, and hand tiles on
 *   (devices.h)  declares these three
 *   objects.c  what is made on a device, and its poison
 *   bare.c     the bare copies beside which main() shows its time
 *   head.c     the head: what the program shows, how it is made, and what it includes
 *   main.c     main(), which takes memory, repeats them, measures and checks
 *   refused.c  what is refused
 *   emit.c          the program around them */
#ifndef PIPELINE_WRITERS_EMIT_PARTS_H
#define PIPELINE_WRITERS_EMIT_PARTS_H

#include "emit/devices.h"
#include "emit/emit.h"
#include "emit/names.h"
#include "emit/scan.h"
#include "emit/stencil.h"
#include "plan/steps.h"

enum { EMIT_NO_LEGACY = -1 /* the legacy default stream has no part */ };

struct emit_program {
    const struct plan *plan;
    const struct plan_loops *loops; /* the plan's */
    const struct settings *settings;
    uint32_t batches, stage_count;
    uint32_t devices; /* that batches, or a stencil's tiles, are divided among; 1 where devices
                         have parts of the chain, for each of them gets all batches */
    uint32_t share;   /* the batches of a device, at most */
    uint32_t slots;   /* of each device */
    uint32_t streams; /* of each that are made: the legacy default stream is there */
    int64_t legacy;   /* its number; EMIT_NO_LEGACY: no op is in it */
    const struct loop_stage *stages; /* the loops' own, `stage_count` and what comes once */
    bool even;                       /* all tiles are of one size */
    uint32_t here; /* 0, or the device of the chain's part that is being written, and 1 */
};

/* --- buffers.c --- */

/* Returns true if the program needs that buffer. */
bool emit_uses(const struct emit_program *program, enum buffer buffer);

/* Return the buffers that link `link` of the chain works on in the program. */
enum buffer emit_kernel_input(const struct emit_program *program, uint32_t link);
enum buffer emit_kernel_output(const struct emit_program *program, uint32_t link);

/* Returns the buffer that copies out take: where the result replaces the input, that. */
enum buffer emit_copied_out(const struct emit_program *program);

/* Return the buffers of the host's that copies in take an input from, and that copies out leave
 * results in: packed ones where the CPU packs. */
enum buffer emit_sent_input(const struct emit_program *program, int input);
enum buffer emit_sent_output(const struct emit_program *program);

/* Returns how many input arrays there are. */
int emit_inputs(const struct emit_program *program);

/* Returns how many slots the devices have that batches are dealt over, together: a batch has
 * its slot behind the one that is so many before it. */
uint32_t emit_all_slots(const struct emit_program *program);

/* --- head.c --- */

/* Writes the lines before the constants, and the includes that `body` needs. Returns false
 * where memory ran out. */
bool emit_head(FILE *out, const struct emit_program *program, const char *body);

/* --- text.c --- */

enum { EMIT_COLUMNS = 100 }; /* of a line, at most */

/* Writes a line with a comment, which may be NULL or empty, behind it or, where that is too
 * long, above. Code that is too long itself is broken. */
void emit_put(FILE *out, int indent, const char *comment, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns the type of an element in the program. */
const char *emit_type(enum dtype dtype);

/* Returns true if the code of `text`, without its comments and strings, has that word. */
bool emit_has_word(const char *text, const char *word);

/* --- kernels.c --- */

/* One kernel as a reader may have it. */
struct emit_kernel {
    const char *name;   /* in kernels.def */
    const char *source; /* the CUDA kernel; NULL: a scan, a product or what moves elements */
    const char *part;   /* reductions: the type that a block's part of the result has */
    const char *cpu;    /* its reference, a function of doubles; NULL: a reduction */
    /* Returns how far a result may be from the reference, if what goes in is off by `before`.
     */
    double (*error)(const struct kernel_params *params, double before);
    bool by_place; /* the result depends on the element's place in its tile */
    /* Maps: the function of the program that is `error` of one element, where the elements come
     * from a kernel of the user's, which may leave any. */
    const char *bound;
};

/* Returns the row of a kernel of pipeline's, or NULL: a new one may have none yet. */
const struct emit_kernel *emit_kernel_find(const struct kernel *kernel);

/* Returns the name of a kernel as a function's: "own_" is before that of one of the user's. */
const char *emit_function_name(const struct kernel *kernel, char text[EMIT_NAME]);

/* Returns true if the chain had the kernel of link `link` before that. */
bool emit_stood_before(const struct plan *plan, int link);

/* Returns the last kernel if it is a reduction, or NULL. */
const struct kernel *emit_reduction(const struct emit_program *program);

/* Write the kernels of the chain; the functions that its rows name as .bound; and, of a chain
 * of pipeline's kernels, the check of the result in main(), which counts in `wrong`. */
void emit_kernels(FILE *out, const struct emit_program *program);
void emit_bounds(FILE *out, const struct emit_program *program);
void emit_check(FILE *out, const struct emit_program *program);

/* --- places.c --- */

/* Return true if a tile is columns of a matrix on the host; if tiles lie apart there; and if
 * either is so. */
bool emit_in_columns(const struct emit_program *program);
bool emit_in_places(const struct emit_program *program);
bool emit_is_apart(const struct emit_program *program);

/* Refuses places that the program would not draw: STATUS_USAGE. */
enum status emit_check_places(const struct emit_program *program, struct error *error);

/* Return the place of element i of all, tile by tile, in an array of the host's: "[i]", or its
 * row and column, or those of its tile's columns; and the place of element i of `tile` where
 * tiles are of one size. */
const char *emit_element(const struct emit_program *program);
const char *emit_tile_element(const struct emit_program *program);

/* Return how many elements the memory of such an array has; its dimensions; and the same
 * without the first one, for its variable: "[TILE]", or "" where that is a plain pointer. */
const char *emit_host_count(const struct emit_program *program);
const char *emit_host_extent(const struct emit_program *program);
const char *emit_host_row(const struct emit_program *program);

/* Writes the address of a tile in such an array; `tile` is its number, as the program has it.
 */
void emit_host_address(const struct emit_program *program, const char *array, const char *tile,
                       char text[EMIT_TEXT]);

/* Write the constants that tell where tiles lie; the places and what finds or draws them; and,
 * in main(), that they are drawn. Nothing where tiles follow one another. */
void emit_places_constants(FILE *out, const struct emit_program *program);
void emit_places(FILE *out, const struct emit_program *program);
void emit_places_drawn(FILE *out, const struct emit_program *program);

/* Return an input of a link, from element `first` on, in one piece, as a twin of a user's
 * kernel gets it; and write the function that copies elements of tiles that lie apart into one.
 */
const char *emit_input_of(const struct emit_program *program, int link, int input);
void emit_gather(FILE *out, const struct emit_program *program);

/* --- ladder.c --- */

/* Return a row like those of kernels.c, and the members of the scratch that its blocks
 * share; NULL for a kernel that is none of the ladder's. */
const struct emit_kernel *emit_ladder_find(const struct kernel *kernel);
const char *emit_ladder_scratch(const struct kernel *kernel);

/* --- transpose.c --- */

/* Returns true if the first kernel is a transpose. */
bool emit_is_transpose(const struct emit_program *program);

/* Returns true if it leaves elements where they are: there is no comes_from() then. */
bool emit_stays(const struct emit_program *program);

/* Writes its kernel and the function comes_from(), which the check needs. */
void emit_transpose_kernel(FILE *out, const struct emit_program *program);

/* --- stride.c --- */

/* Returns true if the first kernel is `stride-copy`. */
bool emit_is_stride_copy(const struct emit_program *program);

/* Writes that, and comes_from(). */
void emit_stride_kernel(FILE *out, const struct emit_program *program);

/* --- dgemm.c --- */

/* Write the copy of what is resident to a device, and a launch. `kernel`: the stage. */
void emit_put_upload(FILE *out, int indent, const struct emit_program *program);
void emit_put_product(FILE *out, int indent, const struct emit_program *program,
                      uint32_t kernel);

/* Write what the head includes and defines for it; its sizes; its arrays; and its functions. */
void emit_product_head(FILE *out);
void emit_product_sizes(FILE *out, const struct emit_program *program);
void emit_product_arrays(FILE *out, const struct emit_program *program);
void emit_product_functions(FILE *out, const struct emit_program *program);

/* Write what main() does for it: handles, data and bare copies. */
void emit_product_handles(FILE *out, const struct emit_program *program);
void emit_product_data(FILE *out);
void emit_product_bare(FILE *out, const struct emit_program *program, const char *in_stream,
                       const char *out_stream);

/* --- pin.c --- */

/* Writes that page-locked memory for all arrays is taken and given back. */
void emit_put_pin(FILE *out, int indent, const struct emit_program *program);

/* --- other.c --- */

/* Returns true if the program calls other code, in the legacy default stream. */
bool emit_has_other(const struct emit_program *program);

/* Write that code, and its memory in main(), where the program calls it; and a call. */
void emit_other_code(FILE *out, const struct emit_program *program);
void emit_other_memory(FILE *out, const struct emit_program *program);
void emit_put_other(FILE *out, int indent);

/* --- managed.c --- */

/* Write the prefetches of a batch in a stream, to the device or to the host; the function that
 * they call; the variables; and that all pages go home. Nothing where memory is not managed. */
void emit_put_prefetches(FILE *out, int indent, const struct emit_program *program,
                         bool inwards, const char *stream);
void emit_managed_functions(FILE *out, const struct emit_program *program);
void emit_managed_variables(FILE *out, const struct emit_program *program);
void emit_managed_home(FILE *out, const struct emit_program *program);

/* --- own.c --- */

/* Elements that a CPU twin gets at once in the check. Hardly a tile has so many. */
enum { EMIT_PART = 509 };

/* Return true if a kernel of the chain is the user's own, and if one is pipeline's. */
bool emit_has_own(const struct emit_program *program);
bool emit_has_ours(const struct emit_program *program);

/* Refuses maps of the user's that leave another type than they take: STATUS_USAGE. */
enum status emit_own_check_types(const struct emit_program *program, struct error *error);

/* Returns the program's variable for a link's library. */
const char *emit_own_name(const struct emit_program *program, int link, char text[EMIT_NAME]);

/* Write the headers that the libraries need, the variables for them, the functions that open
 * and ask them, their opening in main(), and the check of a chain with such kernels. */
void emit_own_includes(FILE *out);
void emit_own_variables(FILE *out, const struct emit_program *program);
void emit_own_functions(FILE *out, const struct emit_program *program);
void emit_own_opening(FILE *out, const struct emit_program *program);
void emit_own_check(FILE *out, const struct emit_program *program);

/* --- cpu.c --- */

/* Elements of the CPU's pieces: whole blocks of its kernels. */
enum { EMIT_CPU_PIECE = 16384 };

/* Refuses what the CPU's part can't be written for: STATUS_USAGE. */
enum status emit_check_cpu(const struct emit_program *program, struct error *error);

/* Write the constants, and the functions, of the CPU's tiles; nothing where it has none. */
void emit_cpu_constants(FILE *out, const struct emit_program *program);
void emit_cpu(FILE *out, const struct emit_program *program);

/* --- alloc.c --- */

/* Writes the declarator of a pointer for each slot into `text`. */
void emit_pointers(const struct emit_program *program, const char *name, char text[EMIT_TEXT]);

/* Writes that a slot's memory is taken or given back. */
void emit_put_deed(FILE *out, int indent, const struct emit_program *program,
                   const struct loop_item *item, const char *stream);

/* Write the declaration of the pool, and its creation in main(), where there is one. */
void emit_pool_declaration(FILE *out, const struct emit_program *program);
void emit_pool_creation(FILE *out, const struct emit_program *program);

/* --- pack.c --- */

/* Return true if the CPU packs tiles, and if it unpacks results, too. */
bool emit_packs(const struct emit_program *program);
bool emit_unpacks(const struct emit_program *program);

/* Write the variables for packed tiles; their memory, of so many bytes each, and its poison;
 * and the functions that pack and unpack. Nothing where nobody packs. */
void emit_pack_variables(FILE *out, const struct emit_program *program);
void emit_pack_memory(FILE *out, const struct emit_program *program, const char *bytes);
void emit_pack_poison(FILE *out, int indent, const struct emit_program *program,
                      const char *bytes);
void emit_pack_functions(FILE *out, const struct emit_program *program);

/* Write that the loop's batch is packed; that it is taken back: waited for, and unpacked; and,
 * behind the loops, that those are which are still under way. */
void emit_put_pack(FILE *out, int indent, const struct emit_program *program);
void emit_put_take_back(FILE *out, int indent, const struct emit_program *program);
void emit_put_rest(FILE *out, const struct emit_program *program);

/* --- when.c --- */

/* Writes which batches have an item as a condition; nothing where all have it. */
void emit_condition(const struct emit_program *program, const struct loop_item *item,
                    char text[EMIT_LINE]);

/* --- calls.c --- */

/* Writes what an item of a stage does, with its condition. */
void emit_put_item(FILE *out, int indent, const struct emit_program *program, uint32_t stage,
                   const struct loop_item *item);

/* Writes a record or a wait, and why; `when`: on which condition, "" for none. */
void emit_put_event(FILE *out, int indent, const struct emit_program *program,
                    const struct loop_item *item, uint32_t stage, const char *when);

/* Write the declarations of the events, and their creation in main(). */
void emit_event_declarations(FILE *out, const struct emit_program *program);
void emit_event_creation(FILE *out, const struct emit_program *program);

/* --- body.c --- */

/* Writes the function that issues all ops, and those that it calls. Returns false where memory
 * ran out. */
bool emit_issue(FILE *out, const struct emit_program *program);

/* --- graph.c --- */

/* Writes the function that captures all ops as a graph, where the plan goes as one. */
void emit_capture(FILE *out, const struct emit_program *program);

/* --- refused.c --- */

/* Refuse what can't be written, before its loops are looked for and behind that: STATUS_USAGE.
 */
enum status emit_check_plan(const struct emit_program *program, struct error *error);
enum status emit_check_loops(const struct emit_program *program, struct error *error);

/* --- bare.c --- */

/* Write the bytes of a piece as a constant, of several devices; and, in main(), the memory that
 * bare copies need, and the copies. */
void emit_bare_constants(FILE *out, const struct emit_program *program);
void emit_bare_memory(FILE *out, const struct emit_program *program);
void emit_bare_copies(FILE *out, const struct emit_program *program);

/* --- objects.c --- */

/* Writes what main(), or of several devices what the function for each, makes on a device:
 * memory, streams and events. */
void emit_device_objects(FILE *out, const struct emit_program *program);

/* Writes that what the run before left in the arrays of `device`, or packed, is no result of
 * the next. */
void emit_object_poison(FILE *out, int indent, const struct emit_program *program);

/* --- main.c --- */

/* Writes main(). */
void emit_main(FILE *out, const struct emit_program *program);

#endif
