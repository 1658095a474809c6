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
    {"l2_bytes", "the device's properties"},
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

/* Returns true for what no part measures, which a simulated machine gives back as it is: what
 * rows are slowed down to, the calls that take memory in stream order, managed memory,
 * processes that share a device, spreads, and what devices give each other, which is measured
 * where there are several. */
static bool is_taken(const struct machine_field *field)
{
    static const char *const begins[] = {"issue_take_ns", "take_first_ns", "prefetch_",
                                         "fault_",        "time_slice_ns", "context_switch_ns",
                                         "peer_"};
    bool taken = strcmp(field->section, "rows") == 0 || strcmp(field->section, "spread") == 0;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        taken |= strncmp(field->key, begins[i], strlen(begins[i])) == 0;
    return taken;
}

/* Finds what stands for a figure that is not measured: what the machine file for such a device
 * says, or what a file means that leaves it out. */
static void find_usual(struct rig *rig)
{
    struct error none = {0};
    const bool found = rig->ops->measures && reference_machine(NULL, rig->device, false, 0,
                                                               &rig->usual, &none) == STATUS_OK;
    rig->usual_how = found                ? "not measured: of the machine file for this device"
                     : rig->ops->measures ? "not measured: as in a file without it"
                                          : "as simulated";
    rig->without = rig->ops->measures && !found;
    if (found)
        return;
    rig->usual = *rig->device;
    rig->usual.kernel_count = 0;
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        if (rig->ops->measures || !is_taken(field))
            machine_field_default(field, &rig->usual);
    }
}

void rig_begin(struct rig *rig)
{
    if (rig_of_host(rig)) { /* all of the machine is there */
        rig->usual = rig->calibration->machine;
        rig->usual_how = "not measured: of the machine file";
        return;
    }
    find_usual(rig);
    for (const struct machine_field *field = machine_fields; field->key != NULL; field++) {
        if (field->type != FIELD_TEXT)
            rig_known(rig, field->key, machine_field_get(field, &rig->usual), rig->usual_how);
    }
    for (int i = 0; i < rig->usual.kernel_count; i++) {
        const struct kernel *kernel = kernel_find(rig->usual.kernels[i].name);
        for (const struct machine_field *field = machine_kernel_fields;
             kernel != NULL && field->key != NULL; field++) {
            const double value = machine_field_get(field, &rig->usual.kernels[i]);
            if (value > 0)
                rig_set(rig, kernel, field->key, value, NULL, rig->usual_how);
        }
    }
    take_known(rig);
}

/* The parts in their order: each takes the figures of those before it as given. */
static const struct part {
    const char *name; /* for the progress line */
    void (*measure)(struct rig *rig);
    unsigned scopes; /* of enum calibration_scope */
    bool varies;     /* from moment to moment, as what the host takes does */
} parts[] = {
    {"calls", calibrate_calls, CALIBRATE_ALL | CALIBRATE_QUICK | CALIBRATE_CALLS, true},
    {"packing", calibrate_packing, CALIBRATE_ALL | CALIBRATE_QUICK | CALIBRATE_PACKING, true},
    {"host", calibrate_host, CALIBRATE_ALL, false},
    {"cpu", calibrate_cpu, CALIBRATE_ALL, true},
    {"copies", calibrate_copies, CALIBRATE_ALL | CALIBRATE_QUICK, true},
    {"pageable", calibrate_pageable, CALIBRATE_ALL | CALIBRATE_QUICK | CALIBRATE_PAGEABLE,
     true},
    {"devices", calibrate_shared, CALIBRATE_ALL, false},
    {"peers", calibrate_peers, CALIBRATE_ALL, false},
    {"kernels", calibrate_kernels, CALIBRATE_ALL | CALIBRATE_QUICK, false},
    {"mapped", calibrate_mapped, CALIBRATE_ALL, false},
    {"signals", calibrate_signals, CALIBRATE_ALL | CALIBRATE_QUICK, true},
    {"callbacks", calibrate_callbacks, CALIBRATE_ALL | CALIBRATE_QUICK | CALIBRATE_CALLS, true},
    {"graphs", calibrate_graphs, CALIBRATE_ALL | CALIBRATE_QUICK | CALIBRATE_GRAPHS, true},
    {"checks", calibrate_checks, CALIBRATE_ALL, false},
};
enum { PARTS = sizeof parts / sizeof parts[0] };
static_assert((int)PARTS <= (int)PARTS_MAX, "a calibration keeps the time of each part");

/* Returns how many parts a pass has. */
static int count_parts(unsigned scope)
{
    int count = 0;
    for (int i = 0; i < PARTS; i++)
        count += (parts[i].scopes & scope) != 0;
    return count;
}

