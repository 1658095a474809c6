/* hazard.c - finds ops that race: the same bytes, one writing, and no path between them.
 *
 * Ops are walked in issue order with a vector clock per stream: clock[s][t] is the number of
 * ops of stream t that have surely ended before the next op of stream s starts. Each cell of
 * memory remembers who wrote it last and who has read it since, as (stream, place in stream);
 * an access is ordered after those if its stream's clock covers them (FastTrack; Flanagan &
 * Freund, PLDI 2009). Waits refer to events recorded earlier, so one pass in issue order sees
 * every path. What the host has waited for, and what the legacy default stream and the blocking
 * streams have of one another, are clocks, too; a stream takes them up at its next op. */
#include "plan/hazard.h"

#include "core/items.h"
#include "plan/legacy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An op that touched a cell: the `place`-th of its stream, counted from 1. */
struct epoch {
    uint32_t op, stream, place;
    uint32_t next; /* the index of another reader in the pool; 0: none */
};

/* A cell of memory: bytes that every op touches as a whole or not at all. */
struct memory_cell {
    struct epoch write;    /* place 0: never written */
    uint32_t first_reader; /* in the pool; 0 for none */
};

/* A buffer cut at every offset where some op's range begins or ends. */
struct cut_buffer {
    uint64_t *cuts;
    size_t cut_count, cut_capacity;
    struct memory_cell *cells; /* cell i is [cuts[i], cuts[i + 1]) */
};

/* The number of changes that a stream has taken up of the clocks that streams share: it takes
 * them up again only when they have changed since. */
struct seen {
    uint32_t syncs;
    uint32_t partner_ops; /* of the streams that it takes turns with: see plan/legacy.h */
};

struct hazard_finder {
    const struct plan *plan;
    uint32_t lanes;   /* streams and the CPU's lane */
    uint32_t *clocks; /* lanes x lanes */
    uint32_t *events; /* per event: the recording stream's clock, `lanes` wide */
    uint32_t *host;   /* what is over for everything that the host issues from here on */
    uint32_t *done; /* per kind of stream: all that such streams have done, or waited for; NULL:
                       the plan has no legacy default stream, so nobody asks */
    struct legacy_walk legacy;
    struct seen *seen; /* per stream */
    uint32_t syncs;    /* how often `host` has changed */
    struct cut_buffer buffers[BUFFER_COUNT];
    struct epoch *pool; /* readers; entry 0 is not used */
    size_t pool_count, pool_capacity;
    uint32_t free_reader;
    struct hazard *hazards;
    size_t max, count;
};

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts the cuts and drops those that are there twice. Host arrays are cut in order already. */
static void cuts_tidy(struct cut_buffer *buffer)
{
    bool sorted = true;
    for (size_t i = 1; i < buffer->cut_count && sorted; i++)
        sorted = buffer->cuts[i - 1] <= buffer->cuts[i];
    if (!sorted)
        qsort(buffer->cuts, buffer->cut_count, sizeof *buffer->cuts, compare_u64);
    size_t kept = 0;
    for (size_t i = 0; i < buffer->cut_count; i++) {
        if (kept == 0 || buffer->cuts[i] != buffer->cuts[kept - 1])
            buffer->cuts[kept++] = buffer->cuts[i];
    }
    buffer->cut_count = kept;
}

/* Slots are cut at the same places again and again: a full table is tidied before it grows. */
static bool cuts_add(struct cut_buffer *buffer, uint64_t offset)
{
    if (buffer->cut_count == buffer->cut_capacity) {
        cuts_tidy(buffer);
        if (2 * buffer->cut_count >= buffer->cut_capacity) {
            size_t capacity = buffer->cut_capacity ? 2 * buffer->cut_capacity : 64;
            uint64_t *cuts = realloc(buffer->cuts, capacity * sizeof *cuts);
            if (cuts == NULL)
                return false;
            buffer->cuts = cuts;
            buffer->cut_capacity = capacity;
        }
    }
    buffer->cuts[buffer->cut_count++] = offset;
    return true;
}

static bool finder_cut_buffers(struct hazard_finder *finder)
{
    for (uint32_t i = 0; i < finder->plan->op_count; i++) {
        struct access access[OP_ACCESS_MAX];
        int count = op_accesses(&finder->plan->ops[i], access);
        for (int j = 0; j < count; j++) {
            struct cut_buffer *buffer = &finder->buffers[access[j].range.buffer];
            if (!cuts_add(buffer, access[j].range.offset) ||
                !cuts_add(buffer, access[j].range.offset + access[j].range.bytes))
                return false;
        }
    }
    bool room = true;
    for (int b = 0; b < BUFFER_COUNT && room; b++) {
        struct cut_buffer *buffer = &finder->buffers[b];
        cuts_tidy(buffer);
        buffer->cells = calloc(buffer->cut_count + 1, sizeof *buffer->cells);
        room = buffer->cells != NULL;
    }
    return room;
}

