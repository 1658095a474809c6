/* rules.c - the rules; plan/rules.h says where each comes from. */
#include "plan/rules.h"

#include "plan/host_layout.h"

#include <math.h>

/* Where the host's memory can't give both directions all that their links ask for, a byte out
 * counts for so many of a byte in: what goes out is posted, and what comes in is waited for.
 * [Fitted to what two H200s had each way in tiles, 72 GB/s, and in a chain by the host; where
 * another host's memory gave more, they had 96 out, all that they have beside copies in, and 83
 * in: bench/results/h200-2026-11-25-experiments-devices.csv] */
static const double OUT_WEIGHT = 1.6;

/* A copy has so much of what lies in the cores' own caches, and each core holds so much of what
 * it has packed: rule_packed_bytes_per_s() says how both were found. */
static const double CACHED_BYTES_PER_S = 24e9, CACHED_BY_CORE = 1 << 20, CACHED_OUT = 0.6;

/* How much faster the cores pack where nothing is copied out meanwhile: rule_pack_ns(). */
static const double PACK_ALONE = 1.4;

int64_t rule_launch_ns(const struct machine *machine, enum op_kind kind)
{
    if (op_is_copy(kind) || kind == OP_PEER)
        return machine->copy_start_ns;
    return op_is_launch(kind) ? machine->kernel_latency_ns : 0;
}

int64_t rule_same_engine_ns(const struct machine *machine, enum op_kind kind, bool whole_graph)
{
    if (!op_is_launch(kind))
        return 0;
    return whole_graph ? machine->graph_gap_ns : machine->kernel_gap_ns;
}

int64_t rule_signal_ns(const struct machine *machine, enum op_kind kind, uint32_t waiting)
{
    int64_t polls = waiting * machine->poll_ns;
    if (op_is_launch(kind))
        return machine->kernel_dependency_ns + polls;
    if (kind == OP_H2D)
        return machine->h2d_dependency_ns + polls;
    /* A copy to another device is told of a kernel's end as a copy out is: it is assumed. */
    return kind == OP_D2H || kind == OP_PEER ? machine->d2h_dependency_ns + polls : 0;
}

int rule_copy_engine(const struct machine *machine, enum op_kind kind)
{
    if (kind == OP_PEER)
        return 2;
    return machine->copy_engines == 2 && kind == OP_D2H ? 1 : 0;
}

double rule_copy_bytes_per_s(const struct machine *machine, enum op_kind kind, bool other_busy)
{
    bool in = kind == OP_H2D;
    double own = in ? machine->h2d_bytes_per_s : machine->d2h_bytes_per_s;
    double other = in ? machine->d2h_bytes_per_s : machine->h2d_bytes_per_s;
    double joint = machine->joint_bytes_per_s;
    if (!other_busy || own + other <= joint)
        return own;
    double half = joint / 2;
    if (own < half)
        return own;
    double left = other < half ? joint - other : half;
    return left < own ? left : own;
}

double rule_rows_share(const struct machine *machine, enum op_kind kind, uint64_t row_bytes)
{
#define SIZE(bytes) bytes,
    static const double sizes[] = {MACHINE_ROW_SIZES(SIZE)};
#undef SIZE
    const double *shares = kind == OP_H2D ? machine->row_h2d_share : machine->row_d2h_share;
    const double bytes = (double)row_bytes;
    if (bytes <= sizes[0])
        return shares[0];
    for (int i = 1; i < MACHINE_ROW_SIZE_COUNT; i++) {
        if (bytes <= sizes[i])
            return shares[i - 1] + (shares[i] - shares[i - 1]) * log(bytes / sizes[i - 1]) /
                                       log(sizes[i] / sizes[i - 1]);
    }
    return shares[MACHINE_ROW_SIZE_COUNT - 1];
}

double rule_rows_bytes_per_s(const struct machine *machine, const struct plan *plan,
                             const struct op *op)
{
    if (plan->copy == COPY_WHOLE || !op_is_copy(op->kind))
        return INFINITY;
    const struct host_rows rows = host_layout_rows(plan, &op->copy.host);
    if (rows.count == 1)
        return INFINITY;
    return rule_rows_share(machine, op->kind, rows.bytes) *
           rule_copy_bytes_per_s(machine, op->kind, false);
}

