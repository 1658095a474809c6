/* own.cu - libraries with a kernel each, for the programs of --emit: OWN_... says which. nvcc makes
 * ones for a GPU. A C++ compiler makes ones for src/cpu, whose calls they find in the program that
 * loads them: pipeline, which loads them, too, has none. */
#include "kernels/own_kernel.h"

#ifndef __CUDACC__
#include "src/cpu/include/pipeline_cpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#endif

#include <math.h>
#include <stddef.h>

#ifdef __CUDACC__
#define BOTH static __host__ __device__
#else
#define BOTH static
#endif

#if defined OWN_ints || defined OWN_intsoff || defined OWN_count || defined OWN_countoff
typedef int32_t number;
typedef uint32_t total;
#define TYPE PIPELINE_INT32
#elif defined OWN_twice || defined OWN_squares || defined OWN_retyped
typedef double number, total;
#define TYPE PIPELINE_FLOAT64
#else
typedef float number;
typedef double total;
#define TYPE PIPELINE_FLOAT32
#endif

#if defined OWN_count || defined OWN_countoff || defined OWN_squares || defined OWN_total || defined OWN_totaloff || defined OWN_weighted
#define REDUCES 1
#else
#define REDUCES 0
#endif

#ifdef OWN_widened
#define RESULT PIPELINE_FLOAT64 /* it is not run */
#else
#define RESULT TYPE
#endif

#if defined OWN_axpy
#define INPUTS 2
#else
#define INPUTS 1
#endif

/* Returns what element i of the output is or, of a reduction, what it adds. `wrong` is 1 where the
 * launcher alone is to be wrong, and does it. */
BOTH total element(const number *in, const number *second, uint64_t i, int wrong)
{
    (void)second, (void)wrong;
#if defined OWN_ints || defined OWN_intsoff
    return (uint32_t)in[i] * 3u - 1u + (uint32_t)(wrong && i == 3);
#elif defined OWN_count || defined OWN_countoff
    return (uint32_t)in[i] + (uint32_t)(wrong && i == 3);
#elif defined OWN_squares
    return in[i] * in[i];
#elif defined OWN_twice || defined OWN_retyped
    return 2 * in[i] - 1;
#elif defined OWN_axpy
    return 3 * in[i] + second[i];
#elif defined OWN_total || defined OWN_totaloff
    return in[i] - 0.25f + (wrong && i == 3 ? 1 : 0);
#elif defined OWN_weighted /* by its place in what is added up */
    return in[i] * (total)i;
#elif defined OWN_steep /* what comes in a little off goes out far off */
    return (in[i] - 0.5f) * 1000;
#elif defined OWN_place
    return in[i] + (float)(i % 101);
#elif defined OWN_lost
    return i == 7 && wrong ? NAN : in[i];
#elif defined OWN_edges /* infinities and no numbers are results, too */
    return in[i] > 0.5f ? INFINITY : in[i] > 0.25f ? NAN : -in[i];
#elif defined OWN_edgeoff
    return in[i] > 0.5f && !wrong ? INFINITY : in[i];
#else /* half and its kind */
    return (in[i] > 0.5f ? in[i] / 2 : expm1f(in[i])) + (wrong && i == 3 ? 0.01f : 0);
#endif
}

#if defined OWN_halfoff || defined OWN_intsoff || defined OWN_totaloff || defined OWN_countoff || defined OWN_lost || defined OWN_edgeoff
#define WRONG 1
#else
#define WRONG 0
#endif

static void work_on(const struct pipeline_work *work, int wrong)
{
    const number *in = (const number *)work->in[0], *second = (const number *)work->in[1];
    number *out = (number *)work->out;
    total sum = 0;
    for (uint64_t i = 0; i < work->count; i++) {
        const total result = element(in, second, i, wrong);
        if (REDUCES)
            sum += result;
        else
            out[i] = (number)result;
    }
    if (REDUCES)
        out[0] = (number)sum;
}

[[maybe_unused]] static void host(const struct pipeline_work *work)
{
    work_on(work, 0);
}

#ifdef __CUDACC__

/* A reduction has one block. */
static __global__ void kernel(const number *in, const number *second, number *out, uint64_t count)
{
    __shared__ total sums[256];
    sums[threadIdx.x] = 0;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count; i += (uint64_t)gridDim.x * blockDim.x) {
        const total result = element(in, second, i, WRONG);
        if (REDUCES)
            sums[threadIdx.x] += result;
        else
            out[i] = (number)result;
    }
    __syncthreads();
    for (int i = 1; REDUCES && threadIdx.x == 0 && i < 256; i++)
        sums[0] += sums[i];
    if (REDUCES && threadIdx.x == 0)
        *out = (number)sums[0];
}

[[maybe_unused]] static int launch(const struct pipeline_work *work, void *stream)
{
    kernel<<<REDUCES ? 1 : work->blocks, 256, 0, (cudaStream_t)stream>>>((const number *)work->in[0], (const number *)work->in[1],
                                                                     (number *)work->out, work->count);
    return cudaGetLastError();
}

#else

/* One thread of the first block does all of it. */
static void thread(void *work)
{
    if (*(const unsigned *)dlsym(RTLD_DEFAULT, "blockIdx") == 0)
        work_on((const struct pipeline_work *)work, WRONG);
}

[[maybe_unused]] static int launch(const struct pipeline_work *work, void *stream)
{
    if (work->blocks == 0)
        return 1;
#ifdef OWN_fails
    return 1;
#endif
    struct held {
        struct pipeline_work work;
        uint64_t words[3];
    } *held = (struct held *)malloc(sizeof *held);
    *held = {*work, {(uintptr_t)work->in[0], (uintptr_t)work->in[1], (uintptr_t)work->out}};
    const struct cpu_launch made = {
        NULL, "map", NULL, 0, {work->blocks, 1, 1}, {1, 1, 1}, 0, false, 0, thread, held, free, held->words, 3};
    return ((decltype(pipeline_launch) *)dlsym(RTLD_DEFAULT, "pipeline_launch"))(&made, (struct CUstream_st *)stream);
}

#endif

#ifdef OWN_none
extern "C" const int nothing = 0;
#else
extern "C" const struct pipeline_kernel pipeline_kernel = {
#ifdef OWN_newer
    PIPELINE_KERNEL_VERSION + 1,
#else
    PIPELINE_KERNEL_VERSION,
#endif
    INPUTS,
#ifdef OWN_clash
    "ha-lf",
#elif defined OWN_clash2
    "ha_lf",
#else
    "half",
#endif
    NULL, TYPE, RESULT, REDUCES, 2, 0, 0,
#ifdef OWN_blind
    NULL,
#else
    launch,
#endif
    host,
};
#endif
