// Three filters in a row on each of many patches; a patch fills a part of the GPU, so that several should
// be at work at once.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

typedef std::uint32_t u32;

static void cuda_ok(cudaError_t error, const char *file, int line)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s:%d: %s (%d)\n", file, line, cudaGetErrorString(error), error);
        std::exit(13);
    }
}
#define OK(x) cuda_ok(x, __FILE__, __LINE__)

const int side = 256, patches = 256, streams = 8, threads = 128, blocks = side * side / threads / 8;
const int effort = 3300;

__host__ __device__ u32 first_filter(u32 v, int n)
{
    for (int i = 0; i < n; i++) v = (v ^ v << 13) + 0x6d2b79f5u;
    return v;
}
__host__ __device__ u32 second_filter(u32 v, int n)
{
    for (int i = 0; i < n; i++) v = (v ^ v >> 17) * 0x85ebca6bu;
    return v;
}
__host__ __device__ u32 third_filter(u32 v, int n)
{
    for (int i = 0; i < n; i++) v = (v ^ v << 5) - (v >> 3);
    return v;
}

template <u32 filter(u32, int)> __global__ void apply(u32 *patch, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < side * side; i += gridDim.x * blockDim.x)
        patch[i] = filter(patch[i], n);
}

static u32 *host, *device[streams];
static cudaStream_t stream[streams];

static void go(int patch, int n)
{
    int s = patch % streams;
    u32 *here = host + patch * side * side;
    OK(cudaMemcpyAsync(device[s], here, side * side * 4, cudaMemcpyHostToDevice, stream[s]));
    apply<first_filter><<<blocks, threads, 0, stream[s]>>>(device[s], n);
    apply<second_filter><<<blocks, threads, 0, stream[s]>>>(device[s], n);
    apply<third_filter><<<blocks, threads, 0, stream[s]>>>(device[s], n);
    OK(cudaGetLastError());
    OK(cudaMemcpyAsync(here, device[s], side * side * 4, cudaMemcpyDeviceToHost, stream[s]));
}

int main()
{
#ifdef WRONG
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1); // tuned for the old machine
#endif
    OK(cudaMallocHost(&host, patches * side * side * 4));
    for (int s = 0; s < streams; s++) {
        OK(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
        OK(cudaMalloc(&device[s], side * side * 4));
        go(s, 1);
    }
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < patches * side * side; i++) host[i] = i * 2246822519u;

    nvtxRangePushA("work");
    timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int p = 0; p < patches; p++) go(p, effort);
    OK(cudaDeviceSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &to);
    nvtxRangePop();

    for (int i = 0; i < patches * side * side; i += 4001)
        if (host[i] != third_filter(second_filter(first_filter(i * 2246822519u, effort), effort), effort))
            return std::printf("patch %d is wrong\n", i / side / side), 1;
    std::puts("all patches are filtered");
    std::printf("time_ms=%.3f\n", (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6);
}
