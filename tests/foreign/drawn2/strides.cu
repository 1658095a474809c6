// libs: -lcufft
// strides -- cadence of runners: their strides are made from what their watches sent (16 KiB), then their spectra are taken home
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <time.h>
#include <cuda_runtime.h>
#include <cufft.h>

static const int runners = 2048, samples = 1024, bins = samples / 2, groups = 160, races = 12, streams = 4, harmonics = 28;

static void must(int rc, const char *what)
{
	if (rc) { std::fprintf(stderr, "strides: %s: error %d\n", what, rc); std::exit(5); }
}

// a runner's watch: pace in steps a sample, and strength
__host__ __device__ static inline float stride(float2 watch, int sample)
{
	float t = watch.x * sample, sum = 0;
	t = 2 * (t - floorf(t)) - 1;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
	for (int h = 1; h <= harmonics; h++) {
		float z = t * h;
		z = 2 * (0.5f * z - floorf(0.5f * z)) - 1;
		float wave = 4 * z * (1 - fabsf(z));
		wave = fmaf(0.225f, fmaf(wave, fabsf(wave), -wave), wave);
		sum = fmaf(wave, watch.y * (1.0f / h), sum);
	}
	return sum;
}

__global__ void make_strides(const float2 *watches, float *acceleration)
{
	const int sample = threadIdx.x, runner = blockIdx.x;
	acceleration[(size_t)runner * samples + sample] = stride(watches[runner], sample);
}

__global__ void take_power(const float2 *spectrum, float *power)
{
	const int f = threadIdx.x, runner = blockIdx.x;
	const float2 z = spectrum[(size_t)runner * (bins + 1) + f];
	power[(size_t)runner * bins + f] = sqrtf(z.x * z.x + z.y * z.y);
}

class Analyst {
	cudaStream_t stream;
	cufftHandle plan;
	float2 *watches, *spectrum;
	float *acceleration, *power;
public:
	float *home;
	Analyst()
	{
		must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
		must(cudaMalloc(&watches, runners * sizeof(float2)), "watches");
		must(cudaMalloc(&acceleration, sizeof(float) * runners * samples), "acceleration");
		must(cudaMalloc(&spectrum, sizeof(float2) * runners * (bins + 1)), "spectrum");
		must(cudaMalloc(&power, sizeof(float) * runners * bins), "power");
		must(cudaMallocHost(&home, sizeof(float) * runners * bins), "home");
		must(cufftPlan1d(&plan, samples, CUFFT_R2C, runners), "plan");
		must(cufftSetStream(plan, stream), "plan's stream");
	}
	void analyse(const float2 *sent)
	{
		must(cudaMemcpyAsync(watches, sent, runners * sizeof(float2), cudaMemcpyHostToDevice, stream), "copy in");
		make_strides<<<runners, samples, 0, stream>>>(watches, acceleration);
		must(cufftExecR2C(plan, acceleration, spectrum), "transform");
		take_power<<<runners, bins, 0, stream>>>(spectrum, power);
		must(cudaMemcpyAsync(home, power, sizeof(float) * runners * bins, cudaMemcpyDeviceToHost, stream), "copy out");
#ifdef WRONG
		must(cudaStreamSynchronize(stream), "analysis");
#endif
	}
	void finish() { must(cudaStreamSynchronize(stream), "finish"); }
};

int main()
{
	std::unique_ptr<Analyst[]> analysts(new Analyst[streams]);
	float2 *sent;
	must(cudaMallocHost(&sent, sizeof(float2) * runners * groups * races), "watches");
	unsigned seed = 5;
	for (int i = 0; i < runners * groups * races; i++) {
		seed = seed * 69069 + 1;
		sent[i] = make_float2(0.01f + (seed >> 20) * 1e-5f, 0.5f + (seed >> 8 & 255) / 512.0f);
	}
	must(cudaDeviceSynchronize(), "start");

	if (const char *lock = std::getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
	timespec from{}, to{};
	for (int race = -1; race < races; race++) {              // the first one twice: it is slow
		if (race == 0) clock_gettime(CLOCK_MONOTONIC, &from);
		const float2 *field = sent + (size_t)std::max(race, 0) * groups * runners;
		for (int g = 0; g < groups; g++) analysts[g % streams].analyse(field + (size_t)g * runners);
		if (race < 0 || race == races - 1)
			for (int s = 0; s < streams; s++) analysts[s].finish();
	}
	clock_gettime(CLOCK_MONOTONIC, &to);

	for (int s = 0; s < streams; s++) {
		const float2 *group = sent + ((size_t)(races - 1) * groups + groups - streams + s) * runners;
		for (int r = s; r < runners; r += 311) {
			const int f = 3 + r % 90;
			std::complex<double> sum = 0;
			double norm = 0;
			for (int t = 0; t < samples; t++) {
				const double v = stride(group[r], t);
				sum += v * std::polar(1.0, -2 * M_PI * f * t / samples);
				norm += v * v;
			}
			const float got = analysts[s].home[(size_t)r * bins + f];
			if (!(std::fabs(got - std::abs(sum)) < 0.02 * std::sqrt(norm * samples))) {
				std::printf("group %d, runner %d: %g, not %g\n", s, r, got, std::abs(sum));
				return 1;
			}
		}
	}
	std::printf("pass_ms=%.4f\n", ((to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) * 1e-6) / races);
	return 0;
}
