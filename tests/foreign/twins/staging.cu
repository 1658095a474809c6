// Scores a table that lies in ordinary memory: each piece is copied into page-locked memory by hand, then to
// the device, where all pieces are folded into one row of sums.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <time.h>
#include <vector>

using std::size_t;
using std::uint32_t;

#define C(x) c_(x, __func__, __LINE__)
static inline void c_(cudaError_t e, const char *f, int l)
{
   if (e) {
      std::fprintf(stderr, "%s, line %d: %s\n", f, l, cudaGetErrorName(e));
      std::exit(21);
   }
}

constexpr size_t piece = 1 << 20, pieces = 64;
#ifdef WRONG
constexpr size_t buffers = 1;
#else
constexpr size_t buffers = 2;
#endif
constexpr unsigned columns = 1 << 17, hard = 1800;

__host__ __device__ static uint32_t score(uint32_t v, unsigned n)
{
   for (unsigned i = 0; i < n; ++i)
      v = (v ^ (v >> 14)) * 0x2c1b3c6du;
   return v;
}

__global__ void fold(const uint32_t *p, uint32_t *sums, unsigned n)
{
   unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
   uint32_t sum = 0;
   for (size_t row = 0; row < piece / columns; ++row)
      sum += score(p[row * columns + column], n);
   sums[column] += sum;
}

int main()
{
   std::vector<uint32_t> table(piece * pieces), sums(columns);
   for (size_t i = 0; i < table.size(); ++i)
      table[i] = static_cast<uint32_t>(i * 69069u + 5);

   uint32_t *staged[buffers], *d_piece, *d_sums;
   cudaStream_t stream;
   for (uint32_t *&buffer : staged)
      C(cudaMallocHost(&buffer, piece * sizeof(uint32_t)));
#ifndef WRONG
   cudaEvent_t sent[buffers];
   for (cudaEvent_t &event : sent)
      C(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
#endif
   C(cudaMalloc(&d_piece, piece * sizeof(uint32_t)));
   C(cudaMalloc(&d_sums, columns * sizeof(uint32_t)));
   C(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
   std::memcpy(staged[0], table.data(), piece * sizeof(uint32_t));
   C(cudaMemcpyAsync(d_piece, staged[0], piece * sizeof(uint32_t), cudaMemcpyHostToDevice, stream));
   fold<<<columns / 128, 128, 0, stream>>>(d_piece, d_sums, 1);
   C(cudaMemsetAsync(d_sums, 0, columns * sizeof(uint32_t), stream));
   C(cudaStreamSynchronize(stream));

   timespec a, b;
   nvtxRangePushA("work");
   clock_gettime(CLOCK_MONOTONIC, &a);
   for (size_t p = 0; p < pieces; ++p) {
      uint32_t *buffer = staged[p % buffers];
#ifndef WRONG
      C(cudaEventSynchronize(sent[p % buffers])); // the piece before the last may still be on its way
#endif
      std::memcpy(buffer, &table[p * piece], piece * sizeof(uint32_t));
      C(cudaMemcpyAsync(d_piece, buffer, piece * sizeof(uint32_t), cudaMemcpyHostToDevice, stream));
#ifndef WRONG
      C(cudaEventRecord(sent[p % buffers], stream));
#endif
      fold<<<columns / 128, 128, 0, stream>>>(d_piece, d_sums, hard);
      C(cudaGetLastError());
#ifdef WRONG
      C(cudaStreamSynchronize(stream)); // before the piece in page-locked memory is overwritten
#endif
   }
   C(cudaStreamSynchronize(stream));
   clock_gettime(CLOCK_MONOTONIC, &b);
   nvtxRangePop();

   C(cudaMemcpy(sums.data(), d_sums, columns * sizeof(uint32_t), cudaMemcpyDeviceToHost));
   for (unsigned column = 0; column < columns; column += 8191) {
      uint32_t sum = 0;
      for (size_t i = column; i < table.size(); i += columns)
         sum += score(table[i], hard);
      if (sum != sums[column]) {
         std::printf("column %u is wrong\n", column);
         return 1;
      }
   }
   std::printf("%zu pieces scored\n", pieces);
   std::printf("time_ms=%.3f\n", (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6);
   return 0;
}
