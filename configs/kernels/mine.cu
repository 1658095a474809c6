// mine.cu - a kernel of your own, to run with pipeline. Write your arithmetic in element().
//
//     nvcc -O3 -shared -Xcompiler -fPIC -arch=native -o mine.so mine.cu
//
// Without nvcc, for simulated machines:
//
//     gcc -O2 -shared -fPIC -x c -o mine.so mine.cu -lm
//
// Then:
//
//     pipeline kernel check ./mine.so
//     pipeline --kernel=./mine.so --tiles=auto --streams=auto
#include "pipeline/kernel.h"

#include <math.h>
#include <stddef.h>

// What becomes of one element. It depends on that element alone, wherever it is in the array.
#ifdef __CUDACC__
__host__ __device__
#endif
static float element(float x)
{
    return x / (1 + fabsf(x));
}

// The CPU twin: results of the GPU are compared with it.
static void host(const struct pipeline_work *work)
{
    const float *in = (const float *)work->in[0];
    float *out = (float *)work->out;
    for (uint64_t i = 0; i < work->count; i++)
        out[i] = element(in[i]);
}

#ifdef __CUDACC__
// Each thread takes every so many-th element: any number of blocks does the whole work.
static __global__ void map(const float *in, float *out, uint64_t count)
{
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count; i += step)
        out[i] = element(in[i]);
}

// Launches on the stream that it is given, and there alone, and does not wait.
static int launch(const struct pipeline_work *work, void *stream)
{
    map<<<work->blocks, 256, 0, (cudaStream_t)stream>>>((const float *)work->in[0],
                                                        (float *)work->out, work->count);
    return cudaGetLastError();
}
#endif

const struct pipeline_kernel pipeline_kernel = {
    .version = PIPELINE_KERNEL_VERSION,
    .inputs = 1,
    .name = "mine",
    .summary = "x / (1 + |x|)",
    .in = PIPELINE_FLOAT32,
    .out = PIPELINE_FLOAT32,
    .reduces = 0,
    .flops = 3, // of an element: an absolute value is none, an addition one, a division one or more
    .bytes = 0, // of device memory per element; 0: what is read and written, once
    .tolerance = 0, // of a float, in parts of its size; 0: as much as is usual
#ifdef __CUDACC__
    .launch = launch,
#endif
    .host = host,
};
