// libs: -lcublas
// Forward gravity: what density models of the subsurface would show at the stations above.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) do { const int e_ = int(call); if (e_) { \
	fprintf(stderr, "%s:%d: error %d\n", __FILE__, __LINE__, e_); exit(1); } } while (0)

constexpr int stations = 8192, cells = 4096, models = 256, batches = 400, warm = 4, lanes = 3;
constexpr size_t density = size_t(cells) * models, field = size_t(stations) * models;

#ifdef WRONG
static float *host_memory(size_t n) {
	float *p = static_cast<float *>(malloc(n * sizeof(float)));
	if (!p)
		exit(1);
	memset(p, 0, n * sizeof(float));
	return p;
}
#else
static float *host_memory(size_t n) {
	float *p;
	CHECK(cudaMallocHost(&p, n * sizeof(float)));
	return p;
}
#endif

int main() {
	CHECK(cudaFree(nullptr));
	std::vector<float> green(size_t(stations) * cells);
	unsigned seed = 21;
	for (auto &g : green) {
		seed = seed * 1664525u + 1013904223u;
		g = float(seed >> 24) * (1.0f / 4096);
	}
	float *kernel;
	CHECK(cudaMalloc(&kernel, green.size() * sizeof(float)));
	CHECK(cudaMemcpy(kernel, green.data(), green.size() * sizeof(float), cudaMemcpyHostToDevice));
	const size_t count = (warm + batches) * density;
	float *densities = host_memory(count), *fields = host_memory(lanes * field);
	for (size_t i = 0; i < count; ++i) {
		seed = seed * 1664525u + 1013904223u;
		densities[i] = 2.0f + float(seed >> 20) * (1.0f / 4096);
	}
	cudaStream_t stream[lanes];
	cublasHandle_t blas[lanes];
	float *in[lanes], *out[lanes];
	for (int i = 0; i < lanes; ++i) {
		CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
		CHECK(cublasCreate(&blas[i]));
		CHECK(cublasSetStream(blas[i], stream[i]));
		CHECK(cudaMalloc(&in[i], density * sizeof(float)));
		CHECK(cudaMalloc(&out[i], field * sizeof(float)));
	}
	CHECK(cudaDeviceSynchronize());
	if (const char *lock = getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

	auto start = std::chrono::steady_clock::now();
	for (int b = 0; b < warm + batches; ++b) {
		if (b == warm) {
			CHECK(cudaDeviceSynchronize());
			start = std::chrono::steady_clock::now();
		}
		const int i = b % lanes;
		const float one = 1, zero = 0;
		CHECK(cudaMemcpyAsync(in[i], densities + b * density, density * sizeof(float), cudaMemcpyHostToDevice, stream[i]));
		CHECK(cublasSgemm(blas[i], CUBLAS_OP_N, CUBLAS_OP_N, stations, models, cells, &one, kernel, stations,
		                  in[i], cells, &zero, out[i], stations));
		CHECK(cudaMemcpyAsync(fields + i * field, out[i], field * sizeof(float), cudaMemcpyDeviceToHost, stream[i]));
	}
	CHECK(cudaDeviceSynchronize());
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / batches;

	bool ok = true;
	for (int b = warm + batches - lanes; b < warm + batches; ++b)
		for (int m = 0; m < models; m += 51)
			for (int s = 0; s < stations; s += 2731) {
				double want = 0;
				for (int c = 0; c < cells; ++c)
					want += double(green[size_t(c) * stations + s]) * densities[b * density + size_t(m) * cells + c];
				const double got = fields[b % lanes * field + size_t(m) * stations + s];
				ok &= std::fabs(got - want) < 1e-3 * want;
			}
	printf("%s\n", ok ? "fine" : "wrong");
	printf("pass_ms=%.4f\n", ms);
	return !ok;
}
