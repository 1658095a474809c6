// libs: -lcublas
// Link loads of a backbone: routing matrix times the demands of each interval, on several streams.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
	fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
#define BLAS(call) do { cublasStatus_t e_ = (call); if (e_ != CUBLAS_STATUS_SUCCESS) { \
	fprintf(stderr, "%s:%d: cublas %d\n", __FILE__, __LINE__, int(e_)); exit(1); } } while (0)

constexpr int links = 8192, pairs = 4096, steps = 256, tiles = 20, warm = 2, passes = 24, lanes = 4;
constexpr size_t tile_in = size_t(pairs) * steps, tile_out = size_t(links) * steps;

struct Lane {
	cudaStream_t stream;
	cublasHandle_t blas;
	float *demand, *load;
};

// What the planner looks at: the highest load of a few links.
static float peak(const float *loads) {
	float most = 0;
	for (size_t i = 0; i < tiles * tile_out; i += tile_out / 4)
		most = std::fmax(most, loads[i]);
	return most;
}

int main() {
	float *routing, *demands;
	CUDA(cudaMalloc(&routing, size_t(links) * pairs * sizeof(float)));
	std::vector<float> host_routing(size_t(links) * pairs);
	unsigned seed = 7;
	for (auto &r : host_routing) {
		seed = seed * 1664525u + 1013904223u;
		r = float(seed >> 28) * 0.0625f;
	}
	CUDA(cudaMemcpy(routing, host_routing.data(), host_routing.size() * sizeof(float), cudaMemcpyHostToDevice));
	const size_t all = size_t(warm + passes) * tiles * tile_in;
	CUDA(cudaMallocHost(&demands, all * sizeof(float)));
	for (size_t i = 0; i < all; ++i) {
		seed = seed * 1664525u + 1013904223u;
		demands[i] = float(seed >> 20) * (1.0f / 4096);
	}
	std::vector<Lane> lane(lanes);
	for (auto &l : lane) {
		CUDA(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
		BLAS(cublasCreate(&l.blas));
		BLAS(cublasSetStream(l.blas, l.stream));
		CUDA(cudaMalloc(&l.demand, tile_in * sizeof(float)));
		CUDA(cudaMalloc(&l.load, tile_out * sizeof(float)));
	}
	cudaEvent_t done[2][lanes];
	for (auto &d : done)
		for (auto &e : d)
			CUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	float *loads[2] = {nullptr, nullptr};
	const size_t load_bytes = tiles * tile_out * sizeof(float);
#ifndef WRONG
	for (auto &l : loads)
		CUDA(cudaMallocHost(&l, load_bytes));
#endif
	if (const char *lock = getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

	float highest = 0;
	std::vector<float> sample(tiles);
	auto finish = [&](int p) {
		for (auto &e : done[p % 2])
			CUDA(cudaEventSynchronize(e));
		highest = std::fmax(highest, peak(loads[p % 2]));
		for (int t = 0; t < tiles; ++t)
			sample[t] = loads[p % 2][t * tile_out + 5];
#ifdef WRONG
		CUDA(cudaFreeHost(loads[p % 2]));
#endif
	};
	auto start = std::chrono::steady_clock::now();
	for (int p = 0; p < warm + passes; ++p) {
		if (p == warm) {
			CUDA(cudaDeviceSynchronize());
			start = std::chrono::steady_clock::now();
		}
#ifdef WRONG
		CUDA(cudaMallocHost(&loads[p % 2], load_bytes));
#endif
		for (int t = 0; t < tiles; ++t) {
			Lane &l = lane[t % lanes];
			CUDA(cudaMemcpyAsync(l.demand, demands + (size_t(p) * tiles + t) * tile_in, tile_in * sizeof(float),
			                     cudaMemcpyHostToDevice, l.stream));
			const float one = 1, zero = 0;
			BLAS(cublasSgemm(l.blas, CUBLAS_OP_N, CUBLAS_OP_N, links, steps, pairs, &one, routing, links,
			                 l.demand, pairs, &zero, l.load, links));
			CUDA(cudaMemcpyAsync(loads[p % 2] + t * tile_out, l.load, tile_out * sizeof(float),
			                     cudaMemcpyDeviceToHost, l.stream));
		}
		for (int i = 0; i < lanes; ++i)
			CUDA(cudaEventRecord(done[p % 2][i], lane[i].stream));
		if (p > 0)
			finish(p - 1);
	}
	finish(warm + passes - 1);
	CUDA(cudaDeviceSynchronize());
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / passes;

	bool ok = highest > 0;
	for (int t = 0; t < tiles; ++t) {
		const float *d = demands + (size_t(warm + passes - 1) * tiles + t) * tile_in;
		double want = 0;
		for (int k = 0; k < pairs; ++k)
			want += double(host_routing[size_t(k) * links + 5]) * d[k];
		ok &= std::fabs(sample[t] - want) < 1e-2 * want;
	}
	printf("highest load %.1f, %s\n", highest, ok ? "fine" : "wrong");
	printf("pass_ms=%.4f\n", ms);
	return !ok;
}
