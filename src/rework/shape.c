/* shape.c - tiles dealt over streams, cut in pieces, merged; and the order of issue. */
#include "core/compare.h"
#include "rework/parts.h"

#include <stdlib.h>

/* Items by tile and stage. */
struct table {
    uint32_t *first; /* per tile, and one more: of `items` */
    uint32_t *items;
};

static bool table_make(const struct rework_draft *draft, struct table *table)
{
    table->first = calloc(draft->tiles + (size_t)2, sizeof *table->first);
    table->items = malloc((draft->count + 1) * sizeof *table->items);
    if (table->first == NULL || table->items == NULL)
        return false;
    for (size_t i = 0; i < draft->count; i++) {
        if (draft->items[i].tile != REWORK_NONE)
            table->first[draft->items[i].tile + 1]++;
    }
    for (uint32_t tile = 0; tile < draft->tiles; tile++)
        table->first[tile + 1] += table->first[tile];
    for (uint32_t i = 0; i < draft->count; i++) {
        const struct rework_item *item = &draft->items[i];
        if (item->tile != REWORK_NONE)
            table->items[table->first[item->tile] + item->stage] = i;
    }
    return true;
}

/* --- sizes --- */

struct range rework_range_part(struct range range, uint32_t piece, uint32_t pieces)
{
    const uint64_t begin = plan_part_of(range.bytes, piece, pieces);
    const uint64_t end = plan_part_of(range.bytes, piece + UINT64_C(1), pieces);
    return (struct range){range.buffer, range.offset + begin, end - begin};
}

void rework_op_cut(struct op *op, uint32_t piece, uint32_t pieces)
{
    if (op_is_copy(op->kind)) {
        op->copy.host = rework_range_part(op->copy.host, piece, pieces);
        op->copy.device = rework_range_part(op->copy.device, piece, pieces);
    } else if (op_moves(op->kind)) {
        op->move.from = rework_range_part(op->move.from, piece, pieces);
        op->move.to = rework_range_part(op->move.to, piece, pieces);
    } else if (op->kind == OP_MEMSET) {
        op->set.range = rework_range_part(op->set.range, piece, pieces);
    }
}

/* Adds to what an op moves what another one of its kind does. */
static void op_add(struct op *op, const struct op *other)
{
    if (op_is_copy(op->kind)) {
        op->copy.host.bytes += other->copy.host.bytes;
        op->copy.device.bytes += other->copy.device.bytes;
    } else if (op_moves(op->kind)) {
        op->move.from.bytes += other->move.from.bytes;
        op->move.to.bytes += other->move.to.bytes;
    } else if (op->kind == OP_MEMSET) {
        op->set.range.bytes += other->set.range.bytes;
    }
}

/* Sets the work of a launch that does `part` of another's. One that fills the GPU takes that
 * part of the time; one that does not takes fewer blocks as long as there are any, and more
 * until they fill it. */
static void work_scale(const struct machine *machine, struct op_recorded *seen, double part)
{
    double all = seen->fill > 0 ? seen->fill * part : part;
    double fill = seen->fill >= 1 || seen->fill <= 0 ? seen->fill : all < 1 ? all : 1;
    double ns = (double)seen->work_ns * (fill > 0 ? all / fill : part);
    seen->work_ns = machine_round_ns(
        ns > (double)machine->kernel_fixed_ns ? ns : (double)machine->kernel_fixed_ns);
    seen->fill = fill;
}

/* --- dealing --- */

struct dealer {
    struct rework_draft *draft;
    const struct rework *change;
    struct table table;
    struct rework_item *items; /* as they were */
    size_t count;
    struct access *accesses;
    uint32_t *sets;
    uint32_t streams, pieces, merged;
};

/* Returns true if tiles are alike, so that they can be merged. */
static bool tiles_match(const struct dealer *dealer, uint32_t one, uint32_t other)
{
    const uint32_t *first = dealer->table.first;
    uint32_t count = first[one + 1] - first[one];
    if (first[other + 1] - first[other] != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct rework_item *x = &dealer->items[dealer->table.items[first[one] + i]];
        const struct rework_item *y = &dealer->items[dealer->table.items[first[other] + i]];
        if (x->op.kind != y->op.kind)
            return false;
    }
    return true;
}

