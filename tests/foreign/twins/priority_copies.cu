// A service answers small questions at once, while a large model is brought onto the device in the
// background: the questions' stream has the higher priority.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>

constexpr std::size_t model_bytes = std::size_t{1} << 30;
#ifdef WRONG
constexpr std::size_t piece_bytes = model_bytes;
#else
constexpr std::size_t piece_bytes = model_bytes / 128;
#endif
constexpr int questions = 32, numbers = 64 << 10, thought = 30000;

#define SAFE(x) safe((x), #x)
static void safe(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "service: %s: %s\n", what, cudaGetErrorString(e));
        std::exit(31);
    }
}

__host__ __device__ static unsigned think(unsigned x, int n)
{
    for (int i = 0; i < n; i++)
        x = (x ^ x >> 3) * 747796405u;
    return x;
}

__global__ void answer(unsigned *question, int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    question[i] = think(question[i], n);
}

struct service {
    cudaStream_t background, urgent;
    unsigned *device, *host;
    char *model, *file;
    std::size_t loaded = 0;

    service()
    {
        int least, greatest;
        SAFE(cudaDeviceGetStreamPriorityRange(&least, &greatest));
        SAFE(cudaStreamCreateWithPriority(&background, cudaStreamNonBlocking, least));
        SAFE(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
        SAFE(cudaMalloc(&device, numbers * sizeof(unsigned)));
        SAFE(cudaMallocHost(&host, numbers * sizeof(unsigned)));
        SAFE(cudaMalloc(&model, model_bytes));
        SAFE(cudaMallocHost(&file, model_bytes));
    }
    void load_a_piece()
    {
        if (loaded == model_bytes)
            return;
        SAFE(cudaMemcpyAsync(model + loaded, file + loaded, piece_bytes, cudaMemcpyHostToDevice, background));
        loaded += piece_bytes;
    }
    unsigned ask(int number, int n)
    {
        for (int i = 0; i < numbers; i += 64)
            host[i] = number + i;
        SAFE(cudaMemcpyAsync(device, host, numbers * sizeof(unsigned), cudaMemcpyHostToDevice, urgent));
        for (int i = 0; i < 4; i++)
            load_a_piece();
        answer<<<numbers / 128, 128, 0, urgent>>>(device, n);
        SAFE(cudaGetLastError());
        SAFE(cudaMemcpyAsync(host, device, numbers * sizeof(unsigned), cudaMemcpyDeviceToHost, urgent));
        SAFE(cudaStreamSynchronize(urgent));
        return host[64];
    }
};

int main()
{
    service s;
    std::memset(s.file, 'm', model_bytes);
    std::memset(s.host, 0, numbers * sizeof(unsigned));
    SAFE(cudaMemcpyAsync(s.model, s.file, 1 << 20, cudaMemcpyHostToDevice, s.background));
    s.loaded = model_bytes;
    s.ask(0, 1);
    SAFE(cudaDeviceSynchronize());
    s.loaded = 0;

    unsigned answers[questions];
    timespec a, b;
    nvtxRangePushA("work");
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int k = 0; k < questions; k++)
        answers[k] = s.ask(k, thought);
    while (s.loaded < model_bytes)
        s.load_a_piece();
    SAFE(cudaStreamSynchronize(s.background));
    clock_gettime(CLOCK_MONOTONIC, &b);
    nvtxRangePop();

    char last;
    SAFE(cudaMemcpy(&last, s.model + model_bytes - 1, 1, cudaMemcpyDeviceToHost));
    bool right = last == 'm';
    for (int k = 0; k < questions; k++)
        right = right && answers[k] == think(k + 64, thought);
    std::printf("%d questions: %s\n", questions, right ? "answered" : "answered wrongly");
    std::printf("time_ms=%.3f\n", (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6);
    return right ? 0 : 1;
}
