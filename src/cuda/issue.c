/* issue.c - the parts of issuing an op that take more than one call. */
#include "cuda/issue.h"

#include "plan/carry.h"

#include <errno.h>
#include <time.h>

static void sleep_for(int64_t ns)
{
    enum { SECOND_NS = 1000000000 };
    struct timespec left = {.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
    while (ns > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* Names the driver's thread, once: only code that runs on it can do that. */
static void name_callback_thread(void)
{
    static _Thread_local bool named;
    if (!named)
        marks_name_thread("pipeline callbacks");
    named = true;
}

void CUDART_CB cuda_callback_main(void *argument)
{
    struct cuda_callback *callback = argument;
    struct cuda_listener *listener = callback->listener;
    const struct op op = {.kind = OP_CALLBACK, .tile = callback->tile};
    name_callback_thread();
    marks_issue_begin(&op, NULL);
    callback->time.start_ns = clock_now_ns();
    if (callback->next != NULL) {
        carry_feed(callback->before, callback->total, callback->next);
    } else if (listener->on_tile != NULL && !listener->muted) {
        pthread_mutex_lock(&listener->lock);
        listener->on_tile(listener->context, callback->tile);
        pthread_mutex_unlock(&listener->lock);
    }
    sleep_for(callback->sleep_ns);
    callback->time.end_ns = clock_now_ns();
    marks_end();
}

cudaError_t cuda_issue_alloc(const struct cuda_issued *op)
{
    void *memory = NULL;
    cudaError_t result = op->alloc.pinned ? cudaMallocHost(&memory, op->alloc.bytes)
                                          : cudaMalloc(&memory, op->alloc.bytes);
    if (result != cudaSuccess)
        return result;
    return op->alloc.pinned ? cudaFreeHost(memory) : cudaFree(memory);
}

const char *cuda_call_name(const struct cuda_issued *op)
{
    if (op->kind == OP_SYNC && op->device)
        return "cudaDeviceSynchronize";
    if (op->kind == OP_ALLOC && op->alloc.pinned)
        return "cudaMallocHost or cudaFreeHost";
    return op_rows[op->kind].call;
}
