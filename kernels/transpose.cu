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

/* ---- transpose-copy: the best that the memory can do ---- */

/* This kernel reads rows and writes rows. */
static __global__ void __launch_bounds__(KERNEL_THREADS) copy_kernel(struct matrix m)
{
    const struct place at = place_in_order(m);
    float mine[EACH];
    read_square(square_in(m, at), m.columns, at.height, at.width, mine);
    write_square(square_back(m, at), m.columns, at.height, at.width, mine);
    copy_rest(m);
}

/* ---- transpose-naive ---- */

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

/* ---- by shared memory ---- */

/* Shared memory turns the square around, so that rows are written too. In `coalesced` a warp
 * that reads a column finds it in one bank; `conflict-free` has a column more; `diagonal` takes
 * the squares in another order. The diagonal order is from GPUs before Fermi, whose memory was
 * cut into partitions of 256 bytes in turn: in a matrix of 2048 columns, for example, a whole
 * column of squares lay in one partition. Since then a hash spreads the addresses.
 *
 * A transpose is turned `inside` each square, and squares go `across` to their new places.
 * `shared-copy` does neither, for what the way and its barrier cost. `fine` does only the one,
 * `coarse` only the other, which shows which half costs what; partial squares at the edges fit
 * their place only turned if they go across, and only as they are if they stay. */
template <int width, bool diagonal, bool inside, bool across>
static __global__ void __launch_bounds__(KERNEL_THREADS) square_kernel(struct matrix m)
{
    __shared__ shared_square<width> square;
    const struct place at = diagonal ? place_on_diagonal(m) : place_in_order(m);
    float mine[EACH];
    load_square(m, at, square);
    if (inside == across ? inside : is_whole(at) == inside)
        take_columns(square, mine);
    else
        take_rows(square, mine);
    if (across)
        write_square(square_across(m, at), m.rows, at.width, at.height, mine);
    else
        write_square(square_back(m, at), m.columns, at.height, at.width, mine);
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
TRANSPOSE_LAUNCHER(shared_copy, square_kernel<SQUARE, false, false, false>);
TRANSPOSE_LAUNCHER(naive, naive_kernel);
TRANSPOSE_LAUNCHER(coalesced, square_kernel<SQUARE, false, true, true>);
TRANSPOSE_LAUNCHER(conflict_free, square_kernel<SQUARE + 1, false, true, true>);
TRANSPOSE_LAUNCHER(fine, square_kernel<SQUARE + 1, false, true, false>);
TRANSPOSE_LAUNCHER(coarse, square_kernel<SQUARE + 1, false, false, true>);
TRANSPOSE_LAUNCHER(diagonal, square_kernel<SQUARE + 1, true, true, true>);

#else /* ---- the CPU twins and the oracles ---- */

#include "kernels/host_util.h"

#include <string.h>

/* ---- what the rows are: turned `inside` each whole square, whole squares moved `across` ----
 */

/* Returns the place in the input of what is at `place` of the output. */
static uint64_t place_before(uint64_t place, uint64_t count, const struct kernel_params *params,
                             bool inside, bool across)
{
    const uint64_t columns = params->columns, rows = count / columns;
    if (place >= rows * columns)
        return place;
    const uint64_t row = across ? place % rows : place / columns;
    const uint64_t column = across ? place / rows : place % columns;
    const bool whole = row < rows - rows % SQUARE && column < columns - columns % SQUARE;
    if (!whole || inside == across)
        return row * columns + column;
    const uint64_t from_row = row - row % SQUARE + column % SQUARE;
    return from_row * columns + column - column % SQUARE + row % SQUARE;
}

/* Moves the square at `row` and `column`, which is less than whole at the edges. */
static void move_square(const struct kernel_args *args, uint64_t row, uint64_t column,
                        bool inside, bool across)
{
    const uint64_t columns = args->params.columns, rows = args->count / columns;
    const uint64_t height = rows - row < SQUARE ? rows - row : SQUARE;
    const uint64_t width = columns - column < SQUARE ? columns - column : SQUARE;
    const bool turned = height == SQUARE && width == SQUARE ? inside : across;
    const uint64_t pitch = across ? rows : columns;
    const float *in = (const float *)args->in[0] + row * columns + column;
    float *out = (float *)args->out + (across ? column * rows + row : row * columns + column);
    for (uint64_t y = 0; y < (across ? width : height); y++, out += pitch) {
        if (!turned)
            memcpy(out, in + y * columns, width * sizeof *out);
        for (uint64_t x = 0; turned && x < (across ? height : width); x++)
            out[x] = in[x * columns + y];
    }
}

/* The twins work square by square, so that both sides stay in the cache. */
static void move_squares(const struct kernel_args *args, bool inside, bool across)
{
    const uint64_t columns = args->params.columns, rows = args->count / columns;
    const uint64_t along = (columns + SQUARE - 1) / SQUARE, down = (rows + SQUARE - 1) / SQUARE;
#pragma omp parallel for schedule(static) if (host_is_parallel(args))
    for (uint64_t i = 0; i < along * down; i++)
        move_square(args, i / along * SQUARE, i % along * SQUARE, inside, across);
    const uint64_t whole = rows * columns;
    memcpy((float *)args->out + whole, (const float *)args->in[0] + whole,
           (args->count - whole) * sizeof(float));
}

/* Defines the code of a row. */
#define TRANSPOSE_CODE(name, inside, across)                                                   \
    static uint64_t name##_gather(uint64_t place, uint64_t count,                              \
                                  const struct kernel_params *params)                          \
    {                                                                                          \
        return place_before(place, count, params, inside, across);                             \
    }                                                                                          \
    static void name##_host(const struct kernel_args *args)                                    \
    {                                                                                          \
        move_squares(args, inside, across);                                                    \
    }                                                                                          \
    const struct kernel_code name##_code = {.host = name##_host, .gather = name##_gather}
TRANSPOSE_CODE(transpose_copy, false, false);
TRANSPOSE_CODE(transpose, true, true);
TRANSPOSE_CODE(transpose_fine, true, false);
TRANSPOSE_CODE(transpose_coarse, false, true);

#endif
