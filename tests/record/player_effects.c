/* player_effects.c - scripts of what calls do: each is one thread's. */
#include "play.h"
#include "player.h"

#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct fake_stream streams[] = {
    {.number = 13, .flags = CU_STREAM_NON_BLOCKING, .priority = -3},
    {.number = 14},
};

#define CALL(api, text, ...) play_call(&(struct played){api, .name = text, __VA_ARGS__})

static void legacy_line(void)
{
    expect("[\"stream\",1,7,1,\"legacy\",0]");
}

/* --- copies, memory that is set, events, synchronisation --- */

static void rows(CUstream stream)
{
    cudaMemcpy2DAsync_v3020_params params = {.dst = (void *)4096,
                                             .dpitch = 256,
                                             .src = (const void *)65536,
                                             .spitch = 128,
                                             .width = 100,
                                             .height = 3,
                                             .stream = stream};
    uint32_t id =
        CALL(PLAY_RUNTIME(cudaMemcpy2DAsync_v3020), "cudaMemcpy2DAsync", .params = &params);
    expect("[\"copy2d\",%u,1,13,4096,256,65536,128,100,3]", id);
}

static void memory_set(CUstream stream)
{
    cuMemsetD32Async_params params = {.dstDevice = 4096, .ui = 1, .N = 10, .hStream = stream};
    uint32_t id = CALL(PLAY_DRIVER(cuMemsetD32Async), "cuMemsetD32Async", .params = &params);
    const CUpti_ActivityMemset4 record = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                          .bytes = 40,
                                          .start = 5,
                                          .end = 6,
                                          .contextId = 1,
                                          .streamId = 13,
                                          .correlationId = id,
                                          .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE};
    play_activity(&record, sizeof record);
    expect("[\"set\",%u,1,13,4096,40]", id);
    expect("[\"op\",%u,\"memset\",1,13,\"*\",\"*\",40,\"unknown\",\"device\",0]", id);
}

static void peer(CUstream stream)
{
    cuMemcpyPeerAsync_params params = {
        .dstDevice = 4096, .srcDevice = 8192, .ByteCount = 64, .hStream = stream};
    uint32_t id = CALL(PLAY_DRIVER(cuMemcpyPeerAsync), "cuMemcpyPeerAsync", .params = &params);
    const CUpti_ActivityMemcpyPtoP4 record = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                              .bytes = 64,
                                              .start = 7,
                                              .end = 9,
                                              .contextId = 1,
                                              .streamId = 13,
                                              .correlationId = id};
    play_activity(&record, sizeof record);
    expect("[\"copy\",%u,1,13,4096,8192,64]", id);
    expect("[\"op\",%u,\"peer\",1,13,\"*\",\"*\",64,\"device\",\"device\",0]", id);
}

static void events(CUstream one, CUstream other)
{
    cudaEventRecord_v3020_params record = {.event = (cudaEvent_t)(uintptr_t)777, .stream = one};
    cudaStreamWaitEvent_v3020_params wait = {.stream = other, .event = record.event};
    cudaEventSynchronize_v3020_params sync = {.event = record.event};
    cudaStreamSynchronize_v3020_params stream = {.stream = one};
    uint32_t id =
        CALL(PLAY_RUNTIME(cudaEventRecord_v3020), "cudaEventRecord", .params = &record);
    expect("[\"record\",%u,1,13,777]", id);
    id = CALL(PLAY_RUNTIME(cudaStreamWaitEvent_v3020), "cudaStreamWaitEvent", .params = &wait);
    expect("[\"wait\",%u,1,14,777]", id);
    id =
        CALL(PLAY_RUNTIME(cudaEventSynchronize_v3020), "cudaEventSynchronize", .params = &sync);
    expect("[\"sync\",%u,\"event\",1,777]", id);
    id = CALL(PLAY_RUNTIME(cudaStreamSynchronize_v3020), "cudaStreamSynchronize",
              .params = &stream);
    expect("[\"sync\",%u,\"stream\",1,13]", id);
}

