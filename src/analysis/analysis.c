/* analysis.c - which timelines can't be; busy time by merging each engine's spans in order of
 * start; concurrency by adding them up. */
#include "analysis/analysis.h"

#include "core/compare.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- timelines that can't be --- */

enum { MEASURED_NS = 1000 }; /* measured times may be off against each other by that much */

static enum status refuse(const struct timeline *timeline, const struct span *span,
                          const char *what, struct error *error)
{
    char name[SPAN_NAME];
    return error_set(error, STATUS_FAILED, "no verdict: op %" PRIu32 " (%s) %s", span->op,
                     timeline_span_name(timeline, span, name), what);
}

static enum status check_span(const struct timeline *timeline, const struct span *span,
                              const struct plan *plan, struct error *error)
{
    if (span->kind >= OP_KIND_COUNT || span->engine >= ENGINE_COUNT)
        return error_set(error, STATUS_FAILED, "no verdict: op %" PRIu32 " is of no kind",
                         span->op);
    if (span->end_ns < span->start_ns)
        return refuse(timeline, span, "ends before it starts", error);
    if (span->start_ns < 0)
        return refuse(timeline, span, "starts before the run", error);
    if (plan == NULL)
        return STATUS_OK;
    if (span->op >= plan->op_count)
        return error_set(error, STATUS_FAILED,
                         "no verdict: the plan has %" PRIu32 " ops, and none numbered %" PRIu32,
                         plan->op_count, span->op);
    const struct op *op = &plan->ops[span->op];
    if (span->kind != op->kind || span->stream != op->stream || span->tile != op->tile)
        return refuse(timeline, span, "is not what the plan has in its place", error);
    return STATUS_OK;
}

static enum status check_engine(const struct timeline *timeline, struct resource engine,
                                struct span **spans, struct error *error)
{
    int64_t leeway_ns = timeline->timing == TIMING_VIRTUAL ? 0 : MEASURED_NS;
    size_t count = timeline_engine_spans(timeline, engine, spans);
    for (size_t i = 1; i < count; i++) {
        const struct span *before = spans[i - 1], *span = spans[i];
        char name[SPAN_NAME];
        if (span->start_ns + leeway_ns >= before->end_ns)
            continue;
        return error_set(error, STATUS_FAILED,
                         "no verdict: op %" PRIu32 " (%s) starts while op %" PRIu32
                         " is on the same copy engine",
                         span->op, timeline_span_name(timeline, span, name), before->op);
    }
    return STATUS_OK;
}

enum status timeline_check(const struct timeline *timeline, const struct plan *plan,
                           struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < timeline->span_count && status == STATUS_OK; i++)
        status = check_span(timeline, &timeline->spans[i], plan, error);
    if (status != STATUS_OK)
        return status;
    struct span **spans = malloc((timeline->span_count + (size_t)1) * sizeof *spans);
    if (spans == NULL)
        return error_no_memory(error, "to check %" PRIu32 " spans", timeline->span_count);
    for (uint32_t i = 0; i < timeline_devices(timeline) && status == STATUS_OK; i++) {
        status = check_engine(timeline, (struct resource){ENGINE_H2D, i, 0}, spans, error);
        if (status == STATUS_OK)
            status = check_engine(timeline, (struct resource){ENGINE_D2H, i, 0}, spans, error);
        if (status == STATUS_OK)
            status = check_engine(timeline, (struct resource){ENGINE_PEER, i, 0}, spans, error);
    }
    free(spans);
    return status;
}

/* --- busy time --- */

/* The length of the union of `count` spans sorted by start. */
static int64_t union_ns(struct span *const *spans, size_t count)
{
    int64_t busy = 0, reached = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        int64_t start = spans[i]->start_ns > reached ? spans[i]->start_ns : reached;
        if (spans[i]->end_ns > start)
            busy += spans[i]->end_ns - start;
        if (spans[i]->end_ns > reached)
            reached = spans[i]->end_ns;
    }
    return busy;
}

/* Returns the use of an engine, and adds the time of its spans to *work_ns. */
static struct engine_use use_of(const struct timeline *timeline, struct resource engine,
                                int64_t time_ns, struct span **spans, double *work_ns)
{
    struct engine_use use = {0};
    size_t count = timeline_engine_spans(timeline, engine, spans);
    for (size_t i = 0; i < count; i++) {
        use.bytes += spans[i]->bytes;
        *work_ns += (double)(spans[i]->end_ns - spans[i]->start_ns);
    }
    use.spans = (uint32_t)count;
    use.busy_ns = union_ns(spans, count);
    if (time_ns > 0)
        use.utilisation = (double)use.busy_ns / (double)time_ns;
    return use;
}

