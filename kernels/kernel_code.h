/* kernel_code.h - the code of a kernel: the CPU twin and the oracle, which are always there,
 * and the launcher, which is there only in a program that was built with CUDA.
 *
 * This header needs no CUDA header: a stream is a void pointer here (a cudaStream_t), and a
 * cudaError_t an int. */
#ifndef PIPELINE_KERNEL_CODE_H
#define PIPELINE_KERNEL_CODE_H

#include "kernels/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { KERNEL_WHY = 160 }; /* bytes for a reason in words */

/* One piece of work: a tile, or part of one. A launcher is given device pointers and a CPU twin
 * host pointers. The output of a map or a scan may be in[0], but not that of a
 * .launch_per_repeat or .gathers kernel; nothing else may overlap. */
struct kernel_args {
    const void *in[KERNEL_INPUTS_MAX]; /* in[1] is NULL for a kernel of one input */
    const void *resident;              /* the whole resident input; NULL where there is none */
    void *out;                         /* `count` elements, or one value for a reduction */
    void *scratch;        /* kernel_scratch_bytes(), zero before its first use; afterwards it
                             serves the same kernel alone, as it was left */
    const void *carry_in; /* scans: the total of all earlier tiles; NULL: there is none */
    void *carry_out;      /* scans: where that total with this tile's goes; NULL: nowhere */
    bool carry_own;       /* scans: carry_out gets this tile's total alone */
    uint64_t count;       /* elements, at least 1 */
    uint32_t blocks;      /* launcher: blocks of the grid; a .whole_grid kernel ignores it */
    uint32_t threads;     /* launcher of an .any_threads kernel: threads of a block, a power of
                             two from 32 to KERNEL_THREADS_MAX; 0: KERNEL_THREADS */
    bool untimed;    /* twin: nobody measures it, so a shorter way to the same bits will do */
    uint32_t repeat; /* .launch_per_repeat kernels: this repeat's number from 0; from 1 on
                        `out` holds the result of the last one */
    struct kernel_params params;
    void *context; /* launcher: what context_create() made for its stream, or NULL */
};

/* One of the tiles of a launch over several. */
struct kernel_tile {
    const void *in[KERNEL_INPUTS_MAX]; /* in[1] is not read by a kernel of one input */
    void *out;                         /* as large as in[0] */
    uint64_t count;                    /* elements; 0: there is nothing to do */
};

/* The exact values of `count` elements in double precision and, for each, how far a right
 * result may be from it. */
struct oracle {
    double *value;
    double *bound;
    size_t count;
    uint64_t first; /* index of the first element in its tile */
};

/* The part of a reduction that its oracle has folded so far. Zero-initialise. */
struct oracle_sum {
    double value;     /* floats: the exact sum, to double precision */
    double magnitude; /* floats: the sum of |values| */
    double bound;     /* floats: the sum of the values' own bounds */
    uint64_t integer; /* ints: the sum modulo 2^64; for an AND: how many elements failed */
    uint64_t count;   /* elements */
};

/* Adds the fold of the elements behind those of `sum`. */
static inline void oracle_sum_add(struct oracle_sum *sum, const struct oracle_sum *part)
{
    sum->value += part->value;
    sum->magnitude += part->magnitude;
    sum->bound += part->bound;
    sum->integer += part->integer;
    sum->count += part->count;
}

/* A wrong element that a kernel's own check has found. */
struct kernel_fault {
    uint64_t element;    /* its index in the array */
    double value, bound; /* the right value, and how far a right result may be from it */
    double actual;       /* the value that was found */
};

enum kernel_verdict { KERNEL_RIGHT, KERNEL_WRONG, KERNEL_NO_MEMORY };

struct kernel_code {
    /* The CPU twin: does the same work on host memory with OpenMP. Its result does not depend
     * on the number of threads. NULL: a kernel of the user's that has none, and then no oracle
     * either (kernel_lacks_twin()). */
    void (*host)(const struct kernel_args *args);
    /* Returns NULL, or in words that stay valid why the twin can't be used on this machine: a
     * library that it calls can't be opened. A kernel without this hook can always be used. */
    const char *(*host_missing)(void);