/* A call that fails does nothing: its line alone says that it was made. */
static void failures(CUstream stream)
{
    cudaMemcpyAsync_v3020_params copy = {.dst = (void *)1, .stream = stream};
    cudaMalloc_v3020_params take = {.size = 1};
    cudaLaunchKernel_v7000_params launch = {.func = "no kernel", .stream = stream};
    cudaEventRecord_v3020_params record = {.event = (cudaEvent_t)(uintptr_t)778};
    CALL(PLAY_RUNTIME(cudaMemcpyAsync_v3020), "cudaMemcpyAsync", .params = &copy, .result = 1);
    CALL(PLAY_RUNTIME(cudaMalloc_v3020), "cudaMalloc", .params = &take, .result = 2);
    CALL(PLAY_RUNTIME(cudaEventRecord_v3020), "cudaEventRecord", .params = &record,
         .result = 400);
    CALL(PLAY_RUNTIME(cudaLaunchKernel_v7000), "cudaLaunchKernel", .params = &launch,
         .result = 98, .symbol = "none");
    /* Pointers that CUDA refuses are not read through, either. */
    cudaMallocPitch_v3020_params pitch = {.width = 1, .height = 2};
    cuMemAllocPitch_v2_params driver_pitch = {.WidthInBytes = 1, .Height = 2};
    cudaLaunchKernelExC_v11060_params launch_ex = {.func = "no kernel"};
    cuLaunchKernelEx_params driver_ex = {.config = NULL};
    CALL(PLAY_RUNTIME(cudaMallocPitch_v3020), "cudaMallocPitch", .params = &pitch, .result = 1);
    CALL(PLAY_DRIVER(cuMemAllocPitch_v2), "cuMemAllocPitch", .params = &driver_pitch,
         .result = 1);
    CALL(PLAY_RUNTIME(cudaLaunchKernelExC_v11060), "cudaLaunchKernelExC", .params = &launch_ex,
         .result = 1);
    CALL(PLAY_RUNTIME(cudaLaunchKernelExC_ptsz_v11060), "cudaLaunchKernelExC",
         .params = &launch_ex, .result = 1);
    CALL(PLAY_DRIVER(cuLaunchKernelEx), "cuLaunchKernelEx", .params = &driver_ex, .result = 1);
}

/* CUPTI does not tell the number of a stream: nothing is said of what calls do in it. */
static void nameless(void)
{
    static struct fake_stream stream = {.number = FAKE_NO_NUMBER};
    cudaMemcpyAsync_v3020_params copy = {.dst = (void *)1, .stream = (cudaStream_t)&stream};
    cudaStreamSynchronize_v3020_params sync = {.stream = copy.stream};
    CALL(PLAY_RUNTIME(cudaMemcpyAsync_v3020), "cudaMemcpyAsync", .params = &copy);
    CALL(PLAY_RUNTIME(cudaStreamSynchronize_v3020), "cudaStreamSynchronize", .params = &sync);
}

static int calls(void)
{
    play_expect_start();
    CUstream one = play_stream(&streams[0]), other = play_stream(&streams[1]);
    play_malloc(4096, 1 << 20);
    play_copy(one, 4096, 65536, 1000, false);
    play_copy(other, 8192, 65536, 1000, false);
    play_copy(NULL, 8192, 65536, 2000, false);
    legacy_line();
    play_copy(NULL, 8192, 65536, 2000, true);
    expect("[\"stream\",1,%d,2,\"per-thread\",0]", gettid());
    rows(one);
    memory_set(one);
    peer(one);
    events(one, other);
    play_free(4096);
    play_malloc(4096, 2 << 20); /* the same address once more */
    play_copy(one, 4096, 65536, 1 << 20, false);
    failures(one);
    nameless();
    play_stream_gone(&streams[0]);
    streams[0].number = 15; /* the handle comes back as another stream */
    streams[0].flags = 0;
    one = play_stream(&streams[0]);
    play_copy(one, 4096, 65536, 10, false);
    play_sync();
    play_free(4096);
    return 0;
}

/* The calls of programs that were compiled for a default stream of each thread. */
static int own(void)
{
    play_expect_start();
    for (int i = 0; i < 1000; i++) {
        play_copy(NULL, 4096, 65536, 1, true);
        play_copy(NULL, 4096, 65536, 1, false);
    }
    legacy_line();
    expect("[\"stream\",1,%d,2,\"per-thread\",0]", gettid());
    return 0;
}

/* --- launches --- */

static void kernel_line(uint32_t id, const char *name)
{
    expect("[\"kernel\",%u,1,7,\"*\",\"*\",\"%s\",6,256,32,64,0]", id, name);
}

