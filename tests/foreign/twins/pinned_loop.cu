// Messages of a queue are packed, weighed on the GPU and posted on.
#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iostream>
#include <memory>
#include <nvtx3/nvToolsExt.h>
#include <stdexcept>
#include <vector>

struct cuda_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};
inline void throwing(cudaError_t e)
{
    if (e) throw cuda_error(cudaGetErrorString(e));
}

using word = std::uint64_t;
constexpr std::size_t words = 768 * 1024;
constexpr unsigned messages = 120, lanes = 4, turns = 160;

struct message {
    word *body = nullptr;
    message() { throwing(cudaHostAlloc(&body, words * sizeof(word), cudaHostAllocDefault)); }
    ~message() { cudaFreeHost(body); }
    message(const message &) = delete;
    void write(unsigned number)
    {
        for (std::size_t i = 0; i < 512; i++) body[i] = number * 1000 + i;
    }
};

__host__ __device__ inline word weigh(word w, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        w ^= w >> 12;
        w = w * 2685821657736338717ull + 1;
    }
    return w;
}

__global__ void weigh_all(word *body, unsigned n)
{
    const std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
    body[i] = weigh(body[i], n);
}

struct lane {
    cudaStream_t stream = nullptr;
    cudaEvent_t posted = nullptr;
    word *device = nullptr;
    unsigned number = 0;
    std::unique_ptr<message> current;

    void open()
    {
        throwing(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        throwing(cudaEventCreateWithFlags(&posted, cudaEventDisableTiming));
        throwing(cudaMalloc(&device, words * sizeof(word)));
    }
    word collect()
    {
        if (!current) return 0;
        throwing(cudaEventSynchronize(posted));
        word sum = 0;
        for (std::size_t i = 0; i < 512; i++) sum += current->body[i];
        return sum;
    }
    void post(unsigned n)
    {
        number = n;
#ifdef WRONG
        current.reset(new message);
#else
        if (!current) current.reset(new message);
#endif
        current->write(n);
        throwing(cudaMemcpyAsync(device, current->body, words * sizeof(word), cudaMemcpyHostToDevice, stream));
        weigh_all<<<words / 256, 256, 0, stream>>>(device, turns);
        throwing(cudaGetLastError());
        throwing(cudaMemcpyAsync(current->body, device, words * sizeof(word), cudaMemcpyDeviceToHost, stream));
        throwing(cudaEventRecord(posted, stream));
    }
};

int main()
{
    try {
        lane all[lanes];
        for (auto &l : all) l.open();
        for (unsigned n = 0; n < lanes; n++) all[n].post(n);
        for (auto &l : all) l.collect();

        word sum = 0;
        timespec start, stop;
        for (unsigned n = lanes; n < 2 * lanes; n++) all[n % lanes].post(n); // so that every lane has one
        nvtxRangePushA("work");
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (unsigned n = 2 * lanes; n < messages; n++) {
            sum += all[n % lanes].collect();
            all[n % lanes].post(n);
        }
        for (auto &l : all) sum += l.collect();
        clock_gettime(CLOCK_MONOTONIC, &stop);
        nvtxRangePop();

        word expected = 0;
        for (unsigned n = lanes; n < messages; n++)
            for (unsigned i = 0; i < 512; i++) expected += weigh(n * 1000 + i, turns);
        if (sum != expected) {
            std::cout << "weighed " << sum << ", not " << expected << "\n";
            return 1;
        }
        std::cout << "weighed " << sum << std::endl;
        std::printf("time_ms=%.3f\n", (stop.tv_sec - start.tv_sec) * 1e3 + (stop.tv_nsec - start.tv_nsec) / 1e6);
        return 0;
    } catch (const cuda_error &e) {
        std::cerr << e.what() << "\n";
        return 3;
    }
}
