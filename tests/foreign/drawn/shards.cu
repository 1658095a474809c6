// libs: -Xcompiler -fopenmp
/* The optimizer's state stays on the host; four threads bring shard after shard to the device, update and return it. */
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <omp.h>
#include <sys/file.h>

#include <cuda_runtime.h>

#define SHARDS 48
#define SHARD (2 * 1024 * 1024)
#define WORKERS 4
#define UPDATES 24

#ifdef WRONG
static const cudaStream_t mine = 0;
#else
static const cudaStream_t mine = cudaStreamPerThread;
#endif

#define GPU(call)                                                                       \
  do {                                                                                  \
    cudaError_t rc = (call);                                                            \
    if (rc) {                                                                           \
      printf("%s failed: %s\n", #call, cudaGetErrorString(rc));                         \
      exit(EXIT_FAILURE);                                                               \
    }                                                                                   \
  } while (0)

__host__ __device__ static float updated(float weight, int index, int number)
{
  float gradient = (float)((index ^ number) & 255) - 127.5f;
  return fmaf(weight, 0.99f, -0.001f * gradient);
}

__global__ void update(float *weight, int first, int number)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  weight[i] = updated(weight[i], first + i, number);
}

int main(void)
{
  float *state, *buffer[WORKERS];
  const size_t bytes = SHARD * sizeof(float);

  GPU(cudaMallocHost(&state, SHARDS * bytes));
#pragma omp parallel for
  for (int i = 0; i < SHARDS * SHARD; i++)
    state[i] = (float)(i % 1000);
  for (int w = 0; w < WORKERS; w++)
    GPU(cudaMalloc(&buffer[w], bytes));
  if (getenv("FOREIGN_LOCK"))
    flock(open(getenv("FOREIGN_LOCK"), O_RDWR | O_CREAT, 0600), LOCK_EX);

  double start = omp_get_wtime();
  for (int number = 0; number < UPDATES; number++) {
#pragma omp parallel num_threads(WORKERS)
    {
      float *here = buffer[omp_get_thread_num()];
#pragma omp for schedule(static, 1)
      for (int s = 0; s < SHARDS; s++) {
        float *shard = state + (size_t)s * SHARD;
        GPU(cudaMemcpyAsync(here, shard, bytes, cudaMemcpyHostToDevice, mine));
        update<<<SHARD / 512, 512, 0, mine>>>(here, s * SHARD, number);
        GPU(cudaGetLastError());
        GPU(cudaMemcpyAsync(shard, here, bytes, cudaMemcpyDeviceToHost, mine));
      }
      GPU(cudaStreamSynchronize(mine));
    }
    if (number % 4 == 3)
      printf("update %d: weight 0 is %f\n", number + 1, state[0]);
  }
  double took = omp_get_wtime() - start;

  int bad = 0;
  for (int i = 0; i < SHARDS * SHARD; i += 30011) {
    float w = (float)(i % 1000);
    for (int number = 0; number < UPDATES; number++)
      w = updated(w, i, number);
    bad += !(w - state[i] < 1e-3f && state[i] - w < 1e-3f);
  }
  printf("%d weights differ\n", bad);
  printf("pass_ms=%.4f\n", took * 1e3 / UPDATES);
  return bad > 0;
}
