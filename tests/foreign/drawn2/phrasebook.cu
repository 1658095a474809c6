// Documents are searched for the phrases of a book: each is folded (letters made small, runs of blanks made one), sent, and compared at every place.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#define GPU(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(2); } } while (0)

constexpr int DOCUMENTS = 900, LENGTH = 512 << 10, STAGES = 16, STREAMS = 2, PHRASES = 4096;

template <int N> __host__ __device__ inline uint32_t gram(const unsigned char *text) {
    uint32_t h = 2166136261u;
    for (int i = 0; i < N; i++) h = (h ^ text[i]) * 16777619u;
    return h;
}

// N letters make a phrase; the book's hashes are taken in shares that fit into shared memory.
template <int N, int SHARE>
__global__ void search(const unsigned char *text, int length, const uint32_t *book, int phrases, unsigned *found) {
    __shared__ uint32_t share[SHARE];
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t h = at + N <= length ? gram<N>(text + at) : 0;
    unsigned count = 0;
    for (int from = 0; from < phrases; from += SHARE) {
        __syncthreads();
        for (int i = threadIdx.x; i < SHARE; i += blockDim.x) share[i] = book[from + i];
        __syncthreads();
#pragma unroll 16
        for (int i = 0; i < SHARE; i++) count += share[i] == h;
    }
    if (at + N > length) count = 0;
    for (int o = 16; o; o >>= 1) count += __shfl_down_sync(~0u, count, o);
    if ((threadIdx.x & 31) == 0 && count) atomicAdd(found, count);
}

struct English {
    unsigned char small[256];
    English() { for (int c = 0; c < 256; c++) small[c] = c >= 'A' && c <= 'Z' ? c + 32 : c < 32 ? ' ' : c; }
    unsigned char operator()(unsigned char c) const { return small[c]; }
};

template <class Alphabet> uint32_t fold(const Alphabet &alphabet, const unsigned char *from, unsigned char *to) {
    uint32_t print = 17;     // the document's finger print
    int n = 0;
    unsigned char last = ' ';
    for (int i = 0; i < LENGTH; i++) {
        const unsigned char c = alphabet(from[i]);
        to[n] = c;
        n += !(c == ' ' && last == ' ');
        last = c;
        print = print * 31 + c;
    }
    std::fill(to + n, to + LENGTH, 0);
    return print;
}

#ifndef WRONG
static std::mutex gate;
static std::condition_variable turned;
#endif

