/* dgemm_host.c - the tiled matrix product: what belongs to a tile, and what it costs. */
#include "kernels/dgemm_rows.h"

/* A column of C. */
uint64_t dgemm_unit(const struct kernel_params *params)
{
    return params->rows;
}

uint64_t dgemm_second_count(uint64_t count, const struct kernel_params *params)
{
    return count / params->rows * params->inner;
}

uint64_t dgemm_resident_count(const struct kernel_params *params)
{
    return params->rows * params->inner;
}

/* Each of A, B and C is read from the device's memory once at least, and C is written. */
void dgemm_work(uint64_t count, const struct kernel_params *params, double *bytes,
                double *flops)
{
    const double c = (double)count, rows = (double)params->rows, inner = (double)params->inner;
    *bytes = (rows * inner + c / rows * inner + 2 * c) * sizeof(double);
    *flops = 2 * c * inner;
}
