/* saved.c - makes timelines of the files that this program wrote itself. */
#include "trace/saved.h"

#include "analysis/analysis.h"
#include "core/items.h"
#include "core/units.h"
#include "trace/build.h"
#include "trace/input.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "no memory for the timeline");
}

/* --- names --- */

static int compare_texts(const void *a, const void *b)
{
    const struct saved_text *x = a, *y = b;
    return strcmp(x->text, y->text);
}

/* Sets *id to the number of `text`, which is kept. False: no memory. */
static bool texts_add(struct saved_texts *texts, const char *text, uint32_t *id)
{
    struct saved_text *kept = malloc(sizeof *kept + strlen(text) + 1);
    if (kept == NULL)
        return false;
    strcpy(kept->text, text);
    struct saved_text **found = tsearch(kept, &texts->tree, compare_texts);
    if (found == NULL || *found != kept) {
        if (found != NULL)
            *id = (*found)->id;
        free(kept);
        return found != NULL;
    }
    kept->id = (uint32_t)texts->count;
    struct saved_text **item = ITEMS_ADD(texts->items, texts->count, texts->capacity);
    if (item == NULL)
        return false; /* the tree frees it */
    *item = kept;
    *id = kept->id;
    return true;
}

/* --- runs and rows --- */

enum sharing saved_sharing(const char *name)
{
    for (int i = SHARING_SLICES; name != NULL && sharing_names[i] != NULL; i++)
        if (strncmp(name, sharing_names[i], strlen(sharing_names[i])) == 0)
            return (enum sharing)i;
    return SHARING_NONE;
}

struct saved_facts *saved_add_run(struct saved_builder *builder)
{
    struct saved_run *run = ITEMS_ADD(builder->runs, builder->count, builder->capacity);
    if (run == NULL)
        return NULL;
    *run = (struct saved_run){.facts.resolution_ns = 1};
    return &run->facts;
}

struct saved_facts *saved_facts(const struct saved_builder *builder, size_t index)
{
    return &builder->runs[index].facts;
}

enum status saved_set_stream_kind(struct saved_builder *builder, size_t index, uint32_t stream,
                                  const char *kind, struct error *error)
{
    struct saved_run *run = &builder->runs[index];
    for (int i = 0; i < STREAM_KIND_COUNT; i++) {
        if (strcmp(stream_kind_name((enum stream_kind)i), kind) != 0)
            continue;
        struct saved_kind *added = ITEMS_ADD(run->kinds, run->kind_count, run->kind_capacity);
        if (added == NULL)
            return no_memory(error);
        *added = (struct saved_kind){stream, (uint8_t)i};
        return STATUS_OK;
    }
    return error_set(error, STATUS_USAGE, "a stream's kind is unknown");
}

static enum status check_row(const struct saved_row *row, uint32_t devices, struct error *error)
{
    if (row->kind == OP_RECORD || row->kind >= OP_KIND_COUNT)
        return error_set(error, STATUS_USAGE, "no op of such a kind runs");
    if (row->issue_ns < 0 || row->start_ns < 0)
        return error_set(error, STATUS_USAGE, "op %" PRIu32 " begins before its run", row->op);
    if (row->end_ns < row->start_ns)
        return error_set(error, STATUS_USAGE, "op %" PRIu32 " ends before it starts", row->op);
    if (op_in_stream(row->kind) && (row->stream < 0 || row->stream >= SAVED_NONE))
        return error_set(error, STATUS_USAGE, "op %" PRIu32 " is in no stream", row->op);
    if (row->device >= (devices > 1 ? devices : 1))
        return error_set(error, STATUS_USAGE,
                         "op %" PRIu32 " is on a device that its run lacks", row->op);
    if (row->op == UINT32_MAX)
        return error_set(error, STATUS_USAGE, "op %" PRIu32 " is no number of an op", row->op);
    return STATUS_OK;
}

