// What a lens does to an image: each pixel is seen through the lens's modes, whose tables are large.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

inline void must(cudaError_t e, int line) {
	if (e == cudaSuccess)
		return;
	fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
	exit(1);
}
#define MUST(call) must((call), __LINE__)

template <int Modes, int Steps, class Real>
__global__ void __launch_bounds__(256) look(const Real *image, const Real *modes, Real *seen, size_t plane) {
	const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
	const Real light = image[i] * Real(0.01);
	Real sum = 0;
	for (int m = 0; m < Modes; ++m) {
		const Real x = light * modes[m * plane + i];
		Real v = 0;
#pragma unroll 16
		for (int s = 0; s < Steps; ++s)
			v = fmaf(v, Real(0.99), x);
		sum += v;
	}
	seen[i] = sum / Modes;
}

enum class Where { host, device };

template <class Real, Where where> struct Array {
	Real *p = nullptr;
	size_t n;
	explicit Array(size_t count) : n(count) {
		if (where == Where::host)
			MUST(cudaMallocHost(&p, n * sizeof(Real)));
		else
			MUST(cudaMalloc(&p, n * sizeof(Real)));
	}
	Array(const Array &) = delete;
	Array &operator=(const Array &) = delete;
	~Array() {
		if (where == Where::host)
			cudaFreeHost(p);
		else
			cudaFree(p);
	}
};

template <class Real, int Modes> class Lens {
public:
	static constexpr size_t plane = 512 * 512;

	explicit Lens(const Array<Real, Where::host> &modes)
		: modes_(modes), table_(Modes * plane), image_(plane), seen_(plane) {
		MUST(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
		set();
		MUST(cudaStreamSynchronize(stream_));
	}

	void set() {
		MUST(cudaMemcpyAsync(table_.p, modes_.p, modes_.n * sizeof(Real), cudaMemcpyHostToDevice, stream_));
	}

	void view(const Real *image, Real *seen, size_t pixels) {
#ifdef WRONG
		set();
#endif
		MUST(cudaMemcpyAsync(image_.p, image, pixels * sizeof(Real), cudaMemcpyHostToDevice, stream_));
		look<Modes, 1050><<<unsigned(pixels / 256), 256, 0, stream_>>>(image_.p, table_.p, seen_.p, plane);
		MUST(cudaGetLastError());
		MUST(cudaMemcpyAsync(seen, seen_.p, pixels * sizeof(Real), cudaMemcpyDeviceToHost, stream_));
	}

private:
	const Array<Real, Where::host> &modes_;
	Array<Real, Where::device> table_, image_, seen_;
	cudaStream_t stream_;
};

int main() {
	constexpr int images = 396, warm = 6, modes = 48, lenses = 3;
	using L = Lens<float, modes>;
	constexpr size_t plane = L::plane;
	Array<float, Where::host> table(modes * plane), image((warm + images) * plane), seen((warm + images) * plane);
	unsigned seed = 13;
	auto draw = [&seed] {
		seed = seed * 1664525u + 1013904223u;
		return float(seed >> 16) * (1.0f / 65536);
	};
	for (size_t i = 0; i < table.n; ++i)
		table.p[i] = draw();
	for (size_t i = 0; i < image.n; ++i)
		image.p[i] = draw();
	std::vector<std::unique_ptr<L>> lens;
	for (int i = 0; i < lenses; ++i)
		lens.emplace_back(new L(table));
	auto size = [](int k) { return plane - size_t(k % 4) * 2048; }; // the sensor's crop moves a little
	if (const char *lock = getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

	auto start = std::chrono::steady_clock::now();
	for (int k = 0; k < warm + images; ++k) {
		if (k == warm) {
			MUST(cudaDeviceSynchronize());
			start = std::chrono::steady_clock::now();
		}
		lens[k % lenses]->view(image.p + k * plane, seen.p + k * plane, size(k));
	}
	MUST(cudaDeviceSynchronize());
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / images;
	bool ok = true;
	for (int k = 0; k < warm + images; k += 7)
		for (size_t i = 3; i < size(k); i += 40009) {
			double want = 0;
			for (int m = 0; m < modes; ++m)
				want += table.p[m * plane + i];
			want *= image.p[k * plane + i] / modes;
			ok &= std::fabs(seen.p[k * plane + i] - want) < 2e-3;
		}
	printf("%s\n", ok ? "fine" : "wrong");
	printf("pass_ms=%.4f\n", ms);
	return !ok;
}
