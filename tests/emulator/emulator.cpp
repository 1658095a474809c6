/* emulator.cpp - see emulator.h.
 *
 * A slot runs one live block after another, on a thread of the operating system's of its own.
 * There is one turn, handed from slot to slot and back to who launched, so nothing but the turn
 * itself needs a lock. Inside a slot the scheduler picks a fiber, and the fiber comes back to
 * it when it waits. */
#include "emulator.h"

#include "cuda_runtime.h"
#include "fiber.h"

#include <condition_variable>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

__thread uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace
{

enum {
    LANES = 32,
    NOBODY = -1,             /* the turn is the launching thread's */
    IDLE_ROUNDS_MAX = 20000, /* turns in a row in which live blocks did nothing but spin */
    PAUSES_MAX = 64,         /* after so many a thread counts as spinning */
};

enum state { READY, AT_BARRIER, IN_WARP, SPINNING, ENDED };

/* A thread of the live block. */
struct thread {
    struct fiber fiber;
    enum state state;
    const char *file, *operation;
    int line;
    unsigned mask, pauses;
    uint64_t mine, lanes[LANES];
};

struct slot {
    bool busy;
    struct fiber scheduler;
    std::vector<struct thread> threads;
    struct thread *current;
    std::vector<unsigned> rank_thread;         /* by rank, who goes first: the thread */
    uint64_t ready[EMULATOR_THREADS_MAX / 64]; /* a bit per rank */
    std::vector<unsigned> thread_rank;
    unsigned waiting; /* threads at the barrier */
};

struct launches {
    pid_t process; /* the process that has the slots: they do not survive a fork */
    std::mutex mutex;
    std::condition_variable changed[EMULATOR_LIVE_MAX + 1];
    int turn = NOBODY;
    struct slot *slots[EMULATOR_LIVE_MAX];

    enum emulator_next next = NEXT_LOWEST;
    uint32_t live = 1;
    uint64_t random = 1;

    std::function<void()> kernel; /* run by each thread of the grid */
    unsigned threads, blocks;
    std::vector<unsigned> order; /* the order in which blocks begin */
    size_t begun;                /* number of blocks that have begun */
    unsigned idle_rounds;
    bool failed;
    std::string fault;
};
struct launches *grid; /* never freed: its slots wait for the next launch */

thread_local struct slot *here; /* the slot of this thread */

unsigned draw(unsigned below)
{
    grid->random ^= grid->random >> 12;
    grid->random ^= grid->random << 25;
    grid->random ^= grid->random >> 27;
    return (unsigned)((grid->random * 2685821657736338717u >> 32) * below >> 32);
}

void back_to_scheduler()
{
    fiber_switch(&here->current->fiber, &here->scheduler);
}

/* A fiber runs its thread of one block after another. */
void thread_body()
{
    for (;;) {
        grid->kernel();
        here->current->state = ENDED;
        back_to_scheduler();
    }
}

/* ---- faults ---- */

__attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    grid->fault += text;
}

void fault_begin()
{
    grid->failed = true;
    grid->fault.clear();
    say("block %u of %u: ", blockIdx.x, gridDim.x);
}

std::string describe(const struct thread &thread)
{
    char text[256] = "have ended";
    if (thread.state == SPINNING)
        snprintf(text, sizeof text, "spin");
    else if (thread.state == AT_BARRIER)
        snprintf(text, sizeof text, "wait at __syncthreads of %s:%d", thread.file, thread.line);
    else if (thread.state == IN_WARP)
        snprintf(text, sizeof text, "wait for lanes 0x%08x at %s of %s:%d", thread.mask,
                 thread.operation, thread.file, thread.line);
    return text;
}

/* "threads 0-127 wait at __syncthreads of reduce.cu:37; threads 128-255 have ended" */
void fail_waiting()
{
    enum { RANGES = 4 };
    fault_begin();
    std::vector<std::string> what;
    for (const struct thread &thread : here->threads)
        what.push_back(describe(thread));
    for (size_t first = 0; first < what.size(); first++) {
        const std::string now = what[first];
        if (now.empty())
            continue;
        int ranges = 0;
        say("%sthreads", first == 0 ? "" : "; ");
        for (size_t i = first; i < what.size(); i++) {
            if (what[i] != now)
                continue;
            size_t last = i;
            for (; last < what.size() && what[last] == now; last++)
                what[last].clear();
            if (ranges++ < RANGES)
                say(last - i > 1 ? "%s %zu-%zu" : "%s %zu", ranges > 1 ? "," : "", i, last - 1);
        }
        say("%s %s", ranges > RANGES ? ", ..." : "", now.c_str());
    }
}

/* Reports a fault of the fiber that runs, which never goes on. */
void fail_here(const char *what)
{
    fault_begin();
    say("thread %u: %s", threadIdx.x, what);
    back_to_scheduler();
}

/* The compiler's checks end in this signal. */
void on_trap(int signal)
{
    if (here == nullptr || here->current == nullptr)
        _exit(128 + signal);
    fail_here("undefined behaviour: a misaligned access, an index out of range, ...");
}

