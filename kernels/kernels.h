/* kernels.h - the table of kernels.
 *
 * A kernel is a row: what it is called, what it takes and leaves, how it runs on the device and
 * on the CPU, what it costs, and how its result is judged. Everything that works with kernels -
 * the plan, the simulator, the CUDA backend, the verification, `pipeline list kernels` - goes
 * through the table, so a new kernel is one row, one .cu file and one _host.c file.
 *
 * This header sees no CUDA header. A launcher takes its stream as a void pointer (a
 * cudaStream_t) and returns a cudaError_t as int; without nvcc the launchers are not linked and
 * are NULL. */
#ifndef PIPELINE_KERNELS_H
#define PIPELINE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum dtype { DTYPE_F32, DTYPE_I32, DTYPE_F64, DTYPE_COUNT };

/* Bytes of one element, and its name as numpy spells it ("float32", "int32", "float64"). */
size_t dtype_bytes(enum dtype dtype);
const char *dtype_name(enum dtype dtype);

enum kernel_shape {
    KERNEL_MAP,    /* as many elements out as in */
    KERNEL_REDUCE, /* one value per tile; only the last of a chain can be one */
    KERNEL_SCAN,   /* as many elements out as in, each the sum of all before it in the whole
                      array: a tile begins with what the tile before it carries over. Of
                      int32, modulo 2^32 */
};

/* What a reduction's tiles' values are folded by, to one value of the whole array. */
enum kernel_fold {
    KERNEL_FOLD_SUM,
    KERNEL_FOLD_AND, /* ints: 1 if none is 0 */
};

enum {
    KERNEL_INPUTS_MAX = 2,
    CHAIN_MAX = 8,
    KERNEL_THREADS = 256,      /* of a block, where nobody says otherwise */
    KERNEL_THREADS_MAX = 1024, /* that any GPU's blocks can have */
    KERNEL_WHY = 160,          /* room for a reason, in words */
};

/* What every kernel of a run is told. */
struct kernel_params {
    uint32_t intensity; /* repeats of the arithmetic per element, at least 1 */
    uint64_t columns;   /* transposes: elements of a row of a tile, at least 1 */
    uint32_t stride;    /* stride-copy: from one element that is read to the next, at least 1 */
    uint64_t rows, inner; /* of a matrix product: rows of A and C, columns of A; at least 1 */
};

/* One piece of work: a tile, or part of one. All pointers are device pointers for a launcher
 * and host pointers for a CPU twin. For a map or a scan `out` may equal `in[0]`, but not for a
 * map with .launch_per_repeat or .gather; nothing else may overlap. */
struct kernel_args {
    const void *in[KERNEL_INPUTS_MAX]; /* in[1] is NULL for a kernel of one input */
    const void *resident;              /* the whole resident input; NULL where there is none */
    void *out;                         /* `count` elements, or one value for a reduction */
    void *scratch;        /* kernel_scratch_bytes(), zero before its first use; then
                             one kernel's alone, as it left it */
    const void *carry_in; /* scans: the total of all earlier tiles; NULL: none */
    void *carry_out;      /* scans: that total with this tile's; NULL: not asked */
    bool carry_own;       /* scans: carry_out is this tile's total alone */
    uint64_t count;       /* elements, at least 1 */
    uint32_t blocks; /* grid: blocks of KERNEL_THREADS threads (launcher only; not read by those
                        of rows with .whole_grid, whose grid follows from `count`) */
    uint32_t threads; /* of a block, for launchers of rows with .any_threads: a power of two
                         from 32 to KERNEL_THREADS_MAX; 0: KERNEL_THREADS */
    uint32_t repeat;  /* rows with .launch_per_repeat: which repeat this is, from 0; from 1 on
                         `out` holds what the one before left */
    struct kernel_params params;
    void *context; /* launcher only: what context_create() made for its stream, or NULL */
};

/* What a kernel's own check found to be wrong: an element of the result, what it should be,
 * give or take `bound`, and what it is. */
struct kernel_fault {
    uint64_t element;
    double value, bound, actual;
};

enum kernel_verdict { KERNEL_RIGHT, KERNEL_WRONG, KERNEL_NO_MEMORY };

/* What a chain's oracle knows of `count` elements: the exact values in double precision and,
 * for each, how far a right float result may be from it. */
struct oracle {
    double *value;
    double *bound;
    size_t count;
    uint64_t first; /* the first element's index in its tile */
};

/* What a reduction's oracle has folded so far. Zero-initialise. */
struct oracle_sum {
    double value;     /* floats: the exact sum, to double precision */
    double magnitude; /* floats: the sum of |values| */
    double bound;     /* floats: the sum of the values' own bounds */
    uint64_t integer; /* ints: the sum modulo 2^64; of an AND: how many failed */
    uint64_t count;
};

