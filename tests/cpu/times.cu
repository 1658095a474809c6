// Kernels whose times were measured on an H200, which tests/cpu/times.sh has; and a function of
// the host's that reads what was copied out.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

enum { WORDS = 4 << 20, TAPS = 63, ROUNDS = 3 };

__constant__ int taps[TAPS];

__global__ void in_cache(uint4 *data, const uint4 *key, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const uint4 d = data[i], k = key[i & 1023];
        data[i] =
            make_uint4((d.x ^ k.x) + 1, (d.y ^ k.y) + 1, (d.z ^ k.z) + 1, (d.w ^ k.w) + 1);
    }
}
__global__ void in_turns(const unsigned *in, unsigned *out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = in[i] * in[i];
}
__global__ void one_place(const unsigned *in, unsigned *out, int n)
{
    unsigned x = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x ^= in[i];
    for (int d = 16; d > 0; d /= 2)
        x ^= __shfl_xor_sync(~0u, x, d);
    if (threadIdx.x % 32 == 0)
        atomicXor(out, x);
}
__global__ void chain(unsigned *x)
{
    unsigned v = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int i = 0; i < 2400; i++) {
        v ^= v << 13;
        v ^= v >> 17;
        v ^= v << 5;
    }
    x[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__global__ void begin(unsigned *x)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}
__global__ void one_thread(unsigned *x)
{
    ++*x;
}
__global__ void tree(unsigned *x)
{
    for (unsigned apart = 1; apart < 256; apart *= 2) {
        if (threadIdx.x % (2 * apart) == 0 && threadIdx.x + apart < 16)
            x[threadIdx.x] += x[threadIdx.x + apart];
        __syncthreads();
    }
}
__global__ void scattered(const float *in, float *out, int width, int height)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    if (x < width && y < height)
        out[x * height + y] = in[y * width + x];
}
__global__ void filter(const int *x, int *y)
{
    __shared__ int s[1024 + TAPS];
    const int base = blockIdx.x * 1024;
    for (int i = threadIdx.x; i < 1024 + TAPS - 1; i += 256)
        s[i] = x[base + i];
    __syncthreads();
    int sums[4] = {0, 0, 0, 0};
    for (int k = 0; k < TAPS; k++)
        for (int j = 0; j < 4; j++)
            sums[j] += taps[k] * s[threadIdx.x + 256 * j + k];
    for (int j = 0; j < 4; j++)
        y[base + threadIdx.x + 256 * j] += sums[j];
}
__global__ void mapped(const uint4 *in, uint4 *out, const unsigned *table)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 k = in[i];
    out[i] = make_uint4(table[k.x], table[k.y], table[k.z], table[k.w]);
}

static uint64_t sum;
static void add_up(void *words)
{
    for (int i = 0; i < WORDS / 4; i++)
        sum += static_cast<unsigned *>(words)[i];
}

int main()
{
    const dim3 tile(32, 32), tiles(47, 46);
    unsigned *a, *b, *host;
    cudaMalloc(&a, WORDS * sizeof *a);
    cudaMalloc(&b, WORDS * sizeof *b);
    cudaHostAlloc(&host, WORDS * sizeof *host, cudaHostAllocMapped);
    for (int i = 0; i < WORDS; i++)
        host[i] = i * 97 % WORDS;
    cudaMemcpy(a, host, WORDS * sizeof *a, cudaMemcpyHostToDevice);
    cudaMemset(b, 0, WORDS * sizeof *b);
    const int some[TAPS] = {1, 2, 3};
    cudaMemcpyToSymbol(taps, some, sizeof some);
    for (int i = 0; i < ROUNDS; i++) {
        mapped<<<128, 128>>>((const uint4 *)host, (uint4 *)(host + WORDS / 2), a);
        in_cache<<<264, 256>>>((uint4 *)a, (const uint4 *)b, WORDS / 4);
        in_turns<<<264, 256>>>(a, b, WORDS / 2);
        one_place<<<264, 256>>>(a, b, WORDS / 4);
        chain<<<132, 128>>>(a);
        begin<<<4096, 256>>>(b);
        one_thread<<<1, 1>>>(a);
        tree<<<1, 256>>>(a);
        scattered<<<tiles, tile>>>((const float *)a, (float *)b, 1500, 1450);
        filter<<<1024, 256>>>((const int *)a, (int *)b);
        cudaMemcpy(a, host, WORDS * sizeof *a, cudaMemcpyHostToDevice);
    }
    // Two that share the link take as long as one behind the other.
    cudaStream_t other;
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaDeviceSynchronize();
    mapped<<<128, 128>>>((const uint4 *)host, (uint4 *)(host + WORDS / 2), a);
    mapped<<<128, 128, 0, other>>>((const uint4 *)host, (uint4 *)(host + WORDS / 4), a);
    void *pages = aligned_alloc(4096, 1 << 20);
    memset(pages, 1, 1 << 20);
    cudaHostRegister(pages, 1 << 20, cudaHostRegisterDefault);
    cudaHostUnregister(pages);
    cudaMemcpyAsync(host, b, WORDS, cudaMemcpyDeviceToHost);
    cudaLaunchHostFunc(0, add_up, host);
    add_up(host); // which races
    puts(cudaDeviceSynchronize() == cudaSuccess ? "right" : "wrong");
}