static bool finder_init(struct hazard_finder *finder)
{
    size_t lanes = finder->lanes;
    finder->clocks = calloc(lanes * lanes, sizeof *finder->clocks);
    finder->events = calloc((finder->plan->events + (size_t)1) * lanes, sizeof *finder->events);
    finder->host = calloc(lanes, sizeof *finder->host);
    bool legacy = false;
    for (uint32_t i = 0; i < finder->plan->streams; i++)
        legacy |= plan_stream_kind(finder->plan, i) == STREAM_LEGACY;
    if (legacy)
        finder->done = calloc(STREAM_KIND_COUNT * lanes, sizeof *finder->done);
    finder->seen = calloc(lanes, sizeof *finder->seen);
    finder->pool_count = 1;
    return finder->clocks && finder->events && finder->host && (!legacy || finder->done) &&
           finder->seen && finder_cut_buffers(finder);
}

static void finder_free(struct hazard_finder *finder)
{
    for (int b = 0; b < BUFFER_COUNT; b++) {
        free(finder->buffers[b].cuts);
        free(finder->buffers[b].cells);
    }
    free(finder->clocks);
    free(finder->events);
    free(finder->host);
    free(finder->done);
    free(finder->seen);
    free(finder->pool);
}

static void report_if_unordered(struct hazard_finder *finder, const struct epoch *before,
                                const struct op *op, const struct range *where)
{
    const uint32_t *clock = &finder->clocks[(size_t)op->stream * finder->lanes];
    if (before->place == 0 || before->op == op->id || clock[before->stream] >= before->place ||
        finder->count == finder->max)
        return;
    /* One pair of ops is one hazard, however many cells they share. */
    for (size_t i = finder->count; i > 0 && finder->hazards[i - 1].second == op->id; i--) {
        if (finder->hazards[i - 1].first == before->op)
            return;
    }
    finder->hazards[finder->count++] = (struct hazard){before->op, op->id, *where};
}

static void cell_forget_readers(struct hazard_finder *finder, struct memory_cell *cell)
{
    while (cell->first_reader != 0) {
        uint32_t reader = cell->first_reader;
        cell->first_reader = finder->pool[reader].next;
        finder->pool[reader].next = finder->free_reader;
        finder->free_reader = reader;
    }
}

/* A cell keeps one reader per stream: the latest, which covers the earlier ones. */
static bool cell_add_reader(struct hazard_finder *finder, struct memory_cell *cell,
                            struct epoch epoch)
{
    for (uint32_t r = cell->first_reader; r != 0; r = finder->pool[r].next) {
        if (finder->pool[r].stream == epoch.stream) {
            finder->pool[r].op = epoch.op;
            finder->pool[r].place = epoch.place;
            return true;
        }
    }
    uint32_t reader = finder->free_reader;
    if (reader != 0) {
        finder->free_reader = finder->pool[reader].next;
    } else {
        struct epoch *pool =
            items_grow(finder->pool, finder->pool_count, &finder->pool_capacity, sizeof *pool);
        if (pool == NULL)
            return false;
        finder->pool = pool;
        reader = (uint32_t)finder->pool_count++;
    }
    epoch.next = cell->first_reader;
    finder->pool[reader] = epoch;
    cell->first_reader = reader;
    return true;
}

