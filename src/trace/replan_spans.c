/* replan_spans.c - joins the ops of a recording's plan to the spans of its timeline. */
#include "trace/recording_trace.h"
#include "trace/replan.h"

#include <inttypes.h>
#include <stdlib.h>

/* The origin of a span: an op, or, numbered behind all of them, a call that ran a function. */
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

uint32_t *recording_list_spans(const struct recording *recording, uint32_t device,
                               size_t *count)
{
    const size_t all = recording->op_count + recording->call_count;
    struct row *rows = malloc((all + 1) * sizeof *rows);
    uint32_t *numbers = malloc((all + 1) * sizeof *numbers);
    *count = 0;
    if (rows == NULL || numbers == NULL) {
        free(rows);
        free(numbers);
        return NULL;
    }
    for (size_t i = 0; i < recording->op_count; i++) {
        if (is_of(recording, recording->ops[i].stream, device))
            rows[(*count)++] = (struct row){recording->ops[i].start_ns, (uint32_t)i};
    }
    for (size_t i = 0; i < recording->call_count; i++) {
        const struct recorded_call *call = &recording->calls[i];
        if (call->effect == EFFECT_FUNCTION && call->known &&
            is_of(recording, call->stream, device))
            rows[(*count)++] =
                (struct row){call->function.start_ns, (uint32_t)(recording->op_count + i)};
    }
    qsort(rows, *count, sizeof *rows, compare_rows);
    for (size_t i = 0; i < *count; i++)
        numbers[i] = rows[i].number;
    free(rows);
    return numbers;
}

enum status recording_join_spans(const struct recording *recording, uint32_t device,
                                 const struct timeline *timeline, struct plan *plan,
                                 struct error *error)
{
    const size_t all = recording->op_count + recording->call_count;
    size_t count;
    uint32_t *numbers = recording_list_spans(recording, device, &count);
    uint32_t *spans = malloc((all + 1) * sizeof *spans);
    if (numbers == NULL || spans == NULL) {
        free(numbers);
        free(spans);
        return error_set(error, STATUS_NO_MEMORY, "no memory for the spans of %" PRIu32 " ops",
                         plan->op_count);
    }
    for (size_t i = 0; i < count; i++)
        spans[numbers[i]] = count == timeline->span_count ? (uint32_t)i : UINT32_MAX;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        uint32_t *span = &plan->recorded->ops[i].span;
        *span = *span < all ? spans[*span] : UINT32_MAX;
    }
    free(numbers);
    free(spans);
    return STATUS_OK;
}
