/* bench_own.h - kernels as users would bring them (kernels/own_kernel.h), part of the program:
 * their CPU twins are in bench_own_kernels.c, their launchers in bench_cuda_own.cu. */
#ifndef PIPELINE_BENCH_OWN_H
#define PIPELINE_BENCH_OWN_H

#include "core/status.h"
#include "kernels/own_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every element is multiplied and something is added, once in the light kernel, which does what
 * `scale` does at intensity 1; in the heavy one over and over, from x + OWN_HEAVY_POINT on:
 * each time that draws it nearer to OWN_HEAVY_POINT, but different elements stay different, and
 * none comes near 0. */
#define OWN_LIGHT_FACTOR  (-(1.0f - 0x1p-16f))
#define OWN_LIGHT_TERM    1.0f
#define OWN_HEAVY_FACTOR  (1.0f - 0x1p-11f)
#define OWN_HEAVY_POINT   2.0f
#define OWN_HEAVY_REPEATS 3000

void own_light_host(const struct pipeline_work *work);
void own_heavy_host(const struct pipeline_work *work);
void own_sum_host(const struct pipeline_work *work);

/* They are opened as libraries of these names would be, once own_kernels_add() has said so. */
enum { OWN_LIGHT, OWN_HEAVY, OWN_SUM, OWN_KERNELS };
extern const struct pipeline_kernel own_kernels[OWN_KERNELS];
extern const char *const own_paths[OWN_KERNELS];
enum status own_kernels_add(struct error *error);

/* bench_none.c stands in their place in a program without CUDA. */
int own_light_launch(const struct pipeline_work *work, void *stream);
int own_heavy_launch(const struct pipeline_work *work, void *stream);
int own_sum_launch(const struct pipeline_work *work, void *stream);

#ifdef __cplusplus
}
#endif

#endif
