/* no_memory.c - a library for LD_PRELOAD that lets a program run out of memory.
 *
 *     NO_MEMORY_AT=N             the N-th allocation fails, counted from 1; 0: none does
 *     NO_MEMORY_KIND=once|from   that one alone, or it and all after it
 *     NO_MEMORY_LOG=FILE         8 bytes for each allocation: a hash of the calls above it
 *     NO_MEMORY_SHOW=1           prints the calls above the first one that fails
 *
 * An allocation is a call of malloc() or one of its kin, also one that the C library makes for
 * strdup(), fopen() or open_memstream(), and an anonymous mmap() by the program or a library.
 * Programs that this one starts have memory, and so have libraries while they are loaded: some
 * crash there, which no caller could help. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CALLS_MAX = 24, LOG_DESCRIPTOR = 300 };

static atomic_ullong counted;
static unsigned long long first; /* the allocation that fails; 0 is none */
static bool wanted, enabled, all_after, shows;
static atomic_bool loaded; /* a library beside those that the program was linked with */
static int log_descriptor = -1;
/* What is allocated while the calls are found out, or a library is loaded, does not count. */
static _Thread_local bool busy __attribute__((tls_model("initial-exec")));

/* The next definition of a function: the C library's or a sanitizer's. */
#define NEXT(name)                                                                             \
    static __typeof__(&name) next;                                                             \
    if (next == NULL)                                                                          \
    *(void **)&next = dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void enable(void)
{
    const char *at = getenv("NO_MEMORY_AT"), *kind = getenv("NO_MEMORY_KIND");
    const char *path = getenv("NO_MEMORY_LOG");
    void *calls[CALLS_MAX];
    backtrace(calls, CALLS_MAX); /* loads the library that it needs */
    unsetenv("LD_PRELOAD");
    if (at == NULL)
        return;
    first = strtoull(at, NULL, 10);
    all_after = kind != NULL && strcmp(kind, "from") == 0;
    shows = getenv("NO_MEMORY_SHOW") != NULL;
    if (path != NULL) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        log_descriptor = fcntl(fd, F_DUPFD_CLOEXEC, LOG_DESCRIPTOR);
        close(fd);
    }
    wanted = true;
}

static int (*program)(int, char **, char **);

static int begin(int count, char **arguments, char **environment)
{
    enabled = wanted;
    return program(count, arguments, environment);
}

int __libc_start_main(int (*start)(int, char **, char **), int count, char **arguments,
                      void (*init)(void), void (*end)(void), void (*unload)(void), void *stack);

/* Counts from the program's main() on: what libraries do before it, CUDA's among them, is not
 * the program's to mend. */
int __libc_start_main(int (*start)(int, char **, char **), int count, char **arguments,
                      void (*init)(void), void (*end)(void), void (*unload)(void), void *stack)
{
    NEXT(__libc_start_main);
    program = start;
    return next(begin, count, arguments, init, end, unload, stack);
}

/* Returns a hash of calls that is the same in every process, wherever the libraries lie. */
static uint64_t hash_calls(void *const *calls, int count)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < count; i++) {
        Dl_info about = {0};
        dladdr(calls[i], &about);
        hash ^= (uint64_t)((uintptr_t)calls[i] - (uintptr_t)about.dli_fbase);
        hash *= UINT64_C(1099511628211);
    }
    return hash;
}

/* Notes the calls that led here. */
static void note_calls(unsigned long long number, bool fails)
{
    void *calls[CALLS_MAX];
    int count = backtrace(calls, CALLS_MAX);
    const uint64_t hash = hash_calls(calls, count);
    if (log_descriptor >= 0 &&
        pwrite(log_descriptor, &hash, sizeof hash, (off_t)((number - 1) * sizeof hash)) < 0)
        abort();
    if (fails && shows)
        backtrace_symbols_fd(calls, count, STDERR_FILENO);
}

/* Returns true if the code at `caller` is of libraries that can't do without memory: OpenBLAS
 * asks again for ever. */
static bool is_helpless(const void *caller)
{
    static const char *const names[] = {"libopenblas", "libgfortran", "libquadmath"};
    Dl_info about = {0};
    bool found = false;
    if (!loaded || dladdr(caller, &about) == 0 || about.dli_fname == NULL)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        found |= strstr(about.dli_fname, names[i]) != NULL;
    return found;
}

/* Counts an allocation and returns whether it fails. */
static bool fails_for(const void *caller)
{
    if (!enabled || busy || is_helpless(caller))
        return false;
    const int before = errno;
    const unsigned long long number = atomic_fetch_add(&counted, 1) + 1;
    const bool is_first = number == first;
    if (log_descriptor >= 0 || (is_first && shows)) {
        busy = true;
        note_calls(number, is_first);
        busy = false;
    }
    const bool failed = is_first || (first > 0 && all_after && number > first);
    errno = failed ? ENOMEM : before;
    return failed;
}

#define fails() fails_for(__builtin_return_address(0))

void *malloc(size_t bytes)
{
    NEXT(malloc);
    return fails() ? NULL : next(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    NEXT(calloc);
    return fails() ? NULL : next(count, bytes);
}

/* Giving back by realloc() is no allocation. */
void *realloc(void *memory, size_t bytes)
{
    NEXT(realloc);
    return (memory == NULL || bytes > 0) && fails() ? NULL : next(memory, bytes);
}

void *reallocarray(void *memory, size_t count, size_t bytes)
{
    NEXT(reallocarray);
    return fails() ? NULL : next(memory, count, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    NEXT(aligned_alloc);
    return fails() ? NULL : next(alignment, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
    NEXT(memalign);
    return fails() ? NULL : next(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    NEXT(posix_memalign);
    return fails() ? ENOMEM : next(memory, alignment, bytes);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    NEXT(mmap);
    return (flags & MAP_ANONYMOUS) != 0 && fails()
               ? MAP_FAILED
               : next(address, bytes, protection, flags, fd, offset);
}

void *dlopen(const char *path, int mode)
{
    NEXT(dlopen);
    busy = loaded = true;
    void *library = next(path, mode);
    busy = false;
    return library;
}
