/* heat: Jacobi steps on a plate that stays on the device */
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define W 8192
#define H 8192
#define STEPS 160
#define CUCALL(x) do { cudaError_t e_ = x; if (e_ != cudaSuccess) { \
	fprintf(stderr, "heat.cu:%d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(2); } } while (0)

__global__ void step(const float *old, float *now)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x == 0 || y == 0 || x == W - 1 || y == H - 1) {
		now[y * W + x] = old[y * W + x];
		return;
	}
	const float *at = old + y * W + x;
	now[y * W + x] = 0.25f * (at[-1] + at[1] + at[-W] + at[W]);
}

static void host_step(const float *old, float *now, int w, int h)
{
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++) {
			const float *at = old + y * w + x;
			now[y * w + x] = x == 0 || y == 0 || x == w - 1 || y == h - 1
				? *at : 0.25f * (at[-1] + at[1] + at[-w] + at[w]);
		}
}

int main(void)
{
	size_t size = (size_t)W * H * sizeof(float);
	float *plate, *old, *now;
	cudaStream_t stream;
	struct timespec t0, t1;
	dim3 block(64, 4), grid(W / 64, H / 4);

	CUCALL(cudaMallocHost((void **)&plate, size));
	CUCALL(cudaMalloc((void **)&old, size));
	CUCALL(cudaMalloc((void **)&now, size));
	CUCALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++)
			plate[y * W + x] = x == 0 ? 100.0f : (float)((x * 7 + y * 3) % 50);
	step<<<grid, block, 0, stream>>>(old, now);
	CUCALL(cudaMemcpyAsync(now, old, size, cudaMemcpyDeviceToDevice, stream));
	CUCALL(cudaMemcpyAsync(old, plate, size, cudaMemcpyHostToDevice, stream));
	CUCALL(cudaStreamSynchronize(stream));

	nvtxRangePushA("work");
	clock_gettime(CLOCK_MONOTONIC, &t0);
	for (int i = 0; i < STEPS; i++) {
		step<<<grid, block, 0, stream>>>(old, now);
		CUCALL(cudaGetLastError());
#ifdef WRONG
		CUCALL(cudaMemcpyAsync(old, now, size, cudaMemcpyDeviceToDevice, stream));
#else
		float *next = old;
		old = now;
		now = next;
#endif
	}
	CUCALL(cudaStreamSynchronize(stream));
	clock_gettime(CLOCK_MONOTONIC, &t1);
	nvtxRangePop();

	/* The middle of a small corner is computed by the host, too; its edges are not to be trusted. */
	enum { CORNER = 2 * STEPS + 24 };
	float *a = (float *)malloc(sizeof(float) * CORNER * CORNER), *b = (float *)malloc(sizeof(float) * CORNER * CORNER);
	for (int y = 0; y < CORNER; y++)
		for (int x = 0; x < CORNER; x++)
			a[y * CORNER + x] = plate[y * W + x];
	for (int i = 0; i < STEPS; i++) {
		host_step(a, b, CORNER, CORNER);
		float *c = a;
		a = b;
		b = c;
	}
	CUCALL(cudaMemcpy(plate, old, size, cudaMemcpyDeviceToHost));
	int bad = 0;
	for (int y = 0; y < CORNER - STEPS - 2; y++)
		for (int x = 0; x < CORNER - STEPS - 2; x++)
			bad += fabsf(plate[y * W + x] - a[y * CORNER + x]) > 1e-2f;
	printf("heat: %d steps, %d wrong places\n", STEPS, bad);
	printf("time_ms=%.3f\n", (t1.tv_sec - t0.tv_sec) * 1e3 + (t1.tv_nsec - t0.tv_nsec) / 1e6);
	return bad > 0;
}
