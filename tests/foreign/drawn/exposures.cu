// Four observers calibrate the exposures of a night, each in a thread; every night is calibrated once more.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

using word = uint32_t;
constexpr int observers = 4, nights = 24, exposures = 80, pixels = 256 * 1024, rounds = 300, desks = 2;

static void expect(cudaError_t e, int line)
{
    if (e == cudaSuccess)
        return;
    std::fprintf(stderr, "exposures.cu, line %d: %s\n", line, cudaGetErrorString(e));
    std::exit(1);
}
#define EXPECT(x) expect((x), __LINE__)

__host__ __device__ word calibrated(word pixel, word observer, int n)
{
    for (int i = 0; i < n; i++)
        pixel = pixel * 1812433253u + observer;
    return pixel;
}

__global__ void calibrate(word *pixel, word observer, int n)
{
    pixel += blockIdx.x * blockDim.x + threadIdx.x;
    *pixel = calibrated(*pixel, observer, n);
}

struct Desk {
    cudaStream_t stream;
    cudaEvent_t free;
    word *pixels;
};

class Observer
{
    word number_;
    word *exposure_;
    std::array<Desk, desks> desk_;

  public:
    explicit Observer(word number) : number_(number)
    {
        EXPECT(cudaMallocHost(&exposure_, sizeof(word) * exposures * pixels));
        for (int i = 0; i < exposures * pixels; i++)
            exposure_[i] = first(i);
        for (Desk &d : desk_) {
            EXPECT(cudaStreamCreateWithFlags(&d.stream, cudaStreamNonBlocking));
            EXPECT(cudaEventCreateWithFlags(&d.free, cudaEventDisableTiming));
            EXPECT(cudaMalloc(&d.pixels, sizeof(word) * pixels));
        }
    }
    void night()
    {
        for (int e = 0; e < exposures; e++) {
            const Desk &desk = desk_[e % desks];
            word *here = exposure_ + size_t(e) * pixels;
#ifdef WRONG
            cudaStream_t stream;
            EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            std::swap(stream, desk_[e % desks].stream);
            EXPECT(cudaStreamDestroy(stream));
#endif
            EXPECT(cudaStreamWaitEvent(desk.stream, desk.free, 0));
            EXPECT(cudaMemcpyAsync(desk.pixels, here, sizeof(word) * pixels, cudaMemcpyHostToDevice, desk.stream));
            calibrate<<<pixels / 256, 256, 0, desk.stream>>>(desk.pixels, number_, rounds);
            EXPECT(cudaGetLastError());
            EXPECT(cudaMemcpyAsync(here, desk.pixels, sizeof(word) * pixels, cudaMemcpyDeviceToHost, desk.stream));
            EXPECT(cudaEventRecord(desk.free, desk.stream));
        }
        for (const Desk &d : desk_)
            EXPECT(cudaStreamSynchronize(d.stream));
    }
    int wrong(int times) const
    {
        int n = 0;
        for (int i = 0; i < exposures * pixels; i += 70003)
            n += exposure_[i] != calibrated(first(i), number_, rounds * times);
        return n;
    }
    static word first(int i)
    {
        return word(i) * 747796405u;
    }
};

int main()
{
    std::vector<std::unique_ptr<Observer>> observer;
    for (int o = 0; o < observers; o++)
        observer.push_back(std::make_unique<Observer>(2 * o + 1));
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    int bad = 0;
    std::chrono::steady_clock::duration spent{};
    for (int night = 0; night < nights + 1; night++) {
        const auto dusk = std::chrono::steady_clock::now();
        std::vector<std::thread> watch;
        for (auto &o : observer)
            watch.emplace_back(&Observer::night, o.get());
        for (auto &w : watch)
            w.join();
        if (night > 0)
            spent += std::chrono::steady_clock::now() - dusk;
        if (night == 20)
            for (auto &o : observer)
                bad += o->wrong(night + 1);
    }
    for (auto &o : observer)
        bad += o->wrong(nights + 1);
    std::printf("%d nights, %d wrong pixels\n", nights, bad);
    std::printf("pass_ms=%.4f\n", std::chrono::duration<double, std::milli>(spent).count() / nights);
    return bad != 0;
}
