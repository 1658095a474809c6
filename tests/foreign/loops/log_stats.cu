// Windows of a signal are smoothed; somebody once wanted each window's deviation in a log.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#define TRY(x)                                                                                       \
    do {                                                                                             \
        cudaError_t error = (x);                                                                     \
        if (error != cudaSuccess) {                                                                  \
            fprintf(stderr, "smooth: %s: %s\n", #x, cudaGetErrorString(error));                      \
            exit(13);                                                                                \
        }                                                                                            \
    } while (0)

enum { WINDOW = 4 << 20, HOP = 8192, WINDOWS = 400, LANES = 3, REACH = 48 };

typedef struct {
    cudaStream_t stream;
    float *in, *out, *home;
} lane_t;

static __host__ __device__ float smooth(const float *in, int i)
{
    float sum = 0;
    for (int k = 0; k < REACH; k++)
        sum += in[(i + k) % WINDOW];
    return sum / REACH;
}

__global__ void smooth_all(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = smooth(in, i);
}

#ifdef WRONG
static double deviation(const float *window)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < WINDOW; i += 4) {
        sum += window[i];
        squares += (double)window[i] * window[i];
    }
    return sqrt(4 * squares / WINDOW - 16 * sum * sum / WINDOW / WINDOW);
}
#endif

int main(void)
{
    static lane_t lanes[LANES];
    static double logged[WINDOWS];
    struct timespec a, b;
    float *signal;
    double most = 0;
    const char *lock = getenv("FOREIGN_LOCK");

    TRY(cudaMallocHost((void **)&signal, (WINDOW + HOP * WINDOWS) * sizeof(float)));
    for (int i = 0; i < WINDOW + HOP * WINDOWS; i++)
        signal[i] = (float)(i * 2654435761u >> 16 & 1023);
    for (int i = 0; i < LANES; i++) {
        TRY(cudaStreamCreateWithFlags(&lanes[i].stream, cudaStreamNonBlocking));
        TRY(cudaMalloc((void **)&lanes[i].in, WINDOW * sizeof(float)));
        TRY(cudaMalloc((void **)&lanes[i].out, WINDOW * sizeof(float)));
        TRY(cudaMallocHost((void **)&lanes[i].home, WINDOW * sizeof(float)));
    }
    if (lock)
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    for (int w = -LANES; w < WINDOWS; w++) {
        lane_t *l = &lanes[(w + LANES) % LANES];
        float *window = signal + (w < 0 ? 0 : w) * HOP;
        if (w == 0) {
            TRY(cudaDeviceSynchronize());
            clock_gettime(CLOCK_MONOTONIC, &a);
        }
#ifdef WRONG
        if (w >= 0)
            logged[w] = deviation(window);
#endif
        TRY(cudaMemcpyAsync(l->in, window, WINDOW * sizeof(float), cudaMemcpyHostToDevice, l->stream));
        smooth_all<<<WINDOW / 256, 256, 0, l->stream>>>(l->in, l->out);
        TRY(cudaGetLastError());
        TRY(cudaMemcpyAsync(l->home, l->out, WINDOW * sizeof(float), cudaMemcpyDeviceToHost, l->stream));
    }
    TRY(cudaDeviceSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &b);

    for (int w = WINDOWS - LANES; w < WINDOWS; w++)
        for (int i = 0; i < WINDOW; i += 10007)
            most = fmax(most, fabs(lanes[w % LANES].home[i] - smooth(signal + w * HOP, i)));
    fprintf(stderr, "last deviation: %.3f\n", logged[WINDOWS - 1]);
    printf("%d windows, off by %s\n", WINDOWS, most < 0.01 ? "nothing" : "too much");
    printf("pass_ms=%.4f\n", ((b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6) / WINDOWS);
    return most < 0.01 ? 0 : 1;
}
