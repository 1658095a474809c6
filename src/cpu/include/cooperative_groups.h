/* cooperative_groups.h - CUDA's groups of threads: blocks, grids, tiles of a warp, and the
 * lanes that are together. Groups over several grids, clusters, and tiles of more than a warp
 * are not there. */
#ifndef PIPELINE_CPU_COOPERATIVE_GROUPS_H
#define PIPELINE_CPU_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

namespace cooperative_groups
{

/* A group says these of itself; its size has two names, one of which is older. */
#define PIPELINE_SAYS(type, name, value)                                                       \
    type name() const                                                                          \
    {                                                                                          \
        return value;                                                                          \
    }
#define PIPELINE_SIZES(type, count)                                                            \
    PIPELINE_SAYS(type, num_threads, count)                                                    \
    PIPELINE_SAYS(type, size, count)

class thread_block
{
  public:
    void sync(PIPELINE_PLACE) const
    {
        pipeline_barrier("thread_block::sync", false, file, line);
    }
    PIPELINE_SAYS(unsigned, thread_rank,
                  threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))
    PIPELINE_SIZES(unsigned, blockDim.x *blockDim.y *blockDim.z)
    PIPELINE_SAYS(dim3, group_index, blockIdx)
    PIPELINE_SAYS(dim3, thread_index, threadIdx)
    PIPELINE_SAYS(dim3, group_dim, blockDim)
    PIPELINE_SAYS(dim3, dim_threads, blockDim)
};

inline thread_block this_thread_block()
{
    return {};
}

class grid_group
{
  public:
    void sync(PIPELINE_PLACE) const
    {
        pipeline_grid_barrier(file, line);
    }
    PIPELINE_SAYS(bool, is_valid, true)
    PIPELINE_SAYS(unsigned long long, block_rank,
                  blockIdx.x +
                      (unsigned long long)gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z))
    PIPELINE_SAYS(unsigned long long, num_blocks,
                  (unsigned long long)gridDim.x *gridDim.y *gridDim.z)
    PIPELINE_SAYS(unsigned long long, thread_rank,
                  block_rank() * this_thread_block().size() + this_thread_block().thread_rank())
    PIPELINE_SIZES(unsigned long long, num_blocks() * this_thread_block().size())
    PIPELINE_SAYS(dim3, group_dim, gridDim)
    PIPELINE_SAYS(dim3, dim_blocks, gridDim)
    PIPELINE_SAYS(dim3, block_index, blockIdx)
};

inline grid_group this_grid()
{
    return {};
}

/* Lanes of a warp, ranked in their order. */
class lanes_group
{
  protected:
    unsigned mask;

    /* Returns the lane of a rank. */
    unsigned lane_of(unsigned rank) const
    {
        unsigned rest = mask;
        for (; rank > 0; rank--)
            rest &= rest - 1;
        return rest == 0 ? pipeline::lane() : (unsigned)__builtin_ctz(rest);
    }
    /* Of lanes as a mask of the warp's, one by ranks. */
    unsigned ranks_of(unsigned lanes) const
    {
        unsigned ranks = 0, rank = 0;
        for (unsigned lane = 0; lane < 32; lane++)
            if (mask >> lane & 1)
                ranks |= (lanes >> lane & 1) << rank++;
        return ranks;
    }
    template <typename T> T take(T value, unsigned rank, const char *file, int line) const
    {
        return pipeline::shuffle("shfl of a group", mask, value,
                                 rank < size() ? lane_of(rank) : pipeline::lane(), file, line);
    }