/* Adds the use of one of `count` engines of a kind to that of all. */
static void use_add(struct engine_use *all, const struct engine_use *use, uint32_t count)
{
    all->busy_ns += use->busy_ns;
    all->utilisation += use->utilisation / count;
    all->bytes += use->bytes;
    all->spans += use->spans;
}

COMPARE_POINTERS_BY(compare_starts, struct span, start_ns);

/* Sets the use of an engine of the one device that processes share: what any of them does. */
static void share_use(const struct timeline *timeline, enum engine kind, uint32_t processes,
                      struct span **spans, struct analysis *analysis)
{
    struct engine_use *use = &analysis->engines[kind];
    size_t count = 0;
    for (uint32_t i = 0; i < processes; i++)
        count += timeline_engine_spans(timeline, (struct resource){kind, i, 0}, spans + count);
    qsort(spans, count, sizeof *spans, compare_starts);
    use->busy_ns = union_ns(spans, count);
    if (analysis->time_ns > 0)
        use->utilisation = (double)use->busy_ns / (double)analysis->time_ns;
}

/* Returns the time in which a device sends to others beside a kernel of its own: what both have
 * less what there is of either. */
static int64_t hidden_ns(const struct timeline *timeline, uint32_t device,
                         const struct engine_use on[ENGINE_WORKING], struct span **spans)
{
    const struct resource peer = {ENGINE_PEER, device, 0},
                          compute = {ENGINE_COMPUTE, device, 0};
    size_t count = timeline_engine_spans(timeline, peer, spans);
    count += timeline_engine_spans(timeline, compute, spans + count);
    qsort(spans, count, sizeof *spans, compare_starts);
    return on[ENGINE_PEER].busy_ns + on[ENGINE_COMPUTE].busy_ns - union_ns(spans, count);
}

enum status analyse(const struct timeline *timeline, struct analysis *analysis,
                    struct error *error)
{
    struct span **spans = malloc((timeline->span_count + (size_t)1) * sizeof *spans);
    if (spans == NULL)
        return error_no_memory(error, "to analyse %u spans", timeline->span_count);
    struct analysis result = {.time_ns = timeline_time_ns(timeline),
                              .devices = timeline_devices(timeline)};
    double work_ns = 0; /* adding it up as integers could overflow where lanes are many */
    for (enum engine kind = 0; kind < ENGINE_WORKING; kind++) {
        const uint32_t engines = timeline_engines(timeline, kind);
        for (uint32_t device = 0; device < engines; device++) {
            struct engine_use *use = &result.on[device][kind];
            *use = use_of(timeline, (struct resource){kind, device, 0}, result.time_ns, spans,
                          &work_ns);
            use_add(&result.engines[kind], use, engines);
        }
        if (timeline->sharing != SHARING_NONE && engines > 1)
            share_use(timeline, kind, engines, spans, &result);
    }
    int64_t all_hidden_ns = 0;
    for (uint32_t device = 0; device < result.devices; device++)
        if (result.on[device][ENGINE_PEER].spans > 0)
            all_hidden_ns += hidden_ns(timeline, device, result.on[device], spans);
    if (result.engines[ENGINE_PEER].busy_ns > 0)
        result.peers_hidden =
            (double)all_hidden_ns / (double)result.engines[ENGINE_PEER].busy_ns;
    if (result.time_ns > 0)
        result.concurrency = work_ns / (double)result.time_ns;
    free(spans);
    *analysis = result;
    return STATUS_OK;
}

/* --- ranks --- */

int compare_i64(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return COMPARE(*x, *y);
}

int64_t median_ns(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_i64);
    int64_t upper = values[count / 2], lower = values[(count - 1) / 2];
    return lower + (upper - lower) / 2;
}

size_t rank_of(unsigned percent, size_t count)
{
    size_t rank = (percent * count + 99) / 100;
    return rank > 0 ? rank - 1 : 0;
}

int64_t half_ns(int64_t *values, size_t count)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, compare_i64);
    return values[rank_of(50, count)];
}
