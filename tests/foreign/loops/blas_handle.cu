// libs: -lcublas
// Powers of a matrix, one product a call of a helper that has its own handle.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#define N 1536
#define PASSES 200

#define OK(x) if ((x) != 0) { fprintf(stderr, "powers: %s failed in line %d\n", #x, __LINE__); exit(5); } else (void)0

static cudaStream_t stream;
static cublasHandle_t kept;

static void open_handle(cublasHandle_t *handle)
{
    OK(cublasCreate(handle));
    OK(cublasSetStream(*handle, stream));
}

static void multiply(const float *a, const float *b, float *c)
{
    const float one = 1, zero = 0;
#ifdef WRONG
    cublasHandle_t handle;
    open_handle(&handle);
#else
    cublasHandle_t handle = kept;
#endif
    OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a, N, b, N, &zero, c, N));
#ifdef WRONG
    OK(cublasDestroy(handle));
#endif
}

int main(void)
{
    float *host = (float *)malloc(sizeof(float) * N * N), *rotation, *power[2];
    const char *lock = getenv("FOREIGN_LOCK");
    struct timespec a, b;
    double angle = 0.01, worst = 0;

    for (int i = 0; i < N * N; i++)
        host[i] = 0;
    for (int i = 0; i < N; i += 2) { // rotations in planes of two, so that powers stay small
        host[i * N + i] = host[(i + 1) * N + i + 1] = (float)cos(angle);
        host[i * N + i + 1] = (float)sin(angle);
        host[(i + 1) * N + i] = (float)-sin(angle);
    }
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&rotation, sizeof(float) * N * N));
    for (int i = 0; i < 2; i++) {
        OK(cudaMalloc((void **)&power[i], sizeof(float) * N * N));
        OK(cudaMemcpy(power[i], host, sizeof(float) * N * N, cudaMemcpyHostToDevice));
    }
    OK(cudaMemcpy(rotation, host, sizeof(float) * N * N, cudaMemcpyHostToDevice));
    open_handle(&kept);
    if (lock)
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    for (int i = 0; i < 3; i++)
        multiply(rotation, rotation, power[1]);
    OK(cudaStreamSynchronize(stream));

    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int p = 0; p < PASSES; p++)
        for (int i = 0; i < 2; i++)
            multiply(rotation, power[i], power[1 - i]);
    OK(cudaStreamSynchronize(stream));
    clock_gettime(CLOCK_MONOTONIC, &b);

    OK(cudaMemcpy(host, power[0], sizeof(float) * N * N, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i += 2)
        worst = fmax(worst, fabs(host[i * N + i] - cos(angle * (2 * PASSES + 1))));
    printf("%d powers, %s\n", 2 * PASSES, worst < 1e-3 ? "right" : "wrong");
    printf("pass_ms=%.4f\n", ((b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6) / PASSES);
    return worst < 1e-3 ? 0 : 1;
}
