/* transpose_host.c - the CPU twins of the transposes, and where their oracles look. */
#include "kernels/kernel_rows.h"
#include "kernels/transpose_rows.h"

#include <string.h>

enum { COPY_PART = 1 << 16 }; /* elements that a thread copies at a time */

void gather_oracle(struct oracle *oracle, const void *second,
                   const struct kernel_params *params)
{
    (void)oracle;
    (void)second;
    (void)params;
}

uint64_t transpose_unit(const struct kernel_params *params)
{
    return params->columns;
}

/* ---- oracles: from the place in the output back to the input ---- */

uint64_t copy_gather(uint64_t place, uint64_t count, const struct kernel_params *params)
{
    (void)count;
    (void)params;
    return place;
}

/* The output has the input's columns as rows. */
uint64_t transpose_gather(uint64_t place, uint64_t count, const struct kernel_params *params)
{
    const uint64_t columns = params->columns, rows = count / columns;
    if (place >= rows * columns)
        return place;
    return place % rows * columns + place / rows;
}

/* Whether the square that holds element (row, column) is a whole one. */
static bool in_whole_square(uint64_t row, uint64_t column, uint64_t rows, uint64_t columns)
{
    return row < rows - rows % SQUARE && column < columns - columns % SQUARE;
}

/* Each whole square is transposed where it is; the others are copied. */
uint64_t transpose_fine_gather(uint64_t place, uint64_t count,
                               const struct kernel_params *params)
{
    const uint64_t columns = params->columns, rows = count / columns;
    const uint64_t row = place / columns, column = place % columns;
    if (!in_whole_square(row, column, rows, columns))
        return place;
    const uint64_t from_row = row - row % SQUARE + column % SQUARE;
    return from_row * columns + column - column % SQUARE + row % SQUARE;
}

/* Squares change places as in the transpose, but each whole one stays as it is inside. */
uint64_t transpose_coarse_gather(uint64_t place, uint64_t count,
                                 const struct kernel_params *params)
{
    const uint64_t columns = params->columns, rows = count / columns;
    if (place >= rows * columns)
        return place;
    const uint64_t row = place % rows, column = place / rows; /* as the transpose has it */
    if (!in_whole_square(row, column, rows, columns))
        return row * columns + column;
    const uint64_t from_row = row - row % SQUARE + column % SQUARE;
    return from_row * columns + column - column % SQUARE + row % SQUARE;
}

/* ---- twins: square by square, so that both sides stay in the cache ---- */

struct matrix {
    const float *in;
    float *out;
    uint64_t rows, columns;
};

/* The elements of one square that are there. */
struct square {
    uint64_t row, column, height, width;
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void square_transpose(const struct matrix *matrix, const struct square *square)
{
    const float *in = matrix->in + square->row * matrix->columns + square->column;
    float *out = matrix->out + square->column * matrix->rows + square->row;
    for (uint64_t x = 0; x < square->width; x++)
        for (uint64_t y = 0; y < square->height; y++)
            out[x * matrix->rows + y] = in[y * matrix->columns + x];
}

static bool square_is_whole(const struct square *square)
{
    return square->height == SQUARE && square->width == SQUARE;
}

static void square_fine(const struct matrix *matrix, const struct square *square)
{
    const uint64_t columns = matrix->columns, first = square->row * columns + square->column;
    const float *in = matrix->in + first;
    float *out = matrix->out + first;
    const bool whole = square_is_whole(square);
    for (uint64_t y = 0; y < square->height; y++)
        for (uint64_t x = 0; x < square->width; x++)
            out[y * columns + x] = whole ? in[x * columns + y] : in[y * columns + x];
}

static void square_coarse(const struct matrix *matrix, const struct square *square)
{
    if (!square_is_whole(square)) {
        square_transpose(matrix, square);
        return;
    }
    const float *in = matrix->in + square->row * matrix->columns + square->column;
    float *out = matrix->out + square->column * matrix->rows + square->row;
    for (uint64_t y = 0; y < SQUARE; y++)
        memcpy(out + y * matrix->rows, in + y * matrix->columns, SQUARE * sizeof *out);
}

static void copy(const float *in, float *out, uint64_t count, bool parallel)
{
#pragma omp parallel for schedule(static) if (parallel)
    for (uint64_t first = 0; first < count; first += COPY_PART)
        memcpy(out + first, in + first, smaller(COPY_PART, count - first) * sizeof *out);
}

static void each_square(const struct kernel_args *args,
                        void (*work)(const struct matrix *, const struct square *))
{
    const uint64_t columns = args->params.columns, rows = args->count / columns;
    const struct matrix matrix = {args->in[0], args->out, rows, columns};
    const uint64_t across = (columns + SQUARE - 1) / SQUARE,
                   down = (rows + SQUARE - 1) / SQUARE;
#pragma omp parallel for schedule(static) if (host_is_parallel(args))
    for (uint64_t i = 0; i < across * down; i++) {
        const uint64_t row = i / across * SQUARE, column = i % across * SQUARE;
        const struct square square = {row, column, smaller(SQUARE, rows - row),
                                      smaller(SQUARE, columns - column)};
        work(&matrix, &square);
    }
    const uint64_t whole = rows * columns;
    copy(matrix.in + whole, matrix.out + whole, args->count - whole, false);
}

void transpose_copy_host(const struct kernel_args *args)
{
    copy(args->in[0], args->out, args->count, host_is_parallel(args));
}

void transpose_host(const struct kernel_args *args)
{
    each_square(args, square_transpose);
}

void transpose_fine_host(const struct kernel_args *args)
{
    each_square(args, square_fine);
}

void transpose_coarse_host(const struct kernel_args *args)
{
    each_square(args, square_coarse);
}
