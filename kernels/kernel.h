/* kernel.h - the shape and the cost of a kernel: everything about it but its code.
 *
 * A kernel is a row of kernel_table: its name, what it reads and writes, what it costs, and
 * which kernels it can be chained with. The plan, the simulator and the analysis need no more
 * than that, so this header and its objects need nothing but the C library. The code of a
 * kernel is behind kernel_code.h. */
#ifndef PIPELINE_KERNEL_H
#define PIPELINE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum dtype { DTYPE_F32, DTYPE_I32, DTYPE_F64, DTYPE_COUNT };

/* Returns the bytes of one element. */
size_t dtype_bytes(enum dtype dtype);

/* Returns the type's name as numpy spells it: "float32", "int32" or "float64". */
const char *dtype_name(enum dtype dtype);

/* Returns element i of an array of that type. */
double dtype_load(enum dtype dtype, const void *from, size_t i);

enum kernel_shape {
    KERNEL_MAP,    /* as many elements out as in */
    KERNEL_REDUCE, /* one value per tile; such a kernel is the last of its chain */
    KERNEL_SCAN,   /* prefix sums of int32, modulo 2^32, over the whole array: each tile begins
                      with the total that the tile before it carries over */
};

/* The operation that joins the values of a reduction's tiles to one value of the array. */
enum kernel_fold {
    KERNEL_FOLD_SUM,
    KERNEL_FOLD_AND, /* 1 if no tile's value is 0, else 0 */
};

enum {
    KERNEL_INPUTS_MAX = 2,
    CHAIN_MAX = 8,
    KERNEL_THREADS = 256,      /* threads of a block unless a run says otherwise */
    KERNEL_THREADS_MAX = 1024, /* threads that a block can have on every GPU */
};

/* The settings of a run that its kernels heed. */
struct kernel_params {
    uint32_t intensity; /* repeats of the arithmetic per element, at least 1 */
    uint64_t columns;   /* transposes, stencil: elements in a row of a tile, at least 1 */
    uint32_t stride;    /* stride-copy: distance between two reads in elements, at least 1 */
    uint64_t rows;      /* matrix product: rows of A and C, at least 1 */
    uint64_t inner;     /* matrix product: columns of A, at least 1 */
    uint32_t halo;  /* stencil: rows and columns that an element's neighbours lie in, on each
                       side; 0: it has none */
    uint32_t steps; /* stencil: launches one after another; 0 stands for 1 */
};

struct kernel_code;
struct kernel_launcher;

struct kernel {
    const char *name;
    const char *summary; /* one line for `pipeline list kernels` */
    enum kernel_shape shape;
    enum kernel_fold fold; /* reductions: joins the tiles' values */
    int inputs;            /* arrays read: the chain's own and, for 2, the second input array */
    enum dtype in, out;    /* element types */
    double flops;          /* cost: floating-point operations per element and repeat */
    bool exclusive;        /* scans: an element's sum leaves out its own value */
    bool repeats;          /* the arithmetic is done `intensity` times */
    /* .repeats: the intensity where none is given; 0 means 1. */
    uint32_t usual_intensity;
    /* Each repeat is a launch, or a call of the CPU twin, of its own: it reads the input again
     * and goes on with the output of the last one. */
    bool launch_per_repeat;
    /* A thread takes at least per_thread elements where the grid is not too small, `sweep` of
     * them at once before it moves on by the whole grid. */
    uint32_t per_thread, sweep;
    /* A thread takes exactly per_thread elements (fewer at the edges), so the grid grows with
     * the work, beyond what the GPU holds at once. */
    bool whole_grid;
    bool any_threads; /* a block may have another size than KERNEL_THREADS */
    /* A kernel with the same arithmetic, whose rates in a machine file count for this one too.
     * NULL: there is none. */
    const char *rates_of;

    /* True if elements change places. Such a map can't work in place, so it is the first of its
     * chain, and no reduction is the last: maps before a reduction work in place. */
    bool gathers;
    bool strided; /* neighbouring threads read elements params.stride apart */
    bool alone;   /* the only kernel of its chain */
    /* An element depends on its neighbours: of params.halo rows before the tile's and as many
     * behind them, which lie in the first input, too. It costs `flops` and one more for each
     * neighbour. */
    bool stencil;
    bool in_place; /* on the device the result replaces the first input */
    bool rated;    /* reports give its arithmetic as a rate, in Gflop/s */
    /* Elementwise maps: a result depends on the element's place in its tile, too, but only on
     * the place modulo this. 0: the place does not matter. */
    uint32_t place_period;