static size_t cut_index(const struct cut_buffer *buffer, uint64_t offset)
{
    size_t low = 0, high = buffer->cut_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (buffer->cuts[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool finder_touch(struct hazard_finder *finder, const struct op *op,
                         const struct access *access, uint32_t place)
{
    struct cut_buffer *buffer = &finder->buffers[access->range.buffer];
    uint64_t end = access->range.offset + access->range.bytes;
    struct epoch epoch = {op->id, op->stream, place, 0};
    for (size_t i = cut_index(buffer, access->range.offset); buffer->cuts[i] < end; i++) {
        struct memory_cell *cell = &buffer->cells[i];
        struct range where = {access->range.buffer, buffer->cuts[i],
                              buffer->cuts[i + 1] - buffer->cuts[i]};
        report_if_unordered(finder, &cell->write, op, &where);
        if (!access->writes) {
            if (!cell_add_reader(finder, cell, epoch))
                return false;
            continue;
        }
        for (uint32_t r = cell->first_reader; r != 0; r = finder->pool[r].next)
            report_if_unordered(finder, &finder->pool[r], op, &where);
        cell_forget_readers(finder, cell);
        cell->write = epoch;
    }
    return true;
}

/* Makes `clock` cover what `from` covers, too. */
static void clock_join(const struct hazard_finder *finder, uint32_t *clock,
                       const uint32_t *from)
{
    for (uint32_t lane = 0; lane < finder->lanes; lane++)
        clock[lane] = from[lane] > clock[lane] ? from[lane] : clock[lane];
}

static uint32_t *done_by(const struct hazard_finder *finder, enum stream_kind kind)
{
    return &finder->done[kind * (size_t)finder->lanes];
}

/* Takes up a sync. It ends when its stream's ops have, or, for the device, those of all
 * streams. The sync of the legacy default stream is one of all blocking streams, too. */
static void finder_sync(struct hazard_finder *finder, const struct op *op)
{
    size_t lanes = finder->lanes;
    finder->syncs++;
    if (op->stream < finder->plan->streams) {
        enum stream_kind kind = plan_stream_kind(finder->plan, op->stream);
        clock_join(finder, finder->host, &finder->clocks[op->stream * lanes]);
        if (rule_sync_encompasses(kind, STREAM_BLOCKING))
            clock_join(finder, finder->host, done_by(finder, STREAM_BLOCKING));
        return;
    }
    for (uint32_t i = 0; i < finder->plan->streams; i++)
        finder->host[i] = finder->clocks[i * lanes + i];
}

/* Takes up, before an op of a stream, what it comes after beyond the stream's own order. */
static void finder_catch_up(struct hazard_finder *finder, uint32_t stream)
{
    uint32_t *clock = &finder->clocks[(size_t)stream * finder->lanes];
    struct seen *seen = &finder->seen[stream];
    enum stream_kind kind = plan_stream_kind(finder->plan, stream);
    const struct legacy_side *before = legacy_before(&finder->legacy, kind);
    if (seen->syncs != finder->syncs)
        clock_join(finder, clock, finder->host);
    seen->syncs = finder->syncs;
    if (before == NULL || before->count == seen->partner_ops)
        return;
    clock_join(finder, clock, done_by(finder, legacy_partner(kind)));
    seen->partner_ops = before->count;
}

/* Notes, behind an op of a stream, what ops of other streams come after. */
static void finder_pass_on(struct hazard_finder *finder, const struct op *op)
{
    enum stream_kind kind = plan_stream_kind(finder->plan, op->stream);
    if (finder->done == NULL || !rule_minds_legacy(kind))
        return;
    legacy_pass(&finder->legacy, kind, op->id, 0);
    clock_join(finder, done_by(finder, kind),
               &finder->clocks[(size_t)op->stream * finder->lanes]);
}

/* Does an op in its stream or, if it is the CPU's, in the CPU's lane. Returns false when memory
 * runs out. */
static bool finder_do(struct hazard_finder *finder, const struct op *op)
{
    uint32_t *clock = &finder->clocks[(size_t)op->stream * finder->lanes];
    uint32_t *event = NULL;
    if (op->kind == OP_RECORD || op->kind == OP_WAIT)
        event = &finder->events[(size_t)op->event.event * finder->lanes];
    if (op->kind == OP_RECORD) {
        memcpy(event, clock, finder->lanes * sizeof *event);
        return true;
    }
    if (op->kind == OP_WAIT) {
        clock_join(finder, clock, event);
        return true;
    }
    struct access access[OP_ACCESS_MAX];
    int count = op_accesses(op, access);
    uint32_t place = clock[op->stream] + 1;
    for (int i = 0; i < count; i++) {
        if (!finder_touch(finder, op, &access[i], place))
            return false;
    }
    clock[op->stream] = place;
    return true;
}

static bool finder_step(struct hazard_finder *finder, const struct op *op)
{
    if (op->kind == OP_SYNC)
        finder_sync(finder, op);
    if (op_is_call(op->kind))
        return true;
    if (op->kind == OP_CPU) /* its own thread takes it up by itself */
        return finder_do(finder, op);
    finder_catch_up(finder, op->stream);
    bool room = finder_do(finder, op);
    finder_pass_on(finder, op);
    return room;
}

enum status plan_hazards(const struct plan *plan, struct hazard *hazards, size_t max,
                         size_t *count, struct error *error)
{
    struct hazard_finder finder = {
        .plan = plan, .lanes = plan->streams + 1, .hazards = hazards, .max = max};
    bool room = finder_init(&finder);
    for (uint32_t i = 0; room && i < plan->op_count && finder.count < max; i++)
        room = finder_step(&finder, &plan->ops[i]);
    finder_free(&finder);
    if (!room)
        return error_set(error, STATUS_NO_MEMORY,
                         "no memory to look for hazards in %" PRIu32 " ops", plan->op_count);
    *count = finder.count;
    return STATUS_OK;
}
