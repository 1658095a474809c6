/* square.cuh - the squares of a matrix that is transposed: their size, which the CPU twins need
 * too, which square a block takes, and how its threads read and write it. */
#ifndef PIPELINE_SQUARE_CUH
#define PIPELINE_SQUARE_CUH

/* The side of the squares that a matrix is cut into, one for each block of threads: a multiple
 * of a warp's 32. In the lectures it is 32, with 4 elements for each of 256 threads. A side
 * twice as long writes rows of 256 bytes and has 16 reads of a thread on their way, and an
 * H200's memory wants more reads on their way than a GPU of the lectures' time did. */
enum { SQUARE = 64 };

#ifdef __cplusplus

#include "kernels/device_util.cuh"

constexpr unsigned SQUARE_ROWS = KERNEL_THREADS / SQUARE; /* rows that a block covers at once */
constexpr unsigned EACH = SQUARE * SQUARE / KERNEL_THREADS; /* elements of a thread */
static_assert(SQUARE % WARP_THREADS == 0, "a warp takes a row of a square, or a part of one");

/* The matrix and its transpose, which every kernel is given. */
struct matrix {
    const float *in;
    float *out;
    uint64_t count; /* elements, with those behind the last whole row */
    uint64_t rows, columns;
    unsigned down, across; /* squares, with the partial ones at the edges */
};

/* The square of a block: where it begins, and how large it is (less than whole at the edges).
 */
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

/* Returns the block's square when squares are counted along their rows. */
static __device__ inline struct place place_in_order(const struct matrix &m)
{
    const unsigned down = blockIdx.x / m.across;
    return place_of(m, down, blockIdx.x - down * m.across);
}

/* Returns the block's square when squares are counted along diagonals: squares that are worked
 * on at once then lie in different columns and in different rows. */
static __device__ inline struct place place_on_diagonal(const struct matrix &m)
{
    const unsigned turn = blockIdx.x / m.down, down = blockIdx.x - turn * m.down;
    return place_of(m, down, (turn + down) % m.across);
}

/* Copies the elements behind the last whole row, which are in no square. */
static __device__ inline void copy_rest(const struct matrix &m)
{
    for (uint64_t i = m.rows * m.columns + grid_thread(); i < m.count; i += grid_threads())
        m.out[i] = m.in[i];
}

/* ---- a thread's share of a square: one element of every SQUARE_ROWS-th row ---- */

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

/* Returns the square's place in the transposed matrix, whose rows have `m.rows` elements. */
static __device__ inline float *square_across(const struct matrix &m, const struct place &at)
{
    return m.out + at.column * m.rows + at.row;
}

/* Returns the square's place in an output that has the shape of the input. */
static __device__ inline float *square_back(const struct matrix &m, const struct place &at)
{
    return m.out + at.row * m.columns + at.column;
}

/* Reads a thread's share of a square of `height` rows of `width` elements, each row `pitch`
 * elements from the next. An element outside of them is 0. */
static __device__ inline void read_square(const float *from, uint64_t pitch, unsigned height,
                                          unsigned width, float (&mine)[EACH])
{
    const unsigned end = my_x() < width ? height : 0;
    from += my_y() * pitch + my_x();
#pragma unroll
    for (unsigned i = 0; i < EACH; i++)
        mine[i] = my_y() + i * SQUARE_ROWS < end ? from[i * SQUARE_ROWS * pitch] : 0;
}

/* Writes a thread's share of such a square, and nothing outside of it. */
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
 * in different banks; without it 32 of them lie in the same bank. */
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

/* Takes a thread's share of the transposed square, whose rows are the columns of this one. */
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

#endif
#endif
