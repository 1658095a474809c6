/* threads.cpp - what the threads of a kernel wait for, and the faults that they make. */
#include "cpu/grid_parts.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <link.h>
#include <map>
#include <unistd.h>

namespace
{

enum { PAUSES_MAX = 64 /* after so many a thread counts as spinning */ };

__attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    grid->fault += text;
}

/* "block 3 of 20" or "thread (1,2,0)" */
void say_index(const char *what, const uint3 &index, const dim3 &of, bool all)
{
    if (of.y * of.z == 1)
        say(all ? "%s %u of %u" : "%s %u", what, index.x, of.x);
    else
        say(all ? "%s (%u,%u,%u) of (%u,%u,%u)" : "%s (%u,%u,%u)", what, index.x, index.y,
            index.z, of.x, of.y, of.z);
}

void fault_begin()
{
    grid->failed = true;
    grid->fault.clear();
    say_index("block", blockIdx, gridDim, true);
    say(": ");
}

std::string describe(const struct thread &thread)
{
    char text[512] = "have ended";
    if (thread.state == SPINNING)
        snprintf(text, sizeof text, "spin");
    else if (thread.state == AT_BARRIER)
        snprintf(text, sizeof text, "wait at %s of %s:%d", thread.operation, thread.file,
                 thread.line);
    else if (thread.state == IN_WARP)
        snprintf(text, sizeof text, "wait for lanes 0x%08x at %s of %s:%d", thread.mask,
                 thread.operation, thread.file, thread.line);
    return text;
}

unsigned number_of(const struct thread *thread)
{
    return (unsigned)(thread - here->threads.data());
}

/* Returns true if all lanes that `self` names wait for the same operation, or have ended: CUDA
 * asks "all non-exited threads named in mask" to come. */
bool lanes_are_there(const struct thread *warp, const struct thread *self)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        if ((self->mask >> lane & 1) == 0 || warp[lane].state == ENDED)
            continue;
        if (warp[lane].state != IN_WARP || warp[lane].mask != self->mask ||
            strcmp(warp[lane].operation, self->operation) != 0)
            return false;
    }
    return true;
}

/* Gives all lanes that `self` names what the others have left, and lets them go on, if all are
 * there. */
bool release_lanes(struct thread *self)
{
    struct thread *warp = self - number_of(self) % LANES;
    unsigned mask = self->mask;
    if (!lanes_are_there(warp, self))
        return false;
    for (unsigned lane = 0; lane < LANES; lane++)
        if (mask >> lane & 1 && warp[lane].state == ENDED)
            mask &= ~(1u << lane);
    here->watch.warp_epochs[number_of(warp) / LANES]++;
    for (unsigned to = 0; to < LANES; to++) {
        if ((mask >> to & 1) == 0)
            continue;
        for (unsigned from = 0; from < LANES; from++)
            warp[to].lanes[from] = mask >> from & 1 ? warp[from].mine : 0;
        warp[to].mask = mask;
        set_ready(number_of(&warp[to]));
    }
    return true;
}

} // namespace

/* Lets lanes go on that wait for the others of their warp to come or to wait elsewhere: those
 * of a place are together. Returns false if there are none. */
bool release_converged(void)
{
    bool any = false;
    for (unsigned i = 0; i < here->threads.size(); i++) {
        struct thread *thread = &here->threads[i], *warp = thread - i % LANES;
        unsigned mask = 0;
        if (thread->state != CONVERGING)
            continue;
        any = true;
        for (unsigned lane = 0; lane < LANES && &warp[lane] <= &here->threads.back(); lane++)
            if (warp[lane].state == CONVERGING && warp[lane].file == thread->file &&
                warp[lane].line == thread->line)
                mask |= 1u << lane;
        for (unsigned lane = 0; lane < LANES; lane++)
            if (mask >> lane & 1) {
                warp[lane].mask = mask;
                set_ready(number_of(&warp[lane]));
            }
    }
    return any;
}

/* Lets lanes go on whose others have all ended. Returns false if there are none. */
bool release_left(void)
{
    bool any = false;
    for (struct thread &thread : here->threads)
        any = (thread.state == IN_WARP && release_lanes(&thread)) || any;
    return any;
}

/* "threads 0-127 wait at __syncthreads of reduce.cu:37; threads 128-255 have ended" */
void fail_waiting(void)
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

void fail_here(const char *what)
{
    fault_begin();
    say_index("thread", threadIdx, blockDim, false);
    say(": %s", what);
    for (;;)
        back_to_scheduler();
}