static int launches(void)
{
    static struct fake_function none,
        unknown = {.result = CUDA_ERROR_NOT_SUPPORTED}, two = {.count = 3, .sizes = {8, 4, 8}},
        pair = {.count = 1, .sizes = {24}}, many = {.count = 1, .sizes = {4000}},
        most = {.count = FAKE_PARAMS};
    static uint64_t large[500];
    uint64_t in = 4096 + 8, out = 4096 + 80, number = 5, struct_of[3] = {1, 4096 + 16, 2};
    int count = 77;
    for (size_t i = 0; i < FAKE_PARAMS; i++)
        most.sizes[i] = 4;
    void *two_args[] = {&in, &count, &out}, *pair_args[] = {struct_of}, *large_args[] = {large};
    void *most_args[FAKE_PARAMS];
    for (size_t i = 0; i < FAKE_PARAMS; i++)
        most_args[i] = &count;
    play_expect_start();
    play_malloc(4096, 4096);
    kernel_line(play_launch(NULL, "_Z1av", &none, NULL, "[]"), "a()");
    kernel_line(play_launch(NULL, "_Z1av", &none, NULL, "[]"), "a()");
    kernel_line(play_launch(NULL, "b", &unknown, NULL, "null"), "b");
    kernel_line(play_launch(NULL, "two", &two, two_args, "[4104,4176]"), "two");
    two_args[0] = &number; /* no address, as far as is known */
    kernel_line(play_launch(NULL, "two", &two, two_args, "[4176]"), "two");
    kernel_line(play_launch(NULL, "two", &two, NULL, "null"), "two");
    kernel_line(play_launch(NULL, "pair", &pair, pair_args, "[4112]"), "pair");
    large[300] = 5000; /* far behind, but an address all the same */
    kernel_line(play_launch(NULL, "many", &many, large_args, "[5000]"), "many");
    for (size_t i = 0; i < 500; i++)
        large[i] = 5000 + i;
    kernel_line(play_launch(NULL, "many", &many, large_args, "null"), "many");
    kernel_line(play_launch(NULL, "most", &most, most_args, "[]"), "most");
    /* A module goes, and the next one's kernel gets the same handle. */
    play_resource(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, NULL, NULL);
    two.count = 1;
    kernel_line(play_launch(NULL, "one", &two, pair_args, "[]"), "one");
    legacy_line();
    play_free(4096);
    return 0;
}

/* --- graphs --- */

/* Three rows of a hundred bytes, from the host to the device. */
#define ROWS(to, from_pitch, to_pitch, first_row)                                              \
    {                                                                                          \
        .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = (const void *)65536,                   \
        .srcPitch = (from_pitch), .srcY = (first_row), .dstDevice = (to),                      \
        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstPitch = (to_pitch), .WidthInBytes = 100,    \
        .Height = 3, .Depth = 1                                                                \
    }

static struct fake_node originals[] = {
    {.id = 101,
     .kind = CU_GRAPH_NODE_TYPE_MEMCPY,
     .copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
              .srcHost = (const void *)65536,
              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
              .dstDevice = 4096,
              .WidthInBytes = 100,
              .Height = 1,
              .Depth = 1}},
    {.id = 102,
     .kind = CU_GRAPH_NODE_TYPE_MEMSET,
     .set = {.dst = 8192, .elementSize = 4, .width = 5, .height = 1}},
    {.id = 103, .kind = CU_GRAPH_NODE_TYPE_KERNEL},
    {.id = 104, .kind = CU_GRAPH_NODE_TYPE_HOST},
    {.id = 105, .kind = CU_GRAPH_NODE_TYPE_EMPTY},
    {.id = 106, .kind = CU_GRAPH_NODE_TYPE_MEMCPY, .copy = ROWS(4096, 100, 100, 0)},
    {.id = 107, .kind = CU_GRAPH_NODE_TYPE_MEMCPY, .copy = ROWS(4096, 100, 128, 0)},
    {.id = 108, .kind = CU_GRAPH_NODE_TYPE_MEMCPY, .copy = ROWS(4096, 100, 100, 1)},
    {.id = 109,
     .kind = CU_GRAPH_NODE_TYPE_MEMCPY,
     .copy = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
              .dstDevice = 4096,
              .WidthInBytes = 8}},
    {.id = 110,
     .kind = CU_GRAPH_NODE_TYPE_MEMCPY,
     .copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
              .dstMemoryType = CU_MEMORYTYPE_ARRAY,
              .WidthInBytes = 8}},
    {.id = 111,
     .kind = CU_GRAPH_NODE_TYPE_MEMSET,
     .set = {.dst = 8192, .elementSize = 4, .width = 5, .height = 3, .pitch = 20}},
    {.id = 112,
     .kind = CU_GRAPH_NODE_TYPE_MEMSET,
     .set = {.dst = 8192, .elementSize = 4, .width = 5, .height = 3, .pitch = 32}},
};
enum { ORIGINALS = sizeof originals / sizeof originals[0] };
static struct fake_graph graph;

