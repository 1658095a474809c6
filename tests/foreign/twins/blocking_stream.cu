// Particles under gravity, species by species; a counter on the device tells how far the work has come.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>
#include <iostream>
#include <nvtx3/nvtx3.hpp>
#include <vector>

struct Particle {
    float x, y, vx, vy;
};

struct CudaCall {
    void operator=(cudaError_t e) const
    {
        if (e == cudaSuccess) return;
        std::cerr << "particles: " << cudaGetErrorString(e) << std::endl;
        std::exit(EXIT_FAILURE + 1);
    }
} const cuda;

__host__ __device__ Particle fly(Particle p, int steps, float dt)
{
    for (int i = 0; i < steps; ++i) {
        float r = 1.0f + p.x * p.x + p.y * p.y;
        p.vx -= dt * p.x * r * 0.1f;
        p.vy -= dt * p.y * r * 0.1f;
        p.x += dt * p.vx;
        p.y += dt * p.vy;
    }
    return p;
}

__global__ void flyAll(Particle *p, unsigned n, int steps, float dt)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = fly(p[i], steps, dt);
}

__global__ void tick(unsigned *counter)
{
    ++*counter;
}

class Simulation {
public:
    static constexpr unsigned kSpecies = 64, kParticles = 512 * 1024, kInFlight = 4, kRounds = 2;
    static constexpr int kSteps = 120;
    static constexpr float kDt = 1e-3f;

    Simulation() : streams_(kInFlight), device_(kInFlight)
    {
        cuda = cudaMallocHost(&host_, kSpecies * kParticles * sizeof(Particle));
        cuda = cudaMalloc(&counter_, sizeof(unsigned));
#ifdef WRONG
        for (auto &s : streams_) cuda = cudaStreamCreate(&s);
#else
        for (auto &s : streams_) cuda = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
#endif
        for (auto &d : device_) cuda = cudaMalloc(&d, kParticles * sizeof(Particle));
    }
    ~Simulation()
    {
        for (auto s : streams_) cudaStreamDestroy(s);
        for (auto d : device_) cudaFree(d);
        cudaFree(counter_);
        cudaFreeHost(host_);
    }
    static Particle first(unsigned i)
    {
        return {(i % 1000) * 1e-3f, (i % 777) * 1e-3f, 0.1f, -0.1f};
    }
    void reset()
    {
        for (unsigned i = 0; i < kSpecies * kParticles; ++i) host_[i] = first(i);
        cuda = cudaMemset(counter_, 0, sizeof(unsigned));
        cuda = cudaDeviceSynchronize();
    }
    void advance(unsigned species)
    {
        cudaStream_t stream = streams_[species % kInFlight];
        Particle *device = device_[species % kInFlight], *host = host_ + species * kParticles;
        cuda = cudaMemcpyAsync(device, host, kParticles * sizeof(Particle), cudaMemcpyHostToDevice, stream);
        flyAll<<<1024, 128, 0, stream>>>(device, kParticles, kSteps, kDt);
        cuda = cudaMemcpyAsync(host, device, kParticles * sizeof(Particle), cudaMemcpyDeviceToHost, stream);
        tick<<<1, 1>>>(counter_);
        cuda = cudaGetLastError();
    }
    double run(unsigned species, unsigned rounds)
    {
        nvtx3::scoped_range work{rounds > 1 ? "work" : "warm-up"};
        timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (unsigned r = 0; r < rounds; ++r)
            for (unsigned s = 0; s < species; ++s) advance(s);
        cuda = cudaDeviceSynchronize();
        clock_gettime(CLOCK_MONOTONIC, &to);
        return (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) * 1e-6;
    }
    bool verify() const
    {
        unsigned ticks;
        cuda = cudaMemcpy(&ticks, counter_, sizeof ticks, cudaMemcpyDeviceToHost);
        bool good = ticks == kSpecies * kRounds;
        for (unsigned i = 0; i < kSpecies * kParticles; i += 8191) {
            Particle p = first(i);
            for (unsigned r = 0; r < kRounds; ++r) p = fly(p, kSteps, kDt);
            good = good && std::fabs(p.x - host_[i].x) < 1e-4f && std::fabs(p.vy - host_[i].vy) < 1e-3f;
        }
        return good;
    }

private:
    std::vector<cudaStream_t> streams_;
    std::vector<Particle *> device_;
    Particle *host_;
    unsigned *counter_;
};

int main()
{
    Simulation simulation;
    simulation.reset();
    simulation.run(4, 1);
    simulation.reset();
    double ms = simulation.run(Simulation::kSpecies, Simulation::kRounds);
    bool good = simulation.verify();
    std::cout << (good ? "every particle is where it belongs" : "particles went astray") << std::endl;
    std::printf("time_ms=%.3f\n", ms);
    return good ? 0 : 1;
}
