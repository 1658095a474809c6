// Exercise 12: transpose: coalescing and bank conflicts
//
// The 32 threads of a warp read elements side by side, which the device reads in four pieces of
// 32 bytes. But they write elements that lie a whole row apart: 32 pieces, of each of which an
// eighth is used. Have each block read a tile into shared memory, and write it from there so that
// both ways a warp's elements lie side by side. Then look at the banks: threads that read a column
// of a tile that is 32 elements wide all want the same bank.
//
// Change only your part, between the two lines that say so.
// The grader checks that the result is right, that there is shared memory, and that the kernel
// takes at most 1.5 times as long as it takes to read and write the matrix once. It counts what
// warps read and write in the device's memory, and bank conflicts of shared memory.
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

__global__ void transpose(const unsigned *in, unsigned *out)
{
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    if (col < COLS && row < ROWS)
        out[(size_t)col * ROWS + row] = in[(size_t)row * COLS + col];
}

// in has ROWS rows of COLS elements, out shall have COLS rows of ROWS; both are on the device.
void run(const unsigned *in, unsigned *out)
{
    dim3 grid((COLS + TILE - 1) / TILE, (ROWS + TILE - 1) / TILE), block(TILE, TILE);
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
