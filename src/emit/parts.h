/* parts.h - a plan as loops: private to the files that write it as a program.
 *
 *   fill.c     fills the texts of programs/, which are most of a program
 *   facts.c    the conditions, values and parts that these name
 *   kernels.c  the kernels that can be written, and what their results must be
 *   cpu.c      the tiles that the CPU works on: the fourth way
 *   libraries.c  kernels of libraries: cuBLAS' matrix product, and users' own with their twins
 *   text.c     lines, broken where they are too long
 *   names.c    what streams, slots and events are called, and where tiles are
 *   (names.h)  declares these, and what devices.c has
 *   places.c   where tiles lie on the host
 *   calls.c    the calls as text, and why each is there
 *   when.c     which batches have them, as conditions
 *   body.c     the loops around them
 *   devices.c  going from one device to the next, and handing tiles on along a chain
 *   objects.c  buffers and their slots; arrays: how they are declared, their
 *              bytes; and streams' priorities
 *   bare.c     what the bare copies ask, beside which main() shows its time
 *   head.c     the head: what the program shows, how it is made, and what it includes
 *   refused.c  what is refused
 *   emit.c     the program around them */
#ifndef PIPELINE_EMIT_PARTS_H
#define PIPELINE_EMIT_PARTS_H

#include "emit/emit.h"
#include "emit/names.h"
#include "plan/steps.h"

enum { EMIT_NO_LEGACY = -1 /* the legacy default stream has no part */ };

struct emit_facts;
struct emit_arrays;

struct emit_program {
    const struct emit_facts *facts; /* what templates ask of it */
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
    const struct loop_stage *stages;  /* the loops' own, `stage_count` and what comes once */
    bool even;                        /* all tiles are of one size */
    bool rows;                        /* arrays are of rows: of tiles apart, of matrices */
    const struct emit_arrays *arrays; /* how the host's are laid out */
    uint32_t here;  /* 0, or the device of the chain's part that is being written, and 1 */
    uint32_t stage; /* that is being written */
    const struct loop_item *item; /* of it; NULL: none is */
    bool beside_loop;             /* it stands before its loop, or behind it */
};

/* --- objects.c: buffers --- */

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

/* Returns true if the CPU packs tiles, and unpacks results, too. */
bool emit_unpacks(const struct emit_program *program);

/* Returns true if the program calls other code, in the legacy default stream. */
bool emit_has_other(const struct emit_program *program);

/* Returns the scan that is the chain, or NULL. */
const struct kernel *emit_scan(const struct emit_program *program);

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

/* Writes a line of a program, which ends with its newline: with the comment behind its code, or
 * above it where it is too long. */
void emit_put_line(FILE *out, const char *line);

/* A condition that a template may name. */
struct emit_fact {
    const char *name;
    bool holds;
};

/* Returns whether the row of that name holds; -1: there is none. */
int emit_find_fact(const struct emit_fact *rows, size_t count, const char *name);

/* Returns the row of that name, of `count` rows of `size` bytes whose first member is their
 * name; NULL: there is none. */
const void *emit_find_row(const void *rows, size_t count, size_t size, const char *name);
#define EMIT_ROW(rows, name)                                                                   \
    emit_find_row(rows, sizeof rows / sizeof *(rows), sizeof *(rows), name)

/* --- fill.c --- */

/* Returns true if programs/ has a section of that name. */
bool emit_has_section(const char *name);

/* Fills a section of programs/, each line indented by `indent`. `words`: "WORD=text;
 * WORD=text", what the words of the section stand for; `body`: what it may ask whether a name
 * is used in. Either may be NULL. Returns true if a blank line ends the section, which is not
 * written. */
bool emit_fill(FILE *out, int indent, const struct emit_program *program, const char *section,
               const char *words, const char *body);

/* --- facts.c --- */

/* What templates ask of a program: whether a condition holds, -1 if there is none of that name;
 * a value, which may lie in `text`, or NULL; and to write a part that is no section: false if
 * there is none of that name. The program has it, so that what fills templates can be called by
 * what these are answered with. */
struct emit_facts {
    int (*holds)(const struct emit_program *program, const char *name);
    const char *(*value)(const struct emit_program *program, const char *name,
                         char text[EMIT_LINE]);
    bool (*put_part)(FILE *out, int indent, const struct emit_program *program,
                     const char *name);
};
extern const struct emit_facts emit_facts;

/* --- kernels.c --- */

/* One kernel as a reader may have it: sections of programs/, by name. A row has no text (NULL)
 * for what the kernel does without. */
