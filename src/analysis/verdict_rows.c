/* verdict_rows.c - what is said of each cause. */
#include "analysis/verdict.h"

const struct verdict_row verdict_rows[VERDICT_COUNT] = {
    [VERDICT_MISSING_WAIT] =
        {"missing-wait", "ops touch the same bytes and nothing orders them: a race",
         "cudaEventRecord(done, first); cudaStreamWaitEvent(second, done, 0)"},
    [VERDICT_PAGEABLE_MEMORY] =
        {"pageable-memory",
         "the host copies pageable memory piece by piece through a page-locked buffer, and its "
         "call waits for that",
         "--memory=pinned: cudaMallocHost(&array, bytes), or cudaHostRegister() of what is "
         "there"},
    [VERDICT_LEGACY_STREAM] =
        {"legacy-stream",
         "work in the default stream waits for all blocking streams, and they for it",
         "kernel<<<blocks, threads, 0, stream>>>: name a stream in every launch and copy; or "
         "nvcc --default-stream per-thread"},
    [VERDICT_BLOCKING_STREAM] =
        {"blocking-stream",
         "something small in the default stream, and streams that wait for that one",
         "cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)"},
    [VERDICT_MEMSET_IN_LOOP] =
        {"memset-in-loop",
         "a memset for each tile: more work, which on old GPUs all streams wait for",
         "clear once, before the loop, or in the kernel that writes there next"},
    [VERDICT_SYNC_IN_LOOP] =
        {"sync-in-loop",
         "the host waits for the device in the loop, and issues nothing meanwhile",
         "cudaEventRecord() and cudaStreamWaitEvent() where streams wait for each other; one "
         "cudaDeviceSynchronize() behind the loop"},
    [VERDICT_ALLOC_IN_LOOP] =
        {"alloc-in-loop",
         "device memory is taken and given back in the loop, for which the device must be idle",
         "cudaMalloc() a buffer per stream before the loop; or cudaMallocAsync()"},
    [VERDICT_PINNED_ALLOC_IN_LOOP] = {"pinned-alloc-in-loop",
                                      "page-locked memory is taken and given back in the loop",
                                      "cudaMallocHost() once, before the loop"},
    [VERDICT_PIN_IN_RUN] =
        {"pin-in-run", "page-locking the array takes longer than it saves",
         "pin once and use it often; for one pass over pageable data stage it through small "
         "pinned buffers"},
    [VERDICT_LAUNCH_BLOCKING] = {"launch-blocking",
                                 "each launch returns only when its kernel has ended",
                                 "unset CUDA_LAUNCH_BLOCKING"},
    [VERDICT_SLOW_CALLBACK] =
        {"slow-callback",
         "host callbacks run in turn on one thread, and each holds up its stream until it "
         "returns",
         "let the callback only wake a thread of your own, which does the work"},
    [VERDICT_LAZY_LOADING] =
        {"lazy-loading", "the first launch of a kernel loads its code",
         "launch every kernel once before what is timed, or CUDA_MODULE_LOADING=EAGER"},
    [VERDICT_ONE_STREAM] = {"one-stream",
                            "all is in one stream, where each op waits for the one before it",
                            "--ways=3 --streams=4: issue tile t to stream[t % 4]"},
    [VERDICT_FEW_STREAMS] =
        {"few-streams",
         "tiles wait for the stream or the buffer of an earlier tile that is still on its way",
         "more tiles in flight: --streams=4, or twice what there are"},
    [VERDICT_NEEDLESS_WAIT] = {"needless-wait",
                               "work waits for other tiles' work, of which it needs nothing",
                               "--ways=3: let a kernel wait for its own tile's copy alone"},
    [VERDICT_ONE_COPY_ENGINE] =
        {"one-copy-engine",
         "with one copy engine copies run in the order of issue: a copy in waits behind a copy "
         "out that is not ready",
         "--order=breadth: issue all copies in of a wave before its copies out"},
    [VERDICT_ONE_QUEUE] =
        {"one-queue",
         "all streams share one hardware queue, where an op that is not ready holds up all "
         "behind it",
         "--connections=8 (CUDA_DEVICE_MAX_CONNECTIONS), or --order=breadth"},
    [VERDICT_FEW_QUEUES] =
        {"few-queues",
         "more streams than hardware queues: an op that is not ready holds up another stream's",
         "fewer streams, --connections=32 (CUDA_DEVICE_MAX_CONNECTIONS), or --order=breadth"},
    [VERDICT_LATE_SIGNAL] =
        {"late-signal",
         "this GPU tells the end of kernels that were issued back to back only behind the last "
         "of them, so that copies out wait for other tiles' kernels",
         "--order=depth: issue each tile's copy out right behind its kernel"},
    [VERDICT_SMALL_TILES] =
        {"small-tiles",
         "the host's calls, and the way from one op to the next, take long against the work of "
         "a tile",
         "fewer, larger tiles: --tiles=auto; or --issue=graph"},
    [VERDICT_FEW_BLOCKS] = {"few-blocks", "kernels have too few blocks to fill the GPU",
                            "larger tiles, or more streams, so that kernels run side by side"},
    [VERDICT_SLOW_COPIES] =
        {"slow-copies", "copies run slower than this machine's link",
         "see what else uses the link or the host's memory: the CPU's tiles, another process, "
         "another NUMA node"},
    [VERDICT_SLOW_KERNELS] = {"slow-kernels", "kernels take longer than at full rate",
                              "see what keeps them: pipeline bench, ncu"},
    [VERDICT_DEVICE_COPIES] = {"device-copies", "copies within the device",
                               "let the kernels read where the data is"},
    [VERDICT_PROFILER] = {"profiler", "the tracing itself: without it the run is shorter",
                          "judge spans by runs without a profiler: --runs, without --profile"},
    [VERDICT_COPY_BOUND] =
        {"copy-bound", "bound by the copies; those of one direction take turns in any streams",
         "move fewer bytes: smaller types, more work per copy, results reduced on the device"},
    [VERDICT_KERNEL_BOUND] = {"kernel-bound",
                              "bound by the kernels: the copies are hidden behind them",
                              "faster kernels; more streams gain nothing"},
    [VERDICT_LINK_BOUND] =
        {"link-bound", "bound by the link, over which kernels reach mapped memory",
         "--memory=pinned: copies use the link a little better, unless tiles are small"},
    [VERDICT_CPU_BOUND] = {"cpu-bound", "bound by the CPU's tiles", "a smaller --cpu-share"},
    [VERDICT_REST] = {"rest", "filling, draining, and what is too little to be named", ""},
};
