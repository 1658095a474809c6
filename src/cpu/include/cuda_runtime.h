/* cuda_runtime.h - CUDA C++ for the CPU: the language of kernels, their launch, and with
 * cuda_runtime_api.h the calls of the host. Takes C++17, and g++ 12 or clang++ 14. What is not
 * here is refused where a program names it: as not declared, or as deleted. */
#ifndef __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_H__

#include "cuda_runtime_api.h"
#include "pipeline_cpu.h"
#include "vector_types.h"

#ifdef __cplusplus

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

/* ---- the language ---- */

#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __shared__ static thread_local /* a live block has a thread of the system's */
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__    /* the C++ library has an attribute of this name */
#define __align__(n)    __attribute__((aligned(n)))

/* Each thread of a kernel has its own, which never change: so they are read without watch,
 * unless their type has constructors, as dim3 does. */
extern const __thread uint3 threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;

/* Code that is none of the user's: what it reads and computes is nothing that a GPU would. */
#if defined(__clang__)
#define PIPELINE_UNSEEN __attribute__((disable_sanitizer_instrumentation, noinline))
#elif __has_attribute(no_sanitize_coverage)
#define PIPELINE_UNSEEN __attribute__((no_sanitize("thread"), no_sanitize_coverage))
#else
#define PIPELINE_UNSEEN __attribute__((no_sanitize("thread")))
#endif

/* ---- launches ---- */

namespace pipeline
{

/* Stands for a 0 or NULL that is meant for a pointer. */
struct number {
    long value;
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
    operator T() const
    {
        return (T)value;
    }
    template <typename T> operator T *() const
    {
        return reinterpret_cast<T *>(value);
    }
};

template <typename T> auto pointer_or_number(T value)
{
    if constexpr (std::is_same_v<T, int> || std::is_same_v<T, long>)
        return number{value};
    else
        return value;
}

/* Appends what may be addresses: pointers, and words of structures. */
template <typename T> void append_words(std::vector<uint64_t> &words, const T &argument)
{
    if constexpr (std::is_pointer_v<T> || (std::is_class_v<T> && sizeof(T) >= 8)) {
        for (size_t i = 0; i + 8 <= sizeof(T); i += 8) {
            uint64_t word;
            memcpy(&word, reinterpret_cast<const char *>(&argument) + i, sizeof word);
            if (word != 0)
                words.push_back(word);
        }
    }
}

/* A kernel with its arguments, of which each thread has a copy. */
template <typename Body> struct held {
    Body body;
    std::vector<uint64_t> words;

    PIPELINE_UNSEEN static void run(void *self)
    {
        static_cast<held *>(self)->body();
    }
    static void release(void *self)
    {
        delete static_cast<held *>(self);
    }
};

template <typename Kernel, typename... Arguments>
void hold(struct cpu_launch *launch, Kernel kernel, Arguments... arguments)
{
    auto body = [=]() PIPELINE_UNSEEN { kernel(arguments...); };
    auto *made = new held<decltype(body)>{body, {}};
    (append_words(made->words, arguments), ...);
    launch->thread = held<decltype(body)>::run;
    launch->release = held<decltype(body)>::release;
    launch->arguments = made;
    launch->words = made->words.data();
    launch->word_count = (uint32_t)made->words.size();
}

/* `kernel<<<grid, block, shared, stream>>>(arguments)` is compiled as `configured("kernel",
 * file, line, grid, block, shared, stream)([=](auto... a) -> decltype(kernel(a...)) {
 * kernel(a...);
 * })(arguments)`. */
struct configured {
    struct cpu_launch launch = {};
    cudaStream_t stream;

    configured(const char *name, const char *file, int line, dim3 grid, dim3 block,
               size_t shared = 0, cudaStream_t stream = nullptr)
        : stream(stream)
    {
        pipeline_here(file, line);
        launch.name = name;
        launch.file = file;
        launch.line = line;
        for (int i = 0; i < 3; i++) {
            launch.grid[i] = i == 0 ? grid.x : i == 1 ? grid.y : grid.z;
            launch.block[i] = i == 0 ? block.x : i == 1 ? block.y : block.z;
        }
        launch.shared = shared;
    }

