/* work.c - the work of ops, and how long it takes. */
#include "cpu/parts.h"

#include "plan/rules_blocks.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- the time of a launch --- */

/* The cache hands out this many times what the memory behind it does. [NVIDIA H100: 5.5 to 7
 * TB/s against 3.35; Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU
 * Architecture via Microbenchmarking", 2024] */
static const double CACHE_RATE = 1.8;

/* A sector that a warp writes, all or part of it, takes as long as this many that are read from
 * the memory; and a launch's first loads and last stores take this long, in ns. [Fitted to
 * kernels of the exercises on an H200: transposing 8.7 MB by scattered stores took 33.9 us, in
 * tiles 5.0, filling 4 MiB 3.3, scaling 1 MiB 1.54, 256 KiB in place 1.2] */
static const double WRITTEN = 2;
static const int64_t LATENCY_NS = 580;

/* An SM could compute so many operations while its L1 hands out a sector. [Fitted to an H200:
 * the kernel of the first exercise, of 4 million threads, has each warp read 16 times from a
 * window of 16 KiB, no two lanes the same, and takes 96 us] */
static const double TURN_FLOPS = 90;

/* An operation in double precision takes as long as this many in single. */
static const double DOUBLE = 2;

/* Returns the bytes that a launch moves from and to the device's memory, by pieces that the
 * cache takes as a whole. What was not watched is taken to read all that it was given. */
static double bytes_moved(const struct clock_op *op)
{
    double bytes = 0;
    for (size_t i = 0; i < op->did.range_count; i++) {
        const struct cpu_range *range = &op->did.ranges[i];
        const uint64_t first = range->from / CPU_SECTOR,
                       last = (range->from + range->bytes - 1) / CPU_SECTOR;
        bytes +=
            (double)CPU_SECTOR * (double)(last - first + 1) * (range->reads + range->writes);
    }
    for (uint32_t i = 0; i < op->word_count && !op->did.watched; i++) {
        const struct cpu_block *block = cpu_block_at(op->words[i]);
        bytes += block != NULL ? (double)block->bytes : 0;
    }
    return bytes;
}

/* Returns how long a launch takes whose work is known. */
static int64_t kernel_ns(const struct clock_op *op)
{
    const struct machine *machine = &clock_now.machine;
    const uint32_t all = machine_resident_blocks(machine);
    const struct op_recorded *seen = &clock_now.plan.recorded->ops[op - clock_now.ops];
    const uint32_t blocks = rule_measured_blocks(machine, seen->fill);
    const struct cpu_did *did = &op->did;
    const double flop_ns = 1e9 / machine->flops_per_s;
    const double sectors =
        fmax((double)did->fresh_sectors / CACHE_RATE, WRITTEN * (double)did->written_sectors);
    const double memory_ns =
        1e9 * fmax(bytes_moved(op), CPU_SECTOR * sectors) / machine->memory_bytes_per_s;
    const double flops = (double)did->flops + DOUBLE * (double)did->flops_double;
    const double turns_ns = flop_ns * TURN_FLOPS * (double)did->turns;
    const struct kernel_cost cost = {
        .memory_ns = memory_ns,
        .arithmetic_ns = fmax(flop_ns * flops, turns_ns - memory_ns), /* turns hide there */
        .memory_fill = machine->memory_fill,
        .arithmetic_fill = machine->arithmetic_fill,
        .idle_memory_share = machine->idle_memory_share,
        .fixed_ns = machine->kernel_fixed_ns + (memory_ns > 0 ? LATENCY_NS : 0),
    };
    const uint32_t in_use = blocks < all ? blocks : all;
    const double sweep_ns = rule_sweep_ns(machine, cost, 1.0 / in_use, in_use, DEALT_EVENLY);
    const double clock_ns = 1e6 * (double)op->did.cycles / CPU_CLOCK_KHZ;
    return cost.fixed_ns + machine_ceil_ns(fmax(sweep_ns, clock_ns));
}

/* Returns how much longer the host takes for the pages that a copy out is the first to touch.
 * [Fitted to exercises on an H200: 8.7 MB took 4.7 ms, and 16 MiB in tiles 12 ms more than
 * where pages have been touched: 1.9 and 2.9 us each] */
static uint32_t new_pages_ns(const struct cpu_op *op)
{
    enum { PAGE_NS = 2000, AT_ONCE = 1024 };
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = op->to + op->bytes;
    uint64_t pages = 0;
    for (uintptr_t at = op->to & -page; at < end; at += AT_ONCE * page) {
        unsigned char is_there[AT_ONCE];
        const uintptr_t left = (end - at + page - 1) / page,
                        count = left < AT_ONCE ? left : AT_ONCE;
        if (mincore((void *)at, count * page, is_there) != 0)
            break;
        for (uintptr_t i = 0; i < count; i++)
            pages += (is_there[i] & 1) == 0;
    }
    return (uint32_t)fmin((double)pages * PAGE_NS, UINT32_MAX);
}

/* --- work --- */

static void say_fault(const struct clock_op *op)
{
    const struct cpu_launch *launch = op->op.launch;
    const struct clock_call *call = &clock_now.calls[op->call];
    const char *file = launch != NULL ? launch->file : call->file;
    fflush(stdout);
    fprintf(stderr, "pipeline: %s:%d: %s%s: %s\n", file != NULL ? file : "C",
            launch != NULL ? launch->line : call->line, launch != NULL ? "kernel " : "",
            launch != NULL ? launch->name : call->name, op->did.fault);
    clock_now.failed = true;
}

void clock_do_work(struct clock_op *op)
{
    struct op_recorded *seen = &clock_now.plan.recorded->ops[op - clock_now.ops];
    const int64_t since_ns = clock_processor_ns();
    if (op->done || !op->is_work)
        return;
    op->done = true;
    clock_own.depth++; /* the work's own calls are none of the program's */
    if (op->op.kind == CPU_COPY && seen->pageable && op->op.to_device < 0)
        seen->new_ns = new_pages_ns(&op->op);
    hazard_begin(op->doing);
    if (op->op.work != NULL && !clock_now.failed) /* a device does nothing after a fault */
        op->op.work(op->op.context, &op->did);
    hazard_end(op->doing, &op->did);
    clock_own.depth--;
    if (op->did.fault[0] != '\0')
        say_fault(op);
    if (op->op.kind == CPU_KERNEL)
        seen->work_ns = kernel_ns(op);
    else if (op->op.kind == CPU_FUNCTION)
        seen->work_ns = clock_now.machine.callback_ns + clock_host_ns(since_ns);
    if (op->op.release != NULL && op->node == 0)
        op->op.release(op->op.context);
}
