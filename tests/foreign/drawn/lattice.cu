// American options on a lattice: the values of all options go back in time, step by step.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <cuda_runtime.h>

#define CUDA(x) do { cudaError_t r = x; if (r != cudaSuccess) { std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(r)); std::exit(5); } } while (0)

__host__ __device__ inline float back(float up, float down, float payoff)
{
    float hold = fmaf(0.52f, up, 0.47f * down);
    return hold > payoff ? hold : payoff;
}

class Lattice
{
    static constexpr int nodes = 2048;
    int options_;
    float *value_, *other_;
    cudaStream_t stream_;

  public:
    Lattice(int options) : options_(options)
    {
        CUDA(cudaMalloc(&value_, bytes()));
        CUDA(cudaMalloc(&other_, bytes()));
        CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    }
    ~Lattice()
    {
        cudaFree(value_), cudaFree(other_);
        cudaStreamDestroy(stream_);
    }
    void expire(int strike);
    void stepBack();
    float of(int option, int node)
    {
        float v;
        CUDA(cudaMemcpyAsync(&v, value_ + option * nodes + node, sizeof v, cudaMemcpyDeviceToHost, stream_));
        CUDA(cudaStreamSynchronize(stream_));
        return v;
    }
    void wait() { CUDA(cudaStreamSynchronize(stream_)); }
    static float payoff(int option, int node, int strike)
    {
        float p = (float)node - (float)(strike + option % 100) * 10.0f;
        return p > 0 ? p : 0;
    }

  private:
    size_t bytes() const { return sizeof(float) * options_ * nodes; }
};

__global__ void at_expiry(float *value, int nodes, int strike)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x, option = blockIdx.y;
    float p = (float)node - (float)(strike + option % 100) * 10.0f;
    value[option * nodes + node] = p > 0 ? p : 0;
}

__global__ void backwards(const float *value, float *earlier, int nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    const float *mine = value + (size_t)blockIdx.y * nodes;
    earlier[(size_t)blockIdx.y * nodes + node] = node + 1 < nodes ? back(mine[node + 1], mine[node], 0.01f) : mine[node];
}

void Lattice::expire(int strike)
{
    at_expiry<<<dim3(nodes / 256, options_), 256, 0, stream_>>>(value_, nodes, strike);
}

void Lattice::stepBack()
{
    backwards<<<dim3(nodes / 256, options_), 256, 0, stream_>>>(value_, other_, nodes);
    CUDA(cudaGetLastError());
#ifdef WRONG
    CUDA(cudaMemcpyAsync(value_, other_, bytes(), cudaMemcpyDeviceToDevice, stream_));
#else
    float *swapped = value_;
    value_ = other_, other_ = swapped;
#endif
}

int main()
{
    const int strikes = 20, warm = 3;
    Lattice lattice(16384);
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    int bad = 0;
    double total = 0;
    for (int s = -warm; s < strikes; s++) {
        const int steps = 130 + 5 * ((s + warm) % 4); // some have more time left than others
        auto t = std::chrono::steady_clock::now();
        lattice.expire(50 + s);
        for (int i = 0; i < steps; i++)
            lattice.stepBack();
        lattice.wait();
        if (s >= 0)
            total += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t).count();
        const int option = 777 + s, node = 1400;
        float v[200];
        for (int i = 0; i <= steps; i++)
            v[i] = Lattice::payoff(option, node + i, 50 + s);
        for (int i = 0; i < steps; i++)
            for (int k = 0; k < steps - i; k++)
                v[k] = back(v[k + 1], v[k], 0.01f);
        const float got = lattice.of(option, node), off = got - v[0];
        bad += !(off < 0.01f && off > -0.01f);
    }
    std::printf("%d strikes, %d priced wrong\n", strikes, bad);
    std::printf("pass_ms=%.4f\n", total / strikes);
    return bad != 0;
}
