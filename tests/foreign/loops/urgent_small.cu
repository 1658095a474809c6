// A control loop, each of whose decisions is awaited, beside a simulation that nobody waits for until the end.
#include <cuda_runtime.h>

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

static void sure(cudaError_t error, const char *file, int line)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(error));
        std::exit(23);
    }
}
#define SURE(x) sure((x), __FILE__, __LINE__)

constexpr int states = 64 * 128, cells = 8 << 20, decisions = 300, thinking = 100000, effort = 900;

__host__ __device__ inline unsigned mix(unsigned v, int n)
{
    for (int i = 0; i < n; ++i) v = v * 1664525u + 1013904223u;
    return v;
}
__global__ void simulate(unsigned *cell)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cell[i] = mix(cell[i], effort);
}
__global__ void decide(unsigned *state)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    state[i] = mix(state[i], thinking);
}

int main()
{
    cudaStream_t background, control;
#ifdef WRONG
    SURE(cudaStreamCreateWithFlags(&background, cudaStreamNonBlocking));
    SURE(cudaStreamCreateWithFlags(&control, cudaStreamNonBlocking));
#else
    int least, greatest;
    SURE(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    SURE(cudaStreamCreateWithPriority(&background, cudaStreamNonBlocking, least));
    SURE(cudaStreamCreateWithPriority(&control, cudaStreamNonBlocking, greatest));
#endif
    unsigned *cell, *state, *seen;
    SURE(cudaMalloc(&cell, cells * 4));
    SURE(cudaMalloc(&state, states * 4));
    SURE(cudaMallocHost(&seen, states * 4));
    SURE(cudaMemset(cell, 1, cells * 4));
    for (int i = 0; i < states; ++i) seen[i] = i;
    unsigned want = seen[77];
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    auto decision = [&](int d) {
        simulate<<<cells / 128, 128, 0, background>>>(cell);
        seen[77] += d; // what was decided depends on the last state
        SURE(cudaMemcpyAsync(state, seen, states * 4, cudaMemcpyHostToDevice, control));
        decide<<<states / 128, 128, 0, control>>>(state);
        SURE(cudaGetLastError());
        SURE(cudaMemcpyAsync(seen, state, states * 4, cudaMemcpyDeviceToHost, control));
        SURE(cudaStreamSynchronize(control));
    };
    decision(0);
    SURE(cudaDeviceSynchronize());
    auto from = std::chrono::steady_clock::now();
    for (int d = 1; d <= decisions; ++d) decision(d);
    SURE(cudaDeviceSynchronize());
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;

    unsigned end, cell_want = 0x01010101u;
    for (int d = 0; d <= decisions; ++d) {
        want = mix(want + d, thinking);
        cell_want = mix(cell_want, effort);
    }
    SURE(cudaMemcpy(&end, cell + 4096, 4, cudaMemcpyDeviceToHost));
    bool right = seen[77] == want && end == cell_want;
    std::printf("%d decisions, %s\n", decisions, right ? "sound" : "unsound");
    std::printf("pass_ms=%.4f\n", took.count() / decisions);
    return right ? 0 : 1;
}
