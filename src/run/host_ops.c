/* host_ops.c - ops on the host's memory: copies, kernels by their CPU twins, chains, the fold
 * of tiles' values, and which of the ops that run at the same time spoil each other's bytes. */
#include "run/host_ops.h"

#include "core/items.h"
#include "plan/host_layout.h"
#include "plan/rules.h"

#include <stdlib.h>
#include <string.h>

/* --- ops --- */

void *host_bytes_at(const struct host_bytes *memory, const struct range *range)
{
    return range->bytes > 0 ? (char *)memory->buffers[range->buffer] +
                                  host_layout_offset(memory->plan, range)
                            : NULL;
}

/* Copies what one call copies: a piece, or the rows of one tile. */
static void do_copy(const struct host_bytes *memory, const struct range *to,
                    const struct range *from)
{
    const struct host_copy copy = host_layout_copy(memory->plan, to, from);
    char *there = host_bytes_at(memory, to);
    const char *here = host_bytes_at(memory, from);
    for (uint64_t row = 0; row < copy.rows; row++)
        memcpy(there + row * copy.to_pitch, here + row * copy.from_pitch, copy.bytes);
}

void host_do_copies(const struct host_bytes *memory, const struct op *op,
                    const struct range *to, const struct range *from)
{
    const struct plan *plan = memory->plan;
    const struct tiles tiles = {(uint32_t)op->tile, rule_copies(plan, op)};
    if (plan->prefetches)
        return; /* pages have one place for the host and the kernels: the arrays */
    if (tiles.count == 1)
        do_copy(memory, to, from);
    for (uint32_t i = 0; i < tiles.count && tiles.count > 1; i++) {
        const struct range target = plan_tile_part(plan, to, tiles, tiles.first + i);
        const struct range source = plan_tile_part(plan, from, tiles, tiles.first + i);
        do_copy(memory, &target, &source);
    }
}

/* Runs a launch on several tiles by the CPU twin, tile by tile: they may lie apart, and to some
 * kernels an element's place in its tile matters. */
static void do_tiles(const struct host_bytes *memory, const struct op *op,
                     struct kernel_args *args)
{
    const struct plan *plan = memory->plan;
    const struct op_ranges *ranges = op->kernel.ranges;
    const struct tiles tiles = {(uint32_t)op->tile, op_tiles(op)};
    for (uint32_t tile = tiles.first; tile < tiles.first + tiles.count; tile++) {
        const struct range out = plan_tile_part(plan, &ranges->out, tiles, tile);
        uint64_t first;
        plan_tile(plan, tile, &first, &args->count);
        for (int i = 0; i < KERNEL_INPUTS_MAX; i++) {
            const struct range in = plan_tile_part(plan, &ranges->in[i], tiles, tile);
            args->in[i] = host_bytes_at(memory, &in);
        }
        args->out = host_bytes_at(memory, &out);
        kernel_code(plan->chain[op->kernel.link])->host(args);
    }
}

void host_do_kernel(const struct host_bytes *memory, const struct op *op)
{
    const struct plan *plan = memory->plan;
    const struct op_ranges *ranges = op->kernel.ranges;
    struct kernel_args args = {
        .resident = host_bytes_at(memory, &ranges->resident),
        .scratch = host_bytes_at(memory, &ranges->scratch),
        .carry_in = host_bytes_at(memory, &ranges->carry_in),
        .carry_out = host_bytes_at(memory, &ranges->carry_out),
        .carry_own = ranges->carry_own,
        .count = op->kernel.count,
        .blocks = op->kernel.blocks,
        .untimed = true, /* what it takes is simulated */
        .repeat = op->kernel.repeat,
        .params = plan->params,
    };
    if (op_tiles(op) > 1) {
        do_tiles(memory, op, &args);
        return;
    }
    for (int i = 0; i < KERNEL_INPUTS_MAX; i++)
        args.in[i] = host_bytes_at(memory, &ranges->in[i]);
    args.out = host_bytes_at(memory, &ranges->out);
    kernel_code(plan->chain[op->kernel.link])->host(&args);
}

