/* rules_blocks.c - blocks of launches; plan/rules_blocks.h says where each rule comes from. */
#include "plan/rules_blocks.h"

#include <math.h>

/* The part of a sweep's lesser side that the greater side does not hide on a full SM, because
 * all blocks begin to load, and then to compute, at the same time. Fitted to timelines of
 * `scale` on an H200, 70,000 to 3.8 million elements at intensities of 22 to 4500: 0.3 to 0.6.
 * A block that has its SM to itself hides nothing: on 1 to 132 blocks the times at intensities
 * of 1, 30 and 300 lie on a line. [bench/results/h200-2026-11-30-rules.txt] */
static const double NOT_HIDDEN = 0.5;

/* The part of mapped_latency_ns that a thread waits for what it reads; the rest is the way of
 * what it has written. Fitted to launches on 16 KiB of mapped memory on an H200, whose threads
 * make 8 sweeps: 11.8 us by `reduce-shuffle` and 8.0 by `reduce-many`. */
static const double READ_PART = 0.7;

/* With so many sweeps of all blocks over a launch's input its reads and writes of mapped memory
 * go on side by side. [Measured: 1 GiB each way on an H200 takes 27 ms in launches of 2 sweeps,
 * and 25.6 in those of 4 and of 8: bench/results/h200-2026-11-25-small-tiles-staged.txt] */
static const double MIXING_SWEEPS = 3;

/* So many bytes of a launch's input are read before its writes go on beside its reads, by
 * kernels whose threads move 16 bytes at once, or a word, and by scans: rule_link_apart(). */
static const double APART_FOURS = 1.7e6, APART_WORDS = 10e6, APART_SCAN = 18e6;

/* The part of its wait for the memory that a block waits where all that lies on the device fits
 * into the cache: for what a copy has brought, for that of a scan, whose blocks wait for one
 * another, too, and for what a launch has just written. */
static const double CACHED_WAIT = 0.6, CACHED_SCAN_WAIT = 0.85, WRITTEN_WAIT = 0.25;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Returns true if a launch with one block on each SM moves its bytes over the link no slower
 * than one that has all blocks, which would make too few sweeps to mix reads and writes. */
static bool is_short_stream(const struct machine *machine, const struct plan *plan,
                            const struct kernel *kernel, uint64_t count)
{
    const uint32_t most = machine_resident_blocks(machine);
    const uint64_t sweep_bytes = (uint64_t)most * KERNEL_THREADS * 16;
    const double in = (double)(count * dtype_bytes(kernel->in));
    const double out = (double)(count * dtype_bytes(kernel->out));
    if (plan->chain_length != 1 || !kernel_is_elementwise(kernel) ||
        in >= MIXING_SWEEPS * (double)sweep_bytes)
        return false;
    const struct kernel_cost cost = machine_kernel_cost(machine, kernel, &plan->params, count);
    const double fill = (double)machine->sms / most;
    return cost.arithmetic_ns * larger(1, cost.arithmetic_fill / fill) <=
           machine_link_ns(machine, in, out);
}

uint32_t rule_blocks_most(const struct machine *machine, const struct plan *plan,
                          const struct kernel *kernel, uint64_t count)
{
    if (plan->memory != MEMORY_MAPPED)
        return machine_resident_blocks(machine);
    if (plan->issue == ISSUE_BATCH && plan->places != NULL)
        return (machine->sms + 3) / 4;
    return is_short_stream(machine, plan, kernel, count) ? machine->sms
                                                         : machine_resident_blocks(machine);
}

uint32_t rule_memory_blocks(const struct machine *machine, const struct op *op)
{
    const uint64_t block_bytes = 16 * KERNEL_THREADS;
    uint64_t wanted = (op_bytes(op) + block_bytes - 1) / block_bytes;
    uint32_t most = machine_resident_blocks(machine);
    return wanted < most ? (uint32_t)wanted : most;
}

struct kernel_cost rule_memory_cost(const struct machine *machine, const struct op *op)
{
    double touched = (op->kind == OP_D2D ? 2 : 1) * (double)op_bytes(op);
    return (struct kernel_cost){
        .memory_ns = 1e9 * touched / machine->memory_bytes_per_s,
        .memory_fill = machine->memory_fill,
        .arithmetic_fill = machine->arithmetic_fill,
        .idle_memory_share = machine->idle_memory_share,
        .fixed_ns = machine->kernel_fixed_ns,
    };
}

