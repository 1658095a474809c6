/* launches HOW COUNT NS - launches COUNT kernels of NS each: what recording costs a launch is measured
 * on this. HOW is `device`: all in one stream, which is never empty; `host`: dealt over 16 streams, so
 * that the device waits for the host; `sync`: the host waits for each; `copies`: a copy of 4 KiB to the
 * device before each. It prints how long a launch took, with all of its own. */
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "launches: %s\n", cudaGetErrorString(error));
        std::exit(2);
    }
}

__global__ void spin(long long cycles, int *word)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
    if (cycles < 0)
        *word = 1;
}

int main(int argc, char **argv)
{
    const int streams = 16, bytes = 4096;
    if (argc != 4) {
        std::fprintf(stderr, "usage: launches device|host|sync|copies COUNT NS\n");
        return 2;
    }
    const char *how = argv[1];
    const int count = std::atoi(argv[2]), khz_per_ghz = 1000000;
    const bool host = std::strcmp(how, "host") == 0, sync = std::strcmp(how, "sync") == 0;
    const bool copies = std::strcmp(how, "copies") == 0;
    int khz, *word;
    char *pinned;
    cudaStream_t stream[streams];
    check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    const long long cycles = std::atoll(argv[3]) * khz / khz_per_ghz;
    check(cudaMalloc(&word, bytes));
    check(cudaMallocHost(&pinned, bytes));
    for (int s = 0; s < streams; s++)
        check(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
    auto work = [&](int launches) {
        for (int i = 0; i < launches; i++) {
            cudaStream_t to = stream[host ? i % streams : 0];
            if (copies)
                check(cudaMemcpyAsync(word, pinned, bytes, cudaMemcpyHostToDevice, to));
            spin<<<1, 32, 0, to>>>(cycles, word);
            if (sync)
                check(cudaStreamSynchronize(to));
        }
        check(cudaDeviceSynchronize());
    };
    work(count / 10 + 1000);
    timespec begin, end;
    nvtxRangePushA("work");
    clock_gettime(CLOCK_MONOTONIC, &begin);
    work(count);
    clock_gettime(CLOCK_MONOTONIC, &end);
    nvtxRangePop();
    const double us = (end.tv_sec - begin.tv_sec) * 1e6 + (end.tv_nsec - begin.tv_nsec) / 1e3;
    std::printf("time_us=%.4f\n", us / count);
    return 0;
}
