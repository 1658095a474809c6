/* stride.cu - `stride-copy`: what bandwidth is left when neighbours read `stride` elements
 * apart.
 *
 * Memory is read in sectors of 32 bytes: of each, a warp wants all at stride 1, and one float
 * in eight from stride 8 on. What it writes is always in one piece. */
#include "kernels/device_util.cuh"
#include "kernels/kernel_rows.h"
#include "kernels/transpose_rows.h"

struct passes {
    const float *in;
    float *out;
    uint64_t count; /* with those behind the last whole row */
    uint64_t whole; /* elements of whole rows */
    uint64_t each;  /* elements of a pass */
    unsigned stride, step;
};

/* Element `element` of the pass that begins at `column`. */
struct reader {
    uint64_t element;
    unsigned column;
};

/* A thread divides once; 32 bits, where they will do, divide far faster. */
static __device__ inline struct reader reader_at(const struct passes &p, uint64_t place)
{
    const uint64_t pass = (place | p.each) >> 32 == 0
                              ? static_cast<unsigned>(place) / static_cast<unsigned>(p.each)
                              : place / p.each;
    return {place - pass * p.each, static_cast<unsigned>(pass * p.step % p.stride)};
}

/* To what the block's next row of threads writes: further in this pass, or in a later one. */
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
        static_cast<uint64_t>(blockIdx.x) * STRIDE_PER_THREAD * KERNEL_THREADS + threadIdx.x;
    float mine[STRIDE_PER_THREAD] = {};
    if (first < p.whole) {
        struct reader reader = reader_at(p, first);
#pragma unroll
        for (unsigned i = 0; i < STRIDE_PER_THREAD; i++) {
            if (first + i * KERNEL_THREADS < p.whole)
                mine[i] = p.in[reader.element * p.stride + reader.column];
            reader_advance(p, reader);
        }
    }
#pragma unroll
    for (unsigned i = 0; i < STRIDE_PER_THREAD; i++) {
        const uint64_t place = first + i * KERNEL_THREADS;
        if (place < p.count)
            p.out[place] = place < p.whole ? mine[i] : p.in[place];
    }
}

int stride_copy_launch(const struct kernel_args *args, void *stream)
{
    const uint64_t per_block = STRIDE_PER_THREAD * KERNEL_THREADS;
    const uint64_t blocks = args->count / per_block + (args->count % per_block != 0);
    struct passes p = {};
    if (blocks > KERNEL_GRID_MAX)
        return cudaErrorInvalidConfiguration;
    p.in = static_cast<const float *>(args->in[0]);
    p.out = static_cast<float *>(args->out);
    p.count = args->count;
    p.stride = args->params.stride;
    p.step = stride_copy_step(p.stride);
    p.each = p.count / p.stride;
    p.whole = p.each * p.stride;
    return kernel_launch_grid(stride_copy_kernel, static_cast<unsigned>(blocks), KERNEL_THREADS,
                              stream, p);
}

int stride_copy_preload(void)
{
    return kernel_preload(stride_copy_kernel);
}
