// libs: -Xcompiler -fopenmp
// A video server re-encodes in the background, and watches each frame for trouble, which somebody waits for.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <omp.h>
#include <sys/file.h>
#include <vector>

#include <cuda_runtime.h>

static const unsigned table_size = 64u << 20, blocks_of_video = 8u << 20, lookups = 26;
static const int frames = 60, steps = 22, links = 40000, watchers = 2048;

#define E(x)                                                                      \
    do {                                                                          \
        if (cudaError_t e = (x)) {                                                \
            fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e));         \
            exit(70);                                                             \
        }                                                                         \
    } while (0)

__host__ __device__ unsigned match(const unsigned *table, unsigned at, unsigned n)
{
    unsigned v = at;
    for (unsigned i = 0; i < n; i++)
        v = table[(v * 2654435761u + i) & (table_size - 1)];
    return v;
}

__global__ void encode(const unsigned *table, unsigned *out, unsigned count, unsigned frame)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = match(table, i ^ frame, lookups);
}

__host__ __device__ unsigned look(unsigned v, int n)
{
    for (int i = 0; i < n; i++)
        v = v * 1103515245u + 12345u;
    return v;
}

__global__ void watch(unsigned *state, int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    state[i] = look(state[i], n);
}

int main()
{
    std::vector<unsigned> table(table_size);
#pragma omp parallel for
    for (long i = 0; i < (long)table_size; i++)
        table[i] = (unsigned)i * 747796405u + 2891336453u;
    unsigned *d_table, *d_out, *d_state, *h_state, sample = 0;
    E(cudaMalloc(&d_table, table_size * sizeof(unsigned)));
    E(cudaMalloc(&d_out, blocks_of_video * sizeof(unsigned)));
    E(cudaMalloc(&d_state, watchers * sizeof(unsigned)));
    E(cudaMallocHost(&h_state, watchers * sizeof(unsigned)));
    int low, high;
    cudaStream_t background, alarm;
    cudaEvent_t seen;
    E(cudaDeviceGetStreamPriorityRange(&low, &high));
    E(cudaStreamCreateWithPriority(&background, cudaStreamNonBlocking, low));
#ifdef WRONG
    E(cudaStreamCreateWithFlags(&alarm, cudaStreamNonBlocking));
#else
    E(cudaStreamCreateWithPriority(&alarm, cudaStreamNonBlocking, high));
#endif
    E(cudaEventCreateWithFlags(&seen, cudaEventDisableTiming | cudaEventBlockingSync));
    if (const char *lock = getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    for (unsigned part = 0; part < 8; part++) // the code book comes in first
        E(cudaMemcpy(d_table + part * (table_size / 8), &table[part * (table_size / 8)],
                     table_size / 8 * sizeof(unsigned), cudaMemcpyHostToDevice));
    encode<<<1024, 1024, 0, background>>>(d_table, d_out, 1 << 20, 0);
    watch<<<watchers / 256, 256, 0, alarm>>>(d_state, 1);
    E(cudaDeviceSynchronize());

    long bad = 0;
    unsigned last = 0, count = 0;
    std::vector<unsigned> seen_there(frames);
    double start = omp_get_wtime();
    for (int f = 0; f < frames; f++) {
        last = f;
        count = blocks_of_video - (f % 4) * 200000; // frames differ a little
        encode<<<(count + 1023) / 1024, 1024, 0, background>>>(d_table, d_out, count, f);
        for (int i = 0; i < watchers; i++)
            h_state[i] = f * watchers + i;
        E(cudaMemcpyAsync(d_state, h_state, watchers * sizeof(unsigned), cudaMemcpyHostToDevice, alarm));
        for (int s = 0; s < steps; s++)
            watch<<<watchers / 256, 256, 0, alarm>>>(d_state, links);
        E(cudaMemcpyAsync(h_state, d_state, watchers * sizeof(unsigned), cudaMemcpyDeviceToHost, alarm));
        E(cudaEventRecord(seen, alarm));
        E(cudaEventSynchronize(seen));
        seen_there[f] = h_state[f];
    }
    E(cudaDeviceSynchronize());
    double took = omp_get_wtime() - start;
    for (int f = 0; f < frames; f++)
        bad += seen_there[f] != look(f * watchers + f, steps * links);
    for (unsigned i = 0; i < count; i += 1000003) {
        E(cudaMemcpy(&sample, d_out + i, sizeof sample, cudaMemcpyDeviceToHost));
        bad += sample != match(table.data(), i ^ last, lookups);
    }
    printf("%d frames watched, %ld wrong\n", frames, bad);
    printf("pass_ms=%.4f\n", took * 1e3 / frames);
    return bad != 0;
}
