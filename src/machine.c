/* machine.c - what work costs on a machine: shared by the simulator and the limit. */
#include "machine.h"

#include <math.h>
#include <string.h>

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

static double rate_or(double measured, double otherwise)
{
    return measured > 0 ? measured : otherwise;
}

/* Time at the memory's and at the arithmetic's full rates, in ns. */
static void roofline_ns(const struct machine *machine, const struct kernel *kernel,
                        const struct kernel_params *params, uint64_t count, double *memory,
                        double *arithmetic)
{
    static const struct machine_kernel unknown;
    const struct machine_kernel *row = machine_kernel_find(machine, kernel->name);
    if (row == NULL)
        row = &unknown;
    double bytes = kernel_bytes_per_element(kernel) * (double)count;
    double flops = kernel->flops * params->intensity * (double)count;
    *memory = 1e9 * bytes / rate_or(row->bytes_per_s, machine->memory_bytes_per_s);
    *arithmetic = 1e9 * flops / rate_or(row->flops_per_s, machine->flops_per_s);
}

double machine_block_ns(const struct machine *machine, const struct kernel *kernel,
                        const struct kernel_params *params, uint64_t count, uint32_t blocks)
{
    double memory, arithmetic;
    roofline_ns(machine, kernel, params, count, &memory, &arithmetic);
    double resident = machine_resident_blocks(machine);
    double share = resident / blocks; /* 1: a full GPU; 4: a quarter of it */
    /* More blocks than fit run in waves, each block with a full GPU's share of the rates. */
    double memory_share = share > 1 ? fmax(1, share * machine->memory_fill) : share;
    return fmax(arithmetic * share, memory * memory_share);
}

double machine_kernel_ns(const struct machine *machine, const struct kernel *kernel,
                         const struct kernel_params *params, uint64_t count)
{
    double memory, arithmetic;
    roofline_ns(machine, kernel, params, count, &memory, &arithmetic);
    return fmax(memory, arithmetic);
}

double machine_cpu_ns(const struct machine *machine, const struct kernel *kernel,
                      const struct kernel_params *params, uint64_t count)
{
    const struct machine_kernel *row = machine_kernel_find(machine, kernel->name);
    double bytes_rate =
        rate_or(row != NULL ? row->cpu_bytes_per_s : 0, machine->cpu_bytes_per_s);
    double flops_rate =
        rate_or(row != NULL ? row->cpu_flops_per_s : 0, machine->cpu_flops_per_s);
    double bytes = kernel_bytes_per_element(kernel) * (double)count;
    double flops = kernel->flops * params->intensity * (double)count;
    return 1e9 * fmax(bytes / bytes_rate, flops / flops_rate);
}

double machine_copy_ns(const struct machine *machine, int to_device, uint64_t bytes)
{
    double rate = to_device ? machine->h2d_bytes_per_s : machine->d2h_bytes_per_s;
    int64_t latency = to_device ? machine->h2d_latency_ns : machine->d2h_latency_ns;
    return (double)latency + 1e9 * (double)bytes / rate;
}
