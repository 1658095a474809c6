/* simulator_rules.c - the rules; simulator_rules.h says where each comes from. */
#include "simulator_rules.h"

#include <math.h>

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
    double arithmetic = fmax(resident * machine->arithmetic_fill, in_use) / blocks;
    double memory = fmax(resident * machine->memory_fill, in_use) / blocks;
    return fmax(cost.arithmetic_ns * arithmetic, cost.memory_ns * memory);
}

bool rule_kernel_may_start(const struct machine *machine, uint32_t running)
{
    return running < machine->concurrent_kernels;
}

int rule_queue(uint32_t queues, enum op_kind kind, uint32_t stream)
{
    int queue = (int)(stream % queues);
    switch (kind) {
    case OP_KERNEL:
        return queue;
    case OP_H2D:
        return queue + (int)queues;
    case OP_D2H:
        return queue + 2 * (int)queues;
    default:
        return -1;
    }
}

uint32_t rule_queue_count(uint32_t queues)
{
    return 3 * queues;
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