/* Clones each node: the id of a clone is `more` than that of its original. */
static void clone_nodes(void *more)
{
    for (int i = 0; i < ORIGINALS; i++) {
        struct fake_node clone = {.id = originals[i].id + *(uint64_t *)more};
        CUpti_GraphData data = {.node = (CUgraphNode)&clone,
                                .originalNode = (CUgraphNode)&originals[i]};
        play_resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, NULL, &data);
    }
}

static void instantiate(uint64_t more, uintptr_t exec)
{
    cudaGraphExec_t handle = (cudaGraphExec_t)exec;
    cudaGraphInstantiate_v12000_params params = {.pGraphExec = &handle,
                                                 .graph = (cudaGraph_t)&graph};
    cudaGraphLaunch_v10000_params launch = {.graphExec = handle};
    CALL(PLAY_RUNTIME(cudaGraphInstantiate_v12000), "cudaGraphInstantiate", .params = &params,
         .within = clone_nodes, .data = &more);
    expect("[\"node\",%ju,%ju,\"h2d\",4096,65536,100]", exec, 101 + more);
    expect("[\"node\",%ju,%ju,\"memset\",8192,20]", exec, 102 + more);
    expect("[\"node\",%ju,%ju,\"kernel\",[4100]]", exec, 103 + more);
    expect("[\"node\",%ju,%ju,\"function\"]", exec, 104 + more);
    expect("[\"node\",%ju,%ju,\"empty\"]", exec, 105 + more);
    expect("[\"node\",%ju,%ju,\"h2d\",4096,65536,300]", exec, 106 + more);
    for (uintptr_t i = 107; i <= 110; i++)
        expect("[\"node\",%ju,%ju,\"copy\"]", exec, i + more);
    expect("[\"node\",%ju,%ju,\"memset\",8192,60]", exec, 111 + more);
    expect("[\"node\",%ju,%ju,\"memset\"]", exec, 112 + more);
    for (uintptr_t i = 1; i < ORIGINALS; i++)
        expect("[\"edge\",%ju,%ju,%ju]", exec, 100 + i + more, 101 + i + more);
    uint32_t id =
        CALL(PLAY_RUNTIME(cudaGraphLaunch_v10000), "cudaGraphLaunch", .params = &launch);
    expect("[\"graph\",%u,1,7,%ju]", id, exec);
    const CUpti_ActivityMemcpy6 record = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                          .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                          .bytes = 100,
                                          .contextId = 1,
                                          .streamId = 7,
                                          .correlationId = id,
                                          .graphNodeId = 101 + more};
    play_activity(&record, sizeof record);
    expect("[\"op\",%u,\"h2d\",1,7,\"*\",\"*\",100,\"unknown\",\"unknown\",%ju]", id,
           101 + more);
}

static int graphs(void)
{
    static struct fake_function kernel = {.count = 1, .sizes = {8}};
    static uint64_t word = 4100;
    static void *args[] = {&word};
    uint64_t elsewhere = 5000;
    cudaGraphClone_v10000_params clone = {0};
    originals[2].kernel.func = (CUfunction)&kernel;
    originals[2].kernel.kernelParams = args;
    for (size_t i = 0; i < ORIGINALS; i++)
        graph.node[graph.nodes++] = (CUgraphNode)&originals[i];
    for (size_t i = 1; i < ORIGINALS; i++) {
        graph.from[graph.edges] = graph.node[i - 1];
        graph.to[graph.edges++] = graph.node[i];
    }
    play_expect_start();
    play_malloc(4096, 8192);
    instantiate(100, 3001);
    /* A clone of the graph has nodes of its own, which no op of its original has. */
    play_call_alone(&(struct played){PLAY_RUNTIME(cudaGraphClone_v10000), .params = &clone,
                                     .name = "cudaGraphClone", .within = clone_nodes,
                                     .data = &elsewhere});
    instantiate(200, 3002);
    legacy_line();
    return 0;
}

/* --- captures: calls that a graph takes up do nothing by themselves --- */

static void capture(struct fake_stream *stream, bool begin)
{
    cudaStreamBeginCapture_v10000_params params = {.stream = (cudaStream_t)stream};
    atomic_store(&stream->capturing, begin);
    if (begin)
        play_call(&(struct played){PLAY_RUNTIME(cudaStreamBeginCapture_v10000),
                                   .name = "cudaStreamBeginCapture", .params = &params});
    else
        play_call(&(struct played){PLAY_RUNTIME(cudaStreamEndCapture_v10000),
                                   .name = "cudaStreamEndCapture", .params = &params});
}