    /* A tile, and the array, is a whole number of units: rows or columns of a matrix, as
     * `unit_name` says ("rows", "columns"). Returns the elements of one unit. Both are NULL
     * where any number of elements will do. */
    uint64_t (*unit)(const struct kernel_params *params);
    const char *unit_name;
    /* Returns the elements of the second input that go with `count` of the first, in proportion
     * to them. NULL: as many. */
    uint64_t (*second_count)(uint64_t count, const struct kernel_params *params);
    /* Returns the elements of an input that every tile needs whole, and which is therefore
     * uploaded once. NULL: there is no such input. */
    uint64_t (*resident_count)(const struct kernel_params *params);
    /* Gives the cost of one launch on `count` elements: bytes of device memory moved, and
     * floating-point operations. NULL: inputs and output are moved once, and an element costs
     * `flops`. */
    void (*work)(uint64_t count, const struct kernel_params *params, double *bytes,
                 double *flops);

    /* The library of a kernel of the user's (kernels/own.h), which launches on one tile at a
     * time. NULL in all rows of the table. */
    const char *file;
    /* Then: by how much of its size a right result may differ from another right one. */
    double tolerance;
    /* The code of a kernel that is not in kernel_table: such a kernel brings it along. NULL in
     * all rows of the table. */
    const struct kernel_code *code;
    const struct kernel_launcher *launcher;
};

/* All kernels, in the order in which `pipeline list kernels` prints them, ended by a row
 * without a name. The rows are in kernels.def. */
extern const struct kernel kernel_table[];

/* Returns the row called `name`, or NULL. */
const struct kernel *kernel_find(const char *name);

/* Returns true for a name that a kernel of a user's own may have: 1 to 31 letters, digits, "-"
 * and "_". One of the table may still have it. */
bool kernel_is_name(const char *name);

/* Returns the name in the table nearest to `name` by edit distance, or NULL if none is near. */
const char *kernel_nearest(const char *name);

enum {
    KERNEL_BLOCKS_MAX = 4096,  /* blocks of a launch at most: a reduction's scratch has no room
                                  for the sums of more */
    KERNEL_SCRATCH_HEAD = 256, /* bytes for counters, in a line of their own */
    KERNEL_LINE = 32,          /* ints in a line of the GPU's memory, 128 bytes */
    KERNEL_SCRATCH_BYTES = KERNEL_BLOCKS_MAX * 16 + KERNEL_SCRATCH_HEAD,
};

/* The limit of gridDim.x in the CUDA programming guide. */
#define KERNEL_GRID_MAX INT32_MAX

/* Returns the bytes of scratch that a launch on at most `count` elements needs: 0 for a map,
 * KERNEL_SCRATCH_BYTES for a reduction (counters and a sum per block), and for a scan counters
 * and a word per part of per_thread * KERNEL_THREADS elements, of which the first may begin up
 * to a line before the array. */
uint64_t kernel_scratch_bytes(const struct kernel *kernel, uint64_t count);

/* Returns the blocks of the grid for `count` elements on a device that holds `resident_blocks`
 * blocks of KERNEL_THREADS threads at once: enough for per_thread elements per thread, at most
 * one full GPU, at most KERNEL_BLOCKS_MAX, at least 1. Such kernels stride by the grid, so any
 * grid is right for any count. A kernel that brings its own cost (.work) is a library's, which
 * cuts small work up so that it fills the GPU: its launches count as one full GPU. [Measured on
 * an H200: a tile of one column of cublasDgemm(), 4096 rows and 1024 deep, reads its matrix at
 * 4.6 TB/s] The grid of a .whole_grid kernel has as many blocks as the work
 * takes, up to KERNEL_GRID_MAX, and `resident_blocks` does not matter: blocks wait for others
 * to end. */
uint32_t kernel_blocks(const struct kernel *kernel, uint64_t count, uint32_t resident_blocks);

/* Returns true if every element of the output depends on the inputs' elements of the same index
 * alone, and at most on the place in the tile. That is so of each map that moves no element and
 * has no units. One launch can then work on several tiles (kernel_launcher.launch_tiles). */
