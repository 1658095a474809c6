/* dgemm_check.c - judges C = A*B + C0 by weighted sums of its rows; dgemm_rows.h says how. */
#include "kernels/dgemm_rows.h"
#include "kernels/kernel_rows.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum {
    STRIP = 16, /* blocks whose sums are worked on together, and */
    GROUP = 4,  /* columns: their accumulators stay in registers or near */
};

#define DOUBLE_ROUNDING 0x1p-53

/* The matrices, and what is known of A. */
struct checker {
    const double *a, *b, *c0, *c;
    uint64_t rows, inner, columns;
    uint64_t blocks; /* of rows; the last may be short */
    double growth;   /* g(4k + 2R + 16) */
    double *weights; /* y, one per row */
    double *sums;    /* y'A: [strip][column of A][block of the strip], zeros behind the last */
    double *norms;   /* per block: the rows' 2-norms, weighted */
    uint64_t first_wrong; /* the lowest element found to be wrong; UINT64_MAX: none */
    struct kernel_fault fault;
};

/* What a column's strip of blocks comes to. */
struct strip {
    double sum[STRIP];       /* y'(C - C0) - (y'A)B */
    double magnitude[STRIP]; /* |y|'(|C| + |C0|) */
};

/* nu / (1 - nu) */
static double growth_of(double roundings)
{
    return roundings * DOUBLE_ROUNDING / (1 - roundings * DOUBLE_ROUNDING);
}

/* Weight number `row`: splitmix64's finaliser makes the bits (Steele, Lea & Flood, OOPSLA
 * 2014).
 */
static double weight_of(uint64_t row)
{
    uint64_t z = (row + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    const double magnitude = 0.5 + (double)(z >> 12) * 0x1p-53; /* [1/2, 1) */
    return z & 1 ? magnitude : -magnitude;
}

static uint64_t block_rows(const struct checker *checker, uint64_t block)
{
    const uint64_t left = checker->rows - block * DGEMM_BLOCK;
    return left < DGEMM_BLOCK ? left : DGEMM_BLOCK;
}

/* A block's weighted sums of A's rows, and the norms of them. */
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

/* y'(C - C0) of a column's blocks [first, first + STRIP), as far as there are. */
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

/* Subtracts (y'A)B of the same blocks, for `count` columns of B. */
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

/* Whether `actual` may be the result where it should be `value` (one that is not finite comes
 * from C0) and the bound is `bound`: none where the exact sum might overflow on its way. */
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

/* Judges what is suspicious of a column's strip of blocks, up to the first wrong element. */
static void strip_judge(struct checker *checker, uint64_t column, uint64_t first, double norm,
                        const struct strip *strip)
{
    for (uint64_t block = first; block < first + STRIP && block < checker->blocks; block++) {
        const double magnitude = norm * checker->norms[block] + strip->magnitude[block - first];
        const double bound = 1.001 * checker->growth * magnitude; /* rounded itself */
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

/* Columns [column, column + count), unless an element before them is known to be wrong. */
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

enum kernel_verdict dgemm_check(const struct kernel_args *whole, struct kernel_fault *fault)
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
