// Sorts out spectra of different lengths. A workspace is kept for each stream and grows where it must.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace spectra {

#define SPECTRA_CUDA(x) ::spectra::check((x), #x)
void check(cudaError_t e, const char *call)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "%s failed: %s\n", call, cudaGetErrorString(e));
        exit(1 << 4);
    }
}

// A workspace of at least the bytes that were last asked for.
class Workspace
{
    void *memory_ = nullptr;
    size_t bytes_ = 0;

  public:
    void *get(size_t bytes)
    {
#ifdef WRONG
        if (bytes != bytes_) {
#else
        if (bytes > bytes_) {
#endif
            if (memory_)
                SPECTRA_CUDA(cudaFree(memory_));
            SPECTRA_CUDA(cudaMalloc(&memory_, bytes));
            bytes_ = bytes;
        }
        return memory_;
    }
};

__host__ __device__ inline int peak(int value, int rounds)
{
    int best = value;
    for (int r = 0; r < rounds; r++) {
        value = int(unsigned(value ^ (value >> 5)) * 48271u & 0x7fffffffu);
        best = value > best ? value : best;
    }
    return best;
}

__global__ void first_pass(const int *spectrum, int *work, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        work[i] = peak(spectrum[i], rounds);
}

__global__ void second_pass(int *spectrum, const int *work, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        spectrum[i] = work[i] - work[n - 1 - i];
}

} // namespace spectra

int main()
{
    using namespace spectra;
    const int lengths[] = {1 << 21, (1 << 21) - (1 << 18), (1 << 21) - (1 << 17), (1 << 21) + (1 << 17)};
    const int longest = (1 << 21) + (1 << 17), count = 32, sweeps = 4, streams = 3, rounds = 200;

    int *in, *out, *device[streams];
    SPECTRA_CUDA(cudaMallocHost(&in, sizeof(int) * longest * count));
    SPECTRA_CUDA(cudaMallocHost(&out, sizeof(int) * longest * count));
    for (int i = 0; i < longest * count; i++)
        in[i] = i % 100003 + 1;
    cudaStream_t stream[streams];
    Workspace workspace[streams];
    for (int s = 0; s < streams; s++) {
        SPECTRA_CUDA(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
        SPECTRA_CUDA(cudaMalloc(&device[s], sizeof(int) * longest));
    }

    auto sort_out = [&](int k) {
        int s = k % streams, n = lengths[k / streams % 4], bytes = n * int(sizeof(int));
        int *work = static_cast<int *>(workspace[s].get(bytes));
        SPECTRA_CUDA(cudaMemcpyAsync(device[s], in + size_t(k) * longest, bytes, cudaMemcpyHostToDevice, stream[s]));
        first_pass<<<(n + 255) / 256, 256, 0, stream[s]>>>(device[s], work, n, rounds);
        second_pass<<<(n + 255) / 256, 256, 0, stream[s]>>>(device[s], work, n);
        SPECTRA_CUDA(cudaMemcpyAsync(out + size_t(k) * longest, device[s], bytes, cudaMemcpyDeviceToHost, stream[s]));
    };
#ifndef WRONG
    for (int s = 0; s < streams; s++)
        workspace[s].get(sizeof(int) * longest);
#endif
    for (int k = 0; k < streams; k++)
        sort_out(k);
    SPECTRA_CUDA(cudaDeviceSynchronize());

    nvtxRangePushA("work");
    timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    for (int sweep = 0; sweep < sweeps; sweep++)
        for (int k = 0; k < count / streams * streams; k++)
            sort_out(k);
    SPECTRA_CUDA(cudaDeviceSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &t1);
    nvtxRangePop();

    for (int k = 0; k < count / streams * streams; k++) {
        int n = lengths[k / streams % 4];
        const int *from = in + size_t(k) * longest, *to = out + size_t(k) * longest;
        for (int i = 0; i < n; i += 30011)
            if (to[i] != peak(from[i], rounds) - peak(from[n - 1 - i], rounds)) {
                printf("spectrum %d is wrong at %d\n", k, i);
                return 1;
            }
    }
    printf("%d spectra\n", count / streams * streams);
    printf("time_ms=%.3f\n", (t1.tv_sec - t0.tv_sec) * 1e3 + (t1.tv_nsec - t0.tv_nsec) / 1e6);
}
