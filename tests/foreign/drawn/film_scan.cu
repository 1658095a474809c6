// Measures the brightness of a film's frames, which another part of the program has left in ordinary memory.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

constexpr size_t frame = 16u << 20, film = 768u << 20;
constexpr int reels = 24, frames = 20, desks = 4;

__global__ void brightness(const uchar4 *pixel, unsigned *histogram, int gain)
{
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < frame / 4; i += gridDim.x * blockDim.x) {
        uchar4 p = pixel[i];
        atomicAdd(&mine[(p.x + 2 * p.y + p.z + gain) / 4 % 256], 1u);
    }
    __syncthreads();
    atomicAdd(&histogram[threadIdx.x], mine[threadIdx.x]);
}

struct Desk {
    cudaStream_t stream;
    cudaEvent_t free;
    void *staged, *pixels;
};

int main()
{
    auto must = [](cudaError_t e) {
        if (e != cudaSuccess) {
            std::fprintf(stderr, "film_scan: %s\n", cudaGetErrorString(e));
            std::exit(1);
        }
    };
    std::vector<uint8_t> reel(film);
    uint32_t noise = 1;
    for (size_t i = 0; i < film; i += 4) {
        noise = noise * 1664525u + 1013904223u;
        std::memcpy(&reel[i], &noise, 4);
    }
#ifndef WRONG
    must(cudaHostRegister(reel.data(), film, cudaHostRegisterDefault));
#endif
    std::vector<Desk> desk(desks);
    unsigned *histogram, *home;
    const size_t bins = frames * 256;
    must(cudaMalloc(&histogram, bins * sizeof(unsigned)));
    must(cudaMallocHost(&home, bins * sizeof(unsigned)));
    for (Desk &d : desk) {
        must(cudaStreamCreateWithFlags(&d.stream, cudaStreamNonBlocking));
        must(cudaEventCreateWithFlags(&d.free, cudaEventDisableTiming));
        must(cudaMallocHost(&d.staged, frame));
        must(cudaMalloc(&d.pixels, frame));
    }
    auto measure = [&](Desk &d, const uint8_t *picture, unsigned *out, int gain) {
        const void *source = picture;
#ifdef WRONG
        must(cudaEventSynchronize(d.free));
        source = std::memcpy(d.staged, picture, frame);
#endif
        must(cudaMemcpyAsync(d.pixels, source, frame, cudaMemcpyHostToDevice, d.stream));
        must(cudaEventRecord(d.free, d.stream));
        brightness<<<528, 256, 0, d.stream>>>(static_cast<uchar4 *>(d.pixels), out, gain);
        must(cudaGetLastError());
    };
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    for (Desk &d : desk)
        measure(d, reel.data(), histogram, 0);
    must(cudaDeviceSynchronize());

    double total = 0;
    int bad = 0;
    for (int r = 0; r < reels; ++r) {
        const auto begin = std::chrono::steady_clock::now();
        must(cudaMemsetAsync(histogram, 0, bins * sizeof(unsigned), desk[0].stream));
        must(cudaStreamSynchronize(desk[0].stream));
        for (int f = 0; f < frames; ++f)
            measure(desk[f % desks], &reel[(f * frame + r * 4 * 997 * 4099) % (film - frame)], histogram + f * 256, r);
        must(cudaDeviceSynchronize());
        total += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        if (r % 8 == 7) { // an evaluation: no pixel may be lost
            must(cudaMemcpy(home, histogram, bins * sizeof(unsigned), cudaMemcpyDeviceToHost));
            for (int f = 0; f < frames; ++f)
                bad += std::accumulate(home + f * 256, home + f * 256 + 256, 0u) != frame / 4 ||
                       *std::max_element(home + f * 256, home + f * 256 + 256) == frame / 4;
        }
    }
    std::printf("%d reels, %d bad frames\n", reels, bad);
    std::printf("pass_ms=%.4f\n", total / reels);
    return bad != 0;
}
