// Exercise 08: host functions (callbacks)
//
// The host takes note of the result of each tile as soon as it is there. To know when, it waits
// for the tile's stream, and issues the next tile only then: nothing overlaps. Let the stream
// tell the host instead: cudaLaunchHostFunc() puts a function of the host into a stream, which
// runs when all that was issued there before is done. Call note() from such a function, and do
// not wait in the loop. A host function must make no calls to CUDA, and be short: its stream
// waits for it. What it is given must last until it has run.
//
// Change only your part, between the two lines that say so.
// The grader checks that the result is right in every order that CUDA allows your streams, that
// host functions are used, and that the run reaches 40 % of the limit. It leaves out what note()
// itself takes, which differs from host to host.
//
// To have it graded: pipeline exercise check 08 FILE.cu

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

// What the host does with the result of a tile.
static unsigned notes[TILES];
void note(int tile, const unsigned *out)
{
    for (int i = 0; i < TILE; i += 4096)
        notes[tile] += out[(size_t)tile * TILE + i] ^ tile;
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
        mix_all<<<TILE / BLOCK, BLOCK, 0, streams[s]>>>(from[s], to[s]);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(out + at, to[s], TILE_BYTES, cudaMemcpyDeviceToHost, streams[s]));
        CHECK(cudaStreamSynchronize(streams[s]));
        note(tile, out);
    }

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
    for (int tile = 0; tile < TILES; tile++) {
        unsigned had = notes[tile];
        notes[tile] = 0;
        note(tile, out);
        if (notes[tile] != had) {
            printf("wrong: the note of tile %d is %u instead of %u\n", tile, had, notes[tile]);
            return 1;
        }
    }
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
    puts("right");
    return 0;
}
