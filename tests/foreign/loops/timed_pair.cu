// Two streams work at two halves of a field; after each short step they wait for each other's edge.
#include <cuda_runtime.h>

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void expect(cudaError_t error, int line)
{
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "halves.cu:%d: %s\n", line, cudaGetErrorName(error));
    std::exit(9);
}
#define EXPECT(x) expect((x), __LINE__)

constexpr int half = 128 << 10, steps = 30, passes = 300, effort = 700;

// What becomes of a cell and the mirrored one of the other half.
__host__ __device__ unsigned next_of(unsigned own, unsigned other)
{
    unsigned v = own * 3u + other;
    for (int i = 0; i < effort; ++i) v = v * 1664525u + 1013904223u;
    return v;
}

__global__ void advance(const unsigned *own, const unsigned *other, unsigned *next)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    next[i] = next_of(own[i], other[half - 1 - i]);
}

struct Half {
    cudaStream_t stream;
    cudaEvent_t done;
    unsigned *cells[2];

    explicit Half(unsigned seed)
    {
        std::vector<unsigned> first(half);
        for (int i = 0; i < half; ++i) first[i] = seed + i;
        EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#ifdef WRONG
        EXPECT(cudaEventCreate(&done));
#else
        EXPECT(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
#endif
        for (unsigned *&c : cells) {
            EXPECT(cudaMalloc(&c, half * 4));
            EXPECT(cudaMemcpy(c, first.data(), half * 4, cudaMemcpyHostToDevice));
        }
        EXPECT(cudaEventRecord(done, stream));
    }
};

void step(Half &left, Half &right, int s)
{
    EXPECT(cudaStreamWaitEvent(left.stream, right.done, 0));
    EXPECT(cudaStreamWaitEvent(right.stream, left.done, 0));
    for (int side = 0; side < 2; ++side) {
        Half &own = side ? right : left, &other = side ? left : right;
        advance<<<half / 256, 256, 0, own.stream>>>(own.cells[s % 2], other.cells[s % 2], own.cells[(s + 1) % 2]);
        EXPECT(cudaGetLastError());
    }
    EXPECT(cudaEventRecord(left.done, left.stream));
    EXPECT(cudaEventRecord(right.done, right.stream));
}

} // namespace

int main()
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
    Half left(1), right(77);
    EXPECT(cudaDeviceSynchronize());
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    for (int s = 0; s < steps; ++s) step(left, right, s);
    EXPECT(cudaDeviceSynchronize());

    auto from = std::chrono::steady_clock::now();
    for (int p = 0; p < passes; ++p)
        for (int s = 0; s < steps; ++s) step(left, right, s);
    EXPECT(cudaDeviceSynchronize());
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;

    unsigned l = 1 + 4097, r = 77 + half - 1 - 4097, end;
    for (int s = 0; s < steps * (passes + 1); ++s) {
        unsigned before = l;
        l = next_of(l, r);
        r = next_of(r, before);
    }
    EXPECT(cudaMemcpy(&end, left.cells[0] + 4097, 4, cudaMemcpyDeviceToHost));
    std::printf("the halves %s\n", end == l ? "agree" : "differ");
    std::printf("pass_ms=%.4f\n", took.count() / passes);
    return end == l ? 0 : 1;
}
