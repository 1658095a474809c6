/* chain_host.c - runs a chain on host memory, and folds tiles' values: sums or ANDs them. */
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

/* --- the fold of the tiles --- */

struct tile_fold tile_fold_begin(const struct plan *plan, const void *out)
{
    return (struct tile_fold){
        .plan = plan, .out = out, .integer = plan_last_kernel(plan)->fold == KERNEL_FOLD_AND};
}

void tile_fold_add(struct tile_fold *fold, int32_t tile)
{
    const struct kernel *last = plan_last_kernel(fold->plan);
    fold->tiles++;
    if (last->shape != KERNEL_REDUCE || fold->out == NULL)
        return;
    if (last->fold == KERNEL_FOLD_AND)
        fold->integer &= ((const int32_t *)fold->out)[tile] != 0;
    else if (last->out == DTYPE_I32)
        fold->integer += (uint32_t)((const int32_t *)fold->out)[tile];
    else if (last->out == DTYPE_F64)
        fold->real += ((const double *)fold->out)[tile];
    else
        fold->real += (double)((const float *)fold->out)[tile];
}

double tile_fold_value(const struct tile_fold *fold)
{
    if (plan_last_kernel(fold->plan)->out == DTYPE_I32)
        return (double)(int32_t)fold->integer;
    return fold->real;
}
