/* Workers take jobs off a list, run them on the GPU and write down the results. */
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4, JOBS = 128, DISTINCT = 32, LONGS = 1 << 20, TURNS = 120 };

static uint64_t *jobs, *results;
static int next_job;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
#ifdef WRONG
static pthread_mutex_t gpu_lock = PTHREAD_MUTEX_INITIALIZER;
#endif
static pthread_barrier_t all_ready;

static void cu(cudaError_t error)
{
	if (!error)
		return;
	fprintf(stderr, "workers: %s\n", cudaGetErrorString(error));
	_exit(44);
}

static __host__ __device__ uint64_t work_on(uint64_t x, int turns)
{
	while (turns--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

__global__ void job(const uint64_t *in, uint64_t *out, int turns)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	out[i] = work_on(in[i], turns);
}

static int take(void)
{
	pthread_mutex_lock(&list_lock);
	int number = next_job < JOBS ? next_job++ : -1;
	pthread_mutex_unlock(&list_lock);
	return number;
}

static void *worker(void *unused)
{
	cudaStream_t stream;
	uint64_t *in, *out, *result;
	int number;

	(void)unused;
	cu(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	cu(cudaMalloc((void **)&in, LONGS * 8));
	cu(cudaMalloc((void **)&out, LONGS * 8));
	cu(cudaMallocHost((void **)&result, LONGS * 8));
	job<<<LONGS / 256, 256, 0, stream>>>(in, out, 1);
	cu(cudaMemcpyAsync(result, out, LONGS * 8, cudaMemcpyDeviceToHost, stream));
	cu(cudaStreamSynchronize(stream));
	pthread_barrier_wait(&all_ready); /* all are set up */
	pthread_barrier_wait(&all_ready); /* and may go */

	while ((number = take()) >= 0) {
#ifdef WRONG
		pthread_mutex_lock(&gpu_lock);
#endif
		cu(cudaMemcpyAsync(in, jobs + (size_t)(number % DISTINCT) * LONGS, LONGS * 8, cudaMemcpyHostToDevice, stream));
		job<<<LONGS / 256, 256, 0, stream>>>(in, out, TURNS);
		cu(cudaGetLastError());
		cu(cudaMemcpyAsync(result, out, LONGS * 8, cudaMemcpyDeviceToHost, stream));
		cu(cudaStreamSynchronize(stream));
#ifdef WRONG
		pthread_mutex_unlock(&gpu_lock);
#endif
		results[number] = result[number] + result[LONGS - 1 - number];
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[WORKERS];
	struct timespec t0, t1;
	int i, bad = 0;

	cu(cudaMallocHost((void **)&jobs, (size_t)DISTINCT * LONGS * 8));
	results = (uint64_t *)calloc(JOBS, sizeof *results);
	for (size_t k = 0; k < (size_t)DISTINCT * LONGS; k++)
		jobs[k] = k * 88172645463325252ull + 1;
	pthread_barrier_init(&all_ready, NULL, WORKERS + 1);
	for (i = 0; i < WORKERS; i++)
		pthread_create(&thread[i], NULL, worker, NULL);
	pthread_barrier_wait(&all_ready);

	nvtxRangePushA("work");
	clock_gettime(CLOCK_MONOTONIC, &t0);
	pthread_barrier_wait(&all_ready);
	for (i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	nvtxRangePop();

	for (i = 0; i < JOBS; i++) {
		const uint64_t *j = jobs + (size_t)(i % DISTINCT) * LONGS;
		bad += results[i] != work_on(j[i], TURNS) + work_on(j[LONGS - 1 - i], TURNS);
	}
	printf("%d jobs, %d of them wrong\n", JOBS, bad);
	printf("time_ms=%.3f\n", (t1.tv_sec - t0.tv_sec) * 1e3 + (t1.tv_nsec - t0.tv_nsec) / 1e6);
	return bad > 0;
}
