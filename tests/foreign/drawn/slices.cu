/* Iterative tomography: each pass projects all slices back once, and looks at the residual every twenty passes. */
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/time.h>

#define NSTREAM 6
#define NSLICE 30
#define SLICE (512 * 512)
#define NPASS 120
#define ANGLES 5200

static void chk(cudaError_t err)
{
    if (err == cudaSuccess)
        return;
    fprintf(stderr, "slices: %s\n", cudaGetErrorName(err));
    exit(1);
}

__host__ __device__ static float project(float density, int angles)
{
    float sum = density;
    for (int a = 0; a < angles; a++)
        sum = fmaf(sum, 0.9995f, 0.0004f);
    return sum;
}

__global__ void back_project(float *slice, int angles)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    slice[i] = project(slice[i], angles);
}

__global__ void residual(const float *slice, float *out)
{
    __shared__ float part[256];
    float sum = 0;
    for (int i = threadIdx.x; i < SLICE; i += 256)
        sum += fabsf(slice[i] - 0.8f);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *out = part[0];
}

static double millis(void)
{
    struct timeval tv;
    gettimeofday(&tv, NULL);
    return tv.tv_sec * 1e3 + tv.tv_usec * 1e-3;
}

int main(void)
{
    float *volume, *slice[NSTREAM], *d_res, *h_res, start, expected;
    cudaStream_t stream[NSTREAM];
    int i, p, s, bad = 0;
    double ms = 0;

    chk(cudaMallocHost((void **)&volume, sizeof(float) * NSLICE * SLICE));
    chk(cudaMallocHost((void **)&h_res, sizeof(float)));
    chk(cudaMalloc((void **)&d_res, sizeof(float)));
    for (i = 0; i < NSTREAM; i++) {
        chk(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        chk(cudaMalloc((void **)&slice[i], sizeof(float) * SLICE));
    }
    for (i = 0; i < NSLICE * SLICE; i++)
        volume[i] = (i % 1000) * 0.5f;
    if (getenv("FOREIGN_LOCK"))
        flock(open(getenv("FOREIGN_LOCK"), O_RDWR | O_CREAT, 0600), LOCK_EX);

    /* Pass -1 warms up, with twice the angles. */
    for (p = -1; p < NPASS; p++) {
        double t0 = millis();
        for (s = 0; s < NSLICE; s++) {
            int k = s % NSTREAM;
            float *here = volume + (size_t)s * SLICE;
            chk(cudaMemcpyAsync(slice[k], here, sizeof(float) * SLICE, cudaMemcpyHostToDevice, stream[k]));
            back_project<<<SLICE / 256, 256, 0, stream[k]>>>(slice[k], p < 0 ? 2 * ANGLES : ANGLES);
            chk(cudaGetLastError());
            chk(cudaMemcpyAsync(here, slice[k], sizeof(float) * SLICE, cudaMemcpyDeviceToHost, stream[k]));
        }
        chk(cudaDeviceSynchronize());
        if (p >= 0)
            ms += millis() - t0;
        if (p % 20 == 19) {
            residual<<<1, 256, 0, stream[0]>>>(slice[0], d_res);
            chk(cudaMemcpyAsync(h_res, d_res, sizeof(float), cudaMemcpyDeviceToHost, stream[0]));
            chk(cudaStreamSynchronize(stream[0]));
            printf("pass %d: residual %.1f\n", p + 1, *h_res);
        }
    }
    for (i = 0; i < NSLICE * SLICE; i += 60013) {
        start = (i % 1000) * 0.5f;
        expected = project(start, 2 * ANGLES);
        for (p = 0; p < NPASS; p++)
            expected = project(expected, ANGLES);
        bad += !(fabsf(volume[i] - expected) < 1e-3f);
    }
    printf("%d bad voxels\npass_ms=%.4f\n", bad, ms / NPASS);
    return bad ? 1 : 0;
}
