/* fiber.h - threads that hand over to one another by themselves, on stacks of their own. */
#ifndef PIPELINE_TESTS_FIBER_H
#define PIPELINE_TESTS_FIBER_H

#include <csetjmp>
#include <cstddef>
#include <ucontext.h>

/* Zero-initialised it stands for a thread of the operating system's, on the stack it has. */
struct fiber {
    void (*body)();        /* never returns */
    struct fiber *creator; /* who switches to it first */
    bool begun;
    ucontext_t context; /* where it begins; with the address sanitizer, where it goes on */
    jmp_buf point;      /* else where it goes on */
    volatile bool came_back;
    char *stack;
    size_t stack_bytes;
    void *fake_stack; /* the address sanitizer's */
};

/* Gives a fiber its stack; ended by fiber_free(). Must not be moved between its first switch
 * and its last except while another runs. */
void fiber_create(struct fiber *fiber, struct fiber *creator, void (*body)());
void fiber_free(struct fiber *fiber);

/* Forgets where it was: it will begin anew. */
void fiber_reset(struct fiber *fiber);

/* Goes from the fiber that runs to another; returns when something switches back to `from`. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
