/* reduce.h - what the lanes of a group make of their values together: reductions and scans. */
#ifndef PIPELINE_CPU_COOPERATIVE_GROUPS_REDUCE_H
#define PIPELINE_CPU_COOPERATIVE_GROUPS_REDUCE_H

#include <cooperative_groups.h>

namespace cooperative_groups
{

#define PIPELINE_OPERATION(name, result)                                                       \
    template <typename T = void> struct name {                                                 \
        template <typename V> V operator()(V a, V b) const                                     \
        {                                                                                      \
            return result;                                                                     \
        }                                                                                      \
    };
PIPELINE_OPERATION(plus, a + b)
PIPELINE_OPERATION(less, b < a ? b : a)
PIPELINE_OPERATION(greater, a < b ? b : a)
PIPELINE_OPERATION(bit_and, a &b)
PIPELINE_OPERATION(bit_or, a | b)
PIPELINE_OPERATION(bit_xor, a ^ b)
#undef PIPELINE_OPERATION

template <typename Group, typename T, typename Fold>
T reduce(const Group &group, T value, Fold with, PIPELINE_PLACE)
{
    return pipeline::fold("reduce", group.pipeline_mask(), value, with, file, line);
}

template <typename Group, typename T, typename Fold = plus<T>>
T inclusive_scan(const Group &group, T value, Fold with = {}, PIPELINE_PLACE)
{
    for (unsigned by = 1; by < group.size(); by *= 2) {
        const T before = group.shfl_up(value, by, file, line);
        value = group.thread_rank() >= by ? (T)with(before, value) : value;
    }
    return value;
}

template <typename Group, typename T, typename Fold = plus<T>>
T exclusive_scan(const Group &group, T value, Fold with = {}, PIPELINE_PLACE)
{
    const T before =
        group.shfl_up(inclusive_scan(group, value, with, file, line), 1, file, line);
    return group.thread_rank() > 0 ? before : T{};
}

} // namespace cooperative_groups

#endif
