/* small.cu - a gigabyte each way in small tiles, one behind another or scattered in host
 * memory: single copies, batches, kernels that read and write the host's memory, and tiles
 * packed by the CPU; all beside bare copies of the whole. */
#include "bench/experiments/host_tiles.h"

/* The sizes in the order of what matters most, should the time run out. */
static const size_t sizes[] = {64 << 10, 8 << 10,   1 << 20, 4 << 10,
                               16 << 10, 256 << 10, 4 << 20, 32 << 20};

static std::string megabytes(size_t bytes)
{
    return std::to_string(bytes >> 20) + "M";
}

/* Runs `measure` in rounds, for each size and both layouts, with the yardstick in each round.
 */
template <typename Measure> static void each_size(int repeats, Measure measure)
{
    for (size_t tile : sizes)
        for (int scattered = 0; scattered < 2 && 2 * tile <= tiles.bytes; scattered++) {
            tiles_cut(tile, scattered);
            for (rounds r(tile < 64 << 10 ? 1 : repeats, tile >= 64 << 10); r.next();) {
                note("bare-whole", long(tile), run_whole());
                measure(std::string(scattered ? "-scattered" : "-contiguous"));
            }
        }
}

/* Tile by tile in `streams` streams, a copy in, a kernel and a copy out each: as the program
 * does today. */
static double run_single(int streams)
{
    tiles_prepare();
    const double begin = now_us();
    for (size_t t = 0; t < tiles.count; t++) {
        const cudaStream_t stream = tiles.streams[t % streams];
        char *slot = tiles.device_in + t % streams * tiles.tile;
        CHECK(cudaMemcpyAsync(slot, tile_words(tiles.in, tiles.from, t), tiles.tile,
                              cudaMemcpyHostToDevice, stream));
        start_change(slot, tiles.tile, stream);
        CHECK(cudaMemcpyAsync(tile_words(tiles.out, tiles.to, t), slot, tiles.tile,
                              cudaMemcpyDeviceToHost, stream));
    }
    CHECK(cudaDeviceSynchronize());
    const double end = now_us();
    tiles_verify("single copies");
    return end - begin;
}

static void measure_single()
{
    each_size(3, [](const std::string &layout) {
        if (tiles.tile * 4 <= tiles.bytes)
            note("single-4-streams" + layout, long(tiles.tile), run_single(4));
    });
}

/* Waves: as many copies, or one batch each way. */
static void measure_batch()
{
    each_size(2, [](const std::string &layout) {
        for (size_t wave : {size_t(2) << 20, size_t(8) << 20, size_t(32) << 20}) {
            if (wave < tiles.tile || SLOTS * wave > tiles.bytes)
                continue;
            note("batch-wave-" + megabytes(wave) + layout, long(tiles.tile),
                 run_waves({BATCH, BATCH, wave, 1, false, 0, 0}, "batches"));
            if (wave == 8 << 20)
                note("single-wave-" + megabytes(wave) + layout, long(tiles.tile),
                     run_waves({SINGLE, SINGLE, wave, 1, false, 0, 0},
                               "waves of single copies"));
        }
    });
}

/* One kernel that reads and writes all of the host's tiles. */
static double run_mapped(int blocks, int threads)
{
    tiles_prepare();
    const double begin = now_us();
    move_tiles<<<blocks, threads, 0, tiles.streams[0]>>>(
        (const uint4 *)tiles.in, tiles.device_from, (uint4 *)tiles.out, tiles.device_to,
        tiles.bytes / 16, tile_shift(), true, tiles.salt);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    const double end = now_us();
    tiles_verify("a mapped kernel");
    return end - begin;
}

struct grid {
    int blocks, threads;
};

/* Tries grids on tiles of 64 KiB, and returns the best of them by its least time. */
static struct grid best_grid()
{
    struct grid best = {66, 512};
    double least = 1e18;
    for (int scattered = 0; scattered < 2; scattered++) {
        tiles_cut(64 << 10, scattered);
        for (rounds r(3); r.next();)
            for (int blocks : {33, 66, 99, 132, 198, 264})
                for (int threads : {256, 512, 1024}) {
                    const double us = run_mapped(blocks, threads);
                    note(std::string("mapped-grid-") +
                             (scattered ? "scattered-" : "contiguous-") +
                             std::to_string(threads) + "-threads",
                         blocks, us);
                    if (us < least && !experiment.warming && scattered) {
                        least = us;
                        best = {blocks, threads};
                    }
                }
    }
    std::printf("# the best grid on scattered tiles of 64 KiB: %d blocks of %d threads\n",
                best.blocks, best.threads);
    return best;
}