static void copy_alone(CUstream stream)
{
    cudaMemcpyAsync_v3020_params params = {.dst = (void *)1, .stream = stream};
    CALL(PLAY_RUNTIME(cudaMemcpyAsync_v3020), "cudaMemcpyAsync", .params = &params);
}

static int captures(void)
{
    cudaStreamBeginCaptureToGraph_v12030_params into = {.stream = (cudaStream_t)&streams[0]};
    cudaStreamEndCapture_v10000_params end = {.stream = into.stream};
    play_expect_start();
    CUstream one = play_stream(&streams[0]), other = play_stream(&streams[1]);
    capture(&streams[0], true);
    copy_alone(one);
    play_copy(other, 4096, 65536, 10, false);
    capture(&streams[0], false);
    play_copy(one, 4096, 65536, 10, false);
    atomic_store(&streams[0].capturing, true);
    CALL(PLAY_RUNTIME(cudaStreamBeginCaptureToGraph_v12030), "cudaStreamBeginCaptureToGraph",
         .params = &into);
    copy_alone(one);
    atomic_store(&streams[0].capturing, false);
    CALL(PLAY_RUNTIME(cudaStreamEndCapture_v10000), "cudaStreamEndCapture", .params = &end,
         .result = 901);
    capture(&streams[0], true);
    copy_alone(one);
    capture(&streams[0], false);
    play_capture_own(true); /* which a call that names no stream may mean */
    cudaMemcpyAsync_v3020_params own = {.dst = (void *)1};
    CALL(PLAY_RUNTIME(cudaMemcpyAsync_ptsz_v7000), "cudaMemcpyAsync", .params = &own);
    play_capture_own(false);
    return 0;
}

/* --- what copies took --- */

enum { TAKEN = 1 << 20 };
static char taken[TAKEN];

/* Copies `bytes` of what has been taken, which has the `hash`-th content; -1: none is told. */
static void take_in(enum cudaMemcpyKind kind, const void *from, size_t bytes, int hash)
{
    cudaMemcpy_v3020_params params = {
        .dst = (void *)4096, .src = from, .count = bytes, .kind = kind};
    char text[16] = "";
    if (hash >= 0)
        snprintf(text, sizeof text, ",%d", hash);
    const uint32_t id = CALL(PLAY_RUNTIME(cudaMemcpy_v3020), "cudaMemcpy", .params = &params);
    expect("[\"copy\",%u,1,7,4096,%llu,%zu%s]", id, (unsigned long long)(uintptr_t)from, bytes,
           text);
}

static void take_rows_in(size_t width, size_t height, int hash)
{
    cudaMemcpy2D_v3020_params params = {.dst = (void *)4096,
                                        .dpitch = 512,
                                        .src = taken,
                                        .spitch = 1024,
                                        .width = width,
                                        .height = height,
                                        .kind = cudaMemcpyHostToDevice};
    const uint32_t id =
        CALL(PLAY_RUNTIME(cudaMemcpy2D_v3020), "cudaMemcpy2D", .params = &params);
    expect("[\"copy2d\",%u,1,7,4096,512,%llu,1024,%zu,%zu,%d]", id,
           (unsigned long long)(uintptr_t)taken, width, height, hash);
}

static void pin(const void *place, size_t bytes, unsigned flags)
{
    cudaHostRegister_v4000_params params = {
        .ptr = (void *)(uintptr_t)place, .size = bytes, .flags = flags};
    CALL(PLAY_RUNTIME(cudaHostRegister_v4000), "cudaHostRegister", .params = &params);
    expect("[\"memory\",\"registered\",\"*\",%llu,%zu,null]",
           (unsigned long long)(uintptr_t)place, bytes);
}

static void unpin(const void *place)
{
    cudaHostUnregister_v4000_params params = {.ptr = (void *)(uintptr_t)place};
    CALL(PLAY_RUNTIME(cudaHostUnregister_v4000), "cudaHostUnregister", .params = &params);
    expect("[\"free\",\"*\",%llu]", (unsigned long long)(uintptr_t)place);
}

