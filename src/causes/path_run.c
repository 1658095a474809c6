/* path_run.c - names the cause of a piece of the critical path. */
#include "analysis/traced.h"
#include "causes/judge.h"

#include "plan/rules.h"

#include <math.h>
#include <string.h>

enum {
    SHORT_CALLBACKS = 8, /* a callback is short if that many fill what it followed */
    OVERHEADS = 4, /* an op is slow for being short if it lost that many latencies at most */
    GAPS = 2,      /* and a batch that many times its gaps */
};

static const struct span *span_of(const struct verdict_case *facts, uint32_t index)
{
    return &facts->timeline->spans[index];
}

/* --- the bytes that two ops share --- */

struct common {
    bool data;  /* the first wrote what the second reads */
    bool bytes; /* one of both wrote what the other touches */
};

static struct common common_of(const struct op *first, const struct op *second)
{
    struct access before[OP_ACCESS_MAX], after[OP_ACCESS_MAX];
    int befores = op_accesses(first, before), afters = op_accesses(second, after);
    struct common common = {false, false};
    for (int i = 0; i < befores; i++) {
        for (int j = 0; j < afters; j++) {
            if (!ranges_overlap(&before[i].range, &after[j].range))
                continue;
            common.data |= before[i].writes && !after[j].writes;
            common.bytes |= before[i].writes || after[j].writes;
        }
    }
    return common;
}

/* Returns the cause of an op that waited for a callback. A callback that is short, with the way
 * to the thread that calls it, against what it followed only came last in its stream, for which
 * the op would have waited anyway. */
static enum verdict_code callback_cause(const struct verdict_case *facts,
                                        const struct span *callback, const struct span *span)
{
    uint32_t index = (uint32_t)(callback - facts->timeline->spans);
    const struct hold *hold = &facts->critical->holds[index];
    if (hold->span == SPAN_NONE || span->kind != OP_H2D)
        return VERDICT_SLOW_CALLBACK;
    const struct span *before = span_of(facts, hold->span);
    bool slow = before->kind == OP_CALLBACK ||
                callback->end_ns - before->end_ns >
                    (before->end_ns - before->start_ns) / SHORT_CALLBACKS;
    return slow                            ? VERDICT_SLOW_CALLBACK
           : facts->timeline->streams == 1 ? VERDICT_ONE_STREAM
                                           : VERDICT_FEW_STREAMS;
}

/* Returns the cause of an op that waited for another by its stream's order or by an event. */
static enum verdict_code order_cause(const struct verdict_case *facts, const struct span *from,
                                     const struct span *span, bool event)
{
    bool alone = facts->timeline->streams == 1;
    if (from->kind == OP_CALLBACK)
        return callback_cause(facts, from, span);
    if (from->engine == span->engine &&
        from->device == span->device) /* it would have, as well */
        return VERDICT_REST;
    struct common common = common_of(&facts->plan->ops[from->op], &facts->plan->ops[span->op]);
    bool same_tile = from->tile == span->tile && from->tile >= 0;
    if (common.data || (same_tile && !event))
        return VERDICT_REST;
    if (alone)
        return VERDICT_ONE_STREAM;
    /* A copy in is the first op of a tile, so it can only wait for room. */
    bool room = common.bytes || span->kind == OP_H2D;
    return room ? VERDICT_FEW_STREAMS : VERDICT_NEEDLESS_WAIT;
}

/* --- streams, queues, engines --- */

enum verdict_code verdict_legacy_cause(const struct timeline *timeline, const struct span *from,
                                       const struct span *span)
{
    bool legacy = timeline_stream_kind(timeline, span->stream) == STREAM_LEGACY;
    const struct span *in_legacy = legacy ? span : from;
    bool tiles_work = op_is_copy(in_legacy->kind) || in_legacy->kind == OP_KERNEL;
    return tiles_work ? VERDICT_LEGACY_STREAM : VERDICT_BLOCKING_STREAM;
}

static enum verdict_code barrier_cause(const struct span *from, const struct span *span)
{
    bool memset = from->kind == OP_MEMSET || span->kind == OP_MEMSET;
    return memset ? VERDICT_MEMSET_IN_LOOP : VERDICT_DEVICE_COPIES;
}

/* Returns the cause of an op that waited behind `blocker` in their hardware queue. */
static enum verdict_code queue_cause(const struct verdict_case *facts,
                                     const struct span *blocker, const struct span *span)
{
    if (op_is_copy(span->kind) && blocker->kind != span->kind)
        return VERDICT_ONE_COPY_ENGINE;
    return facts->machine->queues == 1 ? VERDICT_ONE_QUEUE : VERDICT_FEW_QUEUES;
}

