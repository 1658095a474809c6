// Reads pages off a film: a window moves over the scan, and each row's dark pixels are counted.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
	fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

constexpr size_t pitch = 1 << 20, width = 144 << 10, rows = 142; // bytes of the film's rows, and the window
constexpr int pages = 384, down = 3, along = 2048, viewers = 2;
constexpr size_t film_rows = rows + size_t(pages) * down;

__global__ void dark(const uchar4 *page, unsigned *counts, unsigned threshold) {
	auto block = cg::this_thread_block();
	auto warp = cg::tiled_partition<32>(block);
	const uchar4 *row = page + blockIdx.x * (width / 4);
	unsigned n = 0;
	for (unsigned i = block.thread_rank(); i < width / 4; i += block.size()) {
		const uchar4 p = row[i];
		n += (p.x < threshold) + (p.y < threshold) + (p.z < threshold) + (p.w < threshold);
	}
	n = cg::reduce(warp, n, cg::plus<unsigned>());
	__shared__ unsigned part[32];
	if (warp.thread_rank() == 0)
		part[warp.meta_group_rank()] = n;
	block.sync();
	if (block.thread_rank() == 0) {
		unsigned sum = 0;
		for (unsigned w = 0; w < warp.meta_group_size(); ++w)
			sum += part[w];
		counts[blockIdx.x] = sum;
	}
}

// Takes a window of the film to the device.
static void take(uint8_t *page, const uint8_t *film, cudaStream_t s) {
#ifdef WRONG
	for (size_t r = 0; r < rows; ++r)
		CHECK(cudaMemcpyAsync(page + r * width, film + r * pitch, width, cudaMemcpyHostToDevice, s));
#else
	CHECK(cudaMemcpy2DAsync(page, width, film, pitch, width, rows, cudaMemcpyHostToDevice, s));
#endif
}

int main() {
	uint8_t *film;
	unsigned *counts;
	CHECK(cudaMallocHost(&film, film_rows * pitch));
	CHECK(cudaMallocHost(&counts, pages * rows * sizeof(unsigned)));
	uint64_t seed = 88172645463325252ull;
	for (size_t i = 0; i < film_rows * pitch; i += 8) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		*reinterpret_cast<uint64_t *>(film + i) = seed;
	}
	struct Viewer {
		cudaStream_t stream;
		cudaEvent_t read;
		uint8_t *page;
		unsigned *counts;
	} viewer[viewers];
	for (auto &v : viewer) {
		CHECK(cudaStreamCreateWithFlags(&v.stream, cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&v.read, cudaEventDisableTiming));
		CHECK(cudaMalloc(&v.page, width * rows));
		CHECK(cudaMalloc(&v.counts, rows * sizeof(unsigned)));
	}

	// Calibration: the threshold below which a fifth of a page is dark.
	unsigned low = 0, high = 256;
	CHECK(cudaMemcpy2D(viewer[0].page, width, film + pitch - width, pitch, width, rows, cudaMemcpyHostToDevice));
	while (high - low > 1) {
		const unsigned middle = (low + high) / 2;
		dark<<<rows, 512, 0, viewer[0].stream>>>(reinterpret_cast<uchar4 *>(viewer[0].page), viewer[0].counts, middle);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpyAsync(counts, viewer[0].counts, rows * sizeof(unsigned), cudaMemcpyDeviceToHost, viewer[0].stream));
		CHECK(cudaStreamSynchronize(viewer[0].stream));
		size_t sum = 0;
		for (size_t r = 0; r < rows; ++r)
			sum += counts[r];
		(sum * 5 < width * rows ? low : high) = middle;
	}
	CHECK(cudaDeviceSynchronize());
	if (const char *lock = getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

	const auto start = std::chrono::steady_clock::now();
	for (int p = 0; p < pages; ++p) {
		Viewer &v = viewer[p % viewers];
		take(v.page, film + size_t(p) * down * pitch + size_t(p) * along, v.stream);
		dark<<<rows, 512, 0, v.stream>>>(reinterpret_cast<uchar4 *>(v.page), v.counts, high);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpyAsync(counts + p * rows, v.counts, rows * sizeof(unsigned), cudaMemcpyDeviceToHost, v.stream));
		if (p % 10 == 3)
			CHECK(cudaEventRecord(v.read, v.stream));
		if (p % 10 == 9) { // reports the page that was six before
			CHECK(cudaEventSynchronize(viewer[(p - 6) % viewers].read));
			if (p % 100 == 9)
				printf("page %d: %u dark pixels in its first row\n", p - 6, counts[(p - 6) * rows]);
		}
	}
	CHECK(cudaDeviceSynchronize());
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / pages;
	bool ok = true;
	for (int p = 0; p < pages; p += 29)
		for (size_t r = 0; r < rows; r += 47) {
			const uint8_t *row = film + (size_t(p) * down + r) * pitch + size_t(p) * along;
			unsigned want = 0;
			for (size_t i = 0; i < width; ++i)
				want += row[i] < high;
			ok &= want == counts[p * rows + r];
		}
	printf("threshold %u, %s\n", high, ok ? "fine" : "wrong");
	printf("pass_ms=%.4f\n", ms);
	return !ok;
}
