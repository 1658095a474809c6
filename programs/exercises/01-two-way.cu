// Exercise 01: from serial to 2-way
//
// The program copies an array to the device, runs a kernel on it and copies the result back.
// It is right, but serial: the kernel waits for all of the copy in, the copy out for all of
// the kernel. Cut the array into TILES tiles, so that the kernel of one tile runs while the
// result of the tile before is copied back. The input may still be copied in one piece.
//
// Change only your part, between the two lines that say so.
// The grader checks that the result is right in every order that CUDA allows your streams, and
// that the run reaches 47.5 % of the limit: what copies both ways take at once if nothing waits.
//
// To have it graded: pipeline exercise check 01 FILE.cu

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

void work(const unsigned *in, unsigned *out)
{
    unsigned *from, *to; // on the device
    CHECK(cudaMalloc(&from, BYTES));
    CHECK(cudaMalloc(&to, BYTES));

    CHECK(cudaMemcpy(from, in, BYTES, cudaMemcpyHostToDevice));
    mix_all<<<N / BLOCK, BLOCK>>>(from, to);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out, to, BYTES, cudaMemcpyDeviceToHost));

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
