// Plans tours for a fleet: each round makes a cost matrix for every depot, relaxes it, and keeps one figure of it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

static void ok(cudaError_t status, const std::string &doing)
{
    if (status != cudaSuccess)
        throw std::runtime_error(doing + ": " + cudaGetErrorString(status));
}

__host__ __device__ inline unsigned relaxed(unsigned cell, unsigned depot, int times)
{
    unsigned cost = cell * 40503u ^ depot;
    for (int i = 0; i < times; ++i)
        cost = cost * 69069u + cell;
    return cost;
}

__global__ void relax(unsigned *cost, unsigned cells, unsigned depot, int times)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < cells)
        cost[i] = relaxed(i, depot, times);
}

__global__ void pick(const unsigned *cost, unsigned where, unsigned *figure)
{
    *figure = cost[where];
}

class Planner
{
    static constexpr unsigned cells_ = 4u << 20;
    static constexpr int depots_ = 48, teams_ = 3, times_ = 440;
    cudaStream_t team_[teams_];
    unsigned *figures_, *answer_;

  public:
    Planner()
    {
        for (auto &t : team_)
            ok(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking), "team");
        ok(cudaMalloc(&figures_, depots_ * sizeof(unsigned)), "figures");
        ok(cudaMallocHost(&answer_, depots_ * sizeof(unsigned)), "answer");
#ifndef WRONG
        cudaMemPool_t pool;
        uint64_t all = UINT64_MAX;
        ok(cudaDeviceGetDefaultMemPool(&pool, 0), "pool");
        ok(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "threshold");
#endif
    }

    bool round(unsigned number)
    {
        std::vector<unsigned *> cost(depots_);
        for (int d = 0; d < depots_; ++d)
            ok(cudaMallocAsync(&cost[d], cells_ * sizeof(unsigned), team_[d % teams_]), "matrix");
        for (int d = 0; d < depots_; ++d) {
            relax<<<cells_ / 256, 256, 0, team_[d % teams_]>>>(cost[d], cells_, d + number, times_);
            pick<<<1, 1, 0, team_[d % teams_]>>>(cost[d], where(d, number), figures_ + d);
            ok(cudaGetLastError(), "launch");
        }
        for (int d = 0; d < depots_; ++d) {
            ok(cudaMemcpyAsync(answer_ + d, figures_ + d, sizeof(unsigned), cudaMemcpyDeviceToHost, team_[d % teams_]), "answer");
            ok(cudaFreeAsync(cost[d], team_[d % teams_]), "give back");
        }
        for (auto &t : team_)
            ok(cudaStreamSynchronize(t), "round");
        for (int d = 0; d < depots_; ++d)
            if (answer_[d] != relaxed(where(d, number), d + number, times_))
                return false;
        return true;
    }

  private:
    static unsigned where(unsigned depot, unsigned number)
    {
        return (depot * 7919u + number * 104729u) % cells_;
    }
};

int main()
try {
    constexpr int rounds = 30;
    Planner planner;
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    bool good = true;
    for (int i = 0; i < 3; ++i)
        good = planner.round(1000 + i) && good;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i)
        good = planner.round(i) && good;
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    std::printf("%d rounds %s\n", rounds, good ? "planned" : "went wrong");
    std::printf("pass_ms=%.4f\n", took.count() / rounds);
    return good ? 0 : 1;
} catch (const std::exception &problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 3;
}