bool kernel_is_elementwise(const struct kernel *kernel);

/* Returns true if tiles of `count` elements, one right behind another in every array, can be
 * worked on as if they were one tile, with the same results. The last of them may have another
 * number of elements. So it is with an elementwise kernel, unless places matter to it and
 * `count` is no multiple of place_period: then only a launch over the tiles will do. */
bool kernel_joins(const struct kernel *kernel, uint64_t count);

/* Returns true if the CPU's twin shares so many elements out among a team of threads, which
 * costs some microseconds; fewer are one thread's. */
static inline bool kernel_is_for_team(const struct kernel_params *params, uint64_t count)
{
    return (double)count * params->intensity >= 32768;
}

/* Returns the launches that the work on one tile takes: `intensity` for a .launch_per_repeat
 * kernel, else 1. */
uint32_t kernel_launches(const struct kernel *kernel, const struct kernel_params *params);

/* Returns the intensity of a chain where none is given: what the lightest of its kernels that
 * repeat their arithmetic usually has, dealt out over all of these; at least 1. */
uint32_t chain_usual_intensity(const struct kernel *const chain[], int length);

/* Returns the launches on one tile of all kernels of a chain. */
uint64_t kernel_chain_launches(const struct kernel *const chain[], int length,
                               const struct kernel_params *params);

/* Returns the bytes of device memory that a launch reads and writes per element. The first
 * launch of a .launch_per_repeat kernel on a tile reads less: it has no output to go on with.
 */
double kernel_bytes_per_element(const struct kernel *kernel);

/* Returns the floating-point operations of a launch per element, with all its repeats and
 * neighbours. */
double kernel_flops_per_element(const struct kernel *kernel,
                                const struct kernel_params *params);

/* Gives the cost of a launch on `count` elements with all its repeats: bytes of device memory
 * read and written, and floating-point operations. For a .launch_per_repeat kernel that is the
 * mean of a tile's launches. */
void kernel_work(const struct kernel *kernel, const struct kernel_params *params,
                 uint64_t count, double *bytes, double *flops);

/* Returns the elements of the second input that go with `count` of the first; 0 for a kernel of
 * one input. */
uint64_t kernel_second_count(const struct kernel *kernel, const struct kernel_params *params,
                             uint64_t count);

/* Returns the same for a chain: its kernels of two inputs all read the same second input. */
uint64_t chain_second_count(const struct kernel *const chain[], int length,
                            const struct kernel_params *params, uint64_t count);

/* Returns the bytes of the chain's resident input; 0 where there is none. */
uint64_t chain_resident_bytes(const struct kernel *const chain[], int length,
                              const struct kernel_params *params);

/* Returns the elements of which a tile of the chain is a whole number; 1 where any number will
 * do. */
uint64_t chain_unit(const struct kernel *const chain[], int length,
                    const struct kernel_params *params);

/* Returns the chain's kernel that works on whole rows or columns, or NULL. */
const struct kernel *chain_unit_kernel(const struct kernel *const chain[], int length);

/* Returns -1 if the kernels can follow one another, else the index of the first one that does
 * not fit those before it: the types differ; a reduction comes before it; one of the two has to
 * be alone; it is a .launch_per_repeat or .gathers kernel and not the first; or it is a
 * reduction in a chain that begins with such a kernel, which would overwrite elements that are
 * still to be read. */
int kernel_chain_misfit(const struct kernel *const chain[], int length);

/* Returns true if a scan is among the kernels: then a tile needs the total of those before it.
 */
bool kernel_chain_scans(const struct kernel *const chain[], int length);

/* Returns why the kernel's tiles have to lie side by side in the host's arrays, as what a
 * sentence about the kernel goes on with ("goes on from tile to tile"); NULL where each may lie
 * anywhere. */
const char *kernel_needs_neighbours(const struct kernel *kernel);

/* Returns how many columns further each pass of `stride-copy` is (kernels/stride.cu): a step
 * that has no divisor in common with `stride`; 1 for strides 1 and 2. It is near the golden
 * section, whose multiples are spread the most evenly and come near each other the latest. */
uint32_t kernel_stride_step(uint32_t stride);

#ifdef __cplusplus
}
#endif

#endif
