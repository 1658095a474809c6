#!/bin/sh
# try.sh BUILD - `pipeline try` and pipeline-nvcc with programs good and bad: what each prints, its exit
# code, and that nothing is left behind. 77: there is no C++ compiler.
set -u
build=$(realpath "$1")
[ -f "$build/libpipeline-cpu.a" ] || { echo "try.sh: skipped: there was no C++ compiler" >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
export TMPDIR="$work/tmp"
export PIPELINE_TRY_HOST=0 # times are the same on any computer, however busy
cd "$work" || exit 1
failed=0

fail() {
    echo "try.sh: $*" >&2
    head -n 4 out err | sed 's/^/    /' >&2
    failed=1
}

# tried CODE WORDS... runs the command, which ends with that exit code and leaves nothing.
tried() {
    code=$1
    shift
    "$@" >out 2>err
    got=$?
    [ "$got" = "$code" ] || fail "$*: exit code $got, not $code"
    [ -z "$(ls "$TMPDIR")" ] || fail "$*: left behind: $(ls "$TMPDIR")"
}
says() {
    tr -s ' \n' '  ' <"$1" | grep -qF -- "$2" || fail "$1 lacks '$2'"
}
try() {
    code=$1
    shift
    tried "$code" timeout -s INT 60 "$build/pipeline" try "$@"
}

cat >scale.cu <<'END'
#include <assert.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void scale(float *x, float a, int n, bool asserts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(!asserts || i < 100);
    if (i < n)
        x[i] *= a;
}
__global__ void spin(volatile int *x)
{
    while (*x == 0)
        ;
}

int main(int argc, char **argv)
{
    const char *bad = argc > 1 ? argv[1] : "";
    const int n = 1 << 18, tiles = 8, tile = n / tiles;
    float *host, *device;
    cudaStream_t streams[2];
    if (strcmp(bad, "none") == 0)
        return 3;
    cudaMallocHost(&host, n * sizeof *host);
    cudaMalloc(&device, n * sizeof *device);
    for (cudaStream_t &stream : streams)
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int i = 0; i < n; i++)
        host[i] = i;
    if (strcmp(bad, "crash") == 0)
        *(volatile int *)8 = 1;
    if (strcmp(bad, "fork") == 0 && fork() == 0)
        return cudaFree(device) != cudaErrorInitializationError;
    for (int t = 0; t < tiles; t++) {
        float *h = host + t * tile, *d = device + t * tile;
        const int back = strcmp(bad, "race") == 0;
        cudaMemcpyAsync(d, h, tile * sizeof *d, cudaMemcpyHostToDevice, streams[0]);
        scale<<<tile / 256, 256, 0, streams[0]>>>(d, 2, tile, strcmp(bad, "assert") == 0);
        cudaMemcpyAsync(h, d, tile * sizeof *d, cudaMemcpyDeviceToHost, streams[back]);
    }
    if (strcmp(bad, "spin") == 0)
        spin<<<1, 1, 0, streams[1]>>>((int *)device);
    const cudaError_t error = cudaDeviceSynchronize();
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += host[i];
    printf("%s %g\n", cudaGetErrorName(error), sum);
    int child = 0;
    wait(&child);
    return error != cudaSuccess || child != 0;
}
END

try 0 scale.cu
says out "cudaSuccess 6.87192e+10"
says out "one-stream costs"
try 0 -o kept.jsonl scale.cu --gantt=none --timeline=t.html -q
[ -s kept.jsonl ] && [ -s t.html ] || fail "no recording, or no page"
tried 0 "$build/pipeline" view -q kept.jsonl
says out "one-stream costs"
try 1 scale.cu --fail-above=any:1%
try 3 scale.cu -- none
says err "scale used no CUDA"
try 0 scale.cu -- fork
try 139 scale.cu -- crash
says err "signal 11"
try 1 scale.cu -- assert
says err "scale.cu:12"
try 1 -q --orders=3 scale.cu -- race
says err "give another result"
cat >twice.cu <<'END'
#include <cstdio>
#include <cuda_runtime.h>
int main()
{
    char *there, here = 0;
    cudaStream_t one, other;
    cudaMalloc(&there, 1 << 20);
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaMemsetAsync(there, 7, 1 << 20, one);
    cudaMemsetAsync(there, 7, 1 << 20, other);
    cudaDeviceSynchronize();
    cudaMemcpy(&here, there, 1, cudaMemcpyDeviceToHost);
    return std::printf("%d\n", here) < 0;
}
END
try 1 -q --orders=2 twice.cu
says err "2 other orders of the streams give the same result, and yet an order is missing: race: twice.cu:10"
try 0 --orders=2 scale.cu
says err "2 other orders of the streams give the same result"
tried 124 timeout -s INT 5 "$build/pipeline" try -q --no-watch scale.cu -- spin

