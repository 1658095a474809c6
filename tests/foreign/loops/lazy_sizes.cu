// A ladder of unrolled filters: each pass tries the next one on the same samples, and each is code of its own.
#include <cuda_runtime.h>

#include <fcntl.h>
#include <sys/file.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

static void want(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "ladder: %s\n", cudaGetErrorString(error));
        std::exit(17);
    }
}

constexpr int samples = 1 << 20, steps = 40;

template <int N> __host__ __device__ unsigned filter(unsigned v)
{
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int i = 0; i < 200 + N; ++i)
        v = (v ^ v >> (i % 13 + 3)) * (2246822519u + 2 * i) + N;
    return v;
}

template <int N> __global__ void filter_all(const unsigned *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = filter<N>(in[i]);
}

using kernel = void (*)(const unsigned *, unsigned *);
template <int... N> constexpr std::array<kernel, steps> kernels_of(std::integer_sequence<int, N...>) { return {filter_all<N>...}; }
static const auto kernels = kernels_of(std::make_integer_sequence<int, steps>());

__global__ void compare(const unsigned *out, unsigned *best, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned low = __reduce_min_sync(~0u, out[i]);
    if (i % 32 == 0)
        atomicMin(&best[step], low);
}

int main()
{
    unsigned *in, *out, *best, *home, *samples_home;
    cudaStream_t stream;
    want(cudaMallocHost(&samples_home, samples * sizeof *home));
    want(cudaMallocHost(&home, steps * sizeof *home));
    want(cudaMalloc(&in, samples * sizeof *in));
    want(cudaMalloc(&out, samples * sizeof *out));
    want(cudaMalloc(&best, steps * sizeof *best));
    want(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < samples; ++i)
        samples_home[i] = i * 2654435761u;
    want(cudaMemcpyAsync(in, samples_home, samples * sizeof *in, cudaMemcpyHostToDevice, stream));
    want(cudaMemsetAsync(best, 255, steps * sizeof *best, stream));
#ifndef WRONG
    for (kernel k : kernels) {
        cudaFuncAttributes attributes; // asking for them loads the code
        want(cudaFuncGetAttributes(&attributes, k));
        k<<<samples / 256, 256, 0, stream>>>(in, out);
    }
#endif
    compare<<<samples / 256, 256, 0, stream>>>(in, best, 0);
    want(cudaMemsetAsync(best, 255, steps * sizeof *best, stream));
    want(cudaStreamSynchronize(stream));
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    auto from = std::chrono::steady_clock::now();
    for (int s = 0; s < steps; ++s) {
        want(cudaMemcpyAsync(in, samples_home, samples * sizeof *in, cudaMemcpyHostToDevice, stream));
        kernels[s]<<<samples / 256, 256, 0, stream>>>(in, out);
        compare<<<samples / 256, 256, 0, stream>>>(out, best, s);
        want(cudaGetLastError());
        want(cudaMemcpyAsync(home + s, best + s, sizeof *home, cudaMemcpyDeviceToHost, stream));
    }
    want(cudaStreamSynchronize(stream));
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;

    unsigned low = ~0u;
    for (int i = 0; i < samples; ++i)
        if (filter<17>(samples_home[i]) < low)
            low = filter<17>(samples_home[i]);
    std::printf("%d filters, the 17th's least %s\n", steps, low == home[17] ? "is right" : "is wrong");
    std::printf("pass_ms=%.4f\n", took.count() / steps);
    return low == home[17] ? 0 : 1;
}
