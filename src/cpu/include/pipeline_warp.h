/* pipeline_warp.h - barriers, and what the lanes of a warp do together: for cuda_runtime.h. */
#ifndef PIPELINE_CPU_WARP_H
#define PIPELINE_CPU_WARP_H

PIPELINE_UNSEEN inline void __syncthreads(PIPELINE_PLACE)
{
    pipeline_barrier("__syncthreads", false, file, line);
}

PIPELINE_UNSEEN inline int __syncthreads_count(int predicate, PIPELINE_PLACE)
{
    return (int)pipeline_barrier("__syncthreads_count", predicate != 0, file, line);
}

PIPELINE_UNSEEN inline int __syncthreads_or(int predicate, PIPELINE_PLACE)
{
    return pipeline_barrier("__syncthreads_or", predicate != 0, file, line) != 0;
}

PIPELINE_UNSEEN inline int __syncthreads_and(int predicate, PIPELINE_PLACE)
{
    return pipeline_barrier("__syncthreads_and", predicate == 0, file, line) == 0;
}

PIPELINE_UNSEEN inline void __syncwarp(unsigned mask = 0xffffffff, PIPELINE_PLACE)
{
    pipeline_exchange("__syncwarp", mask, 0, file, line);
}

PIPELINE_UNSEEN inline unsigned __activemask(PIPELINE_PLACE)
{
    return pipeline_active(file, line);
}

namespace pipeline
{

template <typename To, typename From> PIPELINE_UNSEEN To bits(From from)
{
    static_assert(sizeof(To) >= sizeof(From) || sizeof(From) == 8, "wider than 8 bytes");
    To to = {};
    memcpy(&to, &from, sizeof(From) < sizeof(To) ? sizeof(From) : sizeof(To));
    return to;
}

PIPELINE_UNSEEN inline unsigned lane()
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % warpSize;
}

template <typename T>
PIPELINE_UNSEEN T shuffle(const char *operation, unsigned mask, T value, unsigned from,
                          const char *file, int line)
{
    static_assert(sizeof(T) <= 32, "a shuffle moves at most 32 bytes");
    uint64_t words[(sizeof(T) + 7) / 8] = {};
    memcpy(words, &value, sizeof value);
    for (uint64_t &word : words) {
        const uint64_t *lanes = pipeline_exchange(operation, mask, word, file, line);
        pipeline_check_lane(operation, mask, from, file, line);
        word = lanes[from];
    }
    memcpy(&value, words, sizeof value);
    return value;
}

/* Folds the values of the lanes that `mask` names, the lowest lane's first. */
template <typename T, typename Fold>
PIPELINE_UNSEEN T fold(const char *operation, unsigned mask, T value, Fold with,
                       const char *file, int line)
{
    const uint64_t *lanes =
        pipeline_exchange(operation, mask, bits<uint64_t>(value), file, line);
    T folded = {};
    bool any = false;
    for (unsigned lane = 0; lane < (unsigned)warpSize; lane++) {
        if ((mask >> lane & 1) == 0)
            continue;
        folded = any ? (T)with(folded, bits<T>(lanes[lane])) : bits<T>(lanes[lane]);
        any = true;
    }
    return folded;
}

template <typename T>
PIPELINE_UNSEEN unsigned match(const char *operation, unsigned mask, T value, const char *file,
                               int line)
{
    const uint64_t mine = bits<uint64_t>(value);
    const uint64_t *lanes = pipeline_exchange(operation, mask, mine, file, line);
    unsigned same = 0;
    for (unsigned lane = 0; lane < (unsigned)warpSize; lane++)
        same |= (mask >> lane & 1 && lanes[lane] == mine) ? 1u << lane : 0;
    return same;
}

} // namespace pipeline

template <typename T>
PIPELINE_UNSEEN T __shfl_sync(unsigned mask, T value, int from, int width = warpSize,
                              PIPELINE_PLACE)
{
    const unsigned lane = (pipeline::lane() & ~(width - 1u)) | (from & (width - 1u));
    return pipeline::shuffle("__shfl_sync", mask, value, lane, file, line);
}

template <typename T>
PIPELINE_UNSEEN T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize,
                                   PIPELINE_PLACE)
{
    const unsigned lane = pipeline::lane(), place = lane % (unsigned)width + by;
    return pipeline::shuffle("__shfl_down_sync", mask, value,
                             place < (unsigned)width ? lane + by : lane, file, line);
}

template <typename T>
PIPELINE_UNSEEN T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize,
                                 PIPELINE_PLACE)
{
    const unsigned lane = pipeline::lane();
    return pipeline::shuffle("__shfl_up_sync", mask, value,
                             lane % (unsigned)width >= by ? lane - by : lane, file, line);
}

template <typename T>
PIPELINE_UNSEEN T __shfl_xor_sync(unsigned mask, T value, unsigned with, int width = warpSize,
                                  PIPELINE_PLACE)
{
    const unsigned lane = pipeline::lane(), other = lane ^ with;
    return pipeline::shuffle("__shfl_xor_sync", mask, value,
                             other / (unsigned)width <= lane / (unsigned)width ? other : lane,
                             file, line);
}

PIPELINE_UNSEEN inline unsigned __ballot_sync(unsigned mask, int predicate, PIPELINE_PLACE)
{
    const int yes = predicate != 0;
    const unsigned same = pipeline::match("__ballot_sync", mask, yes, file, line);
    return yes ? same : mask & ~same;
}

PIPELINE_UNSEEN inline int __any_sync(unsigned mask, int predicate, PIPELINE_PLACE)
{
    return __ballot_sync(mask, predicate, file, line) != 0;
}

PIPELINE_UNSEEN inline int __all_sync(unsigned mask, int predicate, PIPELINE_PLACE)
{
    return __ballot_sync(mask, !predicate, file, line) == 0;
}

template <typename T>
PIPELINE_UNSEEN unsigned __match_any_sync(unsigned mask, T value, PIPELINE_PLACE)
{
    return pipeline::match("__match_any_sync", mask, value, file, line);
}

template <typename T>
PIPELINE_UNSEEN unsigned __match_all_sync(unsigned mask, T value, int *all, PIPELINE_PLACE)
{
    *all = pipeline::match("__match_all_sync", mask, value, file, line) == mask;
    return *all ? mask : 0;
}

#define PIPELINE_REDUCE(name, result)                                                          \
    template <typename T> PIPELINE_UNSEEN T name(unsigned mask, T value, PIPELINE_PLACE)       \
    {                                                                                          \
        static_assert(std::is_integral_v<T> && sizeof(T) == 4, "takes int or unsigned");       \
        return pipeline::fold(                                                                 \
            #name, mask, value, [](T a, T b) { return result; }, file, line);                  \
    }
PIPELINE_REDUCE(__reduce_add_sync, (T)((unsigned)a + (unsigned)b))
PIPELINE_REDUCE(__reduce_min_sync, b < a ? b : a)
PIPELINE_REDUCE(__reduce_max_sync, a < b ? b : a)
PIPELINE_REDUCE(__reduce_and_sync, (T)(a &b))
PIPELINE_REDUCE(__reduce_or_sync, (T)(a | b))
PIPELINE_REDUCE(__reduce_xor_sync, (T)(a ^ b))
#undef PIPELINE_REDUCE

#endif