/* Returns the part of `held` bytes that the cache has: all of a quarter of its size, none of
 * half of it. */
static double cached_part(const struct machine *machine, double held)
{
    const double size = (double)machine->l2_bytes;
    return size > 0 ? smaller(1, larger(0, 2 - 4 * held / size)) : 0;
}

struct kernel_cost rule_launch_cost(const struct machine *machine, const struct kernel *kernel,
                                    const struct kernel_params *params, uint64_t count,
                                    uint32_t held)
{
    struct kernel_cost cost = machine_kernel_cost(machine, kernel, params, count);
    struct kernel_params once = *params;
    double bytes, flops;
    once.intensity = 1; /* what other repeats work on is the same */
    kernel_work(kernel, &once, count, &bytes, &flops);
    const double cached = cached_part(machine, larger(1, held) * bytes);
    const double copied = kernel->shape == KERNEL_SCAN ? CACHED_SCAN_WAIT : CACHED_WAIT;
    const double first = 1 - (1 - copied) * cached, other = 1 - (1 - WRITTEN_WAIT) * cached;
    const double launches = kernel_launches(kernel, params);
    cost.idle_memory_share *= (first + (launches - 1) * other) / launches;
    return cost;
}

uint32_t rule_blocks_placed(uint32_t wanted, uint32_t resident_blocks, uint32_t blocks_in_use)
{
    uint32_t room = resident_blocks - blocks_in_use;
    return wanted < room ? wanted : room;
}

/* Returns how many blocks there would be if every SM held as many as the SM that a launch ends
 * with. */
static double blocks_as_fullest(const struct machine *machine, uint32_t in_use,
                                enum dealt dealt)
{
    double resident = machine_resident_blocks(machine), sms = machine->sms;
    double excess = dealt == DEALT_FIRST ? machine->leftover_excess : 1;
    double fullest = smaller(sms * ceil(excess * in_use / sms), larger(resident, in_use));
    return dealt == DEALT_BESIDE ? larger(sms, (fullest + in_use) / 2) : fullest;
}

/* Returns how many blocks there would be if all shared the memory and each got what one of
 * `in_use` does. */
static double blocks_as_waiting(const struct kernel_cost *cost, double resident,
                                uint32_t in_use)
{
    double idle = cost->idle_memory_share;
    return idle * resident * cost->memory_fill + (1 - idle) * in_use;
}

/* Returns the part of a sweep's lesser side that the greater one does not hide. There are
 * `more` blocks beyond one on each SM, of `most` that fit. That it falls evenly is assumed. */
static double not_hidden(double more, double most)
{
    return more <= 0 ? 1 : 1 - (1 - NOT_HIDDEN) * smaller(1, more / most);
}

double rule_sweep_ns(const struct machine *machine, struct kernel_cost cost, double share,
                     uint32_t in_use, enum dealt dealt)
{
    double resident = machine_resident_blocks(machine);
    double on_fullest_sm = blocks_as_fullest(machine, in_use, dealt);
    double arithmetic = larger(resident * cost.arithmetic_fill, on_fullest_sm);
    double memory = larger(blocks_as_waiting(&cost, resident, in_use), in_use);
    double a = cost.arithmetic_ns * arithmetic, m = cost.memory_ns * memory;
    double apart = not_hidden((double)in_use - machine->sms, resident - machine->sms);
    return share * (larger(a, m) + apart * smaller(a, m));
}

/* Returns by how much more the link moves of what a kernel reads. */
static double strided_part(const struct kernel *kernel, const struct kernel_params *params)
{
    const double LINE = 128, FIRST = 80, OTHER = 24; /* bytes */
    if (!kernel->strided)
        return 1;
    const double size = (double)dtype_bytes(kernel->in);
    const double wanted = larger(1, LINE / size / params->stride);
    return smaller(LINE, FIRST + OTHER * (wanted - 1)) / (wanted * size);
}

