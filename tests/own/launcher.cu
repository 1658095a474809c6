// launcher.cu - a library with a kernel whose launcher does what OWN says (make/tests.mk): what is asked
// of it, or one thing that it must not.
#include "kernels/own_kernel.h"

#include <stddef.h>

enum {
    RIGHT,
    BLIND,    // without a CPU twin
    LEGACY,   // launches on the stream that all wait for
    APART,    // launches on a stream of its own, too
    WAITS,    // waits for the device
    ALLOCATES,
    NOTHING,  // launches nothing
    BEHIND,   // writes behind its output
    SHORT,    // needs more blocks than it may get
    UNEVEN,   // its results depend on the place in the tile, and it has no twin
    BOASTER,  // says that it moves more than it does
    TOILER,   // says that it computes more than it does
};

static __global__ void triple(const float *in, float *out, uint64_t count)
{
    const uint64_t step = OWN == SHORT ? count : (uint64_t)gridDim.x * blockDim.x;
    const uint64_t end = count + (OWN == BEHIND ? 3 : 0);
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < end; i += step)
        out[i] = i < count ? 3 * in[i] + (OWN == UNEVEN && i % 1000 == 999 ? 1 : 0) : 1;
}

static void host(const struct pipeline_work *work)
{
    for (uint64_t i = 0; i < work->count; i++)
        ((float *)work->out)[i] = 3 * ((const float *)work->in[0])[i];
}

static int launch(const struct pipeline_work *work, void *given)
{
    cudaStream_t stream = OWN == LEGACY ? cudaStreamLegacy : (cudaStream_t)given;
    const float *in = (const float *)work->in[0];
    float *out = (float *)work->out;
    uint64_t count = work->count;
    void *memory = NULL;
    if (OWN == NOTHING)
        return 0;
    if (OWN == ALLOCATES && cudaMalloc(&memory, 4096) != cudaSuccess)
        return cudaGetLastError();
    if (OWN == APART && count > 1) {
        static cudaStream_t apart;
        if (apart == NULL && cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking) != cudaSuccess)
            return cudaGetLastError();
        triple<<<work->blocks, 256, 0, apart>>>(in + count / 2, out + count / 2, count - count / 2);
        count /= 2;
    }
    triple<<<work->blocks, 256, 0, stream>>>(in, out, count);
    const cudaError_t result = cudaGetLastError();
    if (OWN == WAITS)
        return cudaDeviceSynchronize();
    if (OWN == ALLOCATES)
        cudaFree(memory);
    return result;
}

const struct pipeline_kernel pipeline_kernel = {
    PIPELINE_KERNEL_VERSION, 1, "triple", NULL, PIPELINE_FLOAT32, PIPELINE_FLOAT32, 0,
    OWN == TOILER ? 1e8 : 1, OWN == BOASTER ? 80. : 0., 0, launch, OWN == BLIND || OWN == UNEVEN ? NULL : host,
};
