/* machine.c - the cost of work on a machine, which the simulator and the limit share. */
#include "machine/machine.h"

#include <math.h>
#include <string.h>

const char *machine_title(const struct machine *machine)
{
    return machine->summary[0] != '\0' ? machine->summary : machine->name;
}

int machine_capability(const struct machine *machine)
{
    return (int)lround(10 * machine->compute_capability);
}

uint32_t machine_resident_blocks(const struct machine *machine)
{
    uint32_t by_threads = machine->threads_per_sm / KERNEL_THREADS;
    uint32_t per_sm = by_threads < machine->blocks_per_sm ? by_threads : machine->blocks_per_sm;
    return machine->sms * (per_sm > 0 ? per_sm : 1);
}

const struct machine_kernel *machine_kernel_find(const struct machine *machine,
                                                 const char *kernel)
{
    for (int i = 0; i < machine->kernel_count; i++) {
        if (strcmp(machine->kernels[i].name, kernel) == 0)
            return &machine->kernels[i];
    }
    return NULL;
}

const char *machine_kernel_section(const char *kernel)
{
    return kernel_find(kernel) != NULL ? "kernel" : "own";
}

/* Returns the row of the kernel, or of the one whose rates it has, or NULL. */
static const struct machine_kernel *row_of(const struct machine *machine,
                                           const struct kernel *kernel)
{
    const struct machine_kernel *row = machine_kernel_find(machine, kernel->name);
    if (row == NULL && kernel->rates_of != NULL)
        row = machine_kernel_find(machine, kernel->rates_of);
    return row;
}

static double rate_or(double measured, double otherwise)
{
    return measured > 0 ? measured : otherwise;
}

struct kernel_cost machine_kernel_cost(const struct machine *machine,
                                       const struct kernel *kernel,
                                       const struct kernel_params *params, uint64_t count)
{
    static const struct machine_kernel unknown;
    const struct machine_kernel *row = row_of(machine, kernel);
    if (row == NULL)
        row = &unknown;
    double bytes, flops;
    kernel_work(kernel, params, count, &bytes, &flops);
    if (kernel->file != NULL && row->bytes_per_s > 0)
        flops = 0; /* the rate of its bytes was made of the whole time */
    return (struct kernel_cost){
        .memory_ns = 1e9 * bytes / rate_or(row->bytes_per_s, machine->memory_bytes_per_s),
        .arithmetic_ns = 1e9 * flops / rate_or(row->flops_per_s, machine->flops_per_s),
        .memory_fill = rate_or(row->memory_fill, machine->memory_fill),
        .arithmetic_fill = rate_or(row->arithmetic_fill, machine->arithmetic_fill),
        .idle_memory_share = rate_or(row->idle_memory_share, machine->idle_memory_share),
        .fixed_ns = row->fixed_ns > 0 ? row->fixed_ns : machine->kernel_fixed_ns,
    };
}

double machine_kernel_ns(const struct machine *machine, const struct kernel *kernel,
                         const struct kernel_params *params, uint64_t count)
{
    struct kernel_cost cost = machine_kernel_cost(machine, kernel, params, count);
    return kernel_launches(kernel, params) * fmax(cost.memory_ns, cost.arithmetic_ns);
}

double machine_cpu_ns(const struct machine *machine, const struct kernel *kernel,
                      const struct kernel_params *params, uint64_t count)
{
    const struct machine_kernel *row = row_of(machine, kernel);
    double bytes_rate =
        rate_or(row != NULL ? row->cpu_bytes_per_s : 0, machine->cpu_bytes_per_s);
    double flops_rate =
        rate_or(row != NULL ? row->cpu_flops_per_s : 0, machine->cpu_flops_per_s);
    struct kernel_params once = *params;
    double bytes, flops, first_flops;
    once.intensity = 1;
    kernel_work(kernel, &once, count, &bytes, &first_flops);
    kernel_work(kernel, params, count, &bytes, &flops);
    const double bytes_s = bytes / bytes_rate;
    /* A kernel's own rate of bytes was measured with the arithmetic of one repeat in it. */
    const bool own = row != NULL && row->cpu_bytes_per_s > 0;
    const double saved_s = own ? fmax(0, first_flops / flops_rate - bytes_s) : 0;
    double launch_ns = 1e9 * fmax(bytes_s, flops / flops_rate - saved_s);
    if (kernel_is_for_team(params, count))
        launch_ns += (double)machine->cpu_team_ns;
    else
        launch_ns /= machine->cpu_core_share;
    return kernel_launches(kernel, params) * launch_ns;
}

double machine_chain_cpu_ns(const struct machine *machine, const struct kernel *const chain[],
                            int length, const struct kernel_params *params, uint64_t count)
{
    double ns = 0;
    for (int i = 0; i < length; i++)
        ns += machine_cpu_ns(machine, chain[i], params, count);
    return ns;
}

double machine_link_ns(const struct machine *machine, double in, double out)
{
    double alone = fmax(in / machine->h2d_bytes_per_s, out / machine->d2h_bytes_per_s);
    return 1e9 * fmax(alone, (in + out) / machine->joint_bytes_per_s);
}

double machine_mapped_share(const struct machine *machine, const struct kernel *kernel)
{
    const struct machine_kernel *row = kernel != NULL ? row_of(machine, kernel) : NULL;
    double most = MACHINE_MAPPED_SHARE;
    if (kernel != NULL)
        return rate_or(row != NULL ? row->mapped_share : 0, MACHINE_MAPPED_SHARE);
    for (int i = 0; i < machine->kernel_count; i++)
        most = fmax(most, machine->kernels[i].mapped_share);
    return most;
}

int64_t machine_round_ns(double ns)
{
    return ns < (double)MACHINE_NEVER_NS ? llround(ns) : MACHINE_NEVER_NS;
}

double machine_copy_ns(const struct machine *machine, int to_device, uint64_t bytes)
{
    double rate = to_device ? machine->h2d_bytes_per_s : machine->d2h_bytes_per_s;
    int64_t latency = to_device ? machine->h2d_latency_ns : machine->d2h_latency_ns;
    return (double)latency + 1e9 * (double)bytes / rate;
}

struct copy_line copy_line_fit(const double bytes[], const double ns[], int count)
{
    double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
    for (int i = 0; i < count; i++) {
        double weight = 1 / (ns[i] * ns[i]);
        w += weight;
        wx += weight * bytes[i];
        wxx += weight * bytes[i] * bytes[i];
        wy += weight * ns[i];
        wxy += weight * bytes[i] * ns[i];
    }
    double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    struct copy_line line = {.bytes_per_s = 1e9 / slope, .latency_ns = (wy - slope * wx) / w};
    for (int i = 0; i < count; i++)
        line.worst = fmax(line.worst, fabs((line.latency_ns + slope * bytes[i]) / ns[i] - 1));
    return line;
}
