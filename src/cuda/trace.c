/* trace.c - the run with a timeline. The host's times are read between the calls; the device's
 * come from CUPTI's records, and where that does not work from events.
 *
 * Environment:
 *   PIPELINE_NO_CUPTI=1   traced runs take their times from events */
#include "cuda/run.h"

#include "cuda/issue.h"

#include "plan/mistake.h"

#include <stdlib.h>

/* --- the timed issue of a plan --- */

/* Sets *call to the function that failed, if it is another than the one that issues op *at. */
static cudaError_t issue_timed(const struct traced_run *traced, uint32_t *at, const char **call,
                               int64_t *end_ns)
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
        result = cuda_issue_op(traced->run, i, marked);
        if (traced->ends != NULL && traced->ends[i] != NULL && result == cudaSuccess) {
            result = cudaEventRecord(traced->ends[i], issued[i].stream);
            *call = result != cudaSuccess ? "cudaEventRecord" : NULL;
        }
        *at = i;
        now = clock_now_ns();
    }
    *end_ns = now;
    return result;
}

/* Returns when the call for `op` returned: when the next one began, for the clock is read once
 * between two calls. */
static int64_t call_end_ns(const struct traced_run *traced, uint32_t op)
{
    do
        op++;
    while (op < traced->plan->op_count && traced->plan->ops[op].kind == OP_CPU);
    return op < traced->plan->op_count ? traced->timeline->issue_ns[op] : traced->issued_ns;
}

