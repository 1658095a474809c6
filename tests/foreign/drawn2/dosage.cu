// libs: -lcuda
// Planning of a radiotherapy: beams are weighted until the dose in the organ at risk is low enough; each step's scratch is taken from the stream's pool.
#include <cuda.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define DRV(x) do { CUresult r_ = (x); if (r_ != CUDA_SUCCESS) { const char *s_ = "?"; cuGetErrorString(r_, &s_); fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, s_); exit(2); } } while (0)

enum { STEPS = 250, BEAMS = 16, VOXELS = 32 << 20 };   // 128 MiB of dose for each beam

__global__ void irradiate(float *dose, int n, float weight, int beam) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        const float at = (float)((i + beam) & 255);
        reinterpret_cast<float4 *>(dose)[i] = make_float4(weight * at, weight * (at + 1), weight * (at + 2), weight * (at + 3));
    }
}

__global__ void accumulate(const float *dose, int n, double *organ) {
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        const float4 d = reinterpret_cast<const float4 *>(dose)[i];
        sum += (double)(d.x + d.y + d.z + d.w);
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(organ, sum);
}

static CUfunction handleOf(const void *symbol) {
    cudaFunction_t f;
    if (cudaGetFuncBySymbol(&f, symbol) != cudaSuccess) { fprintf(stderr, "no such kernel\n"); exit(2); }
    return (CUfunction)f;
}

int main(void) {
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUdeviceptr organ;
    double *seen;
    DRV(cuInit(0));
    DRV(cuDeviceGet(&device, 0));
    DRV(cuDevicePrimaryCtxRetain(&context, device));
    DRV(cuCtxSetCurrent(context));
    DRV(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUfunction beamOn = handleOf((const void *)irradiate), addUp = handleOf((const void *)accumulate);
    DRV(cuMemAlloc(&organ, STEPS * sizeof(double)));
    DRV(cuMemsetD8(organ, 0, STEPS * sizeof(double)));
    DRV(cuMemAllocHost((void **)&seen, STEPS * sizeof(double)));
#ifndef WRONG
    CUmemoryPool pool;
    cuuint64_t keep = UINT64_MAX;
    DRV(cuDeviceGetDefaultMemPool(&pool, device));
    DRV(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
#endif
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    float weight = 1.0f;
    bool good = true;
    int n = VOXELS;
    DRV(cuCtxSynchronize());
    auto start = std::chrono::steady_clock::now();
    for (int step = 0; step < STEPS; step++) {
        CUdeviceptr total = organ + step * sizeof(double);
        CUdeviceptr dose[BEAMS];
        for (int b = 0; b < BEAMS; b++) DRV(cuMemAllocAsync(&dose[b], (size_t)n * sizeof(float), stream));
        for (int b = 0; b < BEAMS; b++) {
            float w = weight;
            void *on[] = {&dose[b], &n, &w, &b}, *sum[] = {&dose[b], &n, &total};
            DRV(cuLaunchKernel(beamOn, 1056, 1, 1, 256, 1, 1, 0, stream, on, NULL));
            DRV(cuLaunchKernel(addUp, 1056, 1, 1, 256, 1, 1, 0, stream, sum, NULL));
        }
        for (int b = 0; b < BEAMS; b++) DRV(cuMemFreeAsync(dose[b], stream));
        DRV(cuMemcpyDtoHAsync(&seen[step], total, sizeof(double), stream));
        DRV(cuStreamSynchronize(stream));       // the next weight comes of this dose
        const double mean = seen[step] / ((double)BEAMS * n);
        // the mean of (i & 255) + 0..3 over all voxels is 129
        if (!(mean > 0.99 * 129.0 * weight && mean < 1.01 * 129.0 * weight)) good = false;
        weight = (float)(mean > 60.0 ? weight * 0.99 : weight * 1.02);
    }
    DRV(cuCtxSynchronize());
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / STEPS;
    printf("%s, weight %.4f\n", good ? "good" : "WRONG", weight);
    printf("pass_ms=%.4f\n", ms);
    DRV(cuMemFreeHost(seen));
    DRV(cuMemFree(organ));
    return good ? 0 : 1;
}