static void measure_mapped()
{
    const struct grid grid = best_grid();
    each_size(3, [&](const std::string &layout) {
        note("mapped" + layout, long(tiles.tile), run_mapped(grid.blocks, grid.threads));
    });
}

/* One way by a kernel, the other by copies; and a kernel for each way. */
static void measure_mixed()
{
    static const struct {
        const char *name;
        enum move in, out;
    } mixes[] = {
        {"mapped-in-batch-out", KERNEL, BATCH},
        {"batch-in-mapped-out", BATCH, KERNEL},
        {"mapped-in-mapped-out", KERNEL, KERNEL},
    };
    each_size(2, [](const std::string &layout) {
        for (const auto &mix : mixes)
            for (size_t wave : {size_t(8) << 20, size_t(32) << 20})
                if (wave >= tiles.tile && SLOTS * wave <= tiles.bytes)
                    note(std::string(mix.name) + "-wave-" + megabytes(wave) + layout,
                         long(tiles.tile),
                         run_waves({mix.in, mix.out, wave, 1, false, 66, 512}, mix.name));
    });
}

/* Tries threads, waves and stores on scattered tiles of 64 KiB, and returns what was fastest.
 */
static struct waves best_packing()
{
    struct waves best = {PACK, PACK, 4 << 20, 1, false, 0, 0};
    double least = 1e18;
    tiles_cut(64 << 10, true);
    for (rounds r(2); r.next();)
        for (size_t wave : {size_t(1) << 20, size_t(4) << 20, size_t(16) << 20})
            for (int threads : {1, 4, 8, 16})
                for (int around = 0; around < 2; around++) {
                    if ((threads > 1 && threads > omp_get_max_threads()) ||
                        SLOTS * wave > tiles.bytes / 4)
                        continue;
                    const struct waves plan = {PACK, PACK, wave, threads, around != 0, 0, 0};
                    const double us = run_waves(plan, "packed waves");
                    note("pack-search-wave-" + megabytes(wave) +
                             (around ? "-around-caches" : ""),
                         threads, us);
                    if (us < least && !experiment.warming) {
                        least = us;
                        best = plan;
                    }
                }
    std::printf(
        "# the best packing of scattered tiles of 64 KiB: %d threads, waves of %zu bytes%s\n",
        best.threads, best.wave_bytes, best.around ? ", around the caches" : "");
    return best;
}

static void measure_pack()
{
    const struct waves best = best_packing();
    each_size(2, [&](const std::string &layout) {
        struct waves plan = best;
        plan.wave_bytes = std::max(plan.wave_bytes, tiles.tile);
        if (SLOTS * plan.wave_bytes > tiles.bytes / 4)
            return;
        note("pack" + layout, long(tiles.tile), run_waves(plan, "packed waves"));
        plan.out = BATCH;
        note("pack-in-batch-out" + layout, long(tiles.tile),
             run_waves(plan, "waves packed in, batched out"));
        plan.out = KERNEL;
        plan.blocks = 66;
        plan.size = 512;
        note("pack-in-mapped-out" + layout, long(tiles.tile),
             run_waves(plan, "waves packed in, mapped out"));
    });
}

int main(int argc, char **argv)
{
    experiment_begin(
        argc, argv, "small",
        "a gigabyte each way in tiles, copied in, worked on and copied out, by method "
        "(parameter: bytes of a tile; of "
        "mapped-grid: blocks; of pack-search: threads); bare-whole: one copy each way of all",
        {"single", "batch", "mapped", "mixed", "pack"});
    tiles_open();
    if (part("mapped"))
        measure_mapped();
    if (part("batch"))
        measure_batch();
    if (part("pack"))
        measure_pack();
    if (part("mixed"))
        measure_mixed();
    if (part("single"))
        measure_single();
    return 0;
}