/* The same content has the same hash, pinned or not, and no other one has it. */
static int takings(void)
{
    play_expect_start();
    legacy_line();
    take_in(cudaMemcpyHostToDevice, taken, TAKEN, 0);
    take_in(cudaMemcpyDefault, taken, TAKEN, 0);
    pin(taken, TAKEN, 0);
    take_in(cudaMemcpyHostToDevice, taken, TAKEN, 0);
    taken[TAKEN - 1] = 1;
    take_in(cudaMemcpyHostToDevice, taken, TAKEN, 1);
    taken[TAKEN - 1] = 0;
    taken[0] = 1;
    take_in(cudaMemcpyHostToDevice, taken, TAKEN, 2);
    take_in(cudaMemcpyHostToDevice, taken, 3, 3);
    take_rows_in(100, 3, 4);
    taken[2 * 1024 + 99] = 1;
    take_rows_in(100, 3, 5);
    taken[1024 + 1] = 1;
    take_rows_in(2, 900, 6);
    take_rows_in(2, 900, 6);
    unpin(taken);
    /* Of what is not the host's, or is slow to read, nothing is told. */
    take_in(cudaMemcpyDeviceToDevice, taken, TAKEN, -1);
    take_in(cudaMemcpyHostToDevice, (const void *)8192, TAKEN, -1);
    pin(taken, TAKEN, CU_MEMHOSTREGISTER_IOMEMORY);
    take_in(cudaMemcpyHostToDevice, taken, TAKEN, -1);
    pin(taken, TAKEN / 2, 0); /* with what was there gone in a way that nobody saw */
    take_in(cudaMemcpyHostToDevice, taken + 64, 64, 7);
    take_in(cudaMemcpyHostToDevice, taken, TAKEN, -1);
    return 0;
}

/* --- what later calls rest on --- */

static void managed_pages(void)
{
    void *place = (void *)(1 << 20);
    cudaMallocManaged_v6000_params params = {.devPtr = &place, .size = 65536};
    CUpti_ActivityUnifiedMemoryCounter2 record = {
        .kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
        .counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
        .value = 4096,
        .start = 5,
        .end = 6,
        .address = 1 << 20,
        .srcId = 1,
        .flags = CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE};
    CALL(PLAY_RUNTIME(cudaMallocManaged_v6000), "cudaMallocManaged", .params = &params);
    expect("[\"memory\",\"managed\",\"*\",%d,65536,0]", 1 << 20);
    play_activity(&record, sizeof record);
    record.end = record.start = 1;
    record.start++;
    play_activity(&record, sizeof record);
    record.end = UINT64_MAX;
    play_activity(&record, sizeof record);
    expect("[\"lost\",2,\"more than the library could hold, or CUPTI dropped\"]");
    expect("[\"migration\",\"d2h\",\"*\",\"*\",%d,4096,\"coherence\",1]", 1 << 20);
}

static int settings(void)
{
    static struct fake_context other = {.number = 9, .device = 3};
    cudaEvent_t made = (cudaEvent_t)(uintptr_t)777;
    cudaEventCreate_v3020_params plain = {.event = &made};
    cudaEventCreateWithFlags_v3020_params fast = {.event = &made, .flags = 2};
    cudaEventCreateWithFlags_v3020_params none = {.event = NULL};
    cudaDeviceEnablePeerAccess_v4000_params peer = {.peerDevice = 2};
    cuCtxEnablePeerAccess_params context = {.peerContext = (CUcontext)&other};
    uint64_t bytes = UINT64_MAX;
    cudaMemPoolSetAttribute_v11020_params pool = {.memPool = (cudaMemPool_t)(uintptr_t)555,
                                                  .attr = cudaMemPoolAttrReleaseThreshold,
                                                  .value = &bytes};
    play_expect_start();
    CALL(PLAY_RUNTIME(cudaEventCreate_v3020), "cudaEventCreate", .params = &plain);
    expect("[\"event\",\"*\",777,0]");
    CALL(PLAY_RUNTIME(cudaEventCreateWithFlags_v3020), "cudaEventCreateWithFlags",
         .params = &fast);
    expect("[\"event\",\"*\",777,2]");
    CALL(PLAY_RUNTIME(cudaEventCreateWithFlags_v3020), "cudaEventCreateWithFlags",
         .params = &none, .result = 1);
    CALL(PLAY_RUNTIME(cudaDeviceEnablePeerAccess_v4000), "cudaDeviceEnablePeerAccess",
         .params = &peer);
    expect("[\"peer\",\"*\",0,2]");
    CALL(PLAY_RUNTIME(cudaDeviceEnablePeerAccess_v4000), "cudaDeviceEnablePeerAccess",
         .params = &peer, .result = 704);
    CALL(PLAY_DRIVER(cuCtxEnablePeerAccess), "cuCtxEnablePeerAccess", .params = &context);
    expect("[\"peer\",\"*\",0,3]");
    CALL(PLAY_RUNTIME(cudaMemPoolSetAttribute_v11020), "cudaMemPoolSetAttribute",
         .params = &pool);
    expect("[\"threshold\",\"*\",555,9223372036854775807]");
    pool.attr = cudaMemPoolReuseFollowEventDependencies;
    CALL(PLAY_RUNTIME(cudaMemPoolSetAttribute_v11020), "cudaMemPoolSetAttribute",
         .params = &pool);
    managed_pages();
    return 0;
}

