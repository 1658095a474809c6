// Junctions of a city: each second the lamps are set by what the queues of the second before have come to.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

inline void need(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class Stream {
    cudaStream_t s = nullptr;
public:
    Stream() { need(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); }
    Stream(const Stream &) = delete;
    ~Stream() { cudaStreamDestroy(s); }
    operator cudaStream_t() const { return s; }
};

class DeviceFloats {
    float *p = nullptr;
public:
    explicit DeviceFloats(size_t n) { need(cudaMalloc(&p, n * sizeof(float))); }
    DeviceFloats(const DeviceFloats &) = delete;
    ~DeviceFloats() { cudaFree(p); }
    float *get() const { return p; }
};

class PinnedFloats {
    float *p = nullptr;
public:
    explicit PinnedFloats(size_t n) { need(cudaMallocHost(&p, n * sizeof(float))); }
    PinnedFloats(const PinnedFloats &) = delete;
    ~PinnedFloats() { cudaFreeHost(p); }
    float *get() const { return p; }
};

__host__ __device__ inline float queue_after(float cars) {
    float q = cars;
    for (int k = 0; k < 200; k++) q = q * 0.9f + 1.0f / sqrtf(q + 1.0f);
    return q;
}

__global__ void second(const float *cars, float *queues, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float q = cars[i];
    for (int k = 0; k < 200; k++) q = q * 0.9f + rsqrtf(q + 1.0f);
    queues[i] = q + cars[i];
}

static int simulate() {
    const int seconds = 400, lanes = 8 << 20, mark = 1 << 17;
#ifdef WRONG
    const int parts = 2;
#else
    const int parts = 16;
#endif
    const int each = lanes / parts;
    PinnedFloats cars(lanes), queues(lanes);
    DeviceFloats dCars(lanes), dQueues(lanes);
    std::vector<Stream> streams(4);
    for (int i = 0; i < lanes; i++) cars.get()[i] = (float)(i % 89);
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    float seen = 1;
    need(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    for (int t = 0; t < seconds; t++) {
        for (int i = 0; i < lanes; i += mark) cars.get()[i] = fmodf(seen * 3 + t + (i >> 17), 61.0f);
        for (int p = 0; p < parts; p++) {
            const size_t at = (size_t)p * each;
            const Stream &s = streams[p % streams.size()];
            need(cudaMemcpyAsync(dCars.get() + at, cars.get() + at, each * sizeof(float), cudaMemcpyHostToDevice, s));
            second<<<each / 256, 256, 0, s>>>(dCars.get() + at, dQueues.get() + at, each);
            need(cudaGetLastError());
            need(cudaMemcpyAsync(queues.get() + at, dQueues.get() + at, each * sizeof(float), cudaMemcpyDeviceToHost, s));
        }
        need(cudaDeviceSynchronize());
        seen = queues.get()[lanes - mark];      // the lamps are set by the last junction's queue
    }
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / seconds;

    bool good = true;
    for (int i = 0; i < lanes; i += 8192 - 1) {
        const float q = queue_after(cars.get()[i]) + cars.get()[i];
        if (!(std::fabs(queues.get()[i] - q) < 1e-3f * (1 + q))) good = false;
    }
    printf("%s, last queue %.4f\n", good ? "good" : "WRONG", seen);
    printf("pass_ms=%.4f\n", ms);
    return good ? 0 : 1;
}

int main() {
    try {
        return simulate();
    } catch (const std::exception &e) {
        fprintf(stderr, "%s\n", e.what());
        return 2;
    }
}
