// Tiles of a picture go through three streams, one for each stage, on a machine with one connection to its device.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#define OK(x)                                                                                        \
    do {                                                                                             \
        cudaError_t e = (x);                                                                         \
        if (e != cudaSuccess)                                                                        \
            fprintf(stderr, "tiles: %s: %s\n", #x, cudaGetErrorString(e)), exit(8);                  \
    } while (0)

enum { TILE = 512 << 10, TILES = 16, PASSES = 250, SLOTS = 4, EFFORT = 700 };

#ifdef WRONG
#define EVENT_KIND cudaEventDefault
#else
#define EVENT_KIND cudaEventDisableTiming
#endif

static __host__ __device__ unsigned tone(unsigned v, int n)
{
    for (int i = 0; i < n; i++)
        v = v * 1664525u + 1013904223u;
    return v;
}

__global__ void tone_tile(unsigned *tile, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[i] = tone(tile[i], n);
}

static cudaStream_t in, work, out;
static struct slot {
    unsigned *device, *home;
    cudaEvent_t here, done, free;
} slots[SLOTS];

static void tile(struct slot *s, const unsigned *source)
{
    OK(cudaStreamWaitEvent(in, s->free, 0));
    OK(cudaMemcpyAsync(s->device, source, TILE * 4, cudaMemcpyHostToDevice, in));
    OK(cudaEventRecord(s->here, in));
    OK(cudaStreamWaitEvent(work, s->here, 0));
    tone_tile<<<TILE / 256, 256, 0, work>>>(s->device, EFFORT);
    OK(cudaEventRecord(s->done, work));
    OK(cudaStreamWaitEvent(out, s->done, 0));
    OK(cudaMemcpyAsync(s->home, s->device, TILE * 4, cudaMemcpyDeviceToHost, out));
    OK(cudaEventRecord(s->free, out));
}

int main(void)
{
    unsigned *picture;
    struct timespec a, b;
    const char *lock = getenv("FOREIGN_LOCK");
    const int hop = 4096, length = TILE + hop * (PASSES + TILES);

    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
    OK(cudaMallocHost((void **)&picture, length * 4ul));
    for (int i = 0; i < length; i++)
        picture[i] = i * 2246822519u;
    OK(cudaStreamCreateWithFlags(&in, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking));
    for (int i = 0; i < SLOTS; i++) {
        OK(cudaMalloc((void **)&slots[i].device, TILE * 4));
        OK(cudaMallocHost((void **)&slots[i].home, TILE * 4));
        OK(cudaEventCreateWithFlags(&slots[i].here, EVENT_KIND));
        OK(cudaEventCreateWithFlags(&slots[i].done, EVENT_KIND));
        OK(cudaEventCreateWithFlags(&slots[i].free, EVENT_KIND));
    }
    if (lock)
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    for (int i = 0; i < 2 * SLOTS; i++)
        tile(&slots[i % SLOTS], picture);
    OK(cudaDeviceSynchronize());

    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int p = 0; p < PASSES; p++)
        for (int t = 0; t < TILES; t++)
            tile(&slots[t % SLOTS], picture + hop * (p + t));
    OK(cudaDeviceSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &b);

    for (int t = TILES - SLOTS; t < TILES; t++)
        for (int i = 0; i < TILE; i += 997)
            if (slots[t % SLOTS].home[i] != tone(picture[hop * (PASSES - 1 + t) + i], EFFORT))
                return puts("a tile is wrong"), 1;
    printf("%d tiles\n", PASSES * TILES);
    printf("pass_ms=%.4f\n", ((b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6) / PASSES);
    return 0;
}
