// Plates for a printing press: each is screened on a stream, while a strip that tells the ink's age is kept beside.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

template <class Status> void check(Status e, int line) {
	static_assert(std::is_same<Status, cudaError_t>::value, "a status of CUDA's");
	if (e != cudaSuccess) {
		fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
		exit(1);
	}
}
#define CHECK(call) check((call), __LINE__)

template <int Dots> __global__ void screen(const float *tone, float *dot) {
	const int at = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
	for (int i = at; i < 16 * step; i += 4 * step) {
		float x[4], v[4] = {0, 0, 0, 0};
		for (int k = 0; k < 4; ++k)
			x[k] = tone[i + k * step] * 1e-3f;
#pragma unroll 8
		for (int d = 0; d < Dots; ++d)
			for (int k = 0; k < 4; ++k)
				v[k] = fmaf(v[k], 0.999f, x[k]);
		for (int k = 0; k < 4; ++k)
			dot[i + k * step] = v[k];
	}
}

__global__ void age(float *strip) {
	strip[threadIdx.x] += 1;
}

template <class T> struct Plate {
	cudaStream_t stream;
	T *tone, *dot;
	explicit Plate(size_t pixels) {
#ifdef WRONG
		CHECK(cudaStreamCreate(&stream));
#else
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#endif
		CHECK(cudaMalloc(&tone, pixels * sizeof(T)));
		CHECK(cudaMalloc(&dot, pixels * sizeof(T)));
	}
};

template <class T, int Dots, int Streams> class Press {
public:
	static constexpr int plates = 8, blocks = 64, threads = 256;
	static constexpr size_t pixels = size_t(blocks) * threads * 16;

	explicit Press(int sheets) : sheets_(sheets) {
		CHECK(cudaMallocHost(&tones_, count() * sizeof(T)));
		CHECK(cudaMallocHost(&dots_, count() * sizeof(T)));
		CHECK(cudaMalloc(&strip_, 32 * sizeof(float)));
		CHECK(cudaMemset(strip_, 0, 32 * sizeof(float)));
		unsigned seed = 2;
		for (size_t i = 0; i < count(); ++i) {
			seed = seed * 1664525u + 1013904223u;
			tones_[i] = T(seed >> 16) / 65536;
		}
		for (int i = 0; i < Streams; ++i)
			lanes_.emplace_back(pixels);
		CHECK(cudaDeviceSynchronize());
	}

	void print(int sheet) {
		for (int p = 0; p < plates; ++p) {
			Plate<T> &l = lanes_[p % Streams];
			const size_t at = (size_t(sheet) * plates + p) * pixels;
			CHECK(cudaMemcpyAsync(l.tone, tones_ + at, pixels * sizeof(T), cudaMemcpyHostToDevice, l.stream));
			screen<Dots><<<blocks, threads, 0, l.stream>>>(l.tone, l.dot);
			CHECK(cudaMemcpyAsync(dots_ + at, l.dot, pixels * sizeof(T), cudaMemcpyDeviceToHost, l.stream));
			age<<<1, 32>>>(strip_);
		}
		CHECK(cudaGetLastError());
	}

	bool right() const {
		float strip;
		CHECK(cudaMemcpy(&strip, strip_, sizeof strip, cudaMemcpyDeviceToHost));
		bool ok = strip == float(sheets_ * plates);
		for (size_t i = 0; i < count(); i += 10007)
			ok &= std::fabs(dots_[i] - tones_[i]) < T(2e-3);
		return ok;
	}

private:
	size_t count() const { return size_t(sheets_) * plates * pixels; }
	int sheets_;
	T *tones_, *dots_;
	float *strip_;
	std::vector<Plate<T>> lanes_;
};

int main() {
	constexpr int sheets = 120;
	Press<float, 21000, 4> press(sheets);
	if (const char *lock = getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
	const auto start = std::chrono::steady_clock::now();
	for (int s = 0; s < sheets; ++s)
		press.print(s);
	CHECK(cudaDeviceSynchronize());
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / sheets;
	const bool ok = press.right();
	printf("%s\n", ok ? "fine" : "wrong");
	printf("pass_ms=%.4f\n", ms);
	return !ok;
}
