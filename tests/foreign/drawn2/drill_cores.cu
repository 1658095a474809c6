/* Porosity of drill cores: each section is sent to the GPU, iterated there, and its porosity sent back. */
#include <cuda_runtime.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#ifdef WRONG
#define STREAMS 2
#else
#define STREAMS 8
#endif
#define PASSES 880
#define WARM 8
#define SECTIONS 16 /* of a core, at most */
#define VALUES 16384 /* of a section */
#define BLOCKS 16
#define THREADS 256
#define ROUNDS 18000

#define OK(call) ok((call), __LINE__)
static void ok(cudaError_t e, int line) {
	if (e) {
		fprintf(stderr, "%s:%d: %s\n", __FILE__, line, cudaGetErrorString(e));
		exit(1);
	}
}

__global__ void porosity(const float *grain, float *pore) {
	const int at = blockIdx.x * blockDim.x + threadIdx.x, step = BLOCKS * THREADS;
	float a = grain[at] * 2e-3f, b = grain[at + step] * 2e-3f, c = grain[at + 2 * step] * 2e-3f,
	      d = grain[at + 3 * step] * 2e-3f, p = 0, q = 0, r = 0, s = 0;
#pragma unroll 8
	for (int i = 0; i < ROUNDS; ++i) {
		p = fmaf(p, 0.998f, a);
		q = fmaf(q, 0.998f, b);
		r = fmaf(r, 0.998f, c);
		s = fmaf(s, 0.998f, d);
	}
	pore[at] = 0.25f * (p + q + r + s);
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

int main(void) {
	const size_t sections = (size_t)(WARM + PASSES) * SECTIONS;
	const size_t bytes = VALUES * sizeof(float), home = bytes / 4;
	float *grains, *pores, *in[STREAMS], *out[STREAMS];
	cudaStream_t stream[STREAMS];
	unsigned seed = 1;
	double start = 0;
	int turn = 0, good = 1;

	OK(cudaMallocHost((void **)&grains, sections * bytes));
	OK(cudaMallocHost((void **)&pores, sections * home));
	for (size_t i = 0; i < sections * VALUES; ++i) {
		seed = seed * 1664525u + 1013904223u;
		grains[i] = (float)(seed >> 12) * (1.0f / (1 << 20));
	}
	for (int i = 0; i < STREAMS; ++i) {
		OK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
		OK(cudaMalloc((void **)&in[i], bytes));
		OK(cudaMalloc((void **)&out[i], home));
	}
	const char *lock = getenv("FOREIGN_LOCK");
	if (lock)
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

	for (int pass = 0; pass < WARM + PASSES; ++pass) {
		if (pass == WARM) {
			OK(cudaDeviceSynchronize());
			start = now();
		}
		const int many = SECTIONS - pass % 3; /* cores are of slightly different lengths */
		for (int k = 0; k < many; ++k, ++turn) {
			const int i = turn % STREAMS;
			const size_t at = (size_t)pass * SECTIONS + k;
			OK(cudaMemcpyAsync(in[i], grains + at * VALUES, bytes, cudaMemcpyHostToDevice, stream[i]));
			porosity<<<BLOCKS, THREADS, 0, stream[i]>>>(in[i], out[i]);
			OK(cudaMemcpyAsync(pores + at * VALUES / 4, out[i], home, cudaMemcpyDeviceToHost, stream[i]));
		}
		OK(cudaGetLastError());
	}
	OK(cudaDeviceSynchronize());
	const double ms = (now() - start) / PASSES;

	for (size_t at = 0; at < sections; at += 48) /* the first section of every third core, which all have */
		for (int j = 0; j < VALUES / 4; j += 501) {
			const float *g = grains + at * VALUES + j;
			const float want = 0.25f * (g[0] + g[VALUES / 4] + g[VALUES / 2] + g[VALUES / 4 * 3]);
			if (!(fabsf(pores[at * VALUES / 4 + j] - want) < 2e-3f))
				good = 0;
		}
	printf("%s\n", good ? "porosity fine" : "porosity wrong");
	printf("pass_ms=%.4f\n", ms);
	return !good;
}
