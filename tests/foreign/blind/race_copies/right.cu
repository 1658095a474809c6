// A ring of device buffers between three streams: one brings blocks in, one ciphers them in place, one
// takes them home.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>
#include <nvtx3/nvtx3.hpp>

static const int RING = 4;
static const int BLOCKS = 40;
static const size_t BLOCK_WORDS = 2097152;
static const int KEY_ROUNDS = 2100;

#define TRY(x) try_((x), __LINE__)
static void try_(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "line %d: %s\n", line, cudaGetErrorName(e));
    exit(4);
}

__host__ __device__ static uint32_t cipher(uint32_t word, int rounds)
{
    uint32_t key = 0x9e3779b9u;
    for (int r = 0; r < rounds; r++) {
        word = (word ^ word >> 9) * 0x01000193u + key;
        key += 0x7f4a7c15u;
    }
    return word;
}

__global__ void cipher_block(uint32_t *block, int rounds)
{
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    block[i] = cipher(block[i], rounds);
}

struct Ring {
    uint32_t *buffer[RING];
    cudaEvent_t arrived[RING], ciphered[RING], home[RING];
    cudaStream_t in, work, out;

    Ring()
    {
        TRY(cudaStreamCreateWithFlags(&in, cudaStreamNonBlocking));
        TRY(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
        TRY(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking));
        for (int i = 0; i < RING; i++) {
            TRY(cudaMalloc(&buffer[i], BLOCK_WORDS * sizeof(uint32_t)));
            TRY(cudaEventCreateWithFlags(&arrived[i], cudaEventDisableTiming));
            TRY(cudaEventCreateWithFlags(&ciphered[i], cudaEventDisableTiming));
            TRY(cudaEventCreateWithFlags(&home[i], cudaEventDisableTiming));
        }
    }

    void process(uint32_t *text, int number)
    {
        const int b = number % RING;
        const size_t bytes = BLOCK_WORDS * sizeof(uint32_t);
        uint32_t *here = text + number * BLOCK_WORDS;

        // The buffer must be free before the next block comes in.
        if (number >= RING) TRY(cudaStreamWaitEvent(in, home[b], 0));
        TRY(cudaMemcpyAsync(buffer[b], here, bytes, cudaMemcpyHostToDevice, in));
        TRY(cudaEventRecord(arrived[b], in));

        TRY(cudaStreamWaitEvent(work, arrived[b], 0));
        cipher_block<<<BLOCK_WORDS / 512, 512, 0, work>>>(buffer[b], KEY_ROUNDS);
        TRY(cudaGetLastError());
        TRY(cudaEventRecord(ciphered[b], work));

        TRY(cudaStreamWaitEvent(out, ciphered[b], 0));
        TRY(cudaMemcpyAsync(here, buffer[b], bytes, cudaMemcpyDeviceToHost, out));
        TRY(cudaEventRecord(home[b], out));
    }
};

int main()
{
    uint32_t *text;
    TRY(cudaMallocHost(&text, BLOCKS * BLOCK_WORDS * sizeof(uint32_t)));
    Ring ring;
    for (int b = 0; b < RING; b++) ring.process(text, b);
    TRY(cudaDeviceSynchronize());
    for (size_t i = 0; i < BLOCKS * BLOCK_WORDS; i++) text[i] = uint32_t(i * 3 + 1);

    double ms;
    {
        nvtx3::scoped_range range{"work"};
        timespec a, z;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (int b = 0; b < BLOCKS; b++) ring.process(text, b);
        TRY(cudaStreamSynchronize(ring.out));
        clock_gettime(CLOCK_MONOTONIC, &z);
        ms = (z.tv_sec - a.tv_sec) * 1e3 + (z.tv_nsec - a.tv_nsec) / 1e6;
    }

    for (size_t i = 7; i < BLOCKS * BLOCK_WORDS; i += 16411)
        if (text[i] != cipher(uint32_t(i * 3 + 1), KEY_ROUNDS)) {
            puts("the text is garbled");
            return 1;
        }
    puts("the text is well");
    printf("time_ms=%.3f\n", ms);
    return 0;
}
