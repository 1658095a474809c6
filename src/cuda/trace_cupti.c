/* trace_cupti.c - a traced run that takes the device's times from CUPTI's records. */
#include "cuda/trace_cupti.h"

#include "cuda/trace_graph.h"

#include <inttypes.h>
#include <stdlib.h>

/* The part of all records that is one stream's, and how far it has been matched. */
struct stream_records {
    size_t next, end;
};

/* The records of a run issued op by op, while they are matched with its spans. */
struct matching {
    const struct traced_run *traced;
    const struct cupti_record *records; /* by stream, then in the order they ran */
    size_t count;
    struct stream_records *streams; /* one per stream of the plan */
    size_t warm_records;            /* those of the ops that warmed CUPTI up */
    size_t per_launch; /* records of one kernel op: a library may launch several kernels */
    char *why;         /* set where they don't match */
    size_t room;
};

static size_t first_record(const struct matching *matching, uint64_t stream)
{
    size_t low = 0, high = matching->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (matching->records[middle].stream < stream)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Finds CUPTI's numbers of the plan's streams. It gives none for the legacy default stream:
 * that is the one that its records name and no other stream has; 0 where there are none. */
static bool number_streams(const struct matching *matching, struct cupti_trace *cupti,
                           uint32_t *numbers)
{
    const cudaStream_t *handles = matching->traced->run->streams;
    uint32_t streams = matching->traced->plan->streams, legacy = streams;
    for (uint32_t s = 0; s < streams; s++) {
        numbers[s] = 0;
        if (handles[s] == cudaStreamLegacy)
            legacy = s;
        else if (!cupti_trace_stream(cupti, handles[s], &numbers[s]))
            return false;
    }
    for (size_t i = 0; i < matching->count && legacy < streams; i++) {
        uint32_t s = 0;
        while (s < streams && numbers[s] != matching->records[i].stream)
            s++;
        if (s == streams)
            numbers[legacy] = matching->records[i].stream;
    }
    return true;
}

/* Counts the records of one kernel op. All tiles that a library works on are alike, so each of
 * its launches is as many kernels. */
static void count_per_launch(struct matching *matching)
{
    const struct plan *plan = matching->traced->plan;
    uint32_t warm[CUDA_FIRST_OPS];
    size_t kernels = 0, launches = 0;
    matching->per_launch = 1;
    if (kernel_launcher(plan->chain[0])->context_create == NULL)
        return;
    for (size_t i = 0; i < matching->count; i++)
        kernels += matching->records[i].kind == OP_KERNEL;
    for (uint32_t i = 0; i < plan->op_count; i++)
        launches += plan->ops[i].kind == OP_KERNEL;
    for (int i = cuda_first_ops(matching->traced->run, warm) - 1; i >= 0; i--)
        launches += plan->ops[warm[i]].kind == OP_KERNEL;
    if (kernels > 0 && launches > 0 && kernels % launches == 0)
        matching->per_launch = kernels / launches;
}

/* Leaves out the records of the ops that warmed CUPTI up: they came before all else. */
static void skip_warm_records(struct matching *matching)
{
    uint32_t warm[CUDA_FIRST_OPS];
    int count = cuda_first_ops(matching->traced->run, warm);
    for (int i = 0; i < count; i++) {
        const struct op *op = &matching->traced->plan->ops[warm[i]];
        const size_t left = op->kind == OP_KERNEL ? matching->per_launch : 1;
        matching->streams[op->stream].next += left;
        matching->warm_records += left;
    }
}

static bool find_streams(struct matching *matching, struct cupti_trace *cupti)
{
    const uint32_t streams = matching->traced->plan->streams;
    uint32_t *numbers = calloc(streams, sizeof *numbers);
    bool numbered = numbers != NULL && number_streams(matching, cupti, numbers);
    for (uint32_t s = 0; s < streams && numbered; s++) {
        matching->streams[s].next = first_record(matching, numbers[s]);
        matching->streams[s].end = first_record(matching, (uint64_t)numbers[s] + 1);
    }
    free(numbers);
    if (!numbered) {
        snprintf(matching->why, matching->room, "it does not know a stream");
        return false;
    }
    count_per_launch(matching);
    skip_warm_records(matching);
    return true;
}

static bool tell_mismatch(const struct matching *matching, const struct span *span)
{
    const struct stream_records *stream = &matching->streams[span->stream];
    const char *name = op_kind_name(span->kind);
    if (stream->next >= stream->end) {
        snprintf(matching->why, matching->room,
                 "its records did not match: none of op %" PRIu32 ", %s", span->op, name);
        return false;
    }
    const struct cupti_record *record = &matching->records[stream->next];
    snprintf(matching->why, matching->room,
             "its records did not match: kind %d of %" PRIu64 " bytes for op %" PRIu32
             ", %s of %" PRIu64,
             record->kind, record->bytes, span->op, name, span->bytes);
    return false;
}

/* Sets the span's times from the next of its stream's records. Returns how many records belong
 * to it; 0 where they don't fit. */
static size_t match_span(const struct matching *matching, struct span *span)
{
    struct stream_records *stream = &matching->streams[span->stream];
    const size_t wanted = span->kind == OP_KERNEL ? matching->per_launch : 1;
    const int64_t begin_ns = matching->traced->begin_ns;
    if (stream->next + wanted > stream->end)
        return 0;
    const struct cupti_record *first = &matching->records[stream->next];
    const struct cupti_record *last = first + wanted - 1;
    for (const struct cupti_record *record = first; record <= last; record++) {
        if (record->kind != span->kind ||
            (span->kind != OP_KERNEL && record->bytes != span->bytes))
            return 0;
    }
    stream->next += wanted;
    traced_span_set(span, first->start_ns - begin_ns, last->end_ns - begin_ns);
    return wanted;
}

/* Streams run in order, so a stream's j-th record is its j-th copy, memset or kernel, or as
 * many of them as a launch makes. Kinds and bytes must agree, and no record be left over. */
static bool match_spans(const struct matching *matching)
{
    struct timeline *timeline = matching->traced->timeline;
    size_t known = matching->warm_records;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        struct span *span = &timeline->spans[i];
        if (!op_on_device(span->kind))
            continue;
        const size_t matched = match_span(matching, span);
        if (matched == 0)
            return tell_mismatch(matching, span);
        known += matched;
    }
    snprintf(matching->why, matching->room,
             "its records did not match: %zu, of which %zu are known", matching->count, known);
    return known == matching->count;
}

