/* transpose.cu - the transposes, after "Optimizing Matrix Transpose in CUDA" (Ruetsch &
 * Micikevicius, 2009): the same bytes are moved in eight ways, each of which shows one thing.
 *
 * The matrix is cut into squares, one for each block of threads. A warp's threads lie side by
 * side in a row of the square, and each thread has an element of every few rows of it: so what
 * a warp reads or writes is one piece of memory where the elements of a row are meant, and 32
 * pieces where those of a column are. A thread reads all its elements before it waits for the
 * first: that many reads on their way are what keeps the memory busy. */
#include "kernels/device_util.cuh"
#include "kernels/kernel_rows.h"
#include "kernels/transpose_rows.h"

constexpr unsigned SQUARE_ROWS = KERNEL_THREADS / SQUARE; /* that a block covers at once */
constexpr unsigned EACH = TRANSPOSE_PER_THREAD;           /* elements of a thread */
static_assert(SQUARE % WARP_THREADS == 0, "a warp takes a row of a square, or a part of one");

/* What every kernel is given. */
struct matrix {
    const float *in;
    float *out;
    uint64_t count; /* of elements, with those behind the last whole row */
    uint64_t rows, columns;
    unsigned down, across; /* squares, the partial ones at the edges too */
};

/* A block's square: where it begins, and how much of it there is. */
struct place {
    uint64_t row, column;
    unsigned height, width;
};

static __device__ inline unsigned side_left(uint64_t from, uint64_t end)
{
    const uint64_t left = end - from, side = SQUARE;
    return static_cast<unsigned>(left < side ? left : side);
}

static __device__ inline struct place place_of(const struct matrix &m, unsigned down,
                                               unsigned across)
{
    const uint64_t row = static_cast<uint64_t>(down) * SQUARE,
                   column = static_cast<uint64_t>(across) * SQUARE;
    return {row, column, side_left(row, m.rows), side_left(column, m.columns)};
}

/* Squares are counted along their rows. */
static __device__ inline struct place place_in_order(const struct matrix &m)
{
    const unsigned down = blockIdx.x / m.across;
    return place_of(m, down, blockIdx.x - down * m.across);
}

/* Counted along diagonals instead: squares that are worked on at once then lie in different
 * columns and in different rows. */
static __device__ inline struct place place_on_diagonal(const struct matrix &m)
{
    const unsigned turn = blockIdx.x / m.down, down = blockIdx.x - turn * m.down;
    return place_of(m, down, (turn + down) % m.across);
}

/* What no square holds: the elements behind the last whole row. */
static __device__ inline void copy_rest(const struct matrix &m)
{
    for (uint64_t i = m.rows * m.columns + grid_thread(); i < m.count; i += grid_threads())
        m.out[i] = m.in[i];
}

/* ---- a thread's share of a square: an element of every SQUARE_ROWS-th row ---- */

static __device__ inline unsigned my_x()
{
    return threadIdx.x % SQUARE;
}

static __device__ inline unsigned my_y()
{
    return threadIdx.x / SQUARE;
}

static __device__ inline const float *square_in(const struct matrix &m, const struct place &at)
{
    return m.in + at.row * m.columns + at.column;
}

/* Where the square goes in the transposed matrix, whose rows have `m.rows` elements. */
static __device__ inline float *square_across(const struct matrix &m, const struct place &at)
{
    return m.out + at.column * m.rows + at.row;
}

/* And where it stays where it is. */
static __device__ inline float *square_back(const struct matrix &m, const struct place &at)
{
    return m.out + at.row * m.columns + at.column;
}

/* From a square of `height` rows of `width` elements, each row `pitch` elements from the next.
 * What is not there is 0. */
static __device__ inline void read_square(const float *from, uint64_t pitch, unsigned height,
                                          unsigned width, float (&mine)[EACH])
{
    const unsigned end = my_x() < width ? height : 0;
    from += my_y() * pitch + my_x();
#pragma unroll
    for (unsigned i = 0; i < EACH; i++)
        mine[i] = my_y() + i * SQUARE_ROWS < end ? from[i * SQUARE_ROWS * pitch] : 0;
}