    /* Maps: turns the oracle of the elements before the map into that after it, in place.
     * `second` points at the second input's elements, or is NULL. Single-threaded; called from
     * many threads. Scans have no such hook: their result follows from `exclusive`. */
    void (*oracle_map)(struct oracle *oracle, const void *second,
                       const struct kernel_params *params);
    /* Maps with .gathers: returns the place that the element at `place` of a tile of `count`
     * comes from. `oracle_map` is given the elements in their new places. */
    uint64_t (*gather)(uint64_t place, uint64_t count, const struct kernel_params *params);
    /* Reductions: folds the elements of `oracle` into `sum`. Single-threaded. */
    void (*oracle_fold)(struct oracle_sum *sum, const struct oracle *oracle);
    /* Reductions: returns the right result (as a double, which holds any int32), and in *bound
     * how far a result may be from it. An infinite bound says that nothing can be claimed, as
     * with a float sum that may overflow on its way. */
    double (*oracle_result)(const struct oracle_sum *sum, double *bound);
    /* Maps that have it instead of `oracle_map`: judges the whole output, `whole->out`, from
     * the host's whole arrays, with OpenMP. *fault is set to the first wrong element with
     * KERNEL_WRONG. Every right result passes. */
    enum kernel_verdict (*check)(const struct kernel_args *whole, struct kernel_fault *fault);
};

struct kernel_launcher {
    /* Launches on `stream`. Returns the launch's cudaError_t. */
    int (*launch)(const struct kernel_args *args, void *stream);
    /* Launches once on `stream` for `tile_count` tiles, at least 1, which may lie anywhere that
     * the device can reach: in its own memory or in mapped memory of the host. NULL in kernels
     * that are not elementwise; all others have it.
     *
     * `tiles` is an array that the device can read, and that stays as it is until the work is
     * done; the host need not be able to read it. The work on a tile is that of `launch`, for
     * places count from each tile's beginning. A tile begins at any element. Four elements are
     * read or written at once where all arrays of the tile are equally far behind a boundary of
     * 16 bytes, as they are when the tile is the same part of arrays that are aligned. A tile's
     * output may be where `launch` allows it, at in[0]; nothing else may overlap, within a tile
     * or between two.
     *
     * Of `args`, `in` and `out` are not read. `count` is the number of elements of the largest
     * tile: work is dealt over the blocks by it. A wrong one costs time alone. The number of
     * `blocks` may be any; `params` and `repeat` hold for all tiles. Returns the launch's
     * cudaError_t. */
    int (*launch_tiles)(const struct kernel_args *args, const struct kernel_tile *tiles,
                        uint32_t tile_count, void *stream);
    /* Makes the CUDA runtime load the code of both launches now, and not at the first of each.
     * Returns a cudaError_t. */
    int (*preload)(void);
    /* Makes kernel_args.context for a stream, before anything is timed. Returns NULL, or in
     * words why it can't be made: a text in `why`, or one that stays valid. Only kernels that
     * are `alone` have a context; the two hooks are NULL in all others. */
    const char *(*context_create)(void *stream, void **context, char why[KERNEL_WHY]);
    /* Destroys a context before its stream is destroyed. `context` may be NULL. */
    void (*context_destroy)(void *context);
    const char *call; /* the function that launches, as errors name it */
};

/* Returns the code of a kernel; never NULL. */
const struct kernel_code *kernel_code(const struct kernel *kernel);

/* Returns the launcher of a kernel, or NULL where the program was built without CUDA. */
const struct kernel_launcher *kernel_launcher(const struct kernel *kernel);

/* Returns true for a kernel that only its launcher knows: no CPU can do its work, and what is
 * right can't be said but by what it does itself. */
static inline bool kernel_lacks_twin(const struct kernel *kernel)
{
    return kernel_code(kernel)->host == NULL;
}

/* Returns NULL, or why the kernel can't be used on this machine; see host_missing. */
const char *kernel_missing(const struct kernel *kernel);

#ifdef __cplusplus
}
#endif

#endif
