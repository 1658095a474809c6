/* trace.c - runs a prepared plan and says when each op ran: by CUPTI's records where there
 * is CUPTI, else by an event behind every copy and kernel. */
#include "cuda/backend.h"

#include <inttypes.h>
#include <stdlib.h>

enum { EVENT_RESOLUTION_NS = 500 }; /* cudaEventElapsedTime's documentation */

/* One traced run, while it is made. */
struct trace {
    struct backend *backend;
    struct cuda_run *run;
    const struct plan *plan;
    struct timeline *timeline;
    struct interval *cpu_times; /* by op id; NULL: no CPU ops */
    cudaEvent_t *ends;          /* one per op, 0 where it has none; NULL: CUPTI sees to it */
    cudaEvent_t base;
    int64_t base_ns;     /* the host's clock when `base` was recorded */
    int64_t begin_ns;    /* the host's clock at the first issue: the timeline's zero */
    int64_t issued_ns;   /* from there to when the last call returned */
    size_t warm_records; /* CUPTI's of what came before that */
    struct cuda_traced_graph graph; /* with --issue=graph */
    size_t per_launch; /* and of one kernel op: a library may launch several kernels */
};

/* The timed issue: as the plain one, but the clock is read between the calls and, without
 * CUPTI, an event is recorded behind each op that is work for the device. */
static cudaError_t issue_timed(struct trace *trace, uint32_t *at, int64_t *end_ns)
{
    const struct cuda_issued *issued = trace->run->issued;
    int64_t *issue_ns = trace->timeline->issue_ns;
    int64_t now = trace->begin_ns;
    bool marked = marks_on();
    cudaError_t result = cudaSuccess;
    if (trace->graph.graph.exec != NULL) {
        result = cuda_graph_launch(trace->run, &trace->graph.graph, at);
        *end_ns = clock_now_ns();
        trace->timeline->launched_ns = *end_ns - trace->begin_ns;
        return result;
    }
    for (uint32_t i = 0; i < trace->plan->op_count && result == cudaSuccess; i++) {
        /* The CPU's work is all handed over at the start. */
        issue_ns[i] = issued[i].kind == OP_CPU ? 0 : now - trace->begin_ns;
        result = cuda_issue_op(trace->run, i, marked);
        if (trace->ends != NULL && trace->ends[i] != NULL && result == cudaSuccess)
            result = cudaEventRecord(trace->ends[i], issued[i].stream);
        *at = i;
        now = clock_now_ns();
    }
    *end_ns = now;
    return result;
}

static enum status run_timed(struct trace *trace, struct run_times *times, struct error *error)
{
    uint32_t at = 0;
    int64_t issued_ns;
    trace->begin_ns = clock_now_ns();
    cpu_worker_start(trace->run->worker, trace->cpu_times);
    marks_begin("issue");
    cudaError_t result = issue_timed(trace, &at, &issued_ns);
    marks_end();
    trace->issued_ns = issued_ns - trace->begin_ns;
    enum status status = cuda_run_settle(trace->run, result, at, error);
    if (status == STATUS_OK)
        *times = (struct run_times){.time_ns = clock_now_ns() - trace->begin_ns,
                                    .issue_ns = trace->issued_ns};
    return status;
}

/* When the call for op `op` returned: the clock is read once between two calls. */
static int64_t call_end_ns(const struct trace *trace, uint32_t op)
{
    do
        op++;
    while (op < trace->plan->op_count && trace->plan->ops[op].kind == OP_CPU);
    return op < trace->plan->op_count ? trace->timeline->issue_ns[op] : trace->issued_ns;
}

/* Issue times, and what the host itself timed: the CPU's tiles, callbacks and its own calls. */
static void fill_host_times(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->timeline->span_count; i++) {
        struct span *span = &trace->timeline->spans[i];
        const struct interval *time = NULL;
        span->issue_ns = trace->timeline->issue_ns[span->op];
        if (span->kind == OP_CPU)
            time = &trace->cpu_times[span->op];
        else if (span->kind == OP_CALLBACK)
            time = &trace->run->issued[span->op].callback->time;
        else if (op_is_call(span->kind))
            cuda_set_times(span, span->issue_ns, call_end_ns(trace, span->op));
        if (time != NULL)
            cuda_set_times(span, time->start_ns - trace->begin_ns,
                           time->end_ns - trace->begin_ns);
    }
}

