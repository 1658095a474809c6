// Four OpenMP threads filter the channels of a recording, all in the default stream: nvcc decides whether
// that is one stream or one for each thread.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <omp.h>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#define SAMPLES (1 << 21)
#define CHANNELS 40
#define TIMES 4
#define THREADS 4

#define CK(x)                                                            \
  {                                                                      \
    cudaError_t err__ = (x);                                             \
    if (err__ != cudaSuccess) {                                          \
      printf("FAILED %s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err__)); \
      exit(1);                                                           \
    }                                                                    \
  }

__host__ __device__ float filter(float s, float a, int n)
{
  float x = s, y = 0;
  for (int i = 0; i < n; i++) {
    float t = fmaf(a, y, x);
    y = 0.5f * t;
    x = t - y;
  }
  return x + y;
}

__global__ void filter_channel(float *s, float a, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[i] = filter(s[i], a, n);
}

int main()
{
  float *sound;
  size_t channel = SAMPLES * sizeof(float);
  CK(cudaMallocHost(&sound, CHANNELS * channel));
  for (size_t i = 0; i < (size_t)CHANNELS * SAMPLES; i++)
    sound[i] = (float)(i % 2003) / 2003;

  struct timespec t0 = {0, 0}, t1;
#pragma omp parallel num_threads(THREADS)
  {
    float *mine;
    CK(cudaMalloc(&mine, channel));
    filter_channel<<<SAMPLES / 256, 256>>>(mine, 0.5f, 1);
    CK(cudaStreamSynchronize(0));
#pragma omp barrier
#pragma omp master
    {
      CK(cudaDeviceSynchronize());
      nvtxRangePushA("work");
      clock_gettime(CLOCK_MONOTONIC, &t0);
    }
#pragma omp barrier
    for (int time = 0; time < TIMES; time++) {
#pragma omp for schedule(static, 1) nowait
      for (int c = 0; c < CHANNELS; c++) {
        float *here = sound + (size_t)c * SAMPLES;
        CK(cudaMemcpyAsync(mine, here, channel, cudaMemcpyHostToDevice, 0));
        filter_channel<<<SAMPLES / 256, 256>>>(mine, 0.25f, 300);
        CK(cudaGetLastError());
        CK(cudaMemcpyAsync(here, mine, channel, cudaMemcpyDeviceToHost, 0));
      }
    }
    CK(cudaStreamSynchronize(0));
  }
  clock_gettime(CLOCK_MONOTONIC, &t1);
  nvtxRangePop();

  for (size_t i = 0; i < (size_t)CHANNELS * SAMPLES; i += 40009) {
    float s = (float)(i % 2003) / 2003;
    for (int time = 0; time < TIMES; time++)
      s = filter(s, 0.25f, 300);
    if (sound[i] - s > 1e-4f || s - sound[i] > 1e-4f) {
      printf("channel %d is distorted\n", (int)(i / SAMPLES));
      return 1;
    }
  }
  printf("%d channels filtered\n", CHANNELS);
  printf("time_ms=%.3f\n", (t1.tv_sec - t0.tv_sec) * 1e3 + (t1.tv_nsec - t0.tv_nsec) / 1e6);
  return 0;
}
