// Compares impressions of seals: each goes through a relaxation on the GPU, of which a histogram-like sum is kept.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace cg = cooperative_groups;

inline void check(cudaError_t e, const char *file, int line) {
	if (e != cudaSuccess) {
		fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(e));
		exit(1);
	}
}
#define CHECK(call) check((call), __FILE__, __LINE__)

constexpr int seals = 250, streams = 3, rounds = 20000;
constexpr size_t pixels = 1u << 20, tile = 256; // pixels that are summed up together

__global__ void relax(const float *image, float *sums, int tiles) {
	auto block = cg::this_thread_block();
	auto warp = cg::tiled_partition<32>(block);
	const int warps = int(gridDim.x * warp.meta_group_size());
	for (int t = int(blockIdx.x * warp.meta_group_size() + warp.meta_group_rank()); t < tiles; t += warps) {
		float sum = 0;
		for (int k = 0; k < int(tile) / 32; k += 2) {
			const float x = image[t * tile + k * 32 + warp.thread_rank()] * 1e-3f;
			const float y = image[t * tile + (k + 1) * 32 + warp.thread_rank()] * 1e-3f;
			float u = 0, v = 0;
#pragma unroll 16
			for (int r = 0; r < rounds; ++r) {
				u = fmaf(u, 0.999f, x);
				v = fmaf(v, 0.999f, y);
			}
			sum += u + v;
		}
		sum = cg::reduce(warp, sum, cg::plus<float>());
		if (warp.thread_rank() == 0)
			sums[t] = sum;
	}
}

int main() {
	constexpr int tiles = pixels / tile;
	int sms, fit;
	CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	float *images, *sums;
	CHECK(cudaMallocHost(&images, seals * pixels * sizeof(float)));
	CHECK(cudaMallocHost(&sums, size_t(seals) * tiles * sizeof(float)));
	std::minstd_rand random(8);
	for (size_t i = 0; i < seals * pixels; ++i)
		images[i] = float(random() & 0xffff) * (1.0f / 65536);
	struct Lane {
		cudaStream_t stream;
		float *image, *sums;
	};
	std::array<Lane, streams> lanes;
	for (auto &l : lanes) {
		CHECK(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
		CHECK(cudaMalloc(&l.image, pixels * sizeof(float)));
		CHECK(cudaMalloc(&l.sums, tiles * sizeof(float)));
	}

	// Calibration: which size of blocks is best, on a blank image.
	int threads = 128;
	float best = 1e30f;
	cudaEvent_t from, to;
	CHECK(cudaEventCreate(&from));
	CHECK(cudaEventCreate(&to));
	CHECK(cudaMemsetAsync(lanes[0].image, 0, pixels * sizeof(float), lanes[0].stream));
	for (int t : {128, 128, 256}) {
		CHECK(cudaEventRecord(from, lanes[0].stream));
		relax<<<tiles / (t / 32), t, 0, lanes[0].stream>>>(lanes[0].image, lanes[0].sums, tiles);
		CHECK(cudaGetLastError());
		CHECK(cudaEventRecord(to, lanes[0].stream));
		CHECK(cudaEventSynchronize(to));
		float took;
		CHECK(cudaEventElapsedTime(&took, from, to));
		if (took < best) {
			best = took;
			threads = t;
		}
	}
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, relax, threads, 0));
#ifdef WRONG
	const int blocks = 16;
#else
	const int most = fit * sms, needed = tiles / (threads / 32);
	const int blocks = needed < most ? needed : most;
#endif
	printf("%d threads\n", threads);
	CHECK(cudaDeviceSynchronize());
	if (const char *lock = getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

	const auto start = std::chrono::steady_clock::now();
	for (int s = 0; s < seals; ++s) {
		Lane &l = lanes[s % streams];
		CHECK(cudaMemcpyAsync(l.image, images + s * pixels, pixels * sizeof(float), cudaMemcpyHostToDevice, l.stream));
		relax<<<blocks, threads, 0, l.stream>>>(l.image, l.sums, tiles);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpyAsync(sums + size_t(s) * tiles, l.sums, tiles * sizeof(float), cudaMemcpyDeviceToHost, l.stream));
	}
	CHECK(cudaDeviceSynchronize());
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / seals;
	bool ok = true;
	for (size_t t = 5; t < size_t(seals) * tiles; t += 9973) {
		double want = 0;
		for (size_t k = 0; k < tile; ++k)
			want += images[t * tile + k];
		ok &= std::fabs(sums[t] - want) < 2e-3 * want;
	}
	printf("%s\n", ok ? "fine" : "wrong");
	printf("pass_ms=%.4f\n", ms);
	return !ok;
}
