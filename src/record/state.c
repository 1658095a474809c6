/* state.c - what all files of the library ask: what the environment says, the time, and
 * locks. */
#include "record/record.h"

#include <stdlib.h>
#include <time.h>

bool record_frames;

int64_t record_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* --- the environment --- */

const char *record_variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

/* --- locks --- */

/* A program may end itself in a handler of a signal, which may have interrupted this library:
 * it must then not wait for a lock that its own thread holds. */
static _Thread_local volatile unsigned held;

void record_lock(pthread_mutex_t *lock)
{
    held++; /* before, for a signal may come in between */
    pthread_mutex_lock(lock);
}

void record_unlock(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
    held--;
}

bool record_holds_lock(void)
{
    return held > 0;
}
