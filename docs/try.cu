// try.cu - doubles an array, tile by tile. docs/try.md makes it faster, and breaks it.
#include <cstdio>
#include <cuda_runtime.h>

#ifndef STREAMS
#define STREAMS 1
#endif

__global__ void scale(float *x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= a;
}

int main()
{
    const int n = 1 << 22, tiles = 16, tile = n / tiles;
    float *host, *device;
    cudaStream_t streams[STREAMS];
    cudaMallocHost(&host, n * sizeof *host);
    cudaMalloc(&device, n * sizeof *device);
    for (cudaStream_t &stream : streams)
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int i = 0; i < n; i++)
        host[i] = i;

    for (int t = 0; t < tiles; t++) {
        float *h = host + t * tile, *d = device + t * tile;
        cudaStream_t in = streams[t % STREAMS], out = in;
#ifdef MISTAKE
        out = streams[(t + 1) % STREAMS]; // which waits for nothing
#endif
        cudaMemcpyAsync(d, h, tile * sizeof *d, cudaMemcpyHostToDevice, in);
        scale<<<tile / 256, 256, 0, in>>>(d, 2, tile);
        cudaMemcpyAsync(h, d, tile * sizeof *d, cudaMemcpyDeviceToHost, out);
    }
    cudaDeviceSynchronize();

    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += host[i] != 2.0f * i;
    printf("%d of %d are wrong\n", wrong, n);
    return wrong != 0;
}
