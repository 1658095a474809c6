// Renders one sound through the effects of 24 presets; each preset's stages are compiled for it alone.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

namespace fx {

constexpr int presets = 24, stages = 4, samples = 256 * 1024, taps = 640;

inline void must(cudaError_t e) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "presets: %s\n", cudaGetErrorString(e));
    std::exit(12);
  }
}

template <int Preset, int Stage> __host__ __device__ float effect(float x, int repeats) {
  for (int r = 0; r < repeats; ++r) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int t = 0; t < taps; ++t)
      x = fmaf(x, 0.99f - 0.0001f * ((t * (Preset + 3) + Stage) % 89), 0.001f * ((t + Preset * 7 + Stage) % 53));
  }
  return x;
}

template <int Preset, int Stage> __global__ void stage(float *sound, int repeats) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sound[i] = effect<Preset, Stage>(sound[i], repeats);
}

struct Preset {
  void (*stage[stages])(float *, int);
  float (*on_host)(float, int);
};

template <int P> float whole(float x, int repeats) {
  return effect<P, 3>(effect<P, 2>(effect<P, 1>(effect<P, 0>(x, repeats), repeats), repeats), repeats);
}
template <int P> Preset make() { return {{stage<P, 0>, stage<P, 1>, stage<P, 2>, stage<P, 3>}, whole<P>}; }
template <int... P> const Preset *table(std::integer_sequence<int, P...>) {
  static const Preset all[] = {make<P>()...};
  return all;
}

}  // namespace fx

int main() {
  using namespace fx;
  using Time = std::chrono::steady_clock;
  const Preset *all = table(std::make_integer_sequence<int, presets + 1>()); // the last one is for tuning only
  float *in, *out, *sound;
  cudaStream_t stream;
  const int repeats = 6;
  must(cudaMallocHost(&in, samples * sizeof(float)));
  must(cudaMallocHost(&out, presets * samples * sizeof(float)));
  must(cudaMalloc(&sound, samples * sizeof(float)));
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < samples; ++i) in[i] = std::sin(0.01f * i);
  if (const char *lock = std::getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

  int best = 0;
  double least = 1e9;
  for (int threads = 64; threads <= 512; threads *= 2)
    for (int again = 0; again < 3; ++again) {
      auto t = Time::now();
      all[presets].stage[0]<<<samples / threads, threads, 0, stream>>>(sound, repeats);
      must(cudaStreamSynchronize(stream));
      double took = std::chrono::duration<double>(Time::now() - t).count();
      if (took < least) least = took, best = threads;
    }
#ifndef WRONG
  for (int p = 0; p < presets; ++p)
    for (auto kernel : all[p].stage) {
      cudaFuncAttributes a;
      must(cudaFuncGetAttributes(&a, kernel));
    }
#endif

  auto begin = Time::now();
  for (int p = 0; p < presets; ++p) {
    in[0] = p;
    must(cudaMemcpyAsync(sound, in, samples * sizeof(float), cudaMemcpyHostToDevice, stream));
    for (auto kernel : all[p].stage) kernel<<<samples / best, best, 0, stream>>>(sound, repeats);
    must(cudaGetLastError());
    must(cudaMemcpyAsync(out + p * samples, sound, samples * sizeof(float), cudaMemcpyDeviceToHost, stream));
    must(cudaStreamSynchronize(stream));
  }
  double took = std::chrono::duration<double, std::milli>(Time::now() - begin).count();

  int bad = 0;
  for (int p = 0; p < presets; ++p)
    for (int i = 1; i < samples; i += 90001) bad += std::fabs(out[p * samples + i] - all[p].on_host(in[i], repeats)) > 1e-3f;
  std::printf("%d presets, %d differences\npass_ms=%.4f\n", presets, bad, took / presets);
  return bad != 0;
}
