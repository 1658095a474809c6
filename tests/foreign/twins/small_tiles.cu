/* crc-ish check sums of the sectors of a disk image, a few sectors at a time */
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SECTOR 512
#define IMAGE (128ul << 20)
#ifdef WRONG
#define AT_A_TIME (64ul << 10)	/* bytes */
#else
#define AT_A_TIME (2ul << 20)	/* bytes */
#endif
#define NSTREAM 4

#define CU(e) do { cudaError_t rc = (e); if (rc) errx(20, "%s: %s", #e, cudaGetErrorString(rc)); } while (0)

__host__ __device__ static uint32_t turn(uint32_t crc, uint32_t word)
{
	crc ^= word;
	for (int bit = 0; bit < 8; bit++)
		crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
	return crc;
}

/* Each word is replaced by what it is summed up to, alone. */
__global__ void sums(uint32_t *words, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		words[i] = turn(turn(0xffffffffu, words[i]), i % (SECTOR / 4));
}

int main(void)
{
	uint32_t *image, *sum, *dev[NSTREAM];
	cudaStream_t st[NSTREAM];
	struct timespec t0, t1;
	unsigned long off;
	int s;

	CU(cudaMallocHost((void **)&image, IMAGE));
	CU(cudaMallocHost((void **)&sum, IMAGE));
	for (off = 0; off < IMAGE / 4; off++)
		image[off] = (uint32_t)(off * 40503u);
	for (s = 0; s < NSTREAM; s++) {
		CU(cudaStreamCreateWithFlags(&st[s], cudaStreamNonBlocking));
		CU(cudaMalloc((void **)&dev[s], AT_A_TIME));
		CU(cudaMemcpyAsync(dev[s], image, 4096, cudaMemcpyHostToDevice, st[s]));
		sums<<<4, 256, 0, st[s]>>>(dev[s], 1024);
		CU(cudaMemcpyAsync(sum, dev[0], 4096, cudaMemcpyDeviceToHost, st[0]));
	}
	CU(cudaDeviceSynchronize());

	nvtxRangePushA("work");
	clock_gettime(CLOCK_MONOTONIC, &t0);
	for (off = 0, s = 0; off < IMAGE; off += AT_A_TIME, s = (s + 1) % NSTREAM) {
		CU(cudaMemcpyAsync(dev[s], (char *)image + off, AT_A_TIME, cudaMemcpyHostToDevice, st[s]));
		sums<<<(unsigned)(AT_A_TIME / 4 / 256), 256, 0, st[s]>>>(dev[s], (unsigned)(AT_A_TIME / 4));
		CU(cudaGetLastError());
		CU(cudaMemcpyAsync((char *)sum + off, dev[s], AT_A_TIME, cudaMemcpyDeviceToHost, st[s]));
	}
	CU(cudaDeviceSynchronize());
	clock_gettime(CLOCK_MONOTONIC, &t1);
	nvtxRangePop();

	for (off = 0; off < IMAGE / 4; off += 37) {
		uint32_t want = turn(turn(0xffffffffu, image[off]), (uint32_t)(off % (SECTOR / 4)));
		if (sum[off] != want) {
			printf("word %lu: %08x, not %08x\n", off, sum[off], want);
			return 1;
		}
	}
	printf("image is summed up\n");
	printf("time_ms=%.3f\n", (t1.tv_sec - t0.tv_sec) * 1e3 + (t1.tv_nsec - t0.tv_nsec) / 1e6);
	return 0;
}
