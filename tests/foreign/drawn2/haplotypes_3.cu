// libs: -lcuda
// Haplotypes are sampled by sweeps over the states of many reads; each sweep makes new states from the old ones.
#include <cuda.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void must(CUresult r, int line) {
    if (r == CUDA_SUCCESS) return;
    const char *text = nullptr;
    cuGetErrorName(r, &text);
    fprintf(stderr, "haplotypes.cu:%d: %s\n", line, text ? text : "?");
    exit(2);
}
#define MUST(x) must((x), __LINE__)

static const int PASSES = 60, SWEEPS = 12, SITES = 1024, READS = 128 << 10;
static const size_t BYTES = (size_t)SITES * READS * 4;

__host__ __device__ inline uint32_t step(uint32_t own, uint32_t left, uint32_t sweep) {
    uint32_t h = own * 5u + left * 3u + sweep;
    h ^= h >> 13;
    return h * 0x9e3779b1u;
}

__global__ void sample(const uint32_t *before, uint32_t *after, uint32_t sweep) {
    const size_t read = blockIdx.x;
    for (int s = threadIdx.x; s < SITES; s += blockDim.x)
        after[read * SITES + s] = step(before[read * SITES + s], before[read * SITES + (s ? s - 1 : SITES - 1)], sweep);
}

int main() {
    CUdevice device;
    CUcontext context;
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    cudaFunction_t kernel;
    if (cudaGetFuncBySymbol(&kernel, (const void *)sample) != cudaSuccess) return 2;
    CUstream stream;
    CUdeviceptr state, next;
    uint32_t *reads, *log;
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAllocHost((void **)&reads, BYTES));
    MUST(cuMemAllocHost((void **)&log, (size_t)PASSES * SITES * 4));
    MUST(cuMemAlloc(&state, BYTES));
    MUST(cuMemAlloc(&next, BYTES));
    for (size_t i = 0; i < BYTES / 4; i++) reads[i] = (uint32_t)(i * 2246822519u >> 3);
    MUST(cuMemcpyHtoD(state, reads, BYTES));
    MUST(cuMemsetD32(next, 0, BYTES / 4));
    MUST(cuCtxSynchronize());
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    uint32_t sweep = 0;
    MUST(cuCtxSynchronize());
    auto start = std::chrono::steady_clock::now();
    for (int pass = 0; pass < PASSES; pass++) {
        for (int k = 0; k < SWEEPS; k++, sweep++) {
            void *with[] = {&state, &next, &sweep};
            MUST(cuLaunchKernel((CUfunction)kernel, READS, 1, 1, 256, 1, 1, 0, stream, with, nullptr));
#ifdef WRONG
            MUST(cuMemcpyDtoDAsync(state, next, BYTES, stream));
#else
            const CUdeviceptr old = state;
            state = next;
            next = old;
#endif
        }
        // one read of each pass is kept, to see how the chain mixes
        MUST(cuMemcpyDtoHAsync(log + pass * SITES, state + (size_t)pass * SITES * 4, SITES * 4, stream));
    }
    MUST(cuCtxSynchronize());
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / PASSES;

    bool good = true;
    for (int pass = 0; pass < PASSES; pass++) {
        std::vector<uint32_t> now(reads + (size_t)pass * SITES, reads + (size_t)(pass + 1) * SITES), then(SITES);
        for (uint32_t k = 0; k < (uint32_t)(pass + 1) * SWEEPS; k++) {
            for (int s = 0; s < SITES; s++) then[s] = step(now[s], now[s ? s - 1 : SITES - 1], k);
            now.swap(then);
        }
        for (int s = 0; s < SITES; s++) if (now[s] != log[pass * SITES + s]) good = false;
    }
    printf("%s, %d sweeps\n", good ? "good" : "WRONG", (int)sweep);
    printf("pass_ms=%.4f\n", ms);
    MUST(cuMemFree(state));
    MUST(cuMemFree(next));
    return good ? 0 : 1;
}