struct emit_kernel {
    const char *name;      /* in kernels.def */
    const char *before;    /* which kernels may have in common */
    const char *sections;  /* the CUDA kernel, with blanks between sections' names */
    const char *words;     /* what words stand for there, beside those that all kernels have */
    const char *reference; /* on the CPU, a function of doubles; NULL: a reduction, or .alone */
    const char *on_cpu;    /* what the CPU's threads do; NULL: it gets no tiles */
    const char *scratch;   /* reductions: what blocks tell one another by */
    const char *part;      /* reductions: the type that a block's part of the result has */
    /* Returns how far a result may be from the reference, if what goes in is off by `before`.
     */
    double (*error)(const struct kernel_params *params, double before);
    /* Maps: the section that is `error` of one element, where the elements come from a kernel
     * of the user's, which may leave any. */
    const char *bound;
    int items;     /* scans: elements of a thread in its block's part of a tile */
    bool alone;    /* it is written alone, and not in a chain */
    bool by_place; /* the result depends on the element's place in its tile */
    bool scales;   /* a*x + b */
    bool stays; /* .alone: elements stay where they are, and no function says where they were */
};

/* Returns the row of a kernel of pipeline's, or NULL: a new one may have none yet. */
const struct emit_kernel *emit_kernel_find(const struct kernel *kernel);

/* Returns the name of a kernel as a function's: "own_" is before that of one of the user's. */
const char *emit_function_name(const struct kernel *kernel, char text[EMIT_NAME]);

/* Returns the last kernel if it is a reduction, or NULL. */
const struct kernel *emit_reduction(const struct emit_program *program);

/* Write the kernels of the chain; those that the CPU's threads have; the functions that its
 * rows name as .bound; and the head of the struct by which a reduction's blocks tell one
 * another. */
void emit_kernels(FILE *out, const struct emit_program *program);
void emit_cpu_kernels(FILE *out, const struct emit_program *program);
void emit_bounds(FILE *out, const struct emit_program *program);
void emit_scratch(FILE *out, const struct emit_program *program);

/* Return what an element must be; by how much the GPU may be off; and the share of a
 * reduction's value by which that may be, beside what its elements are off. And write the steps
 * that come before. */
const char *emit_right(const struct emit_program *program, char text[EMIT_LINE]);
const char *emit_off(const struct emit_program *program, char text[EMIT_LINE]);
const char *emit_fold_off(const struct emit_program *program, char text[EMIT_LINE]);
void emit_right_steps(FILE *out, int indent, const struct emit_program *program);

/* Returns whether a condition of templates about kernels holds; -1: it is none. */
int emit_kernel_fact(const struct emit_program *program, const char *name);

/* --- places.c --- */

/* Return true if a tile is columns of a matrix on the host; if tiles lie apart there; and if
 * either is so. */
bool emit_in_columns(const struct emit_program *program);
bool emit_in_places(const struct emit_program *program);
bool emit_is_apart(const struct emit_program *program);

/* Refuses places that the program would not draw: STATUS_USAGE. */
enum status emit_check_places(const struct emit_program *program, struct error *error);

/* How arrays of the host's are laid out, as the program has it. */
struct emit_arrays {
    const char *element;      /* the place of element i of all, tile by tile: "[i]" */
    const char *tile_element; /* that of element i of `tile`, where tiles are of one size */
    const char *extent;       /* the dimensions, */
    const char *row;          /* and those behind the first; "": its variable is a pointer */
    const char *address;      /* where a tile begins: a format for the array and its number */
    const char *piece;        /* and where the CPU's piece of it does, for the array */
    const char *bare;         /* where a piece of bare copies begins */
};
const struct emit_arrays *emit_arrays_of(const struct emit_program *program);

/* Returns how many elements the memory of such an array has. */
const char *emit_host_count(const struct emit_program *program);

/* Returns true if tiles lie apart in so many places that the program draws them; and return the
 * places where they are a table, and the key that they are drawn from. */
bool emit_draws_places(const struct emit_program *program);
const char *emit_place_table(const struct emit_program *program, char text[EMIT_LINE]);
const char *emit_places_key(const struct emit_program *program, char text[EMIT_LINE]);

/* Returns an input of a link, from element `first` on, in one piece, as a twin of a user's
 * kernel gets it. */
const char *emit_input_of(const struct emit_program *program, int link, int input);

/* --- libraries.c: the matrix product --- */

/* Returns true if all kernels come behind the copy of what is resident in any case. */
bool emit_is_sure_of_upload(const struct emit_program *program);

/* Returns what chooses the handle that a launch calls by. */
const char *emit_handle(const struct emit_program *program, char text[EMIT_LINE]);

/* Return true if kernels are in several streams, each of which has a handle; and if they are in
 * the legacy default stream. */
bool emit_has_handles(const struct emit_program *program);
bool emit_kernels_are_legacy(const struct emit_program *program);

/* --- libraries.c: users' own --- */

/* Elements that a CPU twin gets at once in the check. Hardly a tile has so many. */
enum { EMIT_PART = 509 };

/* Returns how many kernels of the chain are the user's own; the others are pipeline's. */
int emit_count_own(const struct emit_program *program);

/* Refuses maps of the user's that leave another type than they take: STATUS_USAGE. */
enum status emit_own_check_types(const struct emit_program *program, struct error *error);

