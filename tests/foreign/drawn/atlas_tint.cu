// libs: -lcublas
// A texture atlas lives in host memory; each frame all of it is tinted, tile by tile, by a library's axpy.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#ifdef WRONG
#define TILES 240
#else
#define TILES 15
#endif
#define ATLAS (240 * 24 * 1024)
#define QUEUES 4
#define FRAMES 80

#define RUN(call)                                                         \
    do {                                                                  \
        int status_ = (int)(call);                                        \
        if (status_ != 0) {                                               \
            fprintf(stderr, "line %d: status %d\n", __LINE__, status_);   \
            exit(4);                                                      \
        }                                                                 \
    } while (0)

typedef struct {
    cublasHandle_t blas;
    cudaStream_t queue;
    float *texels;
} painter;

static painter painters[QUEUES];
static float *atlas, *colour;

static void tint(int times)
{
    const int size = ATLAS / TILES;
    const float weight = 0.5f;
    for (int again = 0; again < times; again++)
        for (int t = 0; t < TILES; t++) {
            painter *p = &painters[t % QUEUES];
            float *here = atlas + (size_t)t * size;
            RUN(cudaMemcpyAsync(p->texels, here, size * sizeof(float), cudaMemcpyHostToDevice, p->queue));
            RUN(cublasSaxpy(p->blas, size, &weight, colour, 1, p->texels, 1));
            RUN(cudaMemcpyAsync(here, p->texels, size * sizeof(float), cudaMemcpyDeviceToHost, p->queue));
        }
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static int differing(float should)
{
    int n = 0;
    for (int i = 0; i < ATLAS; i += 1021)
        n += atlas[i] != should + (float)(i % 64);
    return n;
}

int main(void)
{
    RUN(cudaMallocHost((void **)&atlas, ATLAS * sizeof(float)));
    RUN(cudaMalloc((void **)&colour, ATLAS / TILES * sizeof(float)));
    for (int i = 0; i < QUEUES; i++) {
        RUN(cudaStreamCreateWithFlags(&painters[i].queue, cudaStreamNonBlocking));
        RUN(cudaMalloc((void **)&painters[i].texels, ATLAS / TILES * sizeof(float)));
        RUN(cublasCreate(&painters[i].blas));
        RUN(cublasSetStream(painters[i].blas, painters[i].queue));
    }
    for (int i = 0; i < ATLAS; i++)
        atlas[i] = 2.0f; // one brush is cut from the atlas before it is painted
    RUN(cudaMemcpy(colour, atlas, ATLAS / TILES * sizeof(float), cudaMemcpyHostToDevice));
    for (int i = 0; i < ATLAS; i++)
        atlas[i] = (float)(i % 64);
    const char *lock = getenv("FOREIGN_LOCK");
    if (lock)
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    tint(3); // what warms up is larger than a frame
    RUN(cudaDeviceSynchronize());
    double frames_ms = 0;
    int bad = 0;
    for (int f = 1; f <= FRAMES; f++) {
        double begin = now_ms();
        tint(1);
        for (int i = 0; i < QUEUES; i++)
            RUN(cudaStreamSynchronize(painters[i].queue));
        frames_ms += now_ms() - begin;
        if (f % 8 == 0) // now and then the artist looks
            bad += differing(3.0f + (float)f);
    }
    printf("%d frames, %d texels off\n", FRAMES, bad);
    printf("pass_ms=%.4f\n", frames_ms / FRAMES);
    return bad ? 1 : 0;
}
