// What cuBLAS answers, line by line: blas.txt is what CUDA 13.0 answers on an H200, without what it prints of itself.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#define OK(call) do { if ((call) != 0) { printf("%d: %s failed\n", __LINE__, #call); exit(1); } } while (0)

enum { N = 6, M = 4, K = 5 };
static float *a, *b, *c;
static cublasHandle_t handle;

static void reset()
{
    float host[64];
    for (int i = 0; i < 64; i++)
        host[i] = (float)(i % 7 - 3);
    OK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
    for (int i = 0; i < 64; i++)
        host[i] = (float)(i % 5 - 2);
    OK(cudaMemcpy(b, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(c, host, sizeof host, cudaMemcpyHostToDevice));
}

static void show(const char *what, const float *device, int count)
{
    float host[64];
    OK(cudaMemcpy(host, device, count * sizeof *host, cudaMemcpyDeviceToHost));
    printf("%s:", what);
    for (int i = 0; i < count; i++)
        printf(" %g", host[i]);
    printf("\n");
    reset();
}

int main()
{
    const float two = 2, half = .5f;
    float result;
    OK(cudaMalloc(&a, 64 * sizeof *a));
    OK(cudaMalloc(&b, 64 * sizeof *b));
    OK(cudaMalloc(&c, 64 * sizeof *c));
    OK(cublasCreate(&handle));
    reset();
    OK(cublasSaxpy(handle, 8, &two, a, 2, b, 3));
    show("axpy", b, 30);
    OK(cublasSscal(handle, 5, &half, a, 2));
    show("scal", a, 12);
    OK(cublasScopy(handle, 5, a, 3, b, 2));
    show("copy", b, 12);
    OK(cublasSdot(handle, 9, a, 2, b, 1, &result));
    printf("dot %g\n", result);
    OK(cublasSnrm2(handle, 9, a, 2, &result));
    printf("nrm2 %g\n", result);
    OK(cublasSgemv(handle, CUBLAS_OP_N, M, N, &two, a, M, b, 2, &half, c, 3));
    show("gemv", c, 12);
    OK(cublasSgemv(handle, CUBLAS_OP_T, M, N, &two, a, M + 1, b, 1, &half, c, 1));
    show("gemv of the transposed", c, 8);
    const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T};
    for (cublasOperation_t left : ops)
        for (cublasOperation_t right : ops) {
            OK(cublasSgemm(handle, left, right, M, N, K, &two, a, 7, b, 8, &half, c, 5));
            show("gemm", c, 30);
        }
    OK(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &two, a, 2, 4, b, 2, 4, &half, c, 2, 4, 3));
    show("batched", c, 12);
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    OK(cublasSdot(handle, 9, a, 2, b, 1, c));
    show("dot on the device", c, 2);
    OK(cublasSscal(handle, 5, b + 4, a, 1));
    show("scal by the device", a, 6);
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    printf("%d\n", (int)cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &two, a, 3, b, 8, &half, c, 5));
    printf("%d\n", (int)cublasSgemm(NULL, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &two, a, 4, b, 8, &half, c, 5));
    printf("%d\n", (int)cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, -1, N, K, &two, a, 4, b, 8, &half, c, 5));
    printf("%s\n", cublasGetStatusString(CUBLAS_STATUS_INVALID_VALUE));
    printf("%s\n", cublasGetStatusName(CUBLAS_STATUS_NOT_INITIALIZED));
    OK(cublasDestroy(handle));
    return 0;
}