static void fill_host_times(const struct traced_run *traced)
{
    EACH (struct span, span, traced->timeline->spans, traced->timeline->span_count) {
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

/* Runs the plan as the plain run does, but reads the clock between the calls and records the
 * events of traced->ends. Fills the timeline's issue times and the spans of CPU tiles,
 * callbacks and the host's own calls. */
static enum status make_run(struct traced_run *traced, struct run_times *times,
                            struct error *error)
{
    uint32_t at = 0;
    const char *call = NULL;
    int64_t issued_ns;
    workload_begin(&traced->run->workload);
    traced->begin_ns = clock_now_ns();
    cpu_worker_start(traced->run->worker, traced->cpu_times);
    marks_begin("issue");
    cudaError_t result = issue_timed(traced, &at, &call, &issued_ns);
    marks_end();
    traced->issued_ns = issued_ns - traced->begin_ns;
    enum status status = cuda_run_settle(traced->run, result, at, call, error);
    if (status != STATUS_OK)
        return status;
    *times = (struct run_times){.time_ns = clock_now_ns() - traced->begin_ns,
                                .issue_ns = traced->issued_ns,
                                .begin_ns = traced->begin_ns};
    fill_host_times(traced);
    return STATUS_OK;
}

/* --- times by events --- */

/* A moment that both clocks know: `base` was recorded when the host's clock said `host_ns`.
 * Events' times count within one device alone, so each device has a moment of its own, and it
 * is the host's clock that makes them one. A tie is off by half of what lay between the host's
 * two readings at most, some 5 us; so ops of two devices can be told apart by twice that. */
struct clock_tie {
    cudaEvent_t base;
    int64_t host_ns;
};

static enum status create_ends(struct traced_run *traced, struct error *error)
{
    traced->ends = calloc(traced->plan->op_count + (size_t)1, sizeof *traced->ends);
    if (traced->ends == NULL)
        return error_no_memory(error, "for a timeline");
    for (uint32_t i = 0; i < traced->plan->op_count; i++) {
        const struct op *op = &traced->plan->ops[i];
        if (!op_on_device(op->kind))
            continue;
        if (cuda_devices_select(traced->run->devices,
                                plan_stream_device(traced->run->workload.plan, op->stream),
                                error) != STATUS_OK ||
            CUDA_CHECK(cudaEventCreate(&traced->ends[i]), error) != STATUS_OK)
            return error->status;
    }
    return STATUS_OK;
}

static void destroy_event(const struct traced_run *traced, cudaEvent_t event)
{
    if (event != NULL)
        cuda_devices_warn(traced->run->devices, 0, cudaEventDestroy(event), "cudaEventDestroy");
}

/* Ties the clock of the current device, which `stream` is on, to the host's: an event is
 * recorded between two readings of the host's clock. Of several tries the one with the closest
 * readings counts, and their middle is taken. */
static enum status tie_clock(cudaStream_t stream, struct clock_tie *tie, struct error *error)
{
    enum { TRIES = 8 };
    int64_t closest = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        cudaEvent_t event;
        if (CUDA_CHECK(cudaEventCreate(&event), error) != STATUS_OK)
            return STATUS_FAILED;
        int64_t before = clock_now_ns();
        enum status status = CUDA_CHECK(cudaEventRecord(event, stream), error);
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

/* Ties the clock of each device, by the first of its streams. */
static enum status tie_clocks(const struct traced_run *traced,
                              struct clock_tie ties[MACHINE_DEVICES_MAX], struct error *error)
{
    const struct cuda_devices *devices = traced->run->devices;
    const uint32_t each = traced->plan->streams / devices->count;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; cuda_devices_reach(devices, i, &status, error); i++)
        status = tie_clock(traced->run->streams[i * each], &ties[i], error);
    return status == STATUS_OK ? cuda_devices_select(devices, 0, error) : status;
}

static enum status fill_ends(const struct traced_run *traced,
                             const struct clock_tie ties[MACHINE_DEVICES_MAX],
                             struct error *error)
{
    EACH (struct span, span, traced->timeline->spans, traced->timeline->span_count) {
        if (!op_on_device(span->kind))
            continue;
        const struct clock_tie *tie = &ties[span->device];
        float ms;
        if (CUDA_CHECK(cudaEventElapsedTime(&ms, tie->base, traced->ends[span->op]), error) !=
            STATUS_OK)
            return STATUS_FAILED;
        int64_t end_ns = tie->host_ns + (int64_t)(1e6 * (double)ms);
        traced_span_set(span, span->issue_ns, end_ns - traced->begin_ns);
    }
    return timeline_rebuild_starts(traced->timeline, traced->plan, error);
}

/* Runs once with an event behind every copy, memset and kernel, which gives their ends; their
 * starts are rebuilt from the engines' order. */
static enum status trace_with_events(struct traced_run *traced, struct run_times *times,
                                     struct error *error)
{
    struct clock_tie ties[MACHINE_DEVICES_MAX] = {0};
    struct cuda_graph graph = {0};
    enum status status = create_ends(traced, error);
    if (status == STATUS_OK)
        status = tie_clocks(traced, ties, error);
    if (status == STATUS_OK && traced->plan->issue == ISSUE_GRAPH) {
        status = cuda_graph_create(traced->run, traced->ends, false, &graph, error);
        traced->graph = &graph;
    }
    if (status == STATUS_OK)
        status = make_run(traced, times, error);
    if (status == STATUS_OK)
        status = fill_ends(traced, ties, error);
    traced->graph = NULL;
    cuda_graph_free(traced->run, &graph);
    for (uint32_t i = 0; traced->ends != NULL && i < traced->plan->op_count; i++)
        destroy_event(traced, traced->ends[i]);
    free(traced->ends);
    traced->ends = NULL;
    for (uint32_t i = 0; i < traced->run->devices->count; i++)
        destroy_event(traced, ties[i].base);
    return status;
}

/* --- times by CUPTI --- */

/* Runs the first ops twice: the first copy and the first kernel under CUPTI take a millisecond
 * more. The first time also shows if CUPTI gives records at all, and those are forgotten. What
 * comes next is held up once more, by some tenths of a millisecond, so the ops run again;
 * skip_warm_records() leaves out the records of that. Sets *works to whether it gives any. */
static enum status warm_up(struct cuda_tracer *tracer, struct cuda_run *run, bool *works,
                           struct error *error)
{
    size_t count = 0;
    int expected;
    *works = false;
    if (cuda_run_first_ops(run, &expected, error) != STATUS_OK)
        return error->status;
    if (!cupti_trace_clear(tracer->cupti, &count) || count < (size_t)expected)
        return STATUS_OK;
    *works = true;
    return cuda_run_first_ops(run, &expected, error);
}

/* Has CUPTI record, and runs the first ops to warm it up. Sets *records to false where it can't
 * be had, for the reason in tracer->no_cupti; it is then not tried again. An error is that of
 * an op, and CUPTI is stopped. */
static enum status start_cupti(struct cuda_tracer *tracer, struct cuda_run *run, bool *records,
                               struct error *error)
{
    const struct cupti_record *unwanted;
    size_t count;
    *records = false;
    bool tried = tracer->cupti != NULL || tracer->no_cupti != NULL;
    if (!tried && getenv("PIPELINE_NO_CUPTI") != NULL)
        tracer->no_cupti = "PIPELINE_NO_CUPTI is set";
    else if (!tried && getenv("CUDA_INJECTION64_PATH") != NULL)
        tracer->no_cupti = "another tool is injected (CUDA_INJECTION64_PATH)";
    else if (!tried)
        tracer->cupti = cupti_trace_open(&tracer->no_cupti);
    if (tracer->no_cupti != NULL)
        return STATUS_OK;
    if (!cupti_trace_start(tracer->cupti)) {
        tracer->no_cupti = "it could not be started";
        return STATUS_OK;
    }
    enum status status = warm_up(tracer, run, records, error);
    if (status == STATUS_OK && *records)
        return STATUS_OK;
    cupti_trace_stop(tracer->cupti, &unwanted, &count);
    if (status == STATUS_OK)
        tracer->no_cupti = run->workload.plan->issue == ISSUE_BATCH
                               ? "it gave no records of batches of copies"
                               : "it gave no records: is a profiler attached?";
    return status;
}

/* Returns true if all ops ran while the host saw the run last, give or take what two clocks may
 * differ by: CUPTI that fails to tie its clock to the host's gives times of another age. */
static bool spans_lie_in_run(const struct traced_run *traced, int64_t time_ns)
{
    enum { CLOCKS_NS = 1000000 };
    EACH (const struct span, span, traced->timeline->spans, traced->timeline->span_count) {
        if (op_on_device(span->kind) &&
            (span->start_ns < -CLOCKS_NS || span->end_ns < span->start_ns ||
             span->end_ns > time_ns + CLOCKS_NS))
            return false;
    }
    return true;
}

/* Runs once, CUPTI recording since start_cupti(), and stops it. Sets tracer->no_cupti if its
 * records do not account for every op, or their times can't be. */
static enum status trace_with_cupti(struct cuda_tracer *tracer, struct traced_run *traced,
                                    struct run_times *times, struct error *error)
{
    struct cuda_graph graph = {0};
    struct cupti_graph *ids = NULL;
    const struct cupti_record *records;
    size_t count;
    enum status status = STATUS_OK;
    if (traced->plan->issue == ISSUE_GRAPH) {
        ids = cupti_graph_open(tracer->cupti);
        status = cuda_graph_create(traced->run, NULL, ids != NULL, &graph, error);
        traced->graph = &graph;
    }
    if (status == STATUS_OK)
        status = make_run(traced, times, error);
    bool whole = cupti_trace_stop(tracer->cupti, &records, &count);
    if (status == STATUS_OK && !whole)
        tracer->no_cupti = "it lost records";
    else if (status == STATUS_OK &&
             !(traced->graph != NULL
                   ? match_nodes(traced, ids, records, count, tracer->mismatch)
                   : match_streams(traced, tracer->cupti, records, count, tracer->mismatch)))
        tracer->no_cupti = tracer->mismatch;
    else if (status == STATUS_OK && !spans_lie_in_run(traced, times->time_ns))
        tracer->no_cupti = "its times lie outside the run";
    traced->graph = NULL;
    cuda_graph_free(traced->run, &graph);
    cupti_graph_close(ids);
    return status;
}

/* --- the run --- */

/* Warms up CUDA as the plain run does. CUPTI would have no record of a prefetch. */
static enum status warm_up_managed(struct cuda_run *run, struct error *error)
{
    int count;
    const enum status status = cuda_run_first_ops(run, &count, error);
    return status == STATUS_OK ? cuda_managed_begin(run, error) : status;
}

/* Makes the run with CUPTI. One whose records do not add up is made again with events; then its
 * callbacks have been called already, and are muted. */
static enum status run_either_way(struct cuda_tracer *tracer, bool recorded,
                                  struct traced_run *traced, struct run_times *times,
                                  struct error *error)
{
    if (recorded) {
        enum status status = trace_with_cupti(tracer, traced, times, error);
        if (status != STATUS_OK || tracer->no_cupti == NULL)
            return status;
        if (traced->plan->loads_lazily)
            return error_set(error, STATUS_FAILED,
                             "--mistake=%s: this run can't be traced (%s) nor made again: with "
                             "PIPELINE_NO_CUPTI=1 times come from events",
                             mistake_name(traced->run->workload.settings->mistake),
                             tracer->no_cupti);
        traced->run->listener->muted = true;
    }
    enum status status = trace_with_events(traced, times, error);
    traced->run->listener->muted = false;
    return status;
}

enum status cuda_run_traced(struct cuda_tracer *tracer, struct cuda_run *run,
                            struct timeline *timeline, struct run_times *times,
                            struct error *error)
{
    const struct plan *plan = run->workload.plan;
    struct traced_run traced = {.run = run, .plan = plan, .timeline = timeline};
    enum status status = timeline_begin(timeline, plan, error);
    if (status != STATUS_OK)
        return status;
    if (plan->cpu_tiles > 0) {
        traced.cpu_times = calloc(plan->op_count, sizeof *traced.cpu_times);
        if (traced.cpu_times == NULL)
            return error_no_memory(error, "for a timeline");
    }
    enum { EVENT_RESOLUTION_NS = 500 }; /* cudaEventElapsedTime()'s documentation */
    bool recorded = false;
    if (plan->memory != MEMORY_MANAGED)
        status = start_cupti(tracer, run, &recorded, error);
    else
        status = warm_up_managed(run, error);
    if (status == STATUS_OK)
        status = run_either_way(tracer, recorded, &traced, times, error);
    if (status == STATUS_OK) {
        const char *no_cupti = plan->memory == MEMORY_MANAGED
                                   ? "it has no records of pages that move"
                                   : tracer->no_cupti;
        cuda_devices_sign(run->devices, timeline);
        timeline->numa = run->seen;
        timeline->timing = no_cupti == NULL ? TIMING_CUPTI : TIMING_EVENTS;
        timeline->resolution_ns = no_cupti == NULL ? 1 : EVENT_RESOLUTION_NS;
        if (no_cupti != NULL)
            snprintf(timeline->driver, sizeof timeline->driver, "%s; no CUPTI: %s",
                     run->devices->items[0].driver, no_cupti);
        status = timeline_finish(timeline, plan, error);
    }
    if (recorded && plan->issue == ISSUE_GRAPH)
        tracer->no_cupti = NULL; /* CUPTI may work for the next run if that is no graph */
    free(traced.cpu_times);
    return status;
}
