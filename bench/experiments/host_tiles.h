/* host_tiles.h - two arrays in pinned memory that are cut into tiles, one behind another or
 * apart and shuffled; the work on them, which is verified word by word; and ways to bring waves
 * of tiles in and out. */
#ifndef BENCH_EXPERIMENTS_HOST_TILES_H
#define BENCH_EXPERIMENTS_HOST_TILES_H

#include "bench/experiments/experiment.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <omp.h>

enum { SLOTS = 3 };

static struct host_tiles {
    size_t bytes, tile, count; /* each way; of a tile; tiles */
    bool scattered;
    uint32_t salt; /* of this run */
    char *in, *out;
    std::vector<uint32_t> from,
        to; /* the place of each tile in `in` and `out`, counted in tiles */
    uint32_t *device_from, *device_to;
    char *device_in,
        *device_out; /* the whole array each; waves use their beginnings as slots */
    char *staged_in, *staged_out; /* SLOTS waves each */
    char *whole_in, *whole_out;   /* what bare copies move */
    cudaStream_t streams[32];
    cudaEvent_t arrived[64], worked[64], left[64];
} tiles;

static inline void tiles_open()
{
    tiles.bytes = experiment.quick ? size_t(64) << 20 : size_t(1) << 30;
    CHECK(cudaHostAlloc(&tiles.in, 2 * tiles.bytes, cudaHostAllocMapped));
    CHECK(cudaHostAlloc(&tiles.out, 2 * tiles.bytes, cudaHostAllocMapped));
    CHECK(cudaMallocHost(&tiles.staged_in, tiles.bytes / 4));
    CHECK(cudaMallocHost(&tiles.staged_out, tiles.bytes / 4));
    CHECK(cudaMallocHost(&tiles.whole_in, tiles.bytes));
    CHECK(cudaMallocHost(&tiles.whole_out, tiles.bytes));
    fill_on_host(tiles.whole_in, tiles.bytes, 7);
    CHECK(cudaMalloc(&tiles.device_in, tiles.bytes));
    CHECK(cudaMalloc(&tiles.device_out, tiles.bytes));
    CHECK(cudaMalloc(&tiles.device_from, tiles.bytes / 4096 * sizeof(uint32_t)));
    CHECK(cudaMalloc(&tiles.device_to, tiles.bytes / 4096 * sizeof(uint32_t)));
    for (cudaStream_t &stream : tiles.streams)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 64; i++)
        for (cudaEvent_t *event : {&tiles.arrived[i], &tiles.worked[i], &tiles.left[i]})
            CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
}

static inline void shuffle(std::vector<uint32_t> &places, uint64_t seed)
{
    for (size_t i = places.size() - 1; i > 0; i--) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        std::swap(places[i], places[(seed >> 33) % (i + 1)]);
    }
}

static inline uint32_t *tile_words(char *array, const std::vector<uint32_t> &places, size_t t)
{
    return (uint32_t *)(array + places[t] * tiles.tile);
}

/* Cuts the arrays anew, and fills the input. Scattered tiles have a gap of their own size
 * behind them. */
