// Exercise 13, a solution: scan: sums up to each element
//
// Three launches. Within a block, each warp scans its 32 elements by shuffles, the first warp
// scans the 32 warps' sums, and each warp adds the sum of those before it. The blocks' sums fit
// into one block, so that the same kernel scans them; the last one adds them.
//
// To have it graded: pipeline exercise check 13 FILE.cu

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

enum { N = 500003, BLOCK = 1024 };
const size_t BYTES = N * sizeof(unsigned);

// ---- your part begins ----

// Returns, in each lane, the sum of the values of the lanes up to it.
__device__ unsigned warp_scan(unsigned value)
{
    for (unsigned by = 1; by < 32; by *= 2) {
        unsigned other = __shfl_up_sync(0xffffffff, value, by);
        if (threadIdx.x % 32 >= by)
            value += other;
    }
    return value;
}

// Scans each block of elements by itself, and leaves its sum in sums[], unless that is NULL.
__global__ void scan_blocks(const unsigned *in, unsigned *out, unsigned *sums, unsigned count)
{
    __shared__ unsigned warps[32];
    unsigned i = blockIdx.x * BLOCK + threadIdx.x, warp = threadIdx.x / 32;
    unsigned value = warp_scan(i < count ? in[i] : 0);
    if (threadIdx.x % 32 == 31)
        warps[warp] = value;
    __syncthreads();
    if (warp == 0)
        warps[threadIdx.x] = warp_scan(warps[threadIdx.x]);
    __syncthreads();
    if (warp > 0)
        value += warps[warp - 1];
    if (i < count)
        out[i] = value;
    if (sums != NULL && threadIdx.x == BLOCK - 1)
        sums[blockIdx.x] = value;
}

__global__ void add_before(unsigned *out, const unsigned *sums, unsigned count)
{
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    if (blockIdx.x > 0 && i < count)
        out[i] += sums[blockIdx.x - 1];
}

// Makes out[i] the sum of in[0] to in[i]. All three arrays are on the device; in and scratch may
// be written, and have room for N elements.
void scan(unsigned *in, unsigned *out, unsigned *scratch)
{
    const unsigned blocks = (N + BLOCK - 1) / BLOCK; // at most BLOCK
    scan_blocks<<<blocks, BLOCK>>>(in, out, scratch, N);
    scan_blocks<<<1, BLOCK>>>(scratch, scratch, NULL, blocks);
    add_before<<<blocks, BLOCK>>>(out, scratch, N);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

// ---- your part ends ----

int main()
{
    unsigned *host = (unsigned *)malloc(BYTES), *result = (unsigned *)malloc(BYTES);
    unsigned *in, *out, *scratch, wanted = 0;
    CHECK(cudaMalloc(&in, BYTES));
    CHECK(cudaMalloc(&out, BYTES));
    CHECK(cudaMalloc(&scratch, BYTES));
    for (unsigned i = 0; i < N; i++)
        host[i] = i * 2246822519u ^ i >> 9;
    CHECK(cudaMemcpy(in, host, BYTES, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    scan(in, out, scratch);
    CHECK(cudaMemcpy(result, out, BYTES, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < N; i++) {
        wanted += host[i];
        if (result[i] != wanted) {
            printf("wrong: element %u is %u instead of %u\n", i, result[i], wanted);
            return 1;
        }
    }
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    CHECK(cudaFree(scratch));
    puts("right");
    return 0;
}
