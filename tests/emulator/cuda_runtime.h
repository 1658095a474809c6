/* cuda_runtime.h - stands for CUDA's own where kernels are compiled for the emulator: the part
 * of CUDA C++ that this project's kernels use. emulator.h says what it finds. */
#ifndef PIPELINE_TESTS_EMULATOR_CUDA_RUNTIME_H
#define PIPELINE_TESTS_EMULATOR_CUDA_RUNTIME_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

/* ---- the language ---- */

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __shared__   static thread_local
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n)    __attribute__((aligned(n)))

/* Plain structures, as in CUDA, so that shared memory needs no constructor. */
#define EMULATOR_VECTORS(T, name, align2, align4)                                              \
    struct alignas(align2) name##2                                                             \
    {                                                                                          \
        T x, y;                                                                                \
    };                                                                                         \
    struct name##3                                                                             \
    {                                                                                          \
        T x, y, z;                                                                             \
    };                                                                                         \
    struct alignas(align4) name##4                                                             \
    {                                                                                          \
        T x, y, z, w;                                                                          \
    };                                                                                         \
    static inline name##2 make_##name##2(T x, T y)                                             \
    {                                                                                          \
        return {x, y};                                                                         \
    }                                                                                          \
    static inline name##3 make_##name##3(T x, T y, T z)                                        \
    {                                                                                          \
        return {x, y, z};                                                                      \
    }                                                                                          \
    static inline name##4 make_##name##4(T x, T y, T z, T w)                                   \
    {                                                                                          \
        return {x, y, z, w};                                                                   \
    }
EMULATOR_VECTORS(float, float, 8, 16)
EMULATOR_VECTORS(double, double, 16, 16)
EMULATOR_VECTORS(int, int, 8, 16)
EMULATOR_VECTORS(unsigned, uint, 8, 16)
EMULATOR_VECTORS(long long, longlong, 16, 16)
EMULATOR_VECTORS(unsigned long long, ulonglong, 16, 16)
#undef EMULATOR_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz)
    {
    }
};

/* __thread needs no function to find the variable, as thread_local would. */
extern __thread uint3 threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;

/* ---- launches ---- */

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorLaunchFailure = 719
};
typedef struct CUstream_st *cudaStream_t;
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
};
struct cudaFuncAttributes {
    int maxThreadsPerBlock;
};

cudaError_t emulator_launch(const cudaLaunchConfig_t *config, std::function<void()> thread);

/* Runs the whole grid before it returns. */
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...),
                               Arguments... arguments)
{
    return emulator_launch(config, [=] { kernel(arguments...); });
}

template <typename... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, void (*)(Parameters...))
{
    attributes->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}

static inline cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

/* ---- barriers and warps ---- */

/* The place in the source where a thread waits. */
#define EMULATOR_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

void emulator_barrier(const char *file, int line);
/* Leaves `mine` for the other lanes named in `mask`, waits for theirs, and gives all 32. */
const uint64_t *emulator_exchange(const char *operation, unsigned mask, uint64_t mine,
                                  const char *file, int line);
/* Faults unless `lane` is one of those named in `mask`. */
void emulator_check_lane(const char *operation, unsigned mask, unsigned lane, const char *file,
                         int line);
/* Lets another thread go on; atomics and all else that a thread may spin on call it. */
void emulator_pause(void);
/* Lets all other threads go first, since this one waits for another. */
void emulator_spin(void);

static inline void __syncthreads(EMULATOR_PLACE)
{
    emulator_barrier(file, line);
}

static inline void __syncwarp(unsigned mask = 0xffffffff, EMULATOR_PLACE)
{
    emulator_exchange("__syncwarp", mask, 0, file, line);
}

template <typename To, typename From> To emulator_bits(From from)
{
    static_assert(sizeof(To) >= sizeof(From) || sizeof(From) == 8, "wider than 8 bytes");
    To to = {};
    memcpy(&to, &from, sizeof(From) < sizeof(To) ? sizeof(From) : sizeof(To));
    return to;
}

template <typename T>
T emulator_shuffle(const char *operation, unsigned mask, T value, unsigned from, EMULATOR_PLACE)
{
    static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle moves at most 8 bytes");
    const uint64_t *lanes =
        emulator_exchange(operation, mask, emulator_bits<uint64_t>(value), file, line);
    emulator_check_lane(operation, mask, from, file, line);
    return emulator_bits<T>(lanes[from]);
}

static inline unsigned emulator_lane()
{
    return threadIdx.x % warpSize;
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = warpSize, EMULATOR_PLACE)
{
    const unsigned lane = (emulator_lane() & ~(width - 1u)) | (from & (width - 1u));
    return emulator_shuffle("__shfl_sync", mask, value, lane, file, line);
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize, EMULATOR_PLACE)
{
    const unsigned lane = emulator_lane(), place = lane % width + by;
    return emulator_shuffle("__shfl_down_sync", mask, value,
                            place < (unsigned)width ? lane + by : lane, file, line);
}

