// Moveout correction of seismic shots: every sweep takes all shots once more, a little nearer to flat.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

constexpr int lanes = 3, shots = 160, samples = 1 << 16, sweeps = 60, rounds = 5000;

__host__ __device__ inline uint32_t flatten(uint32_t v, int shot, int times)
{
    for (int i = 0; i < times; i++)
        v = v * 1664525u + 2u * shot + 1u;
    return v;
}

__global__ void correct(uint32_t *trace, int shot, int times)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    trace[i] = flatten(trace[i], shot, times);
}

__global__ void loudest(const uint32_t *traces, int n, uint32_t *level)
{
    uint32_t most = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        most = max(most, traces[i]);
    atomicMax(level, most);
}

int main()
{
    auto must = [](cudaError_t e, const char *what) {
        if (e != cudaSuccess) {
            fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
            exit(2);
        }
    };
    auto seconds = [] {
        timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec + t.tv_nsec * 1e-9;
    };
    const size_t shotBytes = samples * sizeof(uint32_t);
    uint32_t *survey, *whole, *level, *slot[lanes], host_level = 0;
    cudaStream_t lane[lanes];
    must(cudaMallocHost(&survey, shots * shotBytes), "survey");
    must(cudaMalloc(&whole, shots * shotBytes), "whole survey");
    must(cudaMalloc(&level, sizeof *level), "level");
    for (int l = 0; l < lanes; l++) {
        must(cudaStreamCreateWithFlags(&lane[l], cudaStreamNonBlocking), "lane");
        must(cudaMalloc(&slot[l], shotBytes), "slot");
    }
    auto first = [](size_t i) { return uint32_t(i * 2654435761u) >> 3; };
    for (size_t i = 0; i < size_t(shots) * samples; i++)
        survey[i] = first(i);
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    // Ingest: how loud is the survey as a whole?
    must(cudaMemset(level, 0, sizeof *level), "clear");
    for (int part = 0; part < 10; part++) {
        size_t at = size_t(part) * shots / 10 * samples;
        must(cudaMemcpyAsync(whole + at, survey + at, shots / 10 * shotBytes, cudaMemcpyHostToDevice, lane[0]), "ingest");
        loudest<<<264, 256, 0, lane[0]>>>(whole + at, shots / 10 * samples, level);
    }
    must(cudaMemcpyAsync(&host_level, level, sizeof host_level, cudaMemcpyDeviceToHost, lane[0]), "level");
    must(cudaStreamSynchronize(lane[0]), "ingest");
    must(cudaFree(whole), "free");

    double begin = seconds();
    for (int sweep = 0; sweep < sweeps; sweep++) {
        for (int s = 0; s < shots; s++) {
            cudaStream_t here = lane[s % lanes];
            uint32_t *trace = survey + size_t(s) * samples;
            must(cudaMemcpyAsync(slot[s % lanes], trace, shotBytes, cudaMemcpyHostToDevice, here), "in");
            correct<<<samples / 256, 256, 0, here>>>(slot[s % lanes], s, rounds);
            must(cudaMemcpyAsync(trace, slot[s % lanes], shotBytes, cudaMemcpyDeviceToHost, here), "out");
#ifdef WRONG
            must(cudaStreamSynchronize(here), "shot");
#endif
        }
        for (cudaStream_t l : lane)
            must(cudaStreamSynchronize(l), "sweep");
    }
    double took = seconds() - begin;

    int bad = host_level == 0;
    for (size_t i = 0; i < size_t(shots) * samples; i += 104729) {
        uint32_t v = first(i);
        for (int sweep = 0; sweep < sweeps; sweep++)
            v = flatten(v, int(i / samples), rounds);
        bad += v != survey[i];
    }
    printf("loudest %u, %d wrong samples\n", host_level, bad);
    printf("pass_ms=%.4f\n", took * 1e3 / sweeps);
    return bad != 0;
}
