/* backend_sim.c - the simulated device: virtual time, real bytes.
 *
 * The simulator says when each op ends; the bytes follow in that order: copies copy, kernels
 * run their CPU twins on memory that stands for the device's. So a result is right only where
 * the timeline allows it to be: ops in the wrong order work on stale bytes, and of ops that
 * race and overlap, run/host_ops.h says whose output is spoiled.
 *
 * A portion with crossings has no time of its own: when it goes on is up to other processes.
 * Its bytes follow in the order of issue, in which no process waits for what another one does
 * later. */
#include "run/backend.h"

#include "core/units.h"
#include "plan/device.h"
#include "plan/host_layout.h"
#include "run/arrays.h"
#include "run/host_ops.h"
#include "sim/simulator.h"
#include "term/marks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct backend {
    struct machine machine;
    uint32_t queues;
    const struct workload *workload; /* the prepared one; NULL: none */
    struct host_bytes memory;        /* host arrays and device buffers; none with --no-data */
    uint64_t mapped[BUFFER_COUNT];   /* bytes that were taken for device buffers */
    uint64_t cpu_scratch_mapped;
    struct running running;    /* the ops of a plan with hazards that run now */
    struct timeline *timeline; /* the present run's */
};

/* Nothing has to be set before a simulated device is touched. */
static void sim_configure(const struct settings *settings)
{
    (void)settings;
}

/* Loads the machine that an argument names, NAME or NAME*N. */
static enum status load(const char *argument, const struct settings *settings,
                        struct machine *machine, struct error *error)
{
    const uint32_t devices = settings_devices(settings);
    const size_t length = device_argument_length(argument);
    char *name = strndup(length > 0 ? argument : device_find("sim")->fallback,
                         length > 0 ? length : SIZE_MAX);
    if (name == NULL)
        return error_no_memory(error, "for a simulated device");
    enum status status = machine_load(machine, name, error);
    free(name);
    const bool apart = settings->sharing == SHARING_NONE;
    if (status == STATUS_OK && apart && devices > machine->devices)
        status = error_set(
            error, STATUS_USAGE,
            "--device=sim:%s: the machine %s has %" PRIu32 " device%s (devices in its file)",
            argument, machine->name, machine->devices, machine->devices > 1 ? "s" : "");
    return status;
}

static enum status sim_open(const char *argument, const struct settings *settings,
                            struct backend **backend, struct error *error)
{
    struct backend *opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return error_no_memory(error, "for a simulated device");
    enum status status = load(argument, settings, &opened->machine, error);
    if (status == STATUS_OK && settings->connections > opened->machine.queues_max)
        status =
            error_set(error, STATUS_USAGE,
                      "--connections=%u: the machine %s has %u hardware queue%s at most",
                      settings->connections, opened->machine.name, opened->machine.queues_max,
                      opened->machine.queues_max > 1 ? "s" : "");
    if (status != STATUS_OK) {
        free(opened);
        return status;
    }
    if (settings->connections > 0)
        opened->machine.queues = settings->connections;
    *backend = opened;
    return STATUS_OK;
}

static enum status sim_describe(struct backend *backend, const struct settings *settings,
                                struct machine *machine, struct error *error)
{
    (void)settings;
    (void)error;
    *machine = backend->machine;
    return STATUS_OK;
}

static enum status sim_check(struct backend *backend, const struct plan *plan,
                             struct error *error)
{
    return simulator_check(&backend->machine, plan, error);
}

static enum status refuse(struct backend *backend, const struct workload *workload,
                          struct error *error)
{
    if (sim_check(backend, workload->plan, error) != STATUS_OK)
        return error->status;
    uint64_t needed = plan_device_bytes(workload->plan) / plan_gpus(workload->plan);
    char needed_text[UNITS_TEXT], there_text[UNITS_TEXT];
    if (needed > backend->machine.memory_bytes)
        return error_set(
            error, STATUS_FAILED,
            "the plan needs %s of device memory%s and the machine %s has %s (ways 3 "
            "and 4 need only a slot per stream)",
            units_bytes(needed, needed_text),
            plan_gpus(workload->plan) > 1 ? " on each device" : "", backend->machine.name,
            units_bytes(backend->machine.memory_bytes, there_text));
    return STATUS_OK;
}

