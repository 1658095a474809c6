/* functions.c - functions of the host's in streams, which no activity record tells of: the call
 * that hands one over is made to hand over one of ours, which takes the time and calls it. */
#include "record/record.h"

#include <stdlib.h>

/* A function that was handed over, until it has run. */
struct handed {
    struct handed *before, *behind;
    CUhostFn function;
    CUstreamCallback callback; /* one of the two is NULL */
    void *data;
    struct entry entry;
};

static struct handed waiting = {.before = &waiting, .behind = &waiting};
static bool has_ended; /* those that wait have been noted */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local unsigned running;

bool functions_run_here(void)
{
    return running > 0;
}

static struct handed *hand_over(const struct entry *entry, void *data)
{
    struct handed *handed = calloc(1, sizeof *handed);
    if (handed == NULL) {
        record_lose(1);
        return NULL;
    }
    handed->entry = *entry;
    handed->entry.words = 0;
    handed->data = data;
    record_lock(&lock);
    handed->behind = &waiting;
    handed->before = waiting.before;
    waiting.before->behind = handed;
    waiting.before = handed;
    record_unlock(&lock);
    return handed;
}

/* Takes it off the list; returns true if it has not been noted yet. */
static bool take_off(struct handed *handed)
{
    record_lock(&lock);
    handed->before->behind = handed->behind;
    handed->behind->before = handed->before;
    bool is_new = !has_ended;
    record_unlock(&lock);
    return is_new;
}

static void has_run(struct handed *handed, int64_t start_ns)
{
    handed->entry.values[0] = (uint64_t)start_ns;
    handed->entry.values[1] = (uint64_t)record_now_ns();
    if (take_off(handed))
        entries_add(&handed->entry, NULL);
    free(handed);
}

/* `stream` and `result` are those of a callback. */
static void run(struct handed *handed, CUstream stream, CUresult result)
{
    int64_t start_ns = record_now_ns();
    running++;
    if (handed->function != NULL)
        handed->function(handed->data);
    else
        handed->callback(stream, result, handed->data);
    running--;
    has_run(handed, start_ns);
}

static void CUDA_CB run_function(void *data)
{
    run(data, NULL, CUDA_SUCCESS);
}

static void CUDA_CB run_callback(CUstream stream, CUresult result, void *data)
{
    run(data, stream, result);
}

struct handed *functions_hand_over(const struct entry *entry, CUhostFn *function,
                                   CUstreamCallback *callback, void **data)
{
    const bool is_there = function != NULL ? *function != NULL : *callback != NULL;
    struct handed *handed = is_there ? hand_over(entry, *data) : NULL;
    if (handed == NULL)
        return NULL;
    *data = handed;
    if (function != NULL) {
        handed->function = *function;
        *function = run_function;
    } else {
        handed->callback = *callback;
        *callback = run_callback;
    }
    return handed;
}

void functions_take_back(struct handed *handed)
{
    take_off(handed);
    free(handed);
}

void functions_end(void)
{
    record_lock(&lock);
    has_ended = true;
    for (struct handed *handed = waiting.behind; handed != &waiting; handed = handed->behind) {
        struct entry entry = handed->entry;
        entry.words = ENTRY_NO_WORDS;
        entries_add(&entry, NULL);
    }
    record_unlock(&lock);
}
