// Sharpens a scanned volume again and again; the volume stays with the host and goes through the device in slabs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

namespace {
void sure(cudaError_t e) {
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}
template <class T> std::shared_ptr<T> pinned(size_t n) {
    T *p = nullptr;
    sure(cudaMallocHost(&p, n * sizeof(T)));
    return std::shared_ptr<T>(p, [](T *q) { cudaFreeHost(q); });
}
template <class T> std::shared_ptr<T> device(size_t n) {
    T *p = nullptr;
    sure(cudaMalloc(&p, n * sizeof(T)));
    return std::shared_ptr<T>(p, [](T *q) { cudaFree(q); });
}

constexpr size_t voxels = 64u << 20;
constexpr int table_size = 512, scans = 30;
#ifdef WRONG
constexpr int slabs = 2;
#else
constexpr int slabs = 32;
#endif
constexpr int lanes = slabs < 4 ? slabs : 4;

__global__ void make_table(float *table) {
    table[threadIdx.x] = 0.001f * threadIdx.x;
}

__global__ void sharpen(float *voxel, size_t first, const float *table) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    voxel[i] = fmaf(voxel[i], 0.9f, table[(first + i) % table_size]);
}

struct Lane {
    cudaStream_t stream;
    std::shared_ptr<float> slab;
    Lane() : slab(device<float>(voxels / slabs)) { sure(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
    ~Lane() { cudaStreamDestroy(stream); }
    Lane(const Lane &) = delete;
    void run(float *volume, size_t first, const float *table) {
        constexpr size_t size = voxels / slabs;
        sure(cudaMemcpyAsync(slab.get(), volume + first, size * sizeof(float), cudaMemcpyHostToDevice, stream));
        sharpen<<<size / 512, 512, 0, stream>>>(slab.get(), first, table);
        sure(cudaGetLastError());
        sure(cudaMemcpyAsync(volume + first, slab.get(), size * sizeof(float), cudaMemcpyDeviceToHost, stream));
    }
};
}  // namespace

int main() try {
    auto volume = pinned<float>(voxels);
    auto table = device<float>(table_size);
    std::vector<std::unique_ptr<Lane>> lane;
    std::generate_n(std::back_inserter(lane), lanes, [] { return std::make_unique<Lane>(); });
    for (size_t i = 0; i < voxels; i++) volume.get()[i] = float(i % 4096);
    if (const char *lock = std::getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    make_table<<<1, table_size>>>(table.get());
    sure(cudaDeviceSynchronize());

    timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int scan = 1; scan <= scans; scan++) {
        for (int s = 0; s < slabs; s++) lane[s % lanes]->run(volume.get(), s * (voxels / slabs), table.get());
        for (auto &l : lane) sure(cudaStreamSynchronize(l->stream));
        if (scan % 10 == 0) std::printf("scan %d: %.5f\n", scan, volume.get()[scan]);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);

    int bad = 0;
    for (size_t i = 0; i < voxels; i += 99991) {
        float v = float(i % 4096);
        for (int scan = 0; scan < scans; scan++) v = std::fmaf(v, 0.9f, 0.001f * (i % table_size));
        bad += std::fabs(v - volume.get()[i]) > 1e-3f;
    }
    std::printf("%d bad voxels\npass_ms=%.4f\n", bad, ((end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6) / scans);
    return bad ? 1 : 0;
} catch (const std::exception &e) {
    std::fprintf(stderr, "volume: %s\n", e.what());
    return 1;
}
