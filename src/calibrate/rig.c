/* rig.c - builds and times the small plans of a calibration. */
#include "calibrate/rig.h"

#include "analysis/analysis.h"
#include "machine/fields.h"
#include "plan/validate.h"
#include "sim/simulator.h"
#include "term/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    REPEATS = 5,
    ARRAY_BYTES = 128 << 20, /* beyond the GPU's caches: ops take its parts in turn */
    SMALL_ELEMENTS = 1 << 20,
    GATE_ELEMENTS = 8 << 20, /* one block does them in some ms: time to issue a thousand ops */
    GATE_EVENT = 0,
};

/* A plan while it is built from a row; what fails is kept and ends it. */
struct rows {
    struct rig *rig;
    const struct row *row;
    struct plan plan;
    uint64_t device_offset, host_offset;
    uint32_t event; /* recorded and waited for by this step; the gate has the first */
    enum status status;
};

static const struct kernel *row_kernel(const struct row *row)
{
    return row->kernel != NULL ? row->kernel : kernel_find("scale");
}

static bool needs_arrays(const struct row *row)
{
    return strpbrk(row->steps, "hdu") != NULL;
}

static void plan_shape(struct rows *rows)
{
    const struct row *row = rows->row;
    struct plan *plan = &rows->plan;
    const struct kernel *kernel = row_kernel(row);
    plan_init(plan);
    plan->streams = row->streams > 0 ? row->streams : 1;
    plan->streams *= row->apart ? 2 : 1;
    plan->events = row->count + 2;
    plan->tiles = row->count;
    plan->cpu_tiles = strchr(row->steps, 'u') != NULL ? row->count : 0;
    plan->slots = 1;
    plan->memory = row->pageable ? MEMORY_PAGEABLE : MEMORY_PINNED;
    plan->loads_lazily = row->lazy;
    plan->elements = (needs_arrays(row) ? ARRAY_BYTES : SMALL_ELEMENTS) / sizeof(float);
    plan->chain[0] = kernel;
    plan->chain[1] = kernel_find("scale"); /* the gate's; the CPU would do it as well */
    plan->chain_length = plan->cpu_tiles > 0 ? 1 : 2;
    plan->params.intensity = row->intensity > 0 ? row->intensity : 1;
    uint64_t host = plan->elements * sizeof(float);
    plan->buffer_bytes[BUFFER_HOST_IN0] = plan->buffer_bytes[BUFFER_HOST_OUT] = host;
    plan->buffer_bytes[BUFFER_HOST_IN1] = kernel->inputs == 2 ? host : 0;
    plan->buffer_bytes[BUFFER_DEVICE_IN0] = plan->buffer_bytes[BUFFER_DEVICE_OUT] = ARRAY_BYTES;
    plan->buffer_bytes[BUFFER_DEVICE_IN1] = kernel->inputs == 2 ? ARRAY_BYTES : 0;
    plan->buffer_bytes[BUFFER_DEVICE_SCRATCH] = kernel_scratch_bytes(kernel, plan->elements);
}

static void put(struct rows *rows, const struct op *op)
{
    if (rows->status == STATUS_OK)
        rows->status = plan_append(&rows->plan, op, rows->rig->error);
}

/* The next `bytes` of a large array, from its start again at its end. */
static uint64_t next_part(uint64_t *offset, uint64_t bytes, uint64_t array)
{
    enum { ALIGNMENT = 256 };
    uint64_t step = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint64_t at = *offset + step <= array ? *offset : 0;
    *offset = at + step;
    return at;
}

static void put_copy(struct rows *rows, enum op_kind kind, uint32_t stream)
{
    bool in = kind == OP_H2D;
    uint64_t bytes = rows->row->bytes;
    uint64_t at = next_part(&rows->host_offset, bytes, ARRAY_BYTES);
    put(rows, &(struct op){
                  .kind = kind,
                  .stream = stream,
                  .copy = {.host = {in ? BUFFER_HOST_IN0 : BUFFER_HOST_OUT, at, bytes},
                           .device = {in ? BUFFER_DEVICE_IN0 : BUFFER_DEVICE_OUT, at, bytes}}});
}