struct kernel {
    const char *name;
    const char *summary; /* one line for `pipeline list kernels` */
    enum kernel_shape shape;
    enum kernel_fold fold; /* reductions: across tiles */
    int inputs;            /* arrays read: the chain's own, and for 2 the second input array */
    enum dtype in, out;    /* element types */
    double flops;          /* floating-point operations per element and repeat: its cost */
    bool exclusive;        /* scans: an element's own value is not in its sum */
    bool repeats; /* `intensity` repeats its arithmetic; if not it has no meaning for it */
    bool launch_per_repeat; /* each repeat is a launch, or a call of the twin, of its own, which
                               reads in[] anew and goes on with what the last one left */
    uint32_t
        per_thread;   /* elements each thread takes at least, where the grid is large enough */
    uint32_t sweep;   /* and how many of them at once, before it goes on by the whole grid */
    bool whole_grid;  /* takes exactly per_thread elements per thread (fewer at edges), so its
                         grid grows with the work beyond what the GPU holds at once, as
                         lectures' kernels do */
    bool any_threads; /* its launcher heeds kernel_args.threads */
    bool calibrated;  /* `pipeline calibrate` measures its rates; of the others a machine file
                         says what is true of kernels in general */
    const char *rates_of; /* unless it says so of this other one, whose arithmetic is the same;
                             or NULL */

    /* Launches on `stream`. Returns the launch's cudaError_t. NULL when built without nvcc. */
    int (*launch)(const struct kernel_args *args, void *stream);
    /* Makes the runtime load the kernel's code now, not at its first launch. cudaError_t. */
    int (*preload)(void);
    /* The CPU twin: the same work on host memory, with OpenMP. The result does not depend on
     * the number of threads. */
    void (*host)(const struct kernel_args *args);
    /* Maps: takes the oracle of the elements before to that after, in place. `second` points at
     * the second input's elements, or is NULL. Single-threaded; called from many threads. Scans
     * have none: what they must give follows from `exclusive` alone. */
    void (*oracle_map)(struct oracle *oracle, const void *second,
                       const struct kernel_params *params);
    /* Reductions: folds `oracle` into `sum` (single-threaded), and says what the result must be
     * (as a double; an int32 fits) and how far it may be off: INFINITY where nothing can be
     * claimed, for a float sum that may overflow on its way. */
    void (*oracle_fold)(struct oracle_sum *sum, const struct oracle *oracle);
    double (*oracle_result)(const struct oracle_sum *sum, double *bound);

    /* Maps that gather: the element at `place` of a tile of `count` is made of the one at
     * the place returned, and `oracle_map` takes them when they have been moved. Such a kernel
     * can't work in place, so it is the first of its chain, and no reduction is the last: maps
     * before a reduction work in place. NULL: each element stays where it is. */
    uint64_t (*gather)(uint64_t place, uint64_t count, const struct kernel_params *params);
    /* What follows is for kernels that do more than work on one element after another. */

    bool alone;    /* the only kernel of its chain */
    bool in_place; /* the device's result replaces the first input: a launch's `out` is in[0] */
    bool rated;    /* its arithmetic is what counts: reports give its rate in Gflop/s */
    /* Why the kernel can't be used on this machine, in words that stay valid: a library that
     * `host` calls can't be opened. NULL: it can be; a row without this hook always can. */
    const char *(*host_missing)(void);

    /* A tile, and the array, is a whole number of so many elements: a matrix's row or column,
     * as `unit_name` says: "rows" or "columns". Both NULL: of one. */
    uint64_t (*unit)(const struct kernel_params *params);
    const char *unit_name;
    /* Elements of the second input that go with `count` of the first: proportional to them.
     * NULL: as many. */
    uint64_t (*second_count)(uint64_t count, const struct kernel_params *params);
    /* Elements of an input that every tile needs whole: it is uploaded once. NULL: none. */
    uint64_t (*resident_count)(const struct kernel_params *params);
    /* What one launch on `count` elements costs: bytes of device memory moved, and floating-
     * point operations. NULL: inputs and output once, and `flops` per element. */
    void (*work)(uint64_t count, const struct kernel_params *params, double *bytes,
                 double *flops);
    /* Maps, in the place of `oracle_map`: judges the whole result, `whole->out`, of the host's
     * whole arrays, with OpenMP. KERNEL_WRONG: *fault is the first wrong element. Every right
     * result passes. */
    enum kernel_verdict (*check)(const struct kernel_args *whole, struct kernel_fault *fault);
    /* What a launch needs beside its arguments, made once for each stream, before anything is
     * timed, and destroyed before the stream is. Only of kernels that are `alone`. Returns
     * NULL, or, in words, why there is none: a text in `why`. Both NULL: nothing. */
    const char *(*context_create)(void *stream, void **context, char why[KERNEL_WHY]);
    void (*context_destroy)(void *context);
};