static void describe_timeline(const struct trace *trace, enum timing timing,
                              int64_t resolution_ns)
{
    const struct backend *backend = trace->backend;
    struct timeline *timeline = trace->timeline;
    timeline->timing = timing;
    timeline->resolution_ns = resolution_ns;
    snprintf(timeline->device, sizeof timeline->device, "%s", backend->machine.name);
    if (timing == TIMING_CUPTI)
        snprintf(timeline->driver, sizeof timeline->driver, "%s", backend->driver);
    else
        snprintf(timeline->driver, sizeof timeline->driver, "%s; no CUPTI: %s", backend->driver,
                 backend->no_cupti);
}

/* CUPTI. */

/* Where each stream's records begin and end among all of them. */
struct cursor {
    size_t next, end;
};

static size_t first_record(const struct cupti_record *records, size_t count, uint64_t stream)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (records[middle].stream < stream)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* CUPTI's numbers of the plan's streams. It gives none for the legacy default stream: that is
 * the one that its records name and no other stream has; 0 where there are none. */
static bool number_streams(const struct trace *trace, const struct cupti_record *records,
                           size_t count, uint32_t *numbers)
{
    uint32_t streams = trace->plan->streams, legacy = streams;
    for (uint32_t s = 0; s < streams; s++) {
        numbers[s] = 0;
        if (trace->run->streams[s] == cudaStreamLegacy)
            legacy = s;
        else if (!cupti_trace_stream(trace->backend->cupti, trace->run->streams[s],
                                     &numbers[s]))
            return false;
    }
    for (size_t i = 0; i < count && legacy < streams; i++) {
        uint32_t s = 0;
        while (s < streams && numbers[s] != records[i].stream)
            s++;
        if (s == streams)
            numbers[legacy] = records[i].stream;
    }
    return true;
}