/* Sets the timeline's device times. Returns true if the records account for every op. */
static bool match_records(struct cuda_tracer *tracer, const struct traced_run *traced,
                          const struct cuda_traced_graph *graph,
                          const struct cupti_record *records, size_t count)
{
    if (traced->graph != NULL)
        return cuda_traced_graph_match(graph, traced, records, count, tracer->mismatch,
                                       sizeof tracer->mismatch);
    struct matching matching = {.traced = traced,
                                .records = records,
                                .count = count,
                                .why = tracer->mismatch,
                                .room = sizeof tracer->mismatch};
    matching.streams = calloc(traced->plan->streams, sizeof *matching.streams);
    snprintf(tracer->mismatch, sizeof tracer->mismatch, "no memory to match its records");
    bool matches = matching.streams != NULL && find_streams(&matching, tracer->cupti) &&
                   match_spans(&matching);
    free(matching.streams);
    return matches;
}

enum status trace_with_cupti(struct cuda_tracer *tracer, struct traced_run *traced,
                             struct run_times *times, bool *complete, struct error *error)
{
    struct cuda_traced_graph graph = {0};
    const struct cupti_record *records;
    size_t count;
    enum status status = STATUS_OK;
    if (traced->plan->issue == ISSUE_GRAPH) {
        status = cuda_traced_graph_create(&graph, traced->run, tracer->cupti, error);
        traced->graph = &graph.graph;
    }
    if (status == STATUS_OK)
        status = traced_run_make(traced, times, error);
    bool whole = cupti_trace_stop(tracer->cupti, &records, &count);
    if (status == STATUS_OK) {
        *complete = whole && match_records(tracer, traced, &graph, records, count);
        if (!*complete)
            tracer->no_cupti = whole ? tracer->mismatch : "it lost records";
    }
    traced->graph = NULL;
    cuda_traced_graph_free(&graph, traced->run);
    return status;
}

/* Runs the first ops twice: the first copy and the first kernel under CUPTI take a millisecond
 * more. The first time also shows if CUPTI gives records at all, and those are forgotten. What
 * comes next is held up once more, by some tenths of a millisecond, so the ops run again;
 * skip_warm_records() leaves out the records of that. */
static bool warm_up(struct cuda_tracer *tracer, const struct cuda_run *run)
{
    size_t count = 0;
    int expected = cuda_run_first_ops(run);
    return cupti_trace_clear(tracer->cupti, &count) && expected >= 0 &&
           count >= (size_t)expected && cuda_run_first_ops(run) >= 0;
}

static void open_cupti(struct cuda_tracer *tracer)
{
    if (getenv("PIPELINE_NO_CUPTI") != NULL)
        tracer->no_cupti = "PIPELINE_NO_CUPTI is set";
    else
        tracer->cupti = cupti_trace_open(&tracer->no_cupti);
}

bool trace_cupti_start(struct cuda_tracer *tracer, const struct cuda_run *run)
{
    const struct cupti_record *unwanted;
    size_t count;
    if (tracer->cupti == NULL && tracer->no_cupti == NULL)
        open_cupti(tracer);
    if (tracer->no_cupti != NULL)
        return false;
    if (!cupti_trace_start(tracer->cupti)) {
        tracer->no_cupti = "it could not be started";
        return false;
    }
    if (warm_up(tracer, run))
        return true;
    cupti_trace_stop(tracer->cupti, &unwanted, &count);
    tracer->no_cupti = "it gave no records: is a profiler attached?";
    return false;
}
