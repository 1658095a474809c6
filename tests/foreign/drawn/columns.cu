// Physics of the atmosphere, column by column, for three regions at a time; the dynamics between is left out.
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

struct Grid {
    dim3 blocks, threads;
};
#ifdef WRONG
constexpr unsigned across = 4, down = 8;
#else
constexpr unsigned across = 16, down = 64;
#endif
constexpr int width = 512, height = 512, regions = 3, hours = 200;

std::optional<std::string> failure(cudaError_t e)
{
    if (e == cudaSuccess)
        return std::nullopt;
    std::ostringstream text;
    text << "columns: " << cudaGetErrorName(e) << " (" << cudaGetErrorString(e) << ")";
    return text.str();
}
void stop_if(const std::optional<std::string> &why)
{
    if (!why)
        return;
    std::cerr << *why << '\n';
    std::exit(1);
}

__host__ __device__ float physics(float temperature, float wet, int levels)
{
    for (int l = 0; l < levels; ++l) {
        float cloud = fmaf(-0.3f, temperature, wet);
        temperature = fmaf(0.01f, cloud, temperature);
    }
    return temperature;
}

__global__ void columns(float *temperature, float wet, int levels)
{
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < height; y += gridDim.y * blockDim.y)
        for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < width; x += gridDim.x * blockDim.x)
            temperature[y * width + x] = physics(temperature[y * width + x], wet, levels);
}

class Region
{
    float *temperature_{};
    cudaStream_t stream_{};
    Grid grid_{dim3(across, down), dim3(32, 8)};

  public:
    void open()
    {
        stop_if(failure(cudaMalloc(&temperature_, sizeof(float) * width * height)));
        stop_if(failure(cudaMemset(temperature_, 0, sizeof(float) * width * height)));
        stop_if(failure(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, 0)));
    }
    void hour(float wet, int levels)
    {
        columns<<<grid_.blocks, grid_.threads, 0, stream_>>>(temperature_, wet, levels);
        stop_if(failure(cudaGetLastError()));
    }
    float at(int x, int y) const
    {
        float t;
        stop_if(failure(cudaMemcpy(&t, temperature_ + y * width + x, sizeof t, cudaMemcpyDeviceToHost)));
        return t;
    }
};

int main()
{
    constexpr int levels = 16000;
    std::array<Region, regions> region;
    for (Region &r : region)
        r.open();
    stop_if(failure(cudaDeviceSynchronize()));
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    const auto day = [&](int hour) {
        for (int r = 0; r < regions; ++r)
            region[r].hour(1.0f + r + 0.01f * hour, levels);
    };
    day(0);
    stop_if(failure(cudaDeviceSynchronize()));
    const auto begin = std::chrono::steady_clock::now();
    for (int h = 1; h <= hours; ++h)
        day(h);
    stop_if(failure(cudaDeviceSynchronize()));
    const auto took = std::chrono::steady_clock::now() - begin;

    int bad = 0;
    for (int r = 0; r < regions; ++r) {
        float t = 0;
        for (int h = 0; h <= hours; ++h)
            t = physics(t, 1.0f + r + 0.01f * h, levels);
        bad += std::fabs(region[r].at(100 * r, 500 - r) - t) > 1e-3f || std::fabs(region[r].at(511, 0) - t) > 1e-3f;
    }
    std::cout << hours << " hours, " << bad << " regions off\n";
    std::cout << "pass_ms=" << std::fixed << std::setprecision(4)
              << std::chrono::duration<double, std::milli>(took).count() / hours << '\n';
    return bad ? 1 : 0;
}
