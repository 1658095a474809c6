// Exercise 11, a solution: the reduction ladder
//
// The top of the ladder. A grid of as many blocks as the device holds, whose threads walk over
// the array together: each warp reads 32 elements side by side, each element is read once. Sums
// stay in registers; shuffles add up a warp, shared memory a block's eight warps, and one atomic
// addition for each block the rest, so that a single launch is enough.
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

// Returns, in lane 0, the sum of the values of a warp's lanes.
__device__ unsigned warp_sum(unsigned value)
{
    for (int by = 16; by > 0; by /= 2)
        value += __shfl_down_sync(0xffffffff, value, by);
    return value;
}

// Each thread adds up elements that lie a grid apart, each block its threads' sums.
__global__ void add_up(const unsigned *data, unsigned *total, unsigned count)
{
    __shared__ unsigned sums[BLOCK / 32];
    unsigned sum = 0;
    for (unsigned i = blockIdx.x * BLOCK + threadIdx.x; i < count; i += gridDim.x * BLOCK)
        sum += data[i];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = warp_sum(threadIdx.x < BLOCK / 32 ? sums[threadIdx.x] : 0);
        if (threadIdx.x == 0)
            atomicAdd(total, sum);
    }
}

// Returns the sum of data[0] to data[N - 1]. Both arrays are on the device, have room for N
// elements, and may be written.
unsigned sum(unsigned *data, unsigned *scratch)
{
    unsigned total;
    int processors;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaMemset(scratch, 0, sizeof *scratch));
    add_up<<<processors * 8, BLOCK>>>(data, scratch, N); // as many blocks as fit
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&total, scratch, sizeof total, cudaMemcpyDeviceToHost));
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
