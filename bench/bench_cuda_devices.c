/* bench_cuda_devices.c - tiles dealt over several devices against bare copies of all of them at
 * once, and one thread's issue to all devices against the same calls by hand. */
#include "bench/bench_cuda.h"

#include "kernels/kernel_code.h"

#include <string.h>

enum { TILES = 2048, TILE = 1024, STREAMS = 4 };

/* Each device's part of the bare copies, or of the bare loop. */
struct lanes {
    int count;
    struct bare_copies copies[MACHINE_DEVICES_MAX];
    cudaStream_t streams[MACHINE_DEVICES_MAX][STREAMS];
    float *in[MACHINE_DEVICES_MAX][STREAMS], *out[MACHINE_DEVICES_MAX][STREAMS];
};

static enum status select_device(int device, struct error *error)
{
    return CUDA_CHECK(cudaSetDevice(device), error);
}

/* Waits for all devices; the first is then the current one. */
static enum status wait_for_all(const struct lanes *lanes, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = lanes->count; i > 0 && status == STATUS_OK; i--) {
        status = select_device(i - 1, error);
        if (status == STATUS_OK)
            status = CUDA_CHECK(cudaDeviceSynchronize(), error);
    }
    return status;
}

/* Writes "--device=cuda:0,1 REST". */
static void arguments_for(int devices, const char *rest, char text[128])
{
    int length = snprintf(text, 128, "--device=cuda:0");
    for (int i = 1; i < devices; i++)
        length += snprintf(text + length, 128 - (size_t)length, ",%d", i);
    snprintf(text + length, 128 - (size_t)length, " --spread=tiles %s", rest);
}

/* --- whole pipelines --- */

static enum status open_copies(struct lanes *lanes, uint64_t bytes, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < lanes->count && status == STATUS_OK; i++) {
        status = select_device(i, error);
        if (status == STATUS_OK)
            status = bare_copies_open(&lanes->copies[i], bytes / (uint64_t)lanes->count, error);
        if (lanes->copies[i].chunk < lanes->copies[0].chunk)
            lanes->copies[0].chunk = lanes->copies[i].chunk;
    }
    for (int i = 1; i < lanes->count; i++) /* all go on by as much as has room on each */
        lanes->copies[i].chunk = lanes->copies[0].chunk;
    return status;
}

static void close_copies(struct lanes *lanes)
{
    for (int i = lanes->count; i > 0; i--) {
        CUDA_WARN(cudaSetDevice(i - 1));
        bare_copies_close(&lanes->copies[i - 1]);
    }
}

/* Issues one device's next copies each way, of its part of the arrays, from byte `at` on. */
static enum status issue_part(const struct lanes *lanes, int device, const char *in, char *out,
                              uint64_t at, uint64_t part, struct error *error)
{
    const struct bare_copies *copies = &lanes->copies[device];
    const uint64_t left = part - at, now = left < copies->chunk ? left : copies->chunk;
    const uint64_t from = (uint64_t)device * part + at;
    enum status status = select_device(device, error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaMemcpyAsync(copies->device[0], in + from, now,
                                            cudaMemcpyHostToDevice, copies->streams[0]),
                            error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaMemcpyAsync(out + from, copies->device[1], now,
                                            cudaMemcpyDeviceToHost, copies->streams[1]),
                            error);
    return status;
}

/* Copies the arrays both ways, each device its part, all at once. */
static enum status time_copies(const struct lanes *lanes, const void *in, void *out,
                               uint64_t bytes, double *seconds, struct error *error)
{
    const uint64_t part = bytes / (uint64_t)lanes->count;
    enum status status = STATUS_OK;
    arrays_settle(); /* as a backend's run does */
    double begin = bench_now();
    for (uint64_t at = 0; at < part && status == STATUS_OK; at += lanes->copies[0].chunk) {
        for (int i = 0; i < lanes->count && status == STATUS_OK; i++)
            status = issue_part(lanes, i, in, out, at, part, error);
    }
    if (status == STATUS_OK)
        status = wait_for_all(lanes, error);
    *seconds = bench_now() - begin;
    return status;
}

