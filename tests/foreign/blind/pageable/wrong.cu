// Tone mapping of a stack of photographs, strip by strip: copy in, map, copy out, in turn on a few streams.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

namespace {

constexpr std::size_t kStrip = std::size_t{2} << 20; // pixels
constexpr int kStrips = 32, kPhotographs = 4, kLanes = 4;
constexpr int kSteps = 300;

void ok(cudaError_t status)
{
    if (status != cudaSuccess) {
        std::fprintf(stderr, "tone: %s\n", cudaGetErrorString(status));
        std::exit(2);
    }
}

using pixels = std::vector<float>;

__host__ __device__ inline float tone(float light, int steps)
{
    float level = 0.5f;
    for (int i = 0; i < steps; i++)
        level = fmaf(level, 0.75f, 0.25f * light);
    return level;
}

__global__ void map_strip(const float *__restrict__ in, float *__restrict__ out, std::size_t count, int steps)
{
    std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i < count)
        out[i] = tone(in[i], steps);
}

double now_ms()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

struct lane {
    cudaStream_t stream;
    float *in, *out;
    lane()
    {
        ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        ok(cudaMalloc(&in, kStrip * sizeof(float)));
        ok(cudaMalloc(&out, kStrip * sizeof(float)));
    }
    ~lane()
    {
        cudaFree(in);
        cudaFree(out);
        cudaStreamDestroy(stream);
    }
    void submit(const float *from, float *to)
    {
        ok(cudaMemcpyAsync(in, from, kStrip * sizeof(float), cudaMemcpyHostToDevice, stream));
        map_strip<<<unsigned(kStrip / 256), 256, 0, stream>>>(in, out, kStrip, kSteps);
        ok(cudaGetLastError());
        ok(cudaMemcpyAsync(to, out, kStrip * sizeof(float), cudaMemcpyDeviceToHost, stream));
    }
};

} // namespace

int main()
{
    pixels photograph(kStrip * kStrips), mapped(kStrip * kStrips);
    for (std::size_t i = 0; i < photograph.size(); i++)
        photograph[i] = float((i * 2654435761u >> 8) & 0xffff) / 65536.0f;

    std::vector<std::unique_ptr<lane>> lanes;
    for (int i = 0; i < kLanes; i++)
        lanes.push_back(std::make_unique<lane>());
    for (int i = 0; i < kLanes; i++)
        lanes[i]->submit(&photograph[i * kStrip], &mapped[i * kStrip]);
    ok(cudaDeviceSynchronize());

    nvtxRangePushA("work");
    double begin = now_ms();
    for (int p = 0; p < kPhotographs; p++)
        for (int s = 0; s < kStrips; s++)
            lanes[s % kLanes]->submit(&photograph[s * kStrip], &mapped[s * kStrip]);
    ok(cudaDeviceSynchronize());
    double time = now_ms() - begin;
    nvtxRangePop();

    for (std::size_t i = 0; i < mapped.size(); i += 4099)
        if (std::fabs(mapped[i] - tone(photograph[i], kSteps)) > 1e-5f) {
            std::printf("pixel %zu is wrong\n", i);
            return 1;
        }
    std::printf("%d photographs mapped\n", kPhotographs);
    std::printf("time_ms=%.3f\n", time);
}
