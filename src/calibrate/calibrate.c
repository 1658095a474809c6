/* calibrate.c - the order of a calibration, what needs no measuring, and the command. */
#include "calibrate/calibrate.h"

#include "calibrate/rig.h"
#include "kernels/kernel_code.h"
#include "machine/fields.h"
#include "plan/device.h"
#include "report/reference.h"
#include "run/cpu_worker.h"
#include "term/progress.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The figures that need no measuring: from the device itself, or from NVIDIA on its generation.
 */
static const struct {
    const char *key, *how;
} known[] = {
    {"compute_capability", "the device's properties"},
    {"devices", "not measured: one is known"},
    {"host_h2d_bytes_per_s", "not measured: no limit that devices share is known"},
    {"host_d2h_bytes_per_s", "likewise"},
    {"host_joint_bytes_per_s", "likewise"},
    {"host_shared", "not measured: what devices share can't be told by their copies' times"},
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
    const uint32_t devices = settings_devices(&rig->settings);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const struct machine_field *field = machine_field_find(machine_fields, known[i].key);
        const double value = machine_field_get(field, rig->device);
        /* A figure that the backend leaves out is what a file means that leaves it out. */
        rig_known(rig, known[i].key, value >= field->least ? value : field->otherwise,
                  rig->ops->measures ? known[i].how : "as simulated");
    }
    if (devices > 1)
        rig_known(rig, "devices", devices, "as many as copied at once");
}

/* Returns true for what is not measured: what rows are slowed down to, the calls that take
 * memory in stream order, managed memory, processes that share a device, and what devices give
 * each other, which is measured where there are several. */
static bool is_taken(const struct machine_field *field)
{
    static const char *const keys[] = {
        "issue_take_ns",           "take_first_ns",
        "prefetch_in_bytes_per_s", "prefetch_in_ns",
        "prefetch_out_ns",         "prefetch_out_bytes_per_s",
        "prefetch_begin_ns",       "fault_ns",
        "fault_bytes_per_s",       "time_slice_ns",
        "context_switch_ns",       "peer_bytes_per_s",
        "peer_latency_ns",         "peer_joint_bytes_per_s",
    };
    bool taken = strcmp(field->section, "rows") == 0 || strcmp(field->section, "spread") == 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        taken |= strcmp(field->key, keys[i]) == 0;
    return taken;
}

/* Takes what is not measured from the machine file that stands for the device, or, where
 * there is none, what a file means that leaves it out. */
static void take_the_rest(struct rig *rig)
{
    const bool measures = rig->ops->measures;
    struct machine alike;
    struct error none = {0};
    const bool found =
        reference_machine(NULL, rig->device, !measures, 0, &alike, &none) == STATUS_OK;
    if (!found)
        alike = *rig->device;
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        if (!is_taken(field))
            continue;
        if (!found)
            machine_field_default(field, &alike);
        rig_known(rig, field->key, machine_field_get(field, &alike),
                  !measures ? "as simulated"
                  : found   ? "not measured: of the machine file for this device"
                            : "not measured: as in a file without it");
    }
}

/* The parts in their order: each takes the figures of those before it as given. */
static const struct part {
    const char *name; /* for the progress line */
    void (*measure)(struct rig *rig);
    bool calls; /* it is also done where only what the host decides is measured */
} parts[] = {
    {"calls", calibrate_calls, true},         {"packing", calibrate_packing, true},
    {"host", calibrate_host, false},          {"cpu", calibrate_cpu, false},
    {"copies", calibrate_copies, false},      {"devices", calibrate_shared, false},
    {"peers", calibrate_peers, false},        {"kernels", calibrate_kernels, false},
    {"mapped", calibrate_mapped, false},      {"signals", calibrate_signals, false},
    {"callbacks", calibrate_callbacks, true}, {"graphs", calibrate_graphs, true},
    {"checks", calibrate_checks, true},
};
enum { PARTS = sizeof parts / sizeof parts[0] };
static_assert((int)PARTS <= (int)PARTS_MAX, "a calibration keeps the time of each part");

