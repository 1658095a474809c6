/* work.c - the work of ops, and how long it takes. */
#include "cpu/parts.h"

#include "plan/rules_blocks.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- the time of a launch --- */

/* The cache (L2) hands out this many times what the memory behind it does. [Measured on an
 * H200: 16 MiB in place took 5.9 us, 8 MiB 3.2, which is 6.5 TB/s] It keeps what was used while
 * half as many bytes as it has were used since. [plan/rules_blocks.h, rule_launch_cost()] */
static const double CACHE_RATE = 1.5;
enum { GRAIN = 64 << 10, GRAINS = 1 << 16 }; /* of memory, by address */

/* A sector that a warp writes takes so many times what one that is read from the memory takes,
 * and so much more by the part of it that is written. [Fitted to an H200: whole sectors as
 * above, halves in 6 ps each, and an eighth, by scattered stores that transpose 8.7 MB in 33.9
 * us, in 15] */
static const double WRITTEN = 0.43, IN_PARTS = 0.21;

/* An SM moves this many times its even share of what the cache does, if it has that to itself.
 * [64 bytes a cycle; Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU
 * Architecture via Microbenchmarking", 2024] */
static const double SM_SHARE = 2.5;

/* In ns: a launch's first loads and last stores; each of a warp's requests to the cache, of
 * which two are under way at a time, and how much longer one takes that goes to the memory; a
 * place in memory takes an atomic; and 256 threads begin. [Measured on an H200: 1 thread that
 * counts up took 0.77 us; 264 blocks that read and write a word in each of 31 turns 6.7, in 16
 * turns 3.8; an atomic of each of 2112 warps at one word 2.2 us more; 4096 blocks of 256
 * threads that each write a word 3.2, 1024 blocks that scale one 1.55, 256 blocks 1.05] The
 * memory's part is that of [Luo]. */
static const double LATENCY_NS = 200, REQUEST_NS = 95, MEMORY_NS = 60, CLASH_NS = 1,
                    BARRIER_NS = 35, TOGETHER_NS = 15, BEGIN_NS = 0.61;

/* An SM could compute so many operations while its L1 hands out a sector. [Fitted to an H200:
 * the kernel of the first exercise, of 4 million threads, has each warp read 16 times from a
 * window of 16 KiB, no two lanes the same, and takes 96 us] */
static const double TURN_FLOPS = 90;

/* An operation in double precision, or of integers, takes as long as this many in single; a
 * thread's operations follow one another after so many cycles. [CUDA C++ programming guide,
 * throughput of native arithmetic instructions: an SM does 64 a cycle. An H200 took 35.2 us for
 * a chain of 14400 shifts and exclusive ors; Volta takes 4 cycles: Jia et al., "Dissecting the
 * NVIDIA Volta GPU Architecture via Microbenchmarking", 2018] */
static const double DOUBLE = 2, INTEGER = 2, CHAIN_CYCLES = 4.75;

/* How many bytes of each device's were used, and how many had been when each grain was. */
static uint64_t used[MACHINE_DEVICES_MAX], used_at[GRAINS];

/* Counts bytes of a device's memory as used, which the cache keeps then. Returns how many of
 * them it had not. */
static double use(uintptr_t from, uint64_t bytes, int device, bool keeps)
{
    const uint64_t kept = clock_now.machine.l2_bytes / 2;
    double missed = 0;
    for (uintptr_t at = from, end = from + bytes, next; at < end; at = next) {
        uint64_t *latest = &used_at[at / GRAIN % GRAINS];
        next = (at / GRAIN + 1) * GRAIN;
        next = next < end ? next : end;
        if (*latest == 0 || used[device] - *latest >= kept)
            missed += (double)(next - at);
        used[device] += next - at;
        *latest = keeps ? used[device] : 0;
    }
    return missed;
}

/* This says what a launch moved: over the link, and between cache and memory; and which part of
 * what it read the cache had not. */
struct moved {
    double in, out, missed, missing;
    bool any;
};

/* What was not watched is taken to read all that it was given. */
static struct moved moved_by(const struct clock_op *op)
{
    struct moved moved = {0, 0, 0, 0, false};
    const int device = op->op.launch->device;
    double read = 0;
    for (size_t i = 0; i < op->did.range_count; i++) {
        const struct cpu_range *range = &op->did.ranges[i];
        const struct cpu_block *block = cpu_block_at(range->from);
        const double bytes = (double)range->bytes;
        moved.any = true;
        if (block != NULL && block->device < 0) {
            moved.in += range->reads ? bytes : 0;
            moved.out += range->writes ? bytes : 0;
            continue;
        }
        const double missed = use(range->from, range->bytes, device, true);
        moved.missed += (range->reads + range->writes) * missed;
        moved.missing += range->reads ? missed : 0;
        read += range->reads ? bytes : 0;
    }
    moved.missing /= fmax(1, read);
    for (uint32_t i = 0; i < op->word_count && !op->did.watched; i++) {
        const struct cpu_block *block = cpu_block_at(op->words[i]);
        moved.missed += block != NULL ? (double)block->bytes : 0;
        moved.any |= block != NULL;
    }
    return moved;
}