static __device__ inline void write_square(float *to, uint64_t pitch, unsigned height,
                                           unsigned width, const float (&mine)[EACH])
{
    const unsigned end = my_x() < width ? height : 0;
    to += my_y() * pitch + my_x();
#pragma unroll
    for (unsigned i = 0; i < EACH; i++)
        if (my_y() + i * SQUARE_ROWS < end)
            to[i * SQUARE_ROWS * pitch] = mine[i];
}

/* A square in shared memory. With one column more than it needs, the elements of a column lie
 * in different banks; without, 32 of them in the same. */
template <int width> using shared_square = float[SQUARE][width];

template <int width>
static __device__ inline void put_rows(const float (&mine)[EACH], shared_square<width> &square)
{
#pragma unroll
    for (unsigned i = 0; i < EACH; i++)
        square[my_y() + i * SQUARE_ROWS][my_x()] = mine[i];
}

template <int width>
static __device__ inline void take_rows(const shared_square<width> &square, float (&mine)[EACH])
{
#pragma unroll
    for (unsigned i = 0; i < EACH; i++)
        mine[i] = square[my_y() + i * SQUARE_ROWS][my_x()];
}

/* As rows of the transposed square. */
template <int width>
static __device__ inline void take_columns(const shared_square<width> &square,
                                           float (&mine)[EACH])
{
#pragma unroll
    for (unsigned i = 0; i < EACH; i++)
        mine[i] = square[my_x()][my_y() + i * SQUARE_ROWS];
}

/* Reads the block's square into shared memory, for all its threads. */
template <int width>
static __device__ inline void load_square(const struct matrix &m, const struct place &at,
                                          shared_square<width> &square)
{
    float mine[EACH];
    read_square(square_in(m, at), m.columns, at.height, at.width, mine);
    put_rows(mine, square);
    __syncthreads();
}

static __device__ inline bool is_whole(const struct place &at)
{
    return at.height == SQUARE && at.width == SQUARE;
}

/* ---- what the memory can do at best ---- */

/* Rows are read and rows are written. */
static __global__ void __launch_bounds__(KERNEL_THREADS) copy_kernel(struct matrix m)
{
    const struct place at = place_in_order(m);
    float mine[EACH];
    read_square(square_in(m, at), m.columns, at.height, at.width, mine);
    write_square(square_back(m, at), m.columns, at.height, at.width, mine);
    copy_rest(m);
}

/* The same by way of shared memory, with the barrier that the transposes need. */
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

/* Rows are read, but a warp writes a column: 32 pieces of memory, of each of which most is not
 * wanted at that time. */
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

/* Shared memory turns the square around, so that rows are written too: `coalesced` with a
 * warp's reads of a column all in one bank, `conflict-free` with a column more, and `diagonal`
 * with squares in another order. That one is from GPUs before Fermi, whose memory was cut into
 * partitions of 256 bytes in turn: of a matrix of 2048 columns, say, a whole column of squares
 * lies in one. Since then addresses are spread by a hash. */
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

/* ---- half a transpose: which half costs what ---- */

/* Inside each square alone: squares stay where they are. Not the transpose. Partial squares at
 * the edges only fit their old place as they are. */
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

/* Squares change places, and stay as they are inside: not the transpose either. Partial squares
 * at the edges only fit their new place transposed. */
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

/* A block per square. Less than a row has no squares, but blocks that copy it. */
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

#define TRANSPOSE_LAUNCHER(name, ...)                                                          \
    int transpose_##name##_launch(const struct kernel_args *args, void *stream)                \
    {                                                                                          \
        return launch(__VA_ARGS__, args, stream);                                              \
    }                                                                                          \
    int transpose_##name##_preload(void)                                                       \
    {                                                                                          \
        return kernel_preload(__VA_ARGS__);                                                    \
    }
TRANSPOSE_LAUNCHER(copy, copy_kernel)
TRANSPOSE_LAUNCHER(shared_copy, shared_copy_kernel)
TRANSPOSE_LAUNCHER(naive, naive_kernel)
TRANSPOSE_LAUNCHER(coalesced, transpose_kernel<SQUARE, false>)
TRANSPOSE_LAUNCHER(conflict_free, transpose_kernel<SQUARE + 1, false>)
TRANSPOSE_LAUNCHER(fine, fine_kernel)
TRANSPOSE_LAUNCHER(coarse, coarse_kernel)
TRANSPOSE_LAUNCHER(diagonal, transpose_kernel<SQUARE + 1, true>)
