/* check_kernels_util.h - data, twins and oracles for the tests of the kernels. A failure fails
 * the test. */
#ifndef PIPELINE_TESTS_CHECK_KERNELS_UTIL_H
#define PIPELINE_TESTS_CHECK_KERNELS_UTIL_H

#include "kernels/kernel_code.h"
#include "plan/plan.h"
#include "run/arrays.h"

#include <check.h>

/* Sizes at the edges of warps, blocks and parts, and larger ones. */
enum { TEST_COUNTS = 12, TEST_COUNT_MAX = 91237 };
extern const uint64_t test_counts[TEST_COUNTS];

/* This value is put behind an output, to see that nothing is written there. */
#define TEST_GUARD (-12345.5f)

/* The same random bits in every run. */
uint64_t random_bits(void);

/* Zeroed memory, freed by the caller. */
void *take_zeroed(size_t count, size_t size);

/* `count` floats, uniform in [-scale, scale), freed by the caller. */
float *random_floats(uint64_t count, float scale);

/* The row called `name`, which must be there. */
const struct kernel *table_row(const char *name);
const struct kernel_code *table_code(const char *name);

/* Runs the CPU twin of kernel `name`, as often as its work takes. `y` is NULL for a kernel of
 * one input. */
void run_host(const char *name, const void *x, const void *y, void *out, uint64_t count,
              uint32_t intensity);

/* An oracle of `count` elements that are exactly `x`. Freed by oracle_free(). */
struct oracle oracle_create(const float *x, uint64_t count);
void oracle_free(struct oracle *oracle);

/* Returns the result that kernel `name` must have for `oracle`'s elements, and in *bound how
 * far it may be off. */
double oracle_of_reduction(const char *name, const struct oracle *oracle, double *bound);

/* Returns true if `is` is within `bound` of `should`. */
bool is_right(double is, double should, double bound);

/* Runs the plan's chain on every tile of the host arrays, through the CPU twins. Not for maps
 * before a reduction. */
void run_tiles(const struct plan *plan, const struct arrays *arrays);

/* The tests of the maps, in check_kernels_maps.c. */
TCase *kernels_maps_tcase(void);

#endif
