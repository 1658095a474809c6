/* dgemm.c - the tiled matrix product on the CPU: its twin, and the check of its results.
 *
 * C = A*B + C in float64, column-major as BLAS has it: A has `rows` rows and `inner` columns, B
 * `inner` rows, C `rows`. A tile is whole columns of C and as many of B, and lies contiguous in
 * both. in[0] is the tile of C that goes in, in[1] that of B, `resident` is A, and `count` the
 * elements of the tile of C.
 *
 * The twin calls OpenBLAS, which is opened when it is first needed: libopenblas.so of the usual
 * names, or the file that PIPELINE_OPENBLAS in the environment names. So the program runs on
 * machines without OpenBLAS, and only a run that needs it starts the threads that OpenBLAS
 * starts as it is loaded. */
#include "core/mix.h"
#include "kernels/host_util.h"
#include "kernels/kernel_file.h"

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the twin ---- */

/* C is cut into blocks of this many rows and columns at most, whatever the number of threads:
 * so results do not depend on it. Large enough that OpenBLAS works at its full rate, small
 * enough that a dozen cores have as much to do as one another, in a small tile too. */
enum { ROWS_MOST = 256, COLUMNS_MOST = 128 };

/* These values are those of cblas.h, which not every machine that compiles this has. */
enum { COLUMN_MAJOR = 102, NOT_TRANSPOSED = 111 };

/* OpenBLAS. Its integers have 32 bits, as in all of its builds of this name. */
static struct {
    pthread_once_t once;
    void *library;
    void (*set_num_threads)(int count);
    void (*dgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                  double alpha, const double *a, int a_stride, const double *b, int b_stride,
                  double beta, double *c, int c_stride);
    char why[KERNEL_WHY]; /* the reason why it is missing; "": it is there */
} blas = {.once = PTHREAD_ONCE_INIT};

/* Sets the reason to the text of dlerror(), which begins with the file's name. */
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

static const char *dgemm_host_missing(void)
{
    pthread_once(&blas.once, open_library);
    return blas.why[0] != '\0' ? blas.why : NULL;
}

static uint64_t parts_of(uint64_t whole, uint64_t most)
{
    return (whole + most - 1) / most;
}

/* Returns how much of `whole` is left behind `first`, at most `most`. */
static int part_at(uint64_t whole, uint64_t first, uint64_t most)
{
    return (int)(whole - first < most ? whole - first : most);
}

/* The threads are those of the caller's OpenMP team, and each of them has OpenBLAS work alone.
 * OpenBLAS's own threads would be as many as there are cores, and be woken for each call. */
