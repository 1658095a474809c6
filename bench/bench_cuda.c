/* bench_cuda.c - bare copies, and whole pipelines against them. */
#include "bench/bench_cuda.h"

#include <inttypes.h>
#include <stdlib.h>

int bench_cuda_context(void)
{
    return cudaFree(0) == cudaSuccess ? 0 : EXIT_FAILURE;
}

enum status bare_copies_open(struct bare_copies *copies, uint64_t bytes, struct error *error)
{
    size_t available, all;
    enum status status = CUDA_CHECK(cudaMemGetInfo(&available, &all), error);
    copies->chunk = bytes < available / 4 ? bytes : available / 4;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        status = CUDA_CHECK(
            cudaStreamCreateWithFlags(&copies->streams[i], cudaStreamNonBlocking), error);
        if (status == STATUS_OK)
            status = CUDA_CHECK(cudaMalloc((void **)&copies->device[i], copies->chunk), error);
    }
    /* The device memory is not zeros: hardware may copy those faster. */
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaMemset(copies->device[1], 0x5A, copies->chunk), error);
    return status;
}

void bare_copies_close(struct bare_copies *copies)
{
    for (int i = 0; i < 2; i++) {
        if (copies->streams[i] != NULL)
            CUDA_WARN(cudaStreamDestroy(copies->streams[i]));
        if (copies->device[i] != NULL)
            CUDA_WARN(cudaFree(copies->device[i]));
    }
}

enum status bare_copies_time(struct bare_copies *copies, const void *in, void *out,
                             uint64_t bytes, double *seconds, struct error *error)
{
    arrays_settle(); /* as a backend's run does */
    double begin = bench_now();
    enum status status = STATUS_OK;
    for (uint64_t at = 0; at < bytes && status == STATUS_OK; at += copies->chunk) {
        uint64_t left = bytes - at, now = left < copies->chunk ? left : copies->chunk;
        status = CUDA_CHECK(cudaMemcpyAsync(copies->device[0], (const char *)in + at, now,
                                            cudaMemcpyHostToDevice, copies->streams[0]),
                            error);
        if (status == STATUS_OK)
            status = CUDA_CHECK(cudaMemcpyAsync((char *)out + at, copies->device[1], now,
                                                cudaMemcpyDeviceToHost, copies->streams[1]),
                                error);
    }
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaDeviceSynchronize(), error);
    *seconds = bench_now() - begin;
    return status;
}

enum status bench_cuda_bare(struct bare_copies **copies, const struct bench_run *run,
                            uint64_t bytes, double *time_ms, struct error *error)
{
    double seconds = 0;
    enum status status = STATUS_OK;
    if (*copies == NULL) {
        *copies = calloc(1, sizeof **copies);
        if (*copies == NULL)
            return error_no_memory(error, "for bare copies");
        status = bare_copies_open(*copies, bytes, error);
    }
    if (status == STATUS_OK)
        status = bare_copies_time(*copies, run->arrays.host[BUFFER_HOST_IN0],
                                  run->arrays.host[BUFFER_HOST_OUT], bytes, &seconds, error);
    *time_ms = 1e3 * seconds;
    return status;
}

void bench_cuda_bare_close(struct bare_copies *copies)
{
    if (copies != NULL)
        bare_copies_close(copies);
    free(copies);
}

/* Runs bare copies and a pipeline in turn; each repeat gives one ratio. */
static enum status compare(struct bench *bench, struct bench_run *run, struct series *ratios,
                           struct series *rates, struct error *error)
{
    struct bare_copies copies = {0};
    uint64_t bytes = run->arrays.bytes[BUFFER_HOST_IN0];
    const void *in = run->arrays.host[BUFFER_HOST_IN0];
    void *out = run->arrays.host[BUFFER_HOST_OUT];
    enum status status = bare_copies_open(&copies, bytes, error);
    for (int i = -1; i < bench->repeats && status == STATUS_OK; i++) {
        struct run_times times = {0};
        double bare_s;
        status = bare_copies_time(&copies, in, out, bytes, &bare_s, error);
        if (status == STATUS_OK)
            status = bench_run_once(run, NULL, &times, error);
        if (status != STATUS_OK || i < 0)
            continue; /* the first warms up */
        series_add(ratios, bare_s / (1e-9 * (double)times.time_ns));
        series_add(rates, (double)bytes / (double)times.time_ns);
    }
    bare_copies_close(&copies);
    return status;
}

/* Holds one pipeline against bare copies of the same bytes in the same memory. */
static enum status measure(struct bench *bench, const char *name, const char *arguments,
                           double goal, struct error *error)
{
    struct bench_run run;
    struct series ratios = {0}, rates = {0};
    enum status status = bench_run_open(&run, arguments, error);
    if (status == STATUS_OK)
        status = compare(bench, &run, &ratios, &rates, error);
    bench_run_close(&run);
    if (status != STATUS_OK)
        return status;
    bench_result(bench, name, &ratios, "", goal > 0 ? GOAL_AT_LEAST : GOAL_NONE, goal);
    bench_result(bench, "  each way", &rates, "GB/s", GOAL_NONE, 0);
    return STATUS_OK;
}

enum status bench_cuda_copies(struct bench *bench, struct error *error)
{
    /* The first copy in and the last one out do not overlap with others, which weighs more in
     * less data: the quick pipelines miss their goals. */
    const char *large = bench->quick ? "-n 128M -t 16" : "-n 1G -t 128";
    const char *small = bench->quick ? "-n 64M -t 32" : "-n 256M -t 32";
    const struct {
        const char *name, *size, *arguments;
        double goal;
    } cases[] = {
        {"stage layout, 3 slots, over bare copies", large, "--layout=stage -s 3", 0.98},
        {"stage layout, 4 slots, over bare copies", large, "--layout=stage -s 4", 0.98},
        {"tile layout, 4 streams, depth, over bare copies", small, "--order=depth -s 4", 0.94},
        {"tile layout, 4 streams, breadth, over bare copies", small, "--order=breadth -s 4",
         0.94},
    };
    bench_heading(bench, "pipelines, with the same bytes copied bare = 1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "--device=cuda %s %s", cases[i].size,
                 cases[i].arguments);
        enum status status = measure(bench, cases[i].name, arguments, cases[i].goal, error);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}