static inline void tiles_cut(size_t tile, bool scattered)
{
    tiles.tile = tile;
    tiles.count = tiles.bytes / tile;
    tiles.scattered = scattered;
    for (std::vector<uint32_t> *places : {&tiles.from, &tiles.to}) {
        places->resize(tiles.count);
        for (size_t t = 0; t < tiles.count; t++)
            (*places)[t] = uint32_t(scattered ? 2 * t : t);
        if (scattered)
            shuffle(*places, places == &tiles.from ? 1 : 2);
    }
    const size_t bytes = tiles.count * sizeof(uint32_t), words = tile / 4;
    CHECK(cudaMemcpy(tiles.device_from, tiles.from.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(tiles.device_to, tiles.to.data(), bytes, cudaMemcpyHostToDevice));
#pragma omp parallel for
    for (size_t t = 0; t < tiles.count; t++) {
        uint32_t *in = tile_words(tiles.in, tiles.from, t);
        for (size_t i = 0; i < words; i++)
            in[i] = word_at(t * words + i, 0);
    }
}

/* Right after all processors have filled or checked arrays, what is timed takes longer. */
static inline void rest()
{
    const struct timespec time = {0, 10000000};
    nanosleep(&time, nullptr);
}

/* A new salt for this run, so that no result of an earlier one can pass; and poison in the
 * output. */
static inline void tiles_prepare()
{
    tiles.salt++;
#pragma omp parallel for
    for (size_t t = 0; t < tiles.count; t++)
        std::memset(tile_words(tiles.out, tiles.to, t), 0xa5, tiles.tile);
    rest();
}

__host__ __device__ static inline uint32_t changed(uint32_t word, uint32_t salt)
{
    return word * 3 + salt;
}

/* The output must be `changed` of the input, or with `same` the input itself. */
static inline void tiles_verify(const char *what, bool same = false)
{
    const size_t words = tiles.tile / 4;
    const uint32_t salt = tiles.salt;
    size_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
    for (size_t t = 0; t < tiles.count; t++) {
        const uint32_t *out = tile_words(tiles.out, tiles.to, t);
        for (size_t i = 0; i < words; i++) {
            const uint32_t in = word_at(t * words + i, 0);
            wrong += out[i] != (same ? in : changed(in, salt));
        }
    }
    if (wrong != 0)
        fail("%s, tiles of %zu bytes%s: %zu words are wrong", what, tiles.tile,
             tiles.scattered ? ", scattered" : "", wrong);
}

__device__ static inline uint4 changed_vector(uint4 w, uint32_t salt)
{
    return make_uint4(changed(w.x, salt), changed(w.y, salt), changed(w.z, salt),
                      changed(w.w, salt));
}

static __global__ void change_slot(uint4 *slot, size_t count, uint32_t salt)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * (size_t)blockDim.x)
        slot[i] = changed_vector(slot[i], salt);
}

static inline void start_change(char *slot, size_t bytes, cudaStream_t stream)
{
    const size_t blocks = std::min((bytes / 16 + 255) / 256, (size_t)experiment.sms * 8);
    change_slot<<<(unsigned)blocks, 256, 0, stream>>>((uint4 *)slot, bytes / 16, tiles.salt);
    CHECK(cudaGetLastError());
}

/* From and to tiles at their places (NULL: one behind another), with work on them or none: four
 * independent accesses of 16 bytes in each turn of the loop. `shift` is the binary logarithm of
 * a tile's uint4s. */
static __global__ void move_tiles(const uint4 *from, const uint32_t *from_places, uint4 *to,
                                  const uint32_t *to_places, size_t count, int shift, bool work,
                                  uint32_t salt)
{
    const size_t stride = gridDim.x * (size_t)blockDim.x, inside = ((size_t)1 << shift) - 1;
    for (size_t first = blockIdx.x * (size_t)blockDim.x + threadIdx.x; first < count;
         first += 4 * stride) {
        uint4 w[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const size_t i = first + k * stride;
            if (i < count)
                w[k] = from[from_places == nullptr
                                ? i
                                : (size_t)from_places[i >> shift] << shift | (i & inside)];
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const size_t i = first + k * stride;
            if (i < count)
                to[to_places == nullptr
                       ? i
                       : (size_t)to_places[i >> shift] << shift | (i & inside)] =
                    work ? changed_vector(w[k], salt) : w[k];
        }
    }
}

static inline int tile_shift()
{
    int shift = 0;
    while (((size_t)16 << shift) < tiles.tile)
        shift++;
    return shift;
}

/* --- waves
 * ---------------------------------------------------------------------------------------- */
/* How a wave's tiles come in, or go out. */
enum move { SINGLE, BATCH, KERNEL, PACK };

