// The host draws into managed memory and reads a small histogram back; frames alternate between two canvases.
#include <cuda_runtime.h>

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static void good(cudaError_t error, const char *where)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "canvas: %s: %s\n", where, cudaGetErrorString(error));
    std::exit(16);
}

constexpr int side = 2048, pixels = side * side, frames = 100, bins = 256, effort = 6000;

__host__ __device__ inline unsigned shade(unsigned pixel)
{
    for (int i = 0; i < effort; ++i)
        pixel = pixel * 22695477u + 1u;
    return pixel;
}

__global__ void count_shades(const unsigned *canvas, unsigned *histogram)
{
    __shared__ unsigned own[bins];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += gridDim.x * blockDim.x)
        atomicAdd(&own[shade(canvas[i]) >> 24], 1u);
    __syncthreads();
    atomicAdd(&histogram[threadIdx.x], own[threadIdx.x]);
}

struct Canvas {
    unsigned *pixel;
    cudaStream_t stream;
    Canvas()
    {
        good(cudaMallocManaged(&pixel, pixels * sizeof(unsigned)), "canvas");
        good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    }
    void draw(int frame) // a broad line, anew on every page of the canvas
    {
        for (int i = frame % 7; i < pixels; i += 512)
            pixel[i] = i + frame;
    }
    void prefetch(cudaMemLocationType where)
    {
#ifndef WRONG
        cudaMemLocation location = {};
        location.type = where;
        good(cudaMemPrefetchAsync(pixel, pixels * sizeof(unsigned), location, 0, stream), "prefetch");
#else
        (void)where;
#endif
    }
};

int main()
{
    Canvas canvas[2];
    unsigned *histogram;
    good(cudaMalloc(&histogram, bins * sizeof(unsigned)), "histogram");
    good(cudaMemset(histogram, 0, bins * sizeof(unsigned)), "histogram");
    for (Canvas &c : canvas)
        std::memset(c.pixel, 1, pixels * sizeof(unsigned));
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    auto issue = [&](int frame) {
        Canvas &c = canvas[frame % 2];
        good(cudaStreamSynchronize(c.stream), "frame");
        c.draw(frame);
        c.prefetch(cudaMemLocationTypeDevice);
        count_shades<<<528, bins, 0, c.stream>>>(c.pixel, histogram);
        good(cudaGetLastError(), "launch");
        c.prefetch(cudaMemLocationTypeHost);
    };
    for (int f = 0; f < 4; ++f)
        issue(f);
    good(cudaDeviceSynchronize(), "warm-up");
    auto from = std::chrono::steady_clock::now();
    for (int f = 4; f < 4 + frames; ++f)
        issue(f);
    good(cudaDeviceSynchronize(), "frames");
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;

    unsigned counts[bins];
    unsigned long long sum = 0;
    good(cudaMemcpy(counts, histogram, sizeof counts, cudaMemcpyDeviceToHost), "histogram");
    for (unsigned count : counts)
        sum += count;
    bool right = sum == (4ull + frames) * pixels;
    std::printf("%d frames, %s\n", frames, right ? "all pixels counted" : "pixels are missing");
    std::printf("pass_ms=%.4f\n", took.count() / frames);
    return right ? 0 : 1;
}
