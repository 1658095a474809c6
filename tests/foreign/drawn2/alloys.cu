// libs: -lcuda
// Hardening of alloys, through the driver's API: a batch of samples goes in, their hardness comes out.
#include <cuda.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

constexpr int batches = 26, warm = 1, parts = 4, rounds = 18000;
constexpr size_t samples = 3u << 20, bytes = samples * sizeof(float); // of a part

static void check(CUresult r, int line) {
	if (r == CUDA_SUCCESS)
		return;
	const char *text = nullptr;
	cuGetErrorString(r, &text);
	fprintf(stderr, "line %d: %s\n", line, text ? text : "?");
	exit(1);
}
#define CHECK(call) check((call), __LINE__)

__global__ void harden(const float *grain, float *hard) {
	const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
	const float x = grain[i] * 1e-3f;
	float v = 0;
#pragma unroll 16
	for (int r = 0; r < rounds; ++r)
		v = fmaf(v, 0.999f, x);
	hard[i] = v;
}

int main() {
	CUdevice device;
	CUcontext context;
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	cudaFunction_t function;
	if (cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(harden)) != cudaSuccess)
		return 1;
	CUfunction kernel = reinterpret_cast<CUfunction>(function);

	// The laboratory's file, which is written here and then read.
	char name[] = "/tmp/alloysXXXXXX";
	const int file = mkstemp(name);
	const size_t count = size_t(warm + batches) * parts * samples;
	if (file < 0 || ftruncate(file, off_t(count * sizeof(float))) != 0)
		return 1;
	unlink(name);
	void *map = mmap(nullptr, count * sizeof(float), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (map == MAP_FAILED)
		return 1;
	unsigned seed = 99;
	for (size_t i = 0; i < count; ++i) {
		seed = seed * 1664525u + 1013904223u;
		static_cast<float *>(map)[i] = float(seed >> 16) * (1.0f / 65536);
	}
	void *pinned = nullptr;
	CHECK(cuMemAllocHost(&pinned, count * sizeof(float)));
	float *grains = static_cast<float *>(pinned);
	memcpy(grains, map, count * sizeof(float));
	munmap(map, count * sizeof(float));
	close(file);

	CUstream stream[parts];
	CUevent done[2][parts];
	CUdeviceptr in[parts], out[parts];
	for (int i = 0; i < parts; ++i) {
		CHECK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
		CHECK(cuEventCreate(&done[0][i], CU_EVENT_DISABLE_TIMING));
		CHECK(cuEventCreate(&done[1][i], CU_EVENT_DISABLE_TIMING));
		CHECK(cuMemAlloc(&in[i], bytes));
		CHECK(cuMemAlloc(&out[i], bytes));
	}
	void *hard[2][parts] = {};
#ifndef WRONG
	for (auto &h : hard)
		for (auto &p : h)
			CHECK(cuMemAllocHost(&p, bytes));
#endif
	CHECK(cuCtxSynchronize());
	if (const char *lock = getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

	bool ok = true;
	double hardest = 0;
	auto start = std::chrono::steady_clock::now();
	auto take = [&](int b) { // looks at some samples of a batch that has come home
		for (int i = 0; i < parts; ++i) {
			CHECK(cuEventSynchronize(done[b % 2][i]));
			const float *h = static_cast<float *>(hard[b % 2][i]);
			for (size_t k = 0; k < samples; k += samples / 8) {
				ok &= std::fabs(h[k] - grains[(size_t(b) * parts + i) * samples + k]) < 2e-3f;
				hardest = std::fmax(hardest, h[k]);
			}
#ifdef WRONG
			CHECK(cuMemFreeHost(hard[b % 2][i]));
#endif
		}
	};
	for (int b = 0; b < warm + batches; ++b) {
		if (b == warm) {
			CHECK(cuCtxSynchronize());
			start = std::chrono::steady_clock::now();
		}
		for (int i = 0; i < parts; ++i) {
#ifdef WRONG
			CHECK(cuMemAllocHost(&hard[b % 2][i], bytes));
#endif
			CHECK(cuMemcpyHtoDAsync(in[i], grains + (size_t(b) * parts + i) * samples, bytes, stream[i]));
			void *arguments[] = {&in[i], &out[i]};
			CHECK(cuLaunchKernel(kernel, unsigned(samples / 256), 1, 1, 256, 1, 1, 0, stream[i], arguments, nullptr));
			CHECK(cuMemcpyDtoHAsync(hard[b % 2][i], out[i], bytes, stream[i]));
			CHECK(cuEventRecord(done[b % 2][i], stream[i]));
		}
		if (b > 0)
			take(b - 1);
	}
	take(warm + batches - 1);
	CHECK(cuCtxSynchronize());
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / batches;
	printf("hardest %.3f, %s\n", hardest, ok ? "fine" : "wrong");
	printf("pass_ms=%.4f\n", ms);
	return !ok;
}
