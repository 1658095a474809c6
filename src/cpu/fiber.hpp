/* fiber.hpp - threads that hand over to one another by themselves, on stacks of their own. */
#ifndef PIPELINE_CPU_FIBER_H
#define PIPELINE_CPU_FIBER_H

#include <csetjmp>
#include <cstddef>
#include <ucontext.h>

/* The address sanitizer must be told which stack is in use, and knows no other than a fiber's.
 */
#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif
#ifdef FIBER_ASAN
#define FIBER_HAS_SIGNAL_STACK 0
#else
#define FIBER_HAS_SIGNAL_STACK 1
#endif

enum { FIBER_GUARD = 4096 }; /* bytes at a stack's end that fault */

/* A zero-initialised fiber stands for a thread of the operating system, on the stack that it
 * has. */
struct fiber {
    void (*body)();        /* never returns */
    struct fiber *creator; /* the fiber that switches to it first */
    bool begun;
    ucontext_t context; /* start of the body; with the address sanitizer, where it goes on */
    jmp_buf point;      /* without the sanitizer, where it goes on */
    volatile bool came_back;
    char *stack;
    size_t stack_bytes;
    void *fake_stack; /* the address sanitizer's copy of the stack */
};

/* Gives a fiber its stack, for good. */
void fiber_create(struct fiber *fiber, struct fiber *creator, void (*body)());

/* Makes a fiber forget where it was: it will begin anew. */
void fiber_reset(struct fiber *fiber);

/* Goes from the fiber that runs to another; returns when something switches back to `from`. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
