// Exercise 02: from 2-way to 3-way, with streams
//
// The kernels of this program overlap the copies back, but all of the input is copied first.
// The device has an engine for copies in and another for copies out: let both work at once,
// and the kernels beside them, by giving each stream of several all three stages of its tiles:
// copy in, kernel, copy out. It then takes room for a few tiles on the device, not for all.
//
// Change only your part, between the two lines that say so.
// The grader checks that the result is right in every order that CUDA allows your streams, and
// that the run reaches 65 % of the limit: copies in and out at once, without a gap.
//
// To have it graded: pipeline exercise check 02 FILE.cu

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

enum { N = 4 << 20, TILES = 16, TILE = N / TILES };      // elements, tiles, elements of a tile
enum { BLOCK = 256, WINDOW = 4096, ROUNDS = 16 };
const size_t TILE_BYTES = TILE * sizeof(unsigned), BYTES = TILES * TILE_BYTES;

// Mixes element i of a window with others of that window: many small reads.
__host__ __device__ inline unsigned mix(const unsigned *window, unsigned i)
{
    unsigned value = window[i];
    for (int round = 0; round < ROUNDS; round++)
        value = value * 2654435761u + window[value >> 20];
    return value;
}

// Works on as many elements as it has threads, which are a whole number of windows.
__global__ void mix_all(const unsigned *in, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = mix(in + i / WINDOW * WINDOW, i % WINDOW);
}

// ---- your part begins ----

enum { STREAMS = 2 };

void work(const unsigned *in, unsigned *out)
{
    unsigned *from, *to; // on the device
    cudaStream_t streams[STREAMS];
    CHECK(cudaMalloc(&from, BYTES));
    CHECK(cudaMalloc(&to, BYTES));
    for (int s = 0; s < STREAMS; s++)
        CHECK(cudaStreamCreate(&streams[s]));

    // All of the input first. The host waits, so that kernels of all streams find it there.
    CHECK(cudaMemcpy(from, in, BYTES, cudaMemcpyHostToDevice));

    // While one stream copies a tile back, the kernel of the other works on the next one.
    for (int tile = 0; tile < TILES; tile++) {
        size_t at = (size_t)tile * TILE;
        cudaStream_t stream = streams[tile % STREAMS];
        mix_all<<<TILE / BLOCK, BLOCK, 0, stream>>>(from + at, to + at);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(out + at, to + at, TILE_BYTES, cudaMemcpyDeviceToHost, stream));
    }
    CHECK(cudaDeviceSynchronize());

    for (int s = 0; s < STREAMS; s++)
        CHECK(cudaStreamDestroy(streams[s]));
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
}

// ---- your part ends ----

int main()
{
    unsigned *in, *out;
    CHECK(cudaMallocHost(&in, BYTES));
    CHECK(cudaMallocHost(&out, BYTES));
    for (unsigned i = 0; i < N; i++)
        in[i] = i * 2246822519u ^ i >> 9;
    work(in, out);
    for (unsigned i = 0; i < N; i += 61) {
        unsigned wanted = mix(in + i / WINDOW * WINDOW, i % WINDOW);
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
