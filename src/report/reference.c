/* reference.c - finds the machine file that stands for a device. */
#include "report/reference.h"

#include "run/machine_file.h"

#include <string.h>

/* Finds the built-in machine file of the device called `device`, which is its summary. */
static bool find_built_in(const char *device, struct machine *machine)
{
    for (const struct embedded *text = machine_texts; text->name != NULL; text++) {
        struct machine read;
        if (machine_built_in(&read, text->name, NULL) != STATUS_OK ||
            strcmp(read.summary, device) != 0)
            continue;
        *machine = read;
        return true;
    }
    return false;
}

static enum status find(const char *asked, const struct machine *device, bool simulated,
                        struct machine *machine, struct error *error)
{
    if (asked != NULL)
        return machine_load(machine, asked, error);
    if (simulated) {
        *machine = *device;
        return STATUS_OK;
    }
    if (find_built_in(device->name, machine))
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "there is no machine file for %s: name one that stands for it "
                     "(--machine=NAME|FILE.ini), or make one (pipeline calibrate)",
                     device->name);
}

enum status reference_machine(const char *asked, const struct machine *device, bool simulated,
                              uint32_t queues, struct machine *machine, struct error *error)
{
    struct machine found;
    enum status status = find(asked, device, simulated, &found, error);
    if (status != STATUS_OK)
        return status;
    if (queues > 0)
        found.queues = queues < found.queues_max ? queues : found.queues_max;
    *machine = found;
    return STATUS_OK;
}
