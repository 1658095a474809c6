// Two towers of a recommender, in float and in double: each layer works in a scratch of its own.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <type_traits>
#include <cuda_runtime.h>

#define CUDA_OK(expr)                                                                        \
    do {                                                                                     \
        const cudaError_t err_ = (expr);                                                     \
        if (err_ != cudaSuccess) {                                                           \
            fprintf(stderr, "%s -> %s\n", #expr, cudaGetErrorString(err_));                  \
            exit(EXIT_FAILURE);                                                              \
        }                                                                                    \
    } while (0)

template <class T> __host__ __device__ T neuron(T x, int layer, int n)
{
    for (int i = 0; i < n; i++)
        x = fma(x, T(0.75), T(layer + 1));
    return x;
}

template <class T> __global__ void expand(const T *x, T *wide, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; k++)
        wide[k * count + i] = x[i] + T(k);
}

template <class T> __global__ void contract(const T *wide, T *x, int count, int layer, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    T sum = 0;
    for (int k = 0; k < 4; k++)
        sum += neuron(wide[k * count + i], layer, n);
    x[i] = sum * T(0.25);
}

template <class T, int Layers> class Tower
{
    static constexpr int count_ = 4 << 20, effort_ = std::is_same<T, float>::value ? 290 : 145;
    T *x_, *scratch_;
    cudaStream_t stream_;

    T *scratch()
    {
#ifdef WRONG
        CUDA_OK(cudaMalloc(&scratch_, 4 * sizeof(T) * count_));
#endif
        return scratch_;
    }
    void done()
    {
#ifdef WRONG
        CUDA_OK(cudaFree(scratch_));
#endif
    }

  public:
    Tower()
    {
        CUDA_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CUDA_OK(cudaMalloc(&x_, sizeof(T) * count_));
        CUDA_OK(cudaMemset(x_, 0, sizeof(T) * count_));
#ifndef WRONG
        CUDA_OK(cudaMalloc(&scratch_, 4 * sizeof(T) * count_));
#endif
    }
    void forward(int times)
    {
        for (int layer = 0; layer < Layers * times; layer++) {
            T *wide = scratch();
            expand<<<count_ / 256, 256, 0, stream_>>>(x_, wide, count_);
            contract<<<count_ / 256, 256, 0, stream_>>>(wide, x_, count_, layer % Layers, effort_);
            CUDA_OK(cudaGetLastError());
            done();
        }
    }
    T top()
    {
        T value;
        CUDA_OK(cudaMemcpyAsync(&value, x_ + 4711, sizeof(T), cudaMemcpyDeviceToHost, stream_));
        CUDA_OK(cudaStreamSynchronize(stream_));
        return value;
    }
    static T by_hand()
    {
        return neuron(T(1.5), Layers - 1, 200); // whatever goes in, this is where it comes to rest
    }
};

int main()
{
    const int requests = 100;
    Tower<float, 5> users;
    Tower<double, 3> items;
    CUDA_OK(cudaDeviceSynchronize());
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    users.forward(3); // the warm-up is three requests in one
    items.forward(3);
    CUDA_OK(cudaDeviceSynchronize());
    std::chrono::steady_clock::duration spent{};
    int bad = 0;
    for (int r = 0; r < requests; r++) {
        const auto t = std::chrono::steady_clock::now();
        users.forward(1);
        items.forward(1);
        CUDA_OK(cudaDeviceSynchronize());
        spent += std::chrono::steady_clock::now() - t;
        if (r % 4 == 3) {
            const double user = users.top(), item = items.top();
            bad += fabs(user - Tower<float, 5>::by_hand()) > 1e-3 || fabs(item - Tower<double, 3>::by_hand()) > 1e-3;
            printf("request %d: %.3f %.3f\n", r + 1, user, item);
        }
    }
    printf("pass_ms=%.4f\n", std::chrono::duration<double, std::milli>(spent).count() / requests);
    return bad != 0;
}
