// Value at risk by full revaluation: every scenario of a day has memory of its own for its paths.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

namespace cuda_raii
{
inline void check(cudaError_t e)
{
    if (e != cudaSuccess)
        throw std::runtime_error(cudaGetErrorString(e));
}
struct Stream {
    cudaStream_t s = nullptr;
    Stream() { check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(s); }
};
class Paths
{
    unsigned *p_ = nullptr;
    cudaStream_t s_;

  public:
    Paths(size_t n, const Stream &s) : s_(s.s) { check(cudaMallocAsync(&p_, n * sizeof(unsigned), s_)); }
    Paths(Paths &&other) noexcept : p_(std::exchange(other.p_, nullptr)), s_(other.s_) {}
    Paths(const Paths &) = delete;
    ~Paths()
    {
        if (p_)
            cudaFreeAsync(p_, s_);
    }
    unsigned *get() const { return p_; }
};
} // namespace cuda_raii
using namespace cuda_raii;

constexpr int days = 120, scenarios = 24, streams = 3, years = 104;
constexpr size_t paths = 8u << 20;

__host__ __device__ unsigned walk(unsigned path, unsigned scenario, unsigned day, int n)
{
    unsigned v = path ^ scenario << 24;
    for (int i = 0; i < n; i++)
        v = v * 22695477u + day;
    return v;
}

__global__ void simulate(unsigned *out, unsigned scenario, unsigned day, int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = walk(i, scenario, day, n);
}

__global__ void worst_of(const unsigned *out, unsigned at, unsigned *worst)
{
    if (threadIdx.x == 0)
        *worst = out[at];
}

static std::vector<Paths> take(const Stream *stream)
{
    std::vector<Paths> all;
    all.reserve(scenarios);
    for (int s = 0; s < scenarios; s++)
        all.emplace_back(paths, stream[s % streams]);
    return all;
}

int main()
{
    Stream stream[streams];
    unsigned *worst, *home;
    check(cudaMalloc(&worst, scenarios * sizeof(unsigned)));
    check(cudaMallocHost(&home, scenarios * sizeof(unsigned)));
#ifndef WRONG
    std::vector<Paths> memory = take(stream);
#endif
    for (const Stream &s : stream)
        check(cudaStreamSynchronize(s.s));
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    long wrong = 0;
    double common = 0;
    for (int day = 0; day < days; day++) {
        timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        {
#ifdef WRONG
            std::vector<Paths> memory = take(stream);
#endif
            for (int s = 0; s < scenarios; s++) {
                cudaStream_t on = stream[s % streams].s;
                simulate<<<paths / 256, 256, 0, on>>>(memory[s].get(), s, day, years);
                worst_of<<<1, 32, 0, on>>>(memory[s].get(), (s * 7 + day * 1001) % paths, worst + s);
                check(cudaMemcpyAsync(home + s, worst + s, sizeof(unsigned), cudaMemcpyDeviceToHost, on));
            }
        }
        for (const Stream &s : stream)
            check(cudaStreamSynchronize(s.s));
        clock_gettime(CLOCK_MONOTONIC, &b);
        common += (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) * 1e-6;
        if (day % 8 == 7) // the auditors recompute one day in eight
            for (int s = 0; s < scenarios; s++)
                wrong += home[s] != walk((s * 7 + day * 1001) % paths, s, day, years);
    }
    std::printf("%d days, %ld wrong figures\npass_ms=%.4f\n", days, wrong, common / days);
    return wrong ? 1 : 0;
}