/* Returns the cause of an op whose engine was at another's work. Where that one came first only
 * because it was issued first, and waited while this one could have gone, the queue is. */
static enum verdict_code engine_cause(const struct verdict_case *facts,
                                      const struct path_piece *piece)
{
    const struct span *span = span_of(facts, piece->span), *from = span_of(facts, piece->from);
    const struct hold *holds = facts->critical->holds;
    if (from->kind == OP_CALLBACK)
        return VERDICT_SLOW_CALLBACK;
    if (!op_on_device(span->kind) || !op_on_device(from->kind) || from->op > span->op ||
        holds[piece->from].by == HELD_BY_ENGINE ||
        holds[piece->span].ready_ns >= holds[piece->from].ready_ns)
        return VERDICT_REST;
    const struct machine *machine = facts->machine;
    const struct stream_home home = timeline_stream_home(facts->timeline, span->stream);
    const struct stream_home its = timeline_stream_home(facts->timeline, from->stream);
    int queue = rule_queue(machine, machine->queues, span->kind, home.number);
    int other = rule_queue(machine, machine->queues, from->kind, its.number);
    const bool same = queue == other && home.device == its.device;
    return same && op_is_copy(span->kind) ? queue_cause(facts, from, span) : VERDICT_REST;
}

static enum verdict_code held_cause(const struct verdict_case *facts,
                                    const struct path_piece *piece)
{
    const struct hold *hold = &facts->critical->holds[piece->span];
    const struct span *span = span_of(facts, piece->span), *from = span_of(facts, piece->from);
    switch (hold->by) {
    case HELD_BY_STREAM:
    case HELD_BY_EVENT:
        return order_cause(facts, from, span, hold->by == HELD_BY_EVENT);
    case HELD_BY_LEGACY:
        return verdict_legacy_cause(facts->timeline, from, span);
    case HELD_BY_BARRIER:
        return barrier_cause(from, span);
    case HELD_BY_QUEUE:
        return queue_cause(facts, span_of(facts, hold->blocker), span);
    case HELD_BY_ENGINE:
        return engine_cause(facts, piece);
    default:
        return verdict_marked(MARKED_HOLD, hold->by);
    }
}

/* Returns the cause of an allocation, which is `op` or, where it took no time itself, the last
 * one before that. Before all work of the device it is no part of a loop. */
static enum verdict_code alloc_cause(const struct plan *plan, uint32_t op)
{
    while (op > 0 && plan->ops[op].kind != OP_ALLOC)
        op--;
    if (plan->alloc == ALLOC_ASYNC || plan->alloc == ALLOC_POOL)
        return VERDICT_ALLOC_IN_STREAM;
    if (plan->ops[op].kind != OP_ALLOC || !plan->ops[op].alloc.pinned)
        return VERDICT_ALLOC_IN_LOOP;
    uint32_t first = 0;
    while (first < op && !op_on_device(plan->ops[first].kind))
        first++;
    return first == op ? VERDICT_PIN_IN_RUN : VERDICT_PINNED_ALLOC_IN_LOOP;
}

/* Returns true if the op is the first launch of its kernel. */
static bool first_launch(const struct plan *plan, const struct op *op)
{
    for (uint32_t i = 0; i < op->id; i++) {
        if (plan->ops[i].kind == OP_KERNEL && plan->ops[i].kernel.link == op->kernel.link)
            return false;
    }
    return true;
}

/* Returns true if the call that issued `op` took so long that it must have loaded code. The
 * whole call counts, of which a piece may be a part. */
static bool loads_code(const struct verdict_case *facts, const struct op *op)
{
    const struct timeline *timeline = facts->timeline;
    if (op->id + 1 >= timeline->issue_count)
        return false;
    int64_t length_ns = timeline->issue_ns[op->id + 1] - timeline->issue_ns[op->id];
    return op->kind == OP_KERNEL && length_ns >= TRACED_LOAD_NS &&
           length_ns >= TRACED_LOAD_LAUNCHES * facts->machine->issue_kernel_ns &&
           first_launch(facts->plan, op);
}

