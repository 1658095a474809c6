/* functions.c - functions of the host's in streams, which no activity record tells of: the call
 * that hands one over is made to hand over one of ours, which takes the time and calls it. */
#include "record/record.h"

#include <pthread.h>
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
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct handed *hand_over(const struct entry *entry, void *data)
{
    struct handed *handed = calloc(1, sizeof *handed);
    if (handed == NULL)
        return NULL;
    handed->entry = *entry;
    handed->entry.words = 0;
    handed->data = data;
    pthread_mutex_lock(&lock);
    handed->behind = &waiting;
    handed->before = waiting.before;
    waiting.before->behind = handed;
    waiting.before = handed;
    pthread_mutex_unlock(&lock);
    return handed;
}

static void has_run(struct handed *handed, int64_t start_ns)
{
    if (atomic_load(&record_active)) {
        handed->entry.values[0] = (uint64_t)start_ns;
        handed->entry.values[1] = (uint64_t)record_now_ns();
        entries_add(&handed->entry, NULL);
    }
    pthread_mutex_lock(&lock);
    handed->before->behind = handed->behind;
    handed->behind->before = handed->before;
    pthread_mutex_unlock(&lock);
    free(handed);
}

static void CUDA_CB run_function(void *data)
{
    struct handed *handed = data;
    int64_t start_ns = record_now_ns();
    handed->function(handed->data);
    has_run(handed, start_ns);
}

static void CUDA_CB run_callback(CUstream stream, CUresult result, void *data)
{
    struct handed *handed = data;
    int64_t start_ns = record_now_ns();
    handed->callback(stream, result, handed->data);
    has_run(handed, start_ns);
}

void functions_hand_over(const struct entry *entry, CUhostFn *function, void **data)
{
    struct handed *handed = *function != NULL ? hand_over(entry, *data) : NULL;
    if (handed == NULL)
        return;
    handed->function = *function;
    *function = run_function;
    *data = handed;
}

void functions_hand_over_callback(const struct entry *entry, CUstreamCallback *callback,
                                  void **data)
{
    struct handed *handed = *callback != NULL ? hand_over(entry, *data) : NULL;
    if (handed == NULL)
        return;
    handed->callback = *callback;
    *callback = run_callback;
    *data = handed;
}

void functions_end(void)
{
    pthread_mutex_lock(&lock);
    for (struct handed *handed = waiting.behind; handed != &waiting; handed = handed->behind) {
        handed->entry.words = ENTRY_NO_WORDS;
        entries_add(&handed->entry, NULL);
    }
    pthread_mutex_unlock(&lock);
}
