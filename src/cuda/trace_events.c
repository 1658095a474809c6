/* trace_events.c - a traced run that takes the device's times from events. */
#include "cuda/trace_events.h"

#include <stdlib.h>

/* A moment that both clocks know: `base` was recorded when the host's clock said `host_ns`. */
struct clock_tie {
    cudaEvent_t base;
    int64_t host_ns;
};

static enum status create_ends(struct traced_run *traced, struct error *error)
{
    traced->ends = calloc(traced->plan->op_count + (size_t)1, sizeof *traced->ends);
    if (traced->ends == NULL)
        return error_set(error, STATUS_FAILED, "no memory for a timeline");
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < traced->plan->op_count && status == STATUS_OK; i++) {
        if (op_on_device(traced->plan->ops[i].kind))
            status = CUDA_CHECK(cudaEventCreate(&traced->ends[i]), error);
    }
    return status;
}

static void destroy_event(const struct traced_run *traced, cudaEvent_t event)
{
    cudaError_t result = event != NULL ? cudaEventDestroy(event) : cudaSuccess;
    if (!traced->run->lost)
        cuda_warn(result, "cudaEventDestroy");
}

static void destroy_ends(struct traced_run *traced)
{
    for (uint32_t i = 0; traced->ends != NULL && i < traced->plan->op_count; i++)
        destroy_event(traced, traced->ends[i]);
    free(traced->ends);
    traced->ends = NULL;
}

/* Ties the device's clock to the host's: an event is recorded between two readings of the
 * host's clock. Of several tries the one with the closest readings counts, and their middle is
 * taken. */
static enum status tie_clocks(const struct traced_run *traced, struct clock_tie *tie,
                              struct error *error)
{
    enum { TRIES = 8 };
    int64_t closest = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        cudaEvent_t event;
        if (CUDA_CHECK(cudaEventCreate(&event), error) != STATUS_OK)
            return STATUS_FAILED;
        int64_t before = clock_now_ns();
        enum status status = CUDA_CHECK(cudaEventRecord(event, traced->run->streams[0]), error);
        if (status == STATUS_OK)
            status = CUDA_CHECK(cudaEventSynchronize(event), error);
        int64_t after = clock_now_ns();
        cudaEvent_t unwanted = event;
        if (status == STATUS_OK && after - before < closest) {
            closest = after - before;
            unwanted = tie->base;
            tie->base = event;
            tie->host_ns = before + (after - before) / 2;
        }
        if (unwanted != NULL)
            CUDA_WARN(cudaEventDestroy(unwanted));
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status fill_ends(const struct traced_run *traced, const struct clock_tie *tie,
                             struct error *error)
{
    for (uint32_t i = 0; i < traced->timeline->span_count; i++) {
        struct span *span = &traced->timeline->spans[i];
        if (!op_on_device(span->kind))
            continue;
        float ms;
        if (CUDA_CHECK(cudaEventElapsedTime(&ms, tie->base, traced->ends[span->op]), error) !=
            STATUS_OK)
            return STATUS_FAILED;
        int64_t end_ns = tie->host_ns + (int64_t)(1e6 * (double)ms);
        traced_span_set(span, span->issue_ns, end_ns - traced->begin_ns);
    }
    return timeline_rebuild_starts(traced->timeline, traced->plan, error);
}

enum status trace_with_events(struct traced_run *traced, struct run_times *times,
                              struct error *error)
{
    struct clock_tie tie = {0};
    struct cuda_graph graph = {0};
    enum status status = create_ends(traced, error);
    if (status == STATUS_OK)
        status = tie_clocks(traced, &tie, error);
    if (status == STATUS_OK && traced->plan->issue == ISSUE_GRAPH) {
        status = cuda_graph_create(traced->run, traced->ends, false, &graph, error);
        traced->graph = &graph;
    }
    if (status == STATUS_OK)
        status = traced_run_make(traced, times, error);
    if (status == STATUS_OK)
        status = fill_ends(traced, &tie, error);
    traced->graph = NULL;
    cuda_graph_free(&graph, traced->run->lost);
    destroy_ends(traced);
    destroy_event(traced, tie.base);
    return status;
}
