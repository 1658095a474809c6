/* bench_own_twins.c - the CPU twins of kernels as users write them, apart from their table: in
 * a program without CUDA their launchers are made of them. */
#include "bench/bench_own.h"

#include <math.h>

void own_light_host(const struct pipeline_work *work)
{
    const float *in = work->in[0];
    float *out = work->out;
    for (uint64_t i = 0; i < work->count; i++)
        out[i] = fmaf(OWN_LIGHT_FACTOR, in[i], OWN_LIGHT_TERM);
}

/* What all repeats come to: doing them would take longer than all the rest. */
void own_heavy_host(const struct pipeline_work *work)
{
    const double left = pow(OWN_HEAVY_FACTOR, OWN_HEAVY_REPEATS);
    const float *in = work->in[0];
    float *out = work->out;
    for (uint64_t i = 0; i < work->count; i++)
        out[i] = (float)(OWN_HEAVY_POINT + left * in[i]);
}

void own_sum_host(const struct pipeline_work *work)
{
    const float *in = work->in[0];
    double sum = 0;
    for (uint64_t i = 0; i < work->count; i++)
        sum += in[i];
    *(float *)work->out = (float)sum;
}
