// A swarm of particles whose time step changes every round; the round's kernels are nodes of a graph made by hand.
#include <cuda_runtime.h>

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TRY(call)                                                                                    \
    do {                                                                                             \
        cudaError_t error = call;                                                                    \
        if (error != cudaSuccess) {                                                                  \
            std::fprintf(stderr, "swarm: %s: %s\n", #call, cudaGetErrorString(error));               \
            std::exit(4);                                                                            \
        }                                                                                            \
    } while (0)

constexpr int particles = 64 << 10, kicks = 40, rounds = 300;

__global__ void kick(float2 *swarm, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float2 p = swarm[i];
    p.y -= dt * p.x;
    p.x += dt * p.y;
    swarm[i] = p;
}

class Round {
  public:
    Round(float2 *swarm, float dt) : swarm_(swarm) { build(dt); }
    ~Round() { drop(); }
    void set_step(float dt)
    {
#ifdef WRONG
        drop();
        build(dt);
#else
        cudaKernelNodeParams parameters = parameters_of(dt);
        for (cudaGraphNode_t node : nodes_)
            TRY(cudaGraphExecKernelNodeSetParams(ready_, node, &parameters));
#endif
    }
    void launch(cudaStream_t stream) { TRY(cudaGraphLaunch(ready_, stream)); }

  private:
    cudaKernelNodeParams parameters_of(float dt)
    {
        dt_ = dt;
        cudaKernelNodeParams parameters = {};
        parameters.func = reinterpret_cast<void *>(kick);
        parameters.gridDim = particles / 256;
        parameters.blockDim = 256;
        parameters.kernelParams = arguments_;
        return parameters;
    }
    void build(float dt)
    {
        cudaKernelNodeParams parameters = parameters_of(dt);
        TRY(cudaGraphCreate(&graph_, 0));
        nodes_.assign(kicks, nullptr);
        for (int i = 0; i < kicks; ++i)
            TRY(cudaGraphAddKernelNode(&nodes_[i], graph_, i ? &nodes_[i - 1] : nullptr, i ? 1 : 0, &parameters));
        TRY(cudaGraphInstantiate(&ready_, graph_, 0));
    }
    void drop()
    {
        TRY(cudaGraphExecDestroy(ready_));
        TRY(cudaGraphDestroy(graph_));
    }
    float2 *swarm_;
    float dt_;
    void *arguments_[2] = {&swarm_, &dt_};
    cudaGraph_t graph_;
    cudaGraphExec_t ready_;
    std::vector<cudaGraphNode_t> nodes_;
};

static float step_of(int round) { return 0.001f + 0.0001f * (round % 7); }

int main()
{
    std::vector<float2> swarm(particles);
    for (int i = 0; i < particles; ++i)
        swarm[i] = {std::cos(0.001f * i), std::sin(0.001f * i)};
    float2 *device;
    cudaStream_t stream;
    TRY(cudaStreamCreate(&stream));
    TRY(cudaMalloc(&device, sizeof(float2) * particles));
    TRY(cudaMemcpy(device, swarm.data(), sizeof(float2) * particles, cudaMemcpyHostToDevice));
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    double ms = 0;
    {
        Round round(device, step_of(0));
        round.launch(stream);
        TRY(cudaStreamSynchronize(stream));
        auto from = std::chrono::steady_clock::now();
        for (int r = 1; r <= rounds; ++r) {
            round.set_step(step_of(r));
            round.launch(stream);
        }
        TRY(cudaStreamSynchronize(stream));
        ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
    }
    float2 end, p = swarm[4097];
    TRY(cudaMemcpy(&end, device + 4097, sizeof end, cudaMemcpyDeviceToHost));
    for (int r = 0; r <= rounds; ++r)
        for (int k = 0; k < kicks; ++k) {
            p.y -= step_of(r) * p.x;
            p.x += step_of(r) * p.y;
        }
    bool right = std::fabs(end.x - p.x) < 1e-2f && std::fabs(end.y - p.y) < 1e-2f;
    std::printf("%d rounds: the swarm is %s\n", rounds, right ? "where it should be" : "lost");
    std::printf("pass_ms=%.4f\n", ms / rounds);
    return right ? 0 : 1;
}
