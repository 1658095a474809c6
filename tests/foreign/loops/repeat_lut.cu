// Colour grading: each window of a long signal goes through a large table of the device's.
#include <cuda_runtime.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#define OK(x) ok(x, __LINE__)
static void ok(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "grade: line %d: %s\n", line, cudaGetErrorString(e));
        exit(2);
    }
}

enum { TABLE = 8 << 20, WINDOW = 4 << 20, HOP = 4096, PASSES = 300, LANES = 3, LOOKS = 8 };

__host__ __device__ static unsigned grade(unsigned v, const unsigned *table)
{
    for (int i = 0; i < LOOKS; i++)
        v = table[v % TABLE] + i;
    return v;
}

__global__ void grade_all(const unsigned *in, unsigned *out, const unsigned *table)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < WINDOW; i += gridDim.x * blockDim.x)
        out[i] = grade(in[i], table);
}

static unsigned *signal, *table;
static struct lane {
    cudaStream_t stream;
    unsigned *in, *out, *table, *home;
} lanes[LANES];

static void pass(int p)
{
    struct lane *l = &lanes[p % LANES];
#ifdef WRONG
    OK(cudaMemcpyAsync(l->table, table, TABLE * 4, cudaMemcpyHostToDevice, l->stream));
#endif
    OK(cudaMemcpyAsync(l->in, signal + p * HOP, WINDOW * 4, cudaMemcpyHostToDevice, l->stream));
    grade_all<<<1056, 256, 0, l->stream>>>(l->in, l->out, l->table);
    OK(cudaGetLastError());
    OK(cudaMemcpyAsync(l->home, l->out, WINDOW * 4, cudaMemcpyDeviceToHost, l->stream));
}

int main(void)
{
    struct timespec from, to;
    const char *lock = getenv("FOREIGN_LOCK");

    OK(cudaMallocHost((void **)&signal, (WINDOW + PASSES * HOP) * 4));
    OK(cudaMallocHost((void **)&table, TABLE * 4));
    for (unsigned i = 0; i < WINDOW + PASSES * HOP; i++)
        signal[i] = i * 2654435761u;
    for (unsigned i = 0; i < TABLE; i++)
        table[i] = (i ^ i >> 7) * 2246822519u;
    for (int i = 0; i < LANES; i++) {
        OK(cudaStreamCreateWithFlags(&lanes[i].stream, cudaStreamNonBlocking));
        OK(cudaMalloc((void **)&lanes[i].in, WINDOW * 4));
        OK(cudaMalloc((void **)&lanes[i].out, WINDOW * 4));
        OK(cudaMalloc((void **)&lanes[i].table, TABLE * 4));
        OK(cudaMallocHost((void **)&lanes[i].home, WINDOW * 4));
        OK(cudaMemcpy(lanes[i].table, table, TABLE * 4, cudaMemcpyHostToDevice));
    }
    if (lock)
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    for (int i = 0; i < LANES; i++)
        pass(i);
    OK(cudaDeviceSynchronize());

    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int p = 0; p < PASSES; p++)
        pass(p);
    OK(cudaDeviceSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &to);

    for (int p = PASSES - LANES; p < PASSES; p++)
        for (int i = 0; i < WINDOW; i += 4099)
            if (lanes[p % LANES].home[i] != grade(signal[p * HOP + i], table))
                return printf("window %d is wrong\n", p), 1;
    printf("%d windows are graded\n", PASSES);
    printf("pass_ms=%.4f\n", ((to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6) / PASSES);
    return 0;
}
