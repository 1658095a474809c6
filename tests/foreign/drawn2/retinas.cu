// Retinal images of a clinic: three readers score what comes in, each on its own thread.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define CHECK(call) do { const cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
	fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

constexpr int readers = 3, visits = 250, warm = 4, eyes = 15, own = 2;
constexpr size_t pixels = 16384; // of an eye
constexpr int rounds = 28000, threads = 256, blocks = pixels / threads;

static float *images, *scores, *device_images, *device_scores;

__global__ void vessel(const float *image, float *score) {
	const size_t i = size_t(blockIdx.x) * threads + threadIdx.x;
	const float x = image[i] * 2e-3f;
	float v = 0;
#pragma unroll 16
	for (int r = 0; r < rounds; ++r)
		v = fmaf(v, 0.998f, x);
	for (int lag = 16; lag; lag /= 2)
		v = fmaxf(v, __shfl_xor_sync(~0u, v, lag));
	if (threadIdx.x % 32 == 0)
		score[i / 32] = v;
}

struct Reader {
	int number;
	cudaStream_t stream[own];
	cudaEvent_t read[2];
	bool reports = false;

	explicit Reader(int n) : number(n) {
		for (auto &s : stream)
			CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
		for (auto &e : read)
			CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	}

	static size_t place(int visit, int reader, int eye) {
		return ((size_t(visit) * readers + reader) * eyes + eye) * pixels;
	}

	void score(size_t at, cudaStream_t s) {
		CHECK(cudaMemcpyAsync(device_images + at, images + at, pixels * sizeof(float), cudaMemcpyHostToDevice, s));
		vessel<<<blocks, threads, 0, s>>>(device_images + at, device_scores + at / 32);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpyAsync(scores + at / 32, device_scores + at / 32, pixels / 32 * sizeof(float), cudaMemcpyDeviceToHost, s));
	}

	void visit(int v) {
		for (int e = 0; e < eyes; ++e) {
#ifdef WRONG
			cudaStream_t s;
			CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
#else
			cudaStream_t s = stream[e % own];
#endif
			score(place(v, number, e), s);
			// A report takes the first eye of the visit that was marked ten visits ago.
			if (e == 0 && v % 10 == 9) {
				if (reports) {
					CHECK(cudaEventSynchronize(read[(v / 10 + 1) % 2]));
					if (number == 0 && v % 50 == 9)
						printf("visit %d: %.3f\n", v - 10, scores[place(v - 10, number, 0) / 32]);
				}
				CHECK(cudaEventRecord(read[v / 10 % 2], s));
				reports = true;
			}
#ifdef WRONG
			CHECK(cudaStreamDestroy(s));
#endif
		}
	}
};

static void read_all(std::vector<Reader> &all, int from, int to) {
	std::vector<std::thread> threads_;
	for (auto &r : all)
		threads_.emplace_back([&r, from, to] {
			for (int v = from; v < to; ++v)
				r.visit(v);
		});
	for (auto &t : threads_)
		t.join();
	CHECK(cudaDeviceSynchronize());
}

int main() {
	const size_t count = Reader::place(warm + visits, 0, 0);
	CHECK(cudaMallocHost(&images, count * sizeof(float)));
	CHECK(cudaMallocHost(&scores, count / 32 * sizeof(float)));
	CHECK(cudaMalloc(&device_images, count * sizeof(float)));
	CHECK(cudaMalloc(&device_scores, count / 32 * sizeof(float)));
	unsigned seed = 17;
	for (size_t i = 0; i < count; ++i) {
		seed = seed * 1664525u + 1013904223u;
		images[i] = float(seed >> 16) * (1.0f / 65536);
	}
	std::vector<Reader> all;
	for (int r = 0; r < readers; ++r)
		all.emplace_back(r);
	CHECK(cudaDeviceSynchronize());
	if (const char *lock = getenv("FOREIGN_LOCK"))
		flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

	read_all(all, 0, warm);
	const auto start = std::chrono::steady_clock::now();
	read_all(all, warm, warm + visits);
	const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / visits;

	bool ok = true;
	for (size_t i = 0; i < count / 32; i += 1013) {
		float want = 0;
		for (int k = 0; k < 32; ++k)
			want = std::fmax(want, images[i * 32 + k]);
		ok &= std::fabs(scores[i] - want) < 2e-3f;
	}
	printf("%s\n", ok ? "fine" : "wrong");
	printf("pass_ms=%.4f\n", ms);
	return !ok;
}
