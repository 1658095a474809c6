/* added.c - how much longer CUDA's calls take while they are recorded, most of which is
 * CUPTI's: measured at the program's end, in its own process, by calls of this library's own
 * that are made with the recorder listening and without.
 *
 * The program must not notice. Nothing is measured where its device is still at work, or a
 * context is gone or broken; nothing is waited for that another thread may never end; and
 * what is taken is not given back, as that may wait, and the process ends.
 *
 * The calls are the runtime's, as those of most programs are: CUPTI tells of each, and of the
 * driver's within it. A program that has the runtime in itself shows it to nobody, so the
 * toolkit's is opened. */
#include "record/record.h"

#include "nothing.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

enum {
    ROUNDS = 6,             /* with and without, each */
    BATCH = 24,             /* calls of a kind in a round, far fewer than a queue takes */
    BYTES = 64,             /* of a copy and a memset */
    MOST_NS = 10000000,     /* no round with it begins later */
    IDLE_MOST_NS = 2000000, /* a device that is behind by more is at work */
};

/* These functions of the driver's and of the runtime's are found by name, since the library is
 * linked with neither. */
#define MEASURE_DRIVER(X)                                                                      \
    X(cuDevicePrimaryCtxGetState, context_state)                                               \
    X(cuDevicePrimaryCtxRetain, context_retain)                                                \
    X(cuDevicePrimaryCtxRelease_v2, context_release)                                           \
    X(cuDeviceGet, device_get)                                                                 \
    X(cuCtxPushCurrent_v2, context_push)                                                       \
    X(cuCtxPopCurrent_v2, context_pop)                                                         \
    X(cuCtxRecordEvent, context_record)                                                        \
    X(cuEventCreate, event_create)                                                             \
    X(cuEventQuery, event_query)
#define MEASURE_RUNTIME(X)                                                                     \
    X(cudaLibraryLoadData, code_load)                                                          \
    X(cudaLibraryGetKernel, code_kernel)                                                       \
    X(cudaStreamCreateWithFlags, stream_create)                                                \
    X(cudaMalloc, memory_take)                                                                 \
    X(cudaHostAlloc, host_take)                                                                \
    X(cudaLaunchKernel, launch)                                                                \
    X(cudaMemcpyAsync, copy)                                                                   \
    X(cudaMemsetAsync, set)                                                                    \
    X(cudaEventRecord, event_record)                                                           \
    X(cudaStreamWaitEvent, stream_wait)

static struct {
#define MEMBER(function, member) __typeof__(function) *member;
    MEASURE_DRIVER(MEMBER)
    MEASURE_RUNTIME(MEMBER)
} cuda;

/* The calls work on these, which the process keeps to its end. */
static struct {
    CUcontext context;
    CUevent event;
    cudaStream_t stream;
    cudaKernel_t kernel;
    void *device, *host;
} own;

/* --- the calls --- */

static int launch(void)
{
    return cuda.launch(own.kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, own.stream);
}

static int copy(void)
{
    return cuda.copy(own.device, own.host, BYTES, cudaMemcpyHostToDevice, own.stream);
}

static int set(void)
{
    return cuda.set(own.device, 0, BYTES, own.stream);
}

static int note_event(void)
{
    return cuda.event_record(own.event, own.stream);
}

static int await_event(void)
{
    return cuda.stream_wait(own.stream, own.event, 0);
}

/* The calls that are measured, by what a recording calls them. They return 0, or an error. */
static const struct {
    const char *name;
    int (*call)(void);
} measured[] = {{"launch", launch},
                {"copy", copy},
                {"set", set},
                {"record", note_event},
                {"wait", await_event}};
enum { KINDS = sizeof measured / sizeof measured[0], RECORDED = 0, ALONE = 1 };

static int64_t times[KINDS][2][ROUNDS * BATCH];
static int rounds; /* that were made of either sort */

/* Waits until all that the context had to do is done. Returns false where that fails, or takes
 * long. */
static bool is_idle(void)
{
    const struct timespec pause = {0, 10000};
    const int64_t until_ns = record_now_ns() + IDLE_MOST_NS;
    if (cuda.context_record(own.context, own.event) != CUDA_SUCCESS)
        return false;
    CUresult result = cuda.event_query(own.event);
    while (result == CUDA_ERROR_NOT_READY && record_now_ns() < until_ns) {
        nanosleep(&pause, NULL);
        result = cuda.event_query(own.event);
    }
    return result == CUDA_SUCCESS;
}