double rule_packed_bytes_per_s(const struct machine *machine, const struct plan *plan,
                               const struct op *op)
{
    const bool in = op->kind == OP_H2D;
    const enum buffer buffer = op->copy.host.buffer;
    if (!plan->packs || !op_is_copy(op->kind) ||
        (buffer != BUFFER_HOST_PACK_IN0 && buffer != BUFFER_HOST_PACK_IN1 &&
         buffer != BUFFER_HOST_PACK_OUT))
        return INFINITY;
    const double bytes = (double)op->copy.host.bytes;
    const bool waits = plan->memory == MEMORY_PAGEABLE &&
                       plan_last_kernel(plan)->shape == KERNEL_REDUCE; /* for its values */
    const double slots = waits ? 1 : plan->slots;
    const double turn = slots * bytes / (CACHED_BY_CORE * machine->cpu_cores);
    const double cached = (in ? 1 : CACHED_OUT) / (1 + turn * turn);
    const double memory = rule_copy_bytes_per_s(machine, op->kind, false);
    return fmin(memory, 1 / (cached / CACHED_BYTES_PER_S + (1 - cached) / memory));
}

double rule_host_bytes_per_s(double asked, double alone, double most)
{
    if (asked <= alone)
        return asked;
    const double own = alone / asked, part = asked / most;
    const double squares = (1 - own * own * own * own) * part * part;
    return asked / sqrt(sqrt(1 + squares * part * part));
}

double rule_host_most(double asked, double alone, double given)
{
    const double unbounded = 1e15, own = alone / asked, times = asked / given;
    const double over = times * times * times * times - 1;
    if (over < 1e-3 || own >= 1)
        return unbounded;
    return asked * sqrt(sqrt((1 - own * own * own * own) / over));
}

/* Returns what one device's copies in both directions have together. */
static double joint_alone(const struct machine *machine)
{
    const double both = machine->h2d_bytes_per_s + machine->d2h_bytes_per_s;
    return machine->joint_bytes_per_s < both ? machine->joint_bytes_per_s : both;
}

struct host_rates rule_host_rates(const struct machine *machine, uint32_t devices)
{
    const double in = machine->h2d_bytes_per_s, out = machine->d2h_bytes_per_s;
    const double joint = joint_alone(machine);
    struct host_rates rates = {
        fmax(in, rule_host_bytes_per_s(devices * in, in, machine->host_h2d_bytes_per_s)),
        fmax(out, rule_host_bytes_per_s(devices * out, out, machine->host_d2h_bytes_per_s)),
        fmax(joint,
             rule_host_bytes_per_s(devices * joint, joint, machine->host_joint_bytes_per_s)),
    };
    rates.joint = fmax(rates.joint, fmax(rates.in, rates.out));
    return rates;
}

double rule_apart_bytes_per_s(const struct machine *machine)
{
    const double in = machine->h2d_bytes_per_s, out = machine->d2h_bytes_per_s;
    const double both = in * rule_host_share(machine, OP_H2D, in, out) +
                        out * rule_host_share(machine, OP_D2H, in, out);
    return fmax(both, fmax(in, out));
}

bool rule_peers_pay(const struct machine *machine)
{
    return machine_has_peers(machine) && machine->peer_bytes_per_s >= joint_alone(machine) / 2;
}

double rule_host_share(const struct machine *machine, enum op_kind kind, double in, double out)
{
    const bool to_device = kind == OP_H2D;
    const double own = to_device ? in : out, both = in + out;
    const double alone = to_device ? machine->h2d_bytes_per_s : machine->d2h_bytes_per_s;
    const double most =
        to_device ? machine->host_h2d_bytes_per_s : machine->host_d2h_bytes_per_s;
    const double share = rule_host_bytes_per_s(own, alone, most) / own;
    if (own >= both)
        return share;
    const double given =
        rule_host_bytes_per_s(both, joint_alone(machine), machine->host_joint_bytes_per_s);
    const double weight = machine->host_shared == MACHINE_SHARES_SWITCH ? 1 : OUT_WEIGHT;
    const double writes = fmin(out, given * weight * out / (weight * out + in));
    return fmin(share, to_device ? (given - writes) / in : writes / out);
}

double rule_peer_bytes_per_s(const struct machine *machine, uint32_t into, bool both_ways)
{
    const double half = machine->peer_joint_bytes_per_s / 2;
    const double way =
        both_ways ? fmin(machine->peer_bytes_per_s, half) : machine->peer_bytes_per_s;
    return way / into;
}

int64_t rule_copy_latency_ns(const struct machine *machine, enum op_kind kind)
{
    if (kind == OP_PEER)
        return machine->peer_latency_ns;
    return kind == OP_H2D ? machine->h2d_latency_ns : machine->d2h_latency_ns;
}

