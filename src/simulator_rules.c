/* simulator_rules.c - the rules; simulator_rules.h says where each comes from. */
#include "simulator_rules.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

int64_t rule_ready_delay_ns(const struct machine *machine, enum op_kind kind, bool woken,
                            bool same_engine)
{
    int64_t launch = kind == OP_KERNEL ? machine->kernel_latency_ns : 0;
    return woken && !same_engine ? launch + machine->dependency_ns : launch;
}

int rule_copy_engine(const struct machine *machine, enum op_kind kind)
{
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

int64_t rule_copy_latency_ns(const struct machine *machine, enum op_kind kind)
{
    return kind == OP_H2D ? machine->h2d_latency_ns : machine->d2h_latency_ns;
}

int64_t rule_copy_gap_ns(const struct machine *machine, enum op_kind kind)
{
    return kind == OP_H2D ? machine->h2d_gap_ns : machine->d2h_gap_ns;
}

uint32_t rule_blocks_placed(uint32_t wanted, uint32_t resident_blocks, uint32_t blocks_in_use)
{
    uint32_t room = resident_blocks - blocks_in_use;
    return wanted < room ? wanted : room;
}

double rule_block_ns(const struct machine *machine, struct kernel_cost cost, uint32_t blocks,
                     uint32_t in_use)
{
    double resident = machine_resident_blocks(machine);
    double arithmetic = larger(resident * machine->arithmetic_fill, in_use) / blocks;
    double memory = larger(resident * machine->memory_fill, in_use) / blocks;
    return larger(cost.arithmetic_ns * arithmetic, cost.memory_ns * memory);
}

bool rule_kernel_may_start(const struct machine *machine, uint32_t running)
{
    return running < machine->concurrent_kernels;
}

int rule_queue(const struct machine *machine, uint32_t queues, enum op_kind kind,
               uint32_t stream)
{
    int queue = (int)(stream % queues);
    switch (kind) {
    case OP_KERNEL:
        return queue;
    case OP_H2D:
    case OP_D2H:
        return queue + (1 + rule_copy_engine(machine, kind)) * (int)queues;
    default:
        return -1;
    }
}

uint32_t rule_queue_count(uint32_t queues)
{
    return 3 * queues;
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
        return machine->issue_copy_ns;
    case OP_KERNEL:
        return machine->issue_kernel_ns;
    case OP_RECORD:
        return machine->issue_record_ns;
    case OP_WAIT:
        return machine->issue_wait_ns;
    case OP_CALLBACK:
        return machine->issue_callback_ns;
    case OP_CPU: /* the CPU's own thread takes it up by itself */
    case OP_KIND_COUNT:
        break;
    }
    return 0;
}

bool rule_call_waits(enum op_kind kind, bool pageable)
{
    return pageable && (kind == OP_H2D || kind == OP_D2H);
}

double rule_staged_bytes_per_s(const struct machine *machine, enum op_kind kind,
                               double link_bytes_per_s)
{
    double host =
        kind == OP_H2D ? machine->pageable_h2d_bytes_per_s : machine->pageable_d2h_bytes_per_s;
    return host < link_bytes_per_s ? host : link_bytes_per_s;
}

uint64_t rule_staged_last_bytes(const struct machine *machine, enum op_kind kind,
                                uint64_t bytes)
{
    if (kind != OP_H2D)
        return 0;
    return bytes < machine->staging_bytes ? bytes : machine->staging_bytes;
}
