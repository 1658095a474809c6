// Minibatches of rows that lie scattered in a large table are packed into page-locked staging, then reduced on the device.
#include <cuda_runtime.h>

#include <fcntl.h>
#include <sys/file.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#define GO(x)                                                                                        \
    if (cudaError_t e = (x)) {                                                                       \
        std::fprintf(stderr, "rows: %s: %s\n", #x, cudaGetErrorString(e));                           \
        std::exit(12);                                                                               \
    }

constexpr int row = 128, rows = 48 << 10, table_rows = 1 << 20, passes = 120, ring = 10, effort = 9500;

__global__ void reduce(const float *batch, float *sums, int effort)
{
    float v = batch[blockIdx.x * row + threadIdx.x], s = v;
    for (int i = 0; i < effort; ++i) v = v * 0.999f + 0.001f;
    atomicAdd(&sums[threadIdx.x], s + 0 * v);
}

static std::vector<float> table(size_t(table_rows) * row);
static float *staging[ring], *device[2], *sums;
static cudaStream_t streams[2];
static cudaEvent_t gone[ring];

static size_t picked(int pass, int r) { return (size_t(pass) * rows + r) * 2654435761u % table_rows; }

static void pack(int pass)
{
    for (int r = 0; r < rows; ++r)
        std::memcpy(staging[pass % ring] + size_t(r) * row, table.data() + picked(pass, r) * row, row * sizeof(float));
}

static void issue(int pass)
{
    cudaStream_t stream = streams[pass % 2];
    GO(cudaMemcpyAsync(device[pass % 2], staging[pass % ring], sizeof(float) * rows * row, cudaMemcpyHostToDevice, stream));
    GO(cudaEventRecord(gone[pass % ring], stream));
    reduce<<<rows, row, 0, stream>>>(device[pass % 2], sums, effort);
    GO(cudaGetLastError());
}

#ifndef WRONG
struct Packers {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<char> ready = std::vector<char>(passes);
    int next = 0, allowed = ring;
    std::vector<std::thread> threads;
    Packers()
    {
        for (int i = 0; i < 8; ++i)
            threads.emplace_back([this] {
                for (std::unique_lock<std::mutex> lock(mutex); next < passes;) {
                    int pass = next++;
                    changed.wait(lock, [&] { return pass < allowed; });
                    lock.unlock();
                    pack(pass);
                    lock.lock();
                    ready[pass] = 1;
                    changed.notify_all();
                }
            });
    }
    void wait(int pass)
    {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return ready[pass]; });
    }
    void allow(int until)
    {
        std::lock_guard<std::mutex> lock(mutex);
        allowed = until;
        changed.notify_all();
    }
    ~Packers()
    {
        for (std::thread &t : threads) t.join();
    }
};
#endif

int main()
{
    for (size_t i = 0; i < table.size(); ++i) table[i] = (i / row) % 5 + i % row % 3;
    for (int i = 0; i < ring; ++i) {
        GO(cudaMallocHost(&staging[i], sizeof(float) * rows * row));
        GO(cudaEventCreateWithFlags(&gone[i], cudaEventDisableTiming));
    }
    for (int i = 0; i < 2; ++i) {
        GO(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        GO(cudaMalloc(&device[i], sizeof(float) * rows * row));
    }
    GO(cudaMalloc(&sums, row * sizeof(float)));
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    pack(0), issue(0), issue(0);
    GO(cudaDeviceSynchronize());
    GO(cudaMemset(sums, 0, row * sizeof(float)));
    GO(cudaDeviceSynchronize());

    auto from = std::chrono::steady_clock::now();
    {
#ifndef WRONG
        Packers packers;
#endif
        for (int p = 0; p < passes; ++p) {
            if (p >= 4) GO(cudaEventSynchronize(gone[(p - 4) % ring]));
#ifdef WRONG
            pack(p);
#else
            if (p >= 4) packers.allow(p - 3 + ring);
            packers.wait(p);
#endif
            issue(p);
        }
        GO(cudaDeviceSynchronize());
    }
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;

    double want = 0, diff = 0;
    for (int p = 0; p < passes; ++p)
        for (int r = 0; r < rows; ++r) want += picked(p, r) % 5;
    std::vector<float> end(row);
    GO(cudaMemcpy(end.data(), sums, row * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < row; ++i) diff += end[i] / (want + double(passes) * rows * (i % 3)) - 1;
    std::printf("%d batches, off by %.3g\n", passes, diff / row);
    std::printf("pass_ms=%.4f\n", took.count() / passes);
    return diff / row < 1e-2 && diff / row > -1e-2 ? 0 : 1;
}
