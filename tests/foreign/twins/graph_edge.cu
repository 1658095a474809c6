// Elevation models, block by block, as one graph that is built by hand and launched for each day.
#include <cuda_runtime.h>
#include <nvtx3/nvtx3.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <initializer_list>
#include <vector>

static const unsigned kBlocks = 32, kSlots = 4, kDays = 5, kCells = 1u << 21;
static const int kErosion = 2000;

#define GRAPH_CHECK(expr) do { cudaError_t e = (expr); if (e != cudaSuccess) { \
    std::fprintf(stderr, "erosion: %s (%s)\n", cudaGetErrorString(e), #expr); std::exit(70); } } while (0)

__host__ __device__ inline float erode(float height, int rounds)
{
    for (int i = 0; i < rounds; i++)
        height = fmaf(height, 0.999f, 0.01f);
    return height;
}

__global__ void erode_block(float *cell, unsigned count, int rounds)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        cell[i] = erode(cell[i], rounds);
}

class graph_builder
{
    cudaGraph_t graph_;

  public:
    graph_builder() { GRAPH_CHECK(cudaGraphCreate(&graph_, 0)); }
    ~graph_builder() { cudaGraphDestroy(graph_); }

    cudaGraphNode_t copy(void *to, const void *from, cudaMemcpyKind kind, std::initializer_list<cudaGraphNode_t> after)
    {
        std::vector<cudaGraphNode_t> nodes = given(after);
        cudaGraphNode_t node;
        GRAPH_CHECK(cudaGraphAddMemcpyNode1D(&node, graph_, nodes.data(), nodes.size(), to, from, kCells * sizeof(float), kind));
        return node;
    }
    cudaGraphNode_t erosion(float *cell, int rounds, std::initializer_list<cudaGraphNode_t> after)
    {
        std::vector<cudaGraphNode_t> nodes = given(after);
        unsigned count = kCells;
        void *arguments[] = {&cell, &count, &rounds};
        cudaKernelNodeParams parameters = {};
        parameters.func = reinterpret_cast<void *>(erode_block);
        parameters.gridDim = dim3(kCells / 256);
        parameters.blockDim = dim3(256);
        parameters.kernelParams = arguments;
        cudaGraphNode_t node;
        GRAPH_CHECK(cudaGraphAddKernelNode(&node, graph_, nodes.data(), nodes.size(), &parameters));
        return node;
    }
    cudaGraphExec_t build()
    {
        cudaGraphExec_t exec;
        GRAPH_CHECK(cudaGraphInstantiate(&exec, graph_, 0));
        return exec;
    }

  private:
    static std::vector<cudaGraphNode_t> given(std::initializer_list<cudaGraphNode_t> after)
    {
        std::vector<cudaGraphNode_t> nodes;
        for (cudaGraphNode_t n : after)
            if (n)
                nodes.push_back(n);
        return nodes;
    }
};

int main()
{
    float *terrain, *slot[kSlots];
    GRAPH_CHECK(cudaMallocHost(&terrain, size_t{kBlocks} * kCells * sizeof(float)));
    for (auto &s : slot)
        GRAPH_CHECK(cudaMalloc(&s, kCells * sizeof(float)));
    for (size_t i = 0; i < size_t{kBlocks} * kCells; i++)
        terrain[i] = 100.0f + i % 512;

    graph_builder builder;
    std::vector<cudaGraphNode_t> left(kBlocks, nullptr); // the node in which each block leaves its slot
    for (unsigned b = 0; b < kBlocks; b++) {
        float *here = terrain + size_t{b} * kCells;
#ifdef WRONG
        cudaGraphNode_t free = b >= 1 ? left[b - 1] : nullptr;
#else
        cudaGraphNode_t free = b >= kSlots ? left[b - kSlots] : nullptr;
#endif
        cudaGraphNode_t in = builder.copy(slot[b % kSlots], here, cudaMemcpyHostToDevice, {free});
        cudaGraphNode_t eroded = builder.erosion(slot[b % kSlots], kErosion, {in});
        left[b] = builder.copy(here, slot[b % kSlots], cudaMemcpyDeviceToHost, {eroded});
    }
    cudaGraphExec_t day = builder.build();
    cudaStream_t stream;
    GRAPH_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GRAPH_CHECK(cudaGraphLaunch(day, stream));
    GRAPH_CHECK(cudaStreamSynchronize(stream));

    timespec dawn, dusk;
    {
        nvtx3::scoped_range range{"work"};
        clock_gettime(CLOCK_MONOTONIC, &dawn);
        for (unsigned d = 1; d < kDays; d++)
            GRAPH_CHECK(cudaGraphLaunch(day, stream));
        GRAPH_CHECK(cudaStreamSynchronize(stream));
        clock_gettime(CLOCK_MONOTONIC, &dusk);
    }

    for (size_t i = 0; i < size_t{kBlocks} * kCells; i += 65537) {
        float height = 100.0f + i % 512;
        for (unsigned d = 0; d < kDays; d++)
            height = erode(height, kErosion);
        if (std::fabs(height - terrain[i]) > 1e-2f) {
            std::printf("cell %zu: %g, not %g\n", i, terrain[i], height);
            return 1;
        }
    }
    std::printf("%u days have passed\n", kDays);
    std::printf("time_ms=%.3f\n", (dusk.tv_sec - dawn.tv_sec) * 1e3 + (dusk.tv_nsec - dawn.tv_nsec) * 1e-6);
    return 0;
}
