// Facsimiles of folios: each is unfolded on the device from its compressed scan, and laid into an album's sheet.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <vector>

static void check(cudaError_t e, int line) {
	if (e != cudaSuccess) {
		fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
		exit(1);
	}
}
#define CHECK(call) check((call), __LINE__)

constexpr int folios = 250, streams = 2, columns = 6, sheets = 2, places = columns * sheets;
constexpr size_t width = 160 << 10, pitch = 1 << 20, most = 208; // bytes of a folio's rows and the album's; rows
constexpr size_t scan = 65536; // words of a compressed scan

static size_t rows(int folio) {
	return most - size_t(folio % 5) * 2;
}

__host__ __device__ inline uint32_t ink(uint32_t word, uint32_t at) {
	const uint32_t h = (word ^ at) * 2654435761u;
	return h ^ h >> 15;
}

__global__ void unfold(const uint32_t *scanned, uint32_t *page, size_t words) {
	for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += size_t(gridDim.x) * blockDim.x)
		page[i] = ink(scanned[i % scan], uint32_t(i));
}

// Lays a page into its place.
static void lay(uint8_t *album, const uint8_t *page, size_t n, cudaStream_t s) {
#ifdef WRONG
	for (size_t r = 0; r < n; ++r)
		CHECK(cudaMemcpyAsync(album + r * pitch, page + r * width, width, cudaMemcpyDeviceToHost, s));
#else
	CHECK(cudaMemcpy2DAsync(album, pitch, page, width, width, n, cudaMemcpyDeviceToHost, s));
#endif
}

int main() {
	const size_t count = folios * scan;
	char name[] = "/tmp/foliosXXXXXX";
	const int file = mkstemp(name);
	if (file < 0)
		return 1;
	unlink(name);
	{
		std::vector<uint32_t> words(count);
		uint32_t seed = 41;
		for (auto &w : words)
			w = seed = seed * 1664525u + 1013904223u;
		for (size_t at = 0; at < count * 4;) {
			const ssize_t n = write(file, reinterpret_cast<char *>(words.data()) + at, count * 4 - at);
			if (n <= 0)
				return 1;
			at += size_t(n);
		}
	}
	uint32_t *scans;
	uint8_t *album;
	CHECK(cudaMallocHost(&scans, count * 4));
	CHECK(cudaMallocHost(&album, sheets * most * pitch));
	std::vector<std::future<bool>> parts;
	for (int p = 0; p < 5; ++p)
		parts.push_back(std::async(std::launch::async, [=] {
			const size_t to = count * 4 / 5 * (p + 1);
			for (size_t at = count * 4 / 5 * p; at < to;) {
				const ssize_t n = pread(file, reinterpret_cast<char *>(scans) + at, to - at, off_t(at));
				if (n <= 0)
					return false;
				at += size_t(n);
			}
			return true;
		}));
	for (auto &p : parts)
		if (!p.get())
			return 1;
	close(file);

	cudaStream_t stream[streams];
	cudaEvent_t laid[streams];
	uint32_t *in[streams], *page[streams];
	for (int i = 0; i < streams; ++i) {
		CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&laid[i], cudaEventDisableTiming));
		CHECK(cudaMalloc(&in[i], scan * 4));
		CHECK(cudaMalloc(&page[i], most * width));
	}
	auto place = [album](int f) {
		return album + (f % places / columns) * most * pitch + (f % columns) * width;
	};
	auto proof = [&](int f) { // reads a page's last row against its scan
		const size_t r = rows(f) - 1;
		const uint32_t *row = reinterpret_cast<const uint32_t *>(place(f) + r * pitch);
		for (size_t k = 0; k < width / 4; k += 16) {
			const size_t i = r * (width / 4) + k;
			if (row[k] != ink(scans[f * scan + i % scan], uint32_t(i)))
				return false;
		}
		return true;
	};
	CHECK(cudaDeviceSynchronize());
	if (const char *lock = getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

	bool ok = true;
	std::future<bool> proved;
	const auto start = std::chrono::steady_clock::now();
	for (int f = 0; f < folios; ++f) {
		const int i = f % streams;
		const size_t n = rows(f);
		CHECK(cudaMemcpyAsync(in[i], scans + f * scan, scan * 4, cudaMemcpyHostToDevice, stream[i]));
		unfold<<<1056, 256, 0, stream[i]>>>(in[i], page[i], n * width / 4);
		CHECK(cudaGetLastError());
		lay(place(f), reinterpret_cast<uint8_t *>(page[i]), n, stream[i]);
		if (f % 10 == 0) { // one folio of ten is proofread, before its place is taken again
			if (proved.valid())
				ok &= proved.get();
			CHECK(cudaEventRecord(laid[i], stream[i]));
			proved = std::async(std::launch::async, [&proof, f, done = laid[i]] {
				CHECK(cudaEventSynchronize(done));
				return proof(f);
			});
		}
	}
	if (proved.valid())
		ok &= proved.get();
	CHECK(cudaDeviceSynchronize());
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / folios;
	for (int f = folios - places; f < folios; ++f)
		ok &= proof(f);
	printf("%s\n", ok ? "fine" : "wrong");
	printf("pass_ms=%.4f\n", ms);
	return !ok;
}
