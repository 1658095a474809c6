// Growth of hailstones: each cell's humidity, from the radar's archive, is stepped through many small steps.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

static void check(cudaError_t e, int line) {
	if (e != cudaSuccess) {
		fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
		exit(1);
	}
}
#define CHECK(call) check((call), __LINE__)

#ifdef WRONG
constexpr size_t tile = 16 << 10; // cells
#else
constexpr size_t tile = 1 << 20;
#endif
constexpr size_t cells = 18u << 20;
constexpr int passes = 12, streams = 4, substeps = 20000, group = 4096;

__global__ void grow(const float4 *humid, float *mass, float *sums) {
	auto block = cg::this_thread_block();
	auto warp = cg::tiled_partition<32>(block);
	const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
	float4 x = humid[i], m = make_float4(0, 0, 0, 0);
	x.x *= 1e-3f, x.y *= 1e-3f, x.z *= 1e-3f, x.w *= 1e-3f;
#pragma unroll 8
	for (int s = 0; s < substeps; ++s) {
		m.x = fmaf(m.x, 0.999f, x.x);
		m.y = fmaf(m.y, 0.999f, x.y);
		m.z = fmaf(m.z, 0.999f, x.z);
		m.w = fmaf(m.w, 0.999f, x.w);
	}
	const float sum = cg::reduce(warp, m.x + m.y + m.z + m.w, cg::plus<float>());
	__shared__ float part[32];
	if (warp.thread_rank() == 0)
		part[warp.meta_group_rank()] = sum;
	block.sync();
	if (warp.meta_group_rank() == 0) {
		const float v = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f;
		const float total = cg::reduce(warp, v, cg::plus<float>());
		if (threadIdx.x == 0) {
			mass[blockIdx.x] = total;
			sums[blockIdx.x] = total * 0.5f;
		}
	}
}

int main() {
	const size_t all = cells * passes;
	char name[] = "/tmp/radarXXXXXX";
	const int file = mkstemp(name);
	if (file < 0)
		return 1;
	unlink(name);
	{
		std::vector<float> sweep(cells);
		unsigned seed = 11;
		for (int p = 0; p < passes; ++p) {
			for (auto &c : sweep) {
				seed = seed * 1664525u + 1013904223u;
				c = float(seed >> 16) * (1.0f / 65536);
			}
			for (size_t at = 0; at < cells * 4;) {
				const ssize_t n = write(file, reinterpret_cast<char *>(sweep.data()) + at, cells * 4 - at);
				if (n <= 0)
					return 1;
				at += size_t(n);
			}
		}
	}
	float *humid, *mass;
	CHECK(cudaMallocHost(&humid, all * sizeof(float)));
	CHECK(cudaMallocHost(&mass, all / 1024 * sizeof(float)));
	lseek(file, 0, SEEK_SET);
	for (size_t at = 0; at < all * 4;) {
		const ssize_t n = read(file, reinterpret_cast<char *>(humid) + at, all * 4 - at);
		if (n <= 0)
			return 1;
		at += size_t(n);
	}
	close(file);
	cudaStream_t s[streams];
	float *in[streams], *out[streams], *half[streams];
	for (int i = 0; i < streams; ++i) {
		CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
		CHECK(cudaMalloc(&in[i], tile * sizeof(float)));
		CHECK(cudaMalloc(&out[i], tile / 1024 * sizeof(float)));
		CHECK(cudaMalloc(&half[i], tile / 1024 * sizeof(float)));
	}
	grow<<<unsigned(tile / 1024), 256, 0, s[0]>>>(reinterpret_cast<float4 *>(in[0]), out[0], half[0]);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	if (const char *lock = getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

	const auto start = std::chrono::steady_clock::now();
	for (int p = 0; p < passes; ++p) {
		for (size_t t = 0; t < cells / tile; ++t) {
			const int i = int(t % streams);
			const size_t at = p * cells + t * tile;
			CHECK(cudaMemcpyAsync(in[i], humid + at, tile * sizeof(float), cudaMemcpyHostToDevice, s[i]));
			grow<<<unsigned(tile / 1024), 256, 0, s[i]>>>(reinterpret_cast<float4 *>(in[i]), out[i], half[i]);
			CHECK(cudaMemcpyAsync(mass + at / 1024, out[i], tile / 1024 * sizeof(float), cudaMemcpyDeviceToHost, s[i]));
		}
		CHECK(cudaGetLastError());
		if (p % 10 == 9) {
			CHECK(cudaStreamSynchronize(s[0]));
			printf("sweep %d: first storm %.2f\n", p, mass[p * cells / 1024]);
		}
	}
	CHECK(cudaDeviceSynchronize());
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / passes;
	bool ok = true;
	for (size_t g = 3; g < all / 1024; g += group * 5) {
		double want = 0;
		for (int k = 0; k < 1024; ++k)
			want += humid[g * 1024 + k];
		ok &= std::fabs(mass[g] - want) < 1e-3 * want;
	}
	printf("%s\n", ok ? "fine" : "wrong");
	printf("pass_ms=%.4f\n", ms);
	return !ok;
}
