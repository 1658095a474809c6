// phonemes -- loudness of the moments of 96 utterances a speaker, sorted, so that silence can be told; CUB sorts
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <vector>
#include <cub/cub.cuh>
#include <cuda_runtime.h>

#define TRY(call) do { cudaError_t rc_ = (call); if (rc_ != cudaSuccess) { \
	fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_)); exit(1 + int(rc_ != cudaSuccess)); } } while (0)

static const int longest = 384 * 1024, utterances = 96, speakers = 12, lanes = 8, filters = 1800;

__host__ __device__ static inline float loudness(float sample, int n)
{
	float x = sample, y = 0.3f;
	for (int k = 0; k < n; k++) {
		float t = fmaf(0.9999f, x, -(0.014141782f * y));
		y = fmaf(0.014141782f, x, 0.9999f * y);
		x = t;
	}
	return x * x + 0.5f * y;
}

__global__ void measure(const float *samples, float *loud, int count, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < count) loud[i] = loudness(samples[i], n);
}

struct Lane {
	cudaStream_t stream;
	float *samples, *loud, *home;
#ifndef WRONG
	float *sorted;
	void *scratch;
#endif
};

static size_t scratch_bytes(int count)
{
	size_t bytes = 0;
	TRY(cub::DeviceRadixSort::SortKeys(nullptr, bytes, (const float *)nullptr, (float *)nullptr, count));
	return bytes;
}

static int length_of(int utterance) { return longest - 1024 * (utterance * 11 % 61); }

static void sort_utterance(Lane &lane, const float *recorded, int count, size_t most)
{
	TRY(cudaMemcpyAsync(lane.samples, recorded, count * sizeof(float), cudaMemcpyHostToDevice, lane.stream));
	measure<<<(count + 255) / 256, 256, 0, lane.stream>>>(lane.samples, lane.loud, count, filters);
	TRY(cudaGetLastError());
#ifdef WRONG
	float *sorted;
	void *scratch;
	size_t bytes = scratch_bytes(count);
	TRY(cudaMalloc(&sorted, count * sizeof(float)));
	TRY(cudaMalloc(&scratch, bytes));
#else
	float *sorted = lane.sorted;
	void *scratch = lane.scratch;
	size_t bytes = most;
#endif
	TRY(cub::DeviceRadixSort::SortKeys(scratch, bytes, lane.loud, sorted, count, 0, 32, lane.stream));
	TRY(cudaMemcpyAsync(lane.home, sorted, count * sizeof(float), cudaMemcpyDeviceToHost, lane.stream));
#ifdef WRONG
	TRY(cudaFree(scratch));
	TRY(cudaFree(sorted));
#endif
	(void)most;
}

int main()
{
	float *recorded;
	const size_t all = size_t(speakers) * utterances * longest;
	TRY(cudaMallocHost(&recorded, all * sizeof(float)));
	uint32_t x = 17;
	for (size_t i = 0; i < all; i++) {
		x = x * 1664525u + 1013904223u;
		recorded[i] = (x >> 8) * 0x1p-24f;
	}
	const size_t most = scratch_bytes(longest);
	std::vector<Lane> lane(lanes);
	for (Lane &l : lane) {
		TRY(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
		TRY(cudaMalloc(&l.samples, longest * sizeof(float)));
		TRY(cudaMalloc(&l.loud, longest * sizeof(float)));
		TRY(cudaMallocHost(&l.home, longest * sizeof(float)));
#ifndef WRONG
		TRY(cudaMalloc(&l.sorted, longest * sizeof(float)));
		TRY(cudaMalloc(&l.scratch, most));
#endif
		sort_utterance(l, recorded, longest, most);
	}
	TRY(cudaDeviceSynchronize());

	if (const char *lock = getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
	timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int s = 0; s < speakers; s++)
		for (int u = 0; u < utterances; u++)
			sort_utterance(lane[u % lanes], recorded + (size_t(s) * utterances + u) * longest, length_of(u), most);
	TRY(cudaDeviceSynchronize());
	clock_gettime(CLOCK_MONOTONIC, &b);

	for (int l = 0; l < lanes; l++) {
		const int u = utterances - lanes + l, count = length_of(u);
		const float *samples = recorded + (size_t(speakers - 1) * utterances + u) * longest, *home = lane[l].home;
		bool right = std::is_sorted(home, home + count);
		for (int i = 3; i < count; i += 20011) {
			const float want = loudness(samples[i], filters);
			const float *near = std::lower_bound(home, home + count, want - 1e-4f);
			right = right && near < home + count && *near < want + 1e-4f;
		}
		if (!right) { printf("utterance %d is wrong\n", u); return 1; }
	}
	printf("pass_ms=%.4f\n", ((b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) * 1e-6) / speakers);
	return 0;
}
