/* frees.c - memory that the program's own code gives back while the device may still use it.
 *
 * Programs are linked with `--wrap` for these functions, so that their objects call those here;
 * the runtime's own calls go past them (make/cpu.mk), and so do libraries'. */
#include "cpu/watch.h"

#include <malloc.h>

/* Nobody may use a block from now on, which is as if all of it were written. */
static void gives_back(void *memory, uint64_t bytes, const void *code)
{
    if (memory != NULL && bytes > 0 && watch_lane == NULL && cpu_host_touched != NULL)
        cpu_host_touched((uintptr_t)memory, bytes, true, code);
}

/* One such function: free(), and C++'s operators, by the names that compilers give them: delete
 * and delete[], of objects whose size is told, or how they lie, and of others. Of these the
 * first byte has to do: a program may have operators of its own, whose memory malloc() does not
 * know. */
#define FREES(name, PARAMETERS, ARGUMENTS, size)                                               \
    void __real_##name PARAMETERS;                                                             \
    void __wrap_##name PARAMETERS;                                                             \
    void __wrap_##name PARAMETERS                                                              \
    {                                                                                          \
        gives_back(memory, size, __builtin_return_address(0));                                 \
        __real_##name ARGUMENTS;                                                               \
    }
FREES(free, (void *memory), (memory), malloc_usable_size(memory))
FREES(_ZdlPv, (void *memory), (memory), 1)
FREES(_ZdaPv, (void *memory), (memory), 1)
FREES(_ZdlPvm, (void *memory, size_t bytes), (memory, bytes), bytes)
FREES(_ZdaPvm, (void *memory, size_t bytes), (memory, bytes), bytes)
FREES(_ZdlPvSt11align_val_t, (void *memory, size_t at), (memory, at), 1)
FREES(_ZdaPvSt11align_val_t, (void *memory, size_t at), (memory, at), 1)
FREES(_ZdlPvmSt11align_val_t, (void *memory, size_t bytes, size_t at), (memory, bytes, at),
      bytes)
FREES(_ZdaPvmSt11align_val_t, (void *memory, size_t bytes, size_t at), (memory, bytes, at),
      bytes)

/* These give back what is moved, or shrinks: to the program all of it may be another's now. */
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes)
{
    gives_back(memory, memory != NULL ? malloc_usable_size(memory) : 0,
               __builtin_return_address(0));
    return __real_realloc(memory, bytes);
}

int __real_munmap(void *memory, size_t bytes);
int __wrap_munmap(void *memory, size_t bytes);
int __wrap_munmap(void *memory, size_t bytes)
{
    gives_back(memory, bytes, __builtin_return_address(0));
    return __real_munmap(memory, bytes);
}
