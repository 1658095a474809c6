/* tiles.cu - where the time goes of a gigabyte each way in tiles of about a megabyte: from bare
 * copies of the whole one thing is added at a time: tiles, streams, what a copy out waits for,
 * a kernel, slots, a graph, batches. */
#include "bench/experiments/host_tiles.h"

/* The arrays are verified in host_tiles.h. `stream` layout: a tile's ops in one stream, tiles
 * dealt in turn. `stage` layout: a stream for copies in, one for kernels, one for copies out,
 * joined by events. */
enum layout { STREAM, STAGE };

struct plan {
    enum layout layout;
    int streams, slots; /* of STREAM, slots are the streams' number times `slots` */
    bool kernel, graph;
    int ahead; /* of STAGE: copies in are issued so many tiles before the rest of their tile */
};

static void copy_in(size_t t, char *slot, cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(slot, tile_words(tiles.in, tiles.from, t), tiles.tile,
                          cudaMemcpyHostToDevice, stream));
}

static void copy_out(size_t t, const char *slot, cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(tile_words(tiles.out, tiles.to, t), slot, tiles.tile,
                          cudaMemcpyDeviceToHost, stream));
}

static void issue_stream_layout(const struct plan &plan)
{
    for (size_t t = 0; t < tiles.count; t++) {
        const cudaStream_t stream = tiles.streams[t % plan.streams];
        char *slot = tiles.device_in + t % ((size_t)plan.streams * plan.slots) * tiles.tile;
        copy_in(t, slot, stream);
        if (plan.kernel)
            start_change(slot, tiles.tile, stream);
        copy_out(t, slot, stream);
    }
}

static void issue_in(const struct plan &plan, size_t t)
{
    const size_t s = t % plan.slots;
    if (t >= (size_t)plan.slots)
        CHECK(cudaStreamWaitEvent(tiles.streams[0], tiles.left[s], 0));
    copy_in(t, tiles.device_in + s * tiles.tile, tiles.streams[0]);
    CHECK(cudaEventRecord(tiles.arrived[s], tiles.streams[0]));
}

static void issue_rest(const struct plan &plan, size_t t)
{
    const size_t s = t % plan.slots;
    char *slot = tiles.device_in + s * tiles.tile;
    if (plan.kernel) {
        CHECK(cudaStreamWaitEvent(tiles.streams[1], tiles.arrived[s], 0));
        start_change(slot, tiles.tile, tiles.streams[1]);
        CHECK(cudaEventRecord(tiles.worked[s], tiles.streams[1]));
    }
    CHECK(cudaStreamWaitEvent(tiles.streams[2],
                              plan.kernel ? tiles.worked[s] : tiles.arrived[s], 0));
    copy_out(t, slot, tiles.streams[2]);
    CHECK(cudaEventRecord(tiles.left[s], tiles.streams[2]));
}

/* A copy in that waits for its slot is issued behind the copy out that frees it: `ahead` is
 * below `slots`. */
static void issue_stage_layout(const struct plan &plan)
{
    const size_t ahead = plan.ahead;
    for (size_t t = 0; t < tiles.count + ahead; t++) {
        if (t < tiles.count)
            issue_in(plan, t);
        if (t >= ahead)
            issue_rest(plan, t - ahead);
    }
}

static void issue(const struct plan &plan)
{
    if (plan.layout == STREAM)
        issue_stream_layout(plan);
    else
        issue_stage_layout(plan);
}

/* Captures the plan: the other streams leave the first one at the beginning and come back at
 * the end. */