static void sim_release(struct backend *backend)
{
    for (int b = BUFFER_FIRST_DEVICE; b < BUFFER_COUNT; b++)
        host_unmap(backend->memory.buffers[b], backend->mapped[b]);
    host_unmap(backend->memory.scratch, backend->cpu_scratch_mapped);
    backend->memory = (struct host_bytes){0};
    backend->workload = NULL;
}

/* Poisons what an earlier run left, which could look right. Scratch is not poisoned: it starts
 * as zero. */
static void poison_device_memory(struct backend *backend, const struct plan *plan)
{
    for (int b = BUFFER_FIRST_DEVICE; b < BUFFER_COUNT; b++) {
        if (backend->memory.buffers[b] != NULL && b != BUFFER_DEVICE_SCRATCH)
            arrays_fill_poison(backend->workload->arrays, backend->memory.buffers[b],
                               plan->buffer_bytes[b], true);
    }
}

static enum status take_device_memory(struct backend *backend, const struct plan *plan,
                                      struct error *error)
{
    char text[UNITS_TEXT];
    for (int b = BUFFER_FIRST_DEVICE; b < BUFFER_COUNT; b++) {
        uint64_t bytes = plan->buffer_bytes[b];
        if (bytes == 0)
            continue;
        backend->memory.buffers[b] = host_map(bytes, true, &backend->mapped[b]);
        if (backend->memory.buffers[b] == NULL)
            return error_set(error, STATUS_NO_MEMORY,
                             "no host memory for %s of simulated device memory",
                             units_bytes(plan_device_bytes(plan), text));
    }
    if (plan->cpu_tiles == 0 || !chain_host_needs_scratch(plan->chain, plan->chain_length))
        return STATUS_OK;
    uint64_t elements = (plan->elements + plan->tiles - 1) / plan->tiles;
    uint64_t bytes = elements * dtype_bytes(plan->chain[0]->in);
    backend->memory.scratch = host_map(bytes, true, &backend->cpu_scratch_mapped);
    if (backend->memory.scratch == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no host memory for %s of scratch",
                         units_bytes(bytes, text));
    return STATUS_OK;
}

static enum status sim_prepare(struct backend *backend, const struct workload *workload,
                               struct error *error)
{
    enum status status = refuse(backend, workload, error);
    if (status != STATUS_OK)
        return status;
    backend->workload = workload;
    if (workload->arrays == NULL)
        return STATUS_OK;
    for (int b = 0; b < BUFFER_FIRST_DEVICE; b++)
        backend->memory.buffers[b] = workload->arrays->host[b];
    status = take_device_memory(backend, workload->plan, error);
    if (status != STATUS_OK)
        sim_release(backend);
    return status;
}

/* Poisons the output of an op that raced and lost. A kernel's scratch is no output. */
static void poison_output(const struct backend *backend, const struct op *op)
{
    struct access access[OP_ACCESS_MAX];
    int count = op_accesses(op, access);
    for (int i = 0; i < count; i++) {
        struct range rest = access[i].range, piece;
        while (access[i].writes && rest.buffer != BUFFER_DEVICE_SCRATCH &&
               host_layout_next(backend->workload->plan, &rest, &piece))
            arrays_fill_poison(backend->workload->arrays,
                               host_bytes_at(&backend->memory, &piece), piece.bytes, true);
    }
}

static enum status start_op(void *context, const struct op *op, struct error *error)
{
    struct backend *backend = context;
    int64_t start_ns = timeline_span(backend->timeline, op->id)->start_ns;
    if (running_start(&backend->running, op, start_ns))
        return STATUS_OK;
    return error_no_memory(error, "to watch ops that race");
}

static bool is_spoiled(struct backend *backend, const struct op *op)
{
    if (!backend->workload->races)
        return false;
    int64_t end_ns = timeline_span(backend->timeline, op->id)->end_ns;
    return running_end(&backend->running, op, end_ns);
}

static void do_crossing(struct flags *flags, const struct op *op)
{
    if (op->kind == OP_RECORD && op->event.flag > 0)
        flags_raise(flags, op->event.flag);
    if (op->kind == OP_WAIT && op->event.flag > 0)
        flags_await(flags, op->event.flag);
}

