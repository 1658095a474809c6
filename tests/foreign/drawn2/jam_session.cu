// A live set: long samples are rendered in bulk while the player's own notes have to come out at once.
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

#define TRY(call) do { const cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
	fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

constexpr int passes = 26, notes = 16, note_samples = 2048 * 4, chunk = 256, table = 96 << 8;
constexpr int bulk_rounds = 50000, note_rounds = 150000, bulk_kernels = 2;

// A block renders a chunk of a sample; the wave table fills most of a multiprocessor's shared memory.
__global__ void __launch_bounds__(256) render(const float *waves, float *sound, float gain) {
	extern __shared__ float wave[];
	auto block = cg::this_thread_block();
	for (int i = threadIdx.x; i < table; i += blockDim.x)
		wave[i] = waves[i];
	block.sync();
	const float x = wave[(blockIdx.x * 97 + threadIdx.x) % table] * 1e-3f;
	float v = 0;
#pragma unroll 16
	for (int r = 0; r < bulk_rounds; ++r)
		v = fmaf(v, 0.999f, x);
	sound[size_t(blockIdx.x) * chunk + threadIdx.x] = v * gain;
}

__global__ void __launch_bounds__(256) play(const float *note, float *heard, float *level) {
	auto warp = cg::tiled_partition<32>(cg::this_thread_block());
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const float x = note[i] * 1e-3f;
	float v = 0;
#pragma unroll 16
	for (int r = 0; r < note_rounds; ++r)
		v = fmaf(v, 0.999f, x);
	heard[i] = v;
	const float top = cg::reduce(warp, v, cg::greater<float>());
	if (warp.thread_rank() == 0)
		level[i / 32] = top;
}

int main() {
	int sms = 0;
	TRY(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	const int chunks = sms * 2 * 44; // blocks of a bulk kernel: 44 rounds of two on each multiprocessor

	const size_t total = size_t(passes) * notes * note_samples;
	std::vector<float> take(total);
	unsigned seed = 5;
	for (auto &t : take) {
		seed = seed * 1103515245u + 12345u;
		t = float(seed >> 16 & 32767) / 32768.0f;
	}
	FILE *file = tmpfile();
	if (!file || fwrite(take.data(), sizeof(float), total, file) != total)
		return 1;
	rewind(file);
	float *played, *heard, *levels;
	TRY(cudaMallocHost(&played, total * sizeof(float)));
	TRY(cudaMallocHost(&heard, total * sizeof(float)));
	TRY(cudaMallocHost(&levels, notes * note_samples / 32 * sizeof(float)));
	if (fread(played, sizeof(float), total, file) != total)
		return 1;
	fclose(file);

	float *waves, *sound, *note, *out, *level;
	TRY(cudaMalloc(&waves, table * sizeof(float)));
	TRY(cudaMalloc(&sound, size_t(chunks) * chunk * sizeof(float)));
	TRY(cudaMalloc(&note, notes * note_samples * sizeof(float)));
	TRY(cudaMalloc(&out, notes * note_samples * sizeof(float)));
	TRY(cudaMalloc(&level, notes * note_samples / 32 * sizeof(float)));
	std::vector<float> wave(table);
	for (int i = 0; i < table; ++i)
		wave[i] = 0.5f + 0.25f * sinf(i * 0.01f);
	TRY(cudaMemcpy(waves, wave.data(), table * sizeof(float), cudaMemcpyHostToDevice));
	TRY(cudaFuncSetAttribute(render, cudaFuncAttributeMaxDynamicSharedMemorySize, table * int(sizeof(float))));

	int least, greatest;
	TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	cudaStream_t bulk, urgent;
	TRY(cudaStreamCreateWithPriority(&bulk, cudaStreamNonBlocking, least));
#ifdef WRONG
	TRY(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, least));
#else
	TRY(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
#endif
	TRY(cudaDeviceSynchronize());
	if (const char *lock = getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

	float gain = 1, top = 0;
	const auto start = std::chrono::steady_clock::now();
	for (int p = 0; p < passes; ++p) {
		const int now = chunks - sms * 2 * (p * 7 % 4); // samples differ a little in length
		for (int k = 0; k < bulk_kernels; ++k)
			render<<<now, 256, table * sizeof(float), bulk>>>(waves, sound, gain);
		TRY(cudaGetLastError());
		for (int n = 0; n < notes; ++n) {
			const size_t at = size_t(n) * note_samples, from = size_t(p) * notes * note_samples + at;
			TRY(cudaMemcpyAsync(note + at, played + from, note_samples * sizeof(float), cudaMemcpyHostToDevice, urgent));
			play<<<note_samples / 256, 256, 0, urgent>>>(note + at, out + at, level + at / 32);
			TRY(cudaMemcpyAsync(heard + from, out + at, note_samples * sizeof(float), cudaMemcpyDeviceToHost, urgent));
		}
		TRY(cudaMemcpyAsync(levels, level, notes * note_samples / 32 * sizeof(float), cudaMemcpyDeviceToHost, urgent));
		TRY(cudaStreamSynchronize(urgent)); // how loud the player was sets the gain of the next samples
		top = 0;
		for (int i = 0; i < notes * note_samples / 32; ++i)
			top = std::fmax(top, levels[i]);
		gain = 1.0f / (0.5f + top);
	}
	TRY(cudaDeviceSynchronize());
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / passes;

	bool ok = top > 0.9f && top < 1.1f;
	for (size_t i = 0; i < total; i += 1009)
		ok &= std::fabs(heard[i] - played[i]) < 1e-3f + 1e-3f * played[i];
	float first;
	TRY(cudaMemcpy(&first, sound, sizeof first, cudaMemcpyDeviceToHost));
	ok &= first > 0.2f && first < 0.6f;
	printf("gain %.3f, %s\n", gain, ok ? "fine" : "wrong");
	printf("pass_ms=%.4f\n", ms);
	return !ok;
}