/* ---- a block ---- */

void set_ready(unsigned thread)
{
    here->threads[thread].state = READY;
    const unsigned rank = here->thread_rank[thread];
    here->ready[rank / 64] |= UINT64_C(1) << rank % 64;
}

/* Finds the first ready rank from `rank` on, around the end. Returns false if none is ready. */
bool find_ready(unsigned rank, unsigned *found)
{
    const unsigned words = EMULATOR_THREADS_MAX / 64;
    for (unsigned i = 0; i <= words; i++) {
        const unsigned word = (rank / 64 + i) % words;
        uint64_t bits = here->ready[word];
        if (i == 0)
            bits &= ~UINT64_C(0) << rank % 64;
        if (bits != 0) {
            *found = word * 64 + (unsigned)__builtin_ctzll(bits);
            return true;
        }
    }
    return false;
}

/* Returns the thread that goes on next: thread_rank[] holds the order, and NEXT_ANY begins
 * anywhere in it. */
bool pick_thread(unsigned *thread)
{
    unsigned rank;
    if (!find_ready(grid->next == NEXT_ANY ? draw(grid->threads) : 0, &rank))
        return false;
    here->ready[rank / 64] &= ~(UINT64_C(1) << rank % 64);
    *thread = here->rank_thread[rank];
    return true;
}

void shuffle(std::vector<unsigned> &items)
{
    for (size_t i = items.size(); i > 1; i--)
        std::swap(items[i - 1], items[draw((unsigned)i)]);
}

/* Puts 0 to count - 1 in the order asked for; NEXT_WARPS draws whole groups. */
std::vector<unsigned> make_order(unsigned count, unsigned group)
{
    std::vector<unsigned> groups((count + group - 1) / group), order;
    for (unsigned i = 0; i < groups.size(); i++)
        groups[i] = i;
    if (grid->next >= NEXT_WARPS)
        shuffle(groups);
    for (unsigned first : groups)
        for (unsigned i = first * group; i < (first + 1) * group && i < count; i++)
            order.push_back(grid->next == NEXT_HIGHEST ? count - 1 - i : i);
    return order;
}

void block_begin(unsigned block)
{
    const unsigned threads = grid->threads;
    blockIdx = {block, 0, 0};
    blockDim = {threads, 1, 1};
    gridDim = {grid->blocks, 1, 1};
    while (here->threads.size() > threads) {
        fiber_free(&here->threads.back().fiber);
        here->threads.pop_back();
    }
    while (here->threads.size() < threads) {
        here->threads.emplace_back();
        fiber_create(&here->threads.back().fiber, &here->scheduler, thread_body);
    }
    here->rank_thread = make_order(threads, grid->next == NEXT_ANY ? 1 : LANES);
    here->thread_rank.resize(threads);
    memset(here->ready, 0, sizeof here->ready);
    for (unsigned rank = 0; rank < threads; rank++)
        here->thread_rank[here->rank_thread[rank]] = rank;
    for (unsigned thread = 0; thread < threads; thread++) {
        here->threads[thread].pauses = 0;
        set_ready(thread);
    }
    here->waiting = 0;
}

void pass_turn(int to)
{
    const std::lock_guard<std::mutex> lock(grid->mutex);
    grid->turn = to;
    grid->changed[to + 1].notify_one();
}

void await_turn(int me)
{
    std::unique_lock<std::mutex> lock(grid->mutex);
    grid->changed[me + 1].wait(lock, [=] { return grid->turn == me; });
}

/* Returns a busy slot, another than `me` if there is one, or NOBODY when all is done. */
int next_slot(int me)
{
    const int from = grid->next == NEXT_ANY ? (int)draw(grid->live) : me;
    int found = me != NOBODY && grid->slots[me]->busy ? me : NOBODY;
    for (int i = (int)grid->live; i > 0; i--) {
        const int slot = (from + i) % (int)grid->live;
        if (slot != me && grid->slots[slot]->busy)
            found = slot;
    }
    return found;
}

void other_slots_turn(int me)
{
    const int next = next_slot(me);
    if (next == me)
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
        unsigned thread;
        if (!pick_thread(&thread)) {
            if (!block_waits(me))
                break;
            continue;
        }
        threadIdx = {thread, 0, 0};
        here->current = &here->threads[thread];
        fiber_switch(&here->scheduler, &here->current->fiber);
        here->current = nullptr;
        if (here->threads[thread].state != SPINNING)
            grid->idle_rounds = 0;
        if (grid->next == NEXT_ANY && !grid->failed && draw(256) == 0)
            other_slots_turn(me);
    }
    for (struct thread &hanging : here->threads)
        if (hanging.state != ENDED)
            fiber_reset(&hanging.fiber);
}

void slot_run(int me)
{
    here = grid->slots[me];
    for (;;) {
        await_turn(me);
        while (!grid->failed && grid->begun < grid->order.size()) {
            block_run(grid->order[grid->begun++], me);
            other_slots_turn(me);
        }
        here->busy = false;
        pass_turn(next_slot(me));
    }
}

