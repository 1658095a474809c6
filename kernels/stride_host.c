/* stride_host.c - the CPU twin of `stride-copy`, and where its oracle looks. */
#include "kernels/kernel_rows.h"
#include "kernels/transpose_rows.h"

enum { PART = 1 << 16 }; /* elements that a thread takes at a time */

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The golden section's multiples are spread the most evenly, and come near each other the
 * latest. */
uint32_t stride_copy_step(uint32_t stride)
{
    uint32_t step = (uint32_t)(0.6180339887498949 * stride);
    while (step > 1 && common_divisor(stride, step) != 1)
        step--;
    return step > 0 ? step : 1;
}

void stride_copy_host(const struct kernel_args *args)
{
    const float *in = args->in[0];
    float *out = args->out;
    const uint64_t stride = args->params.stride, each = args->count / stride;
    const uint64_t whole = each * stride, step = stride_copy_step(args->params.stride);
#pragma omp parallel for schedule(static) if (host_is_parallel(args))
    for (uint64_t first = 0; first < args->count; first += PART) {
        const uint64_t end = args->count - first < PART ? args->count : first + PART;
        uint64_t to = first;
        while (to < end && to < whole) { /* what is here of a pass */
            const uint64_t pass = to / each, column = pass * step % stride;
            for (uint64_t row = to % each; row < each && to < end; row++)
                out[to++] = in[row * stride + column];
        }
        for (; to < end; to++)
            out[to] = in[to];
    }
}

uint64_t stride_copy_gather(uint64_t place, uint64_t count, const struct kernel_params *params)
{
    const uint64_t stride = params->stride, each = count / stride;
    if (place >= each * stride)
        return place;
    const uint64_t column = place / each * stride_copy_step(params->stride) % stride;
    return place % each * stride + column;
}