/* Tiles that a library works on are all alike, so each of its launches is as many kernels. */
static void count_per_launch(struct trace *trace, const struct cupti_record *records,
                             size_t count)
{
    uint32_t warm[CUDA_FIRST_OPS];
    size_t kernels = 0, launches = 0;
    trace->per_launch = 1;
    if (trace->plan->chain[0]->context_create == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        kernels += records[i].kind == OP_KERNEL;
    for (uint32_t i = 0; i < trace->plan->op_count; i++)
        launches += trace->plan->ops[i].kind == OP_KERNEL;
    for (int i = cuda_first_ops(trace->run, warm) - 1; i >= 0; i--)
        launches += trace->plan->ops[warm[i]].kind == OP_KERNEL;
    if (kernels > 0 && launches > 0 && kernels % launches == 0)
        trace->per_launch = kernels / launches;
}

/* Finds where each stream's records are. */
static bool find_streams(struct trace *trace, const struct cupti_record *records, size_t count,
                         struct cursor *cursors)
{
    uint32_t *numbers = calloc(trace->plan->streams, sizeof *numbers);
    bool numbered = numbers != NULL && number_streams(trace, records, count, numbers);
    for (uint32_t s = 0; s < trace->plan->streams && numbered; s++) {
        cursors[s].next = first_record(records, count, numbers[s]);
        cursors[s].end = first_record(records, count, (uint64_t)numbers[s] + 1);
    }
    free(numbers);
    if (!numbered) {
        snprintf(trace->backend->mismatch, sizeof trace->backend->mismatch,
                 "it does not know a stream");
        return false;
    }
    /* What warmed CUPTI up came before all else. */
    uint32_t warm[CUDA_FIRST_OPS];
    int warm_count = cuda_first_ops(trace->run, warm);
    trace->warm_records = 0;
    count_per_launch(trace, records, count);
    for (int i = 0; i < warm_count; i++) {
        const struct op *op = &trace->plan->ops[warm[i]];
        const size_t left = op->kind == OP_KERNEL ? trace->per_launch : 1;
        cursors[op->stream].next += left;
        trace->warm_records += left;
    }
    return true;
}

static bool tell_mismatch(struct trace *trace, const struct span *span,
                          const struct cupti_record *record)
{
    char *text = trace->backend->mismatch;
    size_t size = sizeof trace->backend->mismatch;
    const char *name = op_kind_name(span->kind);
    if (record == NULL)
        snprintf(text, size, "its records did not match: none of op %" PRIu32 ", %s", span->op,
                 name);
    else
        snprintf(text, size,
                 "its records did not match: kind %d of %" PRIu64 " bytes for op %" PRIu32
                 ", %s of %" PRIu64,
                 record->kind, record->bytes, span->op, name, span->bytes);
    return false;
}

/* The next of the stream's records that belong to `span`: sets its times. Returns how many they
 * are; 0 where they don't fit. */
static size_t match_span(const struct trace *trace, const struct cupti_record *records,
                         struct cursor *cursor, struct span *span)
{
    const size_t wanted = span->kind == OP_KERNEL ? trace->per_launch : 1;
    if (cursor->next + wanted > cursor->end)
        return 0;
    const struct cupti_record *first = &records[cursor->next], *last = first + wanted - 1;
    for (const struct cupti_record *record = first; record <= last; record++) {
        if (record->kind != span->kind ||
            (span->kind != OP_KERNEL && record->bytes != span->bytes))
            return 0;
    }
    cursor->next += wanted;
    cuda_set_times(span, first->start_ns - trace->begin_ns, last->end_ns - trace->begin_ns);
    return wanted;
}

/* Streams run in order, so a stream's j-th record is its j-th copy, memset or kernel, or as
 * many of them as a launch makes. Kinds and bytes must agree, and no record be left over. */
static bool match_records(struct trace *trace, const struct cupti_record *records, size_t count,
                          struct cursor *cursors)
{
    size_t used = 0;
    for (uint32_t i = 0; i < trace->timeline->span_count; i++) {
        struct span *span = &trace->timeline->spans[i];
        if (!op_on_device(span->kind))
            continue;
        struct cursor *cursor = &cursors[span->stream];
        const size_t matched = match_span(trace, records, cursor, span);
        if (matched == 0)
            return tell_mismatch(trace, span,
                                 cursor->next < cursor->end ? &records[cursor->next] : NULL);
        used += matched;
    }
    snprintf(trace->backend->mismatch, sizeof trace->backend->mismatch,
             "its records did not match: %zu, of which %zu are known", count,
             used + trace->warm_records);
    return used + trace->warm_records == count;
}

/* Whether the records account for every op. */
static bool match_all(struct trace *trace, const struct cupti_record *records, size_t count,
                      struct cursor *cursors)
{
    struct backend *backend = trace->backend;
    if (trace->graph.graph.exec == NULL)
        return find_streams(trace, records, count, cursors) &&
               match_records(trace, records, count, cursors);
    return cuda_traced_graph_match(&trace->graph, trace->run, records, count, trace->timeline,
                                   trace->begin_ns, backend->mismatch,
                                   sizeof backend->mismatch);
}

/* One run with CUPTI already recording. *complete: its records account for every op. */
static enum status run_with_cupti(struct trace *trace, struct run_times *times, bool *complete,
                                  struct error *error)
{
    struct backend *backend = trace->backend;
    const struct cupti_record *records;
    size_t count;
    enum status status =
        cuda_traced_graph_create(&trace->graph, trace->run, NULL, trace->backend->cupti, error);
    if (status == STATUS_OK)
        status = run_timed(trace, times, error);
    bool whole = cupti_trace_stop(backend->cupti, &records, &count);
    struct cursor *cursors = calloc(trace->plan->streams, sizeof *cursors);
    if (status == STATUS_OK && cursors == NULL)
        status = error_set(error, STATUS_FAILED, "no memory for a timeline");
    if (status == STATUS_OK) {
        fill_host_times(trace);
        *complete = whole && match_all(trace, records, count, cursors);
    }
    free(cursors);
    cuda_traced_graph_free(&trace->graph, trace->run);
    if (status != STATUS_OK)
        return status;
    if (!*complete)
        backend->no_cupti = whole ? backend->mismatch : "it lost records";
    return STATUS_OK;
}

/* The first copy and the first kernel under CUPTI take a millisecond more: they are run once,
 * which also shows whether there are records at all, and those are forgotten. What comes first
 * after that is held up once more, by some tenths: so they run again, and find_streams() leaves
 * their records out. */
static bool warm_cupti_up(struct trace *trace)
{
    size_t count = 0;
    int expected = cuda_run_first_ops(trace->run);
    return cupti_trace_clear(trace->backend->cupti, &count) && expected >= 0 &&
           count >= (size_t)expected && cuda_run_first_ops(trace->run) >= 0;
}

/* Opens CUPTI, at the first traced run. */
static void open_cupti(struct trace *trace)
{
    struct backend *backend = trace->backend;
    if (getenv("PIPELINE_NO_CUPTI") != NULL)
        backend->no_cupti = "PIPELINE_NO_CUPTI is set";
    else
        backend->cupti = cupti_trace_open(&backend->no_cupti);
}

/* Stops a recording that will not be used. */
static void abandon_cupti(struct backend *backend, const char *why)
{
    const struct cupti_record *records;
    size_t count;
    cupti_trace_stop(backend->cupti, &records, &count);
    backend->no_cupti = why;
}

/* Has CUPTI record. What failed once is not tried again. */
static bool start_cupti(struct trace *trace)
{
    struct backend *backend = trace->backend;
    if (backend->cupti == NULL && backend->no_cupti == NULL)
        open_cupti(trace);
    if (backend->no_cupti != NULL)
        return false;
    if (!cupti_trace_start(backend->cupti))
        backend->no_cupti = "it could not be started";
    else if (!warm_cupti_up(trace))
        abandon_cupti(backend, "it gave no records: is a profiler attached?");
    return backend->no_cupti == NULL;
}

/* Events. */

static enum status create_ends(struct trace *trace, struct error *error)
{
    trace->ends = calloc(trace->plan->op_count + (size_t)1, sizeof *trace->ends);
    if (trace->ends == NULL)
        return error_set(error, STATUS_FAILED, "no memory for a timeline");
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < trace->plan->op_count && status == STATUS_OK; i++) {
        if (op_on_device(trace->plan->ops[i].kind))
            status = CUDA_CHECK(cudaEventCreate(&trace->ends[i]), error);
    }
    return status;
}