template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize, EMULATOR_PLACE)
{
    const unsigned lane = emulator_lane();
    return emulator_shuffle("__shfl_up_sync", mask, value,
                            lane % width >= by ? lane - by : lane, file, line);
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, unsigned with, int width = warpSize, EMULATOR_PLACE)
{
    const unsigned lane = emulator_lane(), other = lane ^ with;
    return emulator_shuffle("__shfl_xor_sync", mask, value,
                            other / width <= lane / width ? other : lane, file, line);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATOR_PLACE)
{
    const uint64_t *lanes =
        emulator_exchange("__ballot_sync", mask, predicate != 0, file, line);
    unsigned set = 0;
    for (unsigned lane = 0; lane < (unsigned)warpSize; lane++)
        set |= (mask >> lane & 1 && lanes[lane]) ? 1u << lane : 0;
    return set;
}

static inline int __any_sync(unsigned mask, int predicate, EMULATOR_PLACE)
{
    return __ballot_sync(mask, predicate, file, line) != 0;
}

static inline int __all_sync(unsigned mask, int predicate, EMULATOR_PLACE)
{
    return __ballot_sync(mask, predicate, file, line) == mask;
}

/* ---- memory ---- */

static inline void __threadfence()
{
    emulator_pause();
}

static inline void __threadfence_block()
{
    emulator_pause();
}

static inline void __nanosleep(unsigned)
{
    emulator_spin();
}

template <typename T> T __ldcg(const T *from)
{
    emulator_pause();
    return *from;
}

#define EMULATOR_LOAD(name)                                                                    \
    template <typename T> T name(const T *from)                                                \
    {                                                                                          \
        return *from;                                                                          \
    }
EMULATOR_LOAD(__ldg)
EMULATOR_LOAD(__ldcs)
EMULATOR_LOAD(__ldca)
#undef EMULATOR_LOAD

#define EMULATOR_STORE(name)                                                                   \
    template <typename T> void name(T *to, std::enable_if_t<true, T> value)                    \
    {                                                                                          \
        *to = value;                                                                           \
    }
EMULATOR_STORE(__stcg)
EMULATOR_STORE(__stcs)
EMULATOR_STORE(__stwb)
#undef EMULATOR_STORE

/* Only one thread runs at a time, so plain operations are atomic. */
#define EMULATOR_ATOMIC(name, result)                                                          \
    template <typename T> T name(T *at, std::enable_if_t<true, T> value)                       \
    {                                                                                          \
        emulator_pause();                                                                      \
        const T old = *at;                                                                     \
        *at = (T)(result);                                                                     \
        return old;                                                                            \
    }
EMULATOR_ATOMIC(atomicAdd, old + value)
EMULATOR_ATOMIC(atomicSub, old - value)
EMULATOR_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
EMULATOR_ATOMIC(atomicOr, old | value)
EMULATOR_ATOMIC(atomicAnd, old &value)
EMULATOR_ATOMIC(atomicXor, old ^ value)
EMULATOR_ATOMIC(atomicMax, value > old ? value : old)
EMULATOR_ATOMIC(atomicMin, value < old ? value : old)
EMULATOR_ATOMIC(atomicExch, value)
#undef EMULATOR_ATOMIC

template <typename T>
T atomicCAS(T *at, std::enable_if_t<true, T> compare, std::enable_if_t<true, T> value)
{
    emulator_pause();
    const T old = *at;
    if (old == compare)
        *at = value;
    return old;
}

/* ---- arithmetic ---- */

using std::isfinite;
using std::isinf;
using std::isnan;

#define EMULATOR_FUNCTION(type, name, parameter, value)                                        \
    static inline type name(parameter x)                                                       \
    {                                                                                          \
        return value;                                                                          \
    }
EMULATOR_FUNCTION(float, rsqrtf, float, 1 / sqrtf(x))
EMULATOR_FUNCTION(double, rsqrt, double, 1 / sqrt(x))
EMULATOR_FUNCTION(int, __popc, unsigned, __builtin_popcount(x))
EMULATOR_FUNCTION(int, __popcll, unsigned long long, __builtin_popcountll(x))
EMULATOR_FUNCTION(int, __ffs, int, __builtin_ffs(x))
EMULATOR_FUNCTION(int, __clz, int, x == 0 ? 32 : __builtin_clz((unsigned)x))
EMULATOR_FUNCTION(unsigned, __float_as_uint, float, emulator_bits<unsigned>(x))
EMULATOR_FUNCTION(int, __float_as_int, float, emulator_bits<int>(x))
EMULATOR_FUNCTION(float, __uint_as_float, unsigned, emulator_bits<float>(x))
EMULATOR_FUNCTION(float, __int_as_float, int, emulator_bits<float>(x))
EMULATOR_FUNCTION(long long, __double_as_longlong, double, emulator_bits<long long>(x))
EMULATOR_FUNCTION(double, __longlong_as_double, long long, emulator_bits<double>(x))
#undef EMULATOR_FUNCTION

template <typename A, typename B> std::common_type_t<A, B> min(A a, B b)
{
    return b < a ? b : a;
}

template <typename A, typename B> std::common_type_t<A, B> max(A a, B b)
{
    return a < b ? b : a;
}

#endif
