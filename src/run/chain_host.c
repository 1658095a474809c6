/* chain_host.c - runs a chain on host memory. */
#include "run/chain_host.h"

bool chain_host_needs_scratch(const struct kernel *const chain[], int length)
{
    return length > 1 && chain[length - 1]->shape == KERNEL_REDUCE;
}

/* The first kernel reads the input array, which must stay as it is; the maps that follow work
 * in place on its output. So only the first kernel may gather. */
void chain_host_run(const struct kernel *const chain[], int length,
                    const struct kernel_params *params, const void *in0, const void *in1,
                    const void *resident, void *out, uint64_t count, void *tile_scratch)
{
    void *mapped = chain_host_needs_scratch(chain, length) ? tile_scratch : out;
    for (int link = 0; link < length; link++) {
        const struct kernel *kernel = chain[link];
        struct kernel_args args = {
            .in = {link == 0 ? in0 : mapped, kernel->inputs == 2 ? in1 : NULL},
            .resident = resident,
            .out = kernel->shape == KERNEL_REDUCE ? out : mapped,
            .count = count,
            .params = *params,
        };
        for (; args.repeat < kernel_launches(kernel, params); args.repeat++)
            kernel_code(kernel)->host(&args);
    }
}