int64_t rule_copy_gap_ns(const struct machine *machine, enum op_kind kind, bool waited_for,
                         bool other_busy, uint32_t waiting)
{
    enum { POLLS_MOST = 4 };
    int64_t gap = kind == OP_H2D ? machine->h2d_gap_ns : machine->d2h_gap_ns;
    if (!waited_for)
        return gap;
    int64_t signal = machine->signal_gap_ns +
                     (waiting < POLLS_MOST ? waiting : POLLS_MOST) * machine->poll_ns;
    return other_busy || signal < gap ? signal : (gap + signal) / 2;
}

uint32_t rule_copies(const struct plan *plan, const struct op *op)
{
    if (op->kind == OP_PACK)
        return op_tiles(op);
    if (plan->issue != ISSUE_BATCH || !op_is_copy(op->kind))
        return 1;
    bool values = op->kind == OP_D2H && plan_last_kernel(plan)->shape == KERNEL_REDUCE;
    return values ? 1 : op_tiles(op);
}

bool rule_graph_by_node(const struct machine *machine, enum op_kind kind)
{
    return machine->graph_copies_node_ns > 0 && op_is_node(kind) && kind != OP_KERNEL;
}

bool rule_takes_issue(const struct machine *machine, enum issue issue)
{
    return issue == ISSUE_GRAPH   ? machine->graph_launch_ns > 0
           : issue == ISSUE_BATCH ? machine->batch_gap_ns > 0
                                  : true;
}

int64_t rule_graph_launch_ns(const struct machine *machine, uint32_t nodes, bool by_node)
{
    return machine->graph_launch_ns +
           nodes * (by_node ? machine->graph_copies_node_ns : machine->graph_launch_node_ns);
}

int64_t rule_graph_node_ns(const struct machine *machine, bool by_node)
{
    return by_node ? 0 : machine->graph_node_ns;
}

int rule_queue(const struct machine *machine, uint32_t queues, enum op_kind kind,
               uint32_t stream)
{
    int queue = (int)(stream % queues);
    switch (kind) {
    case OP_KERNEL:
    case OP_D2D:
    case OP_MEMSET:
        return queue;
    case OP_H2D:
    case OP_D2H:
    case OP_PEER:
        return queue + (1 + rule_copy_engine(machine, kind)) * (int)queues;
    default:
        return -1;
    }
}

uint32_t rule_queue_count(uint32_t queues)
{
    return 4 * queues;
}

bool rule_checks_dependencies(const struct machine *machine)
{
    return machine->concurrent_kernels > 1 && machine->compute_capability >= 2.0 &&
           machine->compute_capability < 3.5;
}

bool rule_dependent_may_go(uint32_t op, uint32_t first_unplaced, uint32_t run_left)
{
    return first_unplaced > op && run_left == 0;
}

bool rule_check_holds_kernel(uint32_t check, uint32_t kernel)
{
    return check < kernel;
}

int64_t rule_issue_ns(const struct machine *machine, enum op_kind kind)
{
    switch (kind) {
    case OP_H2D:
    case OP_D2H:
    case OP_D2D:
    case OP_PEER:
        return machine->issue_copy_ns;
    case OP_KERNEL:
    case OP_MEMSET:
        return machine->issue_kernel_ns;
    case OP_RECORD:
        return machine->issue_record_ns;
    case OP_WAIT:
        return machine->issue_wait_ns;
    case OP_CALLBACK:
        return machine->issue_callback_ns;
    case OP_CPU: /* the CPU's own thread takes it up by itself */
    case OP_SYNC:
    case OP_ALLOC:
    case OP_SYNC_EVENT:
    case OP_PACK:
    case OP_KIND_COUNT:
        break;
    }
    return 0;
}

int64_t rule_pack_ns(const struct machine *machine, const struct plan *plan, uint64_t bytes)
{
    const bool alone =
        plan->packs && (plan->slots == 1 || plan_last_kernel(plan)->shape == KERNEL_REDUCE);
    const double rate = machine->pack_bytes_per_s * (alone ? PACK_ALONE : 1);
    const double all_cores_ns = 2e9 * (double)bytes / rate;
    if (bytes < RULE_PACK_SHARE_BYTES)
        return machine_ceil_ns(all_cores_ns / machine->cpu_core_share);
    return machine->pack_ns + machine_ceil_ns(all_cores_ns);
}

