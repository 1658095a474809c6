// swaptions -- a desk's swaptions under 72 market scenarios: each scenario has 16 contracts of its own, each contract a kernel;
// four tasks (std::async) price four contracts each
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <future>
#include <random>
#include <sys/file.h>
#include <utility>
#include <vector>

constexpr int scenarios = 72, tasks = 4, each = 4, warmups = 4, paths = 1 << 18, rounds = 200;
constexpr int contracts = scenarios * tasks * each;
constexpr size_t path_bytes = paths * sizeof(float);

#define CHECK(call) check((call), #call)
static void check(cudaError_t rc, const char *what)
{
	if (rc != cudaSuccess) {
		std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(rc));
		std::exit(2);
	}
}

__host__ __device__ constexpr float strike(int contract) { return 0.01f + 0.00002f * float(contract); }
__host__ __device__ constexpr float tenor(int contract) { return 0.25f + 0.25f * float(contract % 40) / 40; }

__host__ __device__ inline float value(float rate, float k, float t, int n)
{
	float a = rate, b = rate * 0.5f, c = 0.1f + rate, d = 0.2f - rate;
	for (int i = 0; i < n; i++) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
		for (int u = 0; u < 12; u++) {
			a = fmaf(a, 0.995f - 0.001f * u, k);
			b = fmaf(b, 0.990f - 0.001f * u, a * 0.001f);
			c = fmaf(c, 0.985f - t * 0.001f * u, k * t);
			d = fmaf(d, 0.980f - t * 0.001f * u, t * 0.01f);
		}
	}
	return a + b + c + d + rate;
}

template <int Contract>
__global__ void price(const float *rates, float *values, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	constexpr float k = strike(Contract), t = tenor(Contract);
	if (i < paths) values[i] = value(rates[i], k, t, n);
}

using Kernel = void (*)(const float *, float *, int);

template <int... I>
static std::vector<Kernel> book_of(std::integer_sequence<int, I...>) { return {price<I>...}; }

struct Desk {
	cudaStream_t stream{};
	float *rates{}, *values{}, *home{};

	Desk()
	{
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		CHECK(cudaMalloc(&rates, path_bytes));
		CHECK(cudaMalloc(&values, each * path_bytes));
		CHECK(cudaMallocHost(&home, each * path_bytes));
	}
	void price_all(const float *scenario, const Kernel *kernels) const
	{
		CHECK(cudaMemcpyAsync(rates, scenario, path_bytes, cudaMemcpyHostToDevice, stream));
		for (int i = 0; i < each; i++) {
			kernels[i]<<<paths / 256, 256, 0, stream>>>(rates, values + size_t(i) * paths, rounds);
			CHECK(cudaGetLastError());
		}
		CHECK(cudaMemcpyAsync(home, values, each * path_bytes, cudaMemcpyDeviceToHost, stream));
	}
};

static void run_scenario(std::array<Desk, tasks> &desks, const float *rates, const Kernel *kernels)
{
	std::array<std::future<void>, tasks> done;
	for (int t = 0; t < tasks; t++)
		done[t] = std::async(std::launch::async, [&, t] { desks[t].price_all(rates + size_t(t) * paths, kernels + t * each); });
	for (auto &task : done) task.get();
}

int main()
{
	CHECK(cudaFree(nullptr));
	const std::vector<Kernel> book = book_of(std::make_integer_sequence<int, contracts>());
	std::array<Desk, tasks> desks;
	float *market;
	CHECK(cudaMallocHost(&market, scenarios * tasks * path_bytes));
	std::minstd_rand random(7);
	for (size_t i = 0; i < size_t(scenarios) * tasks * paths; i++) market[i] = float(random() % 10000) * 1e-5f;

#ifndef WRONG
	for (Kernel kernel : book) {            // load them all
		cudaFuncAttributes attributes;
		CHECK(cudaFuncGetAttributes(&attributes, kernel));
	}
#endif
	for (int w = 0; w < warmups; w++) run_scenario(desks, market + size_t(w) * tasks * paths, book.data());
	CHECK(cudaDeviceSynchronize());

	if (const char *lock = std::getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
	const auto begin = std::chrono::steady_clock::now();
	for (int s = 0; s < scenarios; s++)
		run_scenario(desks, market + size_t(s) * tasks * paths, book.data() + s * tasks * each);
	CHECK(cudaDeviceSynchronize());
	const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;

	for (int t = 0; t < tasks; t++)
		for (int i = 0; i < each; i++)
			for (int p = 0; p < paths; p += 40009) {
				const int contract = (scenarios - 1) * tasks * each + t * each + i;
				const float rate = market[(size_t(scenarios - 1) * tasks + t) * paths + p];
				const float want = value(rate, strike(contract), tenor(contract), rounds);
				if (std::fabs(desks[t].home[size_t(i) * paths + p] - want) > 1e-3f * (1 + std::fabs(want))) {
					std::printf("contract %d is wrong\n", contract);
					return 1;
				}
			}
	std::printf("pass_ms=%.4f\n", took.count() / scenarios);
	return 0;
}
