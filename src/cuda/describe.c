/* describe.c - measures the devices of a run, and remembers what the process has measured.
 *
 * Environment:
 *   PIPELINE_NO_RATES=1  kernels' rates are not measured, which takes long under a checker;
 *                        limits then know those of memory and copies alone */
#include "cuda/device.h"

#include "cuda/probe.h"
#include "plan/mistake.h"
#include "run/topology.h"

#include <stdlib.h>

/* --- one device --- */

struct known_device {
    int number;
    struct machine machine; /* the device with its copy rates */
    struct cuda_measured kernels[MACHINE_KERNELS_MAX];
    int kernel_count;
};

/* What the process knows of devices. */
static struct {
    struct known_device devices[MACHINE_DEVICES_MAX];
    uint32_t count;
} known;

/* Returns true if `measured` holds for what is wanted. */
static bool is_known(const struct cuda_measured *measured, const struct cuda_measured *wanted)
{
    const struct kernel_params *one = &measured->params, *other = &wanted->params;
    return measured->kernel == wanted->kernel && one->intensity == other->intensity &&
           one->columns == other->columns && one->stride == other->stride &&
           one->rows == other->rows && one->inner == other->inner &&
           measured->tile == wanted->tile && (measured->cpu || !wanted->cpu);
}

/* Returns the kernel's rates on a device, which is current: measured now unless they are known;
 * NULL on failure. `cpu` says that the twin's are wanted, too. */
static const struct machine_kernel *know_kernel(struct known_device *device,
                                                const struct settings *settings,
                                                const struct kernel *kernel, bool cpu,
                                                struct error *error)
{
    enum { TILES_MAYBE = 32 }; /* while the number of tiles is still to be chosen */
    const uint32_t tiles = settings->tiles > 0 ? settings->tiles : TILES_MAYBE;
    const struct cuda_measured wanted = {
        .kernel = kernel,
        .params = settings_params(settings),
        .tile = kernel->rated ? settings->elements / tiles : 0,
        .cpu = cpu,
    };
    for (int i = 0; i < device->kernel_count; i++) {
        if (is_known(&device->kernels[i], &wanted))
            return &device->kernels[i].row;
    }
    if (device->kernel_count == MACHINE_KERNELS_MAX)
        device->kernel_count = 0; /* a long sweep: forget and measure again */
    struct cuda_measured *measured = &device->kernels[device->kernel_count];
    struct error why = {0};
    *measured = wanted;
    cuda_kernel_loaded(kernel);
    if (cuda_rates_measure(&device->machine, settings->elements, measured, &why) == STATUS_OK)
        return &device->kernels[device->kernel_count++].row;
    error_set(error, why.status, "measuring kernel %s: %s", kernel->name, why.text);
    return NULL;
}

/* Returns what is known of a device, which is current, and measures its copies unless they are;
 * NULL on failure. */
static struct known_device *know_copies(const struct cuda_device *device, struct error *error)
{
    for (uint32_t i = 0; i < known.count; i++) {
        if (known.devices[i].number == device->number)
            return &known.devices[i];
    }
    if (known.count == MACHINE_DEVICES_MAX)
        known.count = 0; /* more devices than a run can have: forget and measure again */
    struct known_device *entry = &known.devices[known.count];
    struct error why = {0};
    *entry = (struct known_device){.number = device->number, .machine = device->machine};
    if (probe_copies(&entry->machine, &why) == STATUS_OK) {
        known.count++;
        return entry;
    }
    error_set(error, why.status, "measuring copies: %s", why.text);
    return NULL;
}

static enum status describe_one(const struct cuda_device *device,
                                const struct settings *settings, bool cpu,
                                struct machine *machine, struct error *error)
{
    struct known_device *entry = know_copies(device, error);
    if (entry == NULL)
        return error->status;
    struct machine described = entry->machine;
    /* Measuring a kernel loads it, which --mistake=lazy-loading leaves to the timed run. */
    const bool unmeasured =
        mistake_rows[settings->mistake].loads_lazily || getenv("PIPELINE_NO_RATES") != NULL;
    for (int i = 0; !unmeasured && i < settings->chain_length; i++) {
        const struct kernel *kernel = settings->chain[i];
        if (machine_kernel_find(&described, kernel->name) != NULL)
            continue; /* twice in the chain */
        const struct machine_kernel *row = know_kernel(entry, settings, kernel, cpu, error);
        if (row == NULL)
            return error->status;
        described.kernels[described.kernel_count++] = *row;
    }
    *machine = described;
    return STATUS_OK;
}

/* --- several devices --- */

/* Makes a figure of `machine` the other device's where that one is worse: less, or more. */
#define TAKE(figure, less_or_more)                                                             \
    (machine->figure =                                                                         \
         other->figure less_or_more machine->figure ? other->figure : machine->figure)

/* Makes each figure of `machine` the worse of its own and another device's. Their kernels are
 * those of one chain; the CPU's rates are known of the first alone. */
