/* grid.cpp - see grid.h.
 *
 * A slot runs one live block after another, on a thread of the operating system's of its own.
 * There is one turn, handed from slot to slot and back to who launched, so nothing but the turn
 * itself needs a lock. Inside a slot the scheduler picks a thread and goes to its fiber, which
 * comes back when the thread waits. A thread that ends leaves its fiber to one that has not
 * begun: where none waits, a block takes one fiber. */
#include "cpu/grid_parts.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <ucontext.h>
#include <unistd.h>

/* To programs these are constants, as they are to a thread of a kernel's. __thread needs no
 * function to find the variable, as thread_local would. */
__thread uint3 threadIdx, blockIdx, blockDim, gridDim;

__thread struct slot *here;
struct launches *grid; /* never freed: its slots wait for the next launch */

namespace
{

enum {
    NOBODY = -1,              /* the turn is the launching thread's */
    IDLE_ROUNDS_MAX = 100000, /* turns in a row in which live blocks did nothing but spin */
    LIVE = 256,
    SIGNAL_STACK = 64 << 10,
};

/* Finds the first ready rank from `rank` on, around the end. Returns false if none is ready. */
inline bool find_ready(const struct slot *slot, unsigned rank, unsigned *found)
{
    const unsigned words = GRID_THREADS_MAX / 64;
    for (unsigned i = 0; i <= words; i++) {
        const unsigned word = (rank / 64 + i) % words;
        uint64_t bits = slot->ready[word];
        if (i == 0)
            bits &= ~UINT64_C(0) << rank % 64;
        if (bits != 0) {
            *found = word * 64 + (unsigned)__builtin_ctzll(bits);
            return true;
        }
    }
    return false;
}

/* Makes the thread that goes on next the current one: rank_thread[] holds the order, and
 * NEXT_ANY begins anywhere in it. Returns false if none can go on, or none that has not begun.
 */
bool pick_thread(bool must_begin)
{
    struct slot *slot = here;
    unsigned rank;
    if (!find_ready(slot, grid->next == NEXT_ANY ? grid_draw(grid->threads) : 0, &rank))
        return false;
    struct thread *thread = &slot->threads[slot->rank_thread[rank]];
    if (must_begin && thread->fiber != nullptr)
        return false;
    slot->ready[rank / 64] &= ~(UINT64_C(1) << rank % 64);
    slot->current = thread;
    threadIdx = thread->index;
    return true;
}

/* Has the current thread watched, on the fiber's stack. */
void watch_current(struct fiber *fiber)
{
    struct thread *thread = here->current;
    thread->fiber = fiber;
    thread->lane.stack = (uintptr_t)fiber->stack;
    thread->lane.stack_bytes = fiber->stack_bytes;
    watch_lane = &thread->lane;
}

/* A fiber runs threads to their ends. Any order but NEXT_ANY has one thread follow another
 * without asking the scheduler. */
void fiber_body()
{
    struct slot *slot = here;
    for (;;) {
        grid->launch->thread(grid->launch->arguments);
        watch_settle(&slot->watch);
        watch_lane = nullptr;
        struct fiber *mine = slot->current->fiber;
        slot->current->state = ENDED;
        slot->current->fiber = nullptr;
        grid->idle_rounds = 0;
        if (grid->next == NEXT_ANY || !pick_thread(true)) {
            slot->idle.push_back(mine);
            fiber_switch(mine, &slot->scheduler);
        } else {
            watch_current(mine);
        }
    }
}

void go_on()
{
    struct fiber *&fiber = here->current->fiber;
    if (fiber == nullptr && !here->idle.empty()) {
        fiber = here->idle.back();
        here->idle.pop_back();
    } else if (fiber == nullptr) {
        fiber = new struct fiber();
        fiber_create(fiber, &here->scheduler, fiber_body);
    }
    watch_current(fiber);
    fiber_switch(&here->scheduler, fiber);
    watch_lane = nullptr;
}

/* Puts 0 to count - 1 in the order asked for; NEXT_WARPS draws whole groups. */
void make_order(std::vector<unsigned> &order, unsigned count, unsigned group)
{
    if (grid->next < NEXT_WARPS && order.size() == count &&
        order[0] == (grid->next == NEXT_HIGHEST ? count - 1 : 0))
        return;
    std::vector<unsigned> groups((count + group - 1) / group);
    for (unsigned i = 0; i < groups.size(); i++)
        groups[i] = i;
    for (size_t i = grid->next >= NEXT_WARPS ? groups.size() : 0; i > 1; i--)
        std::swap(groups[i - 1], groups[grid_draw((unsigned)i)]);
    order.clear();
    for (unsigned first : groups)
        for (unsigned i = first * group; i < (first + 1) * group && i < count; i++)
            order.push_back(grid->next == NEXT_HIGHEST ? count - 1 - i : i);
}

uint3 index_of(unsigned number, const dim3 &of)
{
    return {number % of.x, number / of.x % of.y, number / of.x / of.y};
}

void block_begin(unsigned block)
{
    const struct cpu_launch *launch = grid->launch;
    const unsigned threads = grid->threads;
    const dim3 dimensions(launch->block[0], launch->block[1], launch->block[2]);
    gridDim = {launch->grid[0], launch->grid[1], launch->grid[2]};
    blockIdx = index_of(block, gridDim);
    if (here->threads.size() != threads ||
        memcmp(&blockDim, &dimensions, sizeof dimensions) != 0) {
        blockDim = dimensions;
        here->threads.resize(threads);
        here->exchanged.resize(threads * LANES);
        for (unsigned i = 0; i < threads; i++) {
            struct thread &thread = here->threads[i];
            thread.index = index_of(i, dimensions);
            thread.lanes = &here->exchanged[i * LANES];
        }
    }
    here->shared.resize(launch->shared);
    make_order(here->rank_thread, threads, grid->next == NEXT_ANY ? 1 : LANES);
    here->thread_rank.resize(threads);
    for (unsigned rank = 0; rank < threads; rank++)
        here->thread_rank[here->rank_thread[rank]] = rank;
    for (unsigned word = 0; word < GRID_THREADS_MAX / 64; word++)
        here->ready[word] = word * 64 + 64 <= threads ? ~UINT64_C(0)
                            : word * 64 < threads     ? ~(~UINT64_C(0) << threads % 64)
                                                      : 0;
    watch_block_begin(&here->watch, here->shared.data(), launch->shared);
    const bool sampled = watch_samples(block);
    for (unsigned i = 0; i < threads; i++) {
        struct thread &thread = here->threads[i];
        thread.pauses = 0;
        thread.cycles = 0;
        thread.state = READY;
        watch_lane_begin(&thread.lane, &here->watch, i, sampled);
    }
    here->waiting = here->votes = 0;
}

/* The slot's thread begins with its first turn. */
void slot_run(int me);
void pass_turn(int to)
{
    const std::lock_guard<std::mutex> lock(grid->mutex);
    grid->turn = to;
    if (to == NOBODY) {
        grid->over.notify_all();
        return;
    }
    if (grid->slots[(size_t)to]->exists) {
        grid->slots[(size_t)to]->changed.notify_one();
        return;
    }
    grid->slots[(size_t)to]->exists = true;
    std::thread(slot_run, to).detach();
}

void await_turn(int me)
{
    std::unique_lock<std::mutex> lock(grid->mutex);
    auto &changed = me == NOBODY ? grid->over : grid->slots[(size_t)me]->changed;
    changed.wait(lock, [=] { return grid->turn == me; });
}

/* Returns a slot that has something to do, another than `me` if there is one, or NOBODY when
 * all is done. */
int next_slot(int me)
{
    const int live = (int)grid->live_now;
    const bool more = !grid->failed && grid->begun < grid->blocks;
    const int from = grid->next == NEXT_ANY ? (int)grid_draw(grid->live_now) : me;
    for (int i = 1; i <= live; i++) {
        const int slot = (from + i) % live;
        if (slot != me && (more || grid->slots[(size_t)slot]->busy))
            return slot;
    }
    return me != NOBODY && grid->slots[(size_t)me]->busy ? me : NOBODY;
}

void other_slots_turn(int me)
{
    const int next = next_slot(me);
    if (next == me || next == NOBODY)
        return;
    pass_turn(next);
    await_turn(me);
}

/* Lets spinning threads look again, after the other blocks, when no thread is ready. Returns
 * false when the block has ended, or has failed. */
bool block_waits(int me)
{
    bool ended = true, spins = false;
    for (const struct thread &thread : here->threads) {
        ended = ended && thread.state == ENDED;
        spins = spins || thread.state == SPINNING;
    }
    if (ended)
        return false;
    if (release_converged() || release_left())
        return true;
    if (!spins || grid->idle_rounds++ > IDLE_ROUNDS_MAX) {
        fail_waiting();
        return false;
    }
    other_slots_turn(me);
    for (unsigned thread = 0; thread < grid->threads; thread++)
        if (here->threads[thread].state == SPINNING)
            set_ready(thread);
    return true;
}

/* Runs a block to its end, or until something failed in this one or another. */
void block_run(unsigned block, int me)
{
    block_begin(block);
    while (!grid->failed) {
        if (!pick_thread(false)) {
            if (!block_waits(me))
                break;
            continue;
        }
        go_on();
        if (here->trapped_at != 0)
            fail_trapped();
        if (here->current->state != SPINNING)
            grid->idle_rounds = 0;
        here->current = nullptr;
        if (grid->next == NEXT_ANY && !grid->failed && grid_draw(256) == 0)
            other_slots_turn(me);
    }
    if (!grid->failed)
        watch_block_end(&here->threads[0].lane, sizeof here->threads[0], grid->threads);
    for (struct thread &hanging : here->threads) {
        if (hanging.fiber == nullptr)
            continue;
        fiber_reset(hanging.fiber);
        here->idle.push_back(hanging.fiber);
        hanging.fiber = nullptr;
    }
}

void slot_run(int me)
{
    here = grid->slots[(size_t)me];
    stack_t stack = {};
    stack.ss_sp = malloc(SIGNAL_STACK);
    stack.ss_size = SIGNAL_STACK;
    if (FIBER_HAS_SIGNAL_STACK && stack.ss_sp != nullptr)
        sigaltstack(&stack, nullptr);
    for (;;) {
        await_turn(me);
        while (!grid->failed && grid->begun < grid->blocks) {
            const unsigned begun = grid->begun++;
            here->busy = true;
            block_run(grid->order[begun], me);
            here->busy = false;
            if (grid->next == NEXT_ANY)
                other_slots_turn(me);
        }
        pass_turn(next_slot(me));
    }
}

/* The compiler's checks end in a signal, as accesses to no memory do. */
void on_trap(int signal, siginfo_t *info, void *context)
{
    if (here == nullptr || here->current == nullptr) {
        ::signal(signal, SIG_DFL); /* comes again */
        return;
    }
    const mcontext_t &machine = static_cast<const ucontext_t *>(context)->uc_mcontext;
#if defined(__x86_64__)
    here->trapped_at = (uintptr_t)machine.gregs[REG_RIP];
#elif defined(__aarch64__)
    here->trapped_at = (uintptr_t)machine.pc;
#else
    (void)machine;
    here->trapped_at = 1;
#endif
    here->is_access = signal == SIGSEGV || signal == SIGBUS;
    here->trapped_on = (uintptr_t)info->si_addr;
    back_to_scheduler();
}

/* Takes the process's own grid: threads do not survive a fork. */
void grid_take()
{
    if (grid != nullptr && grid->process == getpid())
        return;
    auto *taken = new struct launches();
    taken->next = grid != nullptr ? grid->next : NEXT_LOWEST;
    taken->live = grid != nullptr ? grid->live : (uint32_t)LIVE;
    taken->random = grid != nullptr ? grid->random : 1;
    taken->turn = NOBODY;
    taken->process = getpid();
    grid = taken;
    struct sigaction action = {};
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_NODEFER | SA_SIGINFO | SA_ONSTACK; /* the handler is left by a jump */
    for (int signal : {SIGILL, SIGTRAP, SIGFPE, SIGSEGV, SIGBUS})
        sigaction(signal, &action, nullptr);
}

} // namespace

