/* transpose.cu - the transposes, after "Optimizing Matrix Transpose in CUDA" (Ruetsch &
 * Micikevicius, 2009): the same bytes are moved in eight ways, each of which shows one thing.
 *
 * A tile is a matrix of params.columns elements to a row, and is transposed on its own.
 * Elements behind its last whole row (there are none where options were checked) are copied as
 * they are.
 *
 * The matrix is cut into squares, one for each block of threads. A warp's threads lie side by
 * side in a row of the square, and each thread has an element of every few rows of it. So a
 * warp that reads or writes elements of a row touches one piece of memory, and one that reads
 * or writes elements of a column touches 32. A thread reads all its elements before it waits
 * for the first: it takes that many reads on their way to keep the memory busy. */
#include "kernels/kernel_file.h"
#include "kernels/square.cuh"

#ifdef __cplusplus /* ---- the kernels and their launchers ---- */

/* ---- transpose-copy, transpose-shared-copy: the best that the memory can do ---- */

/* This kernel reads rows and writes rows. */
static __global__ void __launch_bounds__(KERNEL_THREADS) copy_kernel(struct matrix m)
{
    const struct place at = place_in_order(m);
    float mine[EACH];
    read_square(square_in(m, at), m.columns, at.height, at.width, mine);
    write_square(square_back(m, at), m.columns, at.height, at.width, mine);
    copy_rest(m);
}

/* This copy goes by way of shared memory, with the barrier that the transposes need. */
static __global__ void __launch_bounds__(KERNEL_THREADS) shared_copy_kernel(struct matrix m)
{
    __shared__ shared_square<SQUARE> square;
    const struct place at = place_in_order(m);
    float mine[EACH];
    load_square(m, at, square);
    take_rows(square, mine);
    write_square(square_back(m, at), m.columns, at.height, at.width, mine);
    copy_rest(m);
}

/* ---- transposes ---- */

/* A warp reads a row but writes a column: it touches 32 pieces of memory, most of each in vain.
 */
static __global__ void __launch_bounds__(KERNEL_THREADS) naive_kernel(struct matrix m)
{
    const struct place at = place_in_order(m);
    float mine[EACH];
    read_square(square_in(m, at), m.columns, at.height, at.width, mine);
    float *to = square_across(m, at) + my_x() * m.rows + my_y();
    const unsigned end = my_x() < at.width ? at.height : 0;
#pragma unroll
    for (unsigned i = 0; i < EACH; i++)
        if (my_y() + i * SQUARE_ROWS < end)
            to[i * SQUARE_ROWS] = mine[i];
    copy_rest(m);
}

/* Shared memory turns the square around, so that rows are written too. In `coalesced` a warp
 * that reads a column finds it in one bank; `conflict-free` has a column more; `diagonal` takes
 * the squares in another order. The diagonal order is from GPUs before Fermi, whose memory was
 * cut into partitions of 256 bytes in turn: in a matrix of 2048 columns, for example, a whole
 * column of squares lay in one partition. Since then a hash spreads the addresses. */
template <int width, bool diagonal>
static __global__ void __launch_bounds__(KERNEL_THREADS) transpose_kernel(struct matrix m)
{
    __shared__ shared_square<width> square;
    const struct place at = diagonal ? place_on_diagonal(m) : place_in_order(m);
    float mine[EACH];
    load_square(m, at, square);
    take_columns(square, mine);
    write_square(square_across(m, at), m.rows, at.width, at.height, mine);
    copy_rest(m);
}

/* ---- transpose-fine, transpose-coarse: half a transpose, to see which half costs what ---- */

/* Each square is transposed where it is: that is no transpose of the matrix. Partial squares at
 * the edges fit their place only as they are. */
static __global__ void __launch_bounds__(KERNEL_THREADS) fine_kernel(struct matrix m)
{
    __shared__ shared_square<SQUARE + 1> square;
    const struct place at = place_in_order(m);
    float mine[EACH];
    load_square(m, at, square);
    if (is_whole(at))
        take_columns(square, mine);
    else
        take_rows(square, mine);
    write_square(square_back(m, at), m.columns, at.height, at.width, mine);
    copy_rest(m);
}

/* Squares change places and stay as they are inside: that is no transpose either. Partial
 * squares at the edges fit their new place only transposed. */
static __global__ void __launch_bounds__(KERNEL_THREADS) coarse_kernel(struct matrix m)
{
    __shared__ shared_square<SQUARE + 1> square;
    const struct place at = place_in_order(m);
    float mine[EACH];
    load_square(m, at, square);
    if (is_whole(at))
        take_rows(square, mine);
    else
        take_columns(square, mine);
    write_square(square_across(m, at), m.rows, at.width, at.height, mine);
    copy_rest(m);
}

