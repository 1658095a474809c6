/* plan_share.c - how many tiles the CPU gets. */
#include "plan_build.h"

#include <math.h>

/* Nanoseconds per element on the GPU (the slowest of link and kernels) and on the CPU. */
static void rates_per_element(const struct settings *settings, const struct machine *machine,
                              double *gpu_ns, double *cpu_ns)
{
    enum { SAMPLE = 1 << 20 }; /* large enough that rates, not latencies, count */
    struct kernel_params params = settings_params(settings);
    const struct kernel *last = settings->chain[settings->chain_length - 1];
    double kernels = 0, cpu = 0;
    int inputs = 1;
    for (int i = 0; i < settings->chain_length; i++) {
        const struct kernel *kernel = settings->chain[i];
        inputs = kernel->inputs > inputs ? kernel->inputs : inputs;
        kernels += machine_kernel_ns(machine, kernel, &params, SAMPLE) / SAMPLE;
        cpu += machine_cpu_ns(machine, kernel, &params, SAMPLE) / SAMPLE;
    }
    double in = inputs * (double)dtype_bytes(settings->chain[0]->in);
    double out = last->shape == KERNEL_REDUCE ? 0 : (double)dtype_bytes(last->out);
    double link = fmax(in / machine->h2d_bytes_per_s, out / machine->d2h_bytes_per_s);
    link = 1e9 * fmax(link, (in + out) / machine->joint_bytes_per_s);
    *gpu_ns = fmax(link, kernels);
    *cpu_ns = cpu;
}

uint32_t plan_cpu_tiles(const struct settings *settings, const struct machine *machine)
{
    if (settings->ways != 4)
        return 0;
    uint32_t tiles = settings->tiles;
    if (settings->cpu_share >= 0)
        return (uint32_t)lround(settings->cpu_share * tiles);
    double gpu_ns, cpu_ns;
    rates_per_element(settings, machine, &gpu_ns, &cpu_ns);
    double exact = tiles * gpu_ns / (gpu_ns + cpu_ns);
    /* Whole tiles: the better of the neighbours of the exact share. */
    uint32_t fewer = (uint32_t)exact;
    double with_fewer = fmax(fewer * cpu_ns, (tiles - fewer) * gpu_ns);
    double with_more = fmax((fewer + 1) * cpu_ns, (tiles - fewer - 1) * gpu_ns);
    return with_more < with_fewer ? fewer + 1 : fewer;
}