/* Returns the first tile of those that `tile` is merged with: itself, where it is alone. */
static uint32_t leader_of(const struct dealer *dealer, uint32_t tile)
{
    uint32_t leader = tile - tile % dealer->merged;
    for (uint32_t i = leader + 1; i <= tile; i++) {
        if (!tiles_match(dealer, leader, i))
            return tile;
    }
    return leader;
}

/* Returns which set of buffers the bytes of a tile are in. */
static uint32_t set_of(const struct dealer *dealer, uint32_t tile)
{
    if (tile == REWORK_NONE)
        return 0;
    return tile / dealer->merged % dealer->streams * dealer->merged + tile % dealer->merged;
}

/* Adds the accesses of `from` to an item: a piece of each, in the buffers of their tiles. */
static void touch_all(struct dealer *dealer, const struct rework_item *from, uint32_t piece,
                      uint32_t pieces, struct rework_item *item)
{
    const struct plan_recorded *recorded = dealer->draft->base->plan->recorded;
    for (uint32_t i = 0; i < from->seen.access_count; i++) {
        struct access access = dealer->accesses[from->seen.first_access + i];
        uint32_t tile = dealer->sets[from->seen.first_access + i];
        bool cuts = tile == from->tile || tile == REWORK_NONE;
        if (cuts)
            access.range = rework_range_part(access.range, piece, pieces);
        if (tile != REWORK_NONE)
            access.range.buffer += recorded->buffer_count * set_of(dealer, tile);
        if (access.range.bytes > 0)
            rework_draft_touch(dealer->draft, item, &access, tile);
    }
}

/* Deals one item whose tile is not merged into another. */
static void deal_item(struct dealer *dealer, const struct rework_item *from)
{
    bool whole = from->op.kind == OP_CALLBACK; /* with the last piece */
    uint32_t pieces = whole ? 1 : dealer->pieces;
    for (uint32_t piece = 0; piece < pieces; piece++) {
        struct rework_item item = *from;
        item.seen.access_count = 0;
        item.seen.host_ns = from->seen.host_ns / pieces;
        item.tile =
            from->tile / dealer->merged * dealer->pieces + (whole ? dealer->pieces - 1 : piece);
        item.op.stream = item.tile % dealer->streams;
        rework_op_cut(&item.op, piece, pieces);
        if (op_work_is_seen(item.op.kind) && pieces > 1)
            work_scale(dealer->draft->base->machine, &item.seen, 1.0 / pieces);
        touch_all(dealer, from, piece, pieces, &item);
        uint32_t tiles = 1;
        for (uint32_t tile = from->tile + 1;
             tile < dealer->draft->tiles && tile % dealer->merged != 0; tile++) {
            if (leader_of(dealer, tile) != from->tile)
                continue;
            const struct rework_item *other =
                &dealer->items[dealer->table.items[dealer->table.first[tile] + from->stage]];
            op_add(&item.op, &other->op);
            item.seen.host_ns += other->seen.host_ns;
            dealer->draft->stands[other->origin] = from->origin;
            item.merged = true;
            tiles++;
            touch_all(dealer, other, 0, 1, &item);
        }
        if (op_work_is_seen(item.op.kind) && tiles > 1)
            work_scale(dealer->draft->base->machine, &item.seen, tiles);
        rework_draft_add(dealer->draft, &item);
    }
}

static void deal_all(struct dealer *dealer)
{
    EACH (struct rework_item, item, dealer->items, dealer->count) {
        if (item->tile == REWORK_NONE) { /* the host's own: for any stream, or an op */
            item->op.stream = dealer->streams;
            rework_draft_add(dealer->draft, item);
        } else if (leader_of(dealer, item->tile) == item->tile) {
            deal_item(dealer, item);
        }
    }
}

