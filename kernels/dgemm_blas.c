/* dgemm_blas.c - the CPU twin of `dgemm`: OpenBLAS, opened when it is first needed. So the
 * program runs on machines without it, and no other run starts the threads that OpenBLAS
 * starts as it is loaded. */
#include "kernels/dgemm_rows.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* C is cut into blocks of this many rows and columns at most, whatever the number of threads:
 * so results do not depend on it. Large enough that OpenBLAS works at its full rate, small
 * enough that a dozen cores have as much to do as one another, in a small tile too. */
enum { ROWS_MOST = 256, COLUMNS_MOST = 128 };

/* As in cblas.h, which not every machine that compiles this has. */
enum { COLUMN_MAJOR = 102, NOT_TRANSPOSED = 111 };

/* OpenBLAS, with 32-bit integers as all of its builds of this name have them. */
static struct {
    pthread_once_t once;
    void *library;
    void (*set_num_threads)(int count);
    void (*dgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                  double alpha, const double *a, int a_stride, const double *b, int b_stride,
                  double beta, double *c, int c_stride);
    char why[KERNEL_WHY]; /* it is missing; "": it is not */
} blas = {.once = PTHREAD_ONCE_INIT};

/* Sets the reason from dlerror(), which begins with the file's name. */
static void set_reason(const char *file)
{
    const char *said = dlerror();
    snprintf(blas.why, sizeof blas.why, "OpenBLAS can't be opened: %s",
             said != NULL ? said : file);
}

static void open_library(void)
{
    static const char *const usual[] = {"libopenblas.so.0", "libopenblas.so"};
    const char *named = getenv("PIPELINE_OPENBLAS");
    const char *const *files = named != NULL ? &named : usual;
    const int count = named != NULL ? 1 : 2;
    for (int i = 0; i < count && blas.library == NULL; i++) {
        blas.library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
        if (blas.library == NULL && i == 0)
            set_reason(files[i]);
    }
    if (blas.library == NULL)
        return;
    *(void **)&blas.dgemm = dlsym(blas.library, "cblas_dgemm");
    *(void **)&blas.set_num_threads = dlsym(blas.library, "openblas_set_num_threads");
    if (blas.dgemm == NULL || blas.set_num_threads == NULL) {
        set_reason("a function is missing");
        return;
    }
    blas.why[0] = '\0';
    blas.set_num_threads(1);
}

const char *dgemm_host_missing(void)
{
    pthread_once(&blas.once, open_library);
    return blas.why[0] != '\0' ? blas.why : NULL;
}

static uint64_t parts_of(uint64_t whole, uint64_t most)
{
    return (whole + most - 1) / most;
}

/* What is left of `whole` behind `first`, at most `most`. */
static int part_at(uint64_t whole, uint64_t first, uint64_t most)
{
    return (int)(whole - first < most ? whole - first : most);
}

/* Threads are those of the caller's OpenMP team, and each has OpenBLAS work alone. OpenBLAS's
 * own would be as many as there are cores, and be woken for each call. */
void dgemm_host(const struct kernel_args *args)
{
    const uint64_t rows = args->params.rows, inner = args->params.inner;
    const uint64_t columns = args->count / rows;
    const uint64_t down = parts_of(rows, ROWS_MOST), across = parts_of(columns, COLUMNS_MOST);
    const double *a = args->resident, *b = args->in[1];
    double *c = args->out;
    if (dgemm_host_missing() != NULL)
        return; /* nobody asks who was told; and a result that isn't there is found out */
    if (args->out != args->in[0])
        memcpy(c, args->in[0], args->count * sizeof *c);
#pragma omp parallel for schedule(dynamic) if (down * across > 1)
    for (uint64_t part = 0; part < down * across; part++) {
        const uint64_t row = part % down * ROWS_MOST, column = part / down * COLUMNS_MOST;
        blas.dgemm(COLUMN_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, part_at(rows, row, ROWS_MOST),
                   part_at(columns, column, COLUMNS_MOST), (int)inner, 1, a + row, (int)rows,
                   b + column * inner, (int)inner, 1, c + column * rows + row, (int)rows);
    }
}
