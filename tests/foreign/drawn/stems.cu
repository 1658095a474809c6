// Separates the stems of a recording: interleaved samples are unpacked, faded and handed to a bank of resonators.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

template <int Channels> struct Format {
    static constexpr int frames = 4 * 1024 * 1024 / Channels, channels = Channels, samples = frames * channels;
};
using Studio = Format<8>;
constexpr int passes = 80, warm = 2, helpers = 4, slots = 3, ringing = 20000;
#ifdef WRONG
constexpr std::launch when = std::launch::deferred;
#else
constexpr std::launch when = std::launch::async;
#endif

static void okay(cudaError_t e)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "stems: %s\n", cudaGetErrorString(e));
        std::exit(3);
    }
}

__host__ __device__ inline float resonate(float x, int n)
{
    float y = 0;
    for (int i = 0; i < n; i++)
        y = fmaf(0.999f, y, x);
    return y;
}

__global__ void bank(float *samples, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    samples[i] = resonate(samples[i], n);
}

static float faded(int16_t sample, int pass)
{
    const float x = sample * (1.0f / 32768) * (1.0f + 0.01f * pass);
    return x / (1.0f + std::fabs(x));
}

template <class F> void unpack(const int16_t *interleaved, float *planar, int first, int last, int pass)
{
    for (int c = 0; c < F::channels; c++)
        for (int f = first; f < last; f++)
            planar[c * F::frames + f] = faded(interleaved[f * F::channels + c], pass);
}

struct Slot {
    float *staged{}, *device{};
    cudaStream_t stream{};
    cudaEvent_t copied{};
    std::vector<std::future<void>> parts;
};

int main()
{
    std::vector<int16_t> tape(Studio::samples);
    for (int i = 0; i < Studio::samples; i++)
        tape[i] = int16_t(i * 7919);
    Slot slot[slots];
    float *probe;
    for (Slot &s : slot) {
        okay(cudaMallocHost(&s.staged, Studio::samples * sizeof(float)));
        okay(cudaMalloc(&s.device, Studio::samples * sizeof(float)));
        okay(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
        okay(cudaEventCreateWithFlags(&s.copied, cudaEventDisableTiming));
    }
    okay(cudaMallocHost(&probe, (warm + passes) * sizeof(float)));
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    const auto prepare = [&](int pass) {
        Slot &s = slot[pass % slots];
        okay(cudaEventSynchronize(s.copied)); // what was staged here before has gone
        for (int h = 0; h < helpers; h++)
            s.parts.push_back(std::async(when, unpack<Studio>, tape.data(), s.staged, Studio::frames / helpers * h,
                                         Studio::frames / helpers * (h + 1), pass));
    };
    std::chrono::steady_clock::time_point begin;
    prepare(0);
    for (int pass = 0; pass < warm + passes; pass++) {
        if (pass == warm) {
            okay(cudaDeviceSynchronize());
            begin = std::chrono::steady_clock::now();
        }
        Slot &s = slot[pass % slots];
        prepare(pass + 1);
        for (auto &part : s.parts)
            part.get();
        s.parts.clear();
        okay(cudaMemcpyAsync(s.device, s.staged, Studio::samples * sizeof(float), cudaMemcpyHostToDevice, s.stream));
        okay(cudaEventRecord(s.copied, s.stream));
        bank<<<Studio::samples / 256, 256, 0, s.stream>>>(s.device, ringing);
        okay(cudaMemcpyAsync(probe + pass, s.device + pass * 1001, sizeof(float), cudaMemcpyDeviceToHost, s.stream));
        if (pass % 10 == 9)
            std::printf("tape position %d\n", pass + 1);
    }
    okay(cudaDeviceSynchronize());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    for (auto &part : slot[(warm + passes) % slots].parts)
        part.get();

    int bad = 0;
    for (int pass = 0; pass < warm + passes; pass++)
        bad += std::fabs(probe[pass] - resonate(faded(tape[pass * 1001 * 8], pass), ringing)) > 1e-2f;
    std::printf("%d passes, %d of them off\npass_ms=%.4f\n", passes, bad, took.count() / passes);
    return bad != 0;
}
