/* nasty.h - a little work on the GPU, for programs that are nasty to record. */
#ifndef NASTY_H
#define NASTY_H

#include <cuda_runtime.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

static const int nasty_count = 1 << 18;

static __global__ void add(int *values, int what)
{
    values[blockIdx.x * blockDim.x + threadIdx.x] += what;
}

struct work_stream {
    cudaStream_t stream = nullptr;
    int *device = nullptr, *host = nullptr;
    bool good;

    work_stream()
    {
        good = !cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) &&
               !cudaMalloc(&device, nasty_count * sizeof(int)) && !cudaMallocHost(&host, nasty_count * sizeof(int)) &&
               !cudaMemsetAsync(device, 0, nasty_count * sizeof(int), stream);
    }
    bool issue(int times)
    {
        for (int i = 0; i < times && good; i++) {
            add<<<nasty_count / 256, 256, 0, stream>>>(device, i);
            good = !cudaMemcpyAsync(host, device, nasty_count * sizeof(int), cudaMemcpyDeviceToHost, stream);
        }
        return good;
    }
    /* What the values are together, or -1 after an error. */
    long long finish()
    {
        if (!good || cudaStreamSynchronize(stream))
            return -1;
        long long sum = 0;
        for (int i = 0; i < nasty_count; i++)
            sum += host[i];
        good = !cudaFree(device) && !cudaFreeHost(host) && !cudaStreamDestroy(stream);
        return good ? sum : -1;
    }
};

/* Works, and returns the sum. */
static inline long long work(int times)
{
    work_stream mine;
    mine.issue(times);
    return mine.finish();
}

/* Works, and is still at it when it returns. */
static inline void start(int times)
{
    static work_stream mine;
    mine.issue(times);
}

#endif
