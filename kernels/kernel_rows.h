/* kernel_rows.h - what each kernel gives its row of the table. Seen only inside kernels/.
 *
 * Launchers and preloaders are weak: where the .cu files are not linked, their addresses are
 * NULL and so are the table's. They must be linked as objects: a weak name pulls nothing from a
 * library. Twins and oracles are always there. */
#ifndef PIPELINE_KERNEL_ROWS_H
#define PIPELINE_KERNEL_ROWS_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Half the distance between 1 and the next float: a rounded result is within this, relatively.
 */
#define FLOAT_ROUNDING 0x1p-24

/* One repeat of `scale` is x = SCALE_FACTOR * x + SCALE_TERM. Each repeat mirrors x at a fixed
 * point near 1/2 and draws it nearer by 2^-16 of its distance. So nothing overflows however
 * often it is repeated, nothing settles within 65536 repeats, and different inputs stay
 * different. */
#define SCALE_FACTOR (-(1.0f - 0x1p-16f))
#define SCALE_TERM   1.0f

/* One repeat of `wave` is v = f(x + WAVE_FEEDBACK * v, y), from v = 0: the first is the
 * lecture's f(x, y) itself. Repeating v = f(v, y) would not do: it settles on one value and
 * forgets x. */
#define WAVE_FEEDBACK 0.25f

/* Whether a twin's work is worth a team of threads, which costs some microseconds. */
static inline bool host_is_parallel(const struct kernel_args *args)
{
    return (double)args->count * args->params.intensity >= 32768;
}

/* Has a function built for the wider vector units of newer processors too; which one runs is
 * decided when the program is loaded. Results are the same: no operation is fused or reordered.
 * Only where the compiler can; not under the address sanitizer, which is not ready that early.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                         \
    !defined(__SANITIZE_ADDRESS__)
#define HOST_VECTOR_CLONES                                                                     \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HOST_VECTOR_CLONES
#endif

/* scale */
int scale_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int scale_preload(void) __attribute__((weak));
void scale_host(const struct kernel_args *args);
void scale_oracle(struct oracle *oracle, const void *second,
                  const struct kernel_params *params);

/* wave */
int wave_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int wave_preload(void) __attribute__((weak));
void wave_host(const struct kernel_args *args);
void wave_oracle(struct oracle *oracle, const void *second, const struct kernel_params *params);

/* sum */
int sum_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int sum_preload(void) __attribute__((weak));
void sum_host(const struct kernel_args *args);
void sum_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle);
double sum_oracle_result(const struct oracle_sum *sum, double *bound);

/* reduce-shuffle */
int reduce_shuffle_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int reduce_shuffle_preload(void) __attribute__((weak));
void reduce_shuffle_host(const struct kernel_args *args);
void reduce_shuffle_oracle_fold(struct oracle_sum *sum, const struct oracle *oracle);
double reduce_shuffle_oracle_result(const struct oracle_sum *sum, double *bound);

#ifdef __cplusplus
}
#endif

#endif
