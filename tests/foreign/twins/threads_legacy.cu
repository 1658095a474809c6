// Four threads, each with its own share of the letters, send them through the GPU.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <future>
#include <thread>
#include <vector>

namespace post
{
constexpr int officers = 4, letters_each = 48, rounds_each = 80;
constexpr size_t letter = 5 << 20; // bytes

inline void stamp(cudaError_t e)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "post office: %s\n", cudaGetErrorString(e));
        std::quick_exit(17);
    }
}

__host__ __device__ inline uint8_t rotate(uint8_t c, int by)
{
    unsigned v = c;
    for (int i = 0; i < by; i++)
        v = (v * 5 + (v >> 4) + 3) & 255;
    return static_cast<uint8_t>(v);
}

__global__ void rotate_letter(uint8_t *text, int by)
{
    uchar4 *four = reinterpret_cast<uchar4 *>(text) + blockIdx.x * blockDim.x + threadIdx.x;
    uchar4 v = *four;
    *four = make_uchar4(rotate(v.x, by), rotate(v.y, by), rotate(v.z, by), rotate(v.w, by));
}

class officer
{
    cudaStream_t desk_ = nullptr;
    uint8_t *device_ = nullptr;

  public:
    uint8_t *letters = nullptr;
    officer()
    {
        stamp(cudaMallocHost(&letters, letters_each * letter));
        stamp(cudaMalloc(&device_, letter));
#ifndef WRONG
        stamp(cudaStreamCreateWithFlags(&desk_, cudaStreamNonBlocking));
#endif
    }
    void handle(int n, int by)
    {
        uint8_t *text = letters + n * letter;
        stamp(cudaMemcpyAsync(device_, text, letter, cudaMemcpyHostToDevice, desk_));
        rotate_letter<<<letter / 4 / 128, 128, 0, desk_>>>(device_, by);
        stamp(cudaGetLastError());
        stamp(cudaMemcpyAsync(text, device_, letter, cudaMemcpyDeviceToHost, desk_));
    }
    void finish()
    {
        stamp(cudaStreamSynchronize(desk_));
    }
};
} // namespace post

int main()
{
    using namespace post;
    std::vector<officer> office(officers);
    for (auto &o : office) {
        o.handle(0, 1);
        o.finish();
        for (size_t i = 0; i < letters_each * letter; i++)
            o.letters[i] = static_cast<uint8_t>(i * 11 + 32);
    }

    std::atomic<int> ready{0};
    std::promise<void> bell;
    std::shared_future<void> open = bell.get_future().share();
    std::vector<std::thread> threads;
    for (auto &o : office)
        threads.emplace_back([&o, &ready, open] {
            stamp(cudaSetDevice(0));
            ready++;
            open.wait();
            for (int n = 0; n < letters_each; n++)
                o.handle(n, rounds_each);
            o.finish();
        });
    while (ready < officers)
        std::this_thread::yield();

    timespec a, z;
    nvtxRangePushA("work");
    clock_gettime(CLOCK_MONOTONIC, &a);
    bell.set_value();
    for (auto &t : threads)
        t.join();
    clock_gettime(CLOCK_MONOTONIC, &z);
    nvtxRangePop();

    for (auto &o : office)
        for (size_t i = 0; i < letters_each * letter; i += 331)
            if (o.letters[i] != rotate(static_cast<uint8_t>(i * 11 + 32), rounds_each)) {
                std::printf("a letter is unreadable\n");
                return 1;
            }
    std::printf("%d letters\n", officers * letters_each);
    std::printf("time_ms=%.3f\n", (z.tv_sec - a.tv_sec) * 1e3 + (z.tv_nsec - a.tv_nsec) / 1e6);
}
