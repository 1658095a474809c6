/* state.c - what all files of the library ask: whether the program is recorded at the moment,
 * what the environment says, the time, and locks. */
#include "record/record.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

atomic_bool record_on, record_active;
bool record_frames;

static char *start_name, *stop_name, *to_folder;
static atomic_bool has_begun; /* CUDA is used */
static bool is_child;

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

/* The texts are copied: programs write over their environment. */
static void read_environment(void)
{
    const char *folder = record_variable("PIPELINE_RECORD_TO");
    const char *start = record_variable("PIPELINE_RECORD_START");
    const char *stop = record_variable("PIPELINE_RECORD_STOP");
    to_folder = folder != NULL ? strdup(folder) : NULL;
    start_name = start != NULL ? strdup(start) : NULL;
    stop_name = stop != NULL ? strdup(stop) : NULL;
}

const char *record_folder(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return to_folder;
}

/* --- the part that is recorded --- */

/* CUPTI numbers calls as they are made, so a part is known by its first and last number. */
static atomic_uint latest_call, first_call = UINT32_MAX, last_call = UINT32_MAX;

void record_call_begins(uint32_t id)
{
    unsigned latest = atomic_load_explicit(&latest_call, memory_order_relaxed);
    while ((start_name != NULL || stop_name != NULL) && id > latest &&
           !atomic_compare_exchange_weak(&latest_call, &latest, id))
        ;
}

bool record_has_call(uint32_t id)
{
    return id >= atomic_load(&first_call) && id <= atomic_load(&last_call);
}

/* Returns true if a kernel or a range of that name is `wanted`: the whole name, or that of a
 * function within a mangled one, where its length stands before it. */
static bool is_named(const char *name, const char *wanted)
{
    char mangled[512];
    if (wanted == NULL || strcmp(name, wanted) == 0)
        return wanted != NULL;
    snprintf(mangled, sizeof mangled, "%zu%s", strlen(wanted), wanted);
    return name[0] == '_' && name[1] == 'Z' && strstr(name, mangled) != NULL;
}

void record_reached(const char *name, bool ended, uint32_t call)
{
    if (is_child || record_part_is_over())
        return;
    if (!ended && !atomic_load(&record_active) && is_named(name, start_name)) {
        atomic_store(&first_call, call > 0 ? call : atomic_load(&latest_call) + 1);
        atomic_store(&record_active, true);
    } else if (ended && atomic_load(&record_active) && is_named(name, stop_name)) {
        if (atomic_load(&has_begun))
            atomic_store(&last_call, call > 0 ? call : atomic_load(&latest_call));
        atomic_store(&record_active, false);
    }
}

bool record_is_told_again(void)
{
    return atomic_exchange(&has_begun, true);
}

void record_begin(void)
{
    if (start_name == NULL) {
        atomic_store(&first_call, 0);
        atomic_store(&record_active, true);
    }
    atomic_store(&record_on, true);
}

void record_end(void)
{
    atomic_store(&record_active, false);
    atomic_store(&record_on, false);
}

bool record_part_is_over(void)
{
    return atomic_load(&last_call) != UINT32_MAX;
}

/* --- children --- */

void record_child_begins(void)
{
    record_end();
    is_child = true;
}

bool record_is_child(void)
{
    return is_child;
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