  public:
    explicit lanes_group(unsigned mask) : mask(mask)
    {
    }
    PIPELINE_SAYS(unsigned, pipeline_mask, mask)
    PIPELINE_SIZES(unsigned, (unsigned)__builtin_popcount(mask))
    PIPELINE_SAYS(unsigned, thread_rank,
                  (unsigned)__builtin_popcount(mask &((1u << pipeline::lane()) - 1)))
    void sync(PIPELINE_PLACE) const
    {
        pipeline_exchange("sync of a group", mask, 0, file, line);
    }
    template <typename T> T shfl(T value, unsigned rank, PIPELINE_PLACE) const
    {
        return take(value, rank % size(), file, line);
    }
    template <typename T> T shfl_down(T value, unsigned by, PIPELINE_PLACE) const
    {
        return take(value, thread_rank() + by, file, line);
    }
    template <typename T> T shfl_up(T value, unsigned by, PIPELINE_PLACE) const
    {
        return take(value, thread_rank() - by, file, line);
    }
    template <typename T> T shfl_xor(T value, unsigned with, PIPELINE_PLACE) const
    {
        return take(value, thread_rank() ^ with, file, line);
    }
    unsigned ballot(int predicate, PIPELINE_PLACE) const
    {
        return ranks_of(__ballot_sync(mask, predicate, file, line));
    }
    int any(int predicate, PIPELINE_PLACE) const
    {
        return __any_sync(mask, predicate, file, line);
    }
    int all(int predicate, PIPELINE_PLACE) const
    {
        return __all_sync(mask, predicate, file, line);
    }
    template <typename T> unsigned match_any(T value, PIPELINE_PLACE) const
    {
        return ranks_of(__match_any_sync(mask, value, file, line));
    }
    template <typename T> unsigned match_all(T value, int &all, PIPELINE_PLACE) const
    {
        return ranks_of(__match_all_sync(mask, value, &all, file, line));
    }
};

class coalesced_group : public lanes_group
{
    using lanes_group::lanes_group;
};

inline coalesced_group coalesced_threads(PIPELINE_PLACE)
{
    return coalesced_group(pipeline_active(file, line));
}

namespace pipeline_tile
{

/* Returns the lanes of the tile of `size` that this lane is in; blocks may end within it. */
inline unsigned mask(unsigned size)
{
    const unsigned first = pipeline::lane() / size * size;
    return (size == 32 ? ~0u : (1u << size) - 1) << first;
}

} // namespace pipeline_tile

template <unsigned tile_size, typename Parent = void>
class thread_block_tile : public lanes_group
{
    static_assert(tile_size <= 32 && (tile_size & (tile_size - 1)) == 0,
                  "pipeline: tiles have 1, 2, 4, 8, 16 or 32 threads");

    unsigned meta_rank, meta_size; /* of the tile in its parent */

  public:
    template <typename Of>
    explicit thread_block_tile(const Of &parent, int)
        : lanes_group(pipeline_tile::mask(tile_size)),
          meta_rank((unsigned)parent.thread_rank() / tile_size),
          meta_size(((unsigned)parent.size() + tile_size - 1) / tile_size)
    {
    }
    template <typename Other>
    thread_block_tile(const thread_block_tile<tile_size, Other> &other)
        : lanes_group(other), meta_rank(other.meta_group_rank()),
          meta_size(other.meta_group_size())
    {
    }
    PIPELINE_SAYS(unsigned, meta_group_rank, meta_rank)
    PIPELINE_SAYS(unsigned, meta_group_size, meta_size)
};

template <unsigned tile_size, typename Parent>
thread_block_tile<tile_size, Parent> tiled_partition(const Parent &parent)
{
    return thread_block_tile<tile_size, Parent>(parent, 0);
}

/* Any group, of which only this is known: the block where it has no mask. */
class thread_group : public lanes_group
{
    bool is_block = false;

  public:
    thread_group(const thread_block &) : lanes_group(0), is_block(true)
    {
    }
    thread_group(const lanes_group &lanes) : lanes_group(lanes)
    {
    }
    void sync(PIPELINE_PLACE) const
    {
        is_block ? this_thread_block().sync(file, line) : lanes_group::sync(file, line);
    }
    PIPELINE_SAYS(unsigned, thread_rank,
                  is_block ? this_thread_block().thread_rank() : lanes_group::thread_rank())
    PIPELINE_SIZES(unsigned, is_block ? this_thread_block().size() : lanes_group::size())
};

inline thread_group tiled_partition(const thread_group &, unsigned size)
{
    return lanes_group(pipeline_tile::mask(size));
}

template <typename Group> void sync(const Group &group, PIPELINE_PLACE)
{
    group.sync(file, line);
}

#undef PIPELINE_SIZES
#undef PIPELINE_SAYS

} // namespace cooperative_groups

#endif
