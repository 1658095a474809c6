// junctions -- 48 signal plans a district are tried on its vehicles; every plan is a kernel compiled for it, and each district has
// other plans; 28 districts
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <numeric>
#include <sys/file.h>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

constexpr int districts = 28, lanes = 6, plans_a_lane = 8, most = 1 << 16, rounds = 700;
constexpr int plans = districts * lanes * plans_a_lane;

const auto must = [](cudaError_t rc) {
	if (rc == cudaSuccess) return;
	std::fprintf(stderr, "junctions: %s\n", cudaGetErrorName(rc));
	std::exit(2);
};

__host__ __device__ constexpr float green(int plan) { return 0.02f + 0.06f * float(plan % 53) / 53; }
__host__ __device__ constexpr float offset(int plan) { return 0.1f * float(plan % 17) / 17 + 0.00005f * float(plan); }

__host__ __device__ inline float delay(float arrival, float g, float o, int n)
{
	float queue = arrival, speed = 1 - arrival, gap = o + arrival, lost = 0;
	for (int i = 0; i < n; i++) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
		for (int phase = 0; phase < 12; phase++) {
			queue = fmaf(queue, 0.99f - g * 0.01f * phase, o);
			speed = fmaf(speed, 0.98f - 0.002f * phase, g);
			gap = fmaf(gap, 0.97f - o * 0.02f * phase, queue * 0.001f);
			lost = fmaf(lost, 0.96f, speed * 0.01f * (phase + 1));
		}
	}
	return queue + speed + gap + lost + arrival;
}

template <int Plan>
__global__ void simulate(const float *arrivals, float *delays, int vehicles, int n)
{
	constexpr float g = green(Plan), o = offset(Plan);
	const int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v < vehicles) delays[v] = delay(arrivals[v], g, o, n);
}

using Plan = void (*)(const float *, float *, int, int);

template <int... P>
static std::vector<Plan> all_plans(std::integer_sequence<int, P...>) { return {simulate<P>...}; }

int main()
{
	must(cudaFree(nullptr));
	const std::vector<Plan> plan = all_plans(std::make_integer_sequence<int, plans>());

	struct Lane { cudaStream_t stream; float *arrivals, *delays, *home; };
	std::vector<Lane> lane(lanes);
	std::for_each(lane.begin(), lane.end(), [](Lane &l) {
		must(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
		must(cudaMalloc(&l.arrivals, most * sizeof(float)));
		must(cudaMalloc(&l.delays, plans_a_lane * most * sizeof(float)));
		must(cudaMallocHost(&l.home, plans_a_lane * most * sizeof(float)));
	});
	float *arrivals;
	must(cudaMallocHost(&arrivals, size_t(districts) * lanes * most * sizeof(float)));
	std::generate(arrivals, arrivals + size_t(districts) * lanes * most,
		[x = 99u]() mutable { x = x * 1103515245u + 12345u; return (x >> 16 & 1023) / 1024.0f; });
	const auto vehicles = [](int district) { return most - 256 * (district * 5 % 13); };

	const auto try_plans = [&](int district, int first_plan) {
		const int count = vehicles(district);
		for (int l = 0; l < lanes; l++) {
			const float *source = arrivals + (size_t(district) * lanes + l) * most;
			must(cudaMemcpyAsync(lane[l].arrivals, source, count * sizeof(float), cudaMemcpyHostToDevice, lane[l].stream));
		}
		for (int k = 0; k < plans_a_lane; k++)
			for (int l = 0; l < lanes; l++) {
				plan[first_plan + l * plans_a_lane + k]<<<(count + 127) / 128, 128, 0, lane[l].stream>>>(
					lane[l].arrivals, lane[l].delays + size_t(k) * most, count, rounds);
				must(cudaGetLastError());
			}
		for (const Lane &l : lane)
			must(cudaMemcpyAsync(l.home, l.delays, plans_a_lane * most * sizeof(float), cudaMemcpyDeviceToHost, l.stream));
	};

#ifndef WRONG
	std::for_each(plan.begin(), plan.end(), [](Plan p) {
		cudaFuncAttributes loaded;
		must(cudaFuncGetAttributes(&loaded, p));
	});
#endif
	for (int warmup = 0; warmup < 3; warmup++) try_plans(warmup, 0);
	must(cudaDeviceSynchronize());

	if (const char *lock = std::getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
	const auto timed = [](const std::function<void()> &work) {
		const auto begin = std::chrono::steady_clock::now();
		work();
		must(cudaDeviceSynchronize());
		return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
	};
	const double took = timed([&] {
		for (int d = 0; d < districts; d++) try_plans(d, d * lanes * plans_a_lane);
	});

	const int last = districts - 1;
	for (int l = 0; l < lanes; l++)
		for (int k = 0; k < plans_a_lane; k++)
			for (int v = 11; v < vehicles(last); v += 14001) {
				const int p = (last * lanes + l) * plans_a_lane + k;
				const float want = delay(arrivals[(size_t(last) * lanes + l) * most + v], green(p), offset(p), rounds);
				const float got = lane[l].home[size_t(k) * most + v];
				if (!(std::fabs(got - want) < 1e-3f * (1 + std::fabs(want)))) {
					std::printf("plan %d, vehicle %d: %g, not %g\n", p, v, got, want);
					return 1;
				}
			}
	std::printf("pass_ms=%.4f\n", took / districts);
	return 0;
}
