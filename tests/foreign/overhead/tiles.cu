/* tiles TILES BYTES - copy in, kernel, copy out, tile by tile on four streams: what recording costs is
 * measured on this. The array's length is TILES * BYTES. */
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "tiles: %s\n", cudaGetErrorString(error));
        std::exit(2);
    }
}

__global__ void add_one(uchar4 *tile, size_t count)
{
    size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
    if (i < count) {
        uchar4 v = tile[i];
        tile[i] = make_uchar4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
    }
}

int main(int argc, char **argv)
{
    const size_t tiles = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 32;
    const size_t bytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 32 << 20;
    const int streams = 4;
    if (tiles == 0 || bytes == 0 || bytes % 1024 != 0) {
        std::fprintf(stderr, "usage: tiles TILES BYTES, of which BYTES are a multiple of 1024\n");
        return 2;
    }
    unsigned char *array;
    uchar4 *tile[streams];
    cudaStream_t stream[streams];
    check(cudaMallocHost(&array, tiles * bytes));
    std::memset(array, 7, tiles * bytes);
    for (int s = 0; s < streams; s++) {
        check(cudaMalloc(&tile[s], bytes));
        check(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
    }
    auto work = [&](size_t count) {
        for (size_t t = 0; t < count; t++) {
            const int s = int(t % streams);
            check(cudaMemcpyAsync(tile[s], array + t * bytes, bytes, cudaMemcpyHostToDevice, stream[s]));
            add_one<<<unsigned(bytes / 1024), 256, 0, stream[s]>>>(tile[s], bytes / 4);
            check(cudaGetLastError());
            check(cudaMemcpyAsync(array + t * bytes, tile[s], bytes, cudaMemcpyDeviceToHost, stream[s]));
        }
        check(cudaDeviceSynchronize());
    };
    work(tiles); // all of it, so that the pages are warm, too
    timespec begin, end;
    nvtxRangePushA("work");
    clock_gettime(CLOCK_MONOTONIC, &begin);
    work(tiles);
    clock_gettime(CLOCK_MONOTONIC, &end);
    nvtxRangePop();
    for (size_t i = 0; i < tiles * bytes; i += 4093)
        if (array[i] != 9) {
            std::printf("byte %zu is wrong\n", i);
            return 1;
        }
    std::printf("%zu tiles of %zu bytes\n", tiles, bytes);
    std::printf("time_ms=%.3f\n", (end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) / 1e6);
    return 0;
}