/* Measures a part once, or once more. Returns how long that took. */
static int64_t measure_part(struct rig *rig, const struct part *part, struct part_time *time)
{
    if (!rig_of_host(rig)) { /* else it is soon done, beside a run's own progress */
        if (time->passes > 0)
            progress_more(1, 1);
        progress_next(part->name, 1);
    }
    const int64_t begin_ns = clock_now_ns();
    if (time->passes == 0)
        time->sample = rig->sample_count;
    rig->sample = time->sample;
    rig->pass = time->passes++;
    part->measure(rig);
    const int64_t took_ns = clock_now_ns() - begin_ns;
    time->name = part->name;
    time->took_ns += took_ns;
    return took_ns;
}

/* Measures all parts once, and then those for which there is time again: in each pass those
 * that vary, and then the others. What a part took before is what it takes again. A simulated
 * device has the same times in each pass. */
static enum status measure(struct rig *rig)
{
    enum { ALL_MS = 16500, QUICK_MS = 4500, CALLS_MS = 900 };
    const int64_t most_ns = INT64_C(1000000) * (rig->scope == CALIBRATE_ALL     ? ALL_MS
                                                : rig->scope == CALIBRATE_QUICK ? QUICK_MS
                                                                                : CALLS_MS);
    const int sweeps = rig->ops->measures ? 2 * RIG_PASSES - 1 : 1;
    const int64_t begin_ns = clock_now_ns();
    struct calibration *calibration = rig->calibration;
    int64_t takes_ns[PARTS] = {0};
    rig_begin(rig);
    for (int sweep = 0; sweep < sweeps; sweep++) {
        calibration->part_count = 0;
        for (int i = 0; i < PARTS; i++) {
            if ((parts[i].scopes & rig->scope) == 0)
                continue;
            struct part_time *time = &calibration->parts[calibration->part_count++];
            const bool turn = sweep == 0 || parts[i].varies == (sweep % 2 == 1);
            const int64_t until_ns = clock_now_ns() - begin_ns + takes_ns[i];
            if (rig_failed(rig) || !turn || (sweep > 0 && until_ns > most_ns))
                continue;
            takes_ns[i] = measure_part(rig, &parts[i], time);
        }
    }
    if (!rig_failed(rig))
        rig_end(rig);
    arrays_free(&rig->arrays);
    arrays_free(&rig->small);
    arrays_free(&rig->shared);
    free(rig->samples);
    return rig->error->status;
}

/* Reads the machine file back: figures that are possible each by itself may still contradict
 * one another, and without a machine file for such a device some may be missing. */
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
                     "this device, %s, can't be calibrated: its figures make no machine (is "
                     "something else running on it?): %s",
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

/* Calibrates the device, or with a `file` what the host decides. */
static enum status calibrate_part(const struct backend_ops *ops, struct backend *backend,
                                  const struct settings *settings, unsigned scope,
                                  const struct machine *file, struct calibration *calibration,
                                  struct error *error)
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
                      .scope = scope,
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
                      const struct settings *settings, unsigned scope,
                      struct calibration *calibration, struct error *error)
{
    return calibrate_part(ops, backend, settings, scope, NULL, calibration, error);
}

unsigned calibrate_needs(const struct settings *settings)
{
    const bool open = settings->issue == ISSUE_AUTO; /* packing and graphs are tried, too */
    unsigned needs = CALIBRATE_CALLS;
    if (settings->pack || open)
        needs |= CALIBRATE_PACKING;
    if (settings->memory == MEMORY_PAGEABLE && !settings->pack)
        needs |= CALIBRATE_PAGEABLE;
    if (settings->issue == ISSUE_GRAPH || open)
        needs |= CALIBRATE_GRAPHS;
    return needs;
}

enum status calibrate_host_of(const struct backend_ops *ops, struct backend *backend,
                              const struct settings *settings, unsigned scope,
                              struct machine *machine, struct error *error)
{
    struct calibration *calibration = malloc(sizeof *calibration);
    if (calibration == NULL)
        return error_no_memory(error, "to calibrate");
    enum status status =
        calibrate_part(ops, backend, settings, scope, machine, calibration, error);
    if (status == STATUS_OK)
        *machine = calibration->machine;
    free(calibration);
    return status;
}

enum status calibrate_device(const struct settings *settings, unsigned scope, bool quiet,
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
    const int count = count_parts(scope);
    progress_begin(count, count, quiet);
    status = calibrate(ops, backend, &named, scope, calibration, error);
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
        calibrate_device(&options->runs[0], options->quick ? CALIBRATE_QUICK : CALIBRATE_ALL,
                         options->quiet, list, calibration, error);
    if (status == STATUS_OK)
        calibration_write(out, calibration);
    free(calibration);
    return status;
}
