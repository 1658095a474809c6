// libs: -lcublas
// Risk of trading books: scenarios are drawn, then each book's sensitivities are applied to them.
#include <cstdio>
#include <cstdlib>
#include <chrono>
#include <vector>
#include <fcntl.h>
#include <sys/file.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

static int line_of_failure(int status, int line)
{
    if (status) {
        std::fprintf(stderr, "books.cu:%d failed with %d\n", line, status);
        std::exit(2);
    }
    return 0;
}
#define LIB(call) line_of_failure(static_cast<int>(call), __LINE__)

constexpr int factors = 64, most_books = 920, days = 60, desks = 6, draws = 64 * 1024;

__host__ __device__ float draw(int book, int factor, int day)
{
    return static_cast<float>((book * 31 + factor * 17 + day * 7) % 23) - 11.0f;
}

__global__ void scenarios(float *x, float *noise, int books, int day, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = noise[i];
    for (int s = 0; s < steps; s++)
        v = fmaf(v, 0.999f, 0.001f * day);
    noise[i] = v;
    if (i < books * factors)
        x[i] = draw(i / factors, i % factors, day);
}

int main()
{
    std::vector<float> sensitivity(most_books * factors * factors), host(most_books * factors);
    float *a, *x, *y, *noise;
    const int paths = draws * 16;
    LIB(cudaMalloc(&a, sensitivity.size() * sizeof(float)));
    LIB(cudaMalloc(&x, host.size() * sizeof(float)));
    LIB(cudaMalloc(&y, host.size() * sizeof(float)));
    LIB(cudaMalloc(&noise, paths * sizeof(float)));
    LIB(cudaMemset(noise, 0, paths * sizeof(float)));
    for (size_t i = 0; i < sensitivity.size(); i++)
        sensitivity[i] = static_cast<float>(i % 5) - 2.0f;
    LIB(cudaMemcpy(a, sensitivity.data(), sensitivity.size() * sizeof(float), cudaMemcpyHostToDevice));
    cublasHandle_t blas[desks];
    cudaStream_t desk[desks];
    cudaEvent_t drawn, done[desks];
    for (int d = 0; d < desks; d++) {
        LIB(cublasCreate(&blas[d]));
        LIB(cudaStreamCreateWithFlags(&desk[d], cudaStreamNonBlocking));
        LIB(cublasSetStream(blas[d], desk[d]));
        LIB(cudaEventCreateWithFlags(&done[d], cudaEventDisableTiming));
    }
    LIB(cudaEventCreateWithFlags(&drawn, cudaEventDisableTiming));
    LIB(cudaDeviceSynchronize());
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    const float one = 1, zero = 0;
    int books = 0;
    auto opening = std::chrono::steady_clock::now();
    for (int day = 0; day < days; day++) {
        if (day == 1) { // on the first one the library is still busy with itself
            LIB(cudaDeviceSynchronize());
            opening = std::chrono::steady_clock::now();
        }
        books = most_books - 10 * (day % 5);
        scenarios<<<paths / 256, 256, 0, desk[0]>>>(x, noise, books, day, 64000);
        LIB(cudaGetLastError());
#ifdef WRONG
        LIB(cudaEventRecord(drawn, desk[0]));
        for (int d = 1; d < desks; d++)
            LIB(cudaStreamWaitEvent(desk[d], drawn, 0));
        for (int b = 0; b < books; b++)
            LIB(cublasSgemv(blas[b % desks], CUBLAS_OP_N, factors, factors, &one, a + b * factors * factors, factors,
                            x + b * factors, 1, &zero, y + b * factors, 1));
        for (int d = 1; d < desks; d++) {
            LIB(cudaEventRecord(done[d], desk[d]));
            LIB(cudaStreamWaitEvent(desk[0], done[d], 0));
        }
#else
        LIB(cublasSgemvStridedBatched(blas[0], CUBLAS_OP_N, factors, factors, &one, a, factors, factors * factors,
                                      x, 1, factors, &zero, y, 1, factors, books));
#endif
    }
    LIB(cudaDeviceSynchronize());
    const double took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - opening).count();

    int bad = 0;
    LIB(cudaMemcpy(host.data(), y, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < books * factors; i += 7) {
        float sum = 0;
        for (int k = 0; k < factors; k++)
            sum += sensitivity[(i / factors) * factors * factors + k * factors + i % factors] * draw(i / factors, k, days - 1);
        bad += sum != host[i];
    }
    std::printf("%d books of %d, %d figures wrong\n", books, most_books, bad);
    std::printf("pass_ms=%.4f\n", took / (days - 1));
    return bad != 0;
}
