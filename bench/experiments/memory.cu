/* memory.cu - what the memory calls of the lectures cost: memory taken for each tile, blocks of
 * columns copied in rows, and managed memory that moves by faults or ahead of its use. Each
 * variant runs a small pipeline whose result is checked word by word. */
#include "bench/experiments/experiment.h"

enum { IN, OUT, STREAMS = 4, TILES = 32, FLIP = 0x5a5a5a5a };

static const size_t ALL = 256 << 20;

static struct {
    uint32_t *host[2]; /* page-locked, and the device's whole arrays */
    uint32_t *device[2];
    std::vector<cudaStream_t> streams;
    uint32_t salt;
} data;

static __global__ void flip(const uint32_t *in, uint32_t *out, size_t count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * (size_t)blockDim.x)
        out[i] = in[i] ^ FLIP;
}

static void launch(const uint32_t *in, uint32_t *out, size_t bytes, cudaStream_t stream)
{
    const size_t blocks = (bytes / 4 + 1023) / 1024;
    flip<<<(unsigned)std::min(blocks, (size_t)1056), 256, 0, stream>>>(in, out, bytes / 4);
    CHECK(cudaGetLastError());
}

/* Waits, awake, until the host has settled: right after all cores have worked, what is timed
 * takes longer. */
static void settle()
{
    CHECK(cudaDeviceSynchronize());
    const double begin = now_us();
    while (now_us() - begin < 20e3) {
    }
}

static void prepare_host(uint32_t *in, uint32_t *out, size_t bytes)
{
    fill_on_host(in, bytes, ++data.salt);
    poison_on_host(out, bytes);
    settle();
}

static void verify_flipped(const uint32_t *out, size_t bytes, const char *what)
{
    size_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
    for (size_t i = 0; i < bytes / 4; i++)
        wrong += out[i] != (word_at(i, data.salt) ^ FLIP);
    if (wrong != 0)
        fail("%s: %zu of %zu words are wrong", what, wrong, bytes / 4);
}

/* --- memory for each tile
 * --------------------------------------------------------------------- */
enum way { ONCE, LOOP, ASYNC, POOL, WAYS };
static const char *const way_names[WAYS] = {"once", "loop", "async", "pool"};

static void keep_freed(bool all)
{
    cudaMemPool_t pool;
    uint64_t threshold = all ? UINT64_MAX : 0;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    if (!all)
        CHECK(cudaMemPoolTrimTo(pool, 0));
}

struct call_times {
    std::vector<double> take, give;
};

static void *take(enum way way, size_t bytes, cudaStream_t stream, struct call_times &times)
{
    void *memory;
    const double begin = now_us();
    if (way == LOOP)
        CHECK(cudaMalloc(&memory, bytes));
    else
        CHECK(cudaMallocAsync(&memory, bytes, stream));
    times.take.push_back(now_us() - begin);
    return memory;
}

static void give(enum way way, void *memory, cudaStream_t stream, struct call_times &times)
{
    const double begin = now_us();
    if (way == LOOP)
        CHECK(cudaFree(memory));
    else
        CHECK(cudaFreeAsync(memory, stream));
    times.give.push_back(now_us() - begin);
}

static void run_tiles(enum way way, size_t bytes)
{
    struct call_times times;
    const size_t words = bytes / 4;
    prepare_host(data.host[IN], data.host[OUT], TILES * bytes);
    keep_freed(way == POOL);
    const double begin = now_us();
    for (size_t tile = 0; tile < TILES; tile++) {
        cudaStream_t stream = data.streams[tile % STREAMS];
        uint32_t *in = data.device[IN] + tile % STREAMS * words;
        uint32_t *out = data.device[OUT] + tile % STREAMS * words;
        if (way != ONCE) {
            in = (uint32_t *)take(way, bytes, stream, times);
            out = (uint32_t *)take(way, bytes, stream, times);
        }
        CHECK(cudaMemcpyAsync(in, data.host[IN] + tile * words, bytes, cudaMemcpyHostToDevice,
                              stream));
        launch(in, out, bytes, stream);
        CHECK(cudaMemcpyAsync(data.host[OUT] + tile * words, out, bytes, cudaMemcpyDeviceToHost,
                              stream));
        if (way != ONCE) {
            give(way, in, stream, times);
            give(way, out, stream, times);
        }
    }
    const double issued = now_us();
    CHECK(cudaDeviceSynchronize());
    const std::string name = way_names[way];
    note("run-" + name, (long)bytes, now_us() - begin);
    note("issue-" + name, (long)bytes, issued - begin);
    if (way != ONCE) {
        note("take-" + name, (long)bytes, median(times.take));
        note("take-first-" + name, (long)bytes, times.take[0]);
        note("give-" + name, (long)bytes, median(times.give));
    }
    verify_flipped(data.host[OUT], TILES * bytes, name.c_str());
}

