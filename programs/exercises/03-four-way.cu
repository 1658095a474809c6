// Exercise 03: from 3-way to 4-way: the CPU works, too
//
// Copies in, kernels and copies out overlap, and the host waits for them. The kernel is light:
// the copies take most of the time, and what the CPU works out itself is not copied at all.
// Leave the last tile (or two, or four) to the CPU, with scale(), which also runs there.
// Where in the program does the CPU compute while the device is at work?
//
// Change only your part, between the two lines that say so.
// The grader checks that the result is right in every order that CUDA allows your streams, that
// 1 to 8 of the 16 tiles are not copied to the device, and that the rest reaches 65 % of the
// limit. It leaves the CPU's time out, which differs from host to host.
//
// To have it graded: pipeline exercise check 03 FILE.cu

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

enum { N = 4 << 20, TILES = 16, TILE = N / TILES, BLOCK = 256 };
const size_t TILE_BYTES = TILE * sizeof(unsigned);

__host__ __device__ inline unsigned scale(unsigned value)
{
    return value * 3 + 7;
}

__global__ void scale_all(const unsigned *in, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = scale(in[i]);
}

// ---- your part begins ----

enum { STREAMS = 4 };

void work(const unsigned *in, unsigned *out)
{
    unsigned *from[STREAMS], *to[STREAMS]; // each stream has room for one tile on the device
    cudaStream_t streams[STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaMalloc(&from[s], TILE_BYTES));
        CHECK(cudaMalloc(&to[s], TILE_BYTES));
        CHECK(cudaStreamCreate(&streams[s]));
    }

    // A stream keeps its own order: its buffers are free again when its next tile comes.
    for (int tile = 0; tile < TILES; tile++) {
        size_t at = (size_t)tile * TILE;
        int s = tile % STREAMS;
        CHECK(cudaMemcpyAsync(from[s], in + at, TILE_BYTES, cudaMemcpyHostToDevice, streams[s]));
        scale_all<<<TILE / BLOCK, BLOCK, 0, streams[s]>>>(from[s], to[s]);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(out + at, to[s], TILE_BYTES, cudaMemcpyDeviceToHost, streams[s]));
    }
    CHECK(cudaDeviceSynchronize());

    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaStreamDestroy(streams[s]));
        CHECK(cudaFree(from[s]));
        CHECK(cudaFree(to[s]));
    }
}

// ---- your part ends ----

int main()
{
    unsigned *in, *out;
    CHECK(cudaMallocHost(&in, TILES * TILE_BYTES));
    CHECK(cudaMallocHost(&out, TILES * TILE_BYTES));
    for (unsigned i = 0; i < N; i++)
        in[i] = i * 2246822519u ^ i >> 9;
    work(in, out);
    for (unsigned i = 0; i < N; i += 61) {
        unsigned wanted = scale(in[i]);
        if (out[i] != wanted) {
            printf("wrong: element %u, of tile %u, is %u instead of %u\n", i, i / TILE, out[i],
                   wanted);
            return 1;
        }
    }
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
    puts("right");
    return 0;
}