static void destroy_ends(struct trace *trace)
{
    bool silent = trace->run->lost;
    for (uint32_t i = 0; trace->ends != NULL && i < trace->plan->op_count; i++) {
        cudaError_t result =
            trace->ends[i] != NULL ? cudaEventDestroy(trace->ends[i]) : cudaSuccess;
        if (!silent)
            cuda_warn(result, "cudaEventDestroy");
    }
    if (trace->base != NULL) {
        cudaError_t result = cudaEventDestroy(trace->base);
        if (!silent)
            cuda_warn(result, "cudaEventDestroy");
    }
    free(trace->ends);
    trace->ends = NULL;
    trace->base = NULL;
}

/* Ties the device's clock to the host's: `base` was recorded between two readings of the host's
 * clock; of several tries the closest pair is the best, and its middle is taken. */
static enum status tie_clocks(struct trace *trace, struct error *error)
{
    enum { TRIES = 8 };
    int64_t closest = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        cudaEvent_t event;
        if (CUDA_CHECK(cudaEventCreate(&event), error) != STATUS_OK)
            return STATUS_FAILED;
        int64_t before = clock_now_ns();
        enum status status = CUDA_CHECK(cudaEventRecord(event, trace->run->streams[0]), error);
        if (status == STATUS_OK)
            status = CUDA_CHECK(cudaEventSynchronize(event), error);
        int64_t after = clock_now_ns();
        cudaEvent_t unwanted = event;
        if (status == STATUS_OK && after - before < closest) {
            closest = after - before;
            unwanted = trace->base;
            trace->base = event;
            trace->base_ns = before + (after - before) / 2;
        }
        if (unwanted != NULL)
            CUDA_WARN(cudaEventDestroy(unwanted));
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status fill_ends(struct trace *trace, struct error *error)
{
    for (uint32_t i = 0; i < trace->timeline->span_count; i++) {
        struct span *span = &trace->timeline->spans[i];
        if (!op_on_device(span->kind))
            continue;
        float ms;
        if (CUDA_CHECK(cudaEventElapsedTime(&ms, trace->base, trace->ends[span->op]), error) !=
            STATUS_OK)
            return STATUS_FAILED;
        int64_t end_ns = trace->base_ns + (int64_t)(1e6 * (double)ms);
        cuda_set_times(span, span->issue_ns, end_ns - trace->begin_ns);
    }
    return timeline_rebuild_starts(trace->timeline, trace->plan, error);
}

static enum status run_with_events(struct trace *trace, struct run_times *times,
                                   struct error *error)
{
    enum status status = create_ends(trace, error);
    if (status == STATUS_OK)
        status = tie_clocks(trace, error);
    if (status == STATUS_OK)
        status = cuda_traced_graph_create(&trace->graph, trace->run, trace->ends, NULL, error);
    if (status == STATUS_OK)
        status = run_timed(trace, times, error);
    if (status == STATUS_OK) {
        fill_host_times(trace);
        status = fill_ends(trace, error);
    }
    cuda_traced_graph_free(&trace->graph, trace->run);
    destroy_ends(trace);
    return status;
}

/* A run whose records do not add up is made again with events; its callbacks have been called.
 */
static enum status run_either_way(struct trace *trace, struct run_times *times,
                                  struct error *error)
{
    bool complete = false, recorded = start_cupti(trace);
    if (recorded) {
        enum status status = run_with_cupti(trace, times, &complete, error);
        if (status != STATUS_OK)
            return status;
        trace->run->muted = !complete;
        if (!complete && trace->plan->loads_lazily)
            return error_set(error, STATUS_FAILED,
                             "--mistake=%s: this run can't be traced (%s) nor made again: with "
                             "PIPELINE_NO_CUPTI=1 times come from events",
                             mistake_name(MISTAKE_LAZY_LOADING), trace->backend->no_cupti);
    }
    enum status status = STATUS_OK;
    if (!complete)
        status = run_with_events(trace, times, error);
    trace->run->muted = false;
    if (status == STATUS_OK)
        describe_timeline(trace, complete ? TIMING_CUPTI : TIMING_EVENTS,
                          complete ? 1 : EVENT_RESOLUTION_NS);
    if (recorded && trace->plan->issue == ISSUE_GRAPH)
        trace->backend->no_cupti = NULL; /* what it can't do with graphs, it may without */
    return status;
}

enum status cuda_run_traced(struct backend *backend, struct timeline *timeline,
                            struct run_times *times, struct error *error)
{
    struct trace trace = {.backend = backend,
                          .run = &backend->run,
                          .plan = backend->run.workload.plan,
                          .timeline = timeline};
    enum status status = timeline_begin(timeline, trace.plan, error);
    if (status != STATUS_OK)
        return status;
    if (trace.plan->cpu_tiles > 0) {
        trace.cpu_times = calloc(trace.plan->op_count, sizeof *trace.cpu_times);
        if (trace.cpu_times == NULL)
            return error_set(error, STATUS_FAILED, "no memory for a timeline");
    }
    status = run_either_way(&trace, times, error);
    if (status == STATUS_OK)
        status = timeline_finish(timeline, trace.plan, error);
    free(trace.cpu_times);
    return status;
}