/* Returns true if all lanes that `self` names wait for the same operation. */
bool lanes_are_there(const struct thread *warp, const struct thread *self)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        if ((self->mask >> lane & 1) == 0)
            continue;
        if (&warp[lane] >= here->threads.data() + here->threads.size() ||
            warp[lane].state != IN_WARP || warp[lane].mask != self->mask ||
            strcmp(warp[lane].operation, self->operation) != 0)
            return false;
    }
    return true;
}

/* Returns the process's own grid: threads do not survive a fork. */
void grid_take()
{
    if (grid != nullptr && grid->process == getpid())
        return;
    auto *taken = new struct launches();
    if (grid != nullptr) {
        taken->next = grid->next;
        taken->live = grid->live;
        taken->random = grid->random;
    }
    taken->process = getpid();
    grid = taken;
    struct sigaction action = {};
    action.sa_handler = on_trap;
    action.sa_flags = SA_NODEFER; /* the handler is left by a jump */
    for (int signal : {SIGILL, SIGTRAP, SIGFPE})
        sigaction(signal, &action, nullptr);
}

} // namespace

void emulator_barrier(const char *file, int line)
{
    struct thread *self = here->current;
    self->file = file;
    self->line = line;
    self->state = AT_BARRIER;
    if (++here->waiting < here->threads.size()) {
        back_to_scheduler();
        return;
    }
    for (const struct thread &thread : here->threads)
        if (thread.line != line || thread.file != file) {
            fail_waiting();
            back_to_scheduler();
        }
    here->waiting = 0;
    for (unsigned thread = 0; thread < here->threads.size(); thread++)
        set_ready(thread);
    back_to_scheduler(); /* any thread may be first behind the barrier */
}

const uint64_t *emulator_exchange(const char *operation, unsigned mask, uint64_t mine,
                                  const char *file, int line)
{
    struct thread *self = here->current, *warp = self - threadIdx.x % LANES;
    emulator_check_lane(operation, mask, threadIdx.x % LANES, file, line);
    self->file = file;
    self->line = line;
    self->operation = operation;
    self->mask = mask;
    self->mine = mine;
    self->state = IN_WARP;
    if (lanes_are_there(warp, self)) {
        for (unsigned to = 0; to < LANES; to++) {
            if ((mask >> to & 1) == 0)
                continue;
            for (unsigned from = 0; from < LANES; from++)
                warp[to].lanes[from] = mask >> from & 1 ? warp[from].mine : 0;
            set_ready((unsigned)(&warp[to] - here->threads.data()));
        }
    }
    back_to_scheduler();
    return self->lanes;
}

void emulator_check_lane(const char *operation, unsigned mask, unsigned lane, const char *file,
                         int line)
{
    char text[256];
    if (lane < LANES && (mask >> lane & 1) != 0)
        return;
    snprintf(text, sizeof text, "%s of %s:%d uses lane %u, which its mask 0x%08x does not name",
             operation, file, line, lane, mask);
    fail_here(text);
}

void emulator_pause(void)
{
    if (++here->current->pauses % PAUSES_MAX == 0 || (grid->next == NEXT_ANY && draw(8) == 0))
        emulator_spin();
}

void emulator_spin(void)
{
    here->current->state = SPINNING;
    back_to_scheduler();
}

cudaError_t emulator_launch(const cudaLaunchConfig_t *config, std::function<void()> kernel)
{
    grid_take();
    grid->fault.clear();
    if (config->gridDim.x == 0 || config->gridDim.y != 1 || config->gridDim.z != 1 ||
        config->blockDim.x == 0 || config->blockDim.x > EMULATOR_THREADS_MAX ||
        config->blockDim.y != 1 || config->blockDim.z != 1 || config->dynamicSmemBytes != 0)
        return cudaErrorInvalidConfiguration;
    grid->kernel = std::move(kernel);
    grid->threads = config->blockDim.x;
    grid->blocks = config->gridDim.x;
    grid->order = make_order(grid->blocks, 1);
    grid->begun = 0;
    grid->idle_rounds = 0;
    grid->failed = false;
    for (int slot = 0; slot < (int)grid->live; slot++) {
        if (grid->slots[slot] == nullptr) {
            grid->slots[slot] = new struct slot();
            grid->slots[slot]->threads.reserve(EMULATOR_THREADS_MAX); /* they never move */
            std::thread(slot_run, slot).detach();
        }
        grid->slots[slot]->busy = true;
    }
    pass_turn(0);
    await_turn(NOBODY);
    return grid->failed ? cudaErrorLaunchFailure : cudaSuccess;
}

void emulator_set_order(enum emulator_next next, uint32_t live, uint64_t seed)
{
    grid_take();
    grid->next = next;
    grid->live = live;
    grid->random = seed * 2 + 1;
}

const char *emulator_fault(void)
{
    return grid == nullptr || grid->fault.empty() ? nullptr : grid->fault.c_str();
}