# A kernel's clock is in cycles of the machine's, and its loops take time; a function that has run may
# tell any thread of the host's; NVIDIA's samples ask for their headers by these names.
cat >clock.cu <<'END'
#include <cstdio>
#include <cublas_v2.h>
#include <thread>
#if !defined __DRIVER_TYPES_H__ || !defined __CUDA_RUNTIME_H__ || !defined CUBLAS_API_H_
#error
#endif
__global__ void wait_for(clock_t *took, clock_t cycles)
{
    const clock_t begin = clock();
    while ((*took = clock() - begin) < cycles)
        ;
}
static clock_t *took, seen;
int main()
{
    cudaDeviceProp about;
    cudaEvent_t events[2];
    float ms;
    if (cudaGetDeviceProperties(&about, 0) != cudaSuccess || clock() > 100 * CLOCKS_PER_SEC)
        return 1;
    cudaMallocHost(&took, sizeof *took);
    for (cudaEvent_t &event : events)
        cudaEventCreate(&event);
    cudaEventRecord(events[0]);
    wait_for<<<1, 1>>>(took, 50 * about.clockRate);
    cudaEventRecord(events[1]);
    cudaLaunchHostFunc(0, [](void *) { std::thread([] { seen = *took; }).join(); }, nullptr);
    cudaStreamSynchronize(0);
    cudaEventElapsedTime(&ms, events[0], events[1]);
    printf("%d %d\n", ms >= 50 && ms < 52, seen >= 50 * about.clockRate);
}
END
try 0 -q clock.cu
says out "1 1"
[ -s err ] && fail "a race is named"

