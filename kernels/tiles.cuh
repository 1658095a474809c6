/* tiles.cuh - one launch over many tiles that lie apart: which part of which tile a block
 * takes, and how its threads read and write that. The elements are floats.
 *
 * Every tile is cut into sweeps of TILE_SWEEP elements, and the sweeps of all tiles are
 * numbered through, as many for each tile as the largest has. The grid goes over them in
 * strides: block b takes sweeps b, b + blocks, b + 2 blocks and so on. So all blocks work, on
 * one large tile as on thousands of small ones, and of tiles that are alike no block gets more
 * than one sweep more than another. Whole tiles dealt to blocks would leave most of the GPU
 * idle where tiles are few, and a part of it where they are not a multiple of the blocks.
 * Blocks that run at the same time work at neighbouring places, as they do in an ordinary
 * launch. A sweep costs a look at the table, but no search there and no division: a block steps
 * on by as many tiles and sweeps each time. */
#ifndef PIPELINE_TILES_CUH
#define PIPELINE_TILES_CUH

#include "kernels/device_util.cuh"

constexpr unsigned TILE_EACH = 4; /* elements that a thread takes at once: a float4 */
constexpr unsigned TILE_SWEEP = TILE_EACH * KERNEL_THREADS;

/* The tiles of a launch, which every kernel over tiles is given first. */
struct tile_table {
    const struct kernel_tile *tiles;
    uint32_t count;
    uint32_t sweeps; /* that each tile is dealt, at least 1 */
};

/* How threads share a sweep. */
enum tile_order {
    TILE_WORDS, /* neighbours take neighbouring elements: a thread's lane is its element's index
                   modulo 32 */
    TILE_FOURS, /* neighbours take neighbouring float4, where all arrays of the tile are equally
                   far from the last boundary of 16 bytes; else as TILE_WORDS */
};

/* A thread's elements of a sweep: four that are `step` apart, as far as the tile has them. The
 * first sweep may begin before the tile, so that what follows is aligned. The index of an
 * element before it wraps round, and so is no more below `count` than that of one behind it. */
struct tile_part {
    uint64_t first, count;
    unsigned step;

    __device__ uint64_t index(unsigned i) const
    {
        return first + i * step;
    }

    __device__ bool has(unsigned i) const
    {
        return index(i) < count;
    }

    /* Returns true if the elements are a float4, at an address for one. */
    __device__ bool is_vector() const
    {
        return step == 1 && first < count && count - first >= TILE_EACH;
    }

    /* Loads the elements; 0 stands for one that the tile does not have. */
    __device__ float4 load(const void *array) const
    {
        const float *in = static_cast<const float *>(array);
        if (is_vector())
            return *reinterpret_cast<const float4 *>(in + first);
        return {has(0) ? in[index(0)] : 0, has(1) ? in[index(1)] : 0, has(2) ? in[index(2)] : 0,
                has(3) ? in[index(3)] : 0};
    }

    __device__ void store(void *array, float4 x) const
    {
        float *out = static_cast<float *>(array);
        if (is_vector()) {
            /* The compiler makes four stores of a plain assignment here, and these fill no line
             * at once: on mapped memory they reach a tenth of the link's rate. */
            __stwb(reinterpret_cast<float4 *>(out + first), x);
            return;
        }
        if (has(0))
            out[index(0)] = x.x;
        if (has(1))
            out[index(1)] = x.y;
        if (has(2))
            out[index(2)] = x.z;
        if (has(3))
            out[index(3)] = x.w;
    }

    /* Returns function(index, element of x, element of each of `more`) of every element that
     * the tile has; no time goes into others. The fours turn round in their registers, so that
     * there is one copy of the function's code: four side by side need more registers than a
     * thread has where the GPU is full of threads. */
    template <typename Function, typename... Fours>
    __device__ float4 map(Function function, float4 x, Fours... more) const
    {
#pragma unroll 1
        for (unsigned i = 0; i < TILE_EACH; i++) {
            x = {x.y, x.z, x.w, has(i) ? function(index(i), x.x, more.x...) : 0};
            ((more = {more.y, more.z, more.w, more.x}), ...);
        }
        return x;
    }
};

/* Returns how many elements `array` is behind the last boundary of 16 bytes. */
static __device__ inline unsigned tile_skew(const void *array)
{
    return static_cast<unsigned>(reinterpret_cast<uintptr_t>(array) / sizeof(float) %
                                 TILE_EACH);
}

/* Returns true if all arrays of the tile are equally far from such a boundary. */
template <int inputs> static __device__ inline bool tile_is_even(const struct kernel_tile &tile)
{
    const unsigned skew = tile_skew(tile.out);
    return tile_skew(tile.in[0]) == skew && (inputs < 2 || tile_skew(tile.in[1]) == skew);
}

/* Calls work(tile, part) for this thread's elements of one sweep of a tile, and of those that
 * lie a multiple of `sweeps` further: what a tile has beyond the sweeps that it is dealt. These
 * are up to 3 elements of a tile that is not aligned, for its first sweep begins before it; and
 * more where a tile is larger than the launcher was told. */
template <int inputs, enum tile_order order, typename Work>
static __device__ inline void tile_each(const struct kernel_tile &tile, uint64_t sweep,
                                        uint32_t sweeps, Work work)
{
    const bool fours = order == TILE_FOURS && tile_is_even<inputs>(tile);
    const unsigned skew = fours ? tile_skew(tile.out) : 0;
    const uint64_t mine = threadIdx.x * (fours ? TILE_EACH : 1), end = tile.count + skew;
    for (; sweep * TILE_SWEEP < end; sweep += sweeps) {
        const uint64_t place = sweep * TILE_SWEEP + mine;
        if (place < end)
            work(tile, tile_part{place - skew, tile.count,
                                 fours ? 1 : static_cast<unsigned>(KERNEL_THREADS)});
    }
}

/* Calls work(tile, part) for all elements of all tiles that are this thread's, in a grid of
 * blocks of KERNEL_THREADS threads. `work` loads what it needs of the part before it stores, so
 * that a tile's output may be its first input. */
template <int inputs, enum tile_order order, typename Work>
static __device__ inline void tiles_each(const struct tile_table &table, Work work)
{
    const unsigned tiles_on = gridDim.x / table.sweeps, sweeps_on = gridDim.x % table.sweeps;
    uint64_t tile = blockIdx.x / table.sweeps, sweep = blockIdx.x % table.sweeps;
    while (tile < table.count) {
        const struct kernel_tile here = table.tiles[tile];
        tile_each<inputs, order>(here, sweep, table.sweeps, work);
        tile += tiles_on;
        sweep += sweeps_on;
        if (sweep >= table.sweeps) {
            sweep -= table.sweeps;
            tile++;
        }
    }
}

/* Launches a kernel over tiles as kernel_launcher.launch_tiles has to. */
template <typename... Parameters, typename... Arguments>
int tiles_launch(void (*kernel)(struct tile_table, Parameters...),
                 const struct kernel_args *args, const struct kernel_tile *tiles,
                 uint32_t tile_count, void *stream, Arguments... arguments)
{
    const uint64_t whole = args->count / TILE_SWEEP + (args->count % TILE_SWEEP != 0);
    const uint64_t sweeps = whole > 0 ? whole : 1;
    const struct tile_table table = {
        tiles, tile_count, sweeps < UINT32_MAX ? static_cast<uint32_t>(sweeps) : UINT32_MAX};
    return kernel_launch(kernel, args, stream, table, arguments...);
}

#endif