/* Returns the device that a copy is to, by its name; its own where that tells no other. */
static uint32_t row_receiver(const struct saved_row *row, uint32_t devices)
{
    uint64_t to;
    const size_t head = strlen(TIMELINE_PEER_NAME);
    const bool told = strncmp(row->name, TIMELINE_PEER_NAME, head) == 0 &&
                      trace_read_whole(row->name + head, MACHINE_DEVICES_MAX - 1, &to);
    return told && to < devices ? (uint32_t)to : row->device;
}

/* Returns what an allocation's name says that it does; a pair where it says nothing known. */
static uint32_t row_alloc(const struct saved_row *row)
{
    uint32_t what = SPAN_ALLOC_COUNT - 1;
    while (what > SPAN_PAIR && strcmp(row->name, span_alloc_rows[what].name) != 0)
        what--;
    return what;
}

enum status saved_add_row(struct saved_builder *builder, size_t index,
                          const struct saved_row *row, struct error *error)
{
    struct saved_run *run = &builder->runs[index];
    uint32_t link = 0, label = SAVED_NONE;
    bool named = row->name[0] != '\0';
    enum status status = check_row(row, run->facts.devices, error);
    if (status != STATUS_OK)
        return status;
    if (row->kind == OP_ALLOC)
        link = row_alloc(row);
    if (row->kind == OP_PEER)
        link = row_receiver(row, run->facts.devices);
    const bool owned = engine_of_device(op_rows[row->kind].engine) || row->kind == OP_WAIT;
    const uint32_t device = owned ? row->device : 0; /* the host's ops stand under the first */
    if (run->count >= TRACE_SPANS_MAX || run->kernels.count > UINT16_MAX)
        return error_set(error, STATUS_USAGE, "more ops or kernels than a timeline can have");
    if (!ITEMS_ROOM(run->spans, run->count, run->capacity) ||
        (row->kind == OP_KERNEL && !texts_add(&run->kernels, row->name, &link)) ||
        (op_rows[row->kind].waits && named && !texts_add(&run->labels, row->name, &label)))
        return no_memory(error);
    run->spans[run->count++] = (struct span){
        .op = row->op,
        .kind = (uint8_t)row->kind,
        .engine = op_rows[row->kind].engine & SPAN_BITS,
        .device = device & SPAN_BITS,
        .link = (uint16_t)link,
        .stream =
            row->stream < 0 || row->stream >= SAVED_NONE ? SAVED_NONE : (uint32_t)row->stream,
        .tile = row->tile,
        .target = label,
        .bytes = row->bytes,
        .issue_ns = row->issue_ns,
        .start_ns = row->start_ns,
        .end_ns = row->end_ns,
    };
    return STATUS_OK;
}

/* --- timelines --- */

static int compare_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->op > y->op) - (x->op < y->op);
}

static enum status sort_spans(struct saved_run *run, struct error *error)
{
    if (run->count > 0)
        qsort(run->spans, run->count, sizeof *run->spans, compare_spans);
    for (size_t i = 1; i < run->count; i++) {
        if (run->spans[i - 1].op == run->spans[i].op)
            return error_set(error, STATUS_USAGE, "op %" PRIu32 " stands there twice",
                             run->spans[i].op);
    }
    return STATUS_OK;
}

static enum status set_names(const struct saved_texts *texts, struct timeline *timeline,
                             struct error *error)
{
    size_t bytes = 1;
    for (size_t i = 0; i < texts->count; i++)
        bytes += strlen(texts->items[i]->text) + 1;
    char *text = malloc(bytes);
    timeline->texts = text;
    timeline->names = calloc(texts->count + 1, sizeof *timeline->names);
    if (text == NULL || timeline->names == NULL)
        return no_memory(error);
    for (size_t i = 0; i < texts->count; i++) {
        timeline->names[i] = text;
        text = stpcpy(text, texts->items[i]->text) + 1;
    }
    timeline->name_count = (uint32_t)texts->count;
    return STATUS_OK;
}

