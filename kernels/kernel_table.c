/* kernel_table.c - the table of kernels, from the rows of kernels.def, and the functions that
 * rows name for a unit, a count or a cost of their own. */
#include "kernels/kernel.h"

/* A row of a matrix that is transposed, or whose elements have neighbours. */
static uint64_t matrix_row(const struct kernel_params *params)
{
    return params->columns;
}

/* A column of C in the matrix product C = A*B + C. */
static uint64_t product_column(const struct kernel_params *params)
{
    return params->rows;
}

/* A tile is whole columns of C, and needs as many columns of B. */
static uint64_t product_second_count(uint64_t count, const struct kernel_params *params)
{
    return count / params->rows * params->inner;
}

/* Every tile needs all of A. */
static uint64_t product_resident_count(const struct kernel_params *params)
{
    return params->rows * params->inner;
}

/* A, B and C are read from the device's memory at least once, and C is written. */
static void product_work(uint64_t count, const struct kernel_params *params, double *bytes,
                         double *flops)
{
    const double c = (double)count, rows = (double)params->rows, inner = (double)params->inner;
    *bytes = (rows * inner + c / rows * inner + 2 * c) * sizeof(double);
    *flops = 2 * c * inner;
}

const struct kernel kernel_table[] = {
#define KERNEL(launcher_name, code_name, ...) {__VA_ARGS__},
#include "kernels/kernels.def"
#undef KERNEL
    {.name = NULL},
};