/* Runs bare copies and a pipeline in turn, in either order; each repeat gives one ratio. */
static enum status compare_copies(struct bench *bench, struct bench_run *run,
                                  const struct lanes *lanes, struct series *ratios,
                                  struct series *rates, struct error *error)
{
    const uint64_t bytes = run->arrays.bytes[BUFFER_HOST_IN0];
    const void *in = run->arrays.host[BUFFER_HOST_IN0];
    void *out = run->arrays.host[BUFFER_HOST_OUT];
    enum status status = STATUS_OK;
    for (int i = -1; i < bench->repeats && status == STATUS_OK; i++) {
        struct run_times times = {0};
        double bare_s = 0;
        if (i % 2 == 0)
            status = bench_run_once(run, NULL, &times, error);
        if (status == STATUS_OK)
            status = time_copies(lanes, in, out, bytes, &bare_s, error);
        if (i % 2 != 0 && status == STATUS_OK)
            status = bench_run_once(run, NULL, &times, error);
        if (status != STATUS_OK || i < 0)
            continue; /* the first warms up */
        series_add(ratios, bare_s / (1e-9 * (double)times.time_ns));
        series_add(rates, (double)bytes / (double)times.time_ns);
    }
    return status;
}

static enum status measure_copies(struct bench *bench, int devices, struct error *error)
{
    struct bench_run run;
    struct lanes lanes = {.count = devices};
    struct series ratios = {0}, rates = {0};
    char arguments[128], name[64];
    arguments_for(devices, bench->quick ? "-n 128M -t 16" : "-n 1G -t 128", arguments);
    enum status status = bench_run_open(&run, arguments, error);
    if (status == STATUS_OK)
        status = open_copies(&lanes, run.arrays.bytes[BUFFER_HOST_IN0], error);
    if (status == STATUS_OK)
        status = compare_copies(bench, &run, &lanes, &ratios, &rates, error);
    close_copies(&lanes);
    bench_run_close(&run);
    if (status != STATUS_OK)
        return status;
    snprintf(name, sizeof name, "%d device%s, over bare copies", devices,
             devices > 1 ? "s at once" : "");
    bench_result(bench, name, &ratios, "", GOAL_AT_LEAST, 0.97);
    bench_result(bench, "  each way, all together", &rates, "GB/s", GOAL_NONE, 0);
    return STATUS_OK;
}

/* --- the host's calls --- */

static enum status open_loop(struct lanes *lanes, struct error *error)
{
    const size_t bytes = TILE * sizeof(float);
    enum status status = STATUS_OK;
    for (int i = 0; i < lanes->count * STREAMS && status == STATUS_OK; i++) {
        const int device = i / STREAMS, s = i % STREAMS;
        status = select_device(device, error);
        if (status == STATUS_OK)
            status = CUDA_CHECK(
                cudaStreamCreateWithFlags(&lanes->streams[device][s], cudaStreamNonBlocking),
                error);
        if (status == STATUS_OK)
            status = CUDA_CHECK(cudaMalloc((void **)&lanes->in[device][s], bytes), error);
        if (status == STATUS_OK)
            status = CUDA_CHECK(cudaMalloc((void **)&lanes->out[device][s], bytes), error);
    }
    return status;
}

static void close_loop(struct lanes *lanes)
{
    for (int i = lanes->count * STREAMS; i > 0; i--) {
        const int device = (i - 1) / STREAMS, s = (i - 1) % STREAMS;
        CUDA_WARN(cudaSetDevice(device));
        if (lanes->streams[device][s] != NULL)
            CUDA_WARN(cudaStreamDestroy(lanes->streams[device][s]));
        CUDA_WARN(cudaFree(lanes->in[device][s])); /* it may be NULL */
        CUDA_WARN(cudaFree(lanes->out[device][s]));
    }
}

