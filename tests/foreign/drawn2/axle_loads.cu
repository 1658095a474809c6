// Wheel forces from a measuring train: the peaks of each section of line are taken by the GPU, and their turns, which tire the rail, are counted by the host.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cg = cooperative_groups;

#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(2); } } while (0)

constexpr int PASSES = 250, STREAMS = 4, SLOTS = 16, WINDOW = 16, MARK = 65536, WAVE = 1 << 20;
constexpr int MOST = 9 << 20;

__global__ void peaks(const float *force, float *peak, int windows) {
    auto tile = cg::tiled_partition<WINDOW>(cg::this_thread_block());
    const int tiles = gridDim.x * (blockDim.x / WINDOW);
    for (int w = blockIdx.x * (blockDim.x / WINDOW) + threadIdx.x / WINDOW; w < windows; w += tiles) {
        const float top = cg::reduce(tile, force[(size_t)w * WINDOW + tile.thread_rank()], cg::greater<float>());
        if (tile.thread_rank() == 0) peak[w] = top;
    }
}

static int samples(int pass) { return (8 << 20) + (pass * 37 % 11) * 65536; }
static float mark(int pass, int k) { return (float)((pass * 131 + k * 29) % 1013); }

struct Section {
    int pass = 0, windows = 0;
    const float *peak = nullptr;
    long turns = 0;
    bool done = false;
};

static std::mutex gate;
static std::condition_variable changed;

static long countTurns(const float *peak, int windows) {
    long turns = 0;
    for (const float least : {3.0f, 10.0f, 25.0f, 60.0f, 120.0f}) {      // by classes of wear
        float last = peak[0];
        bool rising = true;
        for (int i = 1; i < windows; i++) {
            const float step = peak[i] - last;
            if (rising ? step < -least : step > least) {
                rising = !rising;
                turns += rising ? 1 : 2;
                last = peak[i];
            } else if (rising == (step > 0)) {
                last = peak[i];
            }
        }
    }
    return turns;
}

static void evaluate(void *arg) {
    Section *s = (Section *)arg;
    s->turns = countTurns(s->peak, s->windows);
    std::lock_guard<std::mutex> hold(gate);
    s->done = true;
    changed.notify_all();
}

#ifndef WRONG
struct Office {
    std::deque<std::pair<Section *, cudaEvent_t>> queue;
    std::mutex lock;
    std::condition_variable filled;
    std::vector<std::thread> clerks;
    bool closed = false;
    Office() {
        for (int i = 0; i < 8; i++) clerks.emplace_back([this] {
            for (;;) {
                std::pair<Section *, cudaEvent_t> job;
                {
                    std::unique_lock<std::mutex> hold(lock);
                    filled.wait(hold, [this] { return closed || !queue.empty(); });
                    if (queue.empty()) return;
                    job = queue.front();
                    queue.pop_front();
                }
                CK(cudaEventSynchronize(job.second));
                evaluate(job.first);
            }
        });
    }
    void add(Section *s, cudaEvent_t out) {
        std::lock_guard<std::mutex> hold(lock);
        queue.emplace_back(s, out);
        filled.notify_one();
    }
    ~Office() {
        { std::lock_guard<std::mutex> hold(lock); closed = true; }
        filled.notify_all();
        for (auto &c : clerks) c.join();
    }
};
#endif