/* Returns what a call that takes memory and the one that gives it back take together. */
static int64_t pair_ns(const struct machine *machine, const struct op *op)
{
    const double bytes = (double)op->alloc.bytes, MIB = 1 << 20;
    if (op->alloc.pinned)
        return machine->alloc_ns + machine->pinned_ns +
               machine_round_ns(1e9 * bytes / machine->pinned_bytes_per_s);
    /* A piece of a larger one that the driver holds anyway. Tiles whose memory comes and goes
     * are all that there is of their kind, so that the driver gives that back, too. */
    if (op->alloc.bytes < MACHINE_SMALL_ALLOC && op->alloc.action == ALLOC_PAIR)
        return machine->alloc_small_ns;
    return machine->alloc_ns + machine_round_ns(bytes / MIB * (double)machine->alloc_mib_ns);
}

int64_t rule_call_ns(const struct machine *machine, const struct op *op)
{
    if (op_is_sync(op->kind))
        return machine->sync_ns;
    if (op->alloc.ordered)
        return machine->issue_take_ns;
    return op->alloc.action == ALLOC_PAIR ? pair_ns(machine, op) : pair_ns(machine, op) / 2;
}

static bool synchronises_implicitly(const struct machine *machine)
{
    return machine->compute_capability < 5.0;
}

bool rule_call_synchronises(const struct machine *machine, const struct op *op)
{
    if (op->kind == OP_PACK || (op->kind == OP_ALLOC && op->alloc.ordered))
        return false;
    if (op->kind == OP_ALLOC && op->alloc.action == ALLOC_TAKE)
        return synchronises_implicitly(machine);
    return op_is_sync(op->kind) || rule_alloc_synchronises(machine, op->alloc.pinned);
}

bool rule_sync_encompasses(enum stream_kind synced, enum stream_kind other)
{
    return synced == STREAM_LEGACY && rule_legacy_orders(synced, other);
}

bool rule_op_synchronises(const struct machine *machine, enum op_kind kind)
{
    return (kind == OP_D2D || kind == OP_MEMSET) && synchronises_implicitly(machine);
}

bool rule_alloc_synchronises(const struct machine *machine, bool pinned)
{
    return !pinned || synchronises_implicitly(machine);
}

int64_t rule_load_ns(const struct machine *machine, bool loaded)
{
    return loaded ? 0 : machine->lazy_load_ns;
}

double rule_sleep_part(int64_t slept_ns)
{
    return sqrt(fmin(1, (double)slept_ns / RULE_SLEEP_MOST_NS));
}

int64_t rule_callback_told_ns(const struct machine *machine, int64_t slept_ns)
{
    double wake_ns = (double)machine->callback_wake_ns * rule_sleep_part(slept_ns);
    return machine->callback_latency_ns + machine_round_ns(wake_ns);
}

static double host_bytes_per_s(const struct machine *machine, enum op_kind kind)
{
    return kind == OP_H2D ? machine->pageable_h2d_bytes_per_s
                          : machine->pageable_d2h_bytes_per_s;
}

int64_t rule_piece_ns(const struct machine *machine, enum op_kind kind, uint64_t bytes)
{
    return machine_ceil_ns(1e9 * (double)bytes / host_bytes_per_s(machine, kind));
}

double rule_staged_bytes_per_s(const struct machine *machine, enum op_kind kind,
                               double link_bytes_per_s)
{
    double host = host_bytes_per_s(machine, kind);
    return host < link_bytes_per_s ? host : link_bytes_per_s;
}

uint64_t rule_staged_last_bytes(const struct machine *machine, enum op_kind kind,
                                uint64_t bytes)
{
    if (kind != OP_H2D)
        return 0;
    return bytes < machine->staging_piece_bytes ? bytes : machine->staging_piece_bytes;
}

double rule_prefetch_bytes_per_s(const struct machine *machine, enum op_kind kind)
{
    return kind == OP_H2D ? machine->prefetch_in_bytes_per_s
                          : machine->prefetch_out_bytes_per_s;
}

int64_t rule_prefetch_ns(const struct machine *machine, enum op_kind kind)
{
    return kind == OP_H2D ? machine->prefetch_in_ns : machine->prefetch_out_ns;
}

int64_t rule_prefetch_begin_ns(const struct machine *machine, enum op_kind kind)
{
    return kind == OP_H2D ? machine->prefetch_begin_ns : 0;
}

double rule_fault_ns(const struct machine *machine, double bytes)
{
    return 1e9 * bytes / machine->fault_bytes_per_s;
}

double rule_managed_ns(const struct machine *machine, bool prefetches, double in, double out)
{
    if (!prefetches)
        return rule_fault_ns(machine, in + out);
    return 1e9 * ((in + out) / machine->prefetch_in_bytes_per_s +
                  out / machine->prefetch_out_bytes_per_s);
}
