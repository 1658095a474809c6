// libs: -L/usr/local/cuda/lib64/stubs -lcuda
// One token after the other goes through the layers of a small decoder; each layer's two halves run side by side.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda.h>
#include <cuda_runtime.h>

static const unsigned width = 32 * 1024;
static const int layers = 1300, tokens = 20, depth = 900;

static void drv(CUresult r, const char *call)
{
    const char *name = "?";
    if (r == CUDA_SUCCESS)
        return;
    cuGetErrorName(r, &name);
    fprintf(stderr, "decoder: %s: %s\n", call, name);
    exit(1);
}
#define DRV(call) drv(call, #call)

__host__ __device__ static uint32_t half(uint32_t v, uint32_t salt, int n)
{
    for (int i = 0; i < n; i++)
        v = v * 1597334677u + salt;
    return v;
}

__global__ void attention(const uint32_t *left, const uint32_t *right, uint32_t *out, int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = half(left[i] ^ right[i], 3, n);
}

__global__ void perceptron(const uint32_t *left, const uint32_t *right, uint32_t *out, int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = half(left[i] + right[i], 7, n);
}

struct decoder {
    CUfunction attend, perceive;
    CUstream main, side;
    CUevent fork, join;
    CUdeviceptr left[2], right[2];
    unsigned threads;
};

static void layer(decoder &d, int number)
{
    CUdeviceptr *l = d.left, *r = d.right;
    int from = number % 2, n = depth;
    void *a[] = {&l[from], &r[from], &l[!from], &n}, *p[] = {&l[from], &r[from], &r[!from], &n};
    DRV(cuEventRecord(d.fork, d.main));
    DRV(cuStreamWaitEvent(d.side, d.fork, 0));
    DRV(cuLaunchKernel(d.perceive, width / d.threads, 1, 1, d.threads, 1, 1, 0, d.side, p, nullptr));
    DRV(cuLaunchKernel(d.attend, width / d.threads, 1, 1, d.threads, 1, 1, 0, d.main, a, nullptr));
    DRV(cuEventRecord(d.join, d.side));
    DRV(cuStreamWaitEvent(d.main, d.join, 0));
}

static double ms()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

int main()
{
    CUdevice device;
    CUcontext context;
    decoder d;
    DRV(cuInit(0));
    DRV(cuDeviceGet(&device, 0));
    DRV(cuDevicePrimaryCtxRetain(&context, device));
    DRV(cuCtxSetCurrent(context));
    if (cudaGetFuncBySymbol(&d.attend, (const void *)attention) || cudaGetFuncBySymbol(&d.perceive, (const void *)perceptron))
        return 2;
    DRV(cuStreamCreate(&d.main, CU_STREAM_NON_BLOCKING));
    DRV(cuStreamCreate(&d.side, CU_STREAM_NON_BLOCKING));
    DRV(cuEventCreate(&d.fork, CU_EVENT_DISABLE_TIMING));
    DRV(cuEventCreate(&d.join, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < 2; i++) {
        DRV(cuMemAlloc(&d.left[i], width * 4));
        DRV(cuMemAlloc(&d.right[i], width * 4));
    }
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    double least = 1e9;
    unsigned best = 0;
    for (d.threads = 64; d.threads <= 512; d.threads *= 2) { // which block is best?
        DRV(cuStreamSynchronize(d.main));
        double t = ms();
        for (int l = 0; l < 40; l++)
            layer(d, l);
        DRV(cuStreamSynchronize(d.main));
        if (ms() - t < least)
            least = ms() - t, best = d.threads;
    }
    d.threads = best;
#ifndef WRONG
    CUgraph graph;
    CUgraphExec token;
    DRV(cuStreamBeginCapture(d.main, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int l = 0; l < layers; l++)
        layer(d, l);
    DRV(cuStreamEndCapture(d.main, &graph));
    DRV(cuGraphInstantiate(&token, graph, 0));
    DRV(cuGraphUpload(token, d.main));
#endif
    DRV(cuMemsetD32Async(d.left[0], 1234567, width, d.main));
    DRV(cuMemsetD32Async(d.right[0], 7654321, width, d.main));
    DRV(cuStreamSynchronize(d.main));

    double begin = ms();
    for (int t = 0; t < tokens; t++) {
#ifdef WRONG
        for (int l = 0; l < layers; l++)
            layer(d, l);
#else
        DRV(cuGraphLaunch(token, d.main));
#endif
        DRV(cuStreamSynchronize(d.main));
    }
    double took = ms() - begin;

    uint32_t left = 1234567, right = 7654321, got[2];
    for (int l = 0; l < layers * tokens; l++) {
        uint32_t a = half(left ^ right, 3, depth), p = half(left + right, 7, depth);
        left = a, right = p;
    }
    DRV(cuMemcpyDtoH(&got[0], d.left[0] + 4 * 4321, 4));
    DRV(cuMemcpyDtoH(&got[1], d.right[0] + 4 * 1234, 4));
    bool good = got[0] == left && got[1] == right;
    printf("%d tokens, %s\npass_ms=%.4f\n", tokens, good ? "as they should be" : "WRONG", took / tokens);
    return !good;
}
