/* kernel_work.c - what a launch costs, and what goes with its elements: by the row's hooks,
 * where it has them. */
#include "kernels/kernels.h"

const char *kernel_missing(const struct kernel *kernel)
{
    return kernel->host_missing != NULL ? kernel->host_missing() : NULL;
}

void kernel_work(const struct kernel *kernel, const struct kernel_params *params,
                 uint64_t count, double *bytes, double *flops)
{
    if (kernel->work != NULL) {
        kernel->work(count, params, bytes, flops);
        return;
    }
    double each = kernel_bytes_per_element(kernel);
    if (kernel->launch_per_repeat) /* the first has nothing to go on with to read */
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
