/* backend.c - which backend of a list, and which machine, a --device value means. */
#include "run/backend.h"

#include "options/input_file.h"
#include "plan/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void backends_configure(const struct backend_ops *const list[], const struct settings *settings)
{
    for (; *list != NULL; list++) {
        if ((*list)->missing == NULL)
            (*list)->configure(settings);
    }
}

static void count_device(void *context, const char *device, const char *summary)
{
    (void)device;
    (void)summary;
    ++*(int *)context;
}

static bool any_device(const struct backend_ops *ops)
{
    int count = 0;
    if (ops->missing == NULL)
        ops->list(count_device, &count);
    return count > 0;
}

/* Returns the first backend that measures and has a device, or the first that simulates. */
static const struct backend_ops *find_any(const struct backend_ops *const list[])
{
    const struct backend_ops *simulator = NULL;
    for (; *list != NULL; list++) {
        if ((*list)->measures && any_device(*list))
            return *list;
        if (!(*list)->measures && simulator == NULL)
            simulator = *list;
    }
    return simulator;
}

enum status backend_select(const struct backend_ops *const list[], const char *device,
                           const struct backend_ops **ops, const char **argument,
                           struct error *error)
{
    if (strcmp(device, "auto") == 0) {
        *ops = find_any(list);
        *argument = device_find((*ops)->name)->fallback;
        return STATUS_OK;
    }
    const struct device_row *row = device_find(device);
    char allowed[128];
    for (; row != NULL && *list != NULL; list++) {
        if (strcmp((*list)->name, row->name) != 0)
            continue;
        if ((*list)->missing != NULL)
            return error_set(error, STATUS_NO_DEVICE, "--device=%s: %s", device,
                             (*list)->missing);
        *ops = *list;
        *argument = device_argument(device);
        return STATUS_OK;
    }
    return error_set(error, STATUS_USAGE, "--device=%s: must be %s", device,
                     device_allowed(allowed, sizeof allowed));
}

/* The numbers of listed devices, as --device takes them: "0,1". */
struct listed {
    uint32_t count;
    bool all; /* nothing else than devices is listed */
    char numbers[64];
};

static void list_device(void *context, const char *device, const char *summary)
{
    struct listed *listed = context;
    (void)summary;
    listed->all &= device_complaint(device) == NULL && device_argument(device)[0] != '\0';
    listed->count++;
    if (listed->count <= MACHINE_DEVICES_MAX)
        text_add(listed->numbers, sizeof listed->numbers, ",", "%s", device_argument(device));
}

void backend_name_devices(const struct backend_ops *ops, const char *argument, char *text,
                          size_t size)
{
    struct listed listed = {.all = true};
    snprintf(text, size, "%s:%s", ops->name,
             argument[0] != '\0' ? argument : device_find(ops->name)->fallback);
    if (!device_is_all(text))
        return;
    ops->list(list_device, &listed);
    if (listed.all && listed.count > 0 && listed.count <= MACHINE_DEVICES_MAX)
        snprintf(text, size, "%s:%s", ops->name, listed.numbers);
}

/* --- machines --- */

static enum status file_text(const char *path, char **text, struct error *error)
{
    char *content, why[INPUT_WHY];
    size_t length;
    enum status status = input_text(path, &content, &length, why);
    if (status != STATUS_OK)
        return error_set(error, status, "%s: the machine file can't be read: %s", path, why);
    if (strlen(content) < length) {
        free(content);
        return error_set(error, STATUS_USAGE, "%s: is no machine file", path);
    }
    *text = content;
    return STATUS_OK;
}

/* Names a machine after its file: "mine" for "dir/mine.ini". */
static void name_from_path(char name[MACHINE_TEXT], const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(name, MACHINE_TEXT, "%s", slash != NULL ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name)
        *dot = '\0';
}

enum status machine_load(struct machine *machine, const char *name, struct error *error)
{
    if (!machine_is_path(name))
        return machine_built_in(machine, name, error);
    char *text = NULL;
    enum status status = file_text(name, &text, error);
    if (status == STATUS_OK)
        status = machine_parse(machine, text, name, error);
    free(text);
    if (status == STATUS_OK)
        name_from_path(machine->name, name);
    return status;
}