/* Sets the seconds that the calls took. Each tile is another device's than the one before. */
static enum status time_loop(const struct lanes *lanes, const struct bench_run *run,
                             double *issue_s, struct error *error)
{
    const struct kernel *kernel = run->plan.chain[0];
    const float *in = run->arrays.host[BUFFER_HOST_IN0];
    float *out = run->arrays.host[BUFFER_HOST_OUT];
    const uint32_t blocks = kernel_blocks(kernel, TILE, machine_resident_blocks(&run->machine));
    arrays_settle(); /* as a backend's run does */
    double begin = bench_now();
    for (int tile = 0; tile < TILES; tile++) {
        const int d = tile % lanes->count, s = tile / lanes->count % STREAMS;
        struct kernel_args args = {.in = {lanes->in[d][s]},
                                   .out = lanes->out[d][s],
                                   .count = TILE,
                                   .blocks = blocks,
                                   .params = {.intensity = 1}};
        cudaSetDevice(d);
        cudaMemcpyAsync(lanes->in[d][s], in + tile * TILE, TILE * sizeof(float),
                        cudaMemcpyHostToDevice, lanes->streams[d][s]);
        kernel_launcher(kernel)->launch(&args, lanes->streams[d][s]);
        cudaMemcpyAsync(out + tile * TILE, lanes->out[d][s], TILE * sizeof(float),
                        cudaMemcpyDeviceToHost, lanes->streams[d][s]);
    }
    *issue_s = bench_now() - begin;
    enum status status = CUDA_CHECK(cudaGetLastError(), error);
    return status == STATUS_OK ? wait_for_all(lanes, error) : status;
}

static enum status compare_calls(struct bench *bench, struct bench_run *run,
                                 const struct lanes *lanes, struct series *issue,
                                 struct series *cost, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = -2; i < 4 * bench->repeats && status == STATUS_OK; i++) {
        double issue_s = 0;
        struct run_times times = {0};
        if (i % 2 == 0)
            status = bench_run_once(run, NULL, &times, error);
        if (status == STATUS_OK)
            status = time_loop(lanes, run, &issue_s, error);
        if (i % 2 != 0 && status == STATUS_OK)
            status = bench_run_once(run, NULL, &times, error);
        if (i < 0 || status != STATUS_OK)
            continue; /* the first two warm up */
        series_add(issue, 1e-9 * (double)times.issue_ns / issue_s);
        series_add(cost, 1e-3 * (double)times.issue_ns / run->plan.op_count);
    }
    return status;
}

static enum status measure_calls(struct bench *bench, int devices, struct error *error)
{
    struct bench_run run;
    struct lanes lanes = {.count = devices};
    struct series issue = {0}, cost = {0};
    char arguments[128], rest[64], name[64];
    snprintf(rest, sizeof rest, "-n %d -t %d -s %d", TILES * TILE, TILES, STREAMS);
    arguments_for(devices, rest, arguments);
    enum status status = bench_run_open(&run, arguments, error);
    if (status == STATUS_OK)
        status = open_loop(&lanes, error);
    if (status == STATUS_OK)
        status = compare_calls(bench, &run, &lanes, &issue, &cost, error);
    close_loop(&lanes);
    bench_run_close(&run);
    if (status != STATUS_OK)
        return status;
    snprintf(name, sizeof name, "%d devices, time of the calls over a bare loop's", devices);
    bench_result(bench, name, &issue, "", GOAL_AT_MOST, 1.1);
    bench_result(bench, "  one op", &cost, "us", GOAL_NONE, 0);
    return STATUS_OK;
}

enum status bench_cuda_devices(struct bench *bench, struct error *error)
{
    int count;
    enum status status = CUDA_CHECK(cudaGetDeviceCount(&count), error);
    if (status != STATUS_OK)
        return status;
    if (count < 2) {
        bench_heading(bench, "several devices: left out, for there is one");
        return STATUS_OK;
    }
    if (count > MACHINE_DEVICES_MAX)
        count = MACHINE_DEVICES_MAX;
    bench_heading(bench, "tiles of 32 MiB over several devices, with bare copies at once = 1");
    for (int devices = 1; devices <= count && status == STATUS_OK; devices *= 2)
        status = measure_copies(bench, devices, error);
    if (status == STATUS_OK)
        bench_heading(bench, "issuing 2048 tiles of 4 KiB to all devices, a bare loop = 1");
    for (int devices = 2; devices <= count && status == STATUS_OK; devices *= 2)
        status = measure_calls(bench, devices, error);
    return status;
}
