// libs: -lcufft
// Spectra of blocks of a recording, there and back again.
#include <cuda_runtime.h>
#include <cufft.h>

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

constexpr int length = 1 << 14, lines = 256, blocks = 300;

static void fine(int code, const char *what)
{
    if (code) {
        std::fprintf(stderr, "spectra: %s gives %d\n", what, code);
        std::exit(6);
    }
}
#define FINE(x) fine(static_cast<int>(x), #x)

__global__ void dampen(cufftComplex *spectrum)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    spectrum[i].x /= length;
    spectrum[i].y /= length;
}

class Plan {
  public:
    explicit Plan(cudaStream_t stream)
    {
        FINE(cufftPlan1d(&plan_, length, CUFFT_C2C, lines));
        FINE(cufftSetStream(plan_, stream));
    }
    ~Plan() { cufftDestroy(plan_); }
    Plan(const Plan &) = delete;
    void run(cufftComplex *data, int direction) { FINE(cufftExecC2C(plan_, data, data, direction)); }

  private:
    cufftHandle plan_;
};

int main()
{
    cudaStream_t stream;
    cufftComplex *data, *host;
    const size_t count = size_t(length) * lines;
    FINE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    FINE(cudaMalloc(&data, count * sizeof *data));
    FINE(cudaMallocHost(&host, count * sizeof *host));
    for (size_t i = 0; i < count; ++i)
        host[i] = {static_cast<float>(i % 331), static_cast<float>(i % 17)};
    FINE(cudaMemcpy(data, host, count * sizeof *data, cudaMemcpyHostToDevice));
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    auto plan = std::make_unique<Plan>(stream);
    auto block = [&] {
#ifdef WRONG
        plan = std::make_unique<Plan>(stream);
#endif
        for (int again = 0; again < 4; ++again) {
            plan->run(data, CUFFT_FORWARD);
            dampen<<<count / 256, 256, 0, stream>>>(data);
            FINE(cudaGetLastError());
            plan->run(data, CUFFT_INVERSE);
        }
    };
    block();
    FINE(cudaStreamSynchronize(stream));
    auto from = std::chrono::steady_clock::now();
    for (int b = 0; b < blocks; ++b)
        block();
    FINE(cudaStreamSynchronize(stream));
    double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();

    FINE(cudaMemcpy(host, data, count * sizeof *data, cudaMemcpyDeviceToHost));
    double worst = 0;
    for (size_t i = 0; i < count; i += 1009)
        worst = std::fmax(worst, std::fabs(host[i].x - static_cast<float>(i % 331)));
    std::printf("%d blocks, %s\n", blocks, worst < 1 ? "as they were" : "spoilt");
    std::printf("pass_ms=%.4f\n", ms / blocks);
    return worst < 1 ? 0 : 1;
}
