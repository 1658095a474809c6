/* traced_run.c - the timed issue of a plan. */
#include "cuda/traced_run.h"

static cudaError_t issue_timed(const struct traced_run *traced, uint32_t *at, int64_t *end_ns)
{
    const struct cuda_issued *issued = traced->run->issued;
    int64_t *issue_ns = traced->timeline->issue_ns;
    int64_t now = traced->begin_ns;
    bool marked = marks_on();
    cudaError_t result = cudaSuccess;
    if (traced->graph != NULL) {
        result = cuda_graph_launch(traced->run, traced->graph, at);
        *end_ns = clock_now_ns();
        traced->timeline->launched_ns = *end_ns - traced->begin_ns;
        return result;
    }
    for (uint32_t i = 0; i < traced->plan->op_count && result == cudaSuccess; i++) {
        /* The CPU's work is all handed over at the start. */
        issue_ns[i] = issued[i].kind == OP_CPU ? 0 : now - traced->begin_ns;
        result = cuda_issue_op(traced->plan, issued, i, marked);
        if (traced->ends != NULL && traced->ends[i] != NULL && result == cudaSuccess)
            result = cudaEventRecord(traced->ends[i], issued[i].stream);
        *at = i;
        now = clock_now_ns();
    }
    *end_ns = now;
    return result;
}

/* Returns when the call for op `op` returned: when the next call began, for the clock is read
 * once between two calls. */
static int64_t call_end_ns(const struct traced_run *traced, uint32_t op)
{
    do
        op++;
    while (op < traced->plan->op_count && traced->plan->ops[op].kind == OP_CPU);
    return op < traced->plan->op_count ? traced->timeline->issue_ns[op] : traced->issued_ns;
}

static void fill_host_times(const struct traced_run *traced)
{
    for (uint32_t i = 0; i < traced->timeline->span_count; i++) {
        struct span *span = &traced->timeline->spans[i];
        const struct interval *time = NULL;
        span->issue_ns = traced->timeline->issue_ns[span->op];
        if (span->kind == OP_CPU)
            time = &traced->cpu_times[span->op];
        else if (span->kind == OP_CALLBACK)
            time = &traced->run->issued[span->op].callback->time;
        else if (op_is_call(span->kind))
            traced_span_set(span, span->issue_ns, call_end_ns(traced, span->op));
        if (time != NULL)
            traced_span_set(span, time->start_ns - traced->begin_ns,
                            time->end_ns - traced->begin_ns);
    }
}

enum status traced_run_make(struct traced_run *traced, struct run_times *times,
                            struct error *error)
{
    uint32_t at = 0;
    int64_t issued_ns;
    traced->begin_ns = clock_now_ns();
    cpu_worker_start(traced->run->worker, traced->cpu_times);
    marks_begin("issue");
    cudaError_t result = issue_timed(traced, &at, &issued_ns);
    marks_end();
    traced->issued_ns = issued_ns - traced->begin_ns;
    enum status status = cuda_run_settle(traced->run, result, at, error);
    if (status != STATUS_OK)
        return status;
    *times = (struct run_times){.time_ns = clock_now_ns() - traced->begin_ns,
                                .issue_ns = traced->issued_ns};
    fill_host_times(traced);
    return STATUS_OK;
}