static void count_copies(const struct timeline *timeline, bool pageable, struct trace *trace)
{
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        struct trace_copies *copies = span->kind == OP_H2D ? &trace->in : &trace->out;
        if (!op_is_copy(span->kind))
            continue;
        copies->count++;
        copies->pageable += pageable;
        copies->pageable_bytes += pageable ? span->bytes : 0;
    }
}

/* Refuses a run whose rows add up to less, or more, than its file says. */
static enum status check_busy(const struct saved_facts *facts, const struct timeline *timeline,
                              struct error *error)
{
    struct analysis analysis;
    enum status status = facts->busy_known ? analyse(timeline, &analysis, error) : STATUS_OK;
    for (int i = 0; i < ENGINE_WORKING && status == STATUS_OK && facts->busy_known; i++) {
        char found[UNITS_TEXT], told[UNITS_TEXT];
        int64_t busy_ns = analysis.engines[i].busy_ns;
        if (busy_ns != facts->busy_ns[i])
            status = error_set(error, STATUS_USAGE,
                               "%s was at work for %s, but the rows of the run add up to %s: "
                               "cut short?",
                               engine_rows[i].label, units_time(facts->busy_ns[i], told),
                               units_time(busy_ns, found));
    }
    return status;
}

static enum status finish_run(struct saved_run *run, struct trace *trace, struct error *error)
{
    const struct plan no_plan = {0};
    const struct saved_facts *facts = &run->facts;
    struct timeline *timeline = &trace->timeline;
    timeline_init(timeline);
    enum status status = sort_spans(run, error);
    if (status == STATUS_OK)
        status = saved_set_streams(run, timeline, error);
    if (status == STATUS_OK)
        status = saved_set_targets(run, error);
    if (status == STATUS_OK)
        status = set_names(&run->kernels, timeline, error);
    if (status != STATUS_OK)
        return status;
    timeline->timing = facts->timing;
    memcpy(timeline->device, facts->device, sizeof timeline->device);
    memcpy(timeline->driver, facts->driver, sizeof timeline->driver);
    timeline->resolution_ns = facts->resolution_ns;
    timeline->launched_ns = facts->launched_ns;
    timeline->issue_unknown = facts->issue_unknown;
    timeline->devices = facts->devices;
    timeline->sharing = facts->sharing;
    timeline->spans = run->spans;
    timeline->span_count = (uint32_t)run->count;
    run->spans = NULL;
    memcpy(trace->name, facts->name, sizeof trace->name);
    trace->saved = true;
    trace->limit_ns = facts->limit_ns;
    trace->speedup = facts->speedup;
    trace->issue_known = !facts->issue_unknown;
    trace->memory_known = facts->memory_known;
    trace->bytes_unit = 1;
    count_copies(timeline, facts->pageable, trace);
    status = timeline_finish(timeline, &no_plan, error);
    if (status == STATUS_OK)
        status = saved_set_calls(facts, timeline, error);
    return status == STATUS_OK ? check_busy(facts, timeline, error) : status;
}

enum status saved_finish(struct saved_builder *builder, struct traces *traces, size_t *index,
                         struct error *error)
{
    size_t count = builder->count;
    struct traces result;
    enum status status = traces_create(&result, count, error);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        *index = i;
        status = finish_run(&builder->runs[i], &result.items[i], error);
    }
    saved_free(builder);
    if (status == STATUS_OK)
        *traces = result;
    else
        traces_free(&result);
    return status;
}

static void texts_free(struct saved_texts *texts)
{
    tdestroy(texts->tree, free);
    free(texts->items);
}

void saved_free(struct saved_builder *builder)
{
    for (size_t i = 0; i < builder->count; i++) {
        texts_free(&builder->runs[i].kernels);
        texts_free(&builder->runs[i].labels);
        free(builder->runs[i].spans);
        free(builder->runs[i].kinds);
    }
    free(builder->runs);
    *builder = (struct saved_builder){0};
}