static void put_kernel(struct rows *rows, uint32_t stream, uint32_t link, uint64_t count,
                       uint32_t blocks)
{
    const struct kernel *kernel = rows->plan.chain[link];
    uint64_t in = count * dtype_bytes(kernel->in);
    uint64_t out = kernel->shape == KERNEL_REDUCE ? dtype_bytes(kernel->out)
                                                  : count * dtype_bytes(kernel->out);
    uint64_t at = next_part(&rows->device_offset, in > out ? in : out, ARRAY_BYTES);
    struct op op = {.kind = OP_KERNEL, .stream = stream};
    op.kernel.link = link;
    op.kernel.count = count;
    op.kernel.blocks = blocks;
    op.kernel.in[0] = (struct range){BUFFER_DEVICE_IN0, at, in};
    if (kernel->inputs == 2)
        op.kernel.in[1] = (struct range){BUFFER_DEVICE_IN1, at, in};
    op.kernel.out = (struct range){BUFFER_DEVICE_OUT, at, out};
    uint64_t scratch = kernel_scratch_bytes(kernel, count);
    if (scratch > 0)
        op.kernel.scratch = (struct range){BUFFER_DEVICE_SCRATCH, 0, scratch};
    put(rows, &op);
}

static void put_cpu(struct rows *rows)
{
    const struct kernel *kernel = rows->plan.chain[0];
    uint64_t count = rows->row->elements, bytes = count * dtype_bytes(kernel->in);
    uint64_t at = next_part(&rows->host_offset, bytes, ARRAY_BYTES);
    struct op op = {.kind = OP_CPU, .stream = rows->plan.streams};
    op.cpu.count = count;
    uint64_t out = kernel->shape == KERNEL_REDUCE ? dtype_bytes(kernel->out) : bytes;
    op.cpu.in[0] = (struct range){BUFFER_HOST_IN0, at, bytes};
    if (kernel->inputs == 2)
        op.cpu.in[1] = (struct range){BUFFER_HOST_IN1, at, bytes};
    op.cpu.out = (struct range){BUFFER_HOST_OUT, at, out};
    put(rows, &op);
}

static void put_step(struct rows *rows, char step, uint32_t stream)
{
    const struct row *row = rows->row;
    switch (step) {
    case 'h':
        return put_copy(rows, OP_H2D, stream);
    case 'd':
        return put_copy(rows, OP_D2H, stream + (row->apart ? rows->plan.streams / 2 : 0));
    case 'k':
        return put_kernel(rows, stream, 0, row->elements, row->blocks);
    case 'r':
    case 'w':
        return put(rows, &(struct op){.kind = step == 'r' ? OP_RECORD : OP_WAIT,
                                      .stream = stream,
                                      .event = {rows->event}});
    case 'c':
        return put(rows, &(struct op){.kind = OP_CALLBACK, .stream = stream});
    case 'u':
        return put_cpu(rows);
    case 's':
        return put(rows,
                   &(struct op){.kind = OP_SYNC, .stream = rows->plan.streams, .tile = -1});
    default: /* 'a' and 'p' */
        return put(rows, &(struct op){.kind = OP_ALLOC,
                                      .stream = rows->plan.streams,
                                      .tile = -1,
                                      .alloc = {row->bytes, step == 'p'}});
    }
}

/* Holds every stream until one long block is done. */
static void put_gate(struct rows *rows)
{
    put_kernel(rows, 0, 1, GATE_ELEMENTS, 1);
    put(rows, &(struct op){.kind = OP_RECORD, .event = {GATE_EVENT}});
    for (uint32_t stream = 1; stream < rows->plan.streams; stream++)
        put(rows, &(struct op){.kind = OP_WAIT, .stream = stream, .event = {GATE_EVENT}});
}

static enum status build(struct rows *rows, struct rig *rig, const struct row *row)
{
    *rows = (struct rows){.rig = rig, .row = row};
    plan_shape(rows);
    rows->plan.issue = row->graph ? ISSUE_GRAPH : ISSUE_STREAMS;
    uint32_t streams = row->streams > 0 ? row->streams : 1;
    if (row->gate)
        put_gate(rows);
    for (uint32_t i = 0; i < row->count; i++) {
        rows->event = i + 1;
        for (const char *step = row->steps; *step != '\0'; step++)
            put_step(rows, *step, i % streams);
    }
    if (rows->status == STATUS_OK)
        rows->status = plan_validate(&rows->plan, rig->error);
    return rows->status;
}

/* The host arrays, taken once and kept. */
static enum status take_arrays(struct rig *rig, const struct row *row, const struct plan *plan,
                               struct arrays **arrays)
{
    *arrays = NULL;
    if (rig->settings.no_data)
        return STATUS_OK;
    bool large = needs_arrays(row);
    const struct kernel **made_for = large ? &rig->arrays_for : &rig->small_for;
    *arrays = large ? &rig->arrays : &rig->small;
    if (*made_for == row_kernel(row))
        return STATUS_OK;
    arrays_free(*arrays);
    *made_for = row_kernel(row);
    return arrays_create(*arrays, plan, &rig->settings, rig->error);
}

