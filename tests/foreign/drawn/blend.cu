// Blends two pictures without a seam: solves a Poisson equation by Jacobi steps, until little changes.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

#include <cuda_runtime.h>

enum { Width = 4096, Height = 2048, Steps = 300, Pictures = 24 };
static const float Enough = 1e-12f;

struct Picture {
    float *now, *next;
    int *change, *seen; // the largest change of each step, as the bits of a float
    cudaStream_t stream;
};

static void check(cudaError_t e, const char *what)
{
    if (e == cudaSuccess)
        return;
    std::fprintf(stderr, "blend: %s: %s\n", what, cudaGetErrorString(e));
    std::exit(11);
}

__global__ void jacobi(const float *from, float *to, int *change)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float old = from[y * Width + x], fresh = old;
    if (x > 0 && x < Width - 1 && y > 0 && y < Height - 1)
        fresh = 0.25f * ((from[y * Width + x - 1] + from[y * Width + x + 1]) +
                         (from[(y - 1) * Width + x] + from[(y + 1) * Width + x]));
    to[y * Width + x] = fresh;
    int any = __syncthreads_or(fabsf(fresh - old) > Enough);
    if (any && threadIdx.x == 0 && threadIdx.y == 0 && *change == 0)
        *change = 1;
}

__global__ void paint(float *picture, int number)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    bool rim = x == 0 || x == Width - 1 || y == 0 || y == Height - 1;
    int m = x < Width - 1 - x ? x : Width - 1 - x; // left and right are alike
    picture[y * Width + x] = rim ? (float)((m * 3 + y + number) % 256) : (float)(m % 128);
}

static int solve(Picture &p, dim3 block, int steps)
{
    dim3 grid(Width / block.x, Height / block.y);
    int s;
    check(cudaMemsetAsync(p.change, 0, Steps * sizeof(int), p.stream), "clear");
    for (s = 0; s < steps; s++) {
        jacobi<<<grid, block, 0, p.stream>>>(p.now, p.next, p.change + s);
        check(cudaGetLastError(), "step");
        std::swap(p.now, p.next);
#ifdef WRONG
        check(cudaMemcpyAsync(p.seen + s, p.change + s, sizeof(int), cudaMemcpyDeviceToHost, p.stream), "change");
        check(cudaStreamSynchronize(p.stream), "step");
        if (!p.seen[s])
            break;
#endif
    }
    check(cudaMemcpyAsync(p.seen, p.change, Steps * sizeof(int), cudaMemcpyDeviceToHost, p.stream), "changes");
    check(cudaStreamSynchronize(p.stream), "picture");
    return s;
}

int main()
{
    Picture p;
    const size_t bytes = sizeof(float) * Width * Height;
    check(cudaMalloc(&p.now, bytes), "now");
    check(cudaMalloc(&p.next, bytes), "next");
    check(cudaMalloc(&p.change, Steps * sizeof(int)), "change");
    check(cudaMallocHost(&p.seen, Steps * sizeof(int)), "seen");
    check(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking), "stream");
    std::vector<float> home(Width * Height);
    if (const char *lock = std::getenv("FOREIGN_LOCK"))
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    using clock = std::chrono::steady_clock;
    dim3 best;
    double least = 1e9;
    for (dim3 block : {dim3(32, 8), dim3(64, 4), dim3(128, 2), dim3(32, 16)}) {
        paint<<<dim3(Width / 256, Height), 256, 0, p.stream>>>(p.now, 0);
        solve(p, block, 2);
        clock::time_point t = clock::now();
        solve(p, block, 40);
        double ms = std::chrono::duration<double, std::milli>(clock::now() - t).count();
        if (ms < least)
            least = ms, best = block;
    }

    clock::time_point begin = clock::now();
    int taken = 0, bad = 0;
    for (int n = 0; n < Pictures; n++) {
        paint<<<dim3(Width / 256, Height), 256, 0, p.stream>>>(p.now, n);
        taken += solve(p, best, Steps);
    }
    double took = std::chrono::duration<double, std::milli>(clock::now() - begin).count();

    check(cudaMemcpy(home.data(), p.now, bytes, cudaMemcpyDeviceToHost), "home");
    for (int y = 0; y < Height; y += 37)
        for (int x = 0; x < Width / 2; x += 11)
            bad += !(home[y * Width + x] == home[y * Width + Width - 1 - x] && home[y * Width + x] <= 255.0f);
    std::printf("%d pictures took %d steps, %d points unlike\n", Pictures, taken, bad);
    std::printf("pass_ms=%.4f\n", took / Pictures);
    return bad || taken != Pictures * Steps;
}
