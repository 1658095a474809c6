/* replan_spans.c - joins the ops of a recording's plan to the spans of its timeline. */
#include "trace/replan.h"

#include <inttypes.h>
#include <stdlib.h>

/* What became a span: an op, or, numbered behind all of them, a call that ran a function. */
struct row {
    int64_t start_ns;
    uint32_t number;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static bool is_of(const struct recording *recording, uint32_t stream, uint32_t device)
{
    return stream < recording->stream_count && recording->streams[stream].device == device;
}

/* Fills `rows`, which has room for all ops and calls, in the order in which they are spans. */
static size_t list_rows(const struct recording *recording, uint32_t device, struct row *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < recording->op_count; i++) {
        if (is_of(recording, recording->ops[i].stream, device))
            rows[count++] = (struct row){recording->ops[i].start_ns, (uint32_t)i};
    }
    for (size_t i = 0; i < recording->call_count; i++) {
        const struct recorded_call *call = &recording->calls[i];
        if (call->deed == DEED_FUNCTION && call->known &&
            is_of(recording, call->stream, device))
            rows[count++] =
                (struct row){call->function.start_ns, (uint32_t)(recording->op_count + i)};
    }
    qsort(rows, count, sizeof *rows, compare_rows);
    return count;
}

enum status recording_join_spans(const struct recording *recording, uint32_t device,
                                 const struct timeline *timeline, struct plan *plan,
                                 struct error *error)
{
    const size_t all = recording->op_count + recording->call_count;
    struct row *rows = malloc((all + 1) * sizeof *rows);
    uint32_t *spans = malloc((all + 1) * sizeof *spans);
    if (rows == NULL || spans == NULL) {
        free(rows);
        free(spans);
        return error_set(error, STATUS_NO_MEMORY, "no memory for the spans of %" PRIu32 " ops",
                         plan->op_count);
    }
    const size_t count = list_rows(recording, device, rows);
    for (size_t i = 0; i < count; i++)
        spans[rows[i].number] = count == timeline->span_count ? (uint32_t)i : UINT32_MAX;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        uint32_t *span = &plan->recorded->ops[i].span;
        *span = *span < all ? spans[*span] : UINT32_MAX;
    }
    free(rows);
    free(spans);
    return STATUS_OK;
}