unsigned grid_draw(unsigned below)
{
    grid->random ^= grid->random >> 12;
    grid->random ^= grid->random << 25;
    grid->random ^= grid->random >> 27;
    return (unsigned)((grid->random * 2685821657736338717u >> 32) * below >> 32);
}

void back_to_scheduler(void)
{
    watch_settle(&here->watch);
    fiber_switch(here->current->fiber, &here->scheduler);
}

void set_ready(unsigned thread)
{
    here->threads[thread].state = READY;
    const unsigned rank = here->thread_rank[thread];
    here->ready[rank / 64] |= UINT64_C(1) << rank % 64;
}

bool grid_run(const struct cpu_launch *launch, struct cpu_did *did)
{
    static std::mutex one;
    const std::lock_guard<std::mutex> alone(one);
    grid_take();
    grid->launch = launch;
    grid->threads = launch->block[0] * launch->block[1] * launch->block[2];
    grid->blocks = launch->grid[0] * launch->grid[1] * launch->grid[2];
    grid->live_now =
        std::min(launch->cooperative ? (uint32_t)GRID_LIVE_MAX : grid->live, grid->blocks);
    grid->begun = grid->idle_rounds = grid->arrived = 0;
    grid->failed = false;
    grid->cycles = 0;
    make_order(grid->order, grid->blocks, 1);
    while (grid->slots.size() < grid->live_now)
        grid->slots.push_back(new struct slot());
    watch_begin(launch);
    pass_turn(0);
    await_turn(NOBODY);
    watch_end(did);
    watch_count(did);
    did->cycles = grid->cycles;
    if (grid->failed)
        snprintf(did->fault, sizeof did->fault, "%s", grid->fault.c_str());
    return !grid->failed;
}

void grid_set_order(enum grid_next next, uint32_t live, uint64_t seed)
{
    grid_take();
    grid->next = next;
    grid->live = live;
    grid->random = seed * 2 + 1;
}

void cpu_did_free(struct cpu_did *did)
{
    free(did->ranges);
    did->ranges = nullptr;
    did->range_count = 0;
}
