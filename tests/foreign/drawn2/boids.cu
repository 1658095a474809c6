// boids -- four flocks of a game's world, each in a stream; a flock heeds its left neighbour, so its step waits for that one's last
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <utility>
#include <cuda_runtime.h>

namespace {

constexpr int flocks = 4, blocks = 33, threads = 1024, boids = blocks * threads, frames = 250, halves = 2, turns = 17000;
constexpr float co = 0.99999f, si = 0.0044721248f;

struct Failure { std::string what; };
void expect(cudaError_t rc) { if (rc != cudaSuccess) throw Failure{cudaGetErrorString(rc)}; }

__host__ __device__ float2 fly(float2 own, float2 left)
{
	float2 z = make_float2(fmaf(0.1f, left.x - own.x, own.x), fmaf(0.1f, left.y - own.y, own.y));
	for (int k = 0; k < turns; k++) {
		const float x = fmaf(co, z.x, -(si * z.y));
		z.y = fmaf(si, z.x, co * z.y);
		z.x = x;
	}
	return z;
}

__global__ void move(const float2 *own, const float2 *left, float2 *next)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	next[i] = fly(own[i], left[i]);
}

__global__ void count(const float2 *own, int *score)
{
	const int i = threadIdx.x;
	score[i] = (own[i].x > 0) + (own[i + 1024].x > 0);
}

class Event {
	cudaEvent_t event;
public:
	Event()
	{
#ifdef WRONG
		expect(cudaEventCreate(&event));
#else
		expect(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
#endif
	}
	~Event() { cudaEventDestroy(event); }
	Event(const Event &) = delete;
	void record(cudaStream_t stream) { expect(cudaEventRecord(event, stream)); }
	void hold(cudaStream_t stream) { expect(cudaStreamWaitEvent(stream, event, 0)); }
};

class Flock {
	cudaStream_t stream;
	float2 *now, *next;
	int *score;
	Event moved;
public:
	int *home;
	Flock()
	{
		expect(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		expect(cudaMalloc(&now, boids * sizeof(float2)));
		expect(cudaMalloc(&next, boids * sizeof(float2)));
		expect(cudaMalloc(&score, threads * sizeof(int)));
		expect(cudaMallocHost(&home, threads * sizeof(int)));
	}
	void place(int flock)
	{
		std::array<float2, 1024> some;
		for (int b = 0; b < blocks; b++) {
			for (int i = 0; i < threads; i++) some[i] = start(flock, b * threads + i);
			expect(cudaMemcpy(now + b * threads, some.data(), sizeof some, cudaMemcpyHostToDevice));
		}
	}
	static float2 start(int flock, int i) { return make_float2(std::sin(0.01f * i + flock), std::cos(0.02f * i - flock)); }
	void step(const Flock &left)
	{
		move<<<blocks, threads, 0, stream>>>(now, left.now, next);
		expect(cudaGetLastError());
		moved.record(stream);
	}
	void turn(Flock &left, Flock &right)             // next is now: nobody may still read what was
	{
		left.moved.hold(stream);
		right.moved.hold(stream);
		std::swap(now, next);
	}
	void tally()
	{
		count<<<1, threads, 0, stream>>>(now, score);
		expect(cudaGetLastError());
		expect(cudaMemcpyAsync(home, score, threads * sizeof(int), cudaMemcpyDeviceToHost, stream));
	}
	void fetch(float2 *to) { expect(cudaMemcpy(to, now, boids * sizeof(float2), cudaMemcpyDeviceToHost)); }
};

class World {
	std::array<Flock, flocks> flock;
	Flock &at(int f) { return flock[(f + flocks) % flocks]; }
public:
	World() { for (int f = 0; f < flocks; f++) flock[f].place(f); }
	void frame()
	{
		for (int half = 0; half < halves; half++) {
			for (int f = 0; f < flocks; f++) at(f).step(at(f - 1));
			for (int f = 0; f < flocks; f++) at(f).turn(at(f - 1), at(f + 1));
		}
		for (auto &f : flock) f.tally();
	}
	void wait() { expect(cudaDeviceSynchronize()); }
	bool right()
	{
		static float2 found[flocks][boids];
		for (int f = 0; f < flocks; f++) flock[f].fetch(found[f]);
		for (int i = 5; i < boids; i += 16001) {
			float2 z[flocks], next[flocks];
			for (int f = 0; f < flocks; f++) z[f] = Flock::start(f, i);
			for (int k = 0; k < frames * halves; k++) {
				for (int f = 0; f < flocks; f++) next[f] = fly(z[f], z[(f + flocks - 1) % flocks]);
				for (int f = 0; f < flocks; f++) z[f] = next[f];
			}
			for (int f = 0; f < flocks; f++)
				if (!(std::hypot(z[f].x - found[f][i].x, z[f].y - found[f][i].y) < 0.02f)) {
					std::printf("flock %d, boid %d: %g %g, not %g %g\n", f, i, found[f][i].x, found[f][i].y, z[f].x, z[f].y);
					return false;
				}
		}
		return true;
	}
};

} // namespace

int main()
{
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);         // as the engine's other parts want it
	try {
		World world;
		world.wait();
		if (const char *lock = std::getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
		const auto begin = std::chrono::steady_clock::now();
		for (int f = 0; f < frames; f++) world.frame();
		world.wait();
		const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
		if (!world.right()) return 1;
		std::printf("pass_ms=%.4f\n", took.count() / frames);
	} catch (const Failure &failure) {
		std::fprintf(stderr, "boids: %s\n", failure.what.c_str());
		return 2;
	}
	return 0;
}
