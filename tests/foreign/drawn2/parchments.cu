// Parchments of an archive are scored for ink, box by box; the parts of a box are dealt to tasks.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <vector>

#define CK(call) do { if (cudaError_t e_ = (call)) { \
	std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); std::exit(1); } } while (0)

namespace {

constexpr int boxes = 250, warm = 3, tasks = 4, each = 12, sheets = tasks * each;
constexpr size_t pixels = 16384; // of a sheet
constexpr int rounds = 28000, blocks = pixels / 256;

__global__ void ink(const float *sheet, float *score) {
	const float x = sheet[blockIdx.x * blockDim.x + threadIdx.x] * 1e-3f;
	float v = 0;
#pragma unroll 16
	for (int r = 0; r < rounds; ++r)
		v = fmaf(v, 0.999f, x);
	for (int lag = 16; lag; lag /= 2)
		v += __shfl_xor_sync(~0u, v, lag);
	__shared__ float part[8];
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x == 0) {
		float sum = 0;
		for (float p : part)
			sum += p;
		score[blockIdx.x] = sum / 256;
	}
}

class Archive {
public:
	Archive() {
		const size_t count = (warm + boxes) * sheets * pixels;
		std::FILE *file = std::tmpfile();
		std::vector<float> box(sheets * pixels);
		unsigned seed = 77;
		for (int b = 0; b < warm + boxes; ++b) {
			for (auto &p : box) {
				seed = seed * 1664525u + 1013904223u;
				p = float(seed >> 16) * (1.0f / 65536);
			}
			if (!file || std::fwrite(box.data(), sizeof(float), box.size(), file) != box.size())
				std::exit(1);
		}
		std::rewind(file);
		CK(cudaMallocHost(&sheet, count * sizeof(float)));
		CK(cudaMallocHost(&score, count / 256 * sizeof(float)));
		if (std::fread(sheet, sizeof(float), count, file) != count)
			std::exit(1);
		std::fclose(file);
		// The sheets and scores stay on the device, for what comes later.
		CK(cudaMalloc(&device, count * sizeof(float)));
		CK(cudaMalloc(&scored, count / 256 * sizeof(float)));
		for (auto &s : pool)
			CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	}

	// Sends the part of a box that a task has got on its way.
	void send(int box, int task) {
		for (int k = 0; k < each; ++k) {
			const size_t n = (size_t(box) * tasks + task) * each + k;
#ifdef WRONG
			cudaStream_t s;
			CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
#else
			cudaStream_t s = pool[task * 2 + k % 2];
#endif
			CK(cudaMemcpyAsync(device + n * pixels, sheet + n * pixels, pixels * sizeof(float), cudaMemcpyHostToDevice, s));
			ink<<<blocks, 256, 0, s>>>(device + n * pixels, scored + n * blocks);
			CK(cudaGetLastError());
			CK(cudaMemcpyAsync(score + n * blocks, scored + n * blocks, blocks * sizeof(float), cudaMemcpyDeviceToHost, s));
#ifdef WRONG
			CK(cudaStreamDestroy(s));
#endif
		}
	}

	void scan(int box) {
		std::vector<std::future<void>> parts;
		for (int t = 0; t < tasks; ++t)
			parts.push_back(std::async(std::launch::async, [this, box, t] { send(box, t); }));
		for (auto &p : parts)
			p.get();
	}

	bool right() const {
		for (size_t i = 0; i < size_t(warm + boxes) * sheets * blocks; i += 331) {
			double want = 0;
			for (int k = 0; k < 256; ++k)
				want += sheet[i * 256 + k];
			if (!(std::fabs(score[i] - want / 256) < 2e-3))
				return false;
		}
		return true;
	}

private:
	float *sheet, *score, *device, *scored;
	cudaStream_t pool[tasks * 2];
};

} // namespace

int main() {
	Archive archive;
	CK(cudaDeviceSynchronize());
	if (const char *lock = std::getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
	for (int b = 0; b < warm; ++b)
		archive.scan(b);
	CK(cudaDeviceSynchronize());
	const auto start = std::chrono::steady_clock::now();
	for (int b = warm; b < warm + boxes; ++b)
		archive.scan(b);
	CK(cudaDeviceSynchronize());
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / boxes;
	const bool ok = archive.right();
	std::printf("%s\n", ok ? "fine" : "wrong");
	std::printf("pass_ms=%.4f\n", ms);
	return !ok;
}
