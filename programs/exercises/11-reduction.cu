// Exercise 11: the reduction ladder
//
// Blocks add up an array, and the sums of blocks are added up likewise. This is the lowest rung:
// partners lie ever farther apart, sums are kept in the device's memory, and each thread begins
// with one element. Climb: (1) keep a block's sums in shared memory; (2) let the first half of
// the threads add the second half's sums, then the first quarter the second's, so that whole
// warps work or rest; (3) let each thread add up many elements first, those of a warp side by
// side; (4) add up a warp's last 32 sums by __shfl_down_sync(), without memory or barriers.
//
// Change only your part, between the two lines that say so.
// The grader checks that the result is right, that there are shuffles (or __reduce_add_sync()),
// and that the kernels together take at most three times as long as it takes to read the array
// once. It counts what they read, write and compute, and bank conflicts.
//
// To have it graded: pipeline exercise check 11 FILE.cu

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

enum { N = 1000003, BLOCK = 256 };
const size_t BYTES = N * sizeof(unsigned);

// ---- your part begins ----

// Each block adds up BLOCK elements in place, and leaves their sum in sums[] for the next launch.
__global__ void add_up(unsigned *data, unsigned *sums, unsigned count)
{
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    for (unsigned apart = 1; apart < BLOCK; apart *= 2) {
        if (threadIdx.x % (2 * apart) == 0 && i + apart < count)
            data[i] += data[i + apart];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = data[i];
}

// Returns the sum of data[0] to data[N - 1]. Both arrays are on the device, have room for N
// elements, and may be written.
unsigned sum(unsigned *data, unsigned *scratch)
{
    unsigned total;
    for (unsigned count = N; count > 1;) {
        unsigned blocks = (count + BLOCK - 1) / BLOCK, *sums = scratch;
        add_up<<<blocks, BLOCK>>>(data, sums, count);
        CHECK(cudaGetLastError());
        scratch = data;
        data = sums;
        count = blocks;
    }
    CHECK(cudaMemcpy(&total, data, sizeof total, cudaMemcpyDeviceToHost));
    return total;
}

// ---- your part ends ----

int main()
{
    unsigned *host = (unsigned *)malloc(BYTES), *data, *scratch, wanted = 0;
    CHECK(cudaMalloc(&data, BYTES));
    CHECK(cudaMalloc(&scratch, BYTES));
    for (unsigned i = 0; i < N; i++) {
        host[i] = i * 2246822519u ^ i >> 9;
        wanted += host[i];
    }
    CHECK(cudaMemcpy(data, host, BYTES, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    unsigned got = sum(data, scratch);
    CHECK(cudaFree(data));
    CHECK(cudaFree(scratch));
    if (got != wanted) {
        printf("wrong: the sum is %u instead of %u\n", got, wanted);
        return 1;
    }
    puts("right");
    return 0;
}
