/* bench_cuda_pinned.c - the time until page-locked memory is ready: the arrays' way (mapped,
 * touched by all cores, registered) against cudaMallocHost. */
#include "bench/bench_cuda.h"

static enum status time_arrays_way(uint64_t bytes, double *seconds, struct error *error)
{
    uint64_t mapped;
    double begin = bench_now();
    void *memory = host_map(bytes, true, &mapped);
    if (memory == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no host memory to page-lock");
    enum status status =
        CUDA_CHECK(cudaHostRegister(memory, bytes, cudaHostRegisterDefault), error);
    *seconds = bench_now() - begin;
    if (status == STATUS_OK)
        CUDA_WARN(cudaHostUnregister(memory));
    host_unmap(memory, mapped);
    return status;
}

static enum status time_cuda_way(uint64_t bytes, double *seconds, struct error *error)
{
    void *memory;
    double begin = bench_now();
    enum status status = CUDA_CHECK(cudaMallocHost(&memory, bytes), error);
    *seconds = bench_now() - begin;
    if (status == STATUS_OK)
        CUDA_WARN(cudaFreeHost(memory));
    return status;
}

enum status bench_cuda_pinned(struct bench *bench, struct error *error)
{
    const double gib = bench->quick ? 0.25 : 1;
    const uint64_t bytes = (uint64_t)(gib * (1 << 30));
    struct series ratio = {0}, ours = {0}, theirs = {0};
    enum status status = CUDA_CHECK(cudaFree(0), error);
    for (int i = 0; i < bench->repeats && status == STATUS_OK; i++) {
        double own_s = 1, cuda_s = 1;
        status = time_arrays_way(bytes, &own_s, error);
        if (status == STATUS_OK)
            status = time_cuda_way(bytes, &cuda_s, error);
        if (status != STATUS_OK)
            return status;
        series_add(&ours, own_s / gib);
        series_add(&theirs, cuda_s / gib);
        series_add(&ratio, cuda_s / own_s);
    }
    bench_heading(bench, "page-locked memory, fresh each time");
    bench_result(bench, "cudaMallocHost over map, touch and register", &ratio, "times",
                 GOAL_AT_LEAST, 4);
    bench_result(bench, "map, touch and register", &ours, "s/GiB", GOAL_NONE, 0);
    bench_result(bench, "cudaMallocHost", &theirs, "s/GiB", GOAL_NONE, 0);
    return STATUS_OK;
}