static int passes(const struct backend_ops *ops)
{
    return ops->measures ? RIG_PASSES : 1;
}

/* Returns how many parts a pass has. */
static int count_parts(bool calls_only)
{
    int count = 0;
    for (int i = 0; i < PARTS; i++)
        count += !calls_only || parts[i].calls;
    return count;
}

static void measure_pass(struct rig *rig)
{
    struct calibration *calibration = rig->calibration;
    calibration->part_count = 0;
    rig->refusal = (struct refusal){0};
    rig->sample = 0;
    if (!rig->calls_only) {
        take_known(rig);
        take_the_rest(rig);
    }
    for (int i = 0; i < PARTS && !rig_failed(rig); i++) {
        if (rig->calls_only && !parts[i].calls)
            continue;
        progress_next(parts[i].name, 1);
        const int64_t begin_ns = clock_now_ns();
        parts[i].measure(rig);
        struct part_time *time = &calibration->parts[calibration->part_count++];
        time->name = parts[i].name;
        time->took_ns += clock_now_ns() - begin_ns;
    }
}

/* Says why the device can't be calibrated. */
static enum status refuse_device(const struct rig *rig)
{
    const struct machine *device = rig->device;
    const struct refusal *refusal = &rig->refusal;
    char more[32] = "";
    if (refusal->more > 0)
        snprintf(more, sizeof more, "; and %d more", refusal->more);
    return error_set(rig->error, STATUS_FAILED,
                     "this device, %s, can't be calibrated: %s%s (is something else running on "
                     "it?)",
                     device->summary[0] != '\0' ? device->summary : device->name, refusal->text,
                     more);
}

/* Measures pass by pass. Where in the end a figure is impossible or does not hold, and the
 * passes differ so much that others may agree, a few more take the places of the oldest. */
static enum status measure(struct rig *rig)
{
    enum { MORE_PASSES = 2 };
    const int planned = passes(rig->ops), parts_each = count_parts(rig->calls_only);
    bool more = true;
    for (rig->pass = 0; more && !rig_failed(rig); rig->pass++) {
        if (rig->pass >= planned)
            progress_more(parts_each, parts_each);
        rig->last = rig->pass + 1 >= planned;
        measure_pass(rig);
        bool refused = rig->refusal.text[0] != '\0' && !rig->refusal.final;
        more = !rig->last ||
               (rig->ops->measures && refused && rig->pass + 1 < planned + MORE_PASSES);
    }
    arrays_free(&rig->arrays);
    arrays_free(&rig->small);
    arrays_free(&rig->shared);
    free(rig->samples);
    return rig_failed(rig) || rig->refusal.text[0] == '\0' ? rig->error->status
                                                           : refuse_device(rig);
}

/* Reads the machine file back: figures that are possible each by itself may still contradict
 * one another. */
static enum status check_file(const struct calibration *calibration, struct error *error)
{
    struct machine read;
    struct error why = {0};
    char *text = calibration_text(calibration);
    if (text == NULL)
        return error_no_memory(error, "to write a machine file");
    enum status status = machine_parse(&read, text, "the machine file", &why);
    free(text);
    if (status == STATUS_OK)
        return status;
    return error_set(error, STATUS_FAILED,
                     "this device, %s, can't be calibrated: its figures contradict each other "
                     "(is something else running on it?): %s",
                     calibration->machine.summary, why.text);
}

/* Fills what is known before anything is measured: with a `file`, its figures. */
static void begin_calibration(const struct backend_ops *ops, const struct machine *device,
                              const struct machine *file, struct calibration *calibration)
{
    struct machine *machine = &calibration->machine;
    calibration->simulated = !ops->measures;
    if (file != NULL) {
        *machine = *file;
        return;
    }
    memcpy(machine->name, device->name, sizeof device->name);
    memcpy(machine->summary, calibration->simulated ? device->summary : device->name,
           MACHINE_TEXT);
    memcpy(machine->architecture, device->architecture, sizeof device->architecture);
}

