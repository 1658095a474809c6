// Mandelbrot zoom: many pictures of one place, each from a grid-stride kernel.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <time.h>

static const int width = 1024, height = 768, pictures = 400, limit = 192;

void q(cudaError_t e) { if (e) { fputs(cudaGetErrorString(e), stderr); fputc('\n', stderr); exit(60); } }

__host__ __device__ uint8_t colour(int x, int y, float zoom, int limit)
{
    float cx = -0.75f + (x - width / 2) * zoom, cy = 0.1f + (y - height / 2) * zoom, a = 0, b = 0;
    int n = 0;
    for (; n < limit && a * a + b * b < 4; n++) {
        float t = a * a - b * b + cx;
        b = 2 * a * b + cy;
        a = t;
    }
    return n;
}

__global__ void picture(uint8_t *out, float zoom, int limit)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < width * height; i += gridDim.x * blockDim.x)
        out[i] = colour(i % width, i / width, zoom, limit);
}

int main()
{
    uint8_t *d[2], *h;
    cudaStream_t s[2];
#ifdef WRONG
    int threads = 256, blocks = 16;
#else
    int threads = 256, blocks = 132 * 8;
#endif
    for (int i = 0; i < 2; i++) q(cudaMalloc(&d[i], width * height)), q(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    q(cudaMallocHost(&h, pictures * width * height));
    picture<<<blocks, threads, 0, s[0]>>>(d[0], 1.0f, 1);
    q(cudaMemcpyAsync(h, d[0], width * height, cudaMemcpyDeviceToHost, s[0]));
    q(cudaDeviceSynchronize());

    timespec b, e;
    nvtxRangePushA("work");
    clock_gettime(CLOCK_MONOTONIC, &b);
    for (int p = 0; p < pictures; p++) {
        picture<<<blocks, threads, 0, s[p % 2]>>>(d[p % 2], 0.002f / (p + 1), limit);
        q(cudaGetLastError());
        q(cudaMemcpyAsync(h + p * width * height, d[p % 2], width * height, cudaMemcpyDeviceToHost, s[p % 2]));
    }
    q(cudaDeviceSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &e);
    nvtxRangePop();

    long off = 0, looked = 0; // points on the rim come out differently where arithmetic is contracted
    for (int p = 0; p < pictures; p += 7)
        for (int i = 0; i < width * height; i += 1009, looked++)
            off += h[p * width * height + i] != colour(i % width, i / width, 0.002f / (p + 1), limit);
    bool good = off * 50 < looked;
    printf("%d pictures: %s\n", pictures, good ? "as they should be" : "WRONG");
    printf("time_ms=%.3f\n", (e.tv_sec - b.tv_sec) * 1e3 + (e.tv_nsec - b.tv_nsec) / 1e6);
    return !good;
}
