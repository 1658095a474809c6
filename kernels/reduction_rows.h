/* reduction_rows.h - what the reductions give their rows of the table, beyond `sum` and
 * `reduce-shuffle` in kernel_rows.h. Seen only inside kernels/.
 *
 * Launchers and preloaders are weak, as kernel_rows.h says. */
#ifndef PIPELINE_REDUCTION_ROWS_H
#define PIPELINE_REDUCTION_ROWS_H

#include "kernels/kernels.h"

/* The bits of a float's exponent: all set in an infinity or a NaN, and in nothing else. */
#define FLOAT_EXPONENT_BITS UINT32_C(0x7F800000)

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

/* What not to do; as a sum of ints it has reduce-shuffle's twin and oracle, too. */
int reduce_atomic_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int reduce_atomic_preload(void) __attribute__((weak));

/* sum-int: likewise */
int sum_int_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int sum_int_preload(void) __attribute__((weak));

/* sum-double */
int sum_double_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int sum_double_preload(void) __attribute__((weak));
void sum_double_host(const struct kernel_args *args);
void sum_double_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle);
double sum_double_oracle_result(const struct oracle_sum *sum, double *bound);

/* all */
int all_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int all_preload(void) __attribute__((weak));
void all_host(const struct kernel_args *args);
void all_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle);
double all_oracle_result(const struct oracle_sum *sum, double *bound);

/* finite */
int finite_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int finite_preload(void) __attribute__((weak));
void finite_host(const struct kernel_args *args);
void finite_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle);
double finite_oracle_result(const struct oracle_sum *sum, double *bound);

#ifdef __cplusplus
}
#endif

#endif