/* Returns the kernel of the user's own that the settings name, or NULL. */
static const struct kernel *own_kernel(const struct settings *settings)
{
    const bool named = settings->chain_length > 0 && settings->chain[0]->file != NULL;
    return named ? settings->chain[0] : NULL;
}

/* Calibrates all of the device, or with a `file` only what the host decides. */
static enum status calibrate_part(const struct backend_ops *ops, struct backend *backend,
                                  const struct settings *settings, const struct machine *file,
                                  struct calibration *calibration, struct error *error)
{
    struct machine device;
    struct error why = {0};
    int64_t begin = clock_now_ns();
    const struct kernel *own = file == NULL ? own_kernel(settings) : NULL;
    if (own != NULL && !ops->measures && kernel_lacks_twin(own))
        return error_set(
            error, STATUS_USAGE,
            "%s has no CPU twin, and simulated machines run that: calibrate a real "
            "device with it",
            own->name);
    enum status status = ops->describe(backend, settings, &device, error);
    if (status != STATUS_OK)
        return status;
    struct calibration *found = calloc(1, sizeof *found);
    if (found == NULL)
        return error_no_memory(error, "to calibrate");
    struct rig rig = {.ops = ops,
                      .backend = backend,
                      .settings = *settings,
                      .calibration = found,
                      .device = &device,
                      .own = own,
                      .calls_only = file != NULL,
                      .error = &why};
    rig.settings.no_data = settings->no_data || !ops->measures;
    rig.settings.profile = false;
    rig.settings.input = rig.settings.output = NULL;
    begin_calibration(ops, &device, file, found);
    status = measure(&rig);
    found->took_ns = clock_now_ns() - begin;
    if (status == STATUS_OK && file == NULL)
        status = check_file(found, &why);
    if (status == STATUS_OK)
        *calibration = *found;
    else
        error_pass(error, &why);
    free(found);
    return status;
}

enum status calibrate(const struct backend_ops *ops, struct backend *backend,
                      const struct settings *settings, struct calibration *calibration,
                      struct error *error)
{
    return calibrate_part(ops, backend, settings, NULL, calibration, error);
}

enum status calibrate_calls_of(const struct backend_ops *ops, struct backend *backend,
                               const struct settings *settings, struct machine *machine,
                               bool quiet, struct error *error)
{
    struct calibration *calibration = malloc(sizeof *calibration);
    if (calibration == NULL)
        return error_no_memory(error, "to calibrate");
    int count = passes(ops) * count_parts(true);
    progress_begin(count, count, quiet);
    enum status status = calibrate_part(ops, backend, settings, machine, calibration, error);
    progress_end();
    if (status == STATUS_OK)
        *machine = calibration->machine;
    free(calibration);
    return status;
}

enum status calibrate_device(const struct settings *settings, bool quiet,
                             const struct backend_ops *const list[],
                             struct calibration *calibration, struct error *error)
{
    const struct backend_ops *ops;
    const char *argument;
    struct backend *backend = NULL;
    struct settings named = *settings;
    char device[TIMELINE_TEXT];
    backends_configure(list, settings);
    enum status status = backend_select(list, settings->device, &ops, &argument, error);
    if (status != STATUS_OK)
        return status;
    backend_name_devices(ops, argument, device, sizeof device);
    named.device = device;
    named.devices = device_count(device);
    status = ops->open(device_argument(device), &named, &backend, error);
    if (status != STATUS_OK)
        return status;
    if (strcmp(settings->device, "auto") == 0 && !ops->measures)
        note_print(quiet, "no CUDA device: calibrating a simulated NVIDIA H200, which "
                          "gives its own figures back (--device=sim:h200)");
    int count = passes(ops) * count_parts(false);
    progress_begin(count, count, quiet);
    status = calibrate(ops, backend, &named, calibration, error);
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
        return error_no_memory(error, "to calibrate");
    enum status status =
        calibrate_device(&options->runs[0], options->quiet, list, calibration, error);
    if (status == STATUS_OK)
        calibration_write(out, calibration);
    free(calibration);
    return status;
}
