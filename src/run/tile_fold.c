/* tile_fold.c - folds tiles' values: sums them, or ANDs them. */
#include "run/tile_fold.h"

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
