/* work.c - work that need not be done, or that lies badly: in the default stream, memsets,
 * copies within the device, kernels of few blocks, and large copies that small ones wait for.
 */
#include "rework/parts.h"

#include <stdlib.h>
#include <string.h>

enum {
    LARGE_BYTES = 32 << 20,
    LARGE_TIMES = 16, /* the larger of two copies is large for the smaller one */
    PIECE_BYTES = 8 << 20,
    SPREAD_LEAST_NS = 10000, /* a shorter kernel mostly starts and ends, whatever its blocks */
};

/* --- the default stream --- */

/* Moves the ops of the legacy default stream to their tiles' streams: that of the op before it
 * in the tile, or, in a second walk backwards, of the one behind it. Records go with the op
 * before them, waits with the one behind them. */
static void move_legacy(struct rework_draft *draft, uint32_t *streams, bool back)
{
    uint32_t followed = REWORK_NONE;
    enum op_kind with = back ? OP_WAIT : OP_RECORD;
    for (size_t k = 0; k < draft->count; k++) {
        struct rework_item *item = &draft->items[back ? draft->count - 1 - k : k];
        if (item->op.kind == with && rework_is_legacy(draft, item->op.stream) &&
            followed != REWORK_NONE)
            item->op.stream = followed;
        if (item->tile == REWORK_NONE)
            continue;
        if (!rework_is_legacy(draft, item->op.stream)) {
            streams[item->tile] = item->op.stream;
            continue;
        }
        if (streams[item->tile] != REWORK_NONE)
            item->op.stream = streams[item->tile];
        followed = item->op.stream;
    }
}

void rework_streams_unblock(struct rework_draft *draft)
{
    uint32_t *streams = malloc((draft->tiles + (size_t)1) * sizeof *streams);
    if (!rework_draft_room(draft, streams != NULL)) {
        free(streams);
        return;
    }
    for (size_t i = 0; i < draft->count; i++) { /* all that its sync waited for */
        struct rework_item *item = &draft->items[i];
        if (item->op.kind == OP_SYNC && rework_is_legacy(draft, item->op.stream))
            item->op.stream = draft->streams;
    }
    for (int back = 0; back < 2; back++) {
        memset(streams, 0xff, (draft->tiles + (size_t)1) * sizeof *streams);
        move_legacy(draft, streams, back != 0);
    }
    free(streams);
    free(draft->kinds);
    draft->kinds = NULL;
}

/* --- memsets --- */

static bool covers(const struct range *all, const struct range *part)
{
    return all->offset <= part->offset &&
           all->offset + all->bytes >= part->offset + part->bytes;
}

void rework_memsets_drop(struct rework_draft *draft)
{
    for (size_t i = 0; i < draft->count; i++) {
        struct rework_item *item = &draft->items[i];
        const struct access *touch = NULL;
        if (item->op.kind != OP_MEMSET || item->seen.access_count == 0)
            continue;
        const struct range *set = &draft->accesses[item->seen.first_access].range;
        const struct rework_item *user = rework_user_of(draft, i, set, &touch);
        if (user == NULL)
            continue;
        if (op_is_copy(user->op.kind) && touch->writes && covers(&touch->range, set))
            rework_draft_drop(draft, i);
        else if (user->op.stream < draft->streams)
            item->op.stream = user->op.stream;
    }
    rework_draft_tidy(draft);
}

/* --- copies between devices --- */

int64_t rework_peer_ns(const struct machine *machine, const struct op *op,
                       const struct op_recorded *seen)
{
    if (op->kind != OP_PEER || !machine_has_peers(machine))
        return 0;
    const int64_t ns = machine->peer_latency_ns +
                       (int64_t)((double)op_bytes(op) / machine->peer_bytes_per_s * 1e9);
    return 2 * ns < seen->work_ns ? ns : 0;
}

/* --- copies within the device --- */

/* Returns true if one kernel alone works on what copy `at` brought before another copy takes
 * its place, and where it came from nothing is written until then: what the kernel writes there
 * nobody reads, so it can read where the copy did. */
static bool is_for_one(const struct rework_draft *draft, size_t at,
                       const struct rework_item *user)
{
    const struct op *op = &draft->items[at].op;
    const struct access *touch;
    const size_t end = (size_t)(user - draft->items);
    const struct rework_item *next = rework_user_of(draft, end, &op->move.to, &touch);
    if (next == NULL || next->op.kind != OP_D2D ||
        !range_equal(&next->op.move.to, &op->move.to))
        return false;
    for (size_t i = at + 1; i < end; i++) {
        touch = rework_touch_of(draft, &draft->items[i], &op->move.from);
        if (touch != NULL && (touch->writes || draft->items[i].op.kind == OP_KERNEL))
            return false;
    }
    return true;
}

/* Has a kernel read where a copy came from what it would read where that went. */
static void read_from(struct rework_draft *draft, const struct rework_item *user,
                      const struct op *copy)
{
    for (uint32_t i = 0; i < user->seen.access_count; i++) {
        struct access *access = &draft->accesses[user->seen.first_access + i];
        if (range_equal(&access->range, &copy->move.to))
            *access = (struct access){.range = copy->move.from};
    }
}

