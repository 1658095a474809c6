/* kernel.c - the table of kernels, from the rows of kernels.def, and the functions over a
 * kernel's row: finding it, its grid, its cost, its chains. */
#include "kernels/kernel.h"

#include "core/names.h"

#include <ctype.h>
#include <string.h>

/* --- what rows name for a unit, a count or a cost of their own --- */

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

/* --- the table --- */

const struct kernel kernel_table[] = {
#define KERNEL(launcher_name, code_name, ...) {__VA_ARGS__},
#include "kernels/kernels.def"
#undef KERNEL
    {.name = NULL},
};

size_t dtype_bytes(enum dtype dtype)
{
    static const size_t bytes[DTYPE_COUNT] = {
        [DTYPE_F32] = sizeof(float),
        [DTYPE_I32] = sizeof(int32_t),
        [DTYPE_F64] = sizeof(double),
    };
    return bytes[dtype];
}

const char *dtype_name(enum dtype dtype)
{
    static const char *const names[DTYPE_COUNT] = {
        [DTYPE_F32] = "float32",
        [DTYPE_I32] = "int32",
        [DTYPE_F64] = "float64",
    };
    return names[dtype];
}

double dtype_load(enum dtype dtype, const void *from, size_t i)
{
    return dtype == DTYPE_F32   ? ((const float *)from)[i]
           : dtype == DTYPE_I32 ? ((const int32_t *)from)[i]
                                : ((const double *)from)[i];
}

const struct kernel *kernel_find(const char *name)
{
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++)
        if (strcmp(kernel->name, name) == 0)
            return kernel;
    return NULL;
}

bool kernel_is_name(const char *name)
{
    enum { NAME_MAX_BYTES = 32 };
    const size_t length = strnlen(name, NAME_MAX_BYTES);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '_')
            return false;
    return length > 0 && length < NAME_MAX_BYTES;
}

const char *kernel_nearest(const char *name)
{
    struct nearest nearest = nearest_begin(name);
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++)
        nearest_offer(&nearest, kernel->name);
    return nearest.best;
}

/* Returns the elements that a full block takes at once. */
static uint64_t elements_per_block(const struct kernel *kernel)
{
    return (uint64_t)kernel->per_thread * KERNEL_THREADS;
}

uint64_t kernel_scratch_bytes(const struct kernel *kernel, uint64_t count)
{
    if (kernel->shape == KERNEL_REDUCE)
        return KERNEL_SCRATCH_BYTES;
    if (kernel->shape != KERNEL_SCAN)
        return 0;
    /* The first part may begin before the array, by less than a line. */
    const uint64_t part = elements_per_block(kernel), more = count % part + KERNEL_LINE - 1;
    const uint64_t parts = count / part + more / part + (more % part != 0);
    return KERNEL_SCRATCH_HEAD + parts * sizeof(uint64_t);
}

uint32_t kernel_blocks(const struct kernel *kernel, uint64_t count, uint32_t resident_blocks)
{
    const uint64_t per_block = elements_per_block(kernel);
    uint64_t blocks = count / per_block + (count % per_block != 0);
    if (kernel->work != NULL)
        blocks = resident_blocks;
    if (kernel->whole_grid)
        return blocks < KERNEL_GRID_MAX ? (uint32_t)blocks : KERNEL_GRID_MAX;
    if (blocks > resident_blocks)
        blocks = resident_blocks;
    if (blocks > KERNEL_BLOCKS_MAX)
        blocks = KERNEL_BLOCKS_MAX;
    return blocks > 0 ? (uint32_t)blocks : 1;
}

bool kernel_is_elementwise(const struct kernel *kernel)
{
    return kernel->shape == KERNEL_MAP && !kernel->gathers && kernel->unit == NULL &&
           kernel->file == NULL;
}

bool kernel_joins(const struct kernel *kernel, uint64_t count)
{
    return kernel_is_elementwise(kernel) &&
           (kernel->place_period == 0 || count % kernel->place_period == 0);
}

uint32_t kernel_launches(const struct kernel *kernel, const struct kernel_params *params)
{
    return kernel->launch_per_repeat ? params->intensity : 1;
}

uint64_t kernel_chain_launches(const struct kernel *const chain[], int length,
                               const struct kernel_params *params)
{
    uint64_t launches = 0;
    for (int i = 0; i < length; i++)
        launches += kernel_launches(chain[i], params);
    return launches;
}

/* A launch that goes on with the output of the last one reads that output, too. */
double kernel_bytes_per_element(const struct kernel *kernel)
{
    const size_t read = (size_t)kernel->inputs * dtype_bytes(kernel->in) +
                        (kernel->launch_per_repeat ? dtype_bytes(kernel->out) : 0);
    const size_t written = kernel->shape == KERNEL_REDUCE ? 0 : dtype_bytes(kernel->out);
    return (double)(read + written);
}

