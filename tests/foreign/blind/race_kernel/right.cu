// Energy of a long signal: windows are brought in, squared and summed block by block; the partial sums
// go home on a stream of their own and are added up at the end.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

using sample = short;

static void must(cudaError_t e, const char *doing)
{
    if (e != cudaSuccess)
        throw std::runtime_error(std::string(doing) + ": " + cudaGetErrorString(e));
}

__global__ void energy(const sample *window, long long *partial, int per_thread, int again)
{
    long long sum = 0;
    const sample *mine = window + size_t(blockIdx.x) * blockDim.x * per_thread;
    for (int i = 0; i < per_thread; i++) {
        int v = mine[i * blockDim.x + threadIdx.x];
        int f = v;
        for (int a = 0; a < again; a++)
            f = ((f ^ f >> 3) * 5 + 3) & 0x7fff;
        sum += v * v + f;
    }
    for (int lane = 16; lane; lane /= 2)
        sum += __shfl_down_sync(~0u, sum, lane);
    if (threadIdx.x % 32 == 0)
        partial[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = sum;
}

class meter
{
  public:
    static constexpr int depth = 3, threads = 256, grid = 1024, per_thread = 16, again = 200;
    static constexpr size_t window_samples = size_t{threads} * grid * per_thread;
    static constexpr size_t partials = size_t{threads} * grid / 32;

    explicit meter(int windows) : windows_(windows)
    {
        for (auto *s : {&up_, &sum_, &down_})
            must(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking), "stream");
        for (slot &s : slots_) {
            must(cudaMalloc(&s.window, window_samples * sizeof(sample)), "window");
            must(cudaMalloc(&s.partial, partials * sizeof(long long)), "partial sums");
            must(cudaMemset(s.partial, 0, partials * sizeof(long long)), "clear");
            for (auto *e : {&s.up, &s.summed, &s.down})
                must(cudaEventCreateWithFlags(e, cudaEventDisableTiming), "event");
        }
        must(cudaMallocHost(&home_, windows * partials * sizeof(long long)), "sums");
        must(cudaDeviceSynchronize(), "set up");
    }

    void add(const sample *from, int number)
    {
        slot &s = slots_[number % depth];
        must(cudaStreamWaitEvent(up_, s.summed, 0), "wait");
        must(cudaMemcpyAsync(s.window, from, window_samples * sizeof(sample), cudaMemcpyDefault, up_), "up");
        must(cudaEventRecord(s.up, up_), "record");
        must(cudaStreamWaitEvent(sum_, s.up, 0), "wait");
        must(cudaStreamWaitEvent(sum_, s.down, 0), "wait");
        energy<<<grid, threads, 0, sum_>>>(s.window, s.partial, per_thread, again);
        must(cudaEventRecord(s.summed, sum_), "record");
        must(cudaStreamWaitEvent(down_, s.summed, 0), "wait");
        must(cudaMemcpyAsync(home_ + number * partials, s.partial, partials * sizeof(long long),
                             cudaMemcpyDefault, down_), "down");
        must(cudaEventRecord(s.down, down_), "record");
    }

    long long total()
    {
        must(cudaStreamSynchronize(sum_), "sum");
        must(cudaStreamSynchronize(down_), "sums");
        return std::accumulate(home_, home_ + windows_ * partials, 0ll);
    }

  private:
    struct slot {
        sample *window;
        long long *partial;
        cudaEvent_t up, summed, down;
    };
    std::array<slot, depth> slots_{};
    cudaStream_t up_, sum_, down_;
    long long *home_;
    int windows_;
};

int main()
try {
    constexpr int windows = 144;
    const size_t kept = 24 * meter::window_samples;
    sample *signal;
    must(cudaMallocHost(&signal, kept * sizeof(sample)), "signal");
    for (size_t i = 0; i < kept; i++)
        signal[i] = sample((i * 193 + i / 4096) % 2003 - 1001);
    meter m(windows);
    for (int w = 0; w < 3; w++)
        m.add(signal, w);
    m.total();

    timespec a, b;
    nvtxRangePush("work");
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int w = 0; w < windows; w++)
        m.add(signal + (w * 5 % 24) * meter::window_samples, w);
    long long sum = m.total();
    clock_gettime(CLOCK_MONOTONIC, &b);
    nvtxRangePop();

    std::vector<int> table(65536);
    for (int v = -1001; v <= 1001; v++) {
        int f = v;
        for (int a = 0; a < meter::again; a++)
            f = ((f ^ f >> 3) * 5 + 3) & 0x7fff;
        table[v + 32768] = v * v + f;
    }
    long long once = 0;
    for (size_t i = 0; i < kept; i++)
        once += table[signal[i] + 32768];
    const bool right = sum == once * (windows / 24);
    puts(right ? "energy: agrees with the host's" : "energy: DIFFERS from the host's");
    printf("time_ms=%.3f\n", (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) * 1e-6);
    return right ? 0 : 1;
} catch (const std::exception &e) {
    fprintf(stderr, "%s\n", e.what());
    return 5;
}