/* Makes a round of calls. The first of each kind finds nothing in the processor's caches. */
static bool measure_round(int round, int how)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (measured[i].call() != 0)
            return false;
        for (int k = 0; k < BATCH; k++) {
            const int64_t start_ns = record_now_ns();
            if (measured[i].call() != 0)
                return false;
            times[i][how][BATCH * round + k] = record_now_ns() - start_ns;
        }
    }
    return is_idle();
}

/* CUPTI has to be left for good: with callbacks and activities that are only switched off, a
 * launch still took a tenth longer than in a program that was never recorded
 * (bench/results/h200-2026-12-01-added.txt). */
static void measure_all(int64_t begin_ns)
{
    int made = 0;
    while (made < ROUNDS && record_now_ns() < begin_ns + MOST_NS &&
           measure_round(made, RECORDED))
        made++;
    /* A thread that has begun to make calls meanwhile would lose CUPTI while it is in one. */
    if (!entries_quiet(begin_ns) || !ops_leave() || !calls_leave())
        return;
    while (rounds < made && record_now_ns() < begin_ns + 2 * MOST_NS &&
           measure_round(rounds, ALONE))
        rounds++;
}

/* --- what they work on --- */

/* Finds the functions; the runtime is one that the program has loaded, or the toolkit's. */
static bool find_cuda(void)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12",
                                        "/usr/local/cuda/lib64/libcudart.so"};
#define WANTED(function, member) {#function, &cuda.member, true},
    static const struct wanted of_driver[] = {MEASURE_DRIVER(WANTED)},
                               of_runtime[] = {MEASURE_RUNTIME(WANTED)};
    void *runtime = NULL;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; runtime == NULL && i < sizeof names / sizeof *names; i++)
            runtime = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | (pass == 0 ? RTLD_NOLOAD : 0));
    }
    return api_find(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD), of_driver,
                    sizeof of_driver / sizeof *of_driver) &&
           api_find(runtime, of_runtime, sizeof of_runtime / sizeof *of_runtime);
}

/* Makes the first primary context that is there this thread's. */
static bool enter_context(CUdevice *device)
{
    for (int i = 0; cuda.device_get(device, i) == CUDA_SUCCESS; i++) {
        unsigned flags;
        int active = 0;
        if (cuda.context_state(*device, &flags, &active) != CUDA_SUCCESS)
            return false;
        if (active == 0)
            continue;
        if (cuda.context_retain(&own.context, *device) != CUDA_SUCCESS)
            return false;
        if (cuda.context_push(own.context) == CUDA_SUCCESS)
            return true;
        cuda.context_release(*device);
        return false;
    }
    return false;
}

/* Loading code, and taking memory, may wait for the device: it has to be idle before. */
static bool make_all(void)
{
    cudaLibrary_t code;
    return cuda.event_create(&own.event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
           is_idle() &&
           cuda.code_load(&code, nothing, NULL, NULL, 0, NULL, NULL, 0) == cudaSuccess &&
           cuda.code_kernel(&own.kernel, code, "pipeline_record_nothing") == cudaSuccess &&
           cuda.stream_create(&own.stream, cudaStreamNonBlocking) == cudaSuccess &&
           cuda.memory_take(&own.device, BYTES) == cudaSuccess &&
           cuda.host_take(&own.host, BYTES, cudaHostAllocDefault) == cudaSuccess;
}

void added_measure(void)
{
    CUdevice device;
    CUcontext left;
    const int64_t begin_ns = record_now_ns();
    if (!find_cuda() || !enter_context(&device))
        return;
    if (make_all())
        measure_all(begin_ns);
    cuda.context_pop(&left);
    cuda.context_release(device);
}

/* --- the lines --- */

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median_of(int64_t *all, size_t count)
{
    qsort(all, count, sizeof *all, compare_times);
    return all[count / 2];
}

void added_write(void)
{
    const size_t count = (size_t)rounds * BATCH;
    for (size_t i = 0; i < KINDS && count > 0; i++)
        FILE_LINE("added", measured[i].name, count, median_of(times[i][RECORDED], count),
                  median_of(times[i][ALONE], count));
}