/* Returns the program's variable for a link's library. */
const char *emit_own_name(const struct emit_program *program, int link, char text[EMIT_NAME]);

/* Write the variables for the libraries, their opening in main(), and what the chain's maps
 * make of the values of a part, and of their bounds. */
void emit_own_variables(FILE *out, const struct emit_program *program);
void emit_own_opening(FILE *out, const struct emit_program *program);
void emit_own_links(FILE *out, int indent, const struct emit_program *program);

/* Returns whether a condition of templates about such kernels holds; -1: it is none. */
int emit_own_fact(const struct emit_program *program, const char *name);

/* --- cpu.c --- */

/* Elements of the CPU's pieces: whole blocks of its kernels. */
enum { EMIT_CPU_PIECE = 16384 };

/* Refuses what the CPU's part can't be written for: STATUS_USAGE. */
enum status emit_check_cpu(const struct emit_program *program, struct error *error);

/* Return the place of the piece in a host array, and the type of what a piece leaves of a
 * tile's value; and write what the chain does with a piece. */
const char *emit_piece_of(const struct emit_program *program, const char *array,
                          char text[EMIT_TEXT]);
const char *emit_part_type(const struct emit_program *program);
void emit_cpu_links(FILE *out, const struct emit_program *program);

/* --- when.c --- */

/* Returns which batches have the item, as a condition; "" where all have it. */
const char *emit_when(const struct emit_program *program, char text[EMIT_LINE]);

/* --- calls.c: what programs/calls.cu.in asks of an item --- */

/* Returns whether a condition about the item holds; -1: it is none. */
int emit_item_fact(const struct emit_program *program, const char *name);

/* Returns why the stage records an event, or waits for it. */
const char *emit_why(const struct emit_program *program, char text[EMIT_LINE]);

/* Write the item: a launch; a copy, a callback or a wait of the host that carries a scan. */
void emit_put_launch(FILE *out, int indent, const struct emit_program *program);
void emit_put_carry(FILE *out, int indent, const struct emit_program *program);

/* Write the declarations of the events, and their creation in main(). */
void emit_event_declarations(FILE *out, const struct emit_program *program);
void emit_event_creation(FILE *out, const struct emit_program *program);

/* --- body.c --- */

/* Writes the function that issues all ops, and those that it calls. Returns false where memory
 * ran out. */
bool emit_issue(FILE *out, const struct emit_program *program);

/* --- refused.c --- */

/* Refuse what can't be written, before its loops are looked for and behind that: STATUS_USAGE.
 */
enum status emit_check_plan(const struct emit_program *program, struct error *error);
enum status emit_check_loops(const struct emit_program *program, struct error *error);

/* --- bare.c --- */

/* Return whether a condition of the bare copies' template holds, -1: it is none; and one of its
 * values, in `text`, or NULL. */
int emit_bare_fact(const struct emit_program *program, const char *name);
const char *emit_bare_value(const struct emit_program *program, const char *name,
                            char text[EMIT_LINE]);

/* --- objects.c --- */

/* Return how a buffer is declared; the bytes of a device array that is taken once, or NULL: it
 * is none; those of all slots of an array that the CPU packs tiles into, or that a device hands
 * them on by; and what poisons the bytes of an array. */
const char *emit_declarator(const struct emit_program *program, enum buffer buffer,
                            char text[EMIT_LINE]);
const char *emit_device_bytes(const struct emit_program *program, enum buffer array,
                              char text[EMIT_LINE]);
const char *emit_packed_bytes(const struct emit_program *program, char text[EMIT_LINE]);
const char *emit_poison_of(const struct emit_program *program, enum buffer array);

/* Return the bytes that a tile's slot takes, those of the loop's batch, and those of all host
 * arrays. */
const char *emit_slot_bytes(const struct emit_program *program, enum buffer buffer,
                            char text[EMIT_LINE]);
const char *emit_batch_bytes(const struct emit_program *program, enum buffer buffer,
                             char text[EMIT_LINE]);
const char *emit_arrays_bytes(const struct emit_program *program, char text[EMIT_LINE]);

/* Return true if the calls that take the arrays of a device fit a line; the names of these;
 * their bytes if all have as many, else NULL; and "SLOTS * ", or "" for one slot. */
bool emit_has_short_sizes(const struct emit_program *program);
const char *emit_device_arrays(const struct emit_program *program, char text[EMIT_LINE]);
const char *emit_alike_bytes(const struct emit_program *program, char text[EMIT_LINE]);
const char *emit_times_slots(const struct emit_program *program, char text[EMIT_LINE]);

/* Return after how many streams their priorities repeat, and these; and write the creation of a
 * stream for each stage with its priority. */
uint32_t emit_priority_period(const struct emit_program *program);
const char *emit_priorities(const struct emit_program *program, char text[EMIT_LINE]);
void emit_stage_priorities(FILE *out, const struct emit_program *program);

#endif
