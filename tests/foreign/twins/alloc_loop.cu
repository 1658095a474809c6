/*
 * blur.cu - repeated box blur of the rows of many pictures
 */
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PICTURES 140
#define DISTINCT 28
#define WIDTH 2048
#define HEIGHT 1024
#define STREAMS 4
#define TIMES 120

typedef struct {
    unsigned char *rgba_in;
    unsigned char *rgba_out;
} picture_t;

typedef struct {
    cudaStream_t stream;
    unsigned *in, *out;
} lane_t;

static void die_if(cudaError_t err, const char *where)
{
    if (err != cudaSuccess) {
        fprintf(stderr, "blur: %s: %s\n", where, cudaGetErrorString(err));
        exit(EXIT_FAILURE);
    }
}

__host__ __device__ static unsigned blur_pixel(unsigned here, unsigned next, int times)
{
    unsigned a = here, b = next;
    for (int i = 0; i < times; i++) {
        unsigned m = (a & 0x7f7f7f7fu) + (b & 0x01010101u) + (a >> 7);
        b = a ^ m;
        a = m;
    }
    return a ^ b;
}

__global__ void blur(const unsigned *in, unsigned *out, int times)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    int next = x + 1 < WIDTH ? x + 1 : x;
    out[y * WIDTH + x] = blur_pixel(in[y * WIDTH + x], in[y * WIDTH + next], times);
}

static void take_buffers(lane_t *lane)
{
    const size_t size = (size_t)WIDTH * HEIGHT * 4;

    die_if(cudaMalloc((void **)&lane->in, size), "malloc");
    die_if(cudaMalloc((void **)&lane->out, size), "malloc");
}

static void blur_picture(const picture_t *picture, lane_t *lane)
{
    const size_t size = (size_t)WIDTH * HEIGHT * 4;

#ifdef WRONG
    take_buffers(lane);
#endif
    die_if(cudaMemcpyAsync(lane->in, picture->rgba_in, size, cudaMemcpyHostToDevice, lane->stream), "copy in");
    blur<<<dim3(WIDTH / 256, HEIGHT), 256, 0, lane->stream>>>(lane->in, lane->out, TIMES);
    die_if(cudaGetLastError(), "launch");
    die_if(cudaMemcpyAsync(picture->rgba_out, lane->out, size, cudaMemcpyDeviceToHost, lane->stream), "copy out");
#ifdef WRONG
    die_if(cudaFree(lane->in), "free");
    die_if(cudaFree(lane->out), "free");
#endif
}

int main(void)
{
    static picture_t pictures[DISTINCT];
    lane_t lanes[STREAMS];
    const size_t size = (size_t)WIDTH * HEIGHT * 4;
    struct timespec before, after;
    int i, bad = 0;

    for (i = 0; i < DISTINCT; i++) {
        die_if(cudaMallocHost((void **)&pictures[i].rgba_in, size), "pinned");
        die_if(cudaMallocHost((void **)&pictures[i].rgba_out, size), "pinned");
        for (size_t k = 0; k < size; k++)
            pictures[i].rgba_in[k] = (unsigned char)(k * 7 + i);
    }
    for (i = 0; i < STREAMS; i++) {
        die_if(cudaStreamCreateWithFlags(&lanes[i].stream, cudaStreamNonBlocking), "stream");
#ifndef WRONG
        take_buffers(&lanes[i]);
#endif
        blur_picture(&pictures[i], &lanes[i]);
    }
    die_if(cudaDeviceSynchronize(), "warm-up");

    nvtxRangePushA("work");
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (i = 0; i < PICTURES; i++)
        blur_picture(&pictures[i % DISTINCT], &lanes[i % STREAMS]);
    die_if(cudaDeviceSynchronize(), "blur");
    clock_gettime(CLOCK_MONOTONIC, &after);
    nvtxRangePop();

    for (i = 0; i < DISTINCT; i++) {
        const unsigned *in = (const unsigned *)pictures[i].rgba_in, *out = (const unsigned *)pictures[i].rgba_out;
        for (int at = 0; at < WIDTH * HEIGHT; at += 8209)
            bad += out[at] != blur_pixel(in[at], in[at % WIDTH + 1 < WIDTH ? at + 1 : at], TIMES);
    }
    printf("blurred %d pictures, %d bad pixels\n", PICTURES, bad);
    printf("time_ms=%.3f\n", (after.tv_sec - before.tv_sec) * 1e3 + (after.tv_nsec - before.tv_nsec) / 1e6);
    return bad != 0;
}
