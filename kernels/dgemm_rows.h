/* dgemm_rows.h - what the tiled matrix product gives its row of the table.
 *
 * C = A*B + C in float64, column-major as BLAS has it: A has `rows` rows and `inner` columns, B
 * `inner` rows, C `rows`; a tile is whole columns of C and as many of B, and lies contiguous in
 * both. in[0] is the tile of C that goes in, in[1] that of B, `resident` is A, `count` the
 * elements of the tile of C.
 *
 * Weak is what a build without the CUDA Toolkit is without; see kernel_rows.h. cuBLAS and
 * OpenBLAS are opened at run time: libcublas.so and libopenblas.so of the usual names, or what
 * the environment's PIPELINE_CUBLAS and PIPELINE_OPENBLAS name instead. */
#ifndef PIPELINE_DGEMM_ROWS_H
#define PIPELINE_DGEMM_ROWS_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One cublasDgemm, on the device's memory, into the stream that args->context was made for;
 * `out` must be in[0]. cuBLAS loads what a shape needs at its first launch. */
int dgemm_launch(const struct kernel_args *args, void *stream) __attribute__((weak));

/* Opens cuBLAS. cudaErrorSharedObjectInitFailed: it can't be; dgemm_context_create() says why.
 */
int dgemm_preload(void) __attribute__((weak));

/* A cuBLAS handle for `stream`, with a workspace of 32 MiB of device memory of its own. Needs a
 * device that is current. */
const char *dgemm_context_create(void *stream, void **context, char why[KERNEL_WHY])
    __attribute__((weak));
void dgemm_context_destroy(void *context) __attribute__((weak));

/* The twin: cblas_dgemm() of OpenBLAS, with the caller's OpenMP team. `out` may be in[0]. Not
 * to be called where dgemm_host_missing() says why not. */
void dgemm_host(const struct kernel_args *args);
const char *dgemm_host_missing(void);

uint64_t dgemm_unit(const struct kernel_params *params);
uint64_t dgemm_second_count(uint64_t count, const struct kernel_params *params);
uint64_t dgemm_resident_count(const struct kernel_params *params);
void dgemm_work(uint64_t count, const struct kernel_params *params, double *bytes,
                double *flops);

/* Judges all of C without multiplying A by B again.
 *
 * Every column of C, in blocks of DGEMM_BLOCK rows, is compared through a weighted sum of its
 * rows: for weights y, y'C must be (y'A)B + y'C0, and y'A is computed once (Freivalds,
 * "Probabilistic machines can use less running time", IFIP Congress 1977). The weights are
 * fixed pseudo-random numbers of both signs with magnitudes in [1/2, 1). A block that is
 * further off than rounding allows, or that holds what is not finite, is multiplied out and
 * judged element by element; only that can fail, so every right result passes.
 *
 * Rounding: with u = 2^-53 and g(n) = nu / (1 - nu), a product of k terms and C0 in any order,
 * fused or not, is within g(k + 1) (|A||B| + |C0|) of the exact element (Higham, "Accuracy and
 * Stability of Numerical Algorithms", 3.1 and 3.5); an element may be off by that and by what
 * the judge's own product may be off, which is as much. A block of R rows is looked into when
 * its sum is off by more than g(4k + 2R + 16) times the weighted sum of magnitudes, in which
 * |A||B| is taken as the product of the rows' and columns' 2-norms, which it does not exceed:
 * three times what its elements may be off together, and the rounding of the sum itself.
 *
 * So a single wrong element is always found if it is off by more than four times that bound B
 * of its block: 1.2e-7 for k = 1408 and elements in [-1, 1), where C's are about 12. Of several
 * wrong elements in one block some might hide each other: as any one's weight is spread over
 * two intervals of 1/2, the chance of that is at most 4B divided by the largest error. Time
 * is linear in the elements of A, B and C, but for 1/DGEMM_BLOCK of the product's; memory is
 * that share of A's, and the rows' weights. */
enum { DGEMM_BLOCK = 128 };
enum kernel_verdict dgemm_check(const struct kernel_args *whole, struct kernel_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
