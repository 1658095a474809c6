/*
 * contigs.cu - polishes contigs: four groups of them go round between host and device, one pass after the other.
 */
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#define GROUPS 4
#define BASES (4 * 1024 * 1024)
#define PASSES 120
#define POLISH 700

struct group {
    unsigned *host, *dev;
    cudaStream_t stream;
    cudaEvent_t back;
};

static int check(cudaError_t err, const char *name)
{
    if (err != cudaSuccess) {
        fprintf(stderr, "contigs: %s failed: %s\n", name, cudaGetErrorString(err));
        exit(1);
    }
    return 1;
}

__host__ __device__ static unsigned polish(unsigned base, unsigned seed, int times)
{
    int t;
    for (t = 0; t < times; t++)
        base = base * 1103515245u + seed;
    return base;
}

__global__ void polish_group(unsigned *base, unsigned seed, int times)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    base[i] = polish(base[i], seed, times);
}

static void go_round(struct group *groups)
{
    int g;
    for (g = 0; g < GROUPS; g++) {
        struct group *me = &groups[g];
#ifdef WRONG
        /* Wait until the group before has come back. */
        check(cudaStreamWaitEvent(me->stream, groups[(g + GROUPS - 1) % GROUPS].back, 0), "wait");
#else
        /* Wait until this group has come back. */
        check(cudaStreamWaitEvent(me->stream, me->back, 0), "wait");
#endif
        check(cudaMemcpyAsync(me->dev, me->host, sizeof(unsigned) * BASES, cudaMemcpyHostToDevice, me->stream), "copy in");
        polish_group<<<BASES / 256, 256, 0, me->stream>>>(me->dev, 2 * g + 1, POLISH);
        check(cudaGetLastError(), "launch");
        check(cudaMemcpyAsync(me->host, me->dev, sizeof(unsigned) * BASES, cudaMemcpyDeviceToHost, me->stream), "copy out");
        check(cudaEventRecord(me->back, me->stream), "record");
    }
}

int main(void)
{
    struct group groups[GROUPS];
    struct timespec then, now;
    int g, p, wrong = 0;
    unsigned i;

    for (g = 0; g < GROUPS; g++) {
        check(cudaMallocHost((void **)&groups[g].host, sizeof(unsigned) * BASES), "cudaMallocHost");
        check(cudaMalloc((void **)&groups[g].dev, sizeof(unsigned) * BASES), "cudaMalloc");
        check(cudaStreamCreateWithFlags(&groups[g].stream, cudaStreamNonBlocking), "stream");
        check(cudaEventCreateWithFlags(&groups[g].back, cudaEventDisableTiming), "event");
        for (i = 0; i < BASES; i++)
            groups[g].host[i] = i * 40503u + g;
    }
    if (getenv("FOREIGN_LOCK") != NULL) {
        int fd = open(getenv("FOREIGN_LOCK"), O_RDWR | O_CREAT, 0600);
        flock(fd, LOCK_EX);
    }
    go_round(groups);
    check(cudaDeviceSynchronize(), "warm-up");

    clock_gettime(CLOCK_MONOTONIC, &then);
    for (p = 0; p < PASSES; p++)
        go_round(groups);
    check(cudaDeviceSynchronize(), "passes");
    clock_gettime(CLOCK_MONOTONIC, &now);

    for (g = 0; g < GROUPS; g++)
        for (i = g; i < BASES; i += 34567)
            wrong += groups[g].host[i] != polish(i * 40503u + g, 2 * g + 1, POLISH * (PASSES + 1));
    printf("%d passes, %d wrong bases\n", PASSES, wrong);
    printf("pass_ms=%.4f\n", ((now.tv_sec - then.tv_sec) * 1e3 + (now.tv_nsec - then.tv_nsec) / 1e6) / PASSES);
    return wrong != 0;
}