/* Calls on an idle device, and beside a kernel of 300 us: do they wait for it? */
static void run_calls(enum way way, size_t bytes, bool beside)
{
    struct mark_list marks(1);
    struct call_times times;
    keep_freed(way == POOL);
    const double begin = now_us();
    if (beside)
        busy<<<1, 32, 0, data.streams[1]>>>(marks.device, busy_cycles(300));
    CHECK(cudaGetLastError());
    void *memory = take(way, bytes, data.streams[0], times);
    const double taken = now_us();
    give(way, memory, data.streams[0], times);
    const double given = now_us();
    CHECK(cudaDeviceSynchronize());
    const std::string name = std::string(beside ? "beside-" : "idle-") + way_names[way];
    note(name + "-take", (long)bytes, times.take[0]);
    note(name + "-give", (long)bytes, times.give[0]);
    note(name + "-all", (long)bytes, (beside ? given : taken) - begin);
}

/* What a pair of calls costs the stream that they are in: behind a gate. */
static void run_in_stream(struct gate &gate, size_t bytes)
{
    enum { PAIRS = 50 };
    keep_freed(true);
    for (int pairs : {0, (int)PAIRS}) {
        struct mark_list marks(PAIRS + 1);
        struct call_times times;
        gate.close(data.streams.data(), 1);
        for (int i = 0; i <= PAIRS; i++) {
            void *memory = pairs > 0 ? take(POOL, bytes, data.streams[0], times) : nullptr;
            stamp<<<1, 1, 0, data.streams[0]>>>(marks.device + i);
            CHECK(cudaGetLastError());
            if (memory != nullptr)
                give(POOL, memory, data.streams[0], times);
        }
        gate.open();
        gate.finish();
        marks.read(PAIRS + 1);
        note(pairs > 0 ? "kernel-with-pair" : "kernel-alone", (long)bytes,
             (marks.start_us(PAIRS) - marks.start_us(0)) / PAIRS);
    }
}

/* --- blocks of columns
 * ------------------------------------------------------------------------ */
enum form { WHOLE, ROWS_2D, ROWS, FORMS };
static const char *const form_names[FORMS] = {"whole", "2d", "rows"};

/* Copies a tile: `width` bytes of each row of the host's array, whose rows are all tiles wide.
 */
static void copy_tile(enum form form, int way, size_t tile, size_t tiles, size_t bytes,
                      size_t width, cudaStream_t stream)
{
    char *device = (char *)data.device[way] + tile * bytes, *host = (char *)data.host[way];
    const size_t rows = bytes / width, pitch = tiles * width;
    const enum cudaMemcpyKind kind =
        way == IN ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    if (form == WHOLE) {
        host += tile * bytes;
        CHECK(cudaMemcpyAsync(way == IN ? device : host, way == IN ? host : device, bytes, kind,
                              stream));
        return;
    }
    host += tile * width;
    if (form == ROWS_2D) {
        CHECK(cudaMemcpy2DAsync(way == IN ? device : host, way == IN ? width : pitch,
                                way == IN ? host : device, way == IN ? pitch : width, width,
                                rows, kind, stream));
        return;
    }
    for (size_t row = 0; row < rows; row++) {
        char *there = device + row * width, *here = host + row * pitch;
        CHECK(cudaMemcpyAsync(way == IN ? there : here, way == IN ? here : there, width, kind,
                              stream));
    }
}

