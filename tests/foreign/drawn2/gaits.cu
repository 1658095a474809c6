// libs: -lcufft
// gaits -- shocks in the legs of walking robots: spectra of windows of their joints' accelerations, filtered twice
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <cuda_runtime.h>
#include <cufft.h>

enum { window_len = 1024, windows = 64, tiles = 64, robots = 25, ways = 4, steps = 4700 };
static const size_t points = (size_t)window_len * windows, bytes = points * sizeof(cufftComplex);
#define CO 0.99999f
#define SI 0.0044721248f

#define CU(x) do { int rc_ = (int)(x); if (rc_) { fprintf(stderr, "gaits: line %d: error %d\n", __LINE__, rc_); exit(4); } } while (0)

__host__ __device__ static inline cufftComplex rotate(cufftComplex z, int n)
{
	for (int k = 0; k < n; k++) {
		float x = fmaf(CO, z.x, -(SI * z.y));
		z.y = fmaf(SI, z.x, CO * z.y);
		z.x = x;
	}
	return z;
}

__global__ void stance_filter(cufftComplex *z, int n)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	z[i] = rotate(z[i], n);
}

__global__ void swing_filter(const cufftComplex *z, cufftComplex *out, float scale, int n)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	cufftComplex r = rotate(z[i], n);
	out[i] = make_float2(r.x * scale, r.y * scale);
}

static cufftComplex *d_in[ways], *d_mid[ways], *d_out[ways], *home[ways];
static cudaStream_t way[ways];
static cufftHandle plan[ways];

static void filter_tile(int w, const cufftComplex *signal)
{
	CU(cudaMemcpyAsync(d_in[w], signal, bytes, cudaMemcpyHostToDevice, way[w]));
	CU(cufftExecC2C(plan[w], d_in[w], d_mid[w], CUFFT_FORWARD));
	stance_filter<<<points / 128, 128, 0, way[w]>>>(d_mid[w], steps);
	CU(cudaGetLastError());
	swing_filter<<<points / 128, 128, 0, way[w]>>>(d_mid[w], d_out[w], 1.0f / window_len, steps);
	CU(cudaGetLastError());
	CU(cudaMemcpyAsync(home[w], d_out[w], bytes, cudaMemcpyDeviceToHost, way[w]));
}

int main(void)
{
	cufftComplex *log;
	CU(cudaMallocHost((void **)&log, robots * tiles * bytes));
	unsigned seed = 1;
	for (size_t i = 0; i < robots * tiles * points; i++) {
		seed = seed * 1664525u + 1013904223u;
		log[i].x = (seed >> 8) * 0x1p-24f - 0.5f;
		log[i].y = (seed >> 4 & 0xffff) * 0x1p-16f - 0.5f;
	}
	for (int w = 0; w < ways; w++) {
		CU(cudaStreamCreateWithFlags(&way[w], cudaStreamNonBlocking));
		CU(cudaMalloc((void **)&d_in[w], bytes));
		CU(cudaMalloc((void **)&d_mid[w], bytes));
		CU(cudaMalloc((void **)&d_out[w], bytes));
		CU(cudaMallocHost((void **)&home[w], bytes));
		CU(cufftPlan1d(&plan[w], window_len, CUFFT_C2C, windows));
		CU(cufftSetStream(plan[w], way[w]));
		filter_tile(w, log);
	}
	CU(cudaDeviceSynchronize());

	const char *lock = getenv("FOREIGN_LOCK");
	if (lock) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int r = 0; r < robots; r++)
		for (int t = 0; t < tiles; t++)
			filter_tile(t % ways, log + ((size_t)r * tiles + t) * points);
	CU(cudaDeviceSynchronize());
	clock_gettime(CLOCK_MONOTONIC, &b);

	int wrong = 0;
	for (int w = 0; w < ways; w++) {
		const cufftComplex *in = log + ((size_t)(robots - 1) * tiles + tiles - ways + w) * points;
		for (int k = 5; k < windows; k += 29) {
			const int f = 17 + 31 * w;
			double x = 0, y = 0;
			for (int i = 0; i < window_len; i++) {
				double c = cos(2 * M_PI * f * i / window_len), s = -sin(2 * M_PI * f * i / window_len);
				x += in[k * window_len + i].x * c - in[k * window_len + i].y * s;
				y += in[k * window_len + i].x * s + in[k * window_len + i].y * c;
			}
			cufftComplex want = rotate(make_float2((float)x, (float)y), 2 * steps), got = home[w][k * window_len + f];
			if (!(fabs(want.x / window_len - got.x) < 1e-4 && fabs(want.y / window_len - got.y) < 1e-4)) wrong++;
		}
	}
	if (wrong) { printf("%d lines are wrong\n", wrong); return 1; }
	printf("pass_ms=%.4f\n", ((b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) * 1e-6) / robots);
	return 0;
}