int main() {
    // the wheel's own shape, from a file as the workshop leaves it
    const std::string name = "/tmp/axle_loads-" + std::to_string(getpid());
    std::vector<float> wave(WAVE);
    for (int i = 0; i < WAVE; i++) wave[i] = (float)((i * 2654435761u >> 20) % 997);
    FILE *f = fopen(name.c_str(), "wb");
    if (!f || fwrite(wave.data(), 4, WAVE, f) != (size_t)WAVE) return 2;
    fclose(f);
    std::fill(wave.begin(), wave.end(), 0.0f);
    f = fopen(name.c_str(), "rb");
    if (!f || fread(wave.data(), 4, WAVE, f) != (size_t)WAVE) return 2;
    fclose(f);
    unlink(name.c_str());

    cudaStream_t stream[STREAMS];
    cudaEvent_t in[STREAMS], out[SLOTS];
    float *host[STREAMS], *force[STREAMS], *top[SLOTS], *dTop[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        CK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        CK(cudaEventCreateWithFlags(&in[i], cudaEventDisableTiming));
        CK(cudaMallocHost(&host[i], MOST * sizeof(float)));
        CK(cudaMalloc(&force[i], MOST * sizeof(float)));
        CK(cudaMalloc(&dTop[i], MOST / WINDOW * sizeof(float)));
        for (int k = 0; k < MOST; k++) host[i][k] = wave[k % WAVE];
    }
    for (int i = 0; i < SLOTS; i++) {
        CK(cudaEventCreateWithFlags(&out[i], cudaEventDisableTiming));
        CK(cudaMallocHost(&top[i], MOST / WINDOW * sizeof(float)));
    }
    std::vector<Section> section(PASSES);
    peaks<<<528, 256, 0, stream[0]>>>(force[0], dTop[0], MOST / WINDOW);
    CK(cudaDeviceSynchronize());
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    double ms;
    {
#ifndef WRONG
        Office office;
#endif
        CK(cudaDeviceSynchronize());
        const auto start = std::chrono::steady_clock::now();
        for (int p = 0; p < PASSES; p++) {
            const int i = p % STREAMS, slot = p % SLOTS, n = samples(p);
            if (p >= SLOTS) {    // the slot's peaks have been looked at
                std::unique_lock<std::mutex> hold(gate);
                changed.wait(hold, [&] { return section[p - SLOTS].done; });
            }
            if (p >= STREAMS) CK(cudaEventSynchronize(in[i]));
            for (int k = 0; k * MARK < n; k++) host[i][(size_t)k * MARK] = mark(p, k);
            section[p].pass = p;
            section[p].windows = n / WINDOW;
            section[p].peak = top[slot];
            CK(cudaMemcpyAsync(force[i], host[i], n * sizeof(float), cudaMemcpyHostToDevice, stream[i]));
            CK(cudaEventRecord(in[i], stream[i]));
            peaks<<<528, 256, 0, stream[i]>>>(force[i], dTop[i], n / WINDOW);
            CK(cudaGetLastError());
            CK(cudaMemcpyAsync(top[slot], dTop[i], n / WINDOW * sizeof(float), cudaMemcpyDeviceToHost, stream[i]));
#ifdef WRONG
            CK(cudaLaunchHostFunc(stream[i], evaluate, &section[p]));
#else
            CK(cudaEventRecord(out[slot], stream[i]));
            office.add(&section[p], out[slot]);
#endif
        }
        CK(cudaDeviceSynchronize());
        {
            std::unique_lock<std::mutex> hold(gate);
            changed.wait(hold, [&] { for (auto &s : section) if (!s.done) return false; return true; });
        }
        ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / PASSES;
    }

    bool good = true;
    for (int p = 0; p < PASSES; p += 83) {
        const int windows = samples(p) / WINDOW;
        std::vector<float> peak(windows);
        for (int w = 0; w < windows; w++) {
            float best = -1;
            for (int k = 0; k < WINDOW; k++) {
                const int at = w * WINDOW + k;
                const float v = at % MARK == 0 ? mark(p, at / MARK) : wave[at % WAVE];
                best = v > best ? v : best;
            }
            peak[w] = best;
        }
        if (countTurns(peak.data(), windows) != section[p].turns) good = false;
    }
    printf("%s, section 0 turned %ld times\n", good ? "good" : "WRONG", section[0].turns);
    printf("pass_ms=%.4f\n", ms);
    return good ? 0 : 1;
}
