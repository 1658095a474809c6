/* calibrate.c - the order of a calibration, what needs no measuring, and the command. */
#include "calibrate/calibrate.h"

#include "calibrate/rig.h"
#include "machine/fields.h"
#include "run/cpu_worker.h"
#include "term/progress.h"

#include <stdlib.h>
#include <string.h>

/* The figures that need no measuring: from the device itself, or from NVIDIA on its generation.
 */
static const struct {
    const char *key, *how;
} known[] = {
    {"compute_capability", "the device's properties"},
    {"sms", "the device's properties"},
    {"threads_per_sm", "the device's properties"},
    {"blocks_per_sm", "the device's properties"},
    {"memory_bytes", "the device's properties"},
    {"concurrent_kernels", "CUDA C++ programming guide: resident grids of a device"},
    {"queues", "CUDA_DEVICE_MAX_CONNECTIONS, or its default"},
    {"queues_max", "and its largest value"},
    {"priority_least", "cudaDeviceGetStreamPriorityRange()"},
    {"priority_greatest", "likewise"},
    {"cpu_cores", "those that 4-way runs use"},
};

static void take_known(struct rig *rig)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const struct machine_field *field = machine_field_find(machine_fields, known[i].key);
        rig_known(rig, known[i].key, machine_field_get(field, rig->device),
                  rig->ops->measures ? known[i].how : "as simulated");
    }
}

/* The parts in their order: each takes the figures of those before it as given. */
static const struct {
    const char *name; /* for the progress line */
    enum status (*measure)(struct rig *rig);
} parts[] = {
    {"calls", calibrate_host},      {"copies", calibrate_copies},
    {"kernels", calibrate_kernels}, {"signals", calibrate_signals},
    {"graphs", calibrate_graphs},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

static enum status measure(struct rig *rig)
{
    enum status status = STATUS_OK;
    take_known(rig);
    for (int i = 0; i < PARTS && status == STATUS_OK; i++) {
        progress_next(parts[i].name, 1);
        status = parts[i].measure(rig);
        if (status == STATUS_OK) /* a figure that was refused is an error, too */
            status = rig->error->status;
    }
    arrays_free(&rig->arrays);
    arrays_free(&rig->small);
    return status;
}

/* Reads the machine file back: figures that are possible each by itself may still contradict
 * one another. */
static enum status check_file(const struct calibration *calibration, struct error *error)
{
    struct machine read;
    struct error why = {0};
    char *text = calibration_text(calibration);
    if (text == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory to write a machine file");
    enum status status = machine_parse(&read, text, "the machine file", &why);
    free(text);
    if (status == STATUS_OK)
        return status;
    return error_set(error, STATUS_FAILED,
                     "this device can't be calibrated: its figures contradict each other (is "
                     "something else running on it?): %s",
                     why.text);
}

enum status calibrate(const struct backend_ops *ops, struct backend *backend,
                      const struct settings *settings, struct calibration *calibration,
                      struct error *error)
{
    struct machine device;
    struct error why = {0};
    int64_t begin = clock_now_ns();
    enum status status = ops->describe(backend, settings, &device, error);
    if (status != STATUS_OK)
        return status;
    struct calibration *found = calloc(1, sizeof *found);
    if (found == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory to calibrate");
    struct rig rig = {.ops = ops,
                      .backend = backend,
                      .settings = *settings,
                      .calibration = found,
                      .device = &device,
                      .error = &why};
    rig.settings.no_data = !ops->measures;
    rig.settings.profile = false;
    rig.settings.input = rig.settings.output = NULL;
    found->simulated = !ops->measures;
    memcpy(found->machine.name, device.name, sizeof device.name);
    memcpy(found->machine.summary, found->simulated ? device.summary : device.name,
           MACHINE_TEXT);
    memcpy(found->machine.architecture, device.architecture, sizeof device.architecture);
    status = measure(&rig);
    found->took_ns = clock_now_ns() - begin;
    if (status == STATUS_OK)
        status = check_file(found, &why);
    if (status == STATUS_OK)
        *calibration = *found;
    else
        error_pass(error, &why);
    free(found);
    return status;
}

enum status calibrate_device(const struct settings *settings, bool quiet,
                             const struct backend_ops *const list[],
                             struct calibration *calibration, struct error *error)
{
    const struct backend_ops *ops;
    const char *argument;
    struct backend *backend = NULL;
    backends_configure(list, settings);
    enum status status = backend_select(list, settings->device, &ops, &argument, error);
    if (status == STATUS_OK)
        status = ops->open(argument, settings, &backend, error);
    if (status != STATUS_OK)
        return status;
    if (strcmp(settings->device, "auto") == 0 && !ops->measures)
        note_print(quiet, "no CUDA device: calibrating a simulated NVIDIA H200, which "
                          "gives its own figures back (--device=sim:h200)");
    progress_begin(PARTS, PARTS, quiet);
    status = calibrate(ops, backend, settings, calibration, error);
    progress_end();
    ops->close(backend);
    return status;
}

enum status calibrate_command(const struct options *options,
                              const struct backend_ops *const list[], FILE *out,
                              struct error *error)
{
    struct calibration *calibration = calloc(1, sizeof *calibration);
    if (calibration == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory to calibrate");
    enum status status =
        calibrate_device(&options->runs[0], options->quiet, list, calibration, error);
    if (status == STATUS_OK)
        calibration_write(out, calibration);
    free(calibration);
    return status;
}
