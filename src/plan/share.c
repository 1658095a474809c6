/* share.c - settled before any op is placed: how many tiles the CPU gets, and the streams'
 * priorities. */
#include "plan/build.h"

#include "plan/rules.h"

#include <math.h>
#include <stdlib.h>

static uint64_t whole_units(uint64_t elements, uint64_t unit)
{
    return (elements + unit - 1) / unit * unit;
}

/* Returns the ns per element of all kernels together or, where devices have parts of the chain,
 * of the slowest part. */
static double kernels_per_element(const struct settings *settings,
                                  const struct machine *machine,
                                  const struct kernel_params *params, uint64_t sample)
{
    const uint32_t links = (uint32_t)settings->chain_length;
    const uint32_t devices = settings_by_link(settings) ? settings_devices(settings) : 1;
    double each[MACHINE_DEVICES_MAX] = {0}, most = 0;
    for (uint32_t link = 0; link < links; link++) {
        double *sum = &each[link_device(link, links, devices)];
        *sum += machine_kernel_ns(machine, settings->chain[link], params, sample);
        most = fmax(most, *sum);
    }
    return most / (double)sample;
}

/* Sets the ns per element on the GPUs (the slowest of links, host's memory and kernels) and on
 * the CPU, which has no tiles on their way beside the one that it works on. */
static void rates_per_element(const struct settings *settings, const struct machine *machine,
                              double *gpu_ns, double *cpu_ns)
{
    enum { LARGE = 1 << 20 }; /* enough that rates, not latencies, count */
    struct kernel_params params = settings_params(settings);
    uint64_t unit = chain_unit(settings->chain, settings->chain_length, &params);
    uint64_t sample = whole_units(LARGE, unit),
             tile = whole_units(settings->elements / settings->tiles, unit);
    const struct kernel *last = settings->chain[settings->chain_length - 1];
    double kernels = kernels_per_element(settings, machine, &params, sample), cpu = 0;
    for (int i = 0; i < settings->chain_length; i++)
        cpu += machine_cpu_ns(machine, settings->chain[i], &params, tile) / (double)tile;
    double second =
        (double)chain_second_count(settings->chain, settings->chain_length, &params, sample) /
        (double)sample;
    double in = (1 + second) * (double)dtype_bytes(settings->chain[0]->in);
    double out = last->shape == KERNEL_REDUCE ? 0 : (double)dtype_bytes(last->out);
    double link = machine_link_ns(machine, in, out);
    if (settings->memory == MEMORY_MAPPED)
        link /= machine_mapped_share(machine, settings->chain[0]);
    if (settings->memory == MEMORY_MANAGED)
        link = rule_managed_ns(machine, settings->prefetch, in, out);
    const uint32_t devices = settings_devices(settings);
    if (settings_by_link(settings)) { /* in on one device, out on another */
        link = 1e9 * fmax(in / machine->h2d_bytes_per_s, out / machine->d2h_bytes_per_s);
    } else if (devices > 1) {
        const struct host_rates host = rule_host_rates(machine, devices);
        const double way = fmax(in / host.in, out / host.out);
        link = fmax(link / devices, 1e9 * fmax(way, (in + out) / host.joint));
        kernels /= devices;
    }
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
    /* Tiles are whole: the better of the exact share's two neighbours is taken. */
    uint32_t fewer = (uint32_t)exact;
    double with_fewer = fmax(fewer * cpu_ns, (tiles - fewer) * gpu_ns);
    double with_more = fmax((fewer + 1) * cpu_ns, (tiles - fewer - 1) * gpu_ns);
    return with_more < with_fewer ? fewer + 1 : fewer;
}

enum status plan_set_priorities(struct plan *plan, const struct settings *settings,
                                const struct machine *machine, struct error *error)
{
    if (settings->priority_count == 0)
        return STATUS_OK;
    plan->priorities = calloc(plan->streams, sizeof *plan->priorities);
    if (plan->priorities == NULL)
        return error_no_memory(error, "for a plan");
    for (uint32_t stream = 0; stream < plan->streams; stream++) {
        const uint32_t number = plan_stream_home(plan, stream).number;
        int priority = settings->priorities[number % (uint32_t)settings->priority_count];
        if (plan_stream_kind(plan, stream) == STREAM_LEGACY) /* nobody can give it one */
            priority = 0;
        if (priority > machine->priority_least)
            priority = machine->priority_least;
        if (priority < machine->priority_greatest)
            priority = machine->priority_greatest;
        plan->priorities[stream] = priority;
    }
    return STATUS_OK;
}
