// Evaluates a polynomial at very many places, in parts.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <time.h>
#include <vector>

#include <cuda_runtime_api.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

static constexpr std::size_t kPlaces = std::size_t{144} << 20;
#ifdef WRONG
static constexpr std::size_t kParts = 2;
#else
static constexpr std::size_t kParts = 48;
#endif
static constexpr int kDegree = 330;

void require(bool condition, const char *what)
{
    if (condition) return;
    std::fprintf(stderr, "polynomial: %s\n", what);
    std::exit(99);
}
#define REQUIRE_OK(call) require((call) == cudaSuccess, #call)

__host__ __device__ float evaluate(float x, int degree)
{
    float sum = 1.0f;
    for (int k = degree; k > 0; --k)
        sum = fmaf(sum, x * 0.5f, k % 3 == 0 ? -0.25f : 0.125f);
    return sum;
}

__global__ void evaluateAll(const float *__restrict__ place, float *__restrict__ value, std::size_t count, int degree)
{
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
        value[i] = evaluate(place[i], degree);
}

class Part
{
public:
    Part(std::size_t first, std::size_t count) : first_(first), count_(count)
    {
        REQUIRE_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        REQUIRE_OK(cudaMalloc(&device_, 2 * count * sizeof(float)));
    }
    ~Part()
    {
        cudaFree(device_);
        cudaStreamDestroy(stream_);
    }
    void evaluate(const float *place, float *value)
    {
        REQUIRE_OK(cudaMemcpyAsync(device_, place + first_, count_ * sizeof(float), cudaMemcpyHostToDevice, stream_));
        evaluateAll<<<1056, 256, 0, stream_>>>(device_, device_ + count_, count_, kDegree);
        REQUIRE_OK(cudaGetLastError());
        REQUIRE_OK(cudaMemcpyAsync(value + first_, device_ + count_, count_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    }

private:
    std::size_t first_, count_;
    cudaStream_t stream_{};
    float *device_{};
};

int main()
{
    float *place, *value;
    REQUIRE_OK(cudaMallocHost(&place, kPlaces * sizeof(float)));
    REQUIRE_OK(cudaMallocHost(&value, kPlaces * sizeof(float)));
    std::vector<std::thread> writers; // the pages lie in memory already; filling them takes a while
    for (std::size_t w = 0; w < 4; ++w)
        writers.emplace_back([=] {
            for (std::size_t i = w * kPlaces / 4; i < (w + 1) * kPlaces / 4; ++i) place[i] = static_cast<float>(i % 4001) / 4001.0f;
        });
    for (auto &w : writers) w.join();

    std::vector<std::unique_ptr<Part>> parts;
    for (std::size_t p = 0; p < kParts; ++p)
        parts.emplace_back(new Part(p * (kPlaces / kParts), kPlaces / kParts));
    parts[0]->evaluate(place, value);
    REQUIRE_OK(cudaDeviceSynchronize());

    timespec begin, end;
    nvtxRangePushA("work");
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (auto &p : parts) p->evaluate(place, value);
    REQUIRE_OK(cudaDeviceSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &end);
    nvtxRangePop();

    for (std::size_t i = 0; i < kPlaces; i += 7919) {
        const float difference = value[i] - evaluate(place[i], kDegree);
        if (!(difference < 1e-4f && difference > -1e-4f)) {
            std::printf("wrong at %zu\n", i);
            return 1;
        }
    }
    std::printf("%zu values\n", kPlaces);
    std::printf("time_ms=%.3f\n", (end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) / 1e6);
    return 0;
}