/* All tiles in, and what was in goes out again; alone, or both ways at once. */
static void run_columns(enum form form, size_t tiles, size_t bytes, size_t width)
{
    const std::string name = form_names[form];
    prepare_host(data.host[IN], data.host[OUT], tiles * bytes);
    double begin = now_us(), issued = 0;
    for (size_t tile = 0; tile < tiles; tile++)
        copy_tile(form, IN, tile, tiles, bytes, width, data.streams[0]);
    issued = now_us();
    CHECK(cudaDeviceSynchronize());
    note("in-" + name + "-" + std::to_string(tiles) + "x" + std::to_string(bytes), (long)width,
         now_us() - begin);
    note("issue-in-" + name + "-" + std::to_string(tiles) + "x" + std::to_string(bytes),
         (long)width, issued - begin);
    CHECK(
        cudaMemcpy(data.device[OUT], data.device[IN], tiles * bytes, cudaMemcpyDeviceToDevice));
    CHECK(cudaDeviceSynchronize());
    begin = now_us();
    for (size_t tile = 0; tile < tiles; tile++)
        copy_tile(form, OUT, tile, tiles, bytes, width, data.streams[1]);
    CHECK(cudaDeviceSynchronize());
    note("out-" + name + "-" + std::to_string(tiles) + "x" + std::to_string(bytes), (long)width,
         now_us() - begin);
    verify_on_host(data.host[OUT], tiles * bytes, data.salt, name.c_str());
    CHECK(cudaMemset(data.device[IN], 0xa5, tiles * bytes));
    poison_on_host(data.host[OUT], tiles * bytes);
    settle();
    begin = now_us();
    for (size_t tile = 0; tile < tiles; tile++) {
        copy_tile(form, IN, tile, tiles, bytes, width, data.streams[0]);
        copy_tile(form, OUT, tile, tiles, bytes, width, data.streams[1]);
    }
    CHECK(cudaDeviceSynchronize());
    note("both-" + name + "-" + std::to_string(tiles) + "x" + std::to_string(bytes),
         (long)width, now_us() - begin);
    verify_on_host(data.host[OUT], tiles * bytes, data.salt, name.c_str());
    CHECK(cudaMemcpy(data.host[OUT], data.device[IN], tiles * bytes, cudaMemcpyDeviceToHost));
    if (form == WHOLE)
        verify_on_host(data.host[OUT], tiles * bytes, data.salt, "whole, both ways");
    else /* rows of all tiles are what lies in the host's array, tile by tile */
        for (size_t tile = 0; tile < tiles; tile++)
            for (size_t row = 0; row < bytes / width; row++)
                if (std::memcmp((char *)data.host[OUT] + tile * bytes + row * width,
                                (char *)data.host[IN] + (row * tiles + tile) * width, width))
                    fail("%s: row %zu of tile %zu is wrong on the device", name.c_str(), row,
                         tile);
}

/* --- managed memory
 * --------------------------------------------------------------------------- */
static uint32_t *managed[2];

static void prefetch(const void *memory, size_t bytes, bool device, cudaStream_t stream)
{
    const struct cudaMemLocation where = {
        device ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost, 0};
    CHECK(cudaMemPrefetchAsync(memory, bytes, where, 0, stream));
}

/* Brings both arrays home, and fills them there. */
static void prepare_managed(size_t bytes)
{
    for (int way : {IN, OUT})
        prefetch(managed[way], bytes, false, data.streams[0]);
    CHECK(cudaDeviceSynchronize());
    prepare_host(managed[IN], managed[OUT], bytes);
}

/* What moves ahead of the kernels: nothing, the inputs, the outputs too, and these back. */
enum ahead { FAULTS, AHEAD_IN, AHEAD_BOTH, AHEAD_AND_BACK, AHEADS };
static const char *const ahead_names[AHEADS] = {"faults", "ahead-in", "ahead-both",
                                                "ahead-and-back"};

static void run_managed(enum ahead ahead, size_t tiles, int streams)
{
    const size_t bytes = ALL / tiles, words = bytes / 4;
    const std::string name =
        std::string(ahead_names[ahead]) + "-" + std::to_string(streams) + "-streams";
    std::vector<double> calls, backs;
    prepare_managed(ALL);
    const double begin = now_us();
    for (size_t tile = 0; tile < tiles; tile++) {
        cudaStream_t stream = data.streams[tile % streams];
        uint32_t *in = managed[IN] + tile * words, *out = managed[OUT] + tile * words;
        double before = now_us();
        if (ahead >= AHEAD_IN)
            prefetch(in, bytes, true, stream);
        calls.push_back(now_us() - before);
        if (ahead >= AHEAD_BOTH)
            prefetch(out, bytes, true, stream);
        launch(in, out, bytes, stream);
        before = now_us();
        if (ahead >= AHEAD_AND_BACK)
            prefetch(out, bytes, false, stream);
        backs.push_back(now_us() - before);
    }
    const double issued = now_us();
    CHECK(cudaDeviceSynchronize());
    const double end = now_us();
    note("run-" + name, (long)tiles, end - begin);
    note("issue-" + name, (long)tiles, issued - begin);
    if (ahead >= AHEAD_IN)
        note("call-in-" + name, (long)tiles, median(calls));
    if (ahead >= AHEAD_AND_BACK)
        note("call-back-" + name, (long)tiles, median(backs));
    volatile uint32_t sum = 0; /* the host reads the first 16 MiB, by one thread */
    for (size_t i = 0; i < (16 << 20) / 4; i += 1024)
        sum = sum + managed[OUT][i];
    note("host-reads-16-mib-" + name, (long)tiles, now_us() - end);
    verify_flipped(managed[OUT], ALL, name.c_str());
}

