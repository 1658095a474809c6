// Exercise 03, a solution: from 3-way to 4-way: the CPU works, too
//
// The last tile is the CPU's. It computes behind the loop that issues the others' work, and in
// front of cudaDeviceSynchronize(): all calls of the loop are asynchronous, so that the device is
// at work then. In front of the loop or behind the synchronisation nothing would overlap. How
// many tiles are best depends on how fast the CPU is beside the bus: measure it on yours.
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

enum { STREAMS = 4, CPU_TILES = 1, GPU_TILES = TILES - CPU_TILES };

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
    for (int tile = 0; tile < GPU_TILES; tile++) {
        size_t at = (size_t)tile * TILE;
        int s = tile % STREAMS;
        CHECK(cudaMemcpyAsync(from[s], in + at, TILE_BYTES, cudaMemcpyHostToDevice, streams[s]));
        scale_all<<<TILE / BLOCK, BLOCK, 0, streams[s]>>>(from[s], to[s]);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(out + at, to[s], TILE_BYTES, cudaMemcpyDeviceToHost, streams[s]));
    }

    // The calls above have returned long before the device is done: the CPU has time.
    for (size_t i = (size_t)GPU_TILES * TILE; i < N; i++)
        out[i] = scale(in[i]);
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
