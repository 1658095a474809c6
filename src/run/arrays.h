/* arrays.h - the host arrays of a run: taken, filled, poisoned, kept in a file, given back.
 *
 * Memory comes from mmap with huge pages where there are any, and is touched by all cores, so
 * that a backend can page-lock it fast afterwards. */
#ifndef PIPELINE_RUN_ARRAYS_H
#define PIPELINE_RUN_ARRAYS_H

#include "core/status.h"
#include "kernels/kernel.h"
#include "options/options.h"
#include "plan/host_layout.h"
#include "plan/plan.h"
#include <stddef.h>

#include <stdint.h>
#include <stdio.h>

/* The host buffers, by enum buffer; NULL where a plan does not use one. */
struct arrays {
    void *host[BUFFER_FIRST_DEVICE];
    uint64_t bytes[BUFFER_FIRST_DEVICE];  /* bytes that they take: host_layout_bytes() */
    uint64_t mapped[BUFFER_FIRST_DEVICE]; /* bytes that were taken: whole pages */
    uint32_t poison; /* every word of the output before the present run; 0: it is not known */
    uint32_t drawn;  /* numbers drawn for poisons so far */
    const struct plan *apart; /* says where the tiles lie, and must outlive the arrays; NULL:
                                 each array lies in one piece */
    /* A process that shares the run has the results of one device's tiles alone: that of
     * `device` of the plan `dealt`, which must outlive the arrays. NULL: it has all. */
    const struct plan *dealt;
    uint32_t device;
    /* The right results of a kernel without a CPU twin: the output of one launch on the whole
     * array, in one piece; another owns it. NULL: the twins say what is right. */
    const void *untiled;
};

/* Fewer elements, or words, than these are not worth waking the other cores for. */
enum { ARRAYS_PARALLEL = 16384 };

/* Returns the bytes of host memory that could be taken now (MemAvailable). 0: unknown. */
uint64_t host_memory_available(void);

/* Takes `bytes` of zeroed memory, page-aligned, on huge pages if `huge` and there are any, and
 * touches it with all cores. Returns NULL when there is none. *mapped is for host_unmap(). */
void *host_map(uint64_t bytes, bool huge, uint64_t *mapped);

void host_unmap(void *memory, uint64_t mapped);

/* In run/array_fill.c: takes the host arrays of `plan`, and fills the inputs: from
 * settings->input where given (the second input, for kernels of two, is then generated), else
 * generated from settings->seed, so that every element differs between tiles and seeds. The
 * output is touched; arrays_poison() comes before each run. STATUS_NO_MEMORY when memory does
 * not suffice, saying how much is needed and how much there is. */
enum status arrays_create(struct arrays *arrays, const struct plan *plan,
                          const struct settings *settings, struct error *error);

void arrays_free(struct arrays *arrays);

/* Returns the address of a logical range of a host buffer that is there. The bytes lie in one
 * piece: of a buffer whose tiles lie apart, the range is within one tile, or one row of it.
 * host_layout_next() walks over longer ones. */
static inline void *arrays_at(const struct arrays *arrays, const struct range *range)
{
    char *memory = arrays->host[range->buffer];
    return memory +
           (arrays->apart != NULL ? host_layout_offset(arrays->apart, range) : range->offset);
}

/* Returns true if this process has the result of a tile. */
static inline bool arrays_have_tile(const struct arrays *arrays, uint32_t tile)
{
    return arrays->dealt == NULL || plan_result_device(arrays->dealt, tile) == arrays->device;
}

/* Writes the output, in the order of the tiles, to `stream` as array_file_write() does. */
enum status arrays_write_output(const struct arrays *arrays, const struct plan *plan,
                                FILE *stream, const char *path, int npy, struct error *error);

/* Ends the calling thread's OpenMP team: where more threads wait for work than there are cores,
 * OpenMP's library has all of them sleep at once: then the CPU's tiles of 128 and 256 KiB took
 * 2 to 4 times as long, and those of 1 MiB 1.5 to 2.5 times. [Measured on 16 cores] Then waits
 * 20 ms for the host to settle, awake, because a core that slept would begin slowly. Right
 * after all cores have filled or checked arrays, a short run on a device takes about a fifth
 * longer: 2.06 ms against 1.74 for 64 tiles of 1 MiB on 16 cores, even where OpenMP's threads
 * do not spin; the reason is not known. So this comes before everything that is timed and
 * compared, be it a backend's run or a bare loop of calls. Returns at once where no array was
 * taken or poisoned since the last call. */
