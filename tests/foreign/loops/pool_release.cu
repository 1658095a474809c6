// Every request gets a large workspace from the device's own pool, and is answered before the next one comes.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

static void pass_or_die(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "requests, line %d: %s\n", line, cudaGetErrorString(e));
        exit(15);
    }
}
#define DO(x) pass_or_die((x), __LINE__)

enum { WORDS = 96 << 20, REQUESTS = 150, TURNS = 3 };

__global__ void spread(unsigned *space, unsigned seed)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < WORDS; i += gridDim.x * blockDim.x)
        space[i] = (i ^ seed) * 2654435761u;
}

__global__ void stir(unsigned *space)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < WORDS; i += gridDim.x * blockDim.x)
        space[i] = space[i] * 3u + 1u;
}

__global__ void gather(const unsigned *space, unsigned *answer)
{
    unsigned sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < WORDS; i += gridDim.x * blockDim.x)
        sum += space[i];
    for (int to = 16; to > 0; to /= 2)
        sum += __shfl_down_sync(~0u, sum, to);
    if (threadIdx.x % 32 == 0)
        atomicAdd(answer, sum);
}

static unsigned answer_to(cudaStream_t stream, unsigned *device, unsigned *home, unsigned seed)
{
    unsigned *space;

    DO(cudaMallocAsync((void **)&space, WORDS * 4ul, stream));
    spread<<<1056, 512, 0, stream>>>(space, seed);
    for (int i = 0; i < TURNS; i++)
        stir<<<1056, 512, 0, stream>>>(space);
    DO(cudaMemsetAsync(device, 0, 4, stream));
    gather<<<1056, 512, 0, stream>>>(space, device);
    DO(cudaGetLastError());
    DO(cudaFreeAsync(space, stream));
    DO(cudaMemcpyAsync(home, device, 4, cudaMemcpyDeviceToHost, stream));
    DO(cudaStreamSynchronize(stream));
    return *home;
}

int main(void)
{
    const char *lock = getenv("FOREIGN_LOCK");
    unsigned *device, *home, last = 0, want = 0;
    cudaStream_t stream;
    struct timespec a, b;

#ifndef WRONG
    cudaMemPool_t pool;
    uint64_t keep = UINT64_MAX;
    DO(cudaDeviceGetDefaultMemPool(&pool, 0));
    DO(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
#endif
    DO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    DO(cudaMalloc((void **)&device, 4));
    DO(cudaMallocHost((void **)&home, 4));
    if (lock)
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    for (int i = 0; i < 3; i++)
        answer_to(stream, device, home, i);

    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int r = 0; r < REQUESTS; r++)
        last = answer_to(stream, device, home, 100 + r);
    clock_gettime(CLOCK_MONOTONIC, &b);

    for (unsigned i = 0; i < WORDS; i++) {
        unsigned v = (i ^ (100 + REQUESTS - 1)) * 2654435761u;
        for (int t = 0; t < TURNS; t++)
            v = v * 3 + 1;
        want += v;
    }
    printf("%d requests, %s\n", REQUESTS, last == want ? "answered" : "answered wrongly");
    printf("pass_ms=%.4f\n", ((b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6) / REQUESTS);
    return last != want;
}