/* Both ways alone, without kernels, and both at once. */
static void run_moves(size_t tiles)
{
    const size_t bytes = ALL / tiles, words = bytes / 4;
    prepare_managed(ALL);
    double begin = now_us();
    for (size_t tile = 0; tile < tiles; tile++)
        prefetch(managed[IN] + tile * words, bytes, true, data.streams[0]);
    double issued = now_us();
    CHECK(cudaDeviceSynchronize());
    note("moves-in", (long)tiles, now_us() - begin);
    note("moves-in-issue", (long)tiles, issued - begin);
    begin = now_us();
    for (size_t tile = 0; tile < tiles; tile++)
        prefetch(managed[IN] + tile * words, bytes, false, data.streams[0]);
    issued = now_us();
    CHECK(cudaDeviceSynchronize());
    note("moves-out", (long)tiles, now_us() - begin);
    note("moves-out-issue", (long)tiles, issued - begin);
    verify_on_host(managed[IN], ALL, data.salt, "moves home");
    fill_on_host(managed[OUT], ALL, data.salt + 1);
    for (int way : {IN, OUT})
        prefetch(managed[way], ALL, way == OUT, data.streams[0]);
    settle();
    begin = now_us();
    for (size_t tile = 0; tile < tiles; tile++) {
        prefetch(managed[IN] + tile * words, bytes, true, data.streams[0]);
        prefetch(managed[OUT] + tile * words, bytes, false, data.streams[1]);
    }
    CHECK(cudaDeviceSynchronize());
    note("moves-both", (long)tiles, now_us() - begin);
    verify_on_device(managed[IN], ALL, data.salt, "moves in, both ways");
    verify_on_host(managed[OUT], ALL, ++data.salt, "moves home, both ways");
}

/* A kernel that reads, or writes, pages that are elsewhere: how long for how many bytes. */
static void run_faults(size_t bytes)
{
    for (int way : {IN, OUT}) {
        prepare_managed(bytes);
        prefetch(managed[1 - way], bytes, true, data.streams[0]);
        CHECK(cudaDeviceSynchronize());
        const double begin = now_us();
        launch(managed[IN], managed[OUT], bytes, data.streams[0]);
        CHECK(cudaDeviceSynchronize());
        note(way == IN ? "faults-reading" : "faults-writing", (long)bytes, now_us() - begin);
        verify_flipped(managed[OUT], bytes, "faults");
    }
    prepare_managed(bytes);
    const double begin = now_us();
    launch(managed[IN], managed[OUT], bytes, data.streams[0]);
    CHECK(cudaDeviceSynchronize());
    note("faults-both", (long)bytes, now_us() - begin);
    verify_flipped(managed[OUT], bytes, "faults of both");
}

int main(int argc, char **argv)
{
    experiment_begin(
        argc, argv, "memory",
        "memory taken for each tile (parameter: bytes of a tile), blocks of "
        "columns (parameter: bytes of a row), and managed memory (parameter: tiles "
        "of 256 MiB, or bytes)",
        {"alloc", "columns", "managed"});
    data.streams = make_streams(STREAMS);
    for (int way : {IN, OUT}) {
        CHECK(cudaMallocHost(&data.host[way], 2 * ALL));
        CHECK(cudaMalloc(&data.device[way], 2 * ALL));
    }
    struct gate gate;
    if (part("alloc"))
        for (size_t bytes = 64 << 10; bytes <= 16 << 20; bytes *= 4)
            for (rounds r(7); r.next();) {
                for (int way = ONCE; way < WAYS; way++)
                    run_tiles((enum way)way, bytes);
                for (int way = LOOP; way < WAYS; way++)
                    for (bool beside : {false, true})
                        run_calls((enum way)way, bytes, beside);
                run_in_stream(gate, bytes);
            }
    if (part("columns"))
        for (size_t width : {64, 256, 1024, 2048, 4096, 8192, 16384, 65536, 262144})
            for (rounds r(5); r.next();)
                for (int form = WHOLE; form < FORMS; form++)
                    for (size_t bytes : {256 << 10, 1 << 20, 8 << 20}) {
                        const size_t tiles = bytes > 1 << 20 ? 16 : 32;
                        if (form == ROWS && tiles * bytes / width > 40000)
                            continue;
                        run_columns((enum form)form, tiles, bytes, width);
                    }
    if (part("managed")) {
        for (int way : {IN, OUT})
            CHECK(cudaMallocManaged(&managed[way], ALL));
        for (rounds r(4); r.next();) {
            for (int ahead = FAULTS; ahead < AHEADS; ahead++)
                for (int streams : {1, 4})
                    for (size_t tiles : {1, 8, 32, 128})
                        if (tiles > 1 || streams == 1)
                            run_managed((enum ahead)ahead, tiles, streams);
            for (size_t tiles : {1, 8, 32, 128, 512})
                run_moves(tiles);
            for (size_t bytes = 64 << 10; bytes <= 64 << 20; bytes *= 4)
                run_faults(bytes);
        }
    }
    return 0;
}