int main() {
    const English english;
    std::vector<unsigned char> texts((size_t)DOCUMENTS * LENGTH);
    uint32_t seed = 1;
    for (unsigned char &c : texts) {
        seed = seed * 1664525u + 1013904223u;
        const unsigned r = seed >> 24;
        c = r < 48 ? ' ' : r < 120 ? 'A' + r % 26 : 'a' + r % 26;
    }
    unsigned char *stage[STAGES], *dText[STREAMS];
    cudaStream_t stream[STREAMS];
    cudaEvent_t sent[STAGES];
    uint32_t *dBook;
    unsigned *dFound;
    for (int i = 0; i < STAGES; i++) {
        GPU(cudaMallocHost(&stage[i], LENGTH));
        GPU(cudaEventCreateWithFlags(&sent[i], cudaEventDisableTiming));
    }
    for (int i = 0; i < STREAMS; i++) {
        GPU(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        GPU(cudaMalloc(&dText[i], LENGTH));
    }
    GPU(cudaMalloc(&dBook, PHRASES * 4));
    GPU(cudaMalloc(&dFound, (DOCUMENTS + 1) * 4));
    GPU(cudaMemset(dFound, 0, (DOCUMENTS + 1) * 4));

    std::vector<uint32_t> book(PHRASES), prints(DOCUMENTS);
    std::vector<unsigned char> folded(LENGTH);
    for (int p = 0; p < PHRASES; p++) {
        if (p % 64 == 0) fold(english, &texts[(size_t)(p / 64 * 14) * LENGTH], folded.data());
        book[p] = gram<12>(&folded[p * 91]);
    }
    GPU(cudaMemcpy(dBook, book.data(), PHRASES * 4, cudaMemcpyHostToDevice));

    // the block's size that is fastest here
    int threads = 256;
    float best = 1e9f;
    cudaEvent_t from, to;
    GPU(cudaEventCreate(&from));
    GPU(cudaEventCreate(&to));
    GPU(cudaMemcpy(dText[0], folded.data(), LENGTH, cudaMemcpyHostToDevice));
    for (int trial = 0; trial < 9; trial++) {
        const int size = 128 << trial % 3;
        float took;
        GPU(cudaEventRecord(from, stream[0]));
        search<12, 2048><<<LENGTH / size, size, 0, stream[0]>>>(dText[0], LENGTH, dBook, PHRASES, dFound + DOCUMENTS);
        GPU(cudaEventRecord(to, stream[0]));
        GPU(cudaEventSynchronize(to));
        GPU(cudaEventElapsedTime(&took, from, to));
        if (trial >= 3 && took < best) { best = took; threads = size; }
    }
    GPU(cudaDeviceSynchronize());
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    GPU(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
#ifndef WRONG
    std::vector<char> ready(DOCUMENTS, 0);
    int issued = 0, taken = 0;
    std::vector<std::thread> workers;
    for (int w = 0; w < 8; w++) workers.emplace_back([&] {
        for (;;) {
            int d;
            {
                std::unique_lock<std::mutex> hold(gate);
                if (taken == DOCUMENTS) return;
                d = taken++;
                turned.wait(hold, [&] { return issued > d - STAGES; });
            }
            if (d >= STAGES) GPU(cudaEventSynchronize(sent[d % STAGES]));
            prints[d] = fold(english, &texts[(size_t)d * LENGTH], stage[d % STAGES]);
            std::lock_guard<std::mutex> hold(gate);
            ready[d] = 1;
            turned.notify_all();
        }
    });
#endif
    for (int d = 0; d < DOCUMENTS; d++) {
        const int s = d % STAGES, i = d % STREAMS;
#ifdef WRONG
        if (d >= STAGES) GPU(cudaEventSynchronize(sent[s]));
        prints[d] = fold(english, &texts[(size_t)d * LENGTH], stage[s]);
#else
        {
            std::unique_lock<std::mutex> hold(gate);
            turned.wait(hold, [&] { return ready[d] != 0; });
        }
#endif
        GPU(cudaMemcpyAsync(dText[i], stage[s], LENGTH, cudaMemcpyHostToDevice, stream[i]));
        GPU(cudaEventRecord(sent[s], stream[i]));
        search<12, 2048><<<LENGTH / threads, threads, 0, stream[i]>>>(dText[i], LENGTH, dBook, PHRASES, dFound + d);
        GPU(cudaGetLastError());
#ifndef WRONG
        std::lock_guard<std::mutex> hold(gate);
        issued = d + 1;
        turned.notify_all();
#endif
    }
    GPU(cudaDeviceSynchronize());
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / DOCUMENTS;
#ifndef WRONG
    for (std::thread &w : workers) w.join();
#endif

    std::vector<unsigned> found(DOCUMENTS);
    GPU(cudaMemcpy(found.data(), dFound, DOCUMENTS * 4, cudaMemcpyDeviceToHost));
    std::sort(book.begin(), book.end());
    bool good = true;
    for (int d = 0; d < DOCUMENTS; d += 149) {
        const uint32_t print = fold(english, &texts[(size_t)d * LENGTH], folded.data());
        unsigned count = 0;
        for (int at = 0; at + 12 <= LENGTH; at++) {
            const auto both = std::equal_range(book.begin(), book.end(), gram<12>(&folded[at]));
            count += (unsigned)(both.second - both.first);
        }
        if (count != found[d] || print != prints[d]) good = false;
    }
    printf("%s, %u phrases in the first, blocks of %d\n", good ? "good" : "WRONG", found[0], threads);
    printf("pass_ms=%.4f\n", ms);
    return good ? 0 : 1;
}
