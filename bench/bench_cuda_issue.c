/* bench_cuda_issue.c - the host's cost of issuing a plan against the same calls in a bare loop.
 */
#include "bench/bench_cuda.h"

#include "kernels/kernel_code.h"

#include <stdlib.h>

enum { TILES = 2048, TILE = 1024, STREAMS = 4 };

/* The bare loop, as one would write it by hand for this one case. */
struct bare_loop {
    cudaStream_t streams[STREAMS];
    float *in[STREAMS], *out[STREAMS];
};

static enum status loop_open(struct bare_loop *loop, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < STREAMS && status == STATUS_OK; i++) {
        status = CUDA_CHECK(cudaStreamCreateWithFlags(&loop->streams[i], cudaStreamNonBlocking),
                            error);
        if (status == STATUS_OK)
            status = CUDA_CHECK(cudaMalloc((void **)&loop->in[i], TILE * sizeof(float)), error);
        if (status == STATUS_OK)
            status =
                CUDA_CHECK(cudaMalloc((void **)&loop->out[i], TILE * sizeof(float)), error);
    }
    return status;
}

static void loop_close(struct bare_loop *loop)
{
    for (int i = 0; i < STREAMS; i++) {
        if (loop->streams[i] != NULL)
            CUDA_WARN(cudaStreamDestroy(loop->streams[i]));
        if (loop->in[i] != NULL)
            CUDA_WARN(cudaFree(loop->in[i]));
        if (loop->out[i] != NULL)
            CUDA_WARN(cudaFree(loop->out[i]));
    }
}

/* Sets the seconds that the calls took, and those until all was done. */
static enum status loop_time(const struct bare_loop *loop, const struct kernel *kernel,
                             uint32_t blocks, const float *in, float *out, double *issue_s,
                             double *total_s, struct error *error)
{
    arrays_settle(); /* as a backend's run does */
    double begin = bench_now();
    for (int tile = 0; tile < TILES; tile++) {
        int s = tile % STREAMS;
        struct kernel_args args = {.in = {loop->in[s]},
                                   .out = loop->out[s],
                                   .count = TILE,
                                   .blocks = blocks,
                                   .params = {.intensity = 1}};
        cudaMemcpyAsync(loop->in[s], in + tile * TILE, TILE * sizeof(float),
                        cudaMemcpyHostToDevice, loop->streams[s]);
        kernel_launcher(kernel)->launch(&args, loop->streams[s]);
        cudaMemcpyAsync(out + tile * TILE, loop->out[s], TILE * sizeof(float),
                        cudaMemcpyDeviceToHost, loop->streams[s]);
    }
    *issue_s = bench_now() - begin;
    enum status status = CUDA_CHECK(cudaGetLastError(), error);
    if (status == STATUS_OK)
        status = CUDA_CHECK(cudaDeviceSynchronize(), error);
    *total_s = bench_now() - begin;
    return status;
}

/* Runs the two in turn, so that both find clocks and queues alike, and in either order: the
 * second of a pair may find them warmer. */
static enum status compare(struct bench *bench, struct bench_run *run,
                           const struct bare_loop *loop, struct series *issue,
                           struct series *total, struct series *cost, struct error *error)
{
    const struct kernel *kernel = run->plan.chain[0];
    uint32_t blocks = kernel_blocks(kernel, TILE, machine_resident_blocks(&run->machine));
    const float *in = run->arrays.host[BUFFER_HOST_IN0];
    float *out = run->arrays.host[BUFFER_HOST_OUT];
    enum status status = STATUS_OK;
    for (int i = -2; i < 4 * bench->repeats && status == STATUS_OK; i++) {
        double issue_s, total_s;
        struct run_times times = {0};
        if (i % 2 == 0)
            status = bench_run_once(run, NULL, &times, error);
        if (status == STATUS_OK)
            status = loop_time(loop, kernel, blocks, in, out, &issue_s, &total_s, error);
        if (i % 2 != 0 && status == STATUS_OK)
            status = bench_run_once(run, NULL, &times, error);
        if (i < 0 || status != STATUS_OK)
            continue; /* the first two warm up */
        series_add(issue, 1e-9 * (double)times.issue_ns / issue_s);
        series_add(total, 1e-9 * (double)times.time_ns / total_s);
        series_add(cost, 1e-3 * (double)times.issue_ns / run->plan.op_count);
    }
    return status;
}

enum status bench_cuda_issue(struct bench *bench, struct error *error)
{
    struct bench_run run;
    struct bare_loop loop = {0};
    struct series issue = {0}, total = {0}, cost = {0};
    char arguments[128];
    snprintf(arguments, sizeof arguments, "--device=cuda -n %d -t %d -s %d", TILES * TILE,
             TILES, STREAMS);
    enum status status = bench_run_open(&run, arguments, error);
    if (status == STATUS_OK)
        status = loop_open(&loop, error);
    if (status == STATUS_OK)
        status = compare(bench, &run, &loop, &issue, &total, &cost, error);
    loop_close(&loop);
    bench_run_close(&run);
    if (status != STATUS_OK)
        return status;
    bench_heading(bench, "issuing 2048 tiles of 4 KiB, with a bare loop = 1");
    bench_result(bench, "time of the calls over the bare loop's", &issue, "", GOAL_AT_MOST,
                 1.1);
    bench_result(bench, "time until all is done over the bare loop's", &total, "", GOAL_NONE,
                 0);
    bench_result(bench, "one op", &cost, "us", GOAL_NONE, 0);
    return STATUS_OK;
}