struct waves {
    enum move in, out;
    size_t wave_bytes;
    int threads;      /* that pack and unpack */
    bool around;      /* whether they write past the caches */
    int blocks, size; /* of the kernels that move tiles */
};

/* Copies a tile on the CPU. */
static inline void copy_tile(void *to, const void *from, size_t bytes, bool around)
{
#ifdef __SSE2__
    if (around) {
        const __m128i *source = (const __m128i *)from;
        __m128i *target = (__m128i *)to;
        for (size_t i = 0; i < bytes / 16; i += 4) {
            const __m128i a = source[i], b = source[i + 1], c = source[i + 2],
                          d = source[i + 3];
            _mm_stream_si128(target + i, a);
            _mm_stream_si128(target + i + 1, b);
            _mm_stream_si128(target + i + 2, c);
            _mm_stream_si128(target + i + 3, d);
        }
        _mm_sfence();
        return;
    }
#endif
    (void)around;
    std::memcpy(to, from, bytes);
}

static inline void batch_copy(const std::vector<void *> &to,
                              const std::vector<const void *> &from, cudaStream_t stream)
{
    static std::vector<size_t> sizes;
    sizes.assign(to.size(), tiles.tile);
    struct cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    size_t first = 0;
    CHECK(cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), to.size(), &attributes,
                               &first, 1, stream));
}

/* Moves the tiles [first, first + count) between the host and a slot of the device. */
static inline void move_wave(const struct waves &plan, bool in, size_t first, size_t count,
                             char *slot, char *staged, cudaStream_t stream)
{
    const enum move move = in ? plan.in : plan.out;
    const enum cudaMemcpyKind kind = in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    const size_t bytes = count * tiles.tile;
    if (move == PACK) {
        CHECK(cudaMemcpyAsync(in ? slot : staged, in ? staged : slot, bytes, kind, stream));
    } else if (move == KERNEL) {
        const bool work = in || plan.in != KERNEL; /* The work is done once. */
        move_tiles<<<plan.blocks, plan.size, 0, stream>>>(
            (const uint4 *)(in ? tiles.in : slot), in ? tiles.device_from + first : nullptr,
            (uint4 *)(in ? slot : tiles.out), in ? nullptr : tiles.device_to + first,
            bytes / 16, tile_shift(), work, tiles.salt);
        CHECK(cudaGetLastError());
    } else {
        static std::vector<void *> to;
        static std::vector<const void *> from;
        to.resize(count);
        from.resize(count);
        for (size_t i = 0; i < count; i++) {
            char *host = (char *)(in ? tile_words(tiles.in, tiles.from, first + i)
                                     : tile_words(tiles.out, tiles.to, first + i));
            to[i] = in ? slot + i * tiles.tile : host;
            from[i] = in ? host : slot + i * tiles.tile;
        }
        if (move == BATCH)
            batch_copy(to, from, stream);
        for (size_t i = 0; i < count && move == SINGLE; i++)
            CHECK(cudaMemcpyAsync(to[i], from[i], tiles.tile, kind, stream));
    }
}

static inline void cpu_move(const struct waves &plan, bool in, size_t first, size_t count,
                            char *staged)
{
#pragma omp parallel for num_threads(plan.threads) schedule(static)
    for (size_t i = 0; i < count; i++)
        if (in)
            copy_tile(staged + i * tiles.tile, tile_words(tiles.in, tiles.from, first + i),
                      tiles.tile, plan.around);
        else
            copy_tile(tile_words(tiles.out, tiles.to, first + i), staged + i * tiles.tile,
                      tiles.tile, plan.around);
}

