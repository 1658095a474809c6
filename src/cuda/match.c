/* match.c - finds the op that each of CUPTI's records belongs to. */
#include "cuda/run.h"

#include "core/compare.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- a plan that was issued op by op --- */

/* The part of all records that is one stream's, and how far it has been matched. */
struct stream_records {
    uint64_t number; /* CUPTI's */
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
    char *why;         /* of MATCH_WHY bytes, set where they don't match */
};

static size_t first_record(const struct matching *matching, uint64_t stream)
{
    size_t at = 0;
    while (at < matching->count && matching->records[at].stream < stream)
        at++;
    return at;
}

/* Finds CUPTI's numbers of the plan's streams, each with its device current. It gives none for
 * the legacy default stream, which only a plan of one device has: that is the one that its
 * records name and no other stream has; 0 where there are none. */
static bool number_streams(const struct matching *matching, struct cupti_trace *cupti)
{
    struct stream_records *found = matching->streams; /* zeroed */
    const struct cuda_run *run = matching->traced->run;
    const cudaStream_t *handles = run->streams;
    uint32_t streams = matching->traced->plan->streams, legacy = streams;
    for (uint32_t s = 0; s < streams; s++) {
        if (handles[s] == cudaStreamLegacy)
            legacy = s;
        else if (cuda_devices_enter(run->devices, plan_stream_device(run->workload.plan, s)) !=
                     cudaSuccess ||
                 !cupti_trace_stream(cupti, handles[s], &found[s].number))
            return false;
    }
    if (cuda_devices_enter(run->devices, 0) != cudaSuccess)
        return false;
    for (size_t i = 0; i < matching->count && legacy < streams; i++) {
        uint32_t s = 0;
        while (s < streams && found[s].number != matching->records[i].stream)
            s++;
        if (s == streams)
            found[legacy].number = matching->records[i].stream;
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

/* Returns how many of a stream's next records are `op`'s. A batch of copies may be one record,
 * or one for each copy: they are as many as move its bytes. */
static size_t records_of(const struct matching *matching, const struct op *op)
{
    const struct stream_records *stream = &matching->streams[op->stream];
    const uint64_t wanted = op_bytes(op);
    uint64_t bytes = 0;
    size_t count = 0;
    if (op->kind == OP_KERNEL)
        return matching->per_launch;
    if (!matching->traced->run->issued[op->id].batched)
        return 1;
    while (bytes < wanted && stream->next + count < stream->end)
        bytes += matching->records[stream->next + count++].bytes;
    return count > 0 ? count : 1;
}

/* Leaves out the records of the ops that warmed CUPTI up: they came before all else. */
static void skip_warm_records(struct matching *matching)
{
    uint32_t warm[CUDA_FIRST_OPS];
    int count = cuda_first_ops(matching->traced->run, warm);
    for (int i = 0; i < count; i++) {
        const struct op *op = &matching->traced->plan->ops[warm[i]];
        if (!op_on_device(op->kind)) /* memory that is taken leaves no record */
            continue;
        const size_t left = records_of(matching, op);
        matching->streams[op->stream].next += left;
        matching->warm_records += left;
    }
}

static bool find_streams(struct matching *matching, struct cupti_trace *cupti)
{
    const uint32_t streams = matching->traced->plan->streams;
    if (!number_streams(matching, cupti)) {
        snprintf(matching->why, MATCH_WHY, "it does not know a stream");
        return false;
    }
    EACH (struct stream_records, found, matching->streams, streams) {
        found->next = first_record(matching, found->number);
        found->end = first_record(matching, found->number + 1);
    }
    count_per_launch(matching);
    skip_warm_records(matching);
    return true;
}

static void tell_mismatch(const struct matching *matching, const struct span *span)
{
    const struct stream_records *stream = &matching->streams[span->stream];
    const char *name = op_kind_name(span->kind);
    const struct cupti_record *record = &matching->records[stream->next];
    if (stream->next >= stream->end)
        snprintf(matching->why, MATCH_WHY,
                 "its records did not match: none of op %" PRIu32 ", %s", span->op, name);
    else
        snprintf(matching->why, MATCH_WHY,
                 "its records did not match: kind %d of %" PRIu64 " bytes for op %" PRIu32
                 ", %s of %" PRIu64,
                 record->kind, record->bytes, span->op, name, span->bytes);
}

/* Sets the span's times from the next of its stream's records. Returns how many records belong
 * to it; 0 where they don't fit. */
static size_t match_span(const struct matching *matching, struct span *span)
{
    struct stream_records *stream = &matching->streams[span->stream];
    const size_t wanted = records_of(matching, &matching->traced->plan->ops[span->op]);
    const int64_t begin_ns = matching->traced->begin_ns;
    if (stream->next + wanted > stream->end)
        return 0;
    const struct cupti_record *first = &matching->records[stream->next];
    int64_t start_ns = first->start_ns, end_ns = first->end_ns;
    uint64_t bytes = 0;
    for (const struct cupti_record *record = first; record < first + wanted; record++) {
        if (record->kind != span->kind)
            return 0;
        start_ns = record->start_ns < start_ns ? record->start_ns : start_ns;
        end_ns = record->end_ns > end_ns ? record->end_ns : end_ns;
        bytes += record->bytes;
    }
    if (span->kind != OP_KERNEL && bytes != span->bytes)
        return 0;
    stream->next += wanted;
    traced_span_set(span, start_ns - begin_ns, end_ns - begin_ns);
    return wanted;
}

/* Streams run in order, so a stream's j-th record is its j-th copy, memset or kernel, or as
 * many of them as a launch makes. Kinds and bytes must agree, and no record be left over. */
static bool match_spans(const struct matching *matching)
{
    struct timeline *timeline = matching->traced->timeline;
    size_t known = matching->warm_records;
    EACH (struct span, span, timeline->spans, timeline->span_count) {
        if (!op_on_device(span->kind))
            continue;
        const size_t matched = match_span(matching, span);
        if (matched == 0) {
            tell_mismatch(matching, span);
            return false;
        }
        known += matched;
    }
    snprintf(matching->why, MATCH_WHY, "its records did not match: %zu, of which %zu are known",
             matching->count, known);
    return known == matching->count;
}

bool match_streams(const struct traced_run *traced, struct cupti_trace *cupti,
                   const struct cupti_record *records, size_t count, char why[MATCH_WHY])
{
    struct matching matching = {
        .traced = traced, .records = records, .count = count, .why = why};
    matching.streams = calloc(traced->plan->streams, sizeof *matching.streams);
    snprintf(why, MATCH_WHY, "no memory to match its records");
    bool matches =
        matching.streams != NULL && find_streams(&matching, cupti) && match_spans(&matching);
    free(matching.streams);
    return matches;
}

/* --- a plan that ran as a graph --- */

struct known_node {
    uint64_t id; /* in the records */
    uint32_t op;
    bool seen; /* a record of it was found */
};

COMPARE_BY(compare_nodes, struct known_node, id);

/* Lists the nodes of copies, memsets and kernels, sorted by id; callbacks have no records.
 * Returns NULL where there is no memory or a node has no id. */
static struct known_node *know_nodes(const struct traced_run *traced, struct cupti_graph *ids,
                                     size_t *count)
{
    const struct cuda_graph *graph = traced->graph;
    struct known_node *known = malloc((graph->node_count + 1) * sizeof *known);
    *count = 0;
    for (size_t i = 0; known != NULL && i < graph->node_count; i++) {
        const struct cuda_node *node = &graph->nodes[i];
        if (!op_on_device(traced->plan->ops[node->op].kind))
            continue;
        known[*count] = (struct known_node){0, node->op, false};
        if (!cupti_graph_node_id(ids, node->node, &known[*count].id)) {
            free(known);
            return NULL;
        }
        ++*count;
    }
    if (known != NULL)
        qsort(known, *count, sizeof *known, compare_nodes);
    return known;
}

/* Widens the span of the node's op by a record's time: a library's launch of several kernels
 * lasts from the first one's start to the last one's end. Returns false where they don't fit.
 */
static bool take_record(struct timeline *timeline, struct known_node *node,
                        const struct cupti_record *record, int64_t begin_ns)
{
    struct span *span = timeline_span(timeline, node->op);
    bool copy = span != NULL && span->kind != OP_KERNEL;
    if (span == NULL || node->seen || (copy && record->kind != span->kind) ||
        (copy && record->bytes != span->bytes))
        return false;
    int64_t start_ns = record->start_ns - begin_ns, end_ns = record->end_ns - begin_ns;
    bool first = span->end_ns == 0;
    if (!first && span->start_ns < start_ns)
        start_ns = span->start_ns;
    if (!first && span->end_ns > end_ns)
        end_ns = span->end_ns;
    node->seen = true;
    traced_span_set(span, start_ns, end_ns);
    return true;
}

bool match_nodes(const struct traced_run *traced, struct cupti_graph *ids,
                 const struct cupti_record *records, size_t count, char why[MATCH_WHY])
{
    size_t nodes, matched = 0;
    snprintf(why, MATCH_WHY, "it does not tell of graphs' nodes");
    if (ids == NULL)
        return false;
    struct known_node *known = know_nodes(traced, ids, &nodes);
    if (known == NULL)
        return false;
    bool fits = true;
    for (size_t i = 0; i < count && fits; i++) {
        const struct known_node wanted = {.id = records[i].node};
        if (wanted.id == 0)
            continue; /* no node's: from the ops that warmed CUPTI up before the graph */
        struct known_node *node = bsearch(&wanted, known, nodes, sizeof wanted, compare_nodes);
        fits =
            node != NULL && take_record(traced->timeline, node, &records[i], traced->begin_ns);
        matched += fits;
    }
    free(known);
    snprintf(why, MATCH_WHY,
             "its records did not match: %zu of the graph's %zu nodes are known", matched,
             nodes);
    return fits && matched == nodes;
}