extern "C" FILE *grid_ask(uintptr_t from, uintptr_t to, const char *command)
{
    Dl_info info;
    struct link_map *map = nullptr;
    char text[1024];
    void **out = reinterpret_cast<void **>(&map);
    if (dladdr1(reinterpret_cast<void *>(from), &info, out, RTLD_DL_LINKMAP) == 0)
        return nullptr;
    const void *base = info.dli_fbase;
    if (dladdr(&grid, &info) == 0 || info.dli_fbase != base) /* a library's is no help */
        return nullptr;
    snprintf(
        text, sizeof text, "file=$PIPELINE_CODE from=0x%zx to=0x%zx base=0x%zx; %s 2>/dev/null",
        (size_t)(from - map->l_addr), (size_t)(to - map->l_addr), (size_t)map->l_addr, command);
    /* The name may have whatever letters, which the shell would read as its own. */
    setenv("PIPELINE_CODE",
           strchr(info.dli_fname, '/') != nullptr ? info.dli_fname : "/proc/self/exe", 1);
    FILE *said = popen(text, "r");
    unsetenv("PIPELINE_CODE");
    return said;
}

std::string source_of(uintptr_t code)
{
    char line[512];
    FILE *lines = grid_ask(code, code, "addr2line -i -e \"$file\" $from");
    std::string found;
    while (lines != nullptr && fgets(line, sizeof line, lines) != nullptr) {
        const char *name = strrchr(line, '/') != nullptr ? strrchr(line, '/') + 1 : line;
        line[strcspn(line, " \n")] = '\0';
        if (line[0] == '?' || !found.empty() || strncmp(name, "pipeline_", 9) == 0 ||
            strncmp(name, "cooperative_groups", 18) == 0 ||
            strncmp(name, "cuda_runtime", 12) == 0)
            continue;
        char *folder = getcwd(nullptr, 0);
        const size_t length = folder != nullptr ? strlen(folder) : 0;
        const bool below =
            length > 0 && strncmp(line, folder, length) == 0 && line[length] == '/';
        found = line + (below ? length + 1 : 0);
        free(folder);
    }
    if (lines != nullptr)
        pclose(lines);
    return found;
}

void fail_trapped(void)
{
    const uintptr_t code = here->trapped_at, on = here->trapped_on;
    const uintptr_t stack = (uintptr_t)here->current->fiber->stack;
    here->trapped_at = 0;
    fault_begin();
    say_index("thread", threadIdx, blockDim, false);
    if (!here->is_access)
        say(": undefined behaviour: a misaligned access, an index out of range, a division by "
            "0, ...");
    else if (on >= stack && on < stack + FIBER_GUARD)
        say(": its stack is full");
    else
        say(": an access to address 0x%zx, where no memory is", (size_t)on);
    const std::string source = source_of(code);
    if (!source.empty())
        say(", in %s", source.c_str());
}

