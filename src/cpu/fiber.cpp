/* fiber.cpp - see fiber.hpp. */
#undef _FORTIFY_SOURCE /* its longjmp() takes another stack for an error */
#include "cpu/fiber.hpp"

#include <cstdlib>
#include <sys/mman.h>

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#endif

enum {
    STACK_BYTES = 512 << 10, /* what a thread of CUDA's may have */
    SHIFT = 320, /* stacks begin at other lines of the cache than their neighbours */
    SHIFTS = 12
};

static thread_local struct fiber *beginning;

void fiber_create(struct fiber *fiber, struct fiber *creator, void (*body)())
{
    *fiber = {};
    fiber->body = body;
    fiber->creator = creator;
    void *stack = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
        abort();
    mprotect(stack, FIBER_GUARD, PROT_NONE);
    static unsigned shifts;
    fiber->stack = static_cast<char *>(stack);
    fiber->stack_bytes = STACK_BYTES - shifts++ % SHIFTS * SHIFT;
}

void fiber_reset(struct fiber *fiber)
{
    fiber->begun = false;
#ifdef FIBER_ASAN
    /* The calls that it was in never return, so nobody else clears their marks. */
    __asan_unpoison_memory_region(fiber->stack, fiber->stack_bytes);
#endif
}

static void begin()
{
    struct fiber *fiber = beginning;
#ifdef FIBER_ASAN
    const void *bottom; /* bottom of the stack that was left */
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &fiber->creator->stack_bytes);
    fiber->creator->stack = static_cast<char *>(const_cast<void *>(bottom));
#endif
    fiber->body();
}

/* Fibers switch by jumps, since contexts ask the operating system for the signal mask each
 * time. But the address sanitizer takes a jump for the end of all calls, and cleans up behind
 * it. */
#ifdef FIBER_ASAN
#define COMES_BACK(fiber)                                                                      \
    ((fiber)->came_back = false, getcontext(&(fiber)->context), (fiber)->came_back)
static void go_on(struct fiber *fiber)
{
    fiber->came_back = true;
    setcontext(&fiber->context);
}
#else
#define COMES_BACK(fiber) (_setjmp((fiber)->point) != 0)
static void go_on(struct fiber *fiber)
{
    _longjmp(fiber->point, 1);
}
#endif

static void jump(struct fiber *to)
{
    if (to->begun || to->body == nullptr)
        go_on(to);
    to->begun = true;
    beginning = to;
    getcontext(&to->context);
    to->context.uc_stack.ss_sp = to->stack;
    to->context.uc_stack.ss_size = to->stack_bytes;
    to->context.uc_link = nullptr;
    makecontext(&to->context, begin, 0);
    setcontext(&to->context);
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
    if (!COMES_BACK(from))
        jump(to);
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, nullptr, nullptr);
#endif
}