static inline void start_wave(const struct waves &plan, size_t wave, size_t per, size_t count)
{
    const size_t s = wave % SLOTS, at = s * per * tiles.tile;
    const cudaStream_t in = tiles.streams[0], work = tiles.streams[1], out = tiles.streams[2];
    char *slot = tiles.device_in + at;
    if (wave >= SLOTS)
        CHECK(cudaStreamWaitEvent(in, tiles.left[s], 0));
    move_wave(plan, true, wave * per, count, slot, tiles.staged_in + at, in);
    CHECK(cudaEventRecord(tiles.arrived[s], in));
    if (plan.in != KERNEL && plan.out != KERNEL) {
        CHECK(cudaStreamWaitEvent(work, tiles.arrived[s], 0));
        start_change(slot, count * tiles.tile, work);
        CHECK(cudaEventRecord(tiles.worked[s], work));
        CHECK(cudaStreamWaitEvent(out, tiles.worked[s], 0));
    } else {
        CHECK(cudaStreamWaitEvent(out, tiles.arrived[s], 0));
    }
    move_wave(plan, false, wave * per, count, slot, tiles.staged_out + at, out);
    CHECK(cudaEventRecord(tiles.left[s], out));
}

/* All tiles in waves through three slots: a stream brings waves in, one works on them, one
 * brings them out. Returns the time from the first call until all is in its place. */
static inline double run_waves(const struct waves &plan, const char *name)
{
    const size_t per = std::min(std::max<size_t>(plan.wave_bytes / tiles.tile, 1), tiles.count);
    const size_t waves = (tiles.count + per - 1) / per;
    if (SLOTS * per * tiles.tile > tiles.bytes ||
        ((plan.in == PACK || plan.out == PACK) && SLOTS * per * tiles.tile > tiles.bytes / 4))
        fail("%s: waves of %zu bytes do not fit into %zu", name, per * tiles.tile, tiles.bytes);
    tiles_prepare();
    const double begin = now_us();
    for (size_t wave = 0; wave < waves + SLOTS; wave++) {
        const size_t slot_at = wave % SLOTS * per * tiles.tile;
        if (plan.out == PACK && wave >= SLOTS) {
            const size_t old = wave - SLOTS;
            CHECK(cudaEventSynchronize(tiles.left[old % SLOTS]));
            cpu_move(plan, false, old * per, std::min(per, tiles.count - old * per),
                     tiles.staged_out + slot_at);
        }
        if (wave >= waves)
            continue;
        const size_t count = std::min(per, tiles.count - wave * per);
        if (plan.in == PACK) {
            if (plan.out != PACK && wave >= SLOTS)
                CHECK(cudaEventSynchronize(tiles.arrived[wave % SLOTS]));
            cpu_move(plan, true, wave * per, count, tiles.staged_in + slot_at);
        }
        start_wave(plan, wave, per, count);
    }
    CHECK(cudaDeviceSynchronize());
    const double end = now_us();
    tiles_verify(name);
    return end - begin;
}

/* The yardstick: one copy each way of all bytes at once, without work between them. */
static inline double run_whole()
{
    tiles.salt++;
    fill_on_device(tiles.device_out, tiles.bytes, tiles.salt);
    CHECK(cudaMemset(tiles.device_in, 0xa5, tiles.bytes));
    poison_on_host(tiles.whole_out, tiles.bytes);
    CHECK(cudaDeviceSynchronize());
    rest();
    const double begin = now_us();
    CHECK(cudaMemcpyAsync(tiles.device_in, tiles.whole_in, tiles.bytes, cudaMemcpyHostToDevice,
                          tiles.streams[0]));
    CHECK(cudaMemcpyAsync(tiles.whole_out, tiles.device_out, tiles.bytes,
                          cudaMemcpyDeviceToHost, tiles.streams[2]));
    CHECK(cudaDeviceSynchronize());
    const double end = now_us();
    verify_on_device(tiles.device_in, tiles.bytes, 7, "the bare copy in");
    verify_on_host(tiles.whole_out, tiles.bytes, tiles.salt, "the bare copy out");
    return end - begin;
}
#endif