extern "C" {

void grid_source(uintptr_t code, char *text, size_t size)
{
    const uintptr_t plain = code & ~(~(uintptr_t)0 << WATCH_TAG);
    snprintf(text, size, "%s", source_of(plain - 1).c_str()); /* behind a call: in it */
}

void grid_fail(const char *what, uintptr_t code)
{
    char text[768], source[256];
    grid_source(code, source, sizeof source);
    snprintf(text, sizeof text, "%s%s%s", what, source[0] != '\0' ? ", in " : "", source);
    fail_here(text);
}

unsigned pipeline_barrier(const char *operation, bool vote, const char *file, int line)
{
    struct thread *self = here->current;
    self->operation = operation;
    self->file = file;
    self->line = line;
    self->state = AT_BARRIER;
    here->votes += vote;
    if (++here->waiting < here->threads.size()) {
        back_to_scheduler();
        return here->voted;
    }
    for (const struct thread &thread : here->threads)
        if (thread.line != line || thread.file != file) {
            fail_waiting();
            back_to_scheduler();
        }
    here->watch.epoch++;
    here->voted = here->votes;
    here->waiting = here->votes = 0;
    for (unsigned thread = 0; thread < here->threads.size(); thread++)
        set_ready(thread);
    back_to_scheduler(); /* any thread may be first behind the barrier */
    return here->voted;
}

void pipeline_grid_barrier(const char *file, int line)
{
    if (!grid->launch->cooperative)
        pipeline_fail("this_grid().sync() in a launch that is not cooperative", file, line);
    const unsigned passed = grid->passed;
    pipeline_barrier("this_grid().sync()", false, file, line);
    if (number_of(here->current) == 0 && ++grid->arrived == grid->blocks) {
        grid->arrived = 0;
        grid->passed++;
    }
    while (number_of(here->current) == 0 && grid->passed == passed)
        pipeline_spin();
    pipeline_barrier("this_grid().sync()", false, file, line);
}

const uint64_t *pipeline_exchange(const char *operation, unsigned mask, uint64_t mine,
                                  const char *file, int line)
{
    struct thread *self = here->current;
    const unsigned lane = number_of(self) % LANES;
    const size_t there = here->threads.size() - (number_of(self) - lane);
    self->mask = mask;
    pipeline_check_lane(operation, mask, lane, file, line);
    self->file = file;
    self->line = line;
    self->operation = operation;
    self->mask = there < LANES ? mask & ~(~0u << there) : mask; /* a block may end in a warp */
    self->mine = mine;
    self->state = IN_WARP;
    release_lanes(self);
    back_to_scheduler();
    return self->lanes;
}

void pipeline_check_lane(const char *operation, unsigned mask, unsigned lane, const char *file,
                         int line)
{
    char text[512];
    const bool named = lane < LANES && (mask >> lane & 1) != 0;
    if (named && (here->current->mask >> lane & 1) != 0)
        return;
    snprintf(text, sizeof text,
             named ? "%s of %s:%d uses lane %u, which has ended or is none"
                   : "%s of %s:%d uses lane %u, which its mask 0x%08x does not name",
             operation, file, line, lane, mask);
    fail_here(text);
}

unsigned pipeline_active(const char *file, int line)
{
    struct thread *self = here->current;
    self->file = file;
    self->line = line;
    self->operation = "__activemask";
    self->state = CONVERGING;
    back_to_scheduler();
    return self->mask;
}

void pipeline_pause(bool changed)
{
    struct thread *self = here != nullptr ? here->current : nullptr;
    if (self == nullptr)
        return;
    if (changed)
        grid->idle_rounds = 0;
    if ((!changed && ++self->pauses % PAUSES_MAX == 0) ||
        (grid->next == NEXT_ANY && grid_draw(8) == 0))
        pipeline_spin();
}

void pipeline_spin(void)
{
    here->current->state = SPINNING;
    back_to_scheduler();
}

long long pipeline_clock(void)
{
    enum { STEP = 32, SHARE = 64 };
    uint64_t &cycles = here->current->cycles;
    cycles += std::max<uint64_t>(STEP, cycles / SHARE);
    grid->cycles = std::max(grid->cycles, cycles);
    return (long long)cycles;
}

/* The C library's function, which CUDA has in kernels, too. */
clock_t clock(void) noexcept
{
    struct timespec now;
    if (here != nullptr && here->current != nullptr)
        return (clock_t)pipeline_clock();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * CLOCKS_PER_SEC + now.tv_nsec / (1000000000 / CLOCKS_PER_SEC);
}

const char *pipeline_name(const void *function)
{
    static std::map<const void *, std::string> names;
    static std::mutex lock;
    const std::lock_guard<std::mutex> held(lock);
    std::string &name = names[function];
    if (name.empty()) {
        char line[512] = "";
        const uintptr_t code = reinterpret_cast<uintptr_t>(function);
        FILE *lines = grid_ask(code, code, "addr2line -f -C -e \"$file\" $from");
        if (lines != nullptr && fgets(line, sizeof line, lines) != nullptr)
            line[strcspn(line, "(\n")] = '\0';
        if (lines != nullptr)
            pclose(lines);
        name = line[0] == '\0' || line[0] == '?' ? "kernel" : line;
    }
    return name.c_str();
}

void pipeline_fail(const char *what, const char *file, int line)
{
    char text[512];
    snprintf(text, sizeof text, "%s, in %s:%d", what, file, line);
    if (here != nullptr && here->current != nullptr)
        fail_here(text);
    fprintf(stderr, "%s\n", text);
    abort();
}

void *pipeline_shared(void)
{
    return here->shared.data();
}

/* What assert() calls: the C library's own one ends the program. */
void __assert_fail(const char *assertion, const char *file, unsigned line,
                   const char *function) noexcept
{
    char text[512];
    snprintf(text, sizeof text, "%s: assertion `%s' failed", function, assertion);
    pipeline_fail(text, file, (int)line);
    abort();
}

} // extern "C"