struct link_bytes rule_link_bytes(const struct machine *machine, const struct kernel *kernel,
                                  const struct kernel_params *params, double in, double out)
{
    const double own = machine_mapped_share(machine, kernel);
    const double way =
        kernel->shape == KERNEL_REDUCE ? own : machine_mapped_share(machine, NULL);
    const double more = in * (strided_part(kernel, params) - 1);
    const double alone = 1e-9 * machine_link_ns(machine, in, out) * machine->joint_bytes_per_s;
    return (struct link_bytes){(in + more) / way, out / way,
                               (alone + more) / (in > 0 && out > 0 ? own : way)};
}

double rule_link_sweep_ns(const struct machine *machine, struct link_bytes own,
                          struct link_bytes all)
{
    if (own.joint <= 0)
        return 0;
    double in = own.in > 0 ? all.in / machine->h2d_bytes_per_s : 0;
    double out = own.out > 0 ? all.out / machine->d2h_bytes_per_s : 0;
    return 1e9 * larger(all.joint / machine->joint_bytes_per_s, larger(in, out));
}

bool rule_link_is_taken(const struct machine *machine, const struct kernel *kernel,
                        uint32_t blocks)
{
    return kernel->shape == KERNEL_MAP && !kernel->gathers &&
           (kernel->sweep < 4 || blocks >= machine_resident_blocks(machine));
}

double rule_link_apart(const struct kernel *kernel, double sweep, double in)
{
    if (kernel->shape == KERNEL_SCAN)
        return smaller(sweep, APART_SCAN / in);
    if (kernel->shape != KERNEL_MAP || kernel->gathers)
        return sweep;
    return smaller(1, kernel->sweep == 4 ? larger(sweep, APART_FOURS / in) : APART_WORDS / in);
}

double rule_link_lead_ns(const struct machine *machine, double in, double out,
                         struct link_bytes all)
{
    double apart = 1e9 * (in / machine->h2d_bytes_per_s + out / machine->d2h_bytes_per_s);
    return larger(0, apart - rule_link_sweep_ns(machine, all, all));
}

double rule_link_round_ns(const struct machine *machine, double in)
{
    return in > 0 ? READ_PART * (double)machine->mapped_latency_ns : 0;
}

int64_t rule_link_latency_ns(const struct machine *machine, double in, double out)
{
    return in > 0 || out > 0 ? machine->mapped_latency_ns : 0;
}

double rule_launch_alone_ns(const struct machine *machine, const struct kernel *kernel,
                            const struct kernel_params *params, uint64_t count, uint32_t blocks)
{
    struct kernel_cost cost = rule_launch_cost(machine, kernel, params, count, 1);
    struct sweeps sweeps = rule_sweeps(count, kernel->sweep, blocks);
    double ns = (double)cost.fixed_ns;
    ns += sweeps.least * rule_sweep_ns(machine, cost, sweeps.share, blocks, DEALT_EVENLY);
    if (sweeps.blocks_with_more > 0)
        ns += rule_sweep_ns(machine, cost, sweeps.share, sweeps.blocks_with_more, DEALT_FIRST);
    return ns;
}

struct sweeps rule_sweeps(uint64_t count, uint32_t per_thread, uint32_t blocks)
{
    uint64_t pieces = count / per_thread + (count % per_thread != 0);
    uint64_t threads = (uint64_t)blocks * KERNEL_THREADS, left = pieces % threads;
    if (pieces < threads)
        return (struct sweeps){.least = 1, .share = 1.0 / blocks};
    return (struct sweeps){
        .least = (uint32_t)(pieces / threads),
        .blocks_with_more = (uint32_t)((left + KERNEL_THREADS - 1) / KERNEL_THREADS),
        .share = KERNEL_THREADS / (double)pieces,
    };
}

bool rule_kernel_may_start(const struct machine *machine, uint32_t running)
{
    return running < machine->concurrent_kernels;
}

uint32_t rule_measured_blocks(const struct machine *machine, double fill)
{
    const double ROUNDING = 1e-6; /* a part of blocks was computed by a division */
    double blocks = floor(fill * machine_resident_blocks(machine) + ROUNDING);
    return blocks > 1 ? (uint32_t)blocks : 1;
}
