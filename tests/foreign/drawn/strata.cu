/* Tilts the strata of a geological model, column by column, a little in each pass. */
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#define COLUMNS 150
#define CELLS (128 * 1024)
#define RING 8
#define PASSES 80
#define WARM 3
#define TILT 1500

struct lane {
    cudaStream_t stream;
    cudaEvent_t done;
    uint32_t *cells;
};

static struct lane ring[RING];

static void try_it(cudaError_t e, int line)
{
    if (!e)
        return;
    fprintf(stderr, "strata.cu:%d: %s\n", line, cudaGetErrorString(e));
    exit(1);
}
#define TRY(x) try_it(x, __LINE__)

__host__ __device__ static uint32_t tilt(uint32_t cell, int n)
{
    for (int i = 0; i < n; i++)
        cell = cell * 134775813u + 1u;
    return cell;
}

__global__ void tilt_column(uint32_t *cells, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cells[i] = tilt(cells[i], n);
}

static void open_lane(struct lane *l)
{
    TRY(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&l->done, cudaEventDisableTiming));
}

static void pass(uint32_t *model)
{
    int c;
    for (c = 0; c < COLUMNS; c++) {
        struct lane *l = &ring[c % RING];
        uint32_t *column = model + (size_t)c * CELLS;
#ifdef WRONG
        struct lane old = *l;
        open_lane(l);
        TRY(cudaStreamWaitEvent(l->stream, old.done, 0));
        TRY(cudaEventDestroy(old.done));
        TRY(cudaStreamDestroy(old.stream));
#endif
        TRY(cudaMemcpyAsync(l->cells, column, CELLS * sizeof *column, cudaMemcpyHostToDevice, l->stream));
        tilt_column<<<CELLS / 256, 256, 0, l->stream>>>(l->cells, TILT);
        TRY(cudaMemcpyAsync(column, l->cells, CELLS * sizeof *column, cudaMemcpyDeviceToHost, l->stream));
        TRY(cudaEventRecord(l->done, l->stream));
    }
    TRY(cudaDeviceSynchronize());
}

int main(void)
{
    uint32_t *model;
    struct timespec t0, t1;
    const char *lock = getenv("FOREIGN_LOCK");
    int i, p, bad = 0;

    TRY(cudaMallocHost((void **)&model, sizeof *model * COLUMNS * CELLS));
    for (i = 0; i < COLUMNS * CELLS; i++)
        model[i] = i ^ i >> 7;
    for (i = 0; i < RING; i++) {
        TRY(cudaMalloc((void **)&ring[i].cells, sizeof *model * CELLS));
        open_lane(&ring[i]);
    }
    if (lock)
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    for (p = 0; p < WARM; p++)
        pass(model);
    clock_gettime(CLOCK_MONOTONIC, &t0);
    for (p = 0; p < PASSES; p++)
        pass(model);
    clock_gettime(CLOCK_MONOTONIC, &t1);

    for (i = 0; i < COLUMNS * CELLS; i += 130003)
        bad += model[i] != tilt(i ^ i >> 7, TILT * (PASSES + WARM));
    printf("%d columns, %d bad cells\n", COLUMNS, bad);
    printf("pass_ms=%.4f\n", ((t1.tv_sec - t0.tv_sec) * 1e3 + (t1.tv_nsec - t0.tv_nsec) / 1e6) / PASSES);
    return bad > 0;
}
