/* Predicts what a telescope sees: all stars of a catalogue are brought to the place on the sky that it points at. */
#include <cuda_runtime.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

#define STARS (2 * 1024 * 1024)
#define LOOKS 250
#define SHOWN 16384
#define TERMS 11700

struct catalogue { /* one array for each property */
    float *ascension, *declination, *distance, *magnitude;
};

struct pointing {
    float turn, tilt, refraction, unused[1021];
};

#define DO(f) do { cudaError_t r_ = (f); if (r_) { fprintf(stderr, "%s: %s\n", #f, cudaGetErrorString(r_)); exit(1); } } while (0)

__host__ __device__ static float seen(float a, float d, float r, float m, float turn, float tilt, float refraction, int n)
{
    float v = fmaf(a, turn, fmaf(d, tilt, r));
    for (int i = 0; i < n; i++)
        v = fmaf(v, refraction, m);
    return v;
}

__global__ void look(struct catalogue c, const struct pointing *p, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = seen(c.ascension[i], c.declination[i], c.distance[i], c.magnitude[i], p->turn, p->tilt, p->refraction, n);
}

static float *filled(int factor, int modulus)
{
    float *p;
    DO(cudaMallocHost((void **)&p, STARS * sizeof(float)));
    for (int i = 0; i < STARS; i++)
        p[i] = (float)((long)i * factor % modulus) / modulus;
    return p;
}

static void bring(const struct catalogue *to, const struct catalogue *from, cudaStream_t stream)
{
    DO(cudaMemcpyAsync(to->ascension, from->ascension, STARS * sizeof(float), cudaMemcpyHostToDevice, stream));
    DO(cudaMemcpyAsync(to->declination, from->declination, STARS * sizeof(float), cudaMemcpyHostToDevice, stream));
    DO(cudaMemcpyAsync(to->distance, from->distance, STARS * sizeof(float), cudaMemcpyHostToDevice, stream));
    DO(cudaMemcpyAsync(to->magnitude, from->magnitude, STARS * sizeof(float), cudaMemcpyHostToDevice, stream));
}

int main(void)
{
    struct catalogue host = {filled(31, 1009), filled(17, 2003), filled(7, 997), filled(3, 499)}, device;
    struct pointing *plan, *now[2];
    float *out[2], *home;
    cudaStream_t work, back;
    cudaEvent_t looked[2], taken[2];
    DO(cudaMalloc((void **)&device.ascension, STARS * sizeof(float)));
    DO(cudaMalloc((void **)&device.declination, STARS * sizeof(float)));
    DO(cudaMalloc((void **)&device.distance, STARS * sizeof(float)));
    DO(cudaMalloc((void **)&device.magnitude, STARS * sizeof(float)));
    DO(cudaMallocHost((void **)&plan, LOOKS * sizeof *plan));
    DO(cudaMallocHost((void **)&home, LOOKS * SHOWN * sizeof(float)));
    DO(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    DO(cudaStreamCreateWithFlags(&back, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        DO(cudaMalloc((void **)&now[i], sizeof *plan));
        DO(cudaMalloc((void **)&out[i], STARS * sizeof(float)));
        DO(cudaEventCreateWithFlags(&looked[i], cudaEventDisableTiming));
        DO(cudaEventCreateWithFlags(&taken[i], cudaEventDisableTiming));
    }
    for (int l = 0; l < LOOKS; l++)
        plan[l].turn = 0.1f * l, plan[l].tilt = 1.0f + 0.01f * l, plan[l].refraction = 0.99f - 0.0001f * l;
    char *lock = getenv("FOREIGN_LOCK");
    if (lock)
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    struct timespec dusk, dawn;
#ifndef WRONG
    bring(&device, &host, work);
#endif
    DO(cudaDeviceSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &dusk);
    for (int l = 0; l < LOOKS; l++) {
        int b = l % 2;
#ifdef WRONG
        bring(&device, &host, work);
#endif
        DO(cudaMemcpyAsync(now[b], plan + l, sizeof *plan, cudaMemcpyHostToDevice, work));
        DO(cudaStreamWaitEvent(work, taken[b], 0));
        look<<<STARS / 256, 256, 0, work>>>(device, now[b], out[b], TERMS);
        DO(cudaGetLastError());
        DO(cudaEventRecord(looked[b], work));
        DO(cudaStreamWaitEvent(back, looked[b], 0));
        DO(cudaMemcpyAsync(home + (size_t)l * SHOWN, out[b], SHOWN * sizeof(float), cudaMemcpyDeviceToHost, back));
        DO(cudaEventRecord(taken[b], back));
    }
    DO(cudaDeviceSynchronize());
    clock_gettime(CLOCK_MONOTONIC, &dawn);

    int bad = 0;
    for (int l = 0; l < LOOKS; l++)
        for (int i = l; i < SHOWN; i += 8000) {
            float v = seen(host.ascension[i], host.declination[i], host.distance[i], host.magnitude[i], plan[l].turn,
                           plan[l].tilt, plan[l].refraction, TERMS);
            bad += fabsf(v - home[(size_t)l * SHOWN + i]) > 1e-2f;
        }
    printf("%d looks, %d stars out of place\n", LOOKS, bad);
    printf("pass_ms=%.4f\n", ((dawn.tv_sec - dusk.tv_sec) * 1e3 + (dawn.tv_nsec - dusk.tv_nsec) * 1e-6) / LOOKS);
    return bad ? 1 : 0;
}
