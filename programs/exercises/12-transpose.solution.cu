// Exercise 12, a solution: transpose: coalescing and bank conflicts
//
// A block reads a tile row by row into shared memory, and writes it row by row of the result,
// taking columns out of shared memory. A column of 33 elements' pitch touches each bank once.
// The barrier stands where all threads reach it, also at the edges.
//
// To have it graded: pipeline exercise check 12 FILE.cu

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t error = (call);                                                      \
        if (error != cudaSuccess) {                                                      \
            printf("wrong: %s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

enum { ROWS = 1496, COLS = 1448, TILE = 32 }; // neither is a multiple of TILE
const size_t BYTES = (size_t)ROWS * COLS * sizeof(unsigned);

// ---- your part begins ----

enum { LINES = 8 }; // a block has 8 rows of threads, each of which moves 4 elements

__global__ void transpose(const unsigned *in, unsigned *out)
{
    __shared__ unsigned tile[TILE][TILE + 1]; // a column more: a column lies in 32 banks
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += LINES)
        if (col < COLS && row + j < ROWS)
            tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(row + j) * COLS + col];
    __syncthreads();

    // Where the tile lies in the result: threads side by side write side by side again.
    col = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += LINES)
        if (col < ROWS && row + j < COLS)
            out[(size_t)(row + j) * ROWS + col] = tile[threadIdx.x][threadIdx.y + j];
}

// in has ROWS rows of COLS elements, out shall have COLS rows of ROWS; both are on the device.
void run(const unsigned *in, unsigned *out)
{
    dim3 grid((COLS + TILE - 1) / TILE, (ROWS + TILE - 1) / TILE), block(TILE, LINES);
    transpose<<<grid, block>>>(in, out);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

// ---- your part ends ----

int main()
{
    unsigned *in = (unsigned *)malloc(BYTES), *out = (unsigned *)malloc(BYTES), *from, *to;
    CHECK(cudaMalloc(&from, BYTES));
    CHECK(cudaMalloc(&to, BYTES));
    for (unsigned i = 0; i < ROWS * COLS; i++)
        in[i] = i * 2246822519u ^ i >> 9;
    CHECK(cudaMemcpy(from, in, BYTES, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    run(from, to);
    CHECK(cudaMemcpy(out, to, BYTES, cudaMemcpyDeviceToHost));
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLS; col++)
            if (out[(size_t)col * ROWS + row] != in[(size_t)row * COLS + col]) {
                printf("wrong: what was in row %d, column %d is not there\n", row, col);
                return 1;
            }
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    puts("right");
    return 0;
}
