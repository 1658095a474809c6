// libs: -lcublas
// Three dense layers on batches that slide over a corpus; two batches are under way at a time.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

static void must(int status, const char *what)
{
    if (status != 0)
        throw std::runtime_error(std::string(what) + " failed with " + std::to_string(status));
}
#define MUST(x) must(static_cast<int>(x), #x)

constexpr int width = 2048, batch = 1024, layers = 3, passes = 250, hop = 32;

struct Model {
    float *host;
    Model()
    {
        MUST(cudaMallocHost(&host, bytes()));
        for (size_t i = 0; i < bytes() / sizeof(float); ++i)
            host[i] = (static_cast<int>(i * 2654435761u >> 8 & 255) - 127) / 4096.0f;
    }
    static constexpr size_t bytes() { return sizeof(float) * width * width * layers; }
    float at(int layer, int row, int column) const { return host[(size_t(layer) * width + column) * width + row]; }
};

class Worker {
  public:
    explicit Worker(const Model &model) : model_(model)
    {
        MUST(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        MUST(cublasCreate(&blas_));
        MUST(cublasSetStream(blas_, stream_));
        MUST(cudaMalloc(&weights_, Model::bytes()));
        for (float *&buffer : act_)
            MUST(cudaMalloc(&buffer, sizeof(float) * width * batch));
        MUST(cudaMallocHost(&result, sizeof(float) * width * batch));
        upload();
        MUST(cudaStreamSynchronize(stream_));
    }
    void infer(const float *inputs)
    {
#ifdef WRONG
        upload(); // so that the newest weights are used
#endif
        const float one = 1, zero = 0;
        MUST(cudaMemcpyAsync(act_[0], inputs, sizeof(float) * width * batch, cudaMemcpyHostToDevice, stream_));
        for (int l = 0; l < layers; ++l)
            MUST(cublasSgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_N, width, batch, width, &one, weights_ + size_t(l) * width * width,
                             width, act_[l % 2], width, &zero, act_[(l + 1) % 2], width));
        MUST(cudaMemcpyAsync(result, act_[layers % 2], sizeof(float) * width * batch, cudaMemcpyDeviceToHost, stream_));
    }
    float *result;

  private:
    void upload() { MUST(cudaMemcpyAsync(weights_, model_.host, Model::bytes(), cudaMemcpyHostToDevice, stream_)); }
    const Model &model_;
    cudaStream_t stream_;
    cublasHandle_t blas_;
    float *weights_, *act_[2];
};

int main()
{
    Model model;
    const size_t words = size_t(width) * (batch + passes * hop);
    float *corpus;
    MUST(cudaMallocHost(&corpus, words * sizeof(float)));
    for (size_t i = 0; i < words; ++i)
        corpus[i] = static_cast<int>(i * 2246822519u >> 9 & 1023) / 1024.0f;
    std::vector<Worker> workers;
    workers.reserve(2);
    for (int i = 0; i < 2; ++i)
        workers.emplace_back(model);
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    for (int i = 0; i < 4; ++i)
        workers[i % 2].infer(corpus);
    MUST(cudaDeviceSynchronize());

    auto from = std::chrono::steady_clock::now();
    for (int p = 0; p < passes; ++p)
        workers[p % 2].infer(corpus + size_t(p) * hop * width);
    MUST(cudaDeviceSynchronize());
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - from;

    std::vector<double> now(width), next(width);
    for (int i = 0; i < width; ++i)
        now[i] = corpus[size_t(passes - 1) * hop * width + i];
    for (int l = 0; l < layers; ++l) {
        for (int row = 0; row < width; ++row) {
            next[row] = 0;
            for (int k = 0; k < width; ++k)
                next[row] += model.at(l, row, k) * now[k];
        }
        now.swap(next);
    }
    double worst = 0, largest = 0;
    for (int i = 0; i < width; ++i) {
        worst = std::fmax(worst, std::fabs(now[i] - workers[(passes - 1) % 2].result[i]));
        largest = std::fmax(largest, std::fabs(now[i]));
    }
    std::printf("%d batches, %s\n", passes, worst <= 1e-3 * largest ? "right" : "wrong");
    std::printf("pass_ms=%.4f\n", took.count() / passes);
    return worst <= 1e-3 * largest ? 0 : 1;
}
