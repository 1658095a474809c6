/* sort.c - stands for qsort_r(), which a page's C library lacks: by qsort(). A page has one
 * thread, and no comparison sorts. */
#include "lab/page/sort.h"

#include <stdlib.h>

static struct {
    int (*compare)(const void *a, const void *b, void *context);
    void *context;
} now;

static int compare_now(const void *a, const void *b)
{
    return now.compare(a, b, now.context);
}

void qsort_r(void *base, size_t count, size_t size,
             int (*compare)(const void *a, const void *b, void *context), void *context)
{
    now.compare = compare;
    now.context = context;
    qsort(base, count, size, compare_now);
}
