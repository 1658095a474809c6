/* state.c - what the clock's files share. They come in one order, and this is the first: what
 * is called against it is a pointer here. */
#include "cpu/parts.h"
#include "cpu/watch.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void (*cpu_host_touched)(uintptr_t address, uint64_t bytes, bool writes, const void *where);
void (*watch_source)(uintptr_t code, char *text, size_t size);
__thread struct cpu_watched cpu_watched;
double cpu_access_ns, cpu_block_ns, cpu_look_ns;
struct clock clock_now;
_Thread_local struct clock_own clock_own;

void clock_die(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("pipeline: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    _Exit(1);
}

void *clock_room(void *was, size_t bytes)
{
    void *room = realloc(was, bytes > 0 ? bytes : 1);
    if (room == NULL)
        clock_die("no memory for what the program does");
    return room;
}

void *clock_copy(const void *of, size_t bytes)
{
    void *copy = clock_room(NULL, bytes);
    if (bytes > 0)
        memcpy(copy, of, bytes);
    return copy;
}

const char *clock_variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

bool clock_loads_lazily(void)
{
    const char *loading = clock_variable("CUDA_MODULE_LOADING");
    return loading == NULL || strcmp(loading, "EAGER") != 0;
}

int64_t clock_processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    const double watched_ns = (double)cpu_watched.accesses * cpu_access_ns +
                              (double)cpu_watched.blocks * cpu_block_ns +
                              (double)cpu_watched.looks * cpu_look_ns;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)watched_ns -
           cpu_watched.more_ns;
}

/* Of the time of such calls so much comes on top of the program's; the rest goes by beside it.
 * [Measured on an AMD EPYC: 0.6 to 1.03 in loops that fill, sum, hash and multiply] */
static const double ADDED = 0.85;

double cpu_added_ns(void (*call)(void))
{
    enum { TRIES = 8, CALLS = 2000 }; /* the least counts: a busy computer makes some longer */
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (int k = 0; k < CALLS; k++)
            call();
        clock_gettime(CLOCK_MONOTONIC, &to);
        const int64_t ns = (to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec;
        least_ns = ns < least_ns ? ns : least_ns;
    }
    return ADDED * (double)least_ns / CALLS;
}

void clock_hide_ns(int64_t since_ns)
{
    cpu_watched.more_ns += clock_processor_ns() - since_ns;
}

/* What the host does between calls is shorter than this where it only goes on to the next. */
enum { AT_ONCE_NS = 5000 };
int64_t clock_host_ns(int64_t since_ns)
{
    const char *wanted = clock_variable("PIPELINE_TRY_HOST");
    if (wanted != NULL && strcmp(wanted, "0") == 0)
        return 0;
    const int64_t took_ns = clock_processor_ns() - since_ns;
    return took_ns >= AT_ONCE_NS ? took_ns : 0;
}

int cpu_stream_device(uint32_t stream)
{
    return clock_now.streams[stream].device;
}

/* --- the lock --- */

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_lock(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
}

void clock_lock_anew(void)
{
    make_lock(); /* it was the parent's thread that held it */
}

void clock_lock(void)
{
    pthread_once(&once, make_lock);
    pthread_mutex_lock(&lock);
}

bool clock_try_lock(void)
{
    pthread_once(&once, make_lock);
    return pthread_mutex_trylock(&lock) == 0;
}

void clock_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
