// Fits option prices: implied volatility by bisection, for one book of quotes after another.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <numeric>
#include <system_error>
#include <vector>

#include <cuda_runtime.h>
#include <nvtx3/nvtx3.hpp>

#define CHECKED(...)                                                                             \
    do {                                                                                         \
        const cudaError_t status = (__VA_ARGS__);                                                \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::_Exit(42);                                                                      \
        }                                                                                        \
    } while (false)

using real = double;

struct Quote {
    real spot, strike, price;
};

__host__ __device__ inline real modelPrice(const Quote &q, real volatility)
{
    const real moneyness = q.spot - q.strike;
    return real(0.5) * (moneyness + sqrt(moneyness * moneyness + q.spot * volatility));
}

__host__ __device__ inline real impliedVolatility(const Quote &q, int halvings)
{
    real low = 0, high = 4000;
    for (int i = 0; i < halvings; ++i) {
        const real middle = (low + high) / 2;
        (modelPrice(q, middle) < q.price ? low : high) = middle;
    }
    return (low + high) / 2;
}

template <int Halvings> __global__ void fit(const Quote *quotes, real *volatility, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        volatility[i] = impliedVolatility(quotes[i], Halvings);
}

struct Desk {
    cudaStream_t stream{};
    Quote *quotes{};
    real *volatility{};
};

int main()
{
    constexpr int books = 160, distinct = 32, desks = 4, perBook = 320 * 1024, halvings = 48;
    Quote *book;
    real *fitted;
    CHECKED(cudaMallocHost(&book, sizeof(Quote) * distinct * perBook));
    CHECKED(cudaMallocHost(&fitted, sizeof(real) * distinct * perBook));
    for (int i = 0; i < distinct * perBook; ++i) {
        book[i] = {100.0, 80.0 + i % 41, 0};
        book[i].price = modelPrice(book[i], 1.0 + i % 1009);
    }

    std::vector<Desk> desk(desks);
    for (Desk &d : desk) {
        CHECKED(cudaStreamCreateWithFlags(&d.stream, cudaStreamNonBlocking));
        CHECKED(cudaMalloc(&d.quotes, sizeof(Quote) * perBook));
        CHECKED(cudaMalloc(&d.volatility, sizeof(real) * perBook));
    }
    const auto handle = [&](int number) {
        Desk &d = desk[number % desks];
        const size_t offset = size_t(number % distinct) * perBook;
        CHECKED(cudaMemcpyAsync(d.quotes, book + offset, sizeof(Quote) * perBook, cudaMemcpyDefault, d.stream));
        fit<halvings><<<(perBook + 95) / 96, 96, 0, d.stream>>>(d.quotes, d.volatility, perBook);
        CHECKED(cudaPeekAtLastError());
        CHECKED(cudaMemcpyAsync(fitted + offset, d.volatility, sizeof(real) * perBook, cudaMemcpyDefault, d.stream));
#ifdef WRONG
        CHECKED(cudaStreamSynchronize(d.stream)); // so that errors show up where they happen
#endif
    };
    for (int i = 0; i < desks; ++i)
        handle(i);
    CHECKED(cudaDeviceSynchronize());

    struct timespec t[2];
    {
        nvtx3::scoped_range range("work");
        clock_gettime(CLOCK_MONOTONIC, &t[0]);
        for (int i = 0; i < books; ++i)
            handle(i);
        std::for_each(desk.begin(), desk.end(), [](Desk &d) { CHECKED(cudaStreamSynchronize(d.stream)); });
        clock_gettime(CLOCK_MONOTONIC, &t[1]);
    }

    real worst = 0;
    for (int i = 0; i < distinct * perBook; i += 1013)
        worst = std::max(worst, std::fabs(fitted[i] - impliedVolatility(book[i], halvings)));
    std::printf("%d books: %s\n", books, worst < 1e-6 ? "fitted" : "badly fitted");
    std::printf("time_ms=%.3f\n", (t[1].tv_sec - t[0].tv_sec) * 1e3 + (t[1].tv_nsec - t[0].tv_nsec) / 1e6);
    return worst < 1e-6 ? 0 : 1;
}
