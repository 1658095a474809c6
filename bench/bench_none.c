/* bench_none.c - stands in the place of the benchmarks that need CUDA in a program that was
 * built without it. There is no device then, so only bench_cuda_context() is ever called; and
 * the launchers of users' kernels, where the device is a fake. */
#include "bench/bench.h"
#include "bench/bench_contest.h"
#include "bench/bench_own.h"

#include <stdlib.h>

int bench_cuda_context(void)
{
    return EXIT_FAILURE;
}

void bench_cuda_clocks(char text[64])
{
    text[0] = '\0';
}

enum status contest_run_cuda(struct bench *bench, struct contest *contest, struct error *error)
{
    (void)bench;
    (void)contest;
    return error_set(error, STATUS_NO_DEVICE, "this program was built without CUDA");
}

void bench_cuda_bare_close(struct bare_copies *copies)
{
    (void)copies;
}

enum status bench_cuda_bare(struct bare_copies **copies, const struct bench_run *run,
                            uint64_t bytes, double *time_ms, struct error *error)
{
    (void)copies;
    (void)run;
    (void)bytes;
    (void)time_ms;
    return contest_run_cuda(NULL, NULL, error);
}

#define NO_GROUP(name)                                                                         \
    enum status name(struct bench *bench, struct error *error)                                 \
    {                                                                                          \
        return contest_run_cuda(bench, NULL, error);                                           \
    }
NO_GROUP(bench_cuda_copies)
NO_GROUP(bench_cuda_devices)
NO_GROUP(bench_cuda_exchange)
NO_GROUP(bench_cuda_dgemm)
NO_GROUP(bench_cuda_allocs)
NO_GROUP(bench_cuda_graphs)
NO_GROUP(bench_cuda_issue)
NO_GROUP(bench_cuda_pinned)
NO_GROUP(bench_cuda_tracing)

#define NO_PEER(name)                                                                          \
    int name(const struct kernel_args *args, void *stream)                                     \
    {                                                                                          \
        (void)args;                                                                            \
        (void)stream;                                                                          \
        return -1;                                                                             \
    }
NO_PEER(peer_reduce_f32)
NO_PEER(peer_reduce_f64)
NO_PEER(peer_reduce_i32)
NO_PEER(peer_scan_i32)
NO_PEER(peer_exclusive_scan_i32)
NO_PEER(peer_read)
NO_PEER(peer_copy)

uint64_t peer_scratch_bytes(uint64_t count)
{
    (void)count;
    return 0;
}

/* The memory of a device is the host's on tests/gpu/fake_runtime.c, the only one that these are
 * run on. */
#define OWN_ON_CPU(name)                                                                       \
    int name##_launch(const struct pipeline_work *work, void *stream)                          \
    {                                                                                          \
        (void)stream;                                                                          \
        name##_host(work);                                                                     \
        return 0;                                                                              \
    }
OWN_ON_CPU(own_light)
OWN_ON_CPU(own_heavy)
OWN_ON_CPU(own_sum)
