/* bench_cuda_peers.cu - the peers of the kernels: CUB's, and kernels that only read or copy. */
#include "bench/bench_peers.h"

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

/* CUB says how much scratch memory it needs when it is given none. */
template <typename T> static size_t reduce_bytes(uint64_t count)
{
    size_t bytes = 0;
    const T *in = nullptr;
    T *out = nullptr;
    cub::DeviceReduce::Sum(nullptr, bytes, in, out, static_cast<int64_t>(count));
    return bytes;
}

static size_t scan_bytes(uint64_t count)
{
    size_t bytes = 0;
    const unsigned *in = nullptr;
    unsigned *out = nullptr;
    cub::DeviceScan::InclusiveSum(nullptr, bytes, in, out, static_cast<int64_t>(count));
    return bytes;
}

/* Returns CUB's scratch bytes. They are asked for before every launch but worked out once, for that is not to be timed. */
uint64_t peer_scratch_bytes(uint64_t count)
{
    static uint64_t known, bytes;
    if (count != known) {
        const size_t reduce = reduce_bytes<double>(count), scan = scan_bytes(count);
        bytes = (reduce > scan ? reduce : scan) + 4096;
        known = count;
    }
    return bytes;
}

template <typename T> static int reduce(const struct kernel_args *args, void *stream)
{
    size_t bytes = peer_scratch_bytes(args->count);
    return cub::DeviceReduce::Sum(
        args->scratch, bytes, static_cast<const T *>(args->in[0]), static_cast<T *>(args->out),
        static_cast<int64_t>(args->count), static_cast<cudaStream_t>(stream));
}

int peer_reduce_f32(const struct kernel_args *args, void *stream)
{
    return reduce<float>(args, stream);
}

int peer_reduce_f64(const struct kernel_args *args, void *stream)
{
    return reduce<double>(args, stream);
}

/* Sums as unsigned: overflow then wraps around, as the rows' result is defined. */
int peer_reduce_i32(const struct kernel_args *args, void *stream)
{
    return reduce<unsigned>(args, stream);
}

int peer_scan_i32(const struct kernel_args *args, void *stream)
{
    size_t bytes = peer_scratch_bytes(args->count);
    return cub::DeviceScan::InclusiveSum(
        args->scratch, bytes, static_cast<const unsigned *>(args->in[0]),
        static_cast<unsigned *>(args->out), static_cast<int64_t>(args->count),
        static_cast<cudaStream_t>(stream));
}

int peer_exclusive_scan_i32(const struct kernel_args *args, void *stream)
{
    size_t bytes = peer_scratch_bytes(args->count);
    return cub::DeviceScan::ExclusiveSum(
        args->scratch, bytes, static_cast<const unsigned *>(args->in[0]),
        static_cast<unsigned *>(args->out), static_cast<int64_t>(args->count),
        static_cast<cudaStream_t>(stream));
}

/* Reads all and writes next to nothing: the most that a reduction could reach. Each thread has READ_LOADS loads in flight; the condition, hardly ever true of random data, keeps the compiler from leaving them out. */
enum { READ_LOADS = 8, READ_THREADS = 512, READ_SM_BLOCKS = 2 };
static __global__ void __launch_bounds__(READ_THREADS, READ_SM_BLOCKS)
    read_kernel(const uint4 *in, unsigned *out, uint64_t vectors)
{
    const uint64_t threads = static_cast<uint64_t>(gridDim.x) * READ_THREADS;
    uint64_t i = static_cast<uint64_t>(blockIdx.x) * READ_THREADS + threadIdx.x;
    unsigned all = 0;
    for (; i < vectors; i += READ_LOADS * threads) {
        uint4 loaded[READ_LOADS];
#pragma unroll
        for (int load = 0; load < READ_LOADS; load++) {
            loaded[load] = {};
            if (i + load * threads < vectors)
                loaded[load] = in[i + load * threads];
        }
#pragma unroll
        for (int load = 0; load < READ_LOADS; load++)
            all |= loaded[load].x & loaded[load].y & loaded[load].z & loaded[load].w;
    }
    if (all == 0x12345678)
        *out = all;
}

static uint64_t vectors_of(const struct kernel_args *args)
{
    return args->count / sizeof(uint4); /* limits are told bytes */
}

int peer_read(const struct kernel_args *args, void *stream)
{
    int device = 0, sms = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    const uint64_t each = READ_LOADS * READ_THREADS;
    const uint64_t wanted = (vectors_of(args) + each - 1) / each;
    const uint64_t most = 2 * READ_SM_BLOCKS * static_cast<uint64_t>(sms);
    const unsigned blocks = static_cast<unsigned>(wanted < most ? wanted : most);
    read_kernel<<<blocks, READ_THREADS, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<const uint4 *>(args->in[0]), static_cast<unsigned *>(args->out),
        vectors_of(args));
    return cudaGetLastError();
}

int peer_copy(const struct kernel_args *args, void *stream)
{
    return cudaMemcpyAsync(args->out, args->in[0], vectors_of(args) * sizeof(uint4),
                           cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream));
}
