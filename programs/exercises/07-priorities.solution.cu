// Exercise 07, a solution: priorities
//
// Blocks of a stream with a higher priority are placed first where they wait for room. Those that
// run already are not stopped, so the urgent kernel still waits for the first blocks to end. A
// priority is for kernels: copies are taken in the order in which they became ready.
//
// To have it graded: pipeline exercise check 07 FILE.cu

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

enum { JOBS = 5, URGENT = 4, N = 1 << 20, BLOCK = 256, WINDOW = 4096, ROUNDS = 16 };
const size_t BYTES = N * sizeof(unsigned);

struct job {
    unsigned *in, *out; // on the device
};

__host__ __device__ inline unsigned input(unsigned job, unsigned i)
{
    return (i + 1) * 2246822519u ^ (job + 1) * 40503u;
}

__global__ void fill(unsigned *in, unsigned job)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    in[i] = input(job, i);
}

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

// Counts wrong results among every 64th.
__global__ void check(const unsigned *in, const unsigned *out, unsigned *wrong)
{
    unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) * 64;
    if (out[i] != mix(in + i / WINDOW * WINDOW, i % WINDOW))
        atomicAdd(wrong, 1);
}

// ---- your part begins ----

// Does all jobs in the order in which they arrived, each in a stream of its own.
void serve(const job *jobs, unsigned *result)
{
    int least, greatest; // the greatest priority is the least number
    cudaStream_t streams[JOBS];
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    for (int j = 0; j < JOBS; j++)
        CHECK(cudaStreamCreateWithPriority(&streams[j], cudaStreamDefault,
                                           j == URGENT ? greatest : least));

    for (int j = 0; j < JOBS; j++) {
        mix_all<<<N / BLOCK, BLOCK, 0, streams[j]>>>(jobs[j].in, jobs[j].out);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaMemcpyAsync(result, jobs[URGENT].out, BYTES, cudaMemcpyDeviceToHost,
                          streams[URGENT]));
    CHECK(cudaDeviceSynchronize());

    for (int j = 0; j < JOBS; j++)
        CHECK(cudaStreamDestroy(streams[j]));
}

// ---- your part ends ----

int main()
{
    job jobs[JOBS];
    unsigned *result, *counter, wrong = 0;
    CHECK(cudaMallocHost(&result, BYTES));
    CHECK(cudaMalloc(&counter, sizeof *counter));
    for (int j = 0; j < JOBS; j++) {
        CHECK(cudaMalloc(&jobs[j].in, BYTES));
        CHECK(cudaMalloc(&jobs[j].out, BYTES));
    }
    CHECK(cudaMemset(counter, 0, sizeof *counter));
    for (int j = 0; j < JOBS; j++) {
        fill<<<N / BLOCK, BLOCK>>>(jobs[j].in, j);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());

    serve(jobs, result);
    unsigned *window = (unsigned *)malloc(WINDOW * sizeof(unsigned));
    for (unsigned i = 0; i < N; i++) {
        window[i % WINDOW] = input(URGENT, i);
        if (i % WINDOW == WINDOW - 1)
            for (unsigned at = i / 64 % 64; at < WINDOW; at += 64)
                wrong += result[i - (WINDOW - 1) + at] != mix(window, at);
    }
    if (wrong > 0) {
        printf("wrong: %u results of the urgent job\n", wrong);
        return 1;
    }
    for (int j = 0; j < URGENT; j++) {
        check<<<N / 64 / BLOCK, BLOCK>>>(jobs[j].in, jobs[j].out, counter);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaMemcpy(&wrong, counter, sizeof wrong, cudaMemcpyDeviceToHost));
    if (wrong > 0) {
        printf("wrong: %u results of the other jobs\n", wrong);
        return 1;
    }
    puts("right");
    return 0;
}
