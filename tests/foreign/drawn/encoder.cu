/* Encodes a film: of each frame only the tokens go home, and how many there are is known on the device alone. */
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

enum { pixels = 2 * 1024 * 1024, film = 64 * 1024 * 1024, passes = 160, group = 5, slots = 4, effort = 1600 };
#ifdef WRONG
enum { lag = 0 };
#else
enum { lag = 3 };
#endif

struct header {
    uint32_t tokens, sum;
};

struct slot {
    cudaStream_t stream;
    cudaEvent_t encoded;
    uint32_t *frame, *token, *home;
    struct header *header, *known;
} slot[slots];

#define G(x) do { cudaError_t e_ = (x); if (e_) { printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

__global__ void encode(const uint32_t *frame, uint32_t *token, struct header *h, int n)
{
    uint32_t v = frame[blockIdx.x * blockDim.x + threadIdx.x];
    for (int i = 0; i < n; i++)
        v = v * 1664525u + 1013904223u;
    if (v >> 28 == 3) {
        token[atomicAdd(&h->tokens, 1u)] = v;
        atomicAdd(&h->sum, v);
    }
}

static void issue(const uint32_t *picture, struct slot *s)
{
    G(cudaMemcpyAsync(s->frame, picture, sizeof(uint32_t) * pixels, cudaMemcpyHostToDevice, s->stream));
    G(cudaMemsetAsync(s->header, 0, sizeof(struct header), s->stream));
    encode<<<pixels / 256, 256, 0, s->stream>>>(s->frame, s->token, s->header, effort);
    G(cudaGetLastError());
    G(cudaMemcpyAsync(s->known, s->header, sizeof(struct header), cudaMemcpyDeviceToHost, s->stream));
    G(cudaEventRecord(s->encoded, s->stream));
}

static void fetch(struct slot *s)
{
    G(cudaEventSynchronize(s->encoded));
    G(cudaMemcpyAsync(s->home, s->token, sizeof(uint32_t) * s->known->tokens, cudaMemcpyDeviceToHost, s->stream));
}

static int differs(const struct slot *s)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < s->known->tokens; i++)
        sum += s->home[i];
    return s->known->tokens == 0 || sum != s->known->sum;
}

static double clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

int main(void)
{
    uint32_t *reel;
    double total = 0, least = 1e9;
    int bad = 0, f = 0, best = 0;
    G(cudaMallocHost((void **)&reel, sizeof(uint32_t) * film));
    for (uint32_t i = 0; i < film; i++)
        reel[i] = i * 2654435761u ^ i >> 11;
    for (struct slot *s = slot; s < slot + slots; s++) {
        G(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
        G(cudaEventCreateWithFlags(&s->encoded, cudaEventDisableTiming));
        G(cudaMalloc((void **)&s->frame, sizeof(uint32_t) * pixels));
        G(cudaMalloc((void **)&s->token, sizeof(uint32_t) * pixels));
        G(cudaMalloc((void **)&s->header, sizeof(struct header)));
        G(cudaMallocHost((void **)&s->home, sizeof(uint32_t) * pixels));
        G(cudaMallocHost((void **)&s->known, sizeof(struct header)));
    }
    const char *lock = getenv("FOREIGN_LOCK");
    if (lock)
        flock(open(lock, O_RDWR | O_CREAT, 0600), LOCK_EX);

    for (int threads = 128; threads <= 1024; threads *= 2) { /* which block would be best, were it not fixed? */
        double t = clock_ms();
        G(cudaMemsetAsync(slot[0].header, 0, sizeof(struct header), slot[0].stream));
        encode<<<pixels / threads, threads, 0, slot[0].stream>>>(slot[0].frame, slot[0].token, slot[0].header, effort);
        G(cudaStreamSynchronize(slot[0].stream));
        if (clock_ms() - t < least)
            least = clock_ms() - t, best = threads;
    }

    for (int p = 0; p < passes; p++) {
        double t = clock_ms();
        for (int i = 0; i < group; i++, f++) {
            issue(reel + (size_t)f * 1234577 % (film - pixels), &slot[f % slots]);
            if (f >= lag)
                fetch(&slot[(f - lag) % slots]);
        }
        total += clock_ms() - t;
        if (p % 5 == 4) { /* the director looks at what has come home last */
            const struct slot *seen = &slot[(f - 1 - lag) % slots];
            G(cudaStreamSynchronize(seen->stream));
            bad += differs(seen);
        }
    }
    double t = clock_ms();
    G(cudaDeviceSynchronize());
    total += clock_ms() - t;

    printf("%d frames, %d bad\n", f, best ? bad : -1);
    printf("pass_ms=%.4f\n", total / passes);
    return bad > 0 || !best;
}