static cudaGraphExec_t capture(const struct plan &plan)
{
    const int streams = plan.layout == STAGE ? 3 : plan.streams;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(tiles.streams[0], cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(tiles.arrived[63], tiles.streams[0]));
    for (int s = 1; s < streams; s++)
        CHECK(cudaStreamWaitEvent(tiles.streams[s], tiles.arrived[63], 0));
    issue(plan);
    for (int s = 1; s < streams; s++) {
        CHECK(cudaEventRecord(tiles.left[63], tiles.streams[s]));
        CHECK(cudaStreamWaitEvent(tiles.streams[0], tiles.left[63], 0));
    }
    CHECK(cudaStreamEndCapture(tiles.streams[0], &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphUpload(exec, tiles.streams[0]));
    return exec;
}

static double run_plan(const struct plan &plan, const std::string &name)
{
    cudaGraphExec_t exec = nullptr;
    tiles_prepare();
    if (plan.graph) /* A kernel's salt is an argument that is captured, so each run has a graph
                       of its own. */
        exec = capture(plan);
    CHECK(cudaDeviceSynchronize());
    const double begin = now_us();
    if (plan.graph)
        CHECK(cudaGraphLaunch(exec, tiles.streams[0]));
    else
        issue(plan);
    const double issued = now_us();
    CHECK(cudaDeviceSynchronize());
    const double end = now_us();
    tiles_verify(name.c_str(), !plan.kernel);
    if (exec != nullptr)
        CHECK(cudaGraphExecDestroy(exec));
    note(name + "-calls", long(tiles.tile), issued - begin);
    return end - begin;
}

/* Tiles both ways that depend on nothing: the same copies as a pipeline's, dealt to streams of
 * their own for each way, or the two ways of a tile in the same stream. */
static double run_bare(int streams, bool shared, int ways)
{
    tiles_prepare();
    fill_on_device(tiles.device_out, tiles.bytes, tiles.salt);
    CHECK(cudaMemset(tiles.device_in, 0xa5, tiles.bytes));
    poison_on_host(tiles.whole_out, tiles.bytes);
    CHECK(cudaDeviceSynchronize());
    rest();
    const double begin = now_us();
    for (size_t t = 0; t < tiles.count; t++) {
        const size_t at = t * tiles.tile;
        const cudaStream_t in = tiles.streams[t % streams];
        const cudaStream_t out = shared ? in : tiles.streams[16 + t % streams];
        if (ways & 1)
            CHECK(cudaMemcpyAsync(tiles.device_in + at, tiles.whole_in + at, tiles.tile,
                                  cudaMemcpyHostToDevice, in));
        if (ways & 2)
            CHECK(cudaMemcpyAsync(tiles.whole_out + at, tiles.device_out + at, tiles.tile,
                                  cudaMemcpyDeviceToHost, out));
    }
    CHECK(cudaDeviceSynchronize());
    const double end = now_us();
    if (ways & 1)
        verify_on_device(tiles.device_in, tiles.bytes, 7, "bare tiles in");
    if (ways & 2)
        verify_on_host(tiles.whole_out, tiles.bytes, tiles.salt, "bare tiles out");
    return end - begin;
}

static void measure_bare()
{
    for (int streams : {1, 2, 4, 8})
        for (int ways = 1; ways <= 3; ways++) {
            static const char *const names[] = {"", "in", "out", "both"};
            const std::string name = std::string("bare-tiles-") + names[ways] + "-" +
                                     std::to_string(streams) + "-streams";
            note(name, long(tiles.tile), run_bare(streams, false, ways));
            if (ways == 3)
                note(name + "-shared", long(tiles.tile), run_bare(streams, true, ways));
        }
}

static void measure_streams()
{
    for (int streams : {1, 2, 3, 4, 8, 16})
        for (int variant = 0; variant < 4; variant++) {
            const struct plan plan = {
                STREAM, streams, 1, (variant & 1) != 0, (variant & 2) != 0, 0};
            const std::string name = std::string(plan.graph ? "graph" : "calls") +
                                     "-stream-layout-" + std::to_string(streams) +
                                     (plan.kernel ? "-with-kernel" : "-without-kernel");
            note(name, long(tiles.tile), run_plan(plan, name));
        }
}

static void measure_stages()
{
    for (int slots : {2, 3, 4, 8, 16, 32})
        for (int variant = 0; variant < 4; variant++)
            for (int ahead : {0, slots - 1}) {
                const struct plan plan = {
                    STAGE, 3, slots, (variant & 1) != 0, (variant & 2) != 0, ahead};
                const std::string name = std::string(plan.graph ? "graph" : "calls") +
                                         "-stage-layout-" + std::to_string(slots) + "-slots" +
                                         (ahead > 0 ? "-ahead" : "") +
                                         (plan.kernel ? "-with-kernel" : "-without-kernel");
                if (slots > 4 && ahead == 0 && !plan.kernel)
                    continue;
                note(name, long(tiles.tile), run_plan(plan, name));
            }
}

static void measure_batches()
{
    for (int wave : {4, 16, 64}) {
        const size_t bytes = wave * tiles.tile;
        if (SLOTS * bytes > tiles.bytes)
            continue;
        for (enum move move : {SINGLE, BATCH}) {
            const std::string name = std::string(move == BATCH ? "batch" : "single") +
                                     "-waves-of-" + std::to_string(wave);
            note(name, long(tiles.tile),
                 run_waves({move, move, bytes, 1, false, 0, 0}, name.c_str()));
        }
    }
}

int main(int argc, char **argv)
{
    experiment_begin(argc, argv, "tiles",
                     "a gigabyte each way in tiles, from bare copies to the whole pipeline, "
                     "one thing more at a time (parameter: "
                     "bytes of a tile); -calls: until the last call returned",
                     {"bare", "streams", "stages", "batches"});
    tiles_open();
    for (size_t tile : {size_t(1) << 20, size_t(256) << 10, size_t(4) << 20}) {
        tiles_cut(tile, false);
        for (rounds r(tile == 1 << 20 ? part("stages") ? 2 : 3 : 1, tile == 1 << 20);
             r.next();) {
            note("bare-whole", long(tile), run_whole());
            if (part("bare"))
                measure_bare();
            if (part("batches"))
                measure_batches();
            if (part("streams"))
                measure_streams();
            if (part("stages"))
                measure_stages();
        }
    }
    return 0;
}