/* --- names that nobody expects --- */

static int names(void)
{
    static struct fake_function none;
    char *longest = malloc(100001);
    memset(longest, 'n', 100000);
    longest[100000] = '\0';
    play_expect_start();
    legacy_line();
    kernel_line(play_launch(NULL, "q\"\\\n\x01", &none, NULL, "[]"), "q\\\"\\\\\\n\\u0001");
    kernel_line(play_launch(NULL, "\xC3\xA9 \xF0\x9F\x98\x80", &none, NULL, "[]"),
                "\xC3\xA9 \xF0\x9F\x98\x80");
    kernel_line(play_launch(NULL, "\xFF\xC3", &none, NULL, "[]"), "\xEF\xBF\xBD\xEF\xBF\xBD");
    kernel_line(play_launch(NULL, "", &none, NULL, "[]"), "");
    uint32_t id = play_launch(NULL, longest, &none, NULL, "[]");
    play_deliver(); /* the text is CUPTI's until then */
    longest[4096] = '\0';
    kernel_line(id, longest);
    memset(longest, '"', 4096); /* in the file each of them is six bytes */
    id = play_launch(NULL, longest, &none, NULL, "[]");
    play_deliver();
    for (int i = 0; i < 2 * 4096; i++)
        longest[i] = i % 2 == 0 ? '\\' : '"';
    longest[2 * 4096] = '\0';
    kernel_line(id, longest);
    return 0;
}

/* --- a part of the program --- */

static int part(void)
{
    static struct fake_function none;
    struct fake_stream late = {.number = 20};
    cudaStreamCreate_v3020_params create = {0};
    cudaMemcpyAsync_v3020_params copy = {.dst = (void *)1, .stream = (cudaStream_t)&late};
    cudaStreamBeginCapture_v10000_params begin = {.stream = copy.stream};
    play_expect_start();
    /* What memory there is has to be known; all else before the part is not told. */
    struct played take = {PLAY_RUNTIME(cudaMalloc_v3020), .name = "cudaMalloc"};
    void *place = (void *)4096;
    cudaMalloc_v3020_params malloc_params = {.devPtr = &place, .size = 4096};
    take.params = &malloc_params;
    play_call_alone(&take);
    expect("[\"memory\",\"device\",\"*\",4096,4096,0]");
    play_call_alone(&(struct played){PLAY_RUNTIME(cudaStreamCreate_v3020), .params = &create,
                                     .name = "cudaStreamCreate"});
    play_call_alone(&(struct played){PLAY_RUNTIME(cudaMemcpyAsync_v3020), .params = &copy,
                                     .name = "cudaMemcpyAsync"});
    cuLaunchHostFunc_params refused = {.hStream = copy.stream};
    play_call_alone(&(struct played){PLAY_DRIVER(cuLaunchHostFunc), .params = &refused,
                                     .name = "cuLaunchHostFunc", .result = 1});
    /* A capture that has begun before goes on in the part. */
    atomic_store(&late.capturing, true);
    play_call_alone(&(struct played){PLAY_RUNTIME(cudaStreamBeginCapture_v10000),
                                     .params = &begin, .name = "cudaStreamBeginCapture"});
    nvtxRangePushA("the part");
    uint32_t id = play_launch(NULL, "_Z4partv", &none, NULL, "[]");
    kernel_line(id, "part()");
    legacy_line();
    CALL(PLAY_RUNTIME(cudaMemcpyAsync_v3020), "cudaMemcpyAsync", .params = &copy);
    play_copy(NULL, 4096, 65536, 10, false);
    id = play_launch(NULL, "_Z3endv", &none, NULL, "[]");
    kernel_line(id, "end()");
    if (strcmp(getenv("PIPELINE_RECORD_START"), "the part") == 0)
        expect("[\"range\",%d,\"*\",\"*\",\"the part\"]", gettid());
    nvtxRangePop();
    play_call_alone(&(struct played){PLAY_RUNTIME(cudaMemcpyAsync_v3020), .params = &copy,
                                     .name = "cudaMemcpyAsync"});
    return 0;
}

/* Five passes of a loop whose range is called `step`; the third and the fourth are recorded. */
static int passes(void)
{
    play_expect_start();
    nvtxRangePushA("all");
    for (int i = 1; i <= 5; i++) {
        const bool recorded = i == 3 || i == 4;
        nvtxRangePushA("step");
        if (recorded)
            play_sync();
        else
            play_call_alone(&(struct played){PLAY_RUNTIME(cudaDeviceSynchronize_v3020),
                                             .name = "cudaDeviceSynchronize"});
        if (recorded)
            expect("[\"range\",%d,\"*\",\"*\",\"step\"]", gettid());
        nvtxRangePop();
    }
    nvtxRangePop();
    return 0;
}

