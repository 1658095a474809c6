/* saved_links.c - which stream an op in a file of ours was in, and what waits waited for. */
#include "trace/saved.h"

#include "core/compare.h"
#include "plan/settings.h"
#include "trace/input.h"

#include <stdlib.h>
#include <string.h>

/* --- streams --- */

COMPARE_NUMBERS(compare_numbers, uint32_t);

/* Fills `ids` with the numbers of all streams that ops are in, in order, and returns how many
 * there are. */
static size_t find_streams(const struct timeline *timeline, uint32_t *ids)
{
    size_t count = 0, kept = 0;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        if (op_in_stream(timeline->spans[i].kind))
            ids[count++] = timeline->spans[i].stream;
    }
    qsort(ids, count, sizeof *ids, compare_numbers);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || ids[kept - 1] != ids[i])
            ids[kept++] = ids[i];
    }
    return kept;
}

/* Adds the streams that no op is in, since a run of ours numbers its streams from 0. What is in
 * no stream has the number behind them all. Returns how many there are; 0: the numbers are too
 * large for that. */
static size_t count_streams(const struct timeline *timeline, const uint32_t *ids, size_t found)
{
    uint32_t count = found > 0 ? ids[found - 1] + 1 : 0;
    if (count > STREAMS_MAX + 8) /* a mistake may add some */
        return 0;
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        if (!op_in_stream(span->kind) && span->stream > count && span->stream <= STREAMS_MAX)
            count = span->stream;
    }
    return count;
}

/* Returns the place of a stream's number among `ids`; `count` where it is none of them. */
static uint32_t stream_place(const uint32_t *ids, size_t count, uint32_t number)
{
    const uint32_t *found = bsearch(&number, ids, count, sizeof *ids, compare_numbers);
    return found != NULL ? (uint32_t)(found - ids) : (uint32_t)count;
}

static enum status set_kinds(struct saved_run *run, const uint32_t *ids, struct error *error)
{
    struct timeline *timeline = &run->trace.timeline;
    if (run->kind_count == 0)
        return STATUS_OK;
    timeline->stream_kinds = arena_zeros(&timeline->arena, timeline->streams + (size_t)1, 1);
    if (timeline->stream_kinds == NULL)
        return error_no_memory(error, "for the timeline");
    for (size_t i = 0; i < run->kind_count; i++) {
        uint32_t place = stream_place(ids, timeline->streams, run->kinds[i].stream);
        timeline->stream_kinds[place] = run->kinds[i].kind;
    }
    return STATUS_OK;
}

enum status saved_set_streams(struct saved_run *run, struct error *error)
{
    struct timeline *timeline = &run->trace.timeline;
    const uint32_t devices = timeline->devices;
    size_t room = (size_t)timeline->span_count + STREAMS_MAX + 16;
    uint32_t *ids = arena_zeros(&timeline->arena, room, sizeof *ids);
    if (ids == NULL)
        return error_no_memory(error, "for the timeline");
    size_t count = find_streams(timeline, ids);
    size_t all = run->settled ? count_streams(timeline, ids, count) : 0;
    for (size_t i = 0; i < all; i++)
        ids[i] = (uint32_t)i;
    count = all > 0 ? all : count;
    if (devices > 1) { /* as many on each, though the last ones may have had nothing to do */
        for (; count % devices != 0; count++)
            ids[count] = count > 0 ? ids[count - 1] + 1 : 0;
    }
    for (uint32_t i = 0; i < timeline->span_count; i++)
        timeline->spans[i].stream = stream_place(ids, count, timeline->spans[i].stream);
    timeline->streams = (uint32_t)count;
    bool plain = count == 0 || ids[count - 1] == count - 1;
    if (!plain)
        timeline->stream_ids = ids;
    return set_kinds(run, ids, error);
}

/* --- what waits waited for --- */

/* An op as labels call it: "scale 3". */
struct saved_op {
    uint32_t
        name; /* its kind or, of kernels, OP_KIND_COUNT and its link; SAVED_NONE: unknown */
    int32_t tile;
    uint32_t op;
};

COMPARE_BY(compare_ops, struct saved_op, name, tile, op);

static uint32_t name_of(const struct saved_run *run, const char *name, size_t length)
{
    const struct names_item *kernel = names_find(&run->kernels, name, length);
    if (kernel != NULL)
        return OP_KIND_COUNT + kernel->number;
    for (uint32_t kind = 0; kind < OP_KIND_COUNT; kind++) {
        const char *known = op_kind_name((enum op_kind)kind);
        if (strlen(known) == length && memcmp(known, name, length) == 0)
            return kind;
    }
    return SAVED_NONE;
}

/* Takes a label apart; a kernel's own name may end in a number. */
static struct saved_op label_read(const struct saved_run *run, const struct names_item *label)
{
    struct saved_op op = {.name = name_of(run, label->text, label->length), .tile = -1};
    const char *blank = strrchr(label->text, ' ');
    uint64_t tile;
    if (op.name == SAVED_NONE && blank != NULL &&
        trace_read_whole(blank + 1, INT32_MAX, &tile)) {
        op.name = name_of(run, label->text, (size_t)(blank - label->text));
        op.tile = (int32_t)tile;
    }
    return op;
}

/* Returns the latest op of that name and tile issued before `before`; UINT32_MAX: none. */
static uint32_t latest_op(const struct saved_op *ops, size_t count, struct saved_op wanted,
                          uint32_t before)
{
    wanted.op = before;
    BISECT(at, i, 0, count, compare_ops(&ops[i], &wanted) < 0);
    bool found = at > 0 && ops[at - 1].name == wanted.name && ops[at - 1].tile == wanted.tile;
    return found ? ops[at - 1].op : UINT32_MAX;
}

enum status saved_set_targets(struct saved_run *run, struct error *error)
{
    struct timeline *timeline = &run->trace.timeline;
    struct arena arena = {0};
    struct saved_op *labels = arena_zeros(&arena, run->labels.count, sizeof *labels);
    struct saved_op *ops = arena_zeros(&arena, timeline->span_count, sizeof *ops);
    size_t count = 0;
    if (arena.full) {
        arena_free(&arena);
        return error_no_memory(error, "for the timeline");
    }
    for (size_t i = 0; i < run->labels.count; i++)
        labels[i] = label_read(run, run->labels.items[i]);
    EACH (const struct span, span, timeline->spans, timeline->span_count) {
        uint32_t name =
            span->kind == OP_KERNEL ? OP_KIND_COUNT + (uint32_t)span->link : span->kind;
        if (!op_rows[span->kind].waits)
            ops[count++] = (struct saved_op){name, span->tile, span->op};
    }
    qsort(ops, count, sizeof *ops, compare_ops);
    EACH (struct span, span, timeline->spans, timeline->span_count) {
        if (op_rows[span->kind].waits && span->target != SAVED_NONE)
            span->target = latest_op(ops, count, labels[span->target], span->op);
        else
            span->target = op_rows[span->kind].waits || op_is_call(span->kind) ? UINT32_MAX : 0;
    }
    arena_free(&arena);
    return STATUS_OK;
}
