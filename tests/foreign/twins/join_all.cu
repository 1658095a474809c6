// Scenes of a film are graded: uploads, grading and downloads each have a stream, events tell one from the next.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

namespace film {

using pixel = std::uint16_t;

void expect(cudaError_t status)
{
    if (status == cudaSuccess)
        return;
    std::fprintf(stderr, "film: %s\n", cudaGetErrorString(status));
    std::exit(55);
}

cudaStream_t make_stream()
{
    cudaStream_t s;
    expect(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
}

cudaEvent_t make_event()
{
    cudaEvent_t e;
    expect(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    return e;
}

__host__ __device__ pixel grade(pixel p, unsigned passes)
{
    std::uint32_t v = p;
    for (unsigned i = 0; i < passes; ++i)
        v = (v * 181 + (v >> 6) + i) & 0xffff;
    return static_cast<pixel>(v);
}

__global__ void grade_scene(pixel *scene, std::size_t pixels, unsigned passes)
{
    for (std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x; i < pixels; i += std::size_t(gridDim.x) * blockDim.x)
        scene[i] = grade(scene[i], passes);
}

constexpr int scenes = 120;
constexpr std::size_t pixels = 4096 * 1024;
constexpr unsigned passes = 120;

class lab
{
public:
    lab()
    {
        expect(cudaMalloc(&reel_, scenes * pixels * sizeof(pixel)));
        for (auto &e : uploaded_) e = make_event();
        for (auto &e : graded_) e = make_event();
    }

    void develop(pixel *film, int count)
    {
        for (int s = 0; s < count; ++s) {
            expect(cudaMemcpyAsync(at(s), film + s * pixels, pixels * sizeof(pixel), cudaMemcpyHostToDevice, up_));
            expect(cudaEventRecord(uploaded_[s], up_));
        }
        for (int s = 0; s < count; ++s) {
#ifdef WRONG
            expect(cudaStreamWaitEvent(grading_, uploaded_[count - 1], 0));
#else
            expect(cudaStreamWaitEvent(grading_, uploaded_[s], 0));
#endif
            grade_scene<<<1320, 256, 0, grading_>>>(at(s), pixels, passes);
            expect(cudaEventRecord(graded_[s], grading_));
            expect(cudaStreamWaitEvent(down_, graded_[s], 0));
            expect(cudaMemcpyAsync(film + s * pixels, at(s), pixels * sizeof(pixel), cudaMemcpyDeviceToHost, down_));
        }
        expect(cudaStreamSynchronize(down_));
    }

private:
    pixel *at(int scene) { return reel_ + scene * pixels; }

    pixel *reel_ = nullptr;
    cudaStream_t up_ = make_stream(), grading_ = make_stream(), down_ = make_stream();
    std::array<cudaEvent_t, scenes> uploaded_, graded_;
};

} // namespace film

int main()
{
    using namespace film;
    pixel *reel;
    expect(cudaMallocHost(&reel, scenes * pixels * sizeof(pixel)));
    lab l;
    l.develop(reel, 2);
    for (std::size_t i = 0; i < scenes * pixels; ++i)
        reel[i] = static_cast<pixel>(i * 5);

    timespec a, b;
    nvtxRangePushA("work");
    clock_gettime(CLOCK_MONOTONIC, &a);
    l.develop(reel, scenes);
    clock_gettime(CLOCK_MONOTONIC, &b);
    nvtxRangePop();

    for (std::size_t i = 0; i < scenes * pixels; i += 10111)
        if (reel[i] != grade(static_cast<pixel>(i * 5), passes)) {
            std::printf("scene %zu is off\n", i / pixels);
            return 1;
        }
    std::printf("%d scenes\n", scenes);
    std::printf("time_ms=%.3f\n", (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) * 1e-6);
    return 0;
}