/* Without ranges the host's waits are the passes: what is behind the second is recorded, up to
 * the fourth. */
static int waits(void)
{
    static struct fake_function none;
    play_expect_start();
    legacy_line();
    for (int i = 1; i <= 6; i++) {
        if (i == 3 || i == 4) {
            kernel_line(play_launch(NULL, "step", &none, NULL, "[]"), "step");
            play_sync();
        } else {
            play_call_alone(&(struct played){
                PLAY_RUNTIME(cudaStreamSynchronize_v3020), .name = "cudaStreamSynchronize",
                .params = &(cudaStreamSynchronize_v3020_params){0}, .result = i == 1});
        }
    }
    return 0;
}

/* The range that PLAYER_RANGE names is the part: it has begun before CUDA was used. */
static int early(void)
{
    play_expect_start();
    play_sync();
    nvtxRangePop();
    expect("[\"range\",%d,\"*\",\"*\",\"%s\"]", gettid(), getenv("PLAYER_RANGE"));
    play_call_alone(&(struct played){PLAY_RUNTIME(cudaDeviceSynchronize_v3020),
                                     .name = "cudaDeviceSynchronize"});
    return 0;
}

static int ranges(void)
{
    play_expect_start();
    nvtxRangePushA("outer \"range\"");
    nvtxRangeId_t open = nvtxRangeStartA("crossing");
    nvtxRangePushA("inner");
    nvtxRangePop();
    nvtxRangePop();
    play_sync();
    nvtxRangeEnd(open);
    nvtxRangeEnd(open); /* once too often */
    nvtxRangePop();
    nvtxDomainHandle_t domain = nvtxDomainCreateA("domain");
    nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
    for (int i = 0; i < 100; i++)
        nvtxRangePushA("deep");
    for (int i = 0; i < 100; i++)
        nvtxRangePop();
    expect("[\"range\",%d,\"*\",\"*\",\"inner\"]", gettid());
    expect("[\"range\",%d,\"*\",\"*\",\"outer \\\"range\\\"\"]", gettid());
    expect("[\"range\",%d,\"*\",\"*\",\"crossing\"]", gettid());
    expect("[\"range\",%d,\"*\",\"*\",\"registered\"]", gettid());
    for (int i = 0; i < 64; i++)
        expect("[\"range\",%d,\"*\",\"*\",\"deep\"]", gettid());
    return 0;
}

static int frames(void)
{
    play_expect_start();
    expect("[\"frames\",%u,\"*\"]", play_malloc(4096, 10));
    expect("[\"frames\",%u,\"*\"]", play_free(4096));
    return 0;
}

/* Contexts come and go; each is named once. */
static int contexts(void)
{
    static struct fake_context made[400];
    play_expect_start();
    play_sync();
    for (uint32_t i = 0; i < 400; i++) {
        made[i].number = i + 2;
        play_in = &made[i];
        expect("[\"context\",%u,0]", i + 2);
        play_sync();
        play_sync();
    }
    return 0;
}

static int lose(void)
{
    play_expect_start();
    play_sync();
    play_lose(41);
    play_copy(NULL, 4096, 65536, 10, false);
    legacy_line();
    expect("[\"lost\",41,\"more than the library could hold, or CUPTI dropped\"]");
    return 0;
}

/* CUPTI may want ever more buffers, where the disk is slow: there is an end to them, and they
 * are used again. */
static int buffers(void)
{
    enum { MOST = 1000, FEWEST = 8 };
    int first = play_buffers(MOST), second = play_buffers(MOST);
    bool good = first < MOST && first == second && (first == 0 || first >= FEWEST);
    if (!good)
        fprintf(stderr, "player: %d buffers, then %d\n", first, second);
    play_expect_start();
    play_copy(NULL, 4096, 65536, 10, false);
    legacy_line();
    return good ? 0 : 89;
}

const struct script script_deeds[] = {
    {"calls", calls},       {"buffers", buffers},   {"own", own},     {"launches", launches},
    {"graphs", graphs},     {"captures", captures}, {"names", names}, {"part", part},
    {"passes", passes},     {"waits", waits},       {"early", early}, {"ranges", ranges},
    {"frames", frames},     {"contexts", contexts}, {"lose", lose},   {"takings", takings},
    {"settings", settings}, {NULL, NULL},
};
