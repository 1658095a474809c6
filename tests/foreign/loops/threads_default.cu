// Four threads encode the channels of a recording, block after block.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

static void or_die(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "encode: %s: %s\n", what, cudaGetErrorString(e));
        exit(21);
    }
}

enum { CHANNELS = 4, BLOCK = 512 << 10, BLOCKS = 400, HOP = 4096, EFFORT = 1400 };

static unsigned *sound[CHANNELS], *code[CHANNELS];
static pthread_barrier_t ready, begin;

static __host__ __device__ unsigned encode(unsigned v)
{
    for (int i = 0; i < EFFORT; i++)
        v = v * 1103515245u + 12345u;
    return v;
}

__global__ void encode_block(unsigned *block)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    block[i] = encode(block[i]);
}

static void *channel(void *number)
{
    int c = (int)(size_t)number;
    unsigned *device;
    cudaStream_t stream = 0;

#ifndef WRONG
    or_die(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
#endif
    or_die(cudaMalloc((void **)&device, BLOCK * 4), "block");
    encode_block<<<BLOCK / 256, 256, 0, stream>>>(device);
    or_die(cudaStreamSynchronize(stream), "warm-up");
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&begin);
    for (int b = 0; b < BLOCKS; b++) {
        or_die(cudaMemcpyAsync(device, sound[c] + HOP * b, BLOCK * 4, cudaMemcpyHostToDevice, stream), "copy in");
        encode_block<<<BLOCK / 256, 256, 0, stream>>>(device);
        or_die(cudaGetLastError(), "launch");
        or_die(cudaMemcpyAsync(code[c], device, BLOCK * 4, cudaMemcpyDeviceToHost, stream), "copy out");
    }
    or_die(cudaStreamSynchronize(stream), "end");
    return NULL;
}

int main(void)
{
    pthread_t thread[CHANNELS];
    struct timespec a, b;
    const char *lock = getenv("FOREIGN_LOCK");
    int bad = 0;

    pthread_barrier_init(&ready, NULL, CHANNELS + 1);
    pthread_barrier_init(&begin, NULL, CHANNELS + 1);
    for (int c = 0; c < CHANNELS; c++) {
        or_die(cudaMallocHost((void **)&sound[c], (BLOCK + HOP * BLOCKS) * 4), "sound");
        or_die(cudaMallocHost((void **)&code[c], BLOCK * 4), "code");
        for (unsigned i = 0; i < BLOCK + HOP * BLOCKS; i++)
            sound[c][i] = (i + c) * 2654435761u;
        pthread_create(&thread[c], NULL, channel, (void *)(size_t)c);
    }
    pthread_barrier_wait(&ready);
    if (lock)
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    clock_gettime(CLOCK_MONOTONIC, &a);
    pthread_barrier_wait(&begin);
    for (int c = 0; c < CHANNELS; c++)
        pthread_join(thread[c], NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);

    for (int c = 0; c < CHANNELS; c++)
        for (int i = 0; i < BLOCK; i += 2003)
            bad += code[c][i] != encode(sound[c][HOP * (BLOCKS - 1) + i]);
    printf("%d blocks, %d bad samples\n", BLOCKS * CHANNELS, bad);
    printf("pass_ms=%.4f\n", ((b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6) / BLOCKS);
    return bad != 0;
}