static void take_worse(struct machine *machine, const struct machine *other)
{
    TAKE(h2d_bytes_per_s, <);
    TAKE(d2h_bytes_per_s, <);
    TAKE(joint_bytes_per_s, <);
    TAKE(memory_bytes_per_s, <);
    TAKE(flops_per_s, <);
    TAKE(compute_capability, <);
    TAKE(h2d_latency_ns, >);
    TAKE(d2h_latency_ns, >);
    TAKE(copy_engines, <);
    TAKE(concurrent_kernels, <);
    TAKE(sms, <);
    TAKE(threads_per_sm, <);
    TAKE(blocks_per_sm, <);
    TAKE(memory_bytes, <);
    TAKE(l2_bytes, <);
    TAKE(priority_greatest, >); /* a negative number */
    TAKE(priority_least, <);
    for (int i = 0; i < machine->kernel_count && i < other->kernel_count; i++) {
        TAKE(kernels[i].bytes_per_s, <);
        TAKE(kernels[i].flops_per_s, <);
    }
}

/* What all devices copied at once and to each other, and which they were. */
static struct {
    uint32_t count; /* 0: nothing is known */
    int numbers[MACHINE_DEVICES_MAX];
    struct host_rates rates;
    struct peer_rates peers;
} known_host;

static bool host_is_known(const struct cuda_devices *devices)
{
    bool same = known_host.count == devices->count;
    for (uint32_t i = 0; i < devices->count && same; i++)
        same = known_host.numbers[i] == devices->items[i].number;
    return same;
}

/* Measures what several devices do together, unless it is known. */
static enum status know_host(const struct cuda_devices *devices, struct error *error)
{
    struct error why = {0};
    if (host_is_known(devices))
        return STATUS_OK;
    known_host.count = 0;
    if (probe_host(devices, &known_host.rates, &why) != STATUS_OK)
        return error_set(error, why.status, "measuring copies of all devices at once: %s",
                         why.text);
    if (probe_peers(devices, &known_host.peers, &why) != STATUS_OK)
        return error_set(error, why.status, "measuring copies from device to device: %s",
                         why.text);
    known_host.count = devices->count;
    for (uint32_t i = 0; i < devices->count; i++)
        known_host.numbers[i] = devices->items[i].number;
    return STATUS_OK;
}

/* Sets what the host's memory gives all devices at once, and what they give each other. */
static enum status describe_host(const struct cuda_devices *devices, struct machine *machine,
                                 struct error *error)
{
    const struct host_rates *rates = &known_host.rates;
    if (know_host(devices, error) != STATUS_OK)
        return error->status;
    const double in = machine->h2d_bytes_per_s, out = machine->d2h_bytes_per_s;
    const double joint =
        machine->joint_bytes_per_s < in + out ? machine->joint_bytes_per_s : in + out;
    const char *bus_ids[MACHINE_DEVICES_MAX];
    cuda_devices_bus_ids(devices, bus_ids);
    machine->host_shared = topology_is_switched(TOPOLOGY_SYSFS, bus_ids, devices->count)
                               ? MACHINE_SHARES_SWITCH
                               : MACHINE_SHARES_MEMORY;
    machine->host_h2d_bytes_per_s = rule_host_most(devices->count * in, in, rates->in);
    machine->host_d2h_bytes_per_s = rule_host_most(devices->count * out, out, rates->out);
    machine->host_joint_bytes_per_s =
        rule_host_most(devices->count * joint, joint, rates->joint);
    machine->peer_bytes_per_s = known_host.peers.one_way;
    machine->peer_joint_bytes_per_s = known_host.peers.both_ways;
    machine->peer_latency_ns = known_host.peers.latency_ns;
    return STATUS_OK;
}

/* Describes one of the devices, alone. An error says which, where there are several. */
static enum status describe_at(const struct cuda_devices *devices, uint32_t index,
                               const struct settings *settings, struct machine *machine,
                               struct error *error)
{
    const struct cuda_device *device = &devices->items[index];
    const bool cpu = index == 0 && settings->ways == 4; /* the twins are the host's */
    struct error why = {0};
    enum status status = cuda_devices_select(devices, index, &why);
    if (status == STATUS_OK)
        status = describe_one(device, settings, cpu, machine, &why);
    if (status == STATUS_OK || devices->count == 1)
        return status == STATUS_OK ? status : error_pass(error, &why);
    return error_set(error, why.status, "cuda:%d: %s", device->number, why.text);
}

/* Refuses a kernel of the user's that can't be launched, before its rates are measured. */
static enum status refuse_unlaunched(const struct settings *settings, struct error *error)
{
    for (int i = 0; i < settings->chain_length; i++)
        if (kernel_launcher(settings->chain[i]) == NULL)
            return error_set(error, STATUS_USAGE,
                             "kernel %s: its library has no launcher (launch), so it runs on "
                             "simulated machines alone",
                             settings->chain[i]->name);
    return STATUS_OK;
}

enum status cuda_describe(const struct cuda_devices *devices, const struct settings *settings,
                          struct machine *machine, struct error *error)
{
    struct machine all, one;
    enum status status = refuse_unlaunched(settings, error);
    for (uint32_t i = 0; i < devices->count && status == STATUS_OK; i++) {
        status = describe_at(devices, i, settings, i == 0 ? &all : &one, error);
        if (status == STATUS_OK && i > 0)
            take_worse(&all, &one);
    }
    if (status == STATUS_OK && devices->count > 1) {
        all.devices = devices->count;
        cuda_devices_model(devices, all.name, sizeof all.name);
        status = describe_host(devices, &all, error);
    }
    if (devices->count > 1 && status == STATUS_OK)
        status = cuda_devices_select(devices, 0, error);
    if (status == STATUS_OK)
        *machine = all;
    return status;
}
