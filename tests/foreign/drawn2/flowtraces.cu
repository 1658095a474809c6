// libs: -lcufft
// flowtraces -- spectra of packet rates: each pass takes the traces of some 480 links, 1024 samples each, and turns their phases
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/file.h>
#include <time.h>
#include <vector>
#include <cuda_runtime.h>
#include <cufft.h>

namespace {

constexpr int samples = 1024, most = 512, passes = 440, lanes = 4, turns = 4000;
constexpr float cosine = 0.99998f, sine = 0.006324524f;

void ok(cudaError_t rc) { if (rc) throw std::runtime_error(cudaGetErrorString(rc)); }
void ok(cufftResult rc) { if (rc) throw std::runtime_error("cuFFT: " + std::to_string(int(rc))); }

__host__ __device__ float2 turned(float2 z, int n)
{
	for (int k = 0; k < n; k++) {
		float x = fmaf(cosine, z.x, -(sine * z.y));
		z.y = fmaf(sine, z.x, cosine * z.y);
		z.x = x;
	}
	return z;
}

__global__ void turn_phases(const float2 *spectrum, float2 *out, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < count) out[i] = turned(spectrum[i], turns);
}

int links(int pass) { return most - pass * 5 % 65; }

struct Lane {
	cudaStream_t stream;
	cudaEvent_t done;
	cufftHandle plan;
	float2 *in, *spectrum, *out, *home;

	Lane()
	{
		const size_t bytes = sizeof(float2) * samples * most;
		ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		ok(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
		ok(cudaMalloc(&in, bytes));
		ok(cudaMemset(in, 0, bytes));
		ok(cudaMalloc(&spectrum, bytes));
		ok(cudaMalloc(&out, bytes));
		ok(cudaMallocHost(&home, bytes));
		ok(cufftPlan1d(&plan, samples, CUFFT_C2C, most));
		ok(cufftSetStream(plan, stream));
	}
	void work(const float2 *traces, int count)
	{
		ok(cudaMemcpyAsync(in, traces, sizeof(float2) * count, cudaMemcpyHostToDevice, stream));
		ok(cufftExecC2C(plan, reinterpret_cast<cufftComplex *>(in), reinterpret_cast<cufftComplex *>(spectrum), CUFFT_FORWARD));
		turn_phases<<<(count + 255) / 256, 256, 0, stream>>>(spectrum, out, count);
		ok(cudaGetLastError());
		ok(cudaMemcpyAsync(home, out, sizeof(float2) * count, cudaMemcpyDeviceToHost, stream));
		ok(cudaEventRecord(done, stream));
	}
};

int run()
{
	std::vector<Lane> lane(lanes);
	float2 *traces;
	const size_t all = size_t(passes) * most * samples;
	ok(cudaMallocHost(&traces, all * sizeof(float2)));
	unsigned x = 2463534242u;
	for (size_t i = 0; i < all; i++) {
		x ^= x << 13, x ^= x >> 17, x ^= x << 5;
		traces[i] = make_float2((x & 0xffff) / 65536.0f, (x >> 16) / 65536.0f);
	}
	for (Lane &l : lane) l.work(traces, links(0) * samples);
	ok(cudaDeviceSynchronize());

	if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
	timespec begin, end;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int pass = 0; pass < passes; pass++) {
		Lane &l = lane[pass % lanes];
#ifdef WRONG
		ok(cudaStreamWaitEvent(l.stream, lane[(pass + lanes - 1) % lanes].done, 0));
#endif
		l.work(traces + size_t(pass) * most * samples, links(pass) * samples);
	}
	for (Lane &l : lane) ok(cudaStreamSynchronize(l.stream));
	clock_gettime(CLOCK_MONOTONIC, &end);

	for (int pass = passes - lanes; pass < passes; pass++)
		for (int link = 0; link < links(pass); link += 97)
			for (int f = 1; f < samples; f += 301) {
				std::complex<double> sum = 0;
				for (int t = 0; t < samples; t++) {
					float2 v = traces[(size_t(pass) * most + link) * samples + t];
					sum += std::complex<double>(v.x, v.y) * std::polar(1.0, -2 * M_PI * f * t / samples);
				}
				float2 want = turned(make_float2(float(sum.real()), float(sum.imag())), turns);
				float2 got = lane[pass % lanes].home[size_t(link) * samples + f];
				if (!(std::hypot(want.x - got.x, want.y - got.y) < 0.05)) {
					std::printf("pass %d, link %d: %g %g, not %g %g\n", pass, link, got.x, got.y, want.x, want.y);
					return 1;
				}
			}
	std::printf("pass_ms=%.4f\n", ((end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) * 1e-6) / passes);
	return 0;
}

} // namespace

int main()
{
	try {
		return run();
	} catch (const std::exception &e) {
		std::fprintf(stderr, "flowtraces: %s\n", e.what());
		return 2;
	}
}
