// A coarse weather model whose state the processor and the device share: the device steps it, and the processor
// then sets what comes in from outside.
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <system_error>

#include <cuda_runtime.h>

using Clock = std::chrono::steady_clock;

inline void sure(cudaError_t e, int line = __builtin_LINE())
{
    if (e) {
        std::fprintf(stderr, "wind_fields: line %d: %s\n", line, cudaGetErrorName(e));
        std::exit(1);
    }
}

struct ManagedFree {
    void operator()(float *p) const { cudaFree(p); }
};
using Field = std::unique_ptr<float[], ManagedFree>;

static Field managed(std::size_t n)
{
    float *p;
    sure(cudaMallocManaged(&p, n * sizeof(float)));
    return Field(p);
}

class Stream
{
    cudaStream_t s_;

  public:
    Stream() { sure(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(s_); }
    operator cudaStream_t() const { return s_; }
};

constexpr int steps = 120, zones = 4, every = 64;
constexpr std::size_t zone = 512 * 1024, cells = zone * zones;

__host__ __device__ inline float blow(float v, int n)
{
    for (int i = 0; i < n; ++i)
        v = fmaf(v, 0.9999f, 0.0002f);
    return v;
}

__global__ void step(float *field, int n)
{
    std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
    field[i] = blow(field[i], n);
}

int main()
{
    constexpr int times = 36000;
    Field field = managed(cells);
    Stream stream[zones];
    for (std::size_t i = 0; i < cells; ++i)
        field[i] = float(i % 100);
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    // Which block is fastest? This is tried on memory of its own.
    float *trial, best = INFINITY;
    unsigned threads = 0;
    cudaEvent_t from, to;
    sure(cudaMalloc(&trial, zone * sizeof(float)));
    sure(cudaMemset(trial, 0, zone * sizeof(float)));
    sure(cudaEventCreate(&from));
    sure(cudaEventCreate(&to));
    for (unsigned t : {64u, 128u, 256u, 512u}) {
        float ms;
        sure(cudaEventRecord(from, stream[0]));
        step<<<zone / t, t, 0, stream[0]>>>(trial, times / 4);
        sure(cudaEventRecord(to, stream[0]));
        sure(cudaEventSynchronize(to));
        sure(cudaEventElapsedTime(&ms, from, to));
        if (ms < best)
            best = ms, threads = t;
    }
    sure(cudaFree(trial));

#ifndef WRONG
    cudaMemLocation device{}, host{};
    device.type = cudaMemLocationTypeDevice;
    host.type = cudaMemLocationTypeHost;
#endif
    const auto begin = Clock::now();
    for (int s = 0; s < steps; ++s) {
        for (int z = 0; z < zones; ++z) {
            float *here = field.get() + z * zone;
#ifndef WRONG
            sure(cudaMemPrefetchAsync(here, zone * sizeof(float), device, 0, stream[z]));
#endif
            step<<<zone / threads, threads, 0, stream[z]>>>(here, times);
            sure(cudaGetLastError());
#ifndef WRONG
            sure(cudaMemPrefetchAsync(here, zone * sizeof(float), host, 0, stream[z]));
#endif
        }
        sure(cudaDeviceSynchronize());
        for (std::size_t i = s % every; i < cells; i += every)
            field[i] = float(s);
    }
    const double took = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();

    int bad = 0;
    for (std::size_t i = 0; i < cells; i += 104999) {
        float v = float(i % 100);
        for (int s = 0; s < steps; ++s) {
            v = blow(v, times);
            if (i % every == std::size_t(s % every))
                v = float(s);
        }
        bad += field[i] != v;
    }
    std::printf("%d steps, %d cells off\npass_ms=%.4f\n", steps, bad, took / steps);
    return bad != 0;
}