double kernel_flops_per_element(const struct kernel *kernel, const struct kernel_params *params)
{
    const bool repeats = kernel->repeats && !kernel->launch_per_repeat;
    const double neighbours = kernel->stencil ? 4.0 * params->halo : 0;
    return kernel->flops * (repeats ? params->intensity : 1) + neighbours;
}

void kernel_work(const struct kernel *kernel, const struct kernel_params *params,
                 uint64_t count, double *bytes, double *flops)
{
    if (kernel->work != NULL) {
        kernel->work(count, params, bytes, flops);
        return;
    }
    double each = kernel_bytes_per_element(kernel);
    if (kernel->launch_per_repeat) /* the first has no output of another to read */
        each -= (double)dtype_bytes(kernel->out) / kernel_launches(kernel, params);
    *bytes = each * (double)count;
    *flops = kernel_flops_per_element(kernel, params) * (double)count;
}

uint64_t kernel_second_count(const struct kernel *kernel, const struct kernel_params *params,
                             uint64_t count)
{
    if (kernel->inputs < 2)
        return 0;
    return kernel->second_count != NULL ? kernel->second_count(count, params) : count;
}

uint64_t chain_second_count(const struct kernel *const chain[], int length,
                            const struct kernel_params *params, uint64_t count)
{
    uint64_t most = 0;
    for (int i = 0; i < length; i++) {
        const uint64_t second = kernel_second_count(chain[i], params, count);
        most = second > most ? second : most;
    }
    return most;
}

uint64_t chain_resident_bytes(const struct kernel *const chain[], int length,
                              const struct kernel_params *params)
{
    for (int i = 0; i < length; i++)
        if (chain[i]->resident_count != NULL)
            return chain[i]->resident_count(params) * dtype_bytes(chain[i]->in);
    return 0;
}

uint32_t chain_usual_intensity(const struct kernel *const chain[], int length)
{
    uint32_t least = UINT32_MAX, repeating = 0;
    for (int i = 0; i < length; i++) {
        if (!chain[i]->repeats)
            continue;
        repeating++;
        if (chain[i]->usual_intensity < least)
            least = chain[i]->usual_intensity;
    }
    return repeating > 0 && least > repeating ? least / repeating : 1;
}

uint64_t chain_unit(const struct kernel *const chain[], int length,
                    const struct kernel_params *params)
{
    const struct kernel *kernel = chain_unit_kernel(chain, length);
    return kernel != NULL ? kernel->unit(params) : 1;
}

const struct kernel *chain_unit_kernel(const struct kernel *const chain[], int length)
{
    for (int i = 0; i < length; i++)
        if (chain[i]->unit != NULL)
            return chain[i];
    return NULL;
}

/* Returns true for a kernel whose results can't take the place of its input: they are of
 * another size. */
static bool leaves_another_size(const struct kernel *kernel)
{
    return kernel->shape == KERNEL_MAP && dtype_bytes(kernel->in) != dtype_bytes(kernel->out);
}

int kernel_chain_misfit(const struct kernel *const chain[], int length)
{
    const bool ends_in_reduction = length > 1 && chain[length - 1]->shape == KERNEL_REDUCE;
    const bool first_reads_on = chain[0]->launch_per_repeat || chain[0]->gathers;
    for (int i = 1; i < length; i++)
        if (chain[i - 1]->shape == KERNEL_REDUCE || chain[i - 1]->out != chain[i]->in ||
            chain[i - 1]->alone || chain[i]->alone || chain[i]->launch_per_repeat ||
            chain[i]->gathers || (first_reads_on && chain[i]->shape == KERNEL_REDUCE))
            return i;
    if (ends_in_reduction && leaves_another_size(chain[0]))
        return length - 1;
    for (int i = 1; i < length; i++) /* they work in place */
        if (leaves_another_size(chain[i]))
            return i;
    return -1;
}

bool kernel_chain_scans(const struct kernel *const chain[], int length)
{
    for (int i = 0; i < length; i++)
        if (chain[i]->shape == KERNEL_SCAN)
            return true;
    return false;
}

const char *kernel_needs_neighbours(const struct kernel *kernel)
{
    if (kernel->shape == KERNEL_SCAN)
        return "goes on from tile to tile";
    if (kernel->unit != NULL)
        return "works on whole rows or columns of a matrix";
    return kernel->gathers ? "reads its elements at a distance" : NULL;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint32_t kernel_stride_step(uint32_t stride)
{
    uint32_t step = (uint32_t)(0.6180339887498949 * stride);
    while (step > 1 && common_divisor(stride, step) != 1)
        step--;
    return step > 0 ? step : 1;
}
