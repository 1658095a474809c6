// Sensitivities of a book, tick by tick: a pricing thread takes ticks from a feed, and each goes through a tree of kernels.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>
#include <fcntl.h>
#include <sys/file.h>
#include <cuda_runtime.h>

constexpr int ticks = 400, warm = 3, branches = 4, bumps = 34, contracts = 32 * 1024, effort = 3000;

#define OK(x)                                                                                   \
    if (cudaError_t e = (x); e != cudaSuccess) {                                                \
        std::fprintf(stderr, "greeks: %s in line %d\n", cudaGetErrorName(e), __LINE__);         \
        std::exit(1);                                                                           \
    }

__host__ __device__ inline uint32_t reprice(uint32_t v, uint32_t bump, int n)
{
    for (int i = 0; i < n; i++)
        v = v * 214013u + bump;
    return v;
}

__global__ void bumped(uint32_t *value, uint32_t bump, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    value[i] = reprice(value[i], bump, n);
}

__global__ void merge(uint32_t *a, const uint32_t *b, const uint32_t *c, const uint32_t *d, const uint32_t *tick)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = a[i] ^ b[i] ^ c[i] ^ d[i] ^ *tick;
}

struct pricer {
    uint32_t *value[branches], *tick, *h_tick, *h_first;
    cudaStream_t stream[branches];
    cudaEvent_t fork, done[branches];
    cudaGraphExec_t exec = nullptr;

    void issue()
    {
        OK(cudaMemcpyAsync(tick, h_tick, sizeof *tick, cudaMemcpyHostToDevice, stream[0]));
        OK(cudaEventRecord(fork, stream[0]));
        for (int b = 1; b < branches; b++)
            OK(cudaStreamWaitEvent(stream[b], fork, 0));
        for (int k = 0; k < bumps; k++)
            for (int b = 0; b < branches; b++)
                bumped<<<contracts / 256, 256, 0, stream[b]>>>(value[b], 2 * (k * branches + b) + 1, effort);
        for (int b = 1; b < branches; b++) {
            OK(cudaEventRecord(done[b], stream[b]));
            OK(cudaStreamWaitEvent(stream[0], done[b], 0));
        }
        merge<<<contracts / 256, 256, 0, stream[0]>>>(value[0], value[1], value[2], value[3], tick);
        OK(cudaMemcpyAsync(h_first, value[0], sizeof *h_first, cudaMemcpyDeviceToHost, stream[0]));
    }
    void price(uint32_t t)
    {
        *h_tick = t;
#ifdef WRONG
        issue();
#else
        OK(cudaGraphLaunch(exec, stream[0]));
#endif
        OK(cudaStreamSynchronize(stream[0]));
    }
};

int main()
{
    pricer p;
    OK(cudaMalloc(&p.tick, sizeof(uint32_t)));
    OK(cudaMallocHost(&p.h_tick, sizeof(uint32_t)));
    OK(cudaMallocHost(&p.h_first, sizeof(uint32_t)));
    OK(cudaEventCreateWithFlags(&p.fork, cudaEventDisableTiming));
    for (int b = 0; b < branches; b++) {
        OK(cudaMalloc(&p.value[b], contracts * sizeof(uint32_t)));
        OK(cudaMemset(p.value[b], b + 1, contracts * sizeof(uint32_t)));
        OK(cudaStreamCreateWithFlags(&p.stream[b], cudaStreamNonBlocking));
        OK(cudaEventCreateWithFlags(&p.done[b], cudaEventDisableTiming));
    }
    OK(cudaDeviceSynchronize());
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
#ifndef WRONG
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(p.stream[0], cudaStreamCaptureModeRelaxed));
    p.issue();
    OK(cudaStreamEndCapture(p.stream[0], &graph));
    OK(cudaGraphInstantiate(&p.exec, graph, 0));
#endif

    std::vector<uint32_t> feed(warm + ticks), first(warm + ticks);
    for (size_t t = 0; t < feed.size(); t++)
        feed[t] = uint32_t(t * 7919 + 17);
    std::atomic<int> priced{0};
    double took = 0;
    std::thread engine([&] {
        timespec a = {0, 0}, b;
        for (int t = 0; t < warm + ticks; t++) {
            if (t == warm)
                clock_gettime(CLOCK_MONOTONIC, &a);
            p.price(feed[t]);
            first[t] = *p.h_first;
            priced.store(t + 1, std::memory_order_release);
        }
        clock_gettime(CLOCK_MONOTONIC, &b);
        took = (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) * 1e-6;
    });

    uint32_t value[branches];
    for (int b = 0; b < branches; b++)
        value[b] = (b + 1) * 0x01010101u;
    int bad = 0;
    for (int t = 0; t < warm + ticks; t++) {
        for (int k = 0; k < bumps; k++)
            for (int b = 0; b < branches; b++)
                value[b] = reprice(value[b], 2 * (k * branches + b) + 1, effort);
        value[0] ^= value[1] ^ value[2] ^ value[3] ^ feed[t];
        while (priced.load(std::memory_order_acquire) <= t)
            std::this_thread::yield();
        bad += first[t] != value[0];
        if (t % 10 == 9)
            std::printf("tick %d: %08x\n", t + 1, first[t]);
    }
    engine.join();
    std::printf("%d ticks, %d mispriced\npass_ms=%.4f\n", ticks, bad, took / ticks);
    return bad != 0;
}
