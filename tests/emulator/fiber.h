/* fiber.h - threads that hand over to one another by themselves, on stacks of their own. */
#ifndef PIPELINE_TESTS_FIBER_H
#define PIPELINE_TESTS_FIBER_H

#include <csetjmp>
#include <cstddef>
#include <ucontext.h>

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

/* Gives a fiber its stack, which fiber_free() takes back. A fiber must not be moved between its
 * first switch and its last except while another runs. */
void fiber_create(struct fiber *fiber, struct fiber *creator, void (*body)());
void fiber_free(struct fiber *fiber);

/* Makes a fiber forget where it was: it will begin anew. */
void fiber_reset(struct fiber *fiber);

/* Goes from the fiber that runs to another; returns when something switches back to `from`. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
