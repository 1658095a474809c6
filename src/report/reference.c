/* reference.c - the machine file that stands for a device. */
#include "report/reference.h"

#include "kernels/kernel.h"
#include "run/backend.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool reference_is_model(const char *summary, const char *device)
{
    const char *model = strchr(summary, ' ');
    model = model != NULL ? model + 1 : summary;
    const size_t length = strlen(model);
    for (const char *at = strstr(device, model); at != NULL; at = strstr(at + 1, model)) {
        if (!isalnum((unsigned char)at[length]) &&
            (at == device || !isalnum((unsigned char)at[-1])))
            return length > 0;
    }
    return false;
}

/* Finds the built-in machine file of the device called `device`. */
static bool find_built_in(const char *device, struct machine *machine)
{
    for (const struct embedded *text = machine_texts; text->name != NULL; text++) {
        struct machine read;
        if (machine_built_in(&read, text->name, NULL) != STATUS_OK ||
            !reference_is_model(read.summary, device))
            continue;
        *machine = read;
        return true;
    }
    return false;
}

enum status reference_machine(const char *asked, const struct machine *device, bool simulated,
                              uint32_t queues, struct machine *machine, struct error *error)
{
    struct machine found = *device;
    enum status status = STATUS_OK;
    if (asked != NULL)
        status = machine_load(&found, asked, error);
    else if (!simulated && !find_built_in(device->name, &found))
        status = error_set(error, STATUS_USAGE,
                           "there is no machine file for %s: name one that stands for it "
                           "(--machine=NAME|FILE.ini), or make one (pipeline calibrate)",
                           device->name);
    if (status != STATUS_OK)
        return status;
    if (queues > 0)
        found.queues = queues < found.queues_max ? queues : found.queues_max;
    *machine = found;
    return STATUS_OK;
}

static void adapt_rate(double *rate, double measured)
{
    if (measured > 0)
        *rate = measured;
}

struct machine_kernel *reference_kernel(struct machine *machine, const char *name)
{
    struct machine_kernel *row = (struct machine_kernel *)machine_kernel_find(machine, name);
    if (row != NULL || machine->kernel_count == MACHINE_KERNELS_MAX)
        return row;
    const struct kernel *kernel = kernel_find(name);
    const char *other = kernel != NULL ? kernel->rates_of : NULL;
    const struct machine_kernel *rates =
        other != NULL ? machine_kernel_find(machine, other) : NULL;
    row = &machine->kernels[machine->kernel_count++];
    *row = rates != NULL ? *rates : (struct machine_kernel){0};
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

void reference_adapt_host(struct machine *machine, const struct machine *device)
{
    if (device->devices > 1) {
        machine->devices = device->devices;
        adapt_rate(&machine->host_h2d_bytes_per_s, device->host_h2d_bytes_per_s);
        adapt_rate(&machine->host_d2h_bytes_per_s, device->host_d2h_bytes_per_s);
        adapt_rate(&machine->host_joint_bytes_per_s, device->host_joint_bytes_per_s);
    }
    EACH (const struct machine_kernel, measured, device->kernels, device->kernel_count) {
        struct machine_kernel *row =
            measured->cpu_flops_per_s > 0 ? reference_kernel(machine, measured->name) : NULL;
        if (row != NULL)
            row->cpu_flops_per_s = measured->cpu_flops_per_s;
    }
}

/* Gives the row of a kernel, or a new one, the rates that were measured. */
static void adapt_kernel(struct machine *machine, const struct machine_kernel *measured)
{
    struct machine_kernel *row = reference_kernel(machine, measured->name);
    if (row == NULL)
        return;
    adapt_rate(&row->bytes_per_s, measured->bytes_per_s);
    adapt_rate(&row->flops_per_s, measured->flops_per_s);
}

void reference_adapt(struct machine *machine, const struct machine *device)
{
    adapt_rate(&machine->h2d_bytes_per_s, device->h2d_bytes_per_s);
    adapt_rate(&machine->d2h_bytes_per_s, device->d2h_bytes_per_s);
    adapt_rate(&machine->joint_bytes_per_s, device->joint_bytes_per_s);
    for (int i = 0; i < device->kernel_count; i++) {
        adapt_kernel(machine, &device->kernels[i]);
    }
    reference_adapt_host(machine, device);
}

/* A file's rate of the link was measured with more care than the device's, so that it stays
 * where the two are near each other. */
static void learn_rate(double *rate, double measured)
{
    enum { APART_PERCENT = 5 };
    if (100 * fabs(measured - *rate) > APART_PERCENT * *rate)
        adapt_rate(rate, measured);
}

void reference_learn(struct machine *machine, const struct machine *device)
{
    learn_rate(&machine->h2d_bytes_per_s, device->h2d_bytes_per_s);
    learn_rate(&machine->d2h_bytes_per_s, device->d2h_bytes_per_s);
    learn_rate(&machine->joint_bytes_per_s, device->joint_bytes_per_s);
    for (int i = 0; i < device->kernel_count; i++) {
        if (kernel_find(device->kernels[i].name) == NULL)
            adapt_kernel(machine, &device->kernels[i]);
    }
}

/* Returns true if the device can run plans that are issued so. */
static bool can_issue(const struct backend_ops *ops, struct backend *backend, enum issue issue)
{
    struct error why = {0};
    struct plan plan = {0};
    plan.issue = issue;
    return ops->check(backend, &plan, &why) == STATUS_OK;
}

void reference_restrict(struct machine *machine, const struct machine *device,
                        const struct backend_ops *ops, struct backend *backend)
{
    if (device->memory_bytes < machine->memory_bytes)
        machine->memory_bytes = device->memory_bytes;
    if (!can_issue(ops, backend, ISSUE_GRAPH))
        machine->graph_launch_ns = 0;
    if (!can_issue(ops, backend, ISSUE_BATCH))
        machine->batch_gap_ns = 0;
}
