/* bench_cuda_own.cu - kernels as users would write them, by docs/your-kernel.md: without any of the help that the program's own have. */
#include "bench/bench_own.h"

#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP };

static __global__ void light(const float *in, float *out, uint64_t count)
{
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * blockDim.x)
        out[i] = fmaf(OWN_LIGHT_FACTOR, in[i], OWN_LIGHT_TERM);
}

int own_light_launch(const struct pipeline_work *work, void *stream)
{
    light<<<work->blocks, THREADS, 0, (cudaStream_t)stream>>>((const float *)work->in[0],
                                                              (float *)work->out, work->count);
    return cudaGetLastError();
}

static __global__ void heavy(const float *in, float *out, uint64_t count)
{
    const float term = OWN_HEAVY_POINT * (1 - OWN_HEAVY_FACTOR);
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * blockDim.x) {
        float x = in[i] + OWN_HEAVY_POINT;
#pragma unroll 20
        for (int repeat = 0; repeat < OWN_HEAVY_REPEATS; repeat++)
            x = fmaf(OWN_HEAVY_FACTOR, x, term);
        out[i] = x;
    }
}

int own_heavy_launch(const struct pipeline_work *work, void *stream)
{
    heavy<<<work->blocks, THREADS, 0, (cudaStream_t)stream>>>((const float *)work->in[0],
                                                              (float *)work->out, work->count);
    return cudaGetLastError();
}

static __device__ float warp_sum(float x)
{
    for (int away = WARP / 2; away > 0; away /= 2)
        x += __shfl_down_sync(0xFFFFFFFF, x, away);
    return x;
}

static __global__ void sum(const float *in, float *out, uint64_t count)
{
    __shared__ float sums[WARPS];
    float mine = 0;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * blockDim.x)
        mine += in[i];
    mine = warp_sum(mine);
    if (threadIdx.x % WARP == 0)
        sums[threadIdx.x / WARP] = mine;
    __syncthreads();
    if (threadIdx.x >= WARP)
        return;
    mine = warp_sum(threadIdx.x < WARPS ? sums[threadIdx.x] : 0);
    if (threadIdx.x == 0)
        atomicAdd(out, mine);
}

int own_sum_launch(const struct pipeline_work *work, void *stream)
{
    const int code = cudaMemsetAsync(work->out, 0, sizeof(float), (cudaStream_t)stream);
    if (code != cudaSuccess)
        return code;
    sum<<<work->blocks, THREADS, 0, (cudaStream_t)stream>>>((const float *)work->in[0],
                                                            (float *)work->out, work->count);
    return cudaGetLastError();
}