static void dgemm_host(const struct kernel_args *args)
{
    const uint64_t rows = args->params.rows, inner = args->params.inner;
    const uint64_t columns = args->count / rows;
    const uint64_t down = parts_of(rows, ROWS_MOST), across = parts_of(columns, COLUMNS_MOST);
    const double *a = args->resident, *b = args->in[1];
    double *c = args->out;
    if (dgemm_host_missing() != NULL)
        return; /* a caller that did not ask finds out that there is no result */
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

/* ---- the check ---- */

/* dgemm_check() judges all of C without multiplying A by B again.
 *
 * Every column of C, in blocks of DGEMM_BLOCK rows, is compared through a weighted sum of its
 * rows: for weights y, y'C must be (y'A)B + y'C0, and y'A is computed once (Freivalds,
 * "Probabilistic machines can use less running time", IFIP Congress 1977). The weights are
 * fixed pseudo-random numbers of both signs with magnitudes in [1/2, 1). A block that is
 * further off than rounding allows, or that holds an element that is not finite, is multiplied
 * out and judged element by element; only that can fail, so every right result passes.
 *
 * Rounding: with u = 2^-53 and g(n) = nu / (1 - nu), a product of k terms and C0 in any order,
 * fused or not, is within g(k + 1) (|A||B| + |C0|) of the exact element (Higham, "Accuracy and
 * Stability of Numerical Algorithms", 3.1 and 3.5). An element may be off by twice that,
 * because the judge's own product may be off by as much. A block of R rows is looked into when
 * its sum is off by more than g(4k + 2R + 16) times the weighted sum of magnitudes, in which
 * |A||B| is taken as the product of the rows' and columns' 2-norms, which it does not exceed.
 * That is three times the error that its elements may have together, and the rounding of the
 * sum itself.
 *
 * So a single wrong element is always found if it is off by more than four times that bound B
 * of its block: 1.2e-7 for k = 1408 and elements in [-1, 1), where the elements of C are
 * about 12. Several wrong elements in one block might hide each other: as the weight of any one
 * of them is spread over two intervals of 1/2, the chance of that is at most 4B divided by the
 * largest error. The time is linear in the elements of A, B and C, plus 1/DGEMM_BLOCK of the
 * product's own time; the memory is 1/DGEMM_BLOCK of A's, and the rows' weights. */
enum { DGEMM_BLOCK = 128 };

enum {
    STRIP = 16, /* blocks whose sums are worked on together */
    GROUP =
        4, /* columns that are worked on together: so few that their sums stay in registers */
};

#define DOUBLE_ROUNDING 0x1p-53

/* The matrices, the weighted sums of A, and the first wrong element of C so far. */
struct checker {
    const double *a, *b, *c0, *c;
    uint64_t rows, inner, columns;
    uint64_t blocks; /* of rows; the last may be short */
    double growth;   /* g(4k + 2R + 16) */
    double *weights; /* y, one per row */
    double *sums;    /* y'A: [strip][column of A][block of the strip], zeros behind the last */
    double *norms;   /* per block: the rows' 2-norms, weighted */
    uint64_t first_wrong; /* the lowest wrong element so far; UINT64_MAX: none */
    struct kernel_fault fault;
};

/* The sums of a column's strip of blocks. */
struct strip {
    double sum[STRIP];       /* y'(C - C0) - (y'A)B */
    double magnitude[STRIP]; /* |y|'(|C| + |C0|) */
};

/* Returns g(n) = nu / (1 - nu). */
static double growth_of(double roundings)
{
    return roundings * DOUBLE_ROUNDING / (1 - roundings * DOUBLE_ROUNDING);
}

/* Returns the weight of a row. */
static double weight_of(uint64_t row)
{
    const uint64_t z = mix_at(0, row);
    const double magnitude = 0.5 + (double)(z >> 12) * 0x1p-53; /* [1/2, 1) */
    return z & 1 ? magnitude : -magnitude;
}

static uint64_t block_rows(const struct checker *checker, uint64_t block)
{
    const uint64_t left = checker->rows - block * DGEMM_BLOCK;
    return left < DGEMM_BLOCK ? left : DGEMM_BLOCK;
}

/* Computes a block's weighted sums of A's rows, and the rows' weighted norms. */
static void block_weigh(struct checker *checker, uint64_t block)
{
    const uint64_t first = block * DGEMM_BLOCK, count = block_rows(checker, block);
    const double *weights = checker->weights + first;
    double *sums = checker->sums + block / STRIP * STRIP * checker->inner + block % STRIP;
    double squares[DGEMM_BLOCK] = {0}, norm = 0;
    for (uint64_t p = 0; p < checker->inner; p++) {
        const double *a = checker->a + p * checker->rows + first;
        double sum = 0;
        for (uint64_t i = 0; i < count; i++) {
            sum += weights[i] * a[i];
            squares[i] += a[i] * a[i];
        }
        sums[p * STRIP] = sum;
    }
    for (uint64_t i = 0; i < count; i++)
        norm += fabs(weights[i]) * sqrt(squares[i]);
    checker->norms[block] = norm;
}

/* Computes y'(C - C0) for a column's blocks [first, first + STRIP), as far as there are blocks.
 */
static void strip_weigh(const struct checker *checker, uint64_t column, uint64_t first,
                        struct strip *strip)
{
    *strip = (struct strip){0};
    for (uint64_t block = first; block < first + STRIP && block < checker->blocks; block++) {
        const uint64_t row = block * DGEMM_BLOCK, count = block_rows(checker, block);
        const double *y = checker->weights + row;
        const double *c = checker->c + column * checker->rows + row;
        const double *c0 = checker->c0 + column * checker->rows + row;
        double sum = 0, magnitude = 0;
        for (uint64_t i = 0; i < count; i++) {
            sum += y[i] * (c[i] - c0[i]);
            magnitude += fabs(y[i]) * (fabs(c[i]) + fabs(c0[i]));
        }
        strip->sum[block - first] = sum;
        strip->magnitude[block - first] = magnitude;
    }
}

/* Subtracts (y'A)B for the same blocks, for `count` columns of B. */
HOST_VECTOR_CLONES static void strips_subtract(const double *sums, uint64_t inner,
                                               const double *b, int count,
                                               struct strip strips[GROUP])
{
    double product[GROUP][STRIP] = {{0}};
    for (uint64_t p = 0; p < inner; p++) {
        const double *sum = sums + p * STRIP;
        for (int column = 0; column < count; column++) {
            const double factor = b[(uint64_t)column * inner + p];
            for (int block = 0; block < STRIP; block++)
                product[column][block] += factor * sum[block];
        }
    }
    for (int column = 0; column < count; column++)
        for (int block = 0; block < STRIP; block++)
            strips[column].sum[block] -= product[column][block];
}

/* Returns true if `actual` may be the result where the right one is `value`, within `bound`. A
 * result that is not finite comes from C0. A bound that is not finite says that the exact sum
 * might overflow on its way: then nothing is claimed. */
static bool element_is_right(double c0, double value, double bound, double actual)
{
    if (isnan(c0))
        return isnan(actual);
    if (isinf(c0))
        return actual == c0;
    return isinf(bound) || isnan(bound) || fabs(actual - value) <= bound;
}

/* Multiplies one block of a column out and judges its elements. */
static bool block_judge(const struct checker *checker, uint64_t column, uint64_t block,
                        struct kernel_fault *fault)
{
    const uint64_t row = block * DGEMM_BLOCK, count = block_rows(checker, block);
    const uint64_t first = column * checker->rows + row;
    double value[DGEMM_BLOCK], magnitude[DGEMM_BLOCK];
    for (uint64_t i = 0; i < count; i++) {
        value[i] = checker->c0[first + i];
        magnitude[i] = fabs(value[i]);
    }
    for (uint64_t p = 0; p < checker->inner; p++) {
        const double b = checker->b[column * checker->inner + p];
        const double *a = checker->a + p * checker->rows + row;
        for (uint64_t i = 0; i < count; i++) {
            value[i] += a[i] * b;
            magnitude[i] += fabs(a[i] * b);
        }
    }
    const double growth = 2 * 1.001 * growth_of((double)checker->inner + 1);
    for (uint64_t i = 0; i < count; i++) {
        const double bound = growth * magnitude[i], actual = checker->c[first + i];
        if (element_is_right(checker->c0[first + i], value[i], bound, actual))
            continue;
        *fault = (struct kernel_fault){first + i, value[i], bound, actual};
        return false;
    }
    return true;
}

/* Judges the suspicious blocks of a column's strip, up to the first wrong element. */
static void strip_judge(struct checker *checker, uint64_t column, uint64_t first, double norm,
                        const struct strip *strip)
{
    for (uint64_t block = first; block < first + STRIP && block < checker->blocks; block++) {
        const double magnitude = norm * checker->norms[block] + strip->magnitude[block - first];
        const double bound = 1.001 * checker->growth * magnitude; /* it was rounded, too */
        struct kernel_fault fault;
        if ((isfinite(bound) && fabs(strip->sum[block - first]) <= bound) ||
            block_judge(checker, column, block, &fault))
            continue;
#pragma omp critical(dgemm_check_fault)
        if (fault.element < checker->first_wrong) {
            checker->first_wrong = fault.element;
            checker->fault = fault;
        }
        return;
    }
}

static double norm_of(const double *x, uint64_t count)
{
    double squares = 0;
    for (uint64_t i = 0; i < count; i++)
        squares += x[i] * x[i];
    return sqrt(squares);
}

/* Checks columns [column, column + count), unless an element before them is known to be wrong.
 */
static void group_check(struct checker *checker, uint64_t column, int count)
{
    uint64_t first_wrong;
    double norms[GROUP] = {0};
    const double *b = checker->b + column * checker->inner;
#pragma omp critical(dgemm_check_fault)
    first_wrong = checker->first_wrong;
    if (first_wrong < column * checker->rows)
        return;
    for (int i = 0; i < count; i++)
        norms[i] = norm_of(b + (uint64_t)i * checker->inner, checker->inner);
    for (uint64_t first = 0; first < checker->blocks; first += STRIP) {
        struct strip strips[GROUP];
        for (int i = 0; i < count; i++)
            strip_weigh(checker, column + (uint64_t)i, first, &strips[i]);
        strips_subtract(checker->sums + first * checker->inner, checker->inner, b, count,
                        strips);
        for (int i = 0; i < count; i++)
            strip_judge(checker, column + (uint64_t)i, first, norms[i], &strips[i]);
    }
}

static void check_all(struct checker *checker)
{
    const uint64_t groups = (checker->columns + GROUP - 1) / GROUP;
#pragma omp parallel for schedule(static)
    for (uint64_t row = 0; row < checker->rows; row++)
        checker->weights[row] = weight_of(row);
#pragma omp parallel for schedule(static)
    for (uint64_t block = 0; block < checker->blocks; block++)
        block_weigh(checker, block);
#pragma omp parallel for schedule(dynamic)
    for (uint64_t group = 0; group < groups; group++) {
        const uint64_t left = checker->columns - group * GROUP;
        group_check(checker, group * GROUP, left < GROUP ? (int)left : GROUP);
    }
}

static enum kernel_verdict dgemm_check(const struct kernel_args *whole,
                                       struct kernel_fault *fault)
{
    const uint64_t rows = whole->params.rows, inner = whole->params.inner;
    struct checker checker = {
        .a = whole->resident,
        .b = whole->in[1],
        .c0 = whole->in[0],
        .c = whole->out,
        .rows = rows,
        .inner = inner,
        .columns = whole->count / rows,
        .blocks = (rows + DGEMM_BLOCK - 1) / DGEMM_BLOCK,
        .growth = growth_of(4 * (double)inner + 2 * DGEMM_BLOCK + 16),
        .first_wrong = UINT64_MAX,
    };
    const uint64_t padded = (checker.blocks + STRIP - 1) / STRIP * STRIP;
    checker.weights = calloc(rows, sizeof *checker.weights);
    checker.sums = calloc(padded * inner, sizeof *checker.sums);
    checker.norms = calloc(padded, sizeof *checker.norms);
    const bool room = checker.weights != NULL && checker.sums != NULL && checker.norms != NULL;
    if (room)
        check_all(&checker);
    free(checker.norms);
    free(checker.sums);
    free(checker.weights);
    if (!room)
        return KERNEL_NO_MEMORY;
    if (checker.first_wrong == UINT64_MAX)
        return KERNEL_RIGHT;
    *fault = checker.fault;
    return KERNEL_WRONG;
}

const struct kernel_code dgemm_code = {
    .host = dgemm_host, .host_missing = dgemm_host_missing, .check = dgemm_check};