# What a program prints is compared only where it prints the same each time. A picture of no known
# form is refused before the program runs.
cat >where.cu <<'END'
#include <cstdio>
#include <cuda_runtime.h>
#include <ctime>
int main()
{
    char *there;
    timespec now;
    cudaMalloc(&there, 64);
    cudaMemset(there, 0, 64);
    clock_gettime(CLOCK_MONOTONIC, &now);
    std::printf("%ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
}
END
try 0 --orders=2 where.cu
says err "is not compared"
says err "in 2 other orders of the streams it ends as it did"
try 2 where.cu --timeline=x.bmp
[ -s out ] && fail "the program ran"

# A program may have types and functions that are called as the runtime's are, operators of its own, and
# host functions that hand memory back.
cat >own.cu <<'END'
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <thread>
#include <vector>
void *operator new(size_t bytes)
{
    size_t *block = (size_t *)malloc(bytes + 16);
    block[0] = bytes;
    block[1] = 0xfeedfacecafebeef;
    return block + 2;
}
void operator delete(void *memory) noexcept
{
    if (memory != nullptr)
        free((size_t *)memory - 2);
}
struct thread {
    double value = 1;
};
struct big {
    char bytes[4096];
};
__global__ void fill(int *x)
{
    __syncthreads();
    x[blockIdx.x] = 1;
}
static void nothing(int) {}
static void done(void *job) { delete (std::vector<char> *)job; }
int main(int count, char **)
{
    int *there;
    cudaStream_t streams[2];
    cudaMalloc(&there, 4096);
    cudaStreamCreate(&streams[0]);
    cudaStreamCreate(&streams[1]);
    std::thread(nothing, 1).join();
    for (int i = 0; i < 8; i++) {
        auto *job = new std::vector<char>(3000);
        cudaMemcpyAsync(there, job->data(), 3000, cudaMemcpyHostToDevice, streams[0]);
        cudaLaunchHostFunc(streams[0], done, job);
        cudaStreamSynchronize(streams[0]);
    }
    fill<<<1000, 256, 0, streams[1]>>>(there);
    big *block = new big;
    std::vector<thread> mine;
    for (int i = 1; i < 5; i++)
        mine.resize(10 * i * count);
    const bool good = cudaDeviceSynchronize() == cudaSuccess;
    delete block;
    std::printf("%zu %g\n", mine.size(), mine.back().value);
    return !good;
}
END
tried 0 timeout 120 "$build/pipeline" try -q own.cu
says out "40 1"
[ -s err ] && fail "a race is named"

# A host that waits for an event before it fills a buffer again, with launches and functions behind that.
cat >refill.cu <<'END'
#include <cstdio>
#include <cuda_runtime.h>
__global__ void add(const float *from, float *to, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] += from[i];
}
static void note(void *count)
{
    ++*(int *)count;
}
int main()
{
    const int n = 1 << 14;
    float *staging, *in, *sums;
    int notes = 0;
    cudaStream_t stream, other;
    cudaEvent_t copied;
    cudaMallocHost(&staging, n * 4);
    cudaMalloc(&in, n * 4);
    cudaMalloc(&sums, n * 4);
    cudaStreamCreate(&stream);
    cudaStreamCreate(&other);
    cudaEventCreate(&copied);
    cudaMemset(sums, 0, n * 4);
    for (int pass = 0; pass < 4; pass++) {
        cudaEventSynchronize(copied);
        for (int i = 0; i < n; i++)
            staging[i] = pass + i;
        cudaMemcpyAsync(in, staging, n * 4, cudaMemcpyHostToDevice, stream);
        cudaEventRecord(copied, stream);
        add<<<n / 128, 128, 0, stream>>>(in, sums, n);
        cudaLaunchHostFunc(stream, note, &notes);
    }
    cudaDeviceSynchronize();
    std::printf("%d notes\n", notes);
    return notes != 4;
}
END
try 0 -q refill.cu
says out "4 notes"
[ -s err ] && fail "a race is named"

# A shell that is asked where code is reads nothing of a file's name as its own.
cp clock.cu "b';touch harm;'.cu"
try 0 -q "b';touch harm;'.cu"
[ -e harm ] && fail "a file's name was run"
[ -s err ] && fail "the shell says something"

# Memory of the host's that is given back while a copy may still read it: by free(), as a vector ends, by
# realloc() and munmap(), and by the operator of what is aligned.
cat >given.cu <<'END'
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <vector>
struct alignas(64) line { char all[64]; };
int main(int count, char **)
{
    const size_t bytes = 1 << 16;
    char *there;
    cudaStream_t stream;
    cudaMalloc(&there, bytes);
    cudaStreamCreate(&stream);
    const auto fetch = [&](const void *from) {
        cudaMemcpyAsync(there, from, bytes, cudaMemcpyHostToDevice, stream);
        if (count > 1)
            cudaStreamSynchronize(stream);
    };
    for (int pass = 0; pass < 2; pass++) {
        void *plain = calloc(bytes, 1);
        fetch(plain);
        free(plain);
        void *grows = calloc(bytes, 1);
        fetch(grows);
        free(realloc(grows, 1 << 24));
        void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        fetch(mapped);
        munmap(mapped, bytes);
        line *lines = new line[bytes / sizeof(line)]();
        fetch(lines);
        delete[] lines;
        std::vector<char> vector(bytes);
        fetch(vector.data());
    }
    return cudaDeviceSynchronize() != cudaSuccess;
}
END
try 0 -q given.cu --std=c++17 -- waits
[ -s err ] && fail "a race is named"
try 0 -q given.cu
for line in 22 25 28 31; do
    says err "given.cu:15: cudaMemcpyAsync and given.cu:$line: the host's code, which writes or frees"
