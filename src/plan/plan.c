/* plan.c - the container of ops, and what follows from a plan's facts. */
#include "plan/plan.h"

#include "core/arena.h"
#include "core/items.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Ranges don't move, since ops point to them: so they are taken in blocks. */
enum { BLOCK_RANGES = 256, KEPT_BITS = 12 };

struct plan_ranges {
    struct arena arena;     /* has the blocks */
    struct op_ranges *next; /* of the newest block, which has `left` more */
    size_t left;
    struct op_ranges
        *kept[1 << KEPT_BITS]; /* by kept_place(): the latest there, to be shared */
};

/* Frees all of it, and itself. NULL is nothing to free. */
static void recorded_free(struct plan_recorded *recorded)
{
    if (recorded == NULL)
        return;
    for (uint32_t i = 0; i < recorded->name_count; i++)
        free(recorded->names[i]);
    free(recorded->names);
    free(recorded->buffers);
    free(recorded->accesses);
    free(recorded->ops);
    free(recorded);
}

void plan_free(struct plan *plan)
{
    if (plan->ranges != NULL)
        arena_free(&plan->ranges->arena);
    free(plan->ranges);
    free(plan->ops);
    free(plan->priorities);
    free(plan->stream_kinds);
    free(plan->places);
    free(plan->loops);
    recorded_free(plan->recorded);
    *plan = (struct plan){0};
}

enum status plan_append(struct plan *plan, const struct op *op, struct error *error)
{
    if (plan->op_count >= UINT32_MAX / 4)
        return error_set(error, STATUS_FAILED, "the plan has too many ops (over %" PRIu32 ")",
                         plan->op_count);
    if (!ITEMS_ROOM(plan->ops, plan->op_count, plan->op_capacity))
        return error_no_memory(error, "for a plan of over %" PRIu32 " ops", plan->op_count);
    plan->ops[plan->op_count] = *op;
    plan->ops[plan->op_count].id = plan->op_count;
    plan->op_count++;
    plan->has_peers |= op->kind == OP_PEER;
    return STATUS_OK;
}

struct op_ranges *plan_take_ranges(struct plan *plan, struct error *error)
{
    if (plan->ranges == NULL)
        plan->ranges = calloc(1, sizeof *plan->ranges);
    struct plan_ranges *all = plan->ranges;
    if (all != NULL && all->left == 0) {
        all->next = arena_zeros(&all->arena, BLOCK_RANGES, sizeof *all->next);
        all->left = all->next != NULL ? BLOCK_RANGES : 0;
    }
    if (all == NULL || all->left == 0) {
        error_no_memory(error, "for a plan of over %" PRIu32 " ops", plan->op_count);
        return NULL;
    }
    all->left--;
    return all->next++;
}

/* Returns a place in the table of those kept. The multiplier spreads offsets, which are
 * multiples of much (Knuth, "The Art of Computer Programming", volume 3, section 6.4). */
static size_t kept_place(const struct op_ranges *ranges)
{
    const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mixed = (ranges->in[0].offset + ranges->in[0].bytes) * golden;
    mixed = (mixed ^ (ranges->out.offset + ranges->out.bytes)) * golden;
    /* The kernels of a chain mostly differ in the first one's input alone. */
    mixed = (mixed ^ (ranges->in[0].buffer * BUFFER_COUNT + ranges->out.buffer)) * golden;
    return mixed >> (64 - KEPT_BITS);
}

struct op_ranges *plan_keep_ranges(struct plan *plan, const struct op_ranges *wanted,
                                   struct error *error)
{
    const size_t place = kept_place(wanted);
    struct op_ranges *kept = plan->ranges != NULL ? plan->ranges->kept[place] : NULL;
    if (kept != NULL && op_ranges_equal(kept, wanted))
        return kept;
    kept = plan_take_ranges(plan, error);
    if (kept == NULL)
        return NULL;
    *kept = *wanted;
    plan->ranges->kept[place] = kept;
    return kept;
}

uint64_t plan_part_of(uint64_t a, uint64_t b, uint64_t c)
{
    /* No type of C17 is wide enough. */
    return (uint64_t)(__extension__(unsigned __int128) a * b / c);
}

void plan_tile(const struct plan *plan, uint32_t tile, uint64_t *first, uint64_t *count)
{
    *first = plan_part_of(plan->elements, tile, plan->tiles);
    *count = plan_part_of(plan->elements, (uint64_t)tile + 1, plan->tiles) - *first;
}

void plan_tiles(const struct plan *plan, struct tiles tiles, uint64_t *first, uint64_t *count)
{
    uint64_t end, last;
    plan_tile(plan, tiles.first, first, count);
    plan_tile(plan, tiles.first + tiles.count - 1, &end, &last);
    *count = end + last - *first;
}

static uint32_t tiles_of_batch(const struct plan *plan)
{
    return plan->batch > 1 ? plan->batch : 1;
}