/* All kernels, in the order `pipeline list kernels` prints them, ended by a row with no name.
 */
extern const struct kernel kernel_table[];

/* The row called `name`, or NULL. */
const struct kernel *kernel_find(const char *name);

/* The name in the table nearest to `name` by edit distance, or NULL if none is near. */
const char *kernel_nearest(const char *name);

/* Bytes of scratch that a launch on `count` elements, or fewer, needs. None for a map.
 * KERNEL_SCRATCH_BYTES for a reduction: counters and a sum per block. For a scan
 * counters and a word per part of per_thread * KERNEL_THREADS elements. */
size_t kernel_scratch_bytes(const struct kernel *kernel, uint64_t count);

/* The most blocks a launch may have: what a reduction's scratch has room for. */
enum {
    KERNEL_BLOCKS_MAX = 4096,
    KERNEL_SCRATCH_HEAD = 256, /* counters, in a line of their own */
    KERNEL_SCRATCH_BYTES = KERNEL_BLOCKS_MAX * 16 + KERNEL_SCRATCH_HEAD,
};

/* The most blocks a launch can have at all (the CUDA programming guide's limit of gridDim.x).
 */
#define KERNEL_GRID_MAX INT32_MAX

/* The grid for `count` elements on a device that holds `resident_blocks` blocks of
 * KERNEL_THREADS threads at once: enough blocks for per_thread elements each, at most one full
 * GPU, at most KERNEL_BLOCKS_MAX, at least 1. Such kernels stride by the grid, so any grid is
 * right for any count. That of a row with .whole_grid has as many blocks as the work takes, at
 * most KERNEL_GRID_MAX, and what is resident has no say: blocks wait for others to end. */
uint32_t kernel_blocks(const struct kernel *kernel, uint64_t count, uint32_t resident_blocks);

/* Launches that the kernel's work on a tile takes: `intensity` with .launch_per_repeat, else 1.
 * kernel_chain_launches(): those of all kernels of a chain. */
uint32_t kernel_launches(const struct kernel *kernel, const struct kernel_params *params);
uint64_t kernel_chain_launches(const struct kernel *const chain[], int length,
                               const struct kernel_params *params);

/* Bytes of device memory that a launch reads and writes per element. With .launch_per_repeat
 * the tile's first launch reads less: it has nothing to go on with. */
double kernel_bytes_per_element(const struct kernel *kernel);

/* Floating-point operations per element of a launch, all its repeats together. */
double kernel_flops_per_element(const struct kernel *kernel,
                                const struct kernel_params *params);

/* The row's host_missing(), if it has one: NULL, or why the kernel can't be used here. */
const char *kernel_missing(const struct kernel *kernel);

/* What a launch on `count` elements costs: bytes of device memory read and written, and
 * floating-point operations, all its repeats together. Of a row with .launch_per_repeat: in the
 * mean of a tile's launches. */
void kernel_work(const struct kernel *kernel, const struct kernel_params *params,
                 uint64_t count, double *bytes, double *flops);

/* Elements of the second input that go with `count` of the first; 0 for a kernel of one input.
 */
uint64_t kernel_second_count(const struct kernel *kernel, const struct kernel_params *params,
                             uint64_t count);

/* The same for a chain, of which all kernels of two inputs share the second; and bytes of its
 * resident input, 0 where there is none. */
uint64_t chain_second_count(const struct kernel *const chain[], int length,
                            const struct kernel_params *params, uint64_t count);
uint64_t chain_resident_bytes(const struct kernel *const chain[], int length,
                              const struct kernel_params *params);

/* A tile of the chain is a whole number of so many elements. */
uint64_t chain_unit(const struct kernel *const chain[], int length,
                    const struct kernel_params *params);

/* The chain's kernel that works on whole rows or columns; NULL where none does. */
const struct kernel *chain_unit_kernel(const struct kernel *const chain[], int length);

/* Checks that the kernels can follow one another. Returns -1 if so, else the index of the first
 * one that does not fit those before it: a type that differs; a reduction before it; one of the
 * two is to be alone; one with .launch_per_repeat or .gather that is not the first, or a
 * reduction in a chain that begins with such a one: both would overwrite what is still to be
 * read. */
int kernel_chain_misfit(const struct kernel *const chain[], int length);

/* Whether a scan is among the kernels: then tiles can't be worked on one without the other. */
bool kernel_chain_scans(const struct kernel *const chain[], int length);

#ifdef __cplusplus
}
#endif

#endif