void rework_device_copies_drop(struct rework_draft *draft)
{
    struct range from = {0}, to = {0}; /* of the latest copy that went */
    for (size_t i = 0; i < draft->count; i++) {
        const struct op *op = &draft->items[i].op;
        if (op->kind != OP_D2D || op->move.from.bytes == 0)
            continue;
        const struct access *touch;
        const struct rework_item *user = rework_user_of(draft, i, &op->move.to, &touch);
        const bool kernel = user != NULL && user->op.kind == OP_KERNEL;
        if (kernel && rework_touch_of(draft, user, &op->move.from) == NULL) {
            if (!is_for_one(draft, i, user))
                continue;
            read_from(draft, user, op);
        } else if (!kernel && (user != NULL || !range_equal(&from, &op->move.from) ||
                               !range_equal(&to, &op->move.to))) {
            continue;
        }
        from = op->move.from;
        to = op->move.to;
        rework_draft_drop(draft, i);
    }
    rework_draft_tidy(draft);
}

/* --- single ops --- */

bool rework_has_few_blocks(const struct machine *machine, const struct op *op,
                           const struct op_recorded *seen)
{
    return op->kind == OP_KERNEL && op->kernel.blocks > 0 && op->kernel.blocks < machine->sms &&
           seen->work_ns >= SPREAD_LEAST_NS;
}

/* Gives a kernel of few blocks a block for each SM. */
static void spread_blocks(const struct machine *machine, struct rework_item *item)
{
    struct op_recorded *seen = &item->seen;
    const uint32_t blocks = item->op.kernel.blocks;
    double more = (double)machine->sms / blocks;
    double ns = (double)seen->work_ns / more;
    if (ns < (double)machine->kernel_fixed_ns)
        return;
    seen->work_ns = machine_round_ns(ns);
    seen->fill = seen->fill * more < 1 ? seen->fill * more : 1;
    item->op.kernel.blocks = machine->sms;
}

void rework_work_change(struct rework_draft *draft, const struct rework *change)
{
    const struct machine *machine = draft->base->machine;
    for (size_t i = 0; i < draft->count; i++) {
        struct rework_item *item = &draft->items[i];
        const int64_t peer_ns =
            change->reaches_peers ? rework_peer_ns(machine, &item->op, &item->seen) : 0;
        if (peer_ns > 0) { /* the call takes part in a copy by way of the host, too */
            item->seen.work_ns = peer_ns;
            item->seen.call_ns = 0;
        }
        if (change->spreads_blocks && rework_has_few_blocks(machine, &item->op, &item->seen))
            spread_blocks(machine, item);
        if (change->drops_repeats && item->seen.repeats)
            rework_draft_drop(draft, i);
    }
    rework_draft_tidy(draft);
}

/* --- large copies --- */

/* Returns true if what was issued before an item to stream `stream` must stay before it. */
static bool ends_copy(const struct rework_draft *draft, const struct rework_item *item,
                      uint32_t stream)
{
    const struct op *op = &item->op;
    return op->stream == stream || op->stream >= draft->streams ||
           rework_is_legacy(draft, op->stream);
}

static bool is_small(const struct op *op, const struct op *large)
{
    return op->kind == large->kind && op_bytes(op) <= op_bytes(large) / LARGE_TIMES;
}

/* Returns in how many pieces a copy is to be made: behind each smaller one that is issued to
 * another stream before anything could ask for all of it comes a piece. */
static uint32_t pieces_of(const struct rework_draft *draft, size_t index)
{
    const struct rework_item *item = &draft->items[index];
    uint64_t most = op_bytes(&item->op) / PIECE_BYTES, pieces = 1;
    if (!op_is_copy(item->op.kind) || op_bytes(&item->op) < LARGE_BYTES || item->seen.waits ||
        item->seen.pageable)
        return 1;
    for (size_t i = index + 1; i < draft->count && pieces < most; i++) {
        if (ends_copy(draft, &draft->items[i], item->op.stream))
            break;
        pieces += is_small(&draft->items[i].op, &item->op);
    }
    return (uint32_t)pieces;
}

/* A copy that is being cut. */
struct cut {
    struct rework_item from;
    uint32_t piece, pieces;
};

static void add_piece(struct rework_draft *draft, struct cut *cut)
{
    struct rework_item item = cut->from;
    uint32_t piece = cut->piece++;
    rework_op_cut(&item.op, piece, cut->pieces);
    item.seen.access_count = 0;
    item.seen.host_ns = piece == 0 ? cut->from.seen.host_ns : 0;
    for (uint32_t i = 0; i < cut->from.seen.access_count; i++) {
        struct access access = draft->accesses[cut->from.seen.first_access + i];
        access.range = rework_range_part(access.range, piece, cut->pieces);
        if (access.range.bytes > 0)
            rework_draft_touch(draft, &item, &access, 0);
    }
    rework_draft_add(draft, &item);
}

static void add_pieces(struct rework_draft *draft, struct cut *cut)
{
    while (cut->piece < cut->pieces)
        add_piece(draft, cut);
}

/* Cuts one large copy after another: what would begin another one's pieces ends those of the
 * one before. */
static void cut_all(struct rework_draft *draft, const struct rework_draft *old)
{
    struct cut cut = {0};
    for (size_t i = 0; i < old->count; i++) {
        const struct rework_item *item = &old->items[i];
        bool cutting = cut.piece < cut.pieces;
        uint32_t pieces = pieces_of(old, i);
        if (cutting && (pieces > 1 || ends_copy(old, item, cut.from.op.stream)))
            add_pieces(draft, &cut);
        if (pieces > 1)
            cut = (struct cut){.from = *item, .pieces = pieces};
        else
            rework_draft_add(draft, item);
        bool small = cut.piece < cut.pieces && is_small(&item->op, &cut.from.op);
        if (pieces > 1 || small)
            add_piece(draft, &cut);
    }
    add_pieces(draft, &cut);
}

void rework_copies_cut(struct rework_draft *draft)
{
    const struct rework_draft old = *draft;
    draft->items = NULL;
    draft->count = draft->capacity = 0;
    cut_all(draft, &old);
    free(old.items);
}