void host_do_cpu(const struct host_bytes *memory, const struct op *op)
{
    const struct plan *plan = memory->plan;
    const struct op_ranges *ranges = op->cpu.ranges;
    chain_host_run(plan->chain, plan->chain_length, &plan->params,
                   host_bytes_at(memory, &ranges->in[0]), host_bytes_at(memory, &ranges->in[1]),
                   host_bytes_at(memory, &ranges->resident),
                   host_bytes_at(memory, &ranges->out), op->cpu.count, memory->scratch);
}

/* --- a chain --- */

bool chain_host_needs_scratch(const struct kernel *const chain[], int length)
{
    return length > 1 && chain[length - 1]->shape == KERNEL_REDUCE;
}

/* The first kernel reads the input array, which must stay as it is; the maps that follow work
 * in place on its output. So only the first kernel may gather. */
void chain_host_run(const struct kernel *const chain[], int length,
                    const struct kernel_params *params, const void *in0, const void *in1,
                    const void *resident, void *out, uint64_t count, void *tile_scratch)
{
    void *mapped = chain_host_needs_scratch(chain, length) ? tile_scratch : out;
    for (int link = 0; link < length; link++) {
        const struct kernel *kernel = chain[link];
        struct kernel_args args = {
            .in = {link == 0 ? in0 : mapped, kernel->inputs == 2 ? in1 : NULL},
            .resident = resident,
            .out = kernel->shape == KERNEL_REDUCE ? out : mapped,
            .count = count,
            .params = *params,
        };
        for (; args.repeat < kernel_launches(kernel, params); args.repeat++)
            kernel_code(kernel)->host(&args);
    }
}

/* --- the fold of the tiles --- */

struct tile_fold tile_fold_begin(const struct plan *plan, const void *out)
{
    return (struct tile_fold){
        .plan = plan, .out = out, .integer = plan_last_kernel(plan)->fold == KERNEL_FOLD_AND};
}

void tile_fold_add(struct tile_fold *fold, int32_t tile)
{
    const struct kernel *last = plan_last_kernel(fold->plan);
    fold->tiles++;
    if (last->shape != KERNEL_REDUCE || fold->out == NULL)
        return;
    if (last->fold == KERNEL_FOLD_AND)
        fold->integer &= ((const int32_t *)fold->out)[tile] != 0;
    else if (last->out == DTYPE_I32)
        fold->integer += (uint32_t)((const int32_t *)fold->out)[tile];
    else if (last->out == DTYPE_F64)
        fold->real += ((const double *)fold->out)[tile];
    else
        fold->real += (double)((const float *)fold->out)[tile];
}

double tile_fold_value(const struct tile_fold *fold)
{
    if (plan_last_kernel(fold->plan)->out == DTYPE_I32)
        return (double)(int32_t)fold->integer;
    return fold->real;
}

/* --- ops that race --- */

/* Returns true if `writer` writes a byte that `op` reads or, with `writes`, writes too. */
static bool meets(const struct op *op, bool writes, const struct op *writer)
{
    struct access own[OP_ACCESS_MAX], others[OP_ACCESS_MAX];
    int own_count = op_accesses(op, own), other_count = op_accesses(writer, others);
    for (int i = 0; i < own_count; i++) {
        if (!own[i].writes != !writes)
            continue;
        for (int j = 0; j < other_count; j++) {
            if (others[j].writes && ranges_overlap(&own[i].range, &others[j].range))
                return true;
        }
    }
    return false;
}

void running_free(struct running *running)
{
    free(running->ops);
    *running = (struct running){0};
}

bool running_start(struct running *running, const struct op *op, int64_t start_ns)
{
    struct running_op *running_op = ITEMS_ADD(running->ops, running->count, running->capacity);
    if (running_op == NULL)
        return false;
    *running_op = (struct running_op){op, start_ns, false};
    return true;
}

/* Each pair of ops is looked at once, when the first of the two ends. */
bool running_end(struct running *running, const struct op *op, int64_t end_ns)
{
    size_t own = running->count;
    bool spoiled = false;
    for (size_t i = 0; i < running->count; i++) {
        struct running_op *other = &running->ops[i];
        if (other->op == op) {
            own = i;
            spoiled |= other->spoiled;
        } else if (other->start_ns < end_ns) {
            bool both_write = meets(op, true, other->op);
            spoiled |= both_write || meets(op, false, other->op);
            other->spoiled |= both_write || meets(other->op, false, op);
        }
    }
    if (own < running->count)
        running->ops[own] = running->ops[--running->count];
    return spoiled;
}
