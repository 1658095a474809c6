// Requests take their memory from the device's pool in stream order, and give it back when they are done.
#include <cuda_runtime.h>
#include <nvtx3/nvtx3.hpp>

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>
#include <vector>

#define POOL_TRY(x) do { if (cudaError_t e = (x)) { std::fprintf(stderr, "requests: %s\n", cudaGetErrorString(e)); std::abort(); } } while (false)

class Stream {
 public:
  Stream() { POOL_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  ~Stream() { if (stream_) cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }
 private:
  cudaStream_t stream_;
};

class Event {
 public:
  Event() { POOL_TRY(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(event_); }
  void After(cudaStream_t stream) { POOL_TRY(cudaEventRecord(event_, stream)); }
  void Before(cudaStream_t stream) { POOL_TRY(cudaStreamWaitEvent(stream, event_, 0)); }
 private:
  cudaEvent_t event_;
};

__host__ __device__ inline double Answer(double question, int depth) {
  double a = question;
  for (int i = 0; i < depth; ++i) a = fma(a, 0.875, 1.0 / (i + 1));
  return a;
}

__global__ void AnswerAll(const double* question, double* answer, size_t n, int depth) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
    answer[i] = Answer(question[i], depth);
}

constexpr size_t kQuestions = 1 << 20;
constexpr int kRequests = 128, kDistinct = 32, kStreams = 4, kDepth = 40;

class Server {
 public:
  Server() : streams_(kStreams) {}

  void Serve(int request, const double* questions, double* answers) {
    const Stream& worker = streams_[request % kStreams];
#ifdef WRONG
    // Memory is one stream's business: it takes and returns it, and the workers' streams wait for that.
    const Stream& owner = memory_;
#else
    // Each stream takes the memory that it works in, and returns it.
    const Stream& owner = worker;
#endif
    double *question, *answer;
    POOL_TRY(cudaMallocAsync(&question, kQuestions * sizeof(double), owner));
    POOL_TRY(cudaMallocAsync(&answer, kQuestions * sizeof(double), owner));
#ifdef WRONG
    taken_.After(owner);
    taken_.Before(worker);
#endif
    POOL_TRY(cudaMemcpyAsync(question, questions, kQuestions * sizeof(double), cudaMemcpyHostToDevice, worker));
    AnswerAll<<<528, 256, 0, worker>>>(question, answer, kQuestions, kDepth);
    POOL_TRY(cudaGetLastError());
    POOL_TRY(cudaMemcpyAsync(answers, answer, kQuestions * sizeof(double), cudaMemcpyDeviceToHost, worker));
#ifdef WRONG
    done_.After(worker);
    done_.Before(owner);
#endif
    POOL_TRY(cudaFreeAsync(question, owner));
    POOL_TRY(cudaFreeAsync(answer, owner));
  }

 private:
  std::vector<Stream> streams_;
#ifdef WRONG
  Stream memory_;
  Event taken_, done_;
#endif
};

int main() {
  cudaMemPool_t pool;
  uint64_t keep = UINT64_MAX;
  POOL_TRY(cudaDeviceGetDefaultMemPool(&pool, 0));
  POOL_TRY(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  double *questions, *answers;
  POOL_TRY(cudaMallocHost(&questions, kDistinct * kQuestions * sizeof(double)));
  POOL_TRY(cudaMallocHost(&answers, kDistinct * kQuestions * sizeof(double)));
  for (size_t i = 0; i < kDistinct * kQuestions; ++i) questions[i] = static_cast<double>(i % 10007);

  double ms = 0;
  {
    Server server;
    auto all = [&](int requests) {
      for (int r = 0; r < requests; ++r)
        server.Serve(r, questions + r % kDistinct * kQuestions, answers + r % kDistinct * kQuestions);
      POOL_TRY(cudaDeviceSynchronize());
    };
    all(2 * kStreams);
    nvtx3::scoped_range range{"work"};
    timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    all(kRequests);
    clock_gettime(CLOCK_MONOTONIC, &to);
    ms = (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6;
  }

  for (size_t i = 0; i < kDistinct * kQuestions; i += 9973)
    if (std::fabs(answers[i] - Answer(questions[i], kDepth)) > 1e-9) {
      std::printf("answer %zu is wrong\n", i);
      return 1;
    }
  std::printf("%d requests served\n", kRequests);
  std::printf("time_ms=%.3f\n", ms);
}
