/* pipeline_memory.h - atomics, fences, and loads and stores by name: for cuda_runtime.h. */
#ifndef PIPELINE_CPU_MEMORY_H
#define PIPELINE_CPU_MEMORY_H

inline void __threadfence()
{
    pipeline_fence();
}

inline void __threadfence_block()
{
    pipeline_fence();
}

inline void __threadfence_system()
{
    pipeline_fence();
}

inline void __nanosleep(unsigned)
{
    pipeline_spin();
}

inline long long clock64()
{
    return pipeline_clock();
}

[[noreturn]] inline void __trap(PIPELINE_PLACE)
{
    pipeline_fail("__trap()", file, line);
    abort();
}

#define PIPELINE_LOAD(name, before)                                                            \
    template <typename T> __forceinline__ T name(const T *from)                                \
    {                                                                                          \
        before;                                                                                \
        return *from;                                                                          \
    }
PIPELINE_LOAD(__ldg, )
PIPELINE_LOAD(__ldca, )
PIPELINE_LOAD(__ldcs, )
PIPELINE_LOAD(__ldlu, )
PIPELINE_LOAD(__ldcg, pipeline_pause(false))
PIPELINE_LOAD(__ldcv, pipeline_pause(false))
#undef PIPELINE_LOAD

#define PIPELINE_STORE(name)                                                                   \
    template <typename T> __forceinline__ void name(T *to, std::enable_if_t<true, T> value)    \
    {                                                                                          \
        *to = value;                                                                           \
    }
PIPELINE_STORE(__stcg)
PIPELINE_STORE(__stcs)
PIPELINE_STORE(__stwb)
PIPELINE_STORE(__stwt)
#undef PIPELINE_STORE

/* Only one thread runs at a time, so that an atomic load and store are an atomic operation.
 * They are the compiler's atomics to be watched as such. */
namespace pipeline
{

template <int order, typename T, typename Change> __forceinline__ T change(T *at, Change to)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 2, "not an atomic's type");
    T old, now;
    __atomic_load(at, &old, order);
    now = to(old);
    __atomic_store(at, &now, order);
    pipeline_pause(memcmp(&old, &now, sizeof old) != 0);
    return old;
}

} // namespace pipeline

#define PIPELINE_ATOMIC_OF(name, order, result)                                                \
    template <typename T> __forceinline__ T name(T *at, std::enable_if_t<true, T> value)       \
    {                                                                                          \
        return pipeline::change<order>(at, [=](T old) { return (T)(result); });                \
    }
#define PIPELINE_CAS_OF(name)                                                                  \
    template <typename T>                                                                      \
    __forceinline__ T name(T *at, std::enable_if_t<true, T> compare,                           \
                           std::enable_if_t<true, T> value)                                    \
    {                                                                                          \
        return pipeline::change<__ATOMIC_SEQ_CST>(                                             \
            at, [=](T old) { return old == compare ? value : old; });                          \
    }
#define PIPELINE_ATOMIC(name, order, result)                                                   \
    PIPELINE_ATOMIC_OF(name, order, result)                                                    \
    PIPELINE_ATOMIC_OF(name##_block, order, result)                                            \
    PIPELINE_ATOMIC_OF(name##_system, order, result)
PIPELINE_ATOMIC(atomicAdd, __ATOMIC_RELAXED, old + value)
PIPELINE_ATOMIC(atomicSub, __ATOMIC_RELAXED, old - value)
PIPELINE_ATOMIC(atomicInc, __ATOMIC_RELAXED, old >= value ? 0 : old + 1)
PIPELINE_ATOMIC(atomicDec, __ATOMIC_RELAXED, old == 0 || old > value ? value : old - 1)
PIPELINE_ATOMIC(atomicOr, __ATOMIC_RELAXED, old | value)
PIPELINE_ATOMIC(atomicAnd, __ATOMIC_RELAXED, old &value)
PIPELINE_ATOMIC(atomicXor, __ATOMIC_RELAXED, old ^ value)
PIPELINE_ATOMIC(atomicMax, __ATOMIC_RELAXED, value > old ? value : old)
PIPELINE_ATOMIC(atomicMin, __ATOMIC_RELAXED, value < old ? value : old)
PIPELINE_ATOMIC(atomicExch, __ATOMIC_SEQ_CST, ((void)old, value))
PIPELINE_CAS_OF(atomicCAS)
PIPELINE_CAS_OF(atomicCAS_block)
PIPELINE_CAS_OF(atomicCAS_system)
#undef PIPELINE_ATOMIC
#undef PIPELINE_ATOMIC_OF
#undef PIPELINE_CAS_OF

#endif
