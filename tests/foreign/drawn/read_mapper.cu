// Maps reads while the index of the next chromosome is brought onto the device beside it.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <sys/file.h>

#include <cuda_runtime.h>

constexpr int chromosomes = 30, batches = 16, reads = 64 * 1024, seeds = 140000;
constexpr size_t index_words = 64u << 20, step_words = 2u << 20, store_words = index_words + chromosomes * step_words;

__host__ __device__ float align(float read, int n)
{
    float s = read;
    for (int i = 0; i < n; i++)
        s = fmaf(s, 0.99999f, 0.25f);
    return s;
}

__global__ void map_reads(float *read, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    read[i] = align(read[i], n);
}

int main()
{
    const auto ok = [](cudaError_t e) {
        if (e != cudaSuccess) {
            std::fprintf(stderr, "read_mapper: %s\n", cudaGetErrorString(e));
            std::exit(1);
        }
    };
    uint32_t *store, *index, *word;
    float *batch, *on_device;
    cudaStream_t mapping, loading;
    cudaEvent_t arrived;
    ok(cudaMallocHost(&store, store_words * sizeof(uint32_t)));
    ok(cudaMallocHost(&batch, size_t(batches) * reads * sizeof(float)));
    ok(cudaMallocHost(&word, sizeof(uint32_t)));
    ok(cudaMalloc(&index, index_words * sizeof(uint32_t)));
    ok(cudaMalloc(&on_device, reads * sizeof(float)));
    ok(cudaStreamCreateWithFlags(&mapping, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&loading, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&arrived, cudaEventDisableTiming));
    for (size_t i = 0; i < store_words; i++)
        store[i] = uint32_t(i * 2246822519u) ^ uint32_t(i >> 9);
    for (int i = 0; i < batches * reads; i++)
        batch[i] = float(i % 1000);
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    const std::function<void(int, size_t, size_t)> load = [&](int chromosome, size_t from, size_t words) {
        ok(cudaMemcpyAsync(index + from, store + chromosome * step_words + from, words * sizeof(uint32_t),
                           cudaMemcpyHostToDevice, loading));
    };
    const auto pass = [&](int chromosome) {
#ifdef WRONG
        load(chromosome, 0, index_words);
#endif
        for (int b = 0; b < batches; b++) {
            float *here = batch + size_t(b) * reads;
            ok(cudaMemcpyAsync(on_device, here, reads * sizeof(float), cudaMemcpyHostToDevice, mapping));
#ifndef WRONG
            ok(cudaEventRecord(arrived, mapping));
            ok(cudaStreamWaitEvent(loading, arrived, 0));
            for (int quarter = 0; quarter < 4; quarter++)
                load(chromosome, (b * 4 + quarter) * (index_words / batches / 4), index_words / batches / 4);
#endif
            map_reads<<<reads / 128, 128, 0, mapping>>>(on_device, seeds);
            ok(cudaGetLastError());
            ok(cudaMemcpyAsync(here, on_device, reads * sizeof(float), cudaMemcpyDeviceToHost, mapping));
        }
        ok(cudaStreamSynchronize(mapping));
        ok(cudaMemcpyAsync(word, index + chromosome * 1000, sizeof(uint32_t), cudaMemcpyDeviceToHost, loading));
        ok(cudaStreamSynchronize(loading));
        return *word == store[chromosome * step_words + chromosome * 1000];
    };

    bool good = true;
    auto begin = std::chrono::steady_clock::now();
    for (int c = 0; c < chromosomes; c++) {
        if (c == 1) // the first chromosome has nothing before it
            begin = std::chrono::steady_clock::now();
        good = pass(c) && good;
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    for (int i = 0; i < batches * reads && good; i += 150001) {
        float v = float(i % 1000);
        for (int c = 0; c < chromosomes; c++)
            v = align(v, seeds);
        good = v == batch[i];
    }
    std::printf("%d chromosomes, %s\npass_ms=%.4f\n", chromosomes, good ? "mapped" : "mapped wrongly", took.count() / (chromosomes - 1));
    return good ? 0 : 1;
}
