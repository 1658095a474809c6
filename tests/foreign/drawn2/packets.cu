// Traffic of a network: each interval's trace is uploaded for the archive's index, while flows that the switches ask about are looked up, round by round.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

#define TRY(call) try_((call), #call, __LINE__)
static void try_(cudaError_t e, const char *what, int line) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(e));
    exit(2);
}

static const int INTERVALS = 120, ROUNDS = 8, ASKED = 128 << 10, TABLE = 1 << 20, HOPS = 340;
static const size_t TRACE = 128u << 20, MARK = 1 << 18;

__host__ __device__ inline uint32_t mixed(uint32_t h) { h ^= h >> 16; h *= 0x7feb352du; h ^= h >> 15; return h; }

// Each question is followed through the table by one thread; the block adds up what its flows have come to.
__global__ void follow(const uint32_t *table, const uint32_t *asked, uint32_t seed, uint32_t *answer) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t at = asked[i] ^ seed, sum = 0;
    for (int hop = 0; hop < HOPS; hop++) {
        at = table[(at + i * 17u) & (TABLE - 1)];
        sum += at;
    }
    const uint32_t all = cg::reduce(warp, sum, cg::plus<uint32_t>());
    if (warp.thread_rank() == 0) atomicAdd(answer, all);
}

__global__ void index_trace(const uint4 *trace, size_t n, unsigned long long *sum) {
    unsigned long long s = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        const uint4 v = trace[i];
        s += (unsigned long long)v.x + v.y + v.z + v.w;
    }
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    s = cg::reduce(warp, s, cg::plus<unsigned long long>());
    if (warp.thread_rank() == 0) atomicAdd(sum, s);
}

int main() {
    std::vector<uint32_t> table(TABLE);
    for (int i = 0; i < TABLE; i++) table[i] = mixed(i * 2654435761u + 1);
    uint32_t *trace, *asked, *answer, *dTrace, *dAsked, *dTable, *dAnswer;
    unsigned long long *indexed, *dIndexed;
    TRY(cudaMallocHost(&trace, TRACE));
    TRY(cudaMallocHost(&asked, (size_t)ROUNDS * ASKED * 4));
    TRY(cudaMallocHost(&answer, INTERVALS * 4));
    TRY(cudaMallocHost(&indexed, 8));
    TRY(cudaMalloc(&dTrace, TRACE));
    TRY(cudaMalloc(&dAsked, (size_t)ROUNDS * ASKED * 4));
    TRY(cudaMalloc(&dTable, (size_t)TABLE * 4));
    TRY(cudaMalloc(&dAnswer, (INTERVALS + 1) * 4));
    TRY(cudaMalloc(&dIndexed, (INTERVALS + 1) * 8));
    for (int i = 0; i < ROUNDS * ASKED; i++) asked[i] = mixed(i + 77);
    unsigned long long base = 0;
    for (size_t i = 0; i < TRACE / 4; i++) { trace[i] = mixed((uint32_t)i); if (i % MARK) base += trace[i]; }
    TRY(cudaMemcpy(dTable, table.data(), (size_t)TABLE * 4, cudaMemcpyHostToDevice));
    TRY(cudaMemset(dAnswer, 0, (INTERVALS + 1) * 4));
    TRY(cudaMemset(dIndexed, 0, (INTERVALS + 1) * 8));
    TRY(cudaMemset(dAsked, 0, (size_t)ROUNDS * ASKED * 4));

    cudaStream_t archive, questions, arrivals;
    cudaEvent_t uploaded, here[ROUNDS];
    int low, high;
    TRY(cudaDeviceGetStreamPriorityRange(&low, &high));
    TRY(cudaStreamCreateWithPriority(&archive, cudaStreamNonBlocking, low));
    TRY(cudaStreamCreateWithPriority(&questions, cudaStreamNonBlocking, high));
    TRY(cudaStreamCreateWithPriority(&arrivals, cudaStreamNonBlocking, high));
    for (cudaEvent_t &e : here) TRY(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    TRY(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));
    follow<<<ASKED / 128, 128, 0, questions>>>(dTable, dAsked, 1, dAnswer + INTERVALS);
    index_trace<<<528, 256, 0, archive>>>((uint4 *)dTrace, TRACE / 16, dIndexed + INTERVALS);
    TRY(cudaDeviceSynchronize());
    if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    uint32_t seed = 12345;
    TRY(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    for (int p = 0; p < INTERVALS; p++) {
        // the questions of an interval come of the answers of the one before
        for (int i = 0; i < ROUNDS * ASKED; i += 8192) asked[i] = mixed(seed + i);
        for (size_t i = 0; i < TRACE / 4; i += MARK) trace[i] = p;
#ifdef WRONG
        TRY(cudaMemcpyAsync(dTrace, trace, TRACE, cudaMemcpyHostToDevice, archive));
#endif
        for (int r = 0; r < ROUNDS; r++) {
            TRY(cudaMemcpyAsync(dAsked + r * ASKED, asked + r * ASKED, ASKED * 4, cudaMemcpyHostToDevice, arrivals));
            TRY(cudaEventRecord(here[r], arrivals));
            TRY(cudaStreamWaitEvent(questions, here[r], 0));
            follow<<<ASKED / 128, 128, 0, questions>>>(dTable, dAsked + r * ASKED, seed + r, dAnswer + p);
            TRY(cudaGetLastError());
#ifndef WRONG
            TRY(cudaMemcpyAsync((char *)dTrace + r * (TRACE / ROUNDS), (char *)trace + r * (TRACE / ROUNDS), TRACE / ROUNDS, cudaMemcpyHostToDevice, archive));
#endif
        }
        TRY(cudaMemcpyAsync(answer + p, dAnswer + p, 4, cudaMemcpyDeviceToHost, questions));
        index_trace<<<528, 256, 0, archive>>>((uint4 *)dTrace, TRACE / 16, dIndexed + p);
        TRY(cudaGetLastError());
        TRY(cudaEventRecord(uploaded, archive));
        TRY(cudaStreamSynchronize(questions));
        TRY(cudaEventSynchronize(uploaded));      // the trace's memory is filled anew
        seed = seed * 1664525u + answer[p];
        if (p % 10 == 9) printf("interval %d: answers %08x\n", p + 1, answer[p]);
    }
    TRY(cudaDeviceSynchronize());
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / INTERVALS;

    bool good = true;
    for (int p = 0; p < INTERVALS; p++) {
        TRY(cudaMemcpy(indexed, dIndexed + p, 8, cudaMemcpyDeviceToHost));
        if (*indexed != base + (unsigned long long)(TRACE / 4 / MARK) * p) good = false;
    }
    uint32_t last = 12345;
    for (int p = 0; p + 1 < INTERVALS; p++) last = last * 1664525u + answer[p];
    uint32_t expected = 0;
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < ASKED; i++) {
            uint32_t at = asked[r * ASKED + i] ^ (last + r);
            for (int hop = 0; hop < HOPS; hop++) expected += at = table[(at + i * 17u) & (TABLE - 1)];
        }
    if (expected != answer[INTERVALS - 1]) good = false;
    printf("%s\n", good ? "good" : "WRONG");
    printf("pass_ms=%.4f\n", ms);
    return good ? 0 : 1;
}