/* ---- launchers ---- */

static uint64_t squares_along(uint64_t side)
{
    return side / SQUARE + (side % SQUARE != 0);
}

/* Launches a block per square. A tile of less than a row has no squares, but blocks that copy
 * it. */
static int launch(void (*kernel)(struct matrix), const struct kernel_args *args, void *stream)
{
    struct matrix m = {};
    m.in = static_cast<const float *>(args->in[0]);
    m.out = static_cast<float *>(args->out);
    m.count = args->count;
    m.columns = args->params.columns;
    m.rows = m.count / m.columns;
    const uint64_t down = squares_along(m.rows > 0 ? m.rows : 1),
                   across = squares_along(m.columns < m.count ? m.columns : m.count);
    if (down > KERNEL_GRID_MAX / across) /* hundreds of gigabytes */
        return cudaErrorInvalidConfiguration;
    m.down = static_cast<unsigned>(down);
    m.across = static_cast<unsigned>(across);
    return kernel_launch_grid(kernel, m.down * m.across, KERNEL_THREADS, stream, m);
}

/* Defines the launcher of a row; the last argument is its kernel. */
#define TRANSPOSE_LAUNCHER(name, ...)                                                          \
    static int transpose_##name##_launch(const struct kernel_args *args, void *stream)         \
    {                                                                                          \
        return launch(__VA_ARGS__, args, stream);                                              \
    }                                                                                          \
    KERNEL_LAUNCHER(transpose_##name, transpose_##name##_launch, __VA_ARGS__)
TRANSPOSE_LAUNCHER(copy, copy_kernel);
TRANSPOSE_LAUNCHER(shared_copy, shared_copy_kernel);
TRANSPOSE_LAUNCHER(naive, naive_kernel);
TRANSPOSE_LAUNCHER(coalesced, transpose_kernel<SQUARE, false>);
TRANSPOSE_LAUNCHER(conflict_free, transpose_kernel<SQUARE + 1, false>);
TRANSPOSE_LAUNCHER(fine, fine_kernel);
TRANSPOSE_LAUNCHER(coarse, coarse_kernel);
TRANSPOSE_LAUNCHER(diagonal, transpose_kernel<SQUARE + 1, true>);

#else /* ---- the CPU twins and the oracles ---- */

#include "kernels/host_util.h"

#include <string.h>

enum { COPY_PART = 1 << 16 }; /* elements that a thread copies at a time */

/* ---- oracles: from a place in the output back to its place in the input ---- */

static uint64_t transpose_copy_gather(uint64_t place, uint64_t count,
                                      const struct kernel_params *params)
{
    (void)count;
    (void)params;
    return place;
}

/* The output has the input's columns as rows. */
static uint64_t transpose_gather(uint64_t place, uint64_t count,
                                 const struct kernel_params *params)
{
    const uint64_t columns = params->columns, rows = count / columns;
    if (place >= rows * columns)
        return place;
    return place % rows * columns + place / rows;
}

/* Returns true if the square that holds element (row, column) is a whole one. */
static bool in_whole_square(uint64_t row, uint64_t column, uint64_t rows, uint64_t columns)
{
    return row < rows - rows % SQUARE && column < columns - columns % SQUARE;
}

/* Each whole square is transposed where it is; the others are copied. */
static uint64_t transpose_fine_gather(uint64_t place, uint64_t count,
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
static uint64_t transpose_coarse_gather(uint64_t place, uint64_t count,
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

/* ---- twins, which work square by square, so that both sides stay in the cache ---- */

struct matrix {
    const float *in;
    float *out;
    uint64_t rows, columns;
};

/* A square: where it begins, and how large it is (less than whole at the edges). */
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

static void transpose_copy_host(const struct kernel_args *args)
{
    copy(args->in[0], args->out, args->count, host_is_parallel(args));
}

static void transpose_host(const struct kernel_args *args)
{
    each_square(args, square_transpose);
}

static void transpose_fine_host(const struct kernel_args *args)
{
    each_square(args, square_fine);
}

static void transpose_coarse_host(const struct kernel_args *args)
{
    each_square(args, square_coarse);
}

/* Defines the code of a row. */
#define TRANSPOSE_CODE(name)                                                                   \
    const struct kernel_code name##_code = {.host = name##_host, .gather = name##_gather}
TRANSPOSE_CODE(transpose_copy);
TRANSPOSE_CODE(transpose);
TRANSPOSE_CODE(transpose_fine);
TRANSPOSE_CODE(transpose_coarse);

#endif
