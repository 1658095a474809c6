// detectors -- induction loops in roads: each pass takes 524288 readings, makes vehicles of them, and counts the long ones
#include <chrono>
#include <cmath>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <new>
#include <sys/file.h>
#include <vector>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

constexpr int readings = 1 << 19, passes = 400, warmups = 6, ways = 4, turns = 5000;
constexpr float co = 0.99995f, si = 0.0099998750f;

static void good(cudaError_t rc, int line)
{
	if (rc == cudaSuccess) return;
	std::fprintf(stderr, "detectors.cu:%d: %s\n", line, cudaGetErrorString(rc));
	std::exit(2);
}
#define GOOD(call) good(call, __LINE__)

template <class T>
struct Locked {                                    // page-locked memory for a std::vector
	using value_type = T;
	Locked() = default;
	template <class U> Locked(const Locked<U> &) {}
	T *allocate(std::size_t n)
	{
		void *p;
		GOOD(cudaMallocHost(&p, n * sizeof(T)));
		return static_cast<T *>(p);
	}
	void deallocate(T *p, std::size_t) { cudaFreeHost(p); }
	template <class U> bool operator==(const Locked<U> &) const { return true; }
	template <class U> bool operator!=(const Locked<U> &) const { return false; }
};

#ifdef WRONG
template <class T> using Readings = std::vector<T>;
#else
template <class T> using Readings = std::vector<T, Locked<T>>;
#endif

__host__ __device__ inline float vehicle(float reading)
{
	float x = reading, y = 0.25f;
	for (int k = 0; k < turns; k++) {
		const float t = fmaf(co, x, -(si * y));
		y = fmaf(si, x, co * y);
		x = t;
	}
	return x;
}

__global__ void detect(const float *in, float *out, unsigned *longer)
{
	const auto block = cg::this_thread_block();
	const auto warp = cg::tiled_partition<32>(block);
	const unsigned i = cg::this_grid().thread_rank();
	const float length = vehicle(in[i]);
	out[i] = length;
	const unsigned n = cg::reduce(warp, length > 0.5f ? 1u : 0u, cg::plus<unsigned>());
	if (warp.thread_rank() == 0) atomicAdd(longer, n);
}

int main()
{
	Readings<float> road(std::size_t(passes + warmups) * readings);
	std::vector<Readings<float>> vehicles;
	unsigned x = 123456789;
	for (float &r : road) {
		x ^= x << 13, x ^= x >> 17, x ^= x << 5;
		r = (x >> 8) * 0x1p-24f;
	}
	cudaStream_t way[ways];
	float *in[ways], *out[ways];
	unsigned *longer;
	GOOD(cudaMalloc(&longer, sizeof(unsigned) * (passes + warmups)));
	GOOD(cudaMemset(longer, 0, sizeof(unsigned) * (passes + warmups)));
	for (int w = 0; w < ways; w++) {
		GOOD(cudaStreamCreateWithFlags(way + w, cudaStreamNonBlocking));
		GOOD(cudaMalloc(in + w, readings * sizeof(float)));
		GOOD(cudaMalloc(out + w, readings * sizeof(float)));
		vehicles.emplace_back(readings);
	}
	GOOD(cudaDeviceSynchronize());

	const auto pass = [&](int p) {
		const int w = p % ways;
		GOOD(cudaMemcpyAsync(in[w], road.data() + std::size_t(p) * readings, readings * sizeof(float), cudaMemcpyHostToDevice, way[w]));
		detect<<<readings / 256, 256, 0, way[w]>>>(in[w], out[w], longer + p);
		GOOD(cudaGetLastError());
		GOOD(cudaMemcpyAsync(vehicles[w].data(), out[w], readings * sizeof(float), cudaMemcpyDeviceToHost, way[w]));
	};
	for (int p = 0; p < warmups; p++) pass(p);
	GOOD(cudaDeviceSynchronize());

	if (const char *lock = std::getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
	const auto begin = std::chrono::steady_clock::now();
	for (int p = warmups; p < warmups + passes; p++) pass(p);
	GOOD(cudaDeviceSynchronize());
	const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;

	std::vector<unsigned> counts(passes + warmups);
	GOOD(cudaMemcpy(counts.data(), longer, counts.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
	for (int p = passes + warmups - ways; p < passes + warmups; p++) {
		const Readings<float> &found = vehicles[p % ways];
		unsigned n = 0;
		for (int i = 0; i < readings; i++) n += found[i] > 0.5f;
		bool right = n == counts[p];
		for (int i = 1; i < readings; i += 9973)
			right = right && std::fabs(found[i] - vehicle(road[std::size_t(p) * readings + i])) < 1e-3f;
		if (!right) { std::printf("pass %d is wrong\n", p); return 1; }
	}
	std::printf("pass_ms=%.4f\n", took.count() / passes);
	return 0;
}
