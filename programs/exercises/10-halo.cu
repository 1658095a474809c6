// Exercise 10: halo exchange on two devices
//
// Each of two devices has half of a grid. After each step it needs the edge row of the other
// half, as a ghost row beside its own. The program waits for each device in turn, and takes the
// rows over the host: the devices work one after the other, and the host is in the way.
// Let both devices work at once: a stream on each, rows from device to device by
// cudaMemcpyPeerAsync(), and events instead of the host's waits. Mind both ways: a row must have
// arrived before it is read, and have been read before the next one overwrites it.
//
// Change only your part, between the two lines that say so.
// The grader runs it on two devices. It checks that the result is right in every order that CUDA
// allows your streams, that rows go from device to device, and that the run takes at most 60 %
// of the time that it takes now.
//
// To have it graded: pipeline exercise check 10 FILE.cu

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

enum { COLS = 1024, ROWS = 512, STEPS = 12, DEVICES = 2, BLOCK = 256 }; // rows of each device
const size_t ROW = COLS * sizeof(unsigned), BYTES = (ROWS + 2) * ROW;  // with two ghost rows

__host__ __device__ inline unsigned relaxed(const unsigned *at, int col)
{
    unsigned left = col > 0 ? at[-1] : 1, right = col < COLS - 1 ? at[1] : 2;
    return 5 * at[0] + left + 3 * right + 7 * at[-COLS] + 11 * at[COLS];
}

// Works on rows 1 to ROWS; rows 0 and ROWS + 1 are the neighbours', and only read.
__global__ void relax(const unsigned *in, unsigned *out)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    size_t at = (size_t)(blockIdx.y + 1) * COLS + col;
    out[at] = relaxed(in + at, col);
}

// ---- your part begins ----

// grid[device][0] has the first step's input, and with it both ghost rows; the ghost rows at the
// outer edges never change and are in grid[device][1], too. The result is in grid[device][0].
void run(unsigned *grid[DEVICES][2])
{
    unsigned *row = (unsigned *)malloc(ROW);
    for (int step = 0; step < STEPS; step++) {
        int from = step % 2, to = 1 - from;
        for (int device = 0; device < DEVICES; device++) {
            CHECK(cudaSetDevice(device));
            relax<<<dim3(COLS / BLOCK, ROWS), BLOCK>>>(grid[device][from], grid[device][to]);
            CHECK(cudaGetLastError());
            CHECK(cudaDeviceSynchronize());
        }
        // The last row of device 0 is the ghost row above device 1, and so on. Each copy is issued
        // to the device whose memory it concerns, where the next kernel comes behind it.
        CHECK(cudaSetDevice(0));
        CHECK(cudaMemcpy(row, grid[0][to] + ROWS * COLS, ROW, cudaMemcpyDeviceToHost));
        CHECK(cudaSetDevice(1));
        CHECK(cudaMemcpy(grid[1][to], row, ROW, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(row, grid[1][to] + COLS, ROW, cudaMemcpyDeviceToHost));
        CHECK(cudaSetDevice(0));
        CHECK(cudaMemcpy(grid[0][to] + (ROWS + 1) * COLS, row, ROW, cudaMemcpyHostToDevice));
    }
    free(row);
}

// ---- your part ends ----

int main()
{
    const int all = DEVICES * ROWS + 2; // rows, with those around the grid
    unsigned *host[2], *grid[DEVICES][2], *out;
    int devices;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < DEVICES) {
        puts("wrong: this takes two devices");
        return 1;
    }
    CHECK(cudaMallocHost(&host[0], all * ROW));
    CHECK(cudaMallocHost(&host[1], all * ROW));
    CHECK(cudaMallocHost(&out, BYTES));
    for (unsigned i = 0; i < (unsigned)all * COLS; i++)
        host[0][i] = host[1][i] = i * 2246822519u ^ i >> 9;
    for (int device = 0; device < DEVICES; device++) {
        CHECK(cudaSetDevice(device));
        for (int i = 0; i < 2; i++)
            CHECK(cudaMalloc(&grid[device][i], BYTES));
    }
    for (int device = 0; device < DEVICES; device++) {
        CHECK(cudaSetDevice(device));
        for (int i = 0; i < 2; i++)
            CHECK(cudaMemcpy(grid[device][i], host[0] + (size_t)device * ROWS * COLS, BYTES,
                             cudaMemcpyHostToDevice));
        CHECK(cudaDeviceSynchronize());
    }
    run(grid);
    for (int step = 0; step < STEPS; step++)
        for (size_t at = COLS; at < (size_t)(all - 1) * COLS; at++)
            host[1 - step % 2][at] = relaxed(host[step % 2] + at, at % COLS);
    for (int device = 0; device < DEVICES; device++) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaMemcpy(out, grid[device][0], BYTES, cudaMemcpyDeviceToHost));
        for (size_t at = COLS; at < (size_t)(ROWS + 1) * COLS; at++)
            if (out[at] != host[0][(size_t)device * ROWS * COLS + at]) {
                printf("wrong: row %zu of device %d\n", at / COLS, device);
                return 1;
            }
    }
    puts("right");
    return 0;
}
