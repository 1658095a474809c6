// Hashes the chunks of a long log; the environment decides how long each launch takes.
#include <nvtx3/nvToolsExt.h>
#include <cuda_runtime.h>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>

template <typename Call> static void run(Call call)
{
  cudaError_t result = call();
  if (result != cudaSuccess) { std::fprintf(stderr, "log: %s\n", cudaGetErrorString(result)); std::exit(11); }
}
#define RUN(call) run([&] { return call; })

constexpr unsigned lines = 1u << 16, line_bytes = 128, chunks = 30, times = 5, depth = 3;
constexpr size_t chunk_bytes = size_t{lines} * line_bytes;

__host__ __device__ static uint64_t fnv(const unsigned char *line, unsigned again)
{
  uint64_t h = 14695981039346656037ull;
  for (unsigned r = 0; r < again; r++)
    for (unsigned i = 0; i < line_bytes; i++) h = (h ^ line[(i * 8) % line_bytes + i / 16]) * 1099511628211ull;
  return h;
}

__global__ void hash_lines(const unsigned char *text, uint64_t *hash, unsigned again)
{
  unsigned line = blockIdx.x * blockDim.x + threadIdx.x;
  hash[line] = fnv(text + size_t{line} * line_bytes, again);
}

int main()
{
  unsigned char *text, *d_text[depth];
  uint64_t *hash, *d_hash[depth];
  cudaStream_t stream[depth];
  RUN(cudaMallocHost(&text, chunks * chunk_bytes));
  RUN(cudaMallocHost(&hash, sizeof(uint64_t) * chunks * lines));
  for (size_t i = 0; i < chunks * chunk_bytes; i++) text[i] = ' ' + (i * 2654435761u >> 12) % 95;
  for (unsigned d = 0; d < depth; d++) {
    RUN(cudaStreamCreateWithFlags(&stream[d], cudaStreamNonBlocking));
    RUN(cudaMalloc(&d_text[d], chunk_bytes));
    RUN(cudaMalloc(&d_hash[d], sizeof(uint64_t) * lines));
  }

  timespec begin{}, end{};
  for (unsigned round = 0; round <= times; round++) { // round 0 warms up
    if (round == 1) {
      RUN(cudaDeviceSynchronize());
      nvtxRangePushA("work");
      clock_gettime(CLOCK_MONOTONIC, &begin);
    }
    for (unsigned c = 0; c < chunks; c++) {
      unsigned d = c % depth;
      RUN(cudaMemcpyAsync(d_text[d], text + c * chunk_bytes, chunk_bytes, cudaMemcpyHostToDevice, stream[d]));
      hash_lines<<<lines / 128, 128, 0, stream[d]>>>(d_text[d], d_hash[d], 20);
      RUN(cudaGetLastError());
      RUN(cudaMemcpyAsync(hash + c * lines, d_hash[d], sizeof(uint64_t) * lines, cudaMemcpyDeviceToHost, stream[d]));
    }
  }
  RUN(cudaDeviceSynchronize());
  clock_gettime(CLOCK_MONOTONIC, &end);
  nvtxRangePop();

  uint64_t all = 0;
  for (unsigned l = 0; l < chunks * lines; l += 67) {
    if (hash[l] != fnv(text + size_t{l} * line_bytes, 20)) { std::printf("line %u is wrong\n", l); return 1; }
    all ^= hash[l];
  }
  std::printf("hash of all %" PRIx64 "\ntime_ms=%.3f\n", all,
              (end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) * 1e-6);
  return 0;
}
