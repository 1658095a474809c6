// libs: -lcufft
// Looks for a pulsar in three bands: each record is shifted by several trial frequencies and transformed.
#include <cufft.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

constexpr int kBands = 3, kTrials = 4, kRecords = 80, kTone = 777;
constexpr int kLength[kBands] = {65536, 62500, 59049};
constexpr int kTotal = 16 << 20;

#define VERIFY(x)                                                                     \
  if (int rc = static_cast<int>(x)) {                                                 \
    std::fprintf(stderr, "pulsar: line %d: %d\n", __LINE__, rc);                      \
    std::exit(1);                                                                     \
  }

__global__ void tone(float2 *record, int length, int total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  long phase = static_cast<long>(i % length) * kTone % length;
  float s, c;
  sincospif(2.0f * phase / length, &s, &c);
  record[i] = make_float2(c, s);
}

__global__ void shift(const float2 *record, float2 *work, int length, int total, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  long phase = static_cast<long>(i % length) * by % length;
  float s, c;
  sincospif(2.0f * phase / length, &s, &c);
  float2 r = record[i];
  work[i] = make_float2(r.x * c - r.y * s, r.x * s + r.y * c);
}

__global__ void power(const float2 *work, int bin, float *out) {
  float2 w = work[bin];
  *out = w.x * w.x + w.y * w.y;
}

struct Search {
  float2 *record[kBands], *work;
  float *power, *home;
  cufftHandle plan[kBands];
  cudaStream_t stream;

  void Plan(int band) {
    VERIFY(cufftPlan1d(&plan[band], kLength[band], CUFFT_C2C, kTotal / kLength[band]));
    VERIFY(cufftSetStream(plan[band], stream));
  }
  void Record(int number) {
    for (int b = 0; b < kBands; ++b) {
      int total = kTotal / kLength[b] * kLength[b];
#ifdef WRONG
      Plan(b);
#endif
      for (int t = 0; t < kTrials; ++t) {
        int by = number * kTrials + t, at = (number * kBands + b) * kTrials + t;
        shift<<<(total + 255) / 256, 256, 0, stream>>>(record[b], work, kLength[b], total, by);
        VERIFY(cufftExecC2C(plan[b], work, work, CUFFT_FORWARD));
        ::power<<<1, 1, 0, stream>>>(work, kTone + by, power + at);
      }
#ifdef WRONG
      VERIFY(cufftDestroy(plan[b]));
#endif
    }
    const int per = kBands * kTrials;
    VERIFY(cudaMemcpyAsync(home + number * per, power + number * per, per * sizeof(float), cudaMemcpyDeviceToHost, stream));
  }
};

int main() {
  Search search;
  const size_t powers = kRecords * kBands * kTrials;
  VERIFY(cudaStreamCreateWithFlags(&search.stream, cudaStreamNonBlocking));
  VERIFY(cudaMalloc(&search.work, kTotal * sizeof(float2)));
  VERIFY(cudaMalloc(&search.power, powers * sizeof(float)));
  VERIFY(cudaMallocHost(&search.home, powers * sizeof(float)));
  for (int b = 0; b < kBands; ++b) {
    VERIFY(cudaMalloc(&search.record[b], kTotal * sizeof(float2)));
    tone<<<kTotal / 256, 256>>>(search.record[b], kLength[b], kTotal);
  }
  VERIFY(cudaDeviceSynchronize());
  if (const char *lock = std::getenv("FOREIGN_LOCK")) flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
#ifndef WRONG
  for (int b = 0; b < kBands; ++b) search.Plan(b);
#endif

  double took = 0;
  std::thread observer([&] {
    auto begin = std::chrono::steady_clock::now();
    for (int r = 0; r < kRecords; ++r) {
      if (r == 1) {  // with the first one the library begins
        VERIFY(cudaStreamSynchronize(search.stream));
        begin = std::chrono::steady_clock::now();
      }
      search.Record(r);
      if (r % 4 == 3) std::printf("record %d\n", r + 1);
    }
    VERIFY(cudaStreamSynchronize(search.stream));
    took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  });
  observer.join();

  int bad = 0;
  for (size_t i = 0; i < powers; ++i) {
    double n = kLength[i / kTrials % kBands];
    bad += std::fabs(search.home[i] / (n * n) - 1) > 0.02;
  }
  std::printf("%d records, %d trials without a pulse\n", kRecords, bad);
  std::printf("pass_ms=%.4f\n", took / (kRecords - 1));
  return bad != 0;
}