void arrays_settle(void);

/* Takes note that all cores have worked. */
void arrays_unsettle(void);

/* Generates elements [first, first + count) of input array `which` (0 or 1; 2 is the resident
 * input): float32 and float64 uniform in [-1, 1), int32 over the whole range. A pure function
 * of (seed, which, index): a counter-based generator (splitmix64's finaliser; Steele, Lea &
 * Flood, OOPSLA 2014). */
void arrays_generate(enum dtype dtype, uint64_t seed, int which, uint64_t first, uint64_t count,
                     void *data);

/* --- run/array_poison.c --- */

/* Draws a poison, and fills the output with it and the totals that scans carry through the
 * host. The gaps between tiles that lie apart, of the inputs too, are filled with words of
 * their own. In floats it is a NaN, with a payload that nothing computes; in ints a
 * number near 2^31. The output as the last run left it holds it nowhere: what two runs give
 * alike is the poison in one of them at most. */
void arrays_poison(struct arrays *arrays);

/* Fills `bytes` of memory, a multiple of 4, with the poison: by all cores where it is much, and
 * `team`, else by the calling thread. */
void arrays_fill_poison(const struct arrays *arrays, void *memory, uint64_t bytes, bool team);

/* Returns the first of the output's `count` elements, of `element_bytes` each (4 or 8), that
 * holds nothing but the poison, or `count`. Tiles that other processes have are passed over. */
uint64_t arrays_find_poison(const struct arrays *arrays, size_t element_bytes, uint64_t count);

/* Looks for words that were written in the gaps since then. STATUS_FAILED names the first tile,
 * in tile order, behind which there are any. */
enum status arrays_check_gaps(const struct arrays *arrays, struct error *error);

/* --- npy.c: arrays in files: numpy's .npy format (versions 1.0 to 3.0) and raw little-endian
 * --- */

/* An array file: its elements, and where its data starts. */
struct array_file {
    enum dtype dtype;
    uint64_t count;       /* elements, all dimensions together */
    uint64_t data_offset; /* bytes before the first element: 0 for raw files */
};

/* Looks at `path` without reading its data. A name ending in ".npy" must be a .npy file of
 * `dtype`, C order, little-endian, of any shape; anything else is raw elements of `dtype`. The
 * file must be regular and hold exactly its elements. STATUS_USAGE names the file, what it
 * holds and what is allowed. */
enum status array_file_probe(const char *path, enum dtype dtype, struct array_file *file,
                             struct error *error);

/* Reads elements [first, first + count) of `path` into `data`. STATUS_FAILED if it is short. */
enum status array_file_read(const char *path, const struct array_file *file, uint64_t first,
                            uint64_t count, void *data, struct error *error);

/* Writes elements [first, first + count) of `file`, whose data_offset does not matter, to
 * `stream`, which has all before them: from the first on behind a .npy header (version 1.0,
 * shape (file->count,)) if `npy`, else raw. The stream is flushed behind the last.
 * STATUS_FAILED on a full disk or any other failed write; `path` is for the message. */
enum status array_file_write(FILE *stream, const char *path, int npy,
                             const struct array_file *file, uint64_t first, uint64_t count,
                             const void *data, struct error *error);

/* Returns true if `path` ends in ".npy". */
int array_path_is_npy(const char *path);

/* --- run/npy_header.c: the header of a .npy file, which says what the file holds --- */

/* Returns numpy's code for a type, without its byte order: "f4", "i4" or "f8". */
const char *npy_dtype_code(enum dtype dtype);

/* Reads a header of `length` bytes, which `data_bytes` bytes of data follow. STATUS_USAGE
 * unless these are exactly the little-endian elements of type `dtype`, in C order, that it
 * announces. */
enum status npy_header_read(const char *path, const char *text, size_t length, enum dtype dtype,
                            uint64_t data_bytes, struct error *error);

#endif
