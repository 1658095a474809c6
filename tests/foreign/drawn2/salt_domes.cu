// Images of salt domes: each gather is migrated to four depths.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#define CHECK(call) do { const cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
	fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

// How a trace's amplitude is carried down by a step.
template <int Steps> struct Damped {
	__device__ static float carry(float x, int depth) {
		float v = 0;
		x *= 0.005f * float(depth + 1);
#pragma unroll 16
		for (int s = 0; s < Steps; ++s)
			v = fmaf(v, 0.995f, x);
		return v;
	}
};

template <class Carry, int Depths> __global__ void migrate(const float *gather, float *depths, size_t traces) {
	const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
	const float x = gather[i];
	for (int d = 0; d < Depths; ++d)
		depths[d * traces + i] = Carry::carry(x, d);
}

template <class Carry, int Depths, int Streams> struct Survey {
	static constexpr size_t traces = 1 << 18;
	static constexpr int gathers = 32;
	int lines;
	float *shots, *images, *in[Streams], *out[Streams];
	cudaStream_t stream[Streams];

	explicit Survey(int n) : lines(n) {
		const size_t count = size_t(lines) * gathers * traces;
		CHECK(cudaMallocHost(&shots, count * sizeof(float)));
		CHECK(cudaMallocHost(&images, Streams * Depths * traces * sizeof(float)));
		for (int i = 0; i < Streams; ++i) {
			CHECK(cudaStreamCreate(&stream[i]));
			CHECK(cudaMalloc(&in[i], traces * sizeof(float)));
			CHECK(cudaMalloc(&out[i], Depths * traces * sizeof(float)));
		}
		unsigned seed = 31;
		for (size_t i = 0; i < count; ++i) {
			seed = seed * 1664525u + 1013904223u;
			shots[i] = float(seed >> 16) * (1.0f / 65536);
		}
	}

	const float *shot(int line, int gather) const { return shots + (size_t(line) * gathers + gather) * traces; }

	void image(int line) {
		for (int g = 0; g < gathers; ++g) {
			const int i = g % Streams;
			CHECK(cudaMemcpyAsync(in[i], shot(line, g), traces * sizeof(float), cudaMemcpyHostToDevice, stream[i]));
#ifdef WRONG
			migrate<Carry, Depths><<<traces / 256, 256>>>(in[i], out[i], traces);
#else
			migrate<Carry, Depths><<<traces / 256, 256, 0, stream[i]>>>(in[i], out[i], traces);
#endif
			CHECK(cudaGetLastError());
			CHECK(cudaMemcpyAsync(images + i * Depths * traces, out[i], Depths * traces * sizeof(float),
			                      cudaMemcpyDeviceToHost, stream[i]));
		}
	}

	bool right() const {
		bool ok = true;
		for (int i = 0; i < Streams; ++i)
			for (int d = 0; d < Depths; ++d)
				for (size_t t = 1; t < traces; t += 997) {
					const float want = shot(lines - 1, gathers - Streams + i)[t] * float(d + 1);
					ok &= std::fabs(images[(size_t(i) * Depths + d) * traces + t] - want) < 4e-3f;
				}
		return ok;
	}
};

int main() {
	constexpr int lines = 60;
	Survey<Damped<1900>, 4, 4> survey(lines);
	CHECK(cudaDeviceSynchronize());
	if (const char *lock = getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
	const auto start = std::chrono::steady_clock::now();
	for (int l = 0; l < lines; ++l)
		survey.image(l);
	CHECK(cudaDeviceSynchronize());
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / lines;
	const bool ok = survey.right();
	printf("%s\n", ok ? "fine" : "wrong");
	printf("pass_ms=%.4f\n", ms);
	return !ok;
}
