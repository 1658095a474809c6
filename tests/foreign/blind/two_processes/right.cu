/* halves: two processes, one GPU. The parent starts itself again for the second half of the table before
 * either has touched CUDA; each works through its half, the parent adds up. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

enum { CHUNK = 1 << 20, CHUNKS = 40, PASSES = 3, STREAMS = 4 };

static void stop(const char *what)
{
  perror(what);
  exit(6);
}

#define CUDA(expression)                                                                           \
  if (cudaError_t error_ = expression) {                                                           \
    fprintf(stderr, "halves: %s\n", cudaGetErrorString(error_));                                   \
    exit(7);                                                                                       \
  }

__global__ void depreciate(const double *price, double *worth, int years)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double p = price[i];
  for (int y = 0; y < years; y++)
    p = p * 0.96 + 1.0;
  worth[i] = p;
}

static double *table(size_t count)
{
  double *memory;
  CUDA(cudaHostAlloc((void **)&memory, count * sizeof *memory, cudaHostAllocDefault));
  return memory;
}

/* Works through one half. Says on `ready` that it could begin, begins when `go` says so, and leaves the sum. */
static double half(int which, int ready, int go, double *ms)
{
  size_t count = (size_t)CHUNK * CHUNKS;
  double *price = table(count), *worth = table(count), *d_price[STREAMS], *d_worth[STREAMS];
  cudaStream_t stream[STREAMS];
  for (size_t i = 0; i < count; i++)
    price[i] = (double)((i * 17 + which) % 1000);
  memset(worth, 0, count * sizeof *worth);
  for (int s = 0; s < STREAMS; s++) {
    CUDA(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&d_price[s], CHUNK * sizeof(double)));
    CUDA(cudaMalloc((void **)&d_worth[s], CHUNK * sizeof(double)));
    CUDA(cudaMemcpy(d_price[s], price, CHUNK * sizeof(double), cudaMemcpyHostToDevice));
    depreciate<<<CHUNK / 256, 256, 0, stream[s]>>>(d_price[s], d_worth[s], 10);
  }
  CUDA(cudaDeviceSynchronize());

  char byte = 'r';
  if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1)
    stop("halves: pipe");
  struct timespec begin, end;
  nvtxRangePushA("work");
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int n = 0; n < PASSES * CHUNKS; n++) {
    int s = n % STREAMS;
    size_t at = (size_t)(n % CHUNKS) * CHUNK;
    CUDA(cudaMemcpyAsync(d_price[s], price + at, CHUNK * sizeof(double), cudaMemcpyHostToDevice, stream[s]));
    depreciate<<<CHUNK / 256, 256, 0, stream[s]>>>(d_price[s], d_worth[s], 60);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpyAsync(worth + at, d_worth[s], CHUNK * sizeof(double), cudaMemcpyDeviceToHost, stream[s]));
  }
  CUDA(cudaDeviceSynchronize());
  clock_gettime(CLOCK_MONOTONIC, &end);
  nvtxRangePop();
  *ms = (end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) / 1e6;

  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += worth[i];
  return sum;
}

static double expected(int which)
{
  double sum = 0;
  for (size_t i = 0; i < (size_t)CHUNK * CHUNKS; i++) {
    static double worth[1000];
    int p = (i * 17 + which) % 1000;
    if (worth[p] == 0) {
      worth[p] = p;
      for (int y = 0; y < 60; y++)
        worth[p] = worth[p] * 0.96 + 1.0;
    }
    sum += worth[p];
  }
  return sum;
}

int main(int argc, char **argv)
{
  if (argc == 2 && strcmp(argv[1], "second") == 0) { /* 3: to the parent; 4: from it */
    double ms, sum = half(1, 3, 4, &ms);
    return write(3, &sum, sizeof sum) != sizeof sum;
  }

  int up[2], down[2];
  if (pipe2(up, O_CLOEXEC) || pipe2(down, O_CLOEXEC))
    stop("halves: pipe");
  pid_t child = fork();
  if (child < 0)
    stop("halves: fork");
  if (child == 0) {
    int to = fcntl(up[1], F_DUPFD, 10), from = fcntl(down[0], F_DUPFD, 10);
    if (to < 0 || from < 0 || dup2(to, 3) != 3 || dup2(from, 4) != 4)
      _exit(8);
    close(to);
    close(from);
    execl("/proc/self/exe", argv[0], "second", (char *)NULL);
    _exit(9);
  }
  close(up[1]);
  close(down[0]);

  /* The parent's own half begins when the child is ready, too. */
  char byte;
  if (read(up[0], &byte, 1) != 1)
    stop("halves: the second process");
  int self[2];
  if (pipe(self) || write(self[1], "g", 1) != 1)
    stop("halves: pipe");
  double ms, sum = half(0, down[1], self[0], &ms), other;
  if (read(up[0], &other, sizeof other) != sizeof other)
    stop("halves: the second process");
  int status;
  if (waitpid(child, &status, 0) != child || status != 0)
    stop("halves: the second process failed");

  double error = (sum + other) / (expected(0) + expected(1)) - 1;
  if (error > 1e-9 || error < -1e-9) {
    printf("halves: wrong by %g\n", error);
    return 1;
  }
  printf("halves: all %d prices\n", 2 * CHUNK * CHUNKS);
  printf("time_ms=%.3f\n", ms);
  return 0;
}
