// A checkerboard of 140 cells of a map is weathered: every cell by a launch of its own, or all of them by one.
#include <cuda_runtime.h>

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

static void want(cudaError_t error, const std::string &what)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "weather: %s: %s\n", what.c_str(), cudaGetErrorString(error));
        std::exit(11);
    }
}

constexpr int cells = 140, blocks_per_cell = 264, threads = 256, cell = blocks_per_cell * threads, years = 400;

__host__ __device__ inline unsigned weather(unsigned height, int year)
{
    for (int i = 0; i < 90; ++i)
        height = (height ^ height >> 11) * 0x9e3779b1u + year;
    return height;
}

__global__ void weather_from(unsigned *map, int first_cell, int year)
{
    size_t i = size_t(first_cell) * cell + blockIdx.x * blockDim.x + threadIdx.x;
    map[i] = weather(map[i], year);
}

struct Map {
    unsigned *heights;
    cudaStream_t stream;
    Map()
    {
        want(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
        want(cudaMalloc(&heights, sizeof(unsigned) * cells * cell), "map");
        want(cudaMemset(heights, 7, sizeof(unsigned) * cells * cell), "sea level");
        want(cudaDeviceSynchronize(), "start");
    }
    void pass(int year)
    {
#ifdef WRONG
        for (int c = 0; c < cells; ++c)
            weather_from<<<blocks_per_cell, threads, 0, stream>>>(heights, c, year);
#else
        weather_from<<<blocks_per_cell * cells, threads, 0, stream>>>(heights, 0, year);
#endif
        want(cudaGetLastError(), "launch");
    }
    void wait() { want(cudaStreamSynchronize(stream), "years"); }
};

int main()
{
    Map map;
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    map.pass(0);
    map.wait();
    auto from = std::chrono::steady_clock::now();
    for (int year = 1; year <= years; ++year)
        map.pass(year);
    map.wait();
    double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();

    unsigned height = 0x07070707u, end;
    for (int year = 0; year <= years; ++year)
        height = weather(height, year);
    bool right = true;
    for (int c = 0; c < cells; c += 20) {
        want(cudaMemcpy(&end, map.heights + size_t(c) * cell + 31 * c, sizeof end, cudaMemcpyDeviceToHost), "result");
        right = right && end == height;
    }
    std::printf("after %d years: %s\n", years, right ? "as foretold" : "something else");
    std::printf("pass_ms=%.4f\n", ms / years);
    return right ? 0 : 1;
}
