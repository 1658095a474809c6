/* scan_rows.h - what the scans give their rows of the table. Seen only inside kernels/; see
 * kernel_rows.h. */
#ifndef PIPELINE_SCAN_ROWS_H
#define PIPELINE_SCAN_ROWS_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

int scan_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int scan_preload(void) __attribute__((weak));
int scan_exclusive_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int scan_exclusive_preload(void) __attribute__((weak));
int scan_naive_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int scan_naive_preload(void) __attribute__((weak));
int scan_efficient_launch(const struct kernel_args *args, void *stream) __attribute__((weak));
int scan_efficient_preload(void) __attribute__((weak));
int scan_conflict_free_launch(const struct kernel_args *args, void *stream)
    __attribute__((weak));
int scan_conflict_free_preload(void) __attribute__((weak));

/* One twin for all that are inclusive, and one for the others: integers have one right sum. */
void scan_inclusive_host(const struct kernel_args *args);
void scan_exclusive_host(const struct kernel_args *args);

#ifdef __cplusplus
}
#endif

#endif