done
[ "$(grep -c "race: given.cu:15: cudaMemcpyAsync and " err)" -ge 5 ] || fail "a vector's end is not told"
says out "missing-wait: "

# A host that waits for a kernel without a call; lanes that have ended, or that a block lacks, are not
# waited for, and values of 16 bytes go from lane to lane.
cat >poll.cu <<'END'
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;
__global__ void lanes(int *x, unsigned n)
{
    if (threadIdx.x >= n)
        return;
    const uint4 mine = {0, 0, 0, threadIdx.x};
    x[threadIdx.x] = cg::tiled_partition<32>(cg::this_thread_block()).shfl(mine, 3).w + __popc(__ballot_sync(~0u, 1));
}
__global__ void answer(volatile int *said, int *value)
{
    *value = 42;
    __threadfence_system();
    *said = 1;
}
int main()
{
    int *memory;
    cudaMallocHost(&memory, 2 * sizeof *memory);
    memory[0] = memory[1] = 0;
    answer<<<1, 1>>>(memory, memory + 1);
    while (*(volatile int *)memory == 0)
        ;
    int *seen;
    cudaMallocManaged(&seen, 40 * sizeof *seen);
    lanes<<<1, 40>>>(seen, 36);
    cudaDeviceSynchronize();
    printf("%d %d %d\n", memory[1], seen[0], seen[35]);
}
END
try 0 -q poll.cu
says out "42 35 39"
[ -s err ] && fail "a race is named"

sed 's/tile, strcmp/tile + , strcmp/' scale.cu >bad.cu
try 2 bad.cu
says err "bad.cu:44:"
sed 's/streams\[0\]>>>/streams[0]>>/' scale.cu >bad.cu
try 2 bad.cu
says err "bad.cu:44: a launch is"
try 2 scale.cu -lnone
says err "can't be linked"
sed 's/^#include <assert.h>/#include <cufft.h>/' scale.cu >bad.cu
try 2 bad.cu
says err "bad.cu:1:10: fatal error: cufft.h"
says err "pipeline: bad.cu:1: there is no cufft.h on the CPU"
try 2 -o "$work/none/x.jsonl" scale.cu
says err "none/x.jsonl"
tried 2 env CXX= PATH=/none "$build/pipeline" try scale.cu
says err "neither g++ nor clang++"
tried 2 env CXX=none "$build/pipeline" try scale.cu
says err "CXX is none"

try 0 --build -o scale scale.cu
tried 0 ./scale
says out "cudaSuccess"
tried 0 env PIPELINE_TRY_TO=own.jsonl PIPELINE_TRY_MACHINE=k20x ./scale
tried 0 "$build/pipeline" view -q own.jsonl
says out "K20X"

# An assignment's make file, with a kernel and a main() apart.
printf 'int twice(int *); int main() { int x = 4; return twice(&x) != 8; }\n' >main.cpp
cat >twice.cu <<'END'
__global__ void doubled(int *x) { extern __shared__ int s[]; s[0] = *x; *x = 2 * s[0]; }
int twice(int *x)
{
    int *d, n = sizeof *x;
    cudaMalloc(&d, n);
    cudaMemcpy(d, x, n, cudaMemcpyDefault);
    doubled<<<1, 1, sizeof(int)>>>(d);
    cudaMemcpy(x, d, n, cudaMemcpyDefault);
    return cudaFree(d) == cudaSuccess ? *x : 0;
}
END
cat >Makefile <<'END'
twice: main.o twice.o
	$(NVCC) -o $@ $^ -lcudart -Xlinker --as-needed
%.o: %.cu
	$(NVCC) -O3 -arch=sm_90 -gencode arch=compute_90,code=sm_90 -Xcompiler -Wall,-Wextra --std c++14 -lineinfo -MMD -c $< -o $@
%.o: %.cpp
	$(NVCC) -dc $< -o $@
END
tried 0 make -s NVCC="$build/pipeline-nvcc"
tried 0 ./twice
grep -q '^twice.o:.* twice.cu' twice.d || fail "no twice.d for make"
tried 2 "$build/pipeline-nvcc" -ptx twice.cu
says err "-ptx"
exit $failed
