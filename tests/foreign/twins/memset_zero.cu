// histo -- value histograms of the planes of a volume; each plane's bins are cleared, filled, fetched
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

typedef uint8_t voxel;
typedef unsigned int bin;

const int planes = 160, kept = 32, ways = 4, nbins = 256, smooth = 90;
const size_t plane_voxels = 3072 * 2560;

static void do_cuda(cudaError_t rc) { if (rc) { fprintf(stderr, "histo: error %d (%s)\n", rc, cudaGetErrorName(rc)); exit(9); } }

__host__ __device__ static inline int level(voxel v, int n)
{
	int a = v;
	for (int i = 0; i < n; i++)
		a = (a * 13 + (a >> 3) + 7) & 1023;
	return a >> 2;
}

__global__ void histogram(const voxel *plane, size_t n, bin *bins, int rounds)
{
	const size_t first = 16 * (blockIdx.x * (size_t)blockDim.x + threadIdx.x);
	for (size_t i = first; i < first + 16 && i < n; i++) {
		int l = level(plane[i], rounds);
		if (i % 64 == 0) atomicAdd(&bins[l], 1u);
	}
}

static double seconds()
{
	timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main()
{
	voxel *volume, *d_plane[ways];
	bin *counts, *d_bins[ways];
	cudaStream_t way[ways];
	do_cuda(cudaHostAlloc((void **)&volume, kept * plane_voxels, cudaHostAllocDefault));
	do_cuda(cudaHostAlloc((void **)&counts, planes * nbins * sizeof(bin), cudaHostAllocDefault));
	for (size_t i = 0; i < kept * plane_voxels; i++) volume[i] = (voxel)(i * 31 + (i >> 13));
	for (int w = 0; w < ways; w++) {
		do_cuda(cudaStreamCreate(way + w));
		do_cuda(cudaMalloc((void **)(d_plane + w), plane_voxels));
		do_cuda(cudaMalloc((void **)(d_bins + w), nbins * sizeof(bin)));
		do_cuda(cudaMemsetAsync(d_bins[w], 0, nbins * sizeof(bin), way[w]));
		histogram<<<1, 32, 0, way[w]>>>(d_plane[w], 1, d_bins[w], 1);
	}
	do_cuda(cudaDeviceSynchronize());

	nvtxRangePushA("work");
	double t0 = seconds();
	for (int p = 0; p < planes; p++) {
		int w = p % ways;
#ifdef WRONG
		do_cuda(cudaMemset(d_bins[w], 0, nbins * sizeof(bin)));
#else
		do_cuda(cudaMemsetAsync(d_bins[w], 0, nbins * sizeof(bin), way[w]));
#endif
		do_cuda(cudaMemcpyAsync(d_plane[w], volume + p % kept * plane_voxels, plane_voxels,
			cudaMemcpyHostToDevice, way[w]));
		histogram<<<plane_voxels / 16 / 128, 128, 0, way[w]>>>(d_plane[w], plane_voxels, d_bins[w], smooth);
		do_cuda(cudaGetLastError());
		do_cuda(cudaMemcpyAsync(counts + p * nbins, d_bins[w], nbins * sizeof(bin),
			cudaMemcpyDeviceToHost, way[w]));
	}
	for (int w = 0; w < ways; w++) do_cuda(cudaStreamSynchronize(way[w]));
	double t1 = seconds();
	nvtxRangePop();

	for (int p = 0; p < kept; p += 5) {
		bin want[nbins] = {0};
		for (size_t i = 0; i < plane_voxels; i += 64) want[level(volume[p * plane_voxels + i], smooth)]++;
		for (int q = p; q < planes; q += kept)
			for (int b = 0; b < nbins; b++)
				if (counts[q * nbins + b] != want[b]) {
					printf("plane %d, bin %d: %u, not %u\n", q, b, counts[q * nbins + b], want[b]);
					return 1;
				}
	}
	printf("%d planes counted\ntime_ms=%.3f\n", planes, (t1 - t0) * 1e3);
	return 0;
}
