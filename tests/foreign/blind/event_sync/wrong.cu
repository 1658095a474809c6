/* frames: a camera's frames go through the GPU; the host fills in each frame's head and folds what
 * comes back. Four buffers go round. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#define BUFFERS 4
#define FRAMES 160
#define WORDS (1920u * 1080u)
#define HEAD 1024u
#define ROUNDS 260u
#define CU(call)                                                        \
	do {                                                            \
		cudaError_t e_ = (call);                                \
		if (e_) {                                               \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_)); \
			exit(3);                                        \
		}                                                       \
	} while (0)

static uint32_t *frame[BUFFERS], *answer[BUFFERS];
static uint32_t *d_frame[BUFFERS], *d_answer[BUFFERS];
static cudaStream_t stream[BUFFERS];
static cudaEvent_t finished[BUFFERS];
static uint64_t folded;

static __host__ __device__ uint32_t scramble(uint32_t x, uint32_t rounds)
{
	for (uint32_t r = 0; r < rounds; ++r)
		x = (x ^ x >> 11) * 1664525u + 1013904223u;
	return x ^ x >> 15;
}

__global__ void scramble_frame(const uint32_t *in, uint32_t *out, uint32_t rounds)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < WORDS; i += gridDim.x * blockDim.x)
		out[i] = scramble(in[i], rounds);
}

static void fill_head(int number)
{
	uint32_t *head = frame[number % BUFFERS];
	for (uint32_t i = 0; i < HEAD; ++i)
		head[i] = (uint32_t)number * 7919u + i;
}

static void fold(int number)
{
	const uint32_t *a = answer[number % BUFFERS];
	for (uint32_t i = 0; i < HEAD; ++i)
		folded += a[i] ^ (uint32_t)number;
	folded += a[WORDS - 1];
}

static void send(int number)
{
	int b = number % BUFFERS;
	CU(cudaMemcpyAsync(d_frame[b], frame[b], WORDS * 4, cudaMemcpyHostToDevice, stream[b]));
	scramble_frame<<<1056, 256, 0, stream[b]>>>(d_frame[b], d_answer[b], ROUNDS);
	CU(cudaGetLastError());
	CU(cudaMemcpyAsync(answer[b], d_answer[b], WORDS * 4, cudaMemcpyDeviceToHost, stream[b]));
	CU(cudaEventRecord(finished[b], stream[b]));
}

static double clock_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000.0 + t.tv_nsec / 1000000.0;
}

int main(void)
{
	for (int b = 0; b < BUFFERS; ++b) {
		CU(cudaHostAlloc((void **)&frame[b], WORDS * 4, cudaHostAllocDefault));
		CU(cudaHostAlloc((void **)&answer[b], WORDS * 4, cudaHostAllocDefault));
		CU(cudaMalloc((void **)&d_frame[b], WORDS * 4));
		CU(cudaMalloc((void **)&d_answer[b], WORDS * 4));
		CU(cudaStreamCreateWithFlags(&stream[b], cudaStreamNonBlocking));
		CU(cudaEventCreateWithFlags(&finished[b], cudaEventDisableTiming));
		for (uint32_t i = 0; i < WORDS; ++i)
			frame[b][i] = i;
		send(b);
	}
	CU(cudaDeviceSynchronize());

	nvtxRangePushA("work");
	double start = clock_ms();
	for (int f = 0; f < FRAMES; ++f) {
		fill_head(f);
		send(f);
		CU(cudaEventSynchronize(finished[f % BUFFERS]));
		fold(f);
	}
	double took = clock_ms() - start;
	nvtxRangePop();

	uint64_t expected = 0;
	for (int f = 0; f < FRAMES; ++f) {
		for (uint32_t i = 0; i < HEAD; ++i)
			expected += scramble((uint32_t)f * 7919u + i, ROUNDS) ^ (uint32_t)f;
		expected += scramble(WORDS - 1, ROUNDS);
	}
	printf("frames: %d, folded to %016llx\n", FRAMES, (unsigned long long)folded);
	if (folded != expected) {
		printf("frames: expected %016llx\n", (unsigned long long)expected);
		return 1;
	}
	printf("time_ms=%.3f\n", took);
	return 0;
}
