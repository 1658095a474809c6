/* locks.c - the library's locks. A program may end itself in a handler of a signal, which may
 * have interrupted this library: it must then not wait for a lock that its own thread holds. */
#include "record/record.h"

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
