// A fluid in boxes: each box takes memory for its fluxes from the pool, uses it, and gives it back.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <type_traits>
#include <cuda_runtime.h>

template <class T> struct Params {
    static_assert(std::is_unsigned<T>::value, "the checks rely on wrapping");
    static constexpr int boxes = 6, lanes = 3, cells = 1024 * 1024, steps = 400, rounds = 60;
};

template <class T> __host__ __device__ T flux(T cell, int n)
{
    for (int i = 0; i < n; i++)
        cell = cell * T(0x5851f42d) + T(0x14057b7e) + 1;
    return cell;
}

template <class T> __global__ void fluxes(const T *cell, T *f, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    f[i] = flux(cell[i], n);
}

template <class T> __global__ void advance(T *cell, const T *f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cell[i] ^= f[i] >> 3;
}

template <class T> struct Lane {
    cudaStream_t stream;
    T *cell;
};

static inline void fine(cudaError_t e, const char *call)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "fluid: %s: %s\n", call, cudaGetErrorString(e));
        std::exit(1);
    }
}
#define FINE(x) fine((x), #x)

template <class T, class P = Params<T>> void step(T *fluid, Lane<T> *lane, unsigned threads)
{
    for (int b = 0; b < P::boxes; b++) {
        Lane<T> &l = lane[b % P::lanes];
        T *here = fluid + size_t(b) * P::cells, *f;
        FINE(cudaMallocAsync(&f, P::cells * sizeof(T), l.stream));
        FINE(cudaMemcpyAsync(l.cell, here, P::cells * sizeof(T), cudaMemcpyHostToDevice, l.stream));
        fluxes<T><<<P::cells / threads, threads, 0, l.stream>>>(l.cell, f, P::rounds);
        advance<T><<<P::cells / threads, threads, 0, l.stream>>>(l.cell, f);
        FINE(cudaMemcpyAsync(here, l.cell, P::cells * sizeof(T), cudaMemcpyDeviceToHost, l.stream));
#ifdef WRONG
        FINE(cudaFreeAsync(f, 0));
#else
        FINE(cudaFreeAsync(f, l.stream));
#endif
    }
}

template <class T> unsigned tuned(Lane<T> *lane)
{
    using P = Params<T>;
    unsigned best = 0;
    double least = 1e9;
    T *f;
    FINE(cudaMalloc(&f, P::cells * sizeof(T)));
    for (unsigned threads : {128u, 256u, 512u, 1024u}) {
        auto t = std::chrono::steady_clock::now();
        for (int again = 0; again < 5; again++)
            fluxes<T><<<P::cells / threads, threads, 0, lane[0].stream>>>(lane[0].cell, f, P::rounds);
        FINE(cudaStreamSynchronize(lane[0].stream));
        double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
        if (took < least)
            least = took, best = threads;
    }
    FINE(cudaFree(f));
    return best;
}

int main()
{
    using T = uint32_t;
    using P = Params<T>;
    T *fluid;
    Lane<T> lane[P::lanes];
    cudaMemPool_t pool;
    uint64_t keep = UINT64_MAX;
    FINE(cudaDeviceGetDefaultMemPool(&pool, 0));
    FINE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    FINE(cudaMallocHost(&fluid, sizeof(T) * P::boxes * P::cells));
    for (auto &l : lane) {
        FINE(cudaStreamCreate(&l.stream));
        FINE(cudaMalloc(&l.cell, P::cells * sizeof(T)));
    }
    for (int i = 0; i < P::boxes * P::cells; i++)
        fluid[i] = T(i) * 2654435761u;
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    const unsigned threads = tuned(lane);

    const auto begin = std::chrono::steady_clock::now();
    for (int s = 1; s <= P::steps; s++) {
        step(fluid, lane, threads);
        if (s % 4 == 0)
            std::printf("step %d issued\n", s);
    }
    FINE(cudaDeviceSynchronize());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;

    int bad = 0;
    for (int i = 0; i < P::boxes * P::cells; i += 60013) {
        T cell = T(i) * 2654435761u;
        for (int s = 0; s < P::steps; s++)
            cell ^= flux(cell, P::rounds) >> 3;
        bad += cell != fluid[i];
    }
    std::printf("%d bad cells\npass_ms=%.4f\n", bad, took.count() / P::steps);
    return bad != 0;
}
