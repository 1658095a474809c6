// Exercise 09, a solution: a graph
//
// The step is captured once and launched four times: four calls instead of 96, and from node
// to node the device goes on by itself. A graph keeps the addresses that it was captured with,
// so a step must end with its result where the next one expects it: here in a, as the number of
// kernels is even. cudaGraphInstantiate() takes its time, and is done once.
//
// To have it graded: pipeline exercise check 09 FILE.cu

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

enum { N = 1 << 14, BLOCK = 256, STEPS = 4, KERNELS = 24 }; // a step has 24 kernels
const size_t BYTES = N * sizeof(unsigned);

__host__ __device__ inline unsigned relaxed(const unsigned *in, unsigned i)
{
    return 5 * in[i] + in[(i + 1) % N] + 3 * in[(i + N - 1) % N];
}

__global__ void relax(const unsigned *in, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = relaxed(in, i);
}

// ---- your part begins ----

void run(unsigned *a, unsigned *b) // both on the device; the result is in a
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamCreate(&stream));

    // What is issued here does not run: it becomes the nodes of a graph.
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int k = 0; k < KERNELS; k += 2) {
        relax<<<N / BLOCK, BLOCK, 0, stream>>>(a, b);
        relax<<<N / BLOCK, BLOCK, 0, stream>>>(b, a);
    }
    CHECK(cudaGetLastError());
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));

    for (int step = 0; step < STEPS; step++)
        CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
}

// ---- your part ends ----

int main()
{
    unsigned *a, *b, *host[2] = {(unsigned *)malloc(BYTES), (unsigned *)malloc(BYTES)};
    unsigned *out = (unsigned *)malloc(BYTES);
    CHECK(cudaMalloc(&a, BYTES));
    CHECK(cudaMalloc(&b, BYTES));
    for (unsigned i = 0; i < N; i++)
        host[0][i] = i * 2246822519u ^ i >> 7;
    CHECK(cudaMemcpy(a, host[0], BYTES, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    run(a, b);
    CHECK(cudaMemcpy(out, a, BYTES, cudaMemcpyDeviceToHost));
    for (int k = 0; k < STEPS * KERNELS; k++)
        for (unsigned i = 0; i < N; i++)
            host[(k + 1) % 2][i] = relaxed(host[k % 2], i);
    for (unsigned i = 0; i < N; i++)
        if (out[i] != host[0][i]) {
            printf("wrong: element %u is %u instead of %u\n", i, out[i], host[0][i]);
            return 1;
        }
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    puts("right");
    return 0;
}