/* Adds up the bytes that the sets of buffers take on the device, which have to fit there. */
static void check_sets(struct rework_draft *draft)
{
    const struct plan_recorded *recorded = draft->base->plan->recorded;
    size_t buffers = (size_t)recorded->buffer_count * draft->set_count;
    double bytes = 0;
    bool *used = calloc(buffers + 1, sizeof *used);
    if (used == NULL) {
        (void)rework_draft_room(draft, false);
        return;
    }
    for (size_t i = 0; i < draft->access_count; i++)
        used[draft->accesses[i].range.buffer] = true;
    for (size_t i = 0; i < buffers; i++) {
        const struct recorded_buffer *buffer = &recorded->buffers[i % recorded->buffer_count];
        bytes += used[i] && !buffer->host ? (double)buffer->bytes : 0;
    }
    free(used);
    if (bytes > (double)draft->base->machine->memory_bytes)
        (void)error_set(&draft->why, STATUS_USAGE,
                        "the buffers would not fit the GPU's memory");
}

void rework_shape_deal(struct rework_draft *draft, const struct rework *change)
{
    struct dealer dealer = {.draft = draft,
                            .change = change,
                            .items = draft->items,
                            .count = draft->count,
                            .accesses = draft->accesses,
                            .sets = draft->sets,
                            .streams = change->streams,
                            .pieces = change->pieces > 1 ? change->pieces : 1,
                            .merged = change->merged > 1 ? change->merged : 1};
    if (draft->tiles / dealer.merged * dealer.pieces < 2)
        (void)error_set(&draft->why, STATUS_USAGE, "there is one tile, which can't be dealt");
    if (draft->why.status != STATUS_OK)
        return;
    const bool room = rework_draft_room(draft, table_make(draft, &dealer.table));
    draft->items = NULL;
    draft->accesses = NULL;
    draft->sets = NULL;
    draft->count = draft->capacity = 0;
    draft->access_count = draft->access_capacity = draft->set_capacity = 0;
    draft->streams = dealer.streams;
    draft->set_count = dealer.streams * dealer.merged;
    if (room)
        deal_all(&dealer);
    if (draft->why.status == STATUS_OK)
        check_sets(draft);
    draft->tiles = (draft->tiles + dealer.merged - 1) / dealer.merged * dealer.pieces;
    free(draft->kinds);
    draft->kinds = NULL;
    free(dealer.table.first);
    free(dealer.table.items);
    free(dealer.items);
    free(dealer.accesses);
    free(dealer.sets);
}

/* --- the order of issue --- */

struct key {
    uint32_t segment, wave, first, second, item;
};

COMPARE_BY(compare_keys, struct key, segment, wave, first, second, item);

void rework_shape_order(struct rework_draft *draft, const struct rework *change)
{
    struct key *keys = malloc((draft->count + 1) * sizeof *keys);
    struct rework_item *items = malloc((draft->count + 1) * sizeof *items);
    const bool room = rework_draft_room(draft, keys != NULL && items != NULL);
    const bool depth = change->order == REWORK_DEPTH;
    uint32_t segment = 0, streams = draft->streams > 0 ? draft->streams : 1;
    for (uint32_t i = 0; i < draft->count && room; i++) {
        const struct rework_item *item = &draft->items[i];
        bool tiled = item->tile != REWORK_NONE;
        segment += !tiled;
        keys[i] = (struct key){.segment = segment, .item = i};
        segment += !tiled || item->seen.waits; /* what comes later stays later */
        if (!tiled)
            continue;
        keys[i].wave = item->tile / streams;
        keys[i].first = depth ? item->tile : item->stage;
        keys[i].second = depth ? item->stage : item->tile;
    }
    if (room)
        qsort(keys, draft->count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < draft->count && room; i++)
        items[i] = draft->items[keys[i].item];
    if (room) {
        free(draft->items);
        draft->items = items;
        draft->capacity = draft->count + 1;
        items = NULL;
    }
    free(items);
    free(keys);
}
