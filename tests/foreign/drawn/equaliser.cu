// Equalises recordings block by block; each block has a curve of its own, which stands in constant memory.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

constexpr unsigned bands = 64, block = 2u << 20, blocks = 80, lanes = 4, takes = 12;
__constant__ float curve[lanes][bands];

class CudaError : public std::exception
{
    cudaError_t e_;

  public:
    explicit CudaError(cudaError_t e) : e_(e) {}
    const char *what() const noexcept override { return cudaGetErrorString(e_); }
};
static void need(cudaError_t e)
{
    if (e)
        throw CudaError(e);
}

__global__ void equalise(float *sound, unsigned lane)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    sound[i] = fmaf(sound[i], 0.5f, curve[lane][i % bands]);
}

struct PinnedDeleter {
    void operator()(float *p) const { cudaFreeHost(p); }
};
static std::unique_ptr<float[], PinnedDeleter> pinned(size_t n)
{
    void *p;
    need(cudaMallocHost(&p, n * sizeof(float)));
    return std::unique_ptr<float[], PinnedDeleter>(static_cast<float *>(p));
}

static float wanted(unsigned b, unsigned band)
{
    return float((b * 13 + band * 5) % 97);
}

struct Lane {
    std::optional<cudaStream_t> stream;
    float *sound{};
};

static void take(float *sound, const float *curves, std::array<Lane, lanes> &lane)
{
    for (unsigned b = 0; b < blocks; b++) {
        const unsigned l = b % lanes;
        float *here = sound + size_t(b) * block;
        need(cudaMemcpyAsync(lane[l].sound, here, block * sizeof(float), cudaMemcpyHostToDevice, *lane[l].stream));
#ifdef WRONG
        need(cudaMemcpyToSymbol(curve, curves + b * bands, sizeof curve[0], l * sizeof curve[0]));
#else
        need(cudaMemcpyToSymbolAsync(curve, curves + b * bands, sizeof curve[0], l * sizeof curve[0],
                                     cudaMemcpyHostToDevice, *lane[l].stream));
#endif
        equalise<<<block / 256, 256, 0, *lane[l].stream>>>(lane[l].sound, l);
        need(cudaMemcpyAsync(here, lane[l].sound, block * sizeof(float), cudaMemcpyDeviceToHost, *lane[l].stream));
    }
    need(cudaDeviceSynchronize());
}

int main()
try {
    auto sound = pinned(size_t(blocks) * block), curves = pinned(blocks * bands);
    std::array<Lane, lanes> lane;
    for (Lane &l : lane) {
        cudaStream_t s;
        need(cudaStreamCreate(&s));
        l.stream = s;
        need(cudaMalloc(&l.sound, block * sizeof(float)));
    }
    for (size_t i = 0; i < size_t(blocks) * block; i++)
        sound[i] = float(i % 8191);
    for (unsigned i = 0; i < blocks * bands; i++)
        curves[i] = wanted(i / bands, i % bands);
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    take(sound.get(), curves.get(), lane);
    timespec t[2];
    clock_gettime(CLOCK_MONOTONIC, t);
    for (unsigned n = 0; n < takes; n++)
        take(sound.get(), curves.get(), lane);
    clock_gettime(CLOCK_MONOTONIC, t + 1);
    unsigned bad = 0;
    for (size_t i = 0; i < size_t(blocks) * block; i += 70001) {
        float v = float(i % 8191);
        for (unsigned n = 0; n <= takes; n++)
            v = std::fmaf(v, 0.5f, wanted(i / block, i % block % bands));
        bad += v != sound[i];
    }
    std::cout << takes << " takes, " << bad << " bad samples\npass_ms=" << std::fixed << std::setprecision(4)
              << ((t[1].tv_sec - t[0].tv_sec) * 1e3 + (t[1].tv_nsec - t[0].tv_nsec) * 1e-6) / takes << '\n';
    return bad ? 1 : 0;
} catch (const std::exception &e) {
    std::cerr << e.what() << '\n';
    return 2;
}
