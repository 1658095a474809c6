/* map_rows.h - what the lectures' maps give their rows of the table, beyond `scale` and `wave`
 * in kernel_rows.h. Seen only inside kernels/.
 *
 * Launchers and preloaders are weak, as kernel_rows.h says. */
#ifndef PIPELINE_MAP_ROWS_H
#define PIPELINE_MAP_ROWS_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The element with index `i` of its tile takes the first branch, one repeat of `scale`: it
 * mirrors x at a fixed point near 1/2. Or the second, the same about -1/2. A warp takes 32
 * elements in a row, wherever its tile begins. */
#define UNIFORM_TAKES_SECOND(i)   ((i) / 32 % 2 != 0)
#define DIVERGENT_TAKES_SECOND(i) ((i) % 2 != 0)

/* uniform */
int uniform_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int uniform_preload(void) __attribute__((weak));
void uniform_host(const struct kernel_args *args);
void uniform_oracle(struct oracle *oracle, const void *second,
                    const struct kernel_params *params);

/* divergent */
int divergent_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int divergent_preload(void) __attribute__((weak));
void divergent_host(const struct kernel_args *args);
void divergent_oracle(struct oracle *oracle, const void *second,
                      const struct kernel_params *params);

/* wave-launches: the oracle is wave's */
int wave_launches_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int wave_launches_preload(void) __attribute__((weak));
void wave_launches_host(const struct kernel_args *args);

#ifdef __cplusplus
}
#endif

#endif
