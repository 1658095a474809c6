/* run.c - runs a prepared plan, with nothing between the CUDA calls. */
#include "cuda/backend.h"
#include "plan/carry.h"

#include <cuda_profiler_api.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

/* A slow callback's time. */
static void sleep_for(int64_t ns)
{
    enum { SECOND_NS = 1000000000 };
    struct timespec left = {.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
    while (ns > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* The thread is the driver's: it is known only from inside. */
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
    struct cuda_run *run = callback->run;
    const struct op op = {.kind = OP_CALLBACK, .tile = callback->tile};
    name_callback_thread();
    marks_issue_begin(&op, NULL);
    callback->time.start_ns = clock_now_ns();
    if (callback->next != NULL) {
        carry_feed(callback->before, callback->total, callback->next);
    } else if (run->workload.on_tile != NULL && !run->muted) {
        pthread_mutex_lock(&run->callback_lock);
        run->workload.on_tile(run->workload.context, callback->tile);
        pthread_mutex_unlock(&run->callback_lock);
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

/* The CUDA function that issues an op, as errors name it. */
static const char *call_name(const struct cuda_issued *op)
{
    if (op->kind == OP_SYNC && op->device)
        return "cudaDeviceSynchronize";
    if (op->kind == OP_ALLOC && op->alloc.pinned)
        return "cudaMallocHost or cudaFreeHost";
    return op_rows[op->kind].call;
}

/* An error of work that was issued earlier may surface at any later call. */
static enum status report(const struct cuda_run *run, const char *call, cudaError_t result,
                          uint32_t at, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    char label[OP_LABEL];
    return error_set(error, STATUS_FAILED, "%s failed on op %" PRIu32 " (%s)%s: %s: %s", call,
                     at, plan_op_label(plan, &plan->ops[at], label),
                     run->lost ? " or one before it" : "", cudaGetErrorName(result),
                     cudaGetErrorString(result));
}

enum status cuda_run_settle(struct cuda_run *run, cudaError_t result, uint32_t at,
                            struct error *error)
{
    if (result != cudaSuccess)
        cpu_worker_cancel(run->worker);
    marks_begin("wait");
    cudaError_t end = cudaDeviceSynchronize();
    cpu_worker_wait(run->worker);
    marks_end();
    if (result == cudaSuccess && end == cudaSuccess)
        return STATUS_OK;
    run->lost = end != cudaSuccess;
    cudaGetLastError();
    if (result != cudaSuccess && run->workload.plan->issue == ISSUE_GRAPH)
        return cuda_check(result, "cudaGraphLaunch", error);
    if (result != cudaSuccess)
        return report(run, call_name(&run->issued[at]), result, at, error);
    return report(run, "cudaDeviceSynchronize", end, at, error);
}

/* One loop in the source, two in the program: `marked` is a constant where this is called, so
 * that the loop for when no tool listens has nothing in it but the calls. */
static inline __attribute__((always_inline)) cudaError_t issue_all(const struct cuda_run *run,
                                                                   uint32_t *last, bool marked)
{
    cudaError_t result = cudaSuccess;
    uint32_t count = run->workload.plan->op_count, at = 0;
    for (uint32_t i = 0; i < count; i++) {
        result = cuda_issue_op(run, i, marked);
        at = i;
        if (result != cudaSuccess)
            break;
    }
    *last = at;
    return result;
}

static cudaError_t issue_marked(const struct cuda_run *run, uint32_t *last)
{
    marks_begin("issue");
    cudaError_t result = issue_all(run, last, true);
    marks_end();
    return result;
}

cudaError_t cuda_graph_launch(const struct cuda_run *run, const struct cuda_graph *graph,
                              uint32_t *last)
{
    uint32_t count = run->workload.plan->op_count;
    *last = count > 0 ? count - 1 : 0;
    return cudaGraphLaunch(graph->exec, run->streams[0]);
}

/* However it is issued. */
static cudaError_t issue_plan(const struct cuda_run *run, uint32_t *last)
{
    if (run->graph.exec == NULL)
        return marks_on() ? issue_marked(run, last) : issue_all(run, last, false);
    marks_begin("issue");
    cudaError_t result = cuda_graph_launch(run, &run->graph, last);
    marks_end();
    return result;
}

int cuda_first_ops(const struct cuda_run *run, uint32_t ops[CUDA_FIRST_OPS])
{
    const struct plan *plan = run->workload.plan;
    uint32_t kernel = 0;
    int count = 0;
    while (kernel < plan->op_count && plan->ops[kernel].kind != OP_KERNEL)
        kernel++;
    bool launches = kernel < plan->op_count && !plan->loads_lazily;
    for (uint32_t i = 0; i < kernel && count + 1 < CUDA_FIRST_OPS; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind == OP_H2D && (!launches || op->tile == plan->ops[kernel].tile))
            ops[count++] = i;
    }
    if (launches)
        ops[count++] = kernel;
    return count;
}

/* A kernel's result on mapped memory must not look like the run's. */
static void spoil_output(const struct cuda_run *run, const struct op *op)
{
    enum { SPOILED = 0xFF }; /* a NaN in floats, -1 in ints */
    const struct range *out = &op->kernel.out;
    if (op->kind == OP_KERNEL && out->buffer < BUFFER_FIRST_DEVICE)
        memset((char *)run->memory[out->buffer] + out->offset, SPOILED, out->bytes);
}

int cuda_run_first_ops(const struct cuda_run *run)
{
    uint32_t ops[CUDA_FIRST_OPS];
    int count = cuda_first_ops(run, ops);
    for (int i = 0; i < count; i++) { /* they may be of several streams: one after another */
        if (cuda_issue(&run->issued[ops[i]]) != cudaSuccess ||
            cudaDeviceSynchronize() != cudaSuccess)
            return -1;
        spoil_output(run, &run->workload.plan->ops[ops[i]]);
    }
    return count;
}

enum status cuda_run_plain(struct backend *backend, struct run_times *times,
                           struct error *error)
{
    struct cuda_run *run = &backend->run;
    uint32_t at;
    int64_t begin = clock_now_ns();
    cpu_worker_start(run->worker, NULL);
    cudaError_t result = issue_plan(run, &at);
    int64_t issued = clock_now_ns();
    enum status status = cuda_run_settle(run, result, at, error);
    if (status == STATUS_OK)
        *times =
            (struct run_times){.time_ns = clock_now_ns() - begin, .issue_ns = issued - begin};
    return status;
}

void cuda_name_streams(const struct cuda_run *run)
{
    static const char *const stages[] = {"h2d", "kernel", "d2h"};
    enum { STAGES = sizeof stages / sizeof stages[0] };
    char name[32];
    bool by_stage = run->workload.settings->layout == LAYOUT_STAGE;
    for (uint32_t i = 0; i < run->stream_count && marks_on(); i++) {
        if (by_stage && run->stream_count >= STAGES && i < STAGES)
            snprintf(name, sizeof name, "pipeline %s", stages[i]);
        else
            snprintf(name, sizeof name, "pipeline stream %" PRIu32, i);
        marks_name_stream(run->streams[i], name);
    }
}

/* Between the two calls: the plain run and nothing of ours beside it. What was named and opened
 * before may be unknown to a tool that begins to listen here, so that is said again. */
enum status cuda_run_profiled(struct backend *backend, struct timeline *timeline,
                              struct run_times *times, struct error *error)
{
    char name[RUN_NAME_MAX + 16]; /* the ranges around it began too early to be known */
    snprintf(name, sizeof name, "profiled %s", backend->run.workload.settings->name);
    timeline_free(timeline);
    timeline_init(timeline);
    timeline->timing = TIMING_EVENTS; /* measured, if by nothing of ours: there are no spans */
    snprintf(timeline->device, sizeof timeline->device, "%s", backend->machine.name);
    snprintf(timeline->driver, sizeof timeline->driver, "%s", backend->driver);
    if (CUDA_CHECK(cudaProfilerStart(), error) != STATUS_OK)
        return STATUS_FAILED;
    marks_name_thread("pipeline");
    cuda_name_streams(&backend->run);
    marks_begin(name);
    enum status status = cuda_run_plain(backend, times, error);
    marks_end();
    cudaError_t result = cudaProfilerStop();
    if (!backend->run.lost)
        cuda_warn(result, "cudaProfilerStop");
    return status;
}
