// Looks for intrusions in captured packets; alarms are counted beside by tasks of their own.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static void must(cudaError_t e, const char *what) {
	if (e != cudaSuccess)
		throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

constexpr int captures = 900, warm = 10, bursts = 12, lanes = 4;
constexpr size_t words = 8192; // of a burst
constexpr int blocks = 32, threads = 256, mixes = 10500;

__host__ __device__ inline uint32_t mix(uint32_t h, uint32_t w) {
	return (h ^ w) * 2654435761u + 40503u;
}

__global__ void inspect(const uint32_t *burst, uint32_t *digest) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const uint32_t w = burst[i];
	uint32_t h = w;
#pragma unroll 8
	for (int k = 0; k < mixes; ++k)
		h = mix(h, w);
	digest[i] = h;
}

struct Free {
	void operator()(void *p) const { cudaFreeHost(p); }
};

template <class T> static std::unique_ptr<T[], Free> pinned(size_t n) {
	void *p = nullptr;
	must(cudaMallocHost(&p, n * sizeof(T)), "pinned memory");
	return std::unique_ptr<T[], Free>(static_cast<T *>(p));
}

static int run() {
	const size_t each = bursts * words, count = (warm + captures) * each;
	std::FILE *file = std::tmpfile();
	if (!file)
		return 1;
	{
		std::vector<uint32_t> line(each);
		uint32_t seed = 3;
		for (int c = 0; c < warm + captures; ++c) {
			for (auto &w : line)
				w = seed = seed * 1664525u + 1013904223u;
			if (std::fwrite(line.data(), 4, each, file) != each)
				return 1;
		}
		std::rewind(file);
	}
	auto packets = pinned<uint32_t>(count);
	auto digests = pinned<uint32_t>(count);
	if (std::fread(packets.get(), 4, count, file) != count)
		return 1;
	std::fclose(file);

	cudaStream_t stream[lanes];
	cudaEvent_t done[lanes], marked[2];
	uint32_t *in[lanes], *out[lanes];
	for (int i = 0; i < lanes; ++i) {
		must(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking), "stream");
		must(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming), "event");
		must(cudaMalloc(&in[i], words * 4), "memory");
		must(cudaMalloc(&out[i], words * 4), "memory");
	}
	for (auto &m : marked)
		must(cudaEventCreateWithFlags(&m, cudaEventDisableTiming), "event");
	must(cudaDeviceSynchronize(), "start");
	if (const char *lock = std::getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

	std::future<long> report;
	long alarms = 0;
	auto start = std::chrono::steady_clock::now();
	for (int c = 0; c < warm + captures; ++c) {
		if (c == warm) {
			must(cudaDeviceSynchronize(), "warm-up");
			start = std::chrono::steady_clock::now();
		}
		for (int b = 0; b < bursts; ++b) {
			const int i = b % lanes;
			const size_t at = c * each + b * words;
#ifdef WRONG
			must(cudaStreamWaitEvent(stream[i], done[(i + lanes - 1) % lanes], 0), "order");
#endif
			must(cudaMemcpyAsync(in[i], packets.get() + at, words * 4, cudaMemcpyHostToDevice, stream[i]), "copy in");
			inspect<<<blocks, threads, 0, stream[i]>>>(in[i], out[i]);
			must(cudaGetLastError(), "kernel");
			must(cudaMemcpyAsync(digests.get() + at, out[i], words * 4, cudaMemcpyDeviceToHost, stream[i]), "copy out");
			must(cudaEventRecord(done[i], stream[i]), "event");
		}
		if (c % 10 == 9) { // counts this capture's first burst while the next ones are sent
			if (report.valid())
				alarms += report.get();
			cudaEvent_t mark = marked[c / 10 % 2];
			must(cudaEventRecord(mark, stream[0]), "mark");
			report = std::async(std::launch::async, [mark, d = digests.get() + c * each] {
				must(cudaEventSynchronize(mark), "report");
				long n = 0;
				for (size_t k = 0; k < words; ++k)
					n += d[k] % 1024 == 0;
				return n;
			});
		}
	}
	must(cudaDeviceSynchronize(), "end");
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / captures;
	if (report.valid())
		alarms += report.get();

	bool ok = true;
	for (size_t i = 0; i < count; i += count / 400) {
		uint32_t h = packets[i];
		for (int k = 0; k < mixes; ++k)
			h = mix(h, packets[i]);
		ok &= h == digests[i];
	}
	std::printf("%ld alarms, %s\n", alarms, ok ? "fine" : "wrong");
	std::printf("pass_ms=%.4f\n", ms);
	return !ok;
}

int main() {
	try {
		return run();
	} catch (const std::exception &e) {
		std::fprintf(stderr, "%s\n", e.what());
		return 1;
	}
}
