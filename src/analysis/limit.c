/* limit.c - the lower bound on a plan's time.
 *
 * The link is a fluid: while both directions are busy they share the joint rate, and no
 * direction exceeds its own. Let `lead` be the first tile's copy in and its kernels: until then
 * nothing can come out. Let `tail` be the last tile's kernels and its copy out: in that time
 * nothing can go in. What does not fit into lead and tail has to go in the middle, where both
 * directions may be busy. The order of tiles does not matter: the smallest tile stands for the
 * first and the last.
 *
 * Kernels that work on the host's memory need neither lead nor tail: they read while they
 * write, and the link and the kernels' own work are all there is. */
#include "analysis/limit.h"

#include <math.h>

/* A plan's work as the limit counts it. */
struct limit_work {
    double in_bytes, out_bytes;
    double kernels_ns;     /* all kernels, each filling the GPU */
    double first_in_bytes; /* of the smallest tile, with what it needs resident */
    double first_out_bytes;
    double first_kernels_ns; /* its kernels, one after another */
    double cpu_ns;
    bool gpu; /* any tile on the GPU at all */
};

static double chain_in_bytes(const struct plan *plan, uint64_t count)
{
    uint64_t second = chain_second_count(plan->chain, plan->chain_length, &plan->params, count);
    return (double)(count + second) * (double)dtype_bytes(plan->chain[0]->in);
}

static double chain_out_bytes(const struct plan *plan, uint64_t count)
{
    const struct kernel *last = plan_last_kernel(plan);
    uint64_t elements = last->shape == KERNEL_REDUCE ? 1 : count;
    return (double)(elements * dtype_bytes(last->out));
}

/* Counts the bytes that the kernels of a tile move over the link where they work on the host's
 * memory. Each kernel that reads the second input reads it anew. Where a kernel is launched
 * once per repeat, each launch reads the first input, too, and all but the first read the
 * output that they go on with. */
static void mapped_bytes(const struct plan *plan, uint64_t count, double *in, double *out)
{
    const struct kernel_params *params = &plan->params;
    const struct kernel *last = plan_last_kernel(plan);
    uint64_t size = dtype_bytes(plan->chain[0]->in);
    uint64_t second = chain_second_count(plan->chain, plan->chain_length, params, count);
    uint64_t read = kernel_launches(plan->chain[0], params) * count * size;
    for (int i = 0; i < plan->chain_length; i++) {
        if (plan->chain[i]->inputs == 2)
            read += kernel_launches(plan->chain[i], params) * second * size;
    }
    double launches = kernel_launches(last, params);
    *out = launches * chain_out_bytes(plan, count);
    *in = (double)read + (launches - 1) * chain_out_bytes(plan, count);
}

static double chain_ns(const struct machine *machine, const struct plan *plan, uint64_t count)
{
    double ns = 0;
    for (int i = 0; i < plan->chain_length; i++)
        ns += machine_kernel_ns(machine, plan->chain[i], &plan->params, count);
    return ns;
}

static struct limit_work work_of(const struct machine *machine, const struct plan *plan)
{
    struct limit_work work = {0};
    uint64_t smallest = UINT64_MAX;
    for (uint32_t tile = 0; tile < plan->tiles; tile++) {
        uint64_t first, count;
        plan_tile(plan, tile, &first, &count);
        if (tile >= plan->tiles - plan->cpu_tiles) {
            work.cpu_ns += machine_chain_cpu_ns(machine, plan->chain, plan->chain_length,
                                                &plan->params, count);
            continue;
        }
        work.gpu = true;
        smallest = count < smallest ? count : smallest;
        double in = chain_in_bytes(plan, count), out = chain_out_bytes(plan, count);
        if (plan->memory == MEMORY_MAPPED)
            mapped_bytes(plan, count, &in, &out);
        work.in_bytes += in;
        work.out_bytes += out;
        work.kernels_ns += chain_ns(machine, plan, count);
    }
    if (work.gpu) {
        double resident =
            (double)chain_resident_bytes(plan->chain, plan->chain_length, &plan->params);
        work.in_bytes += resident;
        work.first_in_bytes = resident + chain_in_bytes(plan, smallest);
        work.first_out_bytes = chain_out_bytes(plan, smallest);
        work.first_kernels_ns = chain_ns(machine, plan, smallest);
    }
    return work;
}

/* Returns the time to move `in` and `out` bytes with both directions busy as long as both have
 * some. */
static double link_ns(const struct machine *machine, double in, double out)
{
    double ns = machine_link_ns(machine, in, out);
    if (machine->copy_engines == 2)
        return ns;
    return fmax(ns, 1e9 * (in / machine->h2d_bytes_per_s + out / machine->d2h_bytes_per_s));
}

/* Bounds copies and kernels, with a first tile that goes in and a last one that comes out. */
static void bound_copied(const struct machine *machine, const struct plan *plan,
                         const struct limit_work *work, struct limit *limit)
{
    double first_in = 1e9 * work->first_in_bytes / machine->h2d_bytes_per_s;
    double last_out = 1e9 * work->first_out_bytes / machine->d2h_bytes_per_s;
    double lead = first_in + work->first_kernels_ns;
    double tail = work->first_kernels_ns + last_out;
    double in_left = fmax(0, work->in_bytes - lead * machine->h2d_bytes_per_s / 1e9);
    double out_left = fmax(0, work->out_bytes - tail * machine->d2h_bytes_per_s / 1e9);
    /* One tile alone is both the first and the last: its kernels run once. */
    bool single = plan->tiles - plan->cpu_tiles == 1;
    double copies = single ? first_in + work->first_kernels_ns + last_out
                           : lead + link_ns(machine, in_left, out_left) + tail;
    limit->first_in_ns = machine_round_ns(first_in);
    limit->last_out_ns = machine_round_ns(last_out);
    limit->copies_ns = machine_round_ns(copies);
    limit->compute_ns = machine_round_ns(first_in + work->kernels_ns + last_out);
}

/* Bounds kernels on mapped memory. Both directions go at once, however many copy engines there
 * are, for these have no part in it. */
static void bound_mapped(const struct machine *machine, const struct limit_work *work,
                         struct limit *limit)
{
    limit->copies_ns =
        machine_round_ns(machine_link_ns(machine, work->in_bytes, work->out_bytes));
    limit->compute_ns = machine_round_ns(work->kernels_ns);
}

struct limit limit_of(const struct machine *machine, const struct plan *plan)
{
    struct limit_work work = work_of(machine, plan);
    struct limit limit = {0};
    if (work.gpu && plan->memory == MEMORY_MAPPED)
        bound_mapped(machine, &work, &limit);
    else if (work.gpu)
        bound_copied(machine, plan, &work, &limit);
    limit.cpu_ns = machine_round_ns(work.cpu_ns);
    limit.ns = limit.copies_ns;
    limit.cause = plan->memory == MEMORY_MAPPED ? LIMIT_LINK : LIMIT_COPIES;
    if (limit.compute_ns > limit.ns) {
        limit.ns = limit.compute_ns;
        limit.cause = LIMIT_COMPUTE;
    }
    if (limit.cpu_ns > limit.ns) {
        limit.ns = limit.cpu_ns;
        limit.cause = LIMIT_CPU;
    }
    return limit;
}

const char *limit_cause_name(enum limit_cause cause)
{
    static const char *const names[] = {
        [LIMIT_COPIES] = "copies",
        [LIMIT_COMPUTE] = "compute",
        [LIMIT_CPU] = "cpu",
        [LIMIT_LINK] = "link",
    };
    return names[cause];
}
