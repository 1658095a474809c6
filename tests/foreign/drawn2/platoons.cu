// Cars on a ring road, by the rule that a car moves if there is room: many short steps, with helpers that take any kernel.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void sure(cudaError_t e, const char *where) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(e));
    exit(2);
}

struct Rule184 {
    __device__ int operator()(int behind, int here, int ahead) const { return here ? ahead : behind; }
};

template <class Rule> __global__ void advance(const int *now, int *then, int cells, Rule rule) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < cells; i += gridDim.x * blockDim.x)
        then[i] = rule(now[i ? i - 1 : cells - 1], now[i], now[i + 1 < cells ? i + 1 : 0]);
}

// Launches any kernel over n items with the blocks that suit it and the GPU.
template <class Kernel, class... Args> void over(int n, cudaStream_t stream, Kernel kernel, Args... args) {
    int device, least, threads, sms;
    cudaFuncAttributes about;
    sure(cudaGetDevice(&device), "device");
    sure(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "SMs");
    sure(cudaFuncGetAttributes(&about, kernel), "attributes");
    sure(cudaOccupancyMaxPotentialBlockSize(&least, &threads, kernel), "occupancy");
    threads = threads < about.maxThreadsPerBlock / 4 ? threads : about.maxThreadsPerBlock / 4;      // small ones, for all SMs
    const int most = 4 * sms;
    const int blocks = (n + threads - 1) / threads;
    kernel<<<blocks < most ? blocks : most, threads, 0, stream>>>(args...);
    sure(cudaGetLastError(), "launch");
}

template <class Rule> class Road {
    int *state[2], cells;
    cudaStream_t stream;
public:
    Road(const std::vector<int> &cars, cudaStream_t stream) : cells((int)cars.size()), stream(stream) {
        for (int *&s : state) sure(cudaMalloc(&s, cells * sizeof(int)), "road");
        sure(cudaMemcpy(state[0], cars.data(), cells * sizeof(int), cudaMemcpyHostToDevice), "cars");
    }
    void steps(int n) {       // an even number, so that the state is back in the first
        for (int k = 0; k < n; k++) over(cells, stream, advance<Rule>, (const int *)state[k & 1], state[~k & 1], cells, Rule());
    }
    void look(int *host, int n) { sure(cudaMemcpyAsync(host, state[0], n * sizeof(int), cudaMemcpyDeviceToHost, stream), "look"); }
    ~Road() { for (int *s : state) cudaFree(s); }
};

// 64 cells a word; bit k of word w is cell 64 w + k.
static void reference(std::vector<uint64_t> &now, int steps) {
    const size_t n = now.size();
    std::vector<uint64_t> then(n);
    for (int s = 0; s < steps; s++) {
        for (size_t w = 0; w < n; w++) {
            const uint64_t here = now[w], before = now[w ? w - 1 : n - 1], after = now[w + 1 < n ? w + 1 : 0];
            const uint64_t behind = here << 1 | before >> 63, ahead = here >> 1 | after << 63;
            then[w] = (here & ahead) | (~here & behind);
        }
        now.swap(then);
    }
}

int main() {
    const int cells = 64 << 10, passes = 26, steps = 2200, trials = 4, trial = 100;
    std::vector<int> cars(cells);
    std::vector<uint64_t> expected(cells / 64, 0);
    uint32_t seed = 9;
    for (int i = 0; i < cells; i++) {
        seed = seed * 1664525u + 1013904223u;
        cars[i] = (seed >> 16) % 100 < 47;
        expected[i / 64] |= (uint64_t)cars[i] << (i % 64);
    }
    cudaStream_t stream;
    sure(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    int *seen;
    sure(cudaMallocHost(&seen, cells * sizeof(int)), "seen");
    Road<Rule184> road(cars, stream);

    // how much denser than the mean is it, once the platoons have formed? the reports are given against that
    double dense = 0;
    for (int t = 0; t < trials; t++) {
        road.steps(trial);
        road.look(seen, 1024);
        sure(cudaStreamSynchronize(stream), "trial");
        for (int i = 0; i < 1024; i++) dense += seen[i] / 1024.0 / trials;
    }
#ifndef WRONG
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    sure(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    road.steps(steps);
    sure(cudaStreamEndCapture(stream, &graph), "capture");
    sure(cudaGraphInstantiate(&ready, graph, 0), "instantiate");
    sure(cudaGraphUpload(ready, stream), "upload");
#endif
    sure(cudaDeviceSynchronize(), "start");
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    sure(cudaDeviceSynchronize(), "start");
    const auto start = std::chrono::steady_clock::now();
    for (int p = 0; p < passes; p++) {
#ifdef WRONG
        road.steps(steps);
#else
        sure(cudaGraphLaunch(ready, stream), "graph");
#endif
        if (p % 10 == 9) {
            road.look(seen, 1024);
            sure(cudaStreamSynchronize(stream), "report");
            int near = 0;
            for (int i = 0; i < 1024; i++) near += seen[i];
            printf("pass %d: %d cars in the first kilometre, %.1f are usual\n", p + 1, near, dense * 1024);
        }
    }
    sure(cudaDeviceSynchronize(), "end");
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / passes;

    road.look(seen, cells);
    sure(cudaStreamSynchronize(stream), "check");
    reference(expected, trials * trial + passes * steps);
    bool good = true;
    for (int i = 0; i < cells; i++) if (seen[i] != (int)(expected[i / 64] >> (i % 64) & 1)) good = false;
    printf("%s\n", good ? "good" : "WRONG");
    printf("pass_ms=%.4f\n", ms);
    return good ? 0 : 1;
}