uint32_t plan_batches(const struct plan *plan)
{
    const uint32_t tiles = plan->tiles - plan->cpu_tiles, batch = tiles_of_batch(plan);
    return tiles / batch + (tiles % batch != 0);
}

struct tiles plan_batch(const struct plan *plan, uint32_t number)
{
    const uint32_t tiles = plan->tiles - plan->cpu_tiles, batch = tiles_of_batch(plan);
    const uint32_t first = number * batch, left = tiles - first;
    return (struct tiles){first, left < batch ? left : batch};
}

uint32_t plan_batch_of(const struct plan *plan, uint32_t tile)
{
    return tile / tiles_of_batch(plan);
}

uint32_t plan_result_device(const struct plan *plan, uint32_t tile)
{
    if (plan->by_link)
        return plan_devices(plan) - 1;
    if (!plan->has_halo)
        return plan_batch_device(plan, plan_batch_of(plan, tile));
    uint32_t device = 0;
    while (tile >=
           plan_device_tiles(plan, device).first + plan_device_tiles(plan, device).count)
        device++;
    return device;
}

struct range plan_tile_part(const struct plan *plan, const struct range *range,
                            struct tiles tiles, uint32_t tile)
{
    uint64_t first, count, own, own_count;
    plan_tiles(plan, tiles, &first, &count);
    plan_tile(plan, tile, &own, &own_count);
    return (struct range){range->buffer,
                          range->offset + plan_part_of(range->bytes, own - first, count),
                          plan_part_of(range->bytes, own_count, count)};
}

/* A tile t begins at floor(elements * t / tiles), which is at most `element` exactly if
 * t < (element + 1) * tiles / elements. */
uint32_t plan_tile_of(const struct plan *plan, uint64_t element)
{
    __extension__ const unsigned __int128 beyond =
        (unsigned __int128)(element + 1) * plan->tiles;
    return (uint32_t)((beyond - 1) / plan->elements);
}

uint64_t plan_device_bytes(const struct plan *plan)
{
    uint64_t bytes = 0;
    for (int i = BUFFER_FIRST_DEVICE; i < BUFFER_COUNT; i++)
        bytes += plan->buffer_bytes[i];
    return bytes;
}

const struct kernel *plan_last_kernel(const struct plan *plan)
{
    return plan->chain[plan->chain_length - 1];
}

const char *stream_kind_name(enum stream_kind kind)
{
    static const char *const names[STREAM_KIND_COUNT] = {
        [STREAM_NONBLOCKING] = "non-blocking",
        [STREAM_BLOCKING] = "blocking",
        [STREAM_LEGACY] = "legacy",
    };
    return names[kind];
}

/* Returns what the kernel of a launch is called; "kernel" where nobody knows. */
static const char *kernel_name(const struct plan *plan, const struct op *op)
{
    const struct op_recorded *seen = plan_seen(plan, op);
    if (seen != NULL && seen->name < plan->recorded->name_count)
        return plan->recorded->names[seen->name];
    if (seen == NULL && op->kernel.link < (uint32_t)plan->chain_length)
        return plan->chain[op->kernel.link]->name;
    return op_kind_name(op->kind);
}

const char *plan_op_label(const struct plan *plan, const struct op *op, char text[OP_LABEL])
{
    const char *name = op->kind < OP_KIND_COUNT ? op_kind_name(op->kind) : "op";
    if (op->kind == OP_KERNEL)
        name = kernel_name(plan, op);
    if (op->kind == OP_RECORD || op->kind == OP_WAIT || op->kind == OP_SYNC_EVENT)
        snprintf(text, OP_LABEL, "%s event %" PRIu32, name, op->event.event);
    else if (op->kind == OP_SYNC && op->stream < plan->streams)
        snprintf(text, OP_LABEL, "%s stream %" PRIu32, name, op->stream);
    else if (op->kind == OP_SYNC)
        snprintf(text, OP_LABEL, "%s device", name);
    else if (op->kind == OP_ALLOC && op->alloc.action != ALLOC_PAIR)
        snprintf(text, OP_LABEL, "%s %s %" PRId32, alloc_action_name(op->alloc.action),
                 buffer_name(op->alloc.range.buffer), op->tile);
    else if (op->kind == OP_ALLOC)
        snprintf(text, OP_LABEL, "%s %s", name, op->alloc.pinned ? "page-locked" : "device");
    else if (op->tile >= 0 && op_tiles(op) > 1)
        snprintf(text, OP_LABEL, "%s %" PRId32 "-%" PRIu32, name, op->tile,
                 (uint32_t)op->tile + op->tiles - 1);
    else if (op->tile >= 0)
        snprintf(text, OP_LABEL, "%s %" PRId32, name, op->tile);
    else
        snprintf(text, OP_LABEL, "%s", name);
    return text;
}
