// Exercise 10, a solution: halo exchange on two devices
//
// Each device's stream runs its kernel and then sends its edge row to the other device. One wait
// a step is enough for both ways: the event that a device waits for stands behind the row that
// it reads next, and behind the other's kernel that read what it overwrites next. To go further:
// work out the edge row first, in a stream of its own, and send it while the rest is computed.
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
    cudaStream_t streams[DEVICES];
    cudaEvent_t sent[DEVICES][2]; // by the step, so that a wait never means the step after
    for (int device = 0; device < DEVICES; device++) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaDeviceEnablePeerAccess(1 - device, 0));
        CHECK(cudaStreamCreate(&streams[device]));
        for (int i = 0; i < 2; i++)
            CHECK(cudaEventCreateWithFlags(&sent[device][i], cudaEventDisableTiming));
    }
    for (int step = 0; step < STEPS; step++) {
        int from = step % 2, to = 1 - from;
        for (int device = 0; device < DEVICES; device++) {
            int other = 1 - device;
            // My row beside the other device, and where that keeps it as its ghost row.
            size_t edge = (device == 0 ? ROWS : 1) * COLS;
            size_t ghost = (device == 0 ? 0 : ROWS + 1) * COLS;
            CHECK(cudaSetDevice(device));
            if (step > 0)
                CHECK(cudaStreamWaitEvent(streams[device], sent[other][from], 0));
            relax<<<dim3(COLS / BLOCK, ROWS), BLOCK, 0, streams[device]>>>(grid[device][from],
                                                                           grid[device][to]);
            CHECK(cudaGetLastError());
            // The other device has read that row in the step before, which I waited for.
            CHECK(cudaMemcpyPeerAsync(grid[other][to] + ghost, other, grid[device][to] + edge,
                                      device, ROW, streams[device]));
            CHECK(cudaEventRecord(sent[device][to], streams[device]));
        }
    }
    for (int device = 0; device < DEVICES; device++) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaStreamDestroy(streams[device]));
    }
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