enum verdict_code verdict_link_cause(const struct verdict_case *facts,
                                     const struct path_piece *piece)
{
    switch (piece->link) {
    case LINK_HELD:
        return held_cause(facts, piece);
    case LINK_SYNC:
        return verdict_marked(MARKED_CALL, facts->plan->ops[piece->op].kind);
    case LINK_ALLOC:
        return alloc_cause(facts->plan, piece->op);
    case LINK_LAUNCH:
        return loads_code(facts, &facts->plan->ops[piece->op]) ? VERDICT_LAZY_LOADING
                                                               : VERDICT_LAUNCH_BLOCKING;
    default:
        return VERDICT_REST;
    }
}

/* --- pieces that are causes themselves --- */

/* Returns the cause of an op that took long to be handed over, for it is short: a row, or a
 * tile.
 */
static enum verdict_code short_cause(const struct plan *plan, const struct op *op)
{
    const bool row = plan->copy == COPY_ROWS && !plan->packs && op_is_copy(op->kind);
    return row ? VERDICT_ROW_COPIES : VERDICT_SMALL_TILES;
}

static enum verdict_code call_cause(const struct verdict_case *facts,
                                    const struct path_piece *piece)
{
    if (piece->op == UINT32_MAX)
        return VERDICT_SMALL_TILES;
    const struct op *op = &facts->plan->ops[piece->op];
    if (op->kind == OP_ALLOC)
        return alloc_cause(facts->plan, piece->op);
    if (op_is_call(op->kind))
        return verdict_marked(MARKED_CALL, op->kind);
    if (rule_copy_staged(facts->plan, op))
        return VERDICT_PAGEABLE_MEMORY;
    if (loads_code(facts, op))
        return VERDICT_LAZY_LOADING;
    enum verdict_code link = verdict_link_cause(facts, piece);
    return link != VERDICT_REST ? link : short_cause(facts->plan, op);
}

/* Returns the cause of a copy from device to device that somebody waited for. A chain's have to
 * be; a stencil's could be hidden behind the inner rows, where these are in a stream of their
 * own and take as long. */
static enum verdict_code peer_cause(const struct plan *plan)
{
    const bool hides = plan->streams > plan_devices(plan);
    if (!plan->has_halo)
        return VERDICT_REST;
    return hides ? VERDICT_LONG_EXCHANGE : VERDICT_BARE_EXCHANGE;
}

static enum verdict_code work_cause(const struct verdict_case *facts,
                                    const struct path_piece *piece)
{
    const struct span *span = span_of(facts, piece->span);
    bool legacy = timeline_stream_kind(facts->timeline, span->stream) == STREAM_LEGACY;
    bool staged = rule_copy_staged(facts->plan, &facts->plan->ops[span->op]);
    if (op_is_copy(span->kind))
        return staged ? VERDICT_PAGEABLE_MEMORY : VERDICT_REST;
    if (span->kind == OP_PEER)
        return peer_cause(facts->plan);
    if (span->kind == OP_MEMSET && legacy)
        return VERDICT_BLOCKING_STREAM;
    return verdict_marked(MARKED_WORK, span->kind);
}

enum verdict_code verdict_piece_cause(const struct verdict_case *facts,
                                      const struct path_piece *piece)
{
    if (piece->kind == PIECE_CALL)
        return call_cause(facts, piece);
    if (piece->kind == PIECE_WORK)
        return work_cause(facts, piece);
    /* Handing an op over takes long, unless what it waited for is a cause. */
    enum verdict_code cause = verdict_link_cause(facts, piece);
    const enum op_kind kind = span_of(facts, piece->span)->kind;
    const bool by_peer =
        piece->link == LINK_HELD && span_of(facts, piece->from)->kind == OP_PEER;
    if (cause == VERDICT_REST && (kind == OP_PEER || by_peer))
        cause = peer_cause(facts->plan);
    if (kind == OP_KERNEL && facts->plan->sharing == SHARING_SLICES &&
        piece->end_ns - piece->start_ns >= facts->machine->context_switch_ns)
        cause = VERDICT_TIME_SLICES;
    if (cause == VERDICT_REST)
        cause =
            kind == OP_CALLBACK
                ? VERDICT_SLOW_CALLBACK
                : short_cause(facts->plan, &facts->plan->ops[span_of(facts, piece->span)->op]);
    return cause;
}

/* --- work slower than the machine's rate --- */

