// moves.cu - kernels that move elements within a tile, as a program of --emit has them: transposes, of which each shows
// one thing, and the copy whose reads lie apart. They are those of kernels/transpose.cu and kernels/stride.cu, in the
// fewest lines, for a program's matrix is a constant. Behind each, comes_from() tells the check where elements were.
//
// nvcc compiles this file as it stands; src/emit/fill.c says what its marks and macros are.
#include <cstddef>

// TO: where a thread's element goes. WIDTH: of a square in shared memory, and WHY so. TAKEN: what is taken of it.
// ACROSS: to the place across the diagonal. DIAGONAL: squares come along diagonals.
#define NAME     transpose_copy
#define TO       out[(row + y + i) * COLUMNS + column + x]
#define WIDTH    SQUARE
#define TAKEN    part[x][y + i]
#define ACROSS   1
#define DIAGONAL 0
#define CUT_OFF  0
#define FOR_ROW  i / COLUMNS
#define FOR_COLUMN i % COLUMNS
const size_t COLUMNS = 100;
const int THREADS = 256, SQUARE = 64;

//// by_squares
// Each block takes a square of the matrix at a time; a warp's threads lie along a row of it.
//// copy_why
// Rows are read, and rows are written: as fast as it gets.
//// naive_why
// What costs: a warp writes a column, and so touches 32 pieces of memory.
//// fine_why
// Half a transpose: squares are transposed, and stay where they are.
//// coarse_why
// The other half: squares change places, and stay as they are inside.
//// diagonal_why
// Squares come along diagonals: those that are worked on at once lie in different columns.
// GPUs before 2010 had partitions of memory that were all busy only so; now addresses are hashed.
//// transpose_direct
static __global__ void NAME(const float *in, float *out, size_t count) {
    const size_t rows = count / COLUMNS, x = threadIdx.x % SQUARE, y = threadIdx.x / SQUARE;
    const size_t across = (COLUMNS + SQUARE - 1) / SQUARE, down = (rows + SQUARE - 1) / SQUARE;
    for (size_t square = blockIdx.x; square < down * across; square += gridDim.x) {
        const size_t row = square / across * SQUARE, column = square % across * SQUARE;
#pragma unroll
        for (int i = 0; i < SQUARE; i += THREADS / SQUARE)
            if (row + y + i < rows && column + x < COLUMNS)
                TO =
                    in[(row + y + i) * COLUMNS + column + x];
    }
}

//// -
namespace shared {

//// transpose_shared
static __global__ void NAME(const float *in, float *out, size_t count) {
    __shared__ float part[SQUARE][WIDTH]; // WHY
    const size_t rows = count / COLUMNS, x = threadIdx.x % SQUARE, y = threadIdx.x / SQUARE;
    const size_t across = (COLUMNS + SQUARE - 1) / SQUARE, down = (rows + SQUARE - 1) / SQUARE;
    for (size_t square = blockIdx.x; square < down * across; square += gridDim.x) {
#if DIAGONAL
        const unsigned number = square, high = down; // 32 bits: divisions are fast
        const size_t row = number % high * (size_t)SQUARE;
        const size_t column = (number / high + number % high) % across * SQUARE;
#else
        const size_t row = square / across * SQUARE, column = square % across * SQUARE;
#endif
#pragma unroll
        for (int i = 0; i < SQUARE; i += THREADS / SQUARE)
            if (row + y + i < rows && column + x < COLUMNS)
                part[y + i][x] = in[(row + y + i) * COLUMNS + column + x];
        __syncthreads();
#if CUT_OFF
        // A square that is cut off CUT_OFF
        const bool whole = row + SQUARE <= rows && column + SQUARE <= COLUMNS;
#endif
#pragma unroll
        for (int i = 0; i < SQUARE; i += THREADS / SQUARE)
#if ACROSS
            if (column + y + i < COLUMNS && row + x < rows)
                out[(column + y + i) * rows + row + x] = TAKEN;
#else
            if (row + y + i < rows && column + x < COLUMNS)
                out[(row + y + i) * COLUMNS + column + x] = TAKEN;
#endif
        __syncthreads(); // all have read it: the next square may come
    }
}

//// -
}

//// from_across
// Returns where in its tile the element at place i of the result was.
static size_t comes_from(size_t i, size_t count) {
    const size_t rows = count / COLUMNS;
    return i % rows * COLUMNS + i / rows;
}

//// -
namespace square {

//// from_square
// Returns where in its tile the element at place i of the result was.
static size_t comes_from(size_t i, size_t count) {
    const size_t rows = count / COLUMNS;
    const size_t row = FOR_ROW, column = FOR_COLUMN, x = column % SQUARE, y = row % SQUARE;
    if (row - y + SQUARE > rows || column - x + SQUARE > COLUMNS)
        return row * COLUMNS + column; // of a square that is cut off
    return (row - y + x) * COLUMNS + column - x + y;
}

//// -
}
namespace stride {
const unsigned STRIDE = 8, STEP = 3;
const int EACH = 8;
typedef unsigned place;

//// stride_copy
// A tile is rows of STRIDE elements. A pass reads one of each row, and writes them one behind the
// other; there is a pass for each column. A pass is STEP columns further than the one before:
// of neighbouring columns the cache would still have the memory.
// What costs: memory is read 32 bytes at a time; from stride 8 on one float of them is wanted.
static __global__ void stride_copy(const float *in, float *out, size_t count) {
    const place rows = count / STRIDE, whole = rows * STRIDE;
    const place first = (place)blockIdx.x * EACH * THREADS + threadIdx.x;
    float mine[EACH] = {};
    if (first < whole) { // so there are rows
        place row = first % rows, column = first / rows * STEP % STRIDE;
#pragma unroll // so that several loads are under way at once
        for (int i = 0; i < EACH; i++) {
            if (first + i * THREADS < whole)
                mine[i] = in[row * STRIDE + column];
            for (row += THREADS; row >= rows; row -= rows) // a later pass
                column = (column + STEP) % STRIDE;
        }
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const place to = first + i * THREADS;
        if (to < count)
            out[to] = to < whole ? mine[i] : in[to]; // behind the last whole row they stay
    }
}

// Returns where in its tile the element at place i of the result was.
static size_t comes_from(size_t i, size_t count) {
    const size_t rows = count / STRIDE;
    return i < rows * STRIDE ? i % rows * STRIDE + i / rows * STEP % STRIDE : i;
}

//// -
}
