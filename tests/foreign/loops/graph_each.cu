// Heat in a small plate: a frame is 60 short steps, captured into a graph.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

static void check(cudaError_t e, const char *what)
{
    if (e == cudaSuccess)
        return;
    fprintf(stderr, "plate: %s: %s\n", what, cudaGetErrorString(e));
    exit(3);
}
#define CHECK(x) check(x, #x)

enum { SIDE = 256, STEPS = 60, FRAMES = 400 };

__global__ void step(const float *now, float *next)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, at = y * SIDE + x;
    if (x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1)
        next[at] = now[at];
    else
        next[at] = 0.25f * (now[at - 1] + now[at + 1] + now[at - SIDE] + now[at + SIDE]);
}

static float *plate[2];
static cudaStream_t stream;

static cudaGraphExec_t capture(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t ready;

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < STEPS; i++)
        step<<<dim3(SIDE / 32, SIDE / 8), dim3(32, 8), 0, stream>>>(plate[i % 2], plate[(i + 1) % 2]);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return ready;
}

int main(void)
{
    static float start[SIDE * SIDE], end[SIDE * SIDE];
    const char *lock = getenv("FOREIGN_LOCK");
    struct timespec a, b;
    double sum = 0;

    for (int i = 0; i < SIDE * SIDE; i++)
        start[i] = i / SIDE == 0 ? 100.0f : (float)(i % 17);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc((void **)&plate[0], sizeof start));
    CHECK(cudaMalloc((void **)&plate[1], sizeof start));
    CHECK(cudaMemcpy(plate[0], start, sizeof start, cudaMemcpyHostToDevice));
    if (lock)
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);
    cudaGraphExec_t frame = capture();
    CHECK(cudaGraphLaunch(frame, stream));
    CHECK(cudaStreamSynchronize(stream));

    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int f = 0; f < FRAMES; f++) {
#ifdef WRONG
        CHECK(cudaGraphExecDestroy(frame));
        frame = capture();
#endif
        CHECK(cudaGraphLaunch(frame, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    clock_gettime(CLOCK_MONOTONIC, &b);

    CHECK(cudaMemcpy(end, plate[0], sizeof end, cudaMemcpyDeviceToHost));
    for (int x = 1; x < SIDE - 1; x++)
        sum += end[SIDE + x];
    bool right = isfinite(sum) && sum / (SIDE - 2) > 90 && sum / (SIDE - 2) < 100;
    printf("%d frames, beside the hot edge %.1f degrees\n", FRAMES, sum / (SIDE - 2));
    printf("pass_ms=%.4f\n", ((b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6) / FRAMES);
    return right ? 0 : 1;
}
