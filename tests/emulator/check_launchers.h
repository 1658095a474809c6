/* check_launchers.h - tests that launchers are right in every order that the emulator knows. */
#ifndef PIPELINE_TESTS_CHECK_LAUNCHERS_H
#define PIPELINE_TESTS_CHECK_LAUNCHERS_H

#include "cpu/cpu.h"
#include "kernels/kernel_code.h"

#include <check.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LAUNCHER_TEXT = 1024 };

/* Returns the fault of the last launch in words, valid until the next launch, or NULL if none
 * was found. A launch with a fault returns an error other than cudaSuccess, and is left where
 * it was. */
const char *emulator_fault(void);

/* What it did, and what counts as memory of CUDA's. */
const struct cpu_did *emulator_did(void);
extern struct cpu_block emulator_blocks[3];

/* Launches `kernel` on `count` elements: on several grids, in several orders, off alignment, on
 * random and on special data, twice on the same scratch. Judges each result by the row's
 * oracle, compares those of one grid with one another, and looks at the guard bytes around all
 * memory. Returns whether all is right; if not, `text` says what is not. */
bool launcher_is_right(const struct kernel *kernel, uint64_t count, char text[LAUNCHER_TEXT]);

/* The suites test every row of the table that has a launcher, on one tile and on several. */
Suite *launchers_suite(void);
Suite *tiles_suite(void);

/* The suite tests kernels as users write them, and what is seen of their accesses. */
Suite *watch_suite(void);

/* The suite tests the stencil with neighbours. */
Suite *stencil_launcher_suite(void);

#ifdef __cplusplus
}
#endif

#endif
