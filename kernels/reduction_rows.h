/* reduction_rows.h - what the reductions give their rows of the table, beyond `sum` and
 * `reduce-shuffle` in kernel_rows.h. Seen only inside kernels/.
 *
 * Launchers and preloaders are weak, as kernel_rows.h says. */
#ifndef PIPELINE_REDUCTION_ROWS_H
#define PIPELINE_REDUCTION_ROWS_H

#include "kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The ladder of seven. Their twin and their oracle are reduce-shuffle's. */
int reduce_divergent_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int reduce_divergent_preload(void) __attribute__((weak));
int reduce_conflicts_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int reduce_conflicts_preload(void) __attribute__((weak));
int reduce_sequential_launch(const struct kernel_args *args, void *stream)
    __attribute__((weak));
int reduce_sequential_preload(void) __attribute__((weak));
int reduce_first_add_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int reduce_first_add_preload(void) __attribute__((weak));
int reduce_last_warp_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int reduce_last_warp_preload(void) __attribute__((weak));
int reduce_unrolled_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int reduce_unrolled_preload(void) __attribute__((weak));
int reduce_many_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int reduce_many_preload(void) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
