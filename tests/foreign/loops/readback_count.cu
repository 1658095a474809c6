// Rounds of sieving: a kernel picks numbers, the next one works on as many as were picked.
#include <cuda_runtime.h>

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#define RUN(x) run((x), #x)
static void run(cudaError_t error, const char *call)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "sieve: %s: %s\n", call, cudaGetErrorString(error));
        std::exit(14);
    }
}

constexpr unsigned numbers = 512 << 10, rounds = 12, passes = 400, threads = 256, effort = 1500;

__host__ __device__ bool is_picked(unsigned n, unsigned round) { return (n * 2654435761u >> 8) % (round + 2) == 0; }
__host__ __device__ unsigned worked(unsigned n)
{
    for (unsigned i = 0; i < effort; ++i)
        n = n * 1664525u + 1013904223u;
    return n;
}

__global__ void pick(unsigned first, unsigned round, unsigned *list, unsigned *count)
{
    unsigned n = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (is_picked(n, round))
        list[atomicAdd(count, 1)] = n;
}

__global__ void work(const unsigned *list, const unsigned *count, unsigned *sum)
{
    unsigned own = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < *count; i += gridDim.x * blockDim.x)
        own += worked(list[i]);
    for (int to = 16; to > 0; to /= 2)
        own += __shfl_down_sync(~0u, own, to);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, own);
}

struct Sieve {
    unsigned *list, *count, *sum, *host_count;
    cudaStream_t stream;
    Sieve()
    {
        RUN(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        RUN(cudaMalloc(&list, numbers * sizeof(unsigned)));
        RUN(cudaMalloc(&count, sizeof(unsigned)));
        RUN(cudaMalloc(&sum, sizeof(unsigned)));
        RUN(cudaMallocHost(&host_count, sizeof(unsigned)));
        RUN(cudaMemset(sum, 0, sizeof(unsigned)));
        RUN(cudaDeviceSynchronize());
    }
    void round(unsigned first, unsigned r)
    {
        unsigned blocks = 528;
        RUN(cudaMemsetAsync(count, 0, sizeof(unsigned), stream));
        pick<<<numbers / threads, threads, 0, stream>>>(first, r, list, count);
#ifdef WRONG
        RUN(cudaMemcpyAsync(host_count, count, sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
        RUN(cudaStreamSynchronize(stream));
        blocks = std::min(blocks, (*host_count + threads - 1) / threads); // never none: some are always picked
#endif
        work<<<blocks, threads, 0, stream>>>(list, count, sum);
        RUN(cudaGetLastError());
    }
};

int main()
{
    Sieve sieve;
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    for (unsigned r = 0; r < rounds; ++r)
        sieve.round(0, r);
    RUN(cudaStreamSynchronize(sieve.stream));
    auto from = std::chrono::steady_clock::now();
    for (unsigned p = 1; p <= passes; ++p)
        for (unsigned r = 0; r < rounds; ++r)
            sieve.round(p * 31, r);
    RUN(cudaStreamSynchronize(sieve.stream));
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;

    unsigned want = 0, before = 0, end;
    RUN(cudaMemcpy(&before, sieve.sum, sizeof before, cudaMemcpyDeviceToHost));
    sieve.round(5, 7);
    RUN(cudaStreamSynchronize(sieve.stream));
    RUN(cudaMemcpy(&end, sieve.sum, sizeof end, cudaMemcpyDeviceToHost));
    for (unsigned n = 5; n < 5 + numbers; ++n)
        want += is_picked(n, 7) ? worked(n) : 0;
    std::printf("%u passes: %s\n", passes, end - before == want ? "sieved" : "leaked");
    std::printf("pass_ms=%.4f\n", took.count() / passes);
    return end - before == want ? 0 : 1;
}