static enum status do_op(void *context, const struct op *op, struct error *error)
{
    struct backend *backend = context;
    const struct workload *workload = backend->workload;
    (void)error;
    if (op->kind == OP_CALLBACK && !op_feeds(op) && workload->on_tile != NULL) {
        for (uint32_t i = 0; i < op_tiles(op); i++)
            workload->on_tile(workload->context, op->tile + (int32_t)i);
    }
    if (workload->arrays == NULL)
        return STATUS_OK;
    if (workload->flags != NULL)
        do_crossing(workload->flags, op);
    if (is_spoiled(backend, op))
        poison_output(backend, op);
    else if (op->kind == OP_H2D)
        host_do_copies(&backend->memory, op, &op->copy.device, &op->copy.host);
    else if (op->kind == OP_D2H)
        host_do_copies(&backend->memory, op, &op->copy.host, &op->copy.device);
    else if (op->kind == OP_PACK)
        host_do_copies(&backend->memory, op, &op->move.to, &op->move.from);
    else if (op_moves(op->kind))
        memcpy(host_bytes_at(&backend->memory, &op->move.to),
               host_bytes_at(&backend->memory, &op->move.from), op->move.to.bytes);
    else if (op->kind == OP_MEMSET)
        memset(host_bytes_at(&backend->memory, &op->set.range), op->set.value,
               op->set.range.bytes);
    else if (op->kind == OP_KERNEL)
        host_do_kernel(&backend->memory, op);
    else if (op->kind == OP_CPU)
        host_do_cpu(&backend->memory, op);
    else if (op_feeds(op))
        carry_feed(host_bytes_at(&backend->memory, &op->callback.ranges->in[0]),
                   host_bytes_at(&backend->memory, &op->callback.ranges->in[1]),
                   host_bytes_at(&backend->memory, &op->callback.ranges->out));
    return STATUS_OK;
}

/* Runs the ops of a portion with crossings, and takes no times. */
static enum status do_portion(struct backend *backend, struct error *error)
{
    const struct plan *plan = backend->workload->plan;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < plan->op_count && status == STATUS_OK; i++)
        status = do_op(backend, &plan->ops[i], error);
    return status;
}

static enum status sim_run(struct backend *backend, struct timeline *timeline,
                           struct run_times *times, struct error *error)
{
    struct timeline own = {0};
    struct timeline *filled = timeline != NULL ? timeline : &own;
    bool data = backend->workload->arrays != NULL;
    struct simulator_hooks hooks = {
        .on_start = data && backend->workload->races ? start_op : NULL,
        .on_end = data || backend->workload->on_tile != NULL ? do_op : NULL,
        .context = backend,
    };
    struct run_times result = {0};
    backend->timeline = filled;
    backend->memory.plan = backend->workload->plan;
    backend->running.count = 0;
    if (data)
        poison_device_memory(backend, backend->workload->plan);
    if (backend->workload->flags != NULL)
        return do_portion(backend, error);
    marks_begin("simulate");
    enum status status =
        simulator_run(&backend->machine, backend->machine.queues, backend->workload->plan,
                      &hooks, filled, &result.issue_ns, error);
    marks_end();
    if (status == STATUS_OK) {
        filled->timing = TIMING_VIRTUAL;
        filled->resolution_ns = 1;
        snprintf(filled->device, sizeof filled->device, "%s", backend->machine.summary);
        result.time_ns = timeline_time_ns(filled);
        *times = result;
    }
    timeline_free(&own);
    return status;
}

static void sim_close(struct backend *backend)
{
    if (backend != NULL) {
        sim_release(backend);
        running_free(&backend->running);
    }
    free(backend);
}

static void sim_list(void (*each)(void *context, const char *device, const char *summary),
                     void *context)
{
    for (const struct embedded *text = machine_texts; text->name != NULL; text++) {
        struct machine machine;
        char device[MACHINE_TEXT + 8];
        snprintf(device, sizeof device, "sim:%s", text->name);
        if (machine_parse(&machine, text->text, text->name, NULL) == STATUS_OK)
            each(context, device, machine.summary);
    }
}

const struct backend_ops backend_sim_ops = {
    .name = "sim",
    .configure = sim_configure,
    .open = sim_open,
    .describe = sim_describe,
    .check = sim_check,
    .prepare = sim_prepare,
    .run = sim_run,
    .release = sim_release,
    .close = sim_close,
    .list = sim_list,
    .measures = false,
};