    template <typename Kernel> auto operator()(Kernel kernel) const
    {
        return [made = *this, kernel](auto... arguments) mutable {
            if constexpr (std::is_invocable_v<Kernel, decltype(arguments)...>)
                hold(&made.launch, kernel, arguments...);
            else
                hold(&made.launch, kernel, pointer_or_number(arguments)...);
            return (cudaError_t)pipeline_launch(&made.launch, made.stream);
        };
    }
};

template <typename... Parameters, size_t... i>
void bind_all(void (*kernel)(Parameters...), void **arguments, struct cpu_launch *launch,
              std::index_sequence<i...>)
{
    hold(launch, kernel, *static_cast<std::remove_cv_t<Parameters> *>(arguments[i])...);
}

/* Takes the arguments from their addresses. */
template <typename... Parameters>
void bind(const void *function, void **arguments, struct cpu_launch *launch)
{
    launch->function = function;
    launch->name = pipeline_name(function);
    bind_all(reinterpret_cast<void (*)(Parameters...)>(const_cast<void *>(function)), arguments,
             launch, std::index_sequence_for<Parameters...>());
}

/* Returns the address of a kernel, which the calls that take no other then know. */
template <typename... Parameters> const void *known(void (*kernel)(Parameters...))
{
    const void *function = reinterpret_cast<const void *>(kernel);
    pipeline_know(function, bind<Parameters...>);
    return function;
}

template <typename T> void know_kernel(T)
{
}
template <typename... Parameters> void know_kernel(void (*kernel)(Parameters...))
{
    known(kernel);
}

} // namespace pipeline

/* `(void *)what` and `reinterpret_cast<void *>(what)` are compiled as `pipeline_address<void
 * *>{}->*what` and `pipeline_address<void *>{}(what)`: what is a kernel may go to calls that
 * take only its address. */
template <typename To> struct pipeline_address {
    template <typename From> constexpr To operator()(From &&from) const
    {
        if constexpr (std::is_function_v<std::remove_pointer_t<std::decay_t<From>>>)
            pipeline::know_kernel(+from);
        return (To)from;
    }
    template <typename From> constexpr To operator->*(From &&from) const
    {
        return (*this)(from);
    }
};

/* Where the source calls a function that has these for its last parameters. */
#define PIPELINE_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                             void **arguments, size_t shared = 0,
                             cudaStream_t stream = nullptr PIPELINE_AT)
{
    return cudaLaunchKernel(pipeline::known(kernel), grid, block, arguments, shared, stream,
                            pipeline_place);
}

template <typename... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                        void **arguments, size_t shared = 0,
                                        cudaStream_t stream = nullptr PIPELINE_AT)
{
    return cudaLaunchCooperativeKernel(pipeline::known(kernel), grid, block, arguments, shared,
                                       stream, pipeline_place);
}

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...),
                               Arguments &&...arguments)
{
    std::tuple<std::remove_cv_t<Parameters>...> values(std::forward<Arguments>(arguments)...);
    return std::apply(
        [=](const auto &...value) {
            const void *addresses[] = {static_cast<const void *>(&value)..., nullptr};
            return cudaLaunchKernelExC(config, pipeline::known(kernel),
                                       const_cast<void **>(addresses));
        },
        values);
}

#include "pipeline_math.h"
#include "pipeline_memory.h"
#include "pipeline_warp.h"

/* ---- what a CPU does not have ---- */

#define PIPELINE_REFUSED(name)                                                                 \
    template <typename T = void, typename... A> void name(A &&...) = delete;
PIPELINE_REFUSED(tex1Dfetch)
PIPELINE_REFUSED(tex1D)
PIPELINE_REFUSED(tex2D)
PIPELINE_REFUSED(tex3D)
PIPELINE_REFUSED(tex2DLayered)
PIPELINE_REFUSED(tex2DLod)
PIPELINE_REFUSED(surf1Dread)
PIPELINE_REFUSED(surf1Dwrite)
PIPELINE_REFUSED(surf2Dread)
PIPELINE_REFUSED(surf2Dwrite)
PIPELINE_REFUSED(surf3Dread)
PIPELINE_REFUSED(surf3Dwrite)
#undef PIPELINE_REFUSED

template <typename T, int dimensions = 1, int mode = 0> struct texture {
    static_assert(sizeof(T) == 0, "pipeline: textures are not supported");
};
#define asm static_assert(false, "pipeline: inline PTX is not supported");

#endif
#endif
