// Requests with scratch memory from a pool that keeps what it has; their streams are ordinary, blocking ones.
#include <cuda_runtime.h>

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

static void yes(cudaError_t error, const char *call)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "scratch: %s: %s\n", call, cudaGetErrorString(error));
        std::exit(18);
    }
}
#define YES(x) yes((x), #x)

constexpr int words = 512 << 10, requests = 8, passes = 250, streams = 4, hop = 4096, effort = 1400;

// Scratch memory that lives as long as its owner's scope, in stream order.
class Scratch {
  public:
    Scratch(size_t bytes, cudaStream_t stream) : stream_(stream) { YES(cudaMallocAsync(&memory_, bytes, stream)); }
    ~Scratch()
    {
#ifdef WRONG
        YES(cudaFreeAsync(memory_, 0));
#else
        YES(cudaFreeAsync(memory_, stream_));
#endif
    }
    Scratch(const Scratch &) = delete;
    unsigned *words() { return static_cast<unsigned *>(memory_); }

  private:
    cudaStream_t stream_;
    void *memory_;
};

__host__ __device__ unsigned turn(unsigned v)
{
    for (int i = 0; i < effort; ++i)
        v = v * 69069u + 1u;
    return v;
}
__global__ void turn_all(unsigned *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = turn(data[i]);
}

int main()
{
    cudaMemPool_t pool;
    uint64_t keep = UINT64_MAX;
    YES(cudaDeviceGetDefaultMemPool(&pool, 0));
    YES(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    cudaStream_t stream[streams];
    unsigned *in, *out[streams];
    const size_t length = words + size_t(hop) * (passes + requests);
    YES(cudaMallocHost(&in, length * 4));
    for (size_t i = 0; i < length; ++i)
        in[i] = static_cast<unsigned>(i * i);
    for (int s = 0; s < streams; ++s) {
        YES(cudaStreamCreate(&stream[s]));
        YES(cudaMallocHost(&out[s], words * 4));
    }
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    auto serve = [&](int p) {
        for (int r = 0; r < requests; ++r) {
            cudaStream_t own = stream[r % streams];
            Scratch scratch(words * 4, own);
            YES(cudaMemcpyAsync(scratch.words(), in + size_t(hop) * (p + r), words * 4, cudaMemcpyHostToDevice, own));
            turn_all<<<words / 256, 256, 0, own>>>(scratch.words());
            YES(cudaGetLastError());
            YES(cudaMemcpyAsync(out[r % streams], scratch.words(), words * 4, cudaMemcpyDeviceToHost, own));
        }
    };
    serve(0);
    serve(1);
    YES(cudaDeviceSynchronize());
    auto from = std::chrono::steady_clock::now();
    for (int p = 0; p < passes; ++p)
        serve(p);
    YES(cudaDeviceSynchronize());
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;

    bool right = true;
    for (int r = requests - streams; r < requests; ++r)
        for (int i = 0; i < words; i += 1009)
            right = right && out[r % streams][i] == turn(in[size_t(hop) * (passes - 1 + r) + i]);
    std::printf("%d requests, %s\n", passes * requests, right ? "right" : "wrong");
    std::printf("pass_ms=%.4f\n", took.count() / passes);
    return right ? 0 : 1;
}
