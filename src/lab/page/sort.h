/* sort.h - qsort_r() as glibc has it, for every source of the page: WebAssembly's C library
 * lacks it. */
#ifndef PIPELINE_LAB_PAGE_SORT_H
#define PIPELINE_LAB_PAGE_SORT_H

#include <stddef.h>

void qsort_r(void *base, size_t count, size_t size,
             int (*compare)(const void *a, const void *b, void *context), void *context);

#endif