static double quartile(const int64_t *sorted, int count, int quarter)
{
    return (double)sorted[(count - 1) * quarter / 4];
}

struct measured measured_median(int64_t *values, int count)
{
    if (count == 0)
        return (struct measured){0};
    struct measured timing = {.ns = (double)median_ns(values, (size_t)count)};
    timing.spread_ns = (quartile(values, count, 3) - quartile(values, count, 1)) / 2;
    return timing;
}

static enum status run_once(struct rig *rig, struct timeline *timeline, struct run_times *times)
{
    progress_timed(rig->ops->measures);
    enum status status = rig->ops->run(rig->backend, timeline, times, rig->error);
    progress_timed(false);
    return status;
}

/* Host memory is before each run as it is before those that are calibrated for: what is copied
 * back to was just written by the CPU. */
static enum status run_repeats(struct rig *rig, const struct workload *workload,
                               struct measured *span, struct measured *issue)
{
    int64_t spans[REPEATS], issues[REPEATS];
    int repeats = rig->ops->measures ? REPEATS : 1, warmup = rig->ops->measures ? 1 : 0;
    for (int i = -warmup; i < repeats; i++) {
        struct run_times times;
        if (workload->arrays == &rig->arrays)
            arrays_poison(workload->arrays);
        enum status status = run_once(rig, NULL, &times);
        if (status != STATUS_OK)
            return status;
        if (i < 0)
            continue;
        spans[i] = times.time_ns;
        issues[i] = times.issue_ns;
    }
    *span = measured_median(spans, repeats);
    *issue = measured_median(issues, repeats);
    return STATUS_OK;
}

/* Builds and prepares; rows->plan and the backend's prepared state are to be given back. */
static enum status make_ready(struct rig *rig, const struct row *row, struct rows *rows,
                              struct settings *settings, struct workload *workload)
{
    struct arrays *arrays;
    enum status status = build(rows, rig, row);
    if (status == STATUS_OK)
        status = take_arrays(rig, row, &rows->plan, &arrays);
    if (status != STATUS_OK)
        return status;
    *settings = rig->settings;
    settings->issue = rows->plan.issue;
    *workload = (struct workload){.plan = &rows->plan, .settings = settings, .arrays = arrays};
    return rig->ops->prepare(rig->backend, workload, rig->error);
}

static enum status time_row(struct rig *rig, const struct row *row, struct measured *span,
                            struct measured *issue)
{
    struct rows rows;
    struct settings settings;
    struct workload workload;
    enum status status = make_ready(rig, row, &rows, &settings, &workload);
    if (status == STATUS_OK)
        status = run_repeats(rig, &workload, span, issue);
    rig->ops->release(rig->backend);
    plan_free(&rows.plan);
    return status;
}

static struct measured shared(struct measured many, struct measured few, uint32_t more)
{
    return (struct measured){.ns = (many.ns - few.ns) / more,
                             .spread_ns = (many.spread_ns + few.spread_ns) / more};
}

enum status rig_step(struct rig *rig, const struct row *row, struct measured *step,
                     struct measured *issue)
{
    struct row fewer = *row;
    struct measured many, few, many_issue, few_issue;
    fewer.count = row->count / 4 > 0 ? row->count / 4 : 1;
    enum status status = time_row(rig, row, &many, &many_issue);
    if (status == STATUS_OK)
        status = time_row(rig, &fewer, &few, &few_issue);
    if (status != STATUS_OK)
        return status;
    if (step != NULL)
        *step = shared(many, few, row->count - fewer.count);
    if (issue != NULL)
        *issue = shared(many_issue, few_issue, row->count - fewer.count);
    return STATUS_OK;
}

enum status rig_issue(struct rig *rig, const struct row *row, struct measured *issue)
{
    struct measured span;
    return time_row(rig, row, &span, issue);
}

static enum status simulate_row(struct rig *rig, const struct row *row, double *span_ns)
{
    struct rows rows;
    struct timeline timeline;
    int64_t issued_ns;
    struct machine machine = rig->calibration->machine;
    if (machine.queue_depth == 0) /* not found yet */
        machine.queue_depth = UINT32_MAX;
    timeline_init(&timeline);
    enum status status = build(&rows, rig, row);
    if (status == STATUS_OK)
        status = simulator_run(&machine, rig->device->queues, &rows.plan, NULL, &timeline,
                               &issued_ns, rig->error);
    if (status == STATUS_OK)
        *span_ns = (double)timeline_time_ns(&timeline);
    timeline_free(&timeline);
    plan_free(&rows.plan);
    return status;
}

