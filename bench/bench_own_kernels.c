/* bench_own_kernels.c - kernels as users write them, as if from libraries. */
#include "bench/bench_own.h"

#include "kernels/own.h"

const struct pipeline_kernel own_kernels[OWN_KERNELS] = {
    [OWN_LIGHT] = {.version = PIPELINE_KERNEL_VERSION,
                   .inputs = 1,
                   .name = "own-light",
                   .flops = 2,
                   .launch = own_light_launch,
                   .host = own_light_host},
    /* Each repeat errs by a rounding of some 2, of which the factor leaves a part: at most
     * 2^11 * 2^-24 * 3 in all, of a result near 2. */
    [OWN_HEAVY] = {.version = PIPELINE_KERNEL_VERSION,
                   .inputs = 1,
                   .name = "own-heavy",
                   .flops = 2 * OWN_HEAVY_REPEATS + 1,
                   .tolerance = 0x1p-11,
                   .launch = own_heavy_launch,
                   .host = own_heavy_host},
    [OWN_SUM] = {.version = PIPELINE_KERNEL_VERSION,
                 .inputs = 1,
                 .name = "own-sum",
                 .reduces = 1,
                 .flops = 1,
                 .launch = own_sum_launch,
                 .host = own_sum_host},
};

const char *const own_paths[OWN_KERNELS] = {"bench/light.so", "bench/heavy.so", "bench/sum.so"};

enum status own_kernels_add(struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < OWN_KERNELS && status == STATUS_OK; i++)
        status = kernel_own_add(own_paths[i], &own_kernels[i], error);
    return status;
}
