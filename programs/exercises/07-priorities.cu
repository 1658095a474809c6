// Exercise 07: priorities
//
// Five jobs arrive, and the last of them is the urgent one: its result goes back to the host,
// where somebody waits. Each job has a stream of its own, but each kernel has more blocks than
// the device has room for: the urgent one's blocks wait for those of all kernels before, and its
// copy, which could run beside the others' kernels, comes last. Let blocks of the urgent stream
// be placed first. Ask the device which priorities it has. The order of the launches stays.
//
// Change only your part, between the two lines that say so.
// The grader checks that the result is right in every order that CUDA allows your streams, that
// a stream has a priority, and that the run reaches 90 % of the limit.
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

// ---- your part begins ----

// Does all jobs in the order in which they arrived, each in a stream of its own.
void serve(const job *jobs, unsigned *result)
{
    cudaStream_t streams[JOBS];
    for (int j = 0; j < JOBS; j++)
        CHECK(cudaStreamCreate(&streams[j]));

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
    unsigned *result, *window = (unsigned *)malloc(WINDOW * sizeof(unsigned)), got;
    CHECK(cudaMallocHost(&result, BYTES));
    for (int j = 0; j < JOBS; j++) {
        CHECK(cudaMalloc(&jobs[j].in, BYTES));
        CHECK(cudaMalloc(&jobs[j].out, BYTES));
        fill<<<N / BLOCK, BLOCK>>>(jobs[j].in, j);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());
    serve(jobs, result);
    for (unsigned i = 0; i < N * JOBS; i += N / 16 + 61) {
        unsigned job = i / N, at = i % N;
        for (unsigned k = 0; k < WINDOW; k++)
            window[k] = input(job, at / WINDOW * WINDOW + k);
        if (job == URGENT)
            got = result[at];
        else
            CHECK(cudaMemcpy(&got, jobs[job].out + at, sizeof got, cudaMemcpyDeviceToHost));
        if (got != mix(window, at % WINDOW)) {
            printf("wrong: element %u of job %u is %u\n", at, job, got);
            return 1;
        }
    }
    puts("right");
    return 0;
}
