/* grid.h - blocks and threads of a kernel on the CPU: see cuda_runtime.h.
 *
 * A block is run by a thread of the host's, and several are at a time, so that they may wait
 * for what others tell. The block's threads are fibers, which take turns where they wait for
 * each other: at barriers of the block, and where the threads of a warp exchange values. */
#ifndef PIPELINE_TESTS_EMIT_GRID_H
#define PIPELINE_TESTS_EMIT_GRID_H

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <ucontext.h>
#include <vector>

#define __shared__ static thread_local

enum { FAKE_BLOCKS = 4 /* at a time, at most */, FAKE_STACK = 1 << 16, FAKE_WARP = 32 };

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z)
    {
    }
};
static thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

/* A barrier: how many have come, and how often all have. */
struct fake_barrier {
    unsigned come, times;
};
static thread_local struct {
    ucontext_t host;
    std::vector<ucontext_t> threads;
    std::vector<char> ended;
    std::vector<unsigned> values; /* that threads show to their warp */
    std::vector<fake_barrier> warps;
    fake_barrier block;
    const std::function<void()> *kernel;
    std::unique_ptr<char[]> stacks;
    size_t stack_count;
} fake_block;

static inline unsigned fake_number()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
static inline unsigned fake_threads()
{
    return blockDim.x * blockDim.y * blockDim.z;
}

/* Gives the other threads their turns until all `count` have come to the barrier. */
static inline void fake_wait(fake_barrier &barrier, unsigned count)
{
    const unsigned times = barrier.times, number = fake_number();
    if (++barrier.come == count) {
        barrier.come = 0;
        barrier.times++;
    }
    while (barrier.times == times)
        swapcontext(&fake_block.threads[number], &fake_block.host);
}

static inline void fake_thread()
{
    (*fake_block.kernel)();
    fake_block.ended[fake_number()] = 1;
}

static inline void fake_begin(unsigned number)
{
    ucontext_t &thread = fake_block.threads[number];
    getcontext(&thread);
    thread.uc_stack.ss_sp = fake_block.stacks.get() + (size_t)number * FAKE_STACK;
    thread.uc_stack.ss_size = FAKE_STACK;
    thread.uc_link = &fake_block.host;
    makecontext(&thread, fake_thread, 0);
}

/* Runs a block to its end: its threads in turn, each up to where it waits, from the first on or, in
 * every second block, from the last: where a barrier is missing, one of them is too early. */
static inline void fake_run_block(const std::function<void()> &kernel)
{
    const unsigned count = fake_threads();
    if (fake_block.stack_count < count) {
        fake_block.stacks.reset(new char[(size_t)count * FAKE_STACK]);
        fake_block.stack_count = count;
    }
    fake_block.kernel = &kernel;
    fake_block.threads.resize(count);
    fake_block.values.resize(count);
    fake_block.ended.assign(count, 0);
    fake_block.warps.assign((count + FAKE_WARP - 1) / FAKE_WARP, fake_barrier{0, 0});
    fake_block.block = fake_barrier{0, 0};
    for (unsigned i = 0; i < count; i++)
        fake_begin(i);
    static std::atomic<unsigned> blocks{0};
    const bool backwards = blocks++ % 2 != 0 || getenv("GRID_BACKWARDS") != NULL;
    for (bool more = true; more;) {
        more = false;
        for (unsigned turn = 0; turn < count; turn++) {
            const unsigned i = backwards ? count - 1 - turn : turn;
            if (fake_block.ended[i])
                continue;
            threadIdx =
                dim3(i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y);
            swapcontext(&fake_block.host, &fake_block.threads[i]);
            more |= !fake_block.ended[i];
        }
    }
}

static inline void fake_grid(dim3 grid, dim3 block, const std::function<void()> &kernel)
{
    const unsigned count = grid.x * grid.y * grid.z;
    std::atomic<unsigned> next{0};
    const auto work = [&] {
        gridDim = grid;
        blockDim = block;
        for (unsigned i; (i = next++) < count;) {
            blockIdx = dim3(i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y);
            fake_run_block(kernel);
        }
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < count && i < FAKE_BLOCKS; i++)
        others.emplace_back(work);
    work();
    for (auto &other : others)
        other.join();
}

/* ---- what threads do to one another ---- */

static inline void __syncthreads()
{
    fake_wait(fake_block.block, fake_threads());
}
static inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline unsigned atomicAdd(unsigned *value, unsigned more)
{
    return __atomic_fetch_add(value, more, __ATOMIC_SEQ_CST);
}
static inline unsigned atomicExch(unsigned *value, unsigned other)
{
    return __atomic_exchange_n(value, other, __ATOMIC_SEQ_CST);
}
static inline unsigned atomicInc(unsigned *value, unsigned most)
{
    unsigned old = __atomic_load_n(value, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(value, &old, old >= most ? 0 : old + 1, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        continue;
    return old;
}

/* Waits for the warp. */
static inline void __syncwarp()
{
    const unsigned number = fake_number(), rest = fake_threads() - number / FAKE_WARP * FAKE_WARP;
    fake_wait(fake_block.warps[number / FAKE_WARP], rest < FAKE_WARP ? rest : FAKE_WARP);
}

/* Shows `value` to the warp, all of whose threads must come, and has `look` look at what they
 * show, from the first on. */
template <typename Look> static unsigned fake_exchange(unsigned value, Look look)
{
    const unsigned number = fake_number(), first = number / FAKE_WARP * FAKE_WARP;
    const unsigned rest = fake_threads() - first, count = rest < FAKE_WARP ? rest : FAKE_WARP;
    fake_barrier &warp = fake_block.warps[number / FAKE_WARP];
    fake_block.values[number] = value;
    fake_wait(warp, count);
    const unsigned seen = look(&fake_block.values[first], number - first, count);
    fake_wait(warp, count);
    return seen;
}
static inline unsigned __shfl_up_sync(unsigned, unsigned value, unsigned offset)
{
    return fake_exchange(value, [=](const unsigned *values, unsigned lane, unsigned) {
        return values[lane >= offset ? lane - offset : lane];
    });
}
static inline unsigned __shfl_down_sync(unsigned, unsigned value, unsigned offset)
{
    return fake_exchange(value, [=](const unsigned *values, unsigned lane, unsigned count) {
        return values[lane + offset < count ? lane + offset : lane];
    });
}
static inline unsigned __shfl_xor_sync(unsigned, unsigned value, unsigned mask)
{
    return fake_exchange(value, [=](const unsigned *values, unsigned lane, unsigned count) {
        return values[(lane ^ mask) < count ? lane ^ mask : lane];
    });
}
static inline unsigned __ballot_sync(unsigned, unsigned value)
{
    return fake_exchange(value, [](const unsigned *values, unsigned, unsigned count) {
        unsigned bits = 0;
        for (unsigned i = 0; i < count; i++)
            bits |= (values[i] != 0 ? 1u : 0u) << i;
        return bits;
    });
}

#endif
