/* Takes the noise out of a film: three planes a picture, and what is left of them comes back while others are at work. */
#include <cuda_runtime.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#define LUMA (1024 * 512)
#define CHROMA (512 * 256)
#define ALL (LUMA + 2 * CHROMA)
#define PICTURES 300
#define BEHIND 2
#define SLOTS 3
#define TAPS 21000

struct planes { /* one array each, for as many pictures as there are slots */
    float *y[SLOTS], *u[SLOTS], *v[SLOTS];
};

static struct planes home;
static float *film, *picture[SLOTS];
static cudaStream_t stream[SLOTS];

#define MUST(x) must((x), #x)
static void must(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
        exit(1);
    }
}

__host__ __device__ static float smooth(float x, int taps)
{
    for (int t = 0; t < taps; t++)
        x = fmaf(x, 0.9999f, 0.00005f);
    return x;
}

__global__ void smooth_all(float *x, int taps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = smooth(x[i], taps);
}

static void take_planes(int s)
{
    MUST(cudaMallocHost((void **)&home.y[s], sizeof(float) * LUMA));
    MUST(cudaMallocHost((void **)&home.u[s], sizeof(float) * CHROMA));
    MUST(cudaMallocHost((void **)&home.v[s], sizeof(float) * CHROMA));
}

static void give_planes(int s)
{
    MUST(cudaFreeHost(home.y[s]));
    MUST(cudaFreeHost(home.u[s]));
    MUST(cudaFreeHost(home.v[s]));
}

static const float *source(int n)
{
    return film + (size_t)n * 40961;
}

static void begin(int n, int threads)
{
    int s = n % SLOTS;
#ifdef WRONG
    take_planes(s);
#endif
    MUST(cudaMemcpyAsync(picture[s], source(n), sizeof(float) * ALL, cudaMemcpyHostToDevice, stream[s]));
    smooth_all<<<ALL / threads, threads, 0, stream[s]>>>(picture[s], TAPS);
    MUST(cudaGetLastError());
    MUST(cudaMemcpyAsync(home.y[s], picture[s], sizeof(float) * LUMA, cudaMemcpyDeviceToHost, stream[s]));
    MUST(cudaMemcpyAsync(home.u[s], picture[s] + LUMA, sizeof(float) * CHROMA, cudaMemcpyDeviceToHost, stream[s]));
    MUST(cudaMemcpyAsync(home.v[s], picture[s] + LUMA + CHROMA, sizeof(float) * CHROMA, cudaMemcpyDeviceToHost, stream[s]));
}

static int finish(int n)
{
    int s = n % SLOTS, at = n * 37, bad = 0;
    const float *f = source(n);
    MUST(cudaStreamSynchronize(stream[s]));
    if (n % 10 == 9) {
        bad = fabsf(home.y[s][at] - smooth(f[at], TAPS)) > 1e-4f || fabsf(home.v[s][at] - smooth(f[LUMA + CHROMA + at], TAPS)) > 1e-4f;
        printf("picture %d: %.4f\n", n + 1, home.u[s][at]);
    }
#ifdef WRONG
    give_planes(s);
#endif
    return bad;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(void)
{
    int threads, best = 128, bad = 0;
    double t, least = 1e9;
    size_t i, all = ALL + (size_t)PICTURES * 40961;
    MUST(cudaMallocHost((void **)&film, sizeof(float) * all));
    for (i = 0; i < all; i++)
        film[i] = (float)(i * 2654435761u % 65521) / 65521;
    for (int s = 0; s < SLOTS; s++) {
        MUST(cudaMalloc((void **)&picture[s], sizeof(float) * ALL));
        MUST(cudaMemset(picture[s], 0, sizeof(float) * ALL));
        MUST(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
#ifndef WRONG
        take_planes(s);
#endif
    }
    MUST(cudaDeviceSynchronize());
    if (getenv("FOREIGN_LOCK"))
        flock(open(getenv("FOREIGN_LOCK"), O_RDWR | O_CREAT, 0600), LOCK_EX);
    for (threads = 64; threads <= 512; threads *= 2) {
        t = seconds();
        smooth_all<<<ALL / threads, threads, 0, stream[0]>>>(picture[0], TAPS);
        MUST(cudaStreamSynchronize(stream[0]));
        if (seconds() - t < least && threads > 64) /* the first one also loads the kernel */
            least = seconds() - t, best = threads;
    }

    t = seconds();
    for (int n = 0; n < PICTURES + BEHIND; n++) {
        if (n >= BEHIND)
            bad += finish(n - BEHIND);
        if (n < PICTURES)
            begin(n, best);
    }
    t = seconds() - t;
#ifndef WRONG
    for (int s = 0; s < SLOTS; s++)
        give_planes(s);
#endif
    printf("%d pictures, %d bad\npass_ms=%.4f\n", PICTURES, bad, t * 1e3 / PICTURES);
    return bad != 0;
}
