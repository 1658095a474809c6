// Histograms of slices of a scan, counted from zero in each; a progress line every so many passes.
#include <cuda_runtime.h>

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t error, int line)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "scan:%d: %s\n", line, cudaGetErrorString(error));
        std::exit(20);
    }
}
#define CHECK(x) check((x), __LINE__)

constexpr int voxels = 1 << 20, bins = 256, slices = 9, passes = 250, hop = 16384, effort = 500;

__host__ __device__ int bin_of(unsigned voxel)
{
    for (int i = 0; i < effort; ++i)
        voxel = voxel * 134775813u + 1u;
    return voxel >> 24;
}

__global__ void count(const unsigned *slice, unsigned *histogram)
{
    __shared__ unsigned own[bins];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < voxels; i += gridDim.x * blockDim.x)
        atomicAdd(&own[bin_of(slice[i])], 1u);
    __syncthreads();
    atomicAdd(&histogram[threadIdx.x], own[threadIdx.x]);
}

struct Counter {
    cudaStream_t stream;
    unsigned *slice, *histogram, *result;
    Counter()
    {
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaMalloc(&slice, voxels * sizeof(unsigned)));
        CHECK(cudaMalloc(&histogram, bins * sizeof(unsigned)));
        CHECK(cudaMallocHost(&result, bins * sizeof(unsigned)));
    }
    void operator()(const unsigned *source)
    {
#ifdef WRONG
        CHECK(cudaMemset(histogram, 0, bins * sizeof(unsigned)));
#else
        CHECK(cudaMemsetAsync(histogram, 0, bins * sizeof(unsigned), stream));
#endif
        CHECK(cudaMemcpyAsync(slice, source, voxels * sizeof(unsigned), cudaMemcpyHostToDevice, stream));
        count<<<528, bins, 0, stream>>>(slice, histogram);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(result, histogram, bins * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
    }
};

int main()
{
    std::vector<Counter> counters(3);
    const size_t length = voxels + size_t(hop) * (passes + slices);
    unsigned *scan;
    CHECK(cudaMallocHost(&scan, length * sizeof(unsigned)));
    for (size_t i = 0; i < length; ++i)
        scan[i] = static_cast<unsigned>(i) * 2654435761u;
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    auto pass = [&](int p) {
        for (int s = 0; s < slices; ++s)
            counters[s % 3](scan + size_t(hop) * (p + s));
    };
    pass(0);
    CHECK(cudaDeviceSynchronize());
    auto from = std::chrono::steady_clock::now();
    for (int p = 0; p < passes; ++p) {
        pass(p);
        if (p % 50 == 49)
            std::fprintf(stderr, "pass %d\n", p + 1);
    }
    CHECK(cudaDeviceSynchronize());
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;

    std::vector<unsigned> want(bins);
    for (int i = 0; i < voxels; ++i)
        ++want[bin_of(scan[size_t(hop) * (passes - 1 + slices - 1) + i])];
    bool right = true;
    for (int b = 0; b < bins; ++b)
        right = right && want[b] == counters[(slices - 1) % 3].result[b];
    std::printf("the last histogram is %s\n", right ? "right" : "wrong");
    std::printf("pass_ms=%.4f\n", took.count() / passes);
    return right ? 0 : 1;
}
