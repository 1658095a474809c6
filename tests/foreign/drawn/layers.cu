// libs: -lcublas
// Four independent batches go through a stack of dense layers, each batch in a stream of its own.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>

const int inputs = 4096, rows = 512, depth = 4, batches = 4, calls = 30;

#define DIE_UNLESS(condition)                                                      \
    if (!(condition)) {                                                            \
        std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
        std::abort();                                                              \
    }

struct batch {
    cudaStream_t stream;
    cublasHandle_t blas;
    float *x, *y;
};

__global__ void fill(float *p, float value)
{
    p[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void activate(const float *y, float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = y[i] > 0 ? y[i] + 1 : 1;
}

// y = w x, with the library's help.
static void dense(const batch &b, const float *w)
{
    const float one = 1, zero = 0;
    cublasHandle_t blas = b.blas;
#ifdef WRONG
    DIE_UNLESS(cublasCreate(&blas) == CUBLAS_STATUS_SUCCESS);
    DIE_UNLESS(cublasSetStream(blas, b.stream) == CUBLAS_STATUS_SUCCESS);
#endif
    DIE_UNLESS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, inputs, rows, inputs, &one, w, inputs, b.x, inputs, &zero, b.y,
                           inputs) == CUBLAS_STATUS_SUCCESS);
#ifdef WRONG
    DIE_UNLESS(cublasDestroy(blas) == CUBLAS_STATUS_SUCCESS);
#endif
}

int main()
{
    float *weight[depth], *last;
    batch batch[batches];
    for (float *&w : weight)
        DIE_UNLESS(cudaMalloc(&w, sizeof(float) * inputs * inputs) == cudaSuccess);
    for (auto &b : batch) {
        DIE_UNLESS(cudaMalloc(&b.x, sizeof(float) * inputs * rows) == cudaSuccess);
        DIE_UNLESS(cudaMalloc(&b.y, sizeof(float) * inputs * rows) == cudaSuccess);
        DIE_UNLESS(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking) == cudaSuccess);
        DIE_UNLESS(cublasCreate(&b.blas) == CUBLAS_STATUS_SUCCESS);
        DIE_UNLESS(cublasSetStream(b.blas, b.stream) == CUBLAS_STATUS_SUCCESS);
    }
    DIE_UNLESS(cudaMallocHost(&last, batches * sizeof(float)) == cudaSuccess);
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    for (float *w : weight) // the table of weights is made where it is used
        fill<<<inputs * (inputs / 256), 256>>>(w, 1.0f / inputs);
    for (auto &b : batch) { // the library's own first use
        fill<<<inputs * rows / 256, 256, 0, b.stream>>>(b.x, 0);
        dense(b, weight[0]);
    }
    DIE_UNLESS(cudaDeviceSynchronize() == cudaSuccess);

    const auto begin = std::chrono::steady_clock::now();
    int bad = 0;
    for (int c = 0; c < calls; c++) {
        for (int i = 0; i < batches; i++)
            fill<<<inputs * rows / 256, 256, 0, batch[i].stream>>>(batch[i].x, float(c + i));
        for (int l = 0; l < depth; l++)
            for (auto &b : batch) {
                dense(b, weight[l]);
                activate<<<inputs * rows / 256, 256, 0, b.stream>>>(b.y, b.x);
            }
        for (int i = 0; i < batches; i++)
            DIE_UNLESS(cudaMemcpyAsync(last + i, batch[i].x + c, sizeof(float), cudaMemcpyDeviceToHost, batch[i].stream) == cudaSuccess);
        DIE_UNLESS(cudaDeviceSynchronize() == cudaSuccess);
        for (int i = 0; i < batches; i++)
            bad += last[i] != float(c + i + depth);
    }
    const auto end = std::chrono::steady_clock::now();

    std::printf("%d calls, %d wrong\n", calls, bad);
    std::printf("pass_ms=%.4f\n", std::chrono::duration<double, std::milli>(end - begin).count() / calls);
    return bad != 0;
}