/* The engine needs some time between the copies of a batch. */
static int64_t copy_slowness_ns(const struct verdict_case *facts, const struct span *span,
                                enum verdict_code *cause)
{
    const struct machine *machine = facts->machine;
    const struct op *op = &facts->plan->ops[span->op];
    uint32_t copies = rule_copies(facts->plan, op);
    int64_t gaps_ns = GAPS * (copies - 1) * machine->batch_gap_ns;
    bool in = span->kind == OP_H2D;
    double alone = in ? machine->h2d_bytes_per_s : machine->d2h_bytes_per_s;
    double rate = fmin(alone, machine->joint_bytes_per_s / 2);
    int64_t latency_ns = in ? machine->h2d_latency_ns : machine->d2h_latency_ns;
    int64_t work_ns = machine_round_ns(1e9 * (double)span->bytes / rate);
    int64_t more_ns = span->end_ns - span->start_ns - work_ns;
    bool small = more_ns <= OVERHEADS * latency_ns + gaps_ns;
    const bool far = numa_is_far(&facts->timeline->numa, span->device);
    const double rows = rule_rows_bytes_per_s(machine, facts->plan, op);
    *cause = facts->plan->prefetches ? VERDICT_MANAGED_MEMORY
             : rows < rate           ? VERDICT_NARROW_ROWS
             : small                 ? short_cause(facts->plan, op)
             : far                   ? VERDICT_FAR_MEMORY
                                     : VERDICT_SLOW_COPIES;
    return more_ns;
}

/* Copies in of several devices have less than an even share of the host's memory beside copies
 * out: rule_host_share(). */
static int64_t read_slowness_ns(const struct verdict_case *facts, const struct span *span,
                                enum verdict_code *cause)
{
    const uint32_t devices = plan_gpus(facts->plan);
    const double even = rule_host_rates(facts->machine, devices).joint / 2 / devices;
    *cause = VERDICT_SLOW_READS;
    return span->end_ns - span->start_ns - machine_round_ns(1e9 * (double)span->bytes / even);
}

static int64_t kernel_slowness_ns(const struct verdict_case *facts, const struct op *op,
                                  const struct span *span, enum verdict_code *cause)
{
    const struct kernel *kernel = facts->plan->chain[op->kernel.link];
    struct kernel_cost cost =
        machine_kernel_cost(facts->machine, kernel, &facts->plan->params, op->kernel.count);
    int64_t work_ns = machine_round_ns(fmax(cost.memory_ns, cost.arithmetic_ns));
    int64_t more_ns = span->end_ns - span->start_ns - work_ns;
    double fill = cost.memory_ns > cost.arithmetic_ns ? cost.memory_fill : cost.arithmetic_fill;
    bool few = op->kernel.blocks < fill * machine_resident_blocks(facts->machine);
    if (more_ns > facts->machine->context_switch_ns &&
        facts->plan->sharing ==
            SHARING_SLICES) /* it was stopped, while others had their turn */
        *cause = VERDICT_TIME_SLICES;
    else if (few)
        *cause = VERDICT_FEW_BLOCKS;
    else
        *cause =
            more_ns <= OVERHEADS * cost.fixed_ns ? VERDICT_SMALL_TILES : VERDICT_SLOW_KERNELS;
    return more_ns;
}

int64_t verdict_slowness_ns(const struct verdict_case *facts, const struct path_piece *piece,
                            enum verdict_code *cause)
{
    *cause = VERDICT_REST;
    if (piece->kind != PIECE_WORK)
        return 0;
    const struct span *span = span_of(facts, piece->span);
    int64_t length_ns = span->end_ns - span->start_ns, more_ns = 0;
    if (facts->limit->cause == LIMIT_COPIES && op_is_copy(span->kind)) {
        more_ns = copy_slowness_ns(facts, span, cause);
    } else if (facts->limit->cause == LIMIT_HOST && span->kind == OP_H2D &&
               strcmp(facts->limit->figure, "host_joint_bytes_per_s") == 0) {
        more_ns = read_slowness_ns(facts, span, cause);
    } else if ((facts->limit->cause == LIMIT_COMPUTE || facts->plan->has_halo) &&
               span->kind == OP_KERNEL) {
        more_ns = kernel_slowness_ns(facts, &facts->plan->ops[span->op], span, cause);
    } else if (plan_kernels_move_bytes(facts->plan) && span->kind == OP_KERNEL) {
        /* Such a kernel is judged by the bytes that it moves over the link. */
        *cause =
            facts->plan->memory == MEMORY_MANAGED ? VERDICT_PAGE_FAULTS : VERDICT_MAPPED_MEMORY;
        more_ns = length_ns - machine_round_ns(1e9 * (double)span->bytes /
                                               facts->machine->joint_bytes_per_s);
    }
    if (more_ns <= 0 || length_ns <= 0)
        return 0;
    double part = (double)(piece->end_ns - piece->start_ns) / (double)length_ns;
    return (int64_t)(part * (double)more_ns);
}