/* Returns how long a launch's own way over the link takes, to mapped memory: where all threads
 * are there at once, all read before they write. */
static double link_ns(const struct moved *moved, double waves)
{
    const struct machine *machine = &clock_now.machine;
    const double joint = machine_link_ns(machine, moved->in, moved->out);
    const double apart =
        machine_link_ns(machine, moved->in, 0) + machine_link_ns(machine, 0, moved->out);
    return moved->in + moved->out > 0 ? (joint + (apart - joint) / fmax(1, waves)) /
                                                machine_mapped_share(machine, NULL) +
                                            (double)machine->mapped_latency_ns
                                      : 0;
}

/* Returns how long a launch takes whose work is known. */
static int64_t kernel_ns(const struct clock_op *op)
{
    const struct machine *machine = &clock_now.machine;
    const uint32_t all = machine_resident_blocks(machine);
    const struct cpu_did *did = &op->did;
    const struct moved moved = moved_by(op);
    const struct block_need need = {op->threads, CPU_REGISTERS, op->shared};
    const uint32_t room = machine->sms * occupancy_blocks_per_sm(&clock_now.room, &need);
    const double waves = fmax(1, (double)op->blocks / room);
    const uint32_t blocks = rule_measured_blocks(
        machine, occupancy_fill(&clock_now.room, machine->sms, op->blocks, &need));
    const double threads = (double)op->blocks * op->threads;
    const double flop_ns = 1e9 / machine->flops_per_s;
    const double byte_ns = 1e9 / machine->memory_bytes_per_s;
    const double written = (double)did->written_sectors * CPU_SECTOR;
    const double in_parts = written > 0 ? fmin(8, written / (double)did->written_bytes) : 0;
    const double cache_ns = byte_ns * ((double)did->fresh_sectors * CPU_SECTOR / CACHE_RATE +
                                       written * (WRITTEN + IN_PARTS * in_parts));
    const double memory_ns = fmax(cache_ns, byte_ns * moved.missed);
    const double flops = (double)did->flops + DOUBLE * (double)did->flops_double +
                         INTEGER * (double)did->integers;
    const double turns_ns = flop_ns * TURN_FLOPS * (double)did->turns;
    const struct kernel_cost cost = {
        .memory_ns = memory_ns,
        .arithmetic_ns = fmax(flop_ns * flops, turns_ns - memory_ns), /* turns hide there */
        .memory_fill = machine->sms / SM_SHARE / all,
        .arithmetic_fill = (double)machine->sms / all,
        .idle_memory_share = 1,
    };
    const uint32_t fewest = op->blocks < machine->sms ? op->blocks : machine->sms;
    const uint32_t in_use = blocks < fewest ? fewest : blocks < all ? blocks : all;
    const double chain = (double)(did->flops + did->flops_double + did->integers) / 2 / threads;
    const double cycle_ns = 1e6 / CPU_CLOCK_KHZ;
    const double clash_ns = CLASH_NS * did->clashes, begin_ns = BEGIN_NS * threads / 256;
    const double waits_ns = did->waits * (REQUEST_NS + MEMORY_NS * moved.missing) +
                            BARRIER_NS * did->barriers + TOGETHER_NS * did->together;
    const double least_ns[] = {
        rule_sweep_ns(machine, cost, 1.0 / in_use, in_use, DEALT_EVENLY),
        cost.arithmetic_ns + fmax(memory_ns, waits_ns) / waves, /* which all do first */
        begin_ns + waits_ns,
        begin_ns / waves + waves * waits_ns,
        waves * chain * CHAIN_CYCLES * cycle_ns,
        link_ns(&moved, waves),
        cycle_ns * (double)did->cycles,
    };
    double ns = 0;
    for (size_t i = 0; i < sizeof least_ns / sizeof *least_ns; i++)
        ns = fmax(ns, least_ns[i]);
    ns = fmax(ns + fmax(0, clash_ns - begin_ns) / waves,
              clash_ns); /* threads end as they began */
    return machine->kernel_fixed_ns + machine_ceil_ns((moved.any ? LATENCY_NS : 0) + ns);
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
    if ((op->op.kind == CPU_COPY || op->op.kind == CPU_SET) && op->op.to_device >= 0)
        (void)use(op->op.to, op->op.bytes, op->op.to_device,
                  op->op.kind == CPU_SET || op->op.from_device >= 0);
    if (op->op.kind == CPU_FUNCTION)
        seen->work_ns = clock_now.machine.callback_ns + clock_host_ns(since_ns);
    if (op->op.release != NULL && op->node == 0)
        op->op.release(op->op.context);
}