enum status rig_simulated_step(struct rig *rig, const struct row *row, double *step_ns)
{
    struct row fewer = *row;
    double many, few;
    fewer.count = row->count / 4 > 0 ? row->count / 4 : 1;
    enum status status = simulate_row(rig, row, &many);
    if (status == STATUS_OK)
        status = simulate_row(rig, &fewer, &few);
    if (status == STATUS_OK)
        *step_ns = (many - few) / (row->count - fewer.count);
    return status;
}

enum status rig_trace(struct rig *rig, const struct row *row, struct timeline *timeline)
{
    struct rows rows;
    struct settings settings;
    struct workload workload;
    struct run_times times;
    enum status status = make_ready(rig, row, &rows, &settings, &workload);
    if (status == STATUS_OK)
        status = run_once(rig, timeline, &times);
    if (status == STATUS_OK && timeline->timing == TIMING_EVENTS)
        status = error_set(rig->error, STATUS_FAILED,
                           "this device can't be calibrated: CUPTI is needed to see when ops "
                           "start (%s)",
                           timeline->driver);
    if (status == STATUS_OK)
        snprintf(rig->calibration->driver, sizeof rig->calibration->driver, "%s",
                 timeline->driver);
    rig->ops->release(rig->backend);
    plan_free(&rows.plan);
    return status;
}

void rig_open(struct rig *rig)
{
    rig->settings.no_data = !rig->ops->measures;
    rig->settings.profile = false;
    rig->settings.input = rig->settings.output = NULL;
}

void rig_close(struct rig *rig)
{
    arrays_free(&rig->arrays);
    arrays_free(&rig->small);
}

static struct figure *add_figure(struct rig *rig, const char *kernel, const char *key)
{
    struct calibration *calibration = rig->calibration;
    for (int i = 0; i < calibration->figure_count; i++) {
        struct figure *figure = &calibration->figures[i];
        if (strcmp(figure->key, key) == 0 && figure->kernel == kernel)
            return figure;
    }
    struct figure *figure = &calibration->figures[calibration->figure_count++];
    figure->key = key;
    figure->kernel = kernel;
    return figure;
}

/* A figure in ns is off by as much as the times that it was made of, a rate or a share by as
 * large a part. */
static double spread_of(const struct field *field, double value, struct measured timing)
{
    if (field->type == FIELD_NS || timing.ns <= 0)
        return timing.spread_ns;
    return value * timing.spread_ns / timing.ns;
}

/* What a machine file can't hold is no figure: something disturbed the measurements. */
static bool is_figure(struct rig *rig, const struct field *field, double value)
{
    bool unknown = value == 0 && field->zero_unknown;
    if ((value >= field->least && value <= field->most) || unknown)
        return true;
    error_set(rig->error, STATUS_FAILED,
              "this device can't be calibrated: its times make %s %.4g, and %.4g to %.4g are "
              "possible (is something else running on it?)",
              field->key, value, field->least, field->most);
    return false;
}

void rig_found(struct rig *rig, const char *key, double value, struct measured timing,
               const char *how)
{
    const struct field *field = machine_field_find(machine_fields, key);
    if (!is_figure(rig, field, value))
        return;
    struct figure *figure = add_figure(rig, NULL, key);
    figure->spread = spread_of(field, value, timing);
    snprintf(figure->how, sizeof figure->how, "%s", how);
    machine_field_put(field, &rig->calibration->machine, value);
}

void rig_found_kernel(struct rig *rig, const struct kernel *kernel, const char *key,
                      double value, struct measured timing, const char *how)
{
    struct machine *machine = &rig->calibration->machine;
    struct machine_kernel *row =
        (struct machine_kernel *)machine_kernel_find(machine, kernel->name);
    if (row == NULL) {
        row = &machine->kernels[machine->kernel_count++];
        *row = (struct machine_kernel){0};
        snprintf(row->name, sizeof row->name, "%s", kernel->name);
    }
    const struct field *field = machine_field_find(machine_kernel_fields, key);
    if (!is_figure(rig, field, value))
        return;
    struct figure *figure = add_figure(rig, kernel->name, key);
    figure->spread = spread_of(field, value, timing);
    snprintf(figure->how, sizeof figure->how, "%s", how);
    machine_field_put(field, row, value);
}

void rig_known(struct rig *rig, const char *key, double value, const char *how)
{
    rig_found(rig, key, value, (struct measured){0}, how);
    add_figure(rig, NULL, key)->spread = -1;
}
