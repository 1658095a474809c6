/* stride.cu - `stride-copy`: the bandwidth that is left when neighbours read `stride` elements
 * apart.
 *
 * Memory is read in sectors of 32 bytes: a warp wants all of each sector at stride 1, and one
 * float in eight from stride 8 on. It always writes one piece of memory.
 *
 * A tile is taken as rows of params.stride elements, and the elements behind the last whole row
 * are copied as they are. A pass reads an element of each row, all `stride` apart, and writes
 * them one behind the other; there is a pass for each column. So every element is moved once,
 * whatever the stride and the tile.
 *
 * Neighbouring passes read the same sectors of memory. If they came one after the other, many
 * of these would still be in the cache: so each pass is kernel_stride_step() columns further
 * than the last one, around the row's end. Neighbours are then so far apart in time that a tile
 * a few times as large as the cache is read from memory at every stride. */
#include "kernels/kernel_file.h"

#ifdef __cplusplus /* ---- the kernels and their launchers ---- */

#include "kernels/device_util.cuh"

enum { PER_THREAD = 8 }; /* elements of a thread, as in the row */

struct passes {
    const float *in;
    float *out;
    uint64_t count; /* elements, with those behind the last whole row */
    uint64_t whole; /* elements of whole rows */
    uint64_t each;  /* elements of a pass */
    unsigned stride, step;
};

/* A place in the input: element `element` of the pass that begins at `column`. */
struct reader {
    uint64_t element;
    unsigned column;
};

/* Returns where the element at `place` of the output comes from. A thread divides only once,
 * and in 32 bits where they suffice, which is far faster. */
static __device__ inline struct reader reader_at(const struct passes &p, uint64_t place)
{
    const uint64_t pass = (place | p.each) >> 32 == 0
                              ? static_cast<unsigned>(place) / static_cast<unsigned>(p.each)
                              : place / p.each;
    return {place - pass * p.each, static_cast<unsigned>(pass * p.step % p.stride)};
}

/* Moves on to the element that this thread writes next, a block's width further: in this pass
 * or in a later one. */
static __device__ inline void reader_advance(const struct passes &p, struct reader &reader)
{
    reader.element += KERNEL_THREADS;
    while (reader.element >= p.each) {
        reader.element -= p.each;
        reader.column += p.step;
        if (reader.column >= p.stride)
            reader.column -= p.stride;
    }
}

static __global__ void __launch_bounds__(KERNEL_THREADS) stride_copy_kernel(struct passes p)
{
    const uint64_t first =
        static_cast<uint64_t>(blockIdx.x) * PER_THREAD * KERNEL_THREADS + threadIdx.x;
    float mine[PER_THREAD] = {};
    if (first < p.whole) {
        struct reader reader = reader_at(p, first);
#pragma unroll
        for (unsigned i = 0; i < PER_THREAD; i++) {
            if (first + i * KERNEL_THREADS < p.whole)
                mine[i] = p.in[reader.element * p.stride + reader.column];
            reader_advance(p, reader);
        }
    }
#pragma unroll
    for (unsigned i = 0; i < PER_THREAD; i++) {
        const uint64_t place = first + i * KERNEL_THREADS;
        if (place < p.count)
            p.out[place] = place < p.whole ? mine[i] : p.in[place];
    }
}

static int stride_copy_launch(const struct kernel_args *args, void *stream)
{
    const uint64_t per_block = PER_THREAD * KERNEL_THREADS;
    const uint64_t blocks = args->count / per_block + (args->count % per_block != 0);
    struct passes p = {};
    if (blocks > KERNEL_GRID_MAX)
        return cudaErrorInvalidConfiguration;
    p.in = static_cast<const float *>(args->in[0]);
    p.out = static_cast<float *>(args->out);
    p.count = args->count;
    p.stride = args->params.stride;
    p.step = kernel_stride_step(p.stride);
    p.each = p.count / p.stride;
    p.whole = p.each * p.stride;
    return kernel_launch_grid(stride_copy_kernel, static_cast<unsigned>(blocks), KERNEL_THREADS,
                              stream, p);
}

KERNEL_LAUNCHER(stride_copy, stride_copy_launch, stride_copy_kernel);

#else /* ---- the CPU twin, and the place where its oracle looks ---- */

#include "kernels/host_util.h"

enum { PART = 1 << 16 }; /* elements that a thread of the twin takes at a time */

static void stride_copy_host(const struct kernel_args *args)
{
    const float *in = args->in[0];
    float *out = args->out;
    const uint64_t stride = args->params.stride, each = args->count / stride;
    const uint64_t whole = each * stride, step = kernel_stride_step(args->params.stride);
#pragma omp parallel for schedule(static) if (host_is_parallel(args))
    for (uint64_t first = 0; first < args->count; first += PART) {
        const uint64_t end = args->count - first < PART ? args->count : first + PART;
        uint64_t to = first;
        while (to < end && to < whole) { /* a pass, or the part of it that is here */
            const uint64_t pass = to / each, column = pass * step % stride;
            for (uint64_t row = to % each; row < each && to < end; row++)
                out[to++] = in[row * stride + column];
        }
        for (; to < end; to++)
            out[to] = in[to];
    }
}

static uint64_t stride_copy_gather(uint64_t place, uint64_t count,
                                   const struct kernel_params *params)
{
    const uint64_t stride = params->stride, each = count / stride;
    if (place >= each * stride)
        return place;
    const uint64_t column = place / each * kernel_stride_step(params->stride) % stride;
    return place % each * stride + column;
}

const struct kernel_code stride_copy_code = {.host = stride_copy_host,
                                             .gather = stride_copy_gather};

#endif
