// Analyses a molecule's trajectory: each frame's atoms are sorted into cells, and the device does the rest.
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

#ifdef WRONG
static const int workers = 0; // whoever needs a frame sorts it
#else
static const int workers = 6;
#endif
static const int frames = 60, warm = 2, most = 1000000, ring = 8, cells = 1 << 16, terms = 85000;

#define C(x) if (cudaError_t e = (x)) std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)), std::exit(1)

__host__ __device__ float energy(float4 a, int n)
{
    float v = a.x + a.y + a.z;
    for (int i = 0; i < n; i++)
        v = fmaf(v, 0.99999f, a.w);
    return v;
}

__global__ void energies(const float4 *atoms, float *out, int count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = energy(atoms[i], n);
}

int main()
{
    auto count_of = [](int frame) { return most - 5000 * (frame % 3); };
    auto random = [](uint32_t v) { v = (v ^ v >> 15) * 0x2c1b3c6du; v = (v ^ v >> 12) * 0x297a2d39u; return v ^ v >> 15; };
    float4 *staged[ring], *device[ring];
    float *out[ring], *probe;
    cudaStream_t stream[2];
    cudaEvent_t copied[ring];
    for (int r = 0; r < ring; r++) {
        C(cudaMallocHost(&staged[r], most * sizeof(float4)));
        C(cudaMalloc(&device[r], most * sizeof(float4)));
        C(cudaMalloc(&out[r], most * sizeof(float)));
        C(cudaEventCreateWithFlags(&copied[r], cudaEventDisableTiming));
    }
    for (auto &s : stream)
        C(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    C(cudaMallocHost(&probe, (warm + frames) * sizeof(float)));

    auto sort = [&](int frame, std::vector<int> &start) { // by counting
        int count = count_of(frame);
        start.assign(cells + 1, 0);
        for (int i = 0; i < count; i++)
            start[random(i + frame * most) % cells + 1]++;
        for (int c = 0; c < cells; c++)
            start[c + 1] += start[c];
        for (int i = 0; i < count; i++) {
            uint32_t at = random(i + frame * most);
            staged[frame % ring][start[at % cells]++] = make_float4(at % 251, at % 241, at % 239, 1e-5f * (at % 101));
        }
    };
    std::mutex m;
    std::condition_variable changed;
    std::vector<char> ready(warm + frames);
    int gone = 0; // frames whose staging is free again
    std::atomic<int> next{0};
    std::vector<std::thread> crew;
    for (int w = 0; w < workers; w++)
        crew.emplace_back([&] {
            std::vector<int> start;
            for (int f; (f = next++) < warm + frames;) {
                std::unique_lock<std::mutex> hold(m);
                changed.wait(hold, [&] { return f < gone + ring; });
                hold.unlock();
                sort(f, start);
                hold.lock();
                ready[f] = 1;
                changed.notify_all();
            }
        });
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    auto analyse = [&](int f, int n) {
        static std::vector<int> start;
        if (f >= ring / 2) {
            C(cudaEventSynchronize(copied[(f - ring / 2) % ring]));
            std::lock_guard<std::mutex> hold(m);
            gone = f - ring / 2 + 1;
            changed.notify_all();
        }
        if (workers) {
            std::unique_lock<std::mutex> hold(m);
            changed.wait(hold, [&] { return ready[f] != 0; });
        } else
            sort(f, start);
        int r = f % ring, count = count_of(f);
        cudaStream_t s = stream[f % 2];
        C(cudaMemcpyAsync(device[r], staged[r], count * sizeof(float4), cudaMemcpyHostToDevice, s));
        C(cudaEventRecord(copied[r], s));
        energies<<<(count + 255) / 256, 256, 0, s>>>(device[r], out[r], count, n);
        C(cudaMemcpyAsync(probe + f, out[r] + count / 2, sizeof(float), cudaMemcpyDeviceToHost, s));
    };
    for (int f = 0; f < warm; f++)
        analyse(f, 3 * terms);
    C(cudaDeviceSynchronize());
    auto begin = std::chrono::steady_clock::now();
    for (int f = warm; f < warm + frames; f++)
        analyse(f, terms);
    C(cudaDeviceSynchronize());
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    for (auto &t : crew)
        t.join();

    int bad = 0;
    std::vector<int> start;
    for (int f = warm; f < warm + frames; f++) {
        sort(f, start);
        bad += std::fabs(probe[f] - energy(staged[f % ring][count_of(f) / 2], terms)) > 1e-2f;
    }
    std::printf("%d frames, %d differ\npass_ms=%.4f\n", frames, bad, took.count() / frames);
    return bad != 0;
}
