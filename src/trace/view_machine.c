/* view_machine.c - the machine that stands for a recorded device, with what the trace of
 * another profiler shows of it.
 *
 * A recording of this program's is replayed on a machine file as it is. A profiler's own cost
 * is in all times of its trace, and hosts differ: the rates of copies, and how long ops take to
 * start, to follow each other and to load their code, are what the trace itself has, as
 * medians, wherever it has enough of them. */
#include "trace/view_parts.h"

#include "core/compare.h"
#include "core/items.h"
#include "report/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Refuses a machine that is not of the device that was recorded. */
static enum status check_calibrated(const struct machine *calibrated, const char *recorded,
                                    struct error *error)
{
    if (strcmp(calibrated->summary, recorded) == 0)
        return STATUS_OK;
    return error_set(
        error, STATUS_USAGE,
        "--calibrate: the device that is here is an %s, and the recording is of an "
        "%s: calibrate where that is, and name the file by --machine",
        calibrated->summary, recorded);
}

/* --- what a trace shows --- */

enum shown {
    KERNEL_START, /* from the call's begin to the kernel's, of a device with nothing to do */
    COPY_START,   /* likewise of copies */
    KERNEL_GAP,   /* from one to the next of a stream, issued long before, and nothing beside */
    LAUNCH,       /* the call */
    LOAD,         /* the call of a kernel's first launch */
    COPY,
    IN, /* the time of a GiB at the rates of copies that are large, page-locked */
    OUT,
    STAGED_IN, /* and pageable */
    STAGED_OUT,
    SHOWN
};

struct samples {
    int64_t *items;
    size_t count, room;
};

struct fitter {
    const struct recording *recording;
    uint32_t device;
    struct samples shown[SHOWN];
    bool *launched;     /* per name: it was launched before */
    int64_t *kernel_ns; /* per stream: when its latest op ends, if that is a kernel; else 0 */
};

static bool keep(struct fitter *fitter, enum shown what, int64_t value_ns)
{
    struct samples *samples = &fitter->shown[what];
    int64_t *item = ITEMS_ADD(samples->items, samples->count, samples->room);
    if (item != NULL)
        *item = value_ns;
    return item != NULL;
}

/* Sets *value_ns to the median of what was seen as often as `least`. */
static void set_median(struct fitter *fitter, enum shown what, size_t least, int64_t *value_ns)
{
    struct samples *samples = &fitter->shown[what];
    if (samples->count < least)
        return;
    qsort(samples->items, samples->count, sizeof *samples->items, compare_i64);
    *value_ns = samples->items[samples->count / 2];
}

/* Sets a rate in bytes per second to what large copies show, of which one tells more than a
 * file.
 */
static void set_rate(struct fitter *fitter, enum shown what, double *rate)
{
    int64_t gib_ns = 0;
    set_median(fitter, what, 1, &gib_ns);
    if (gib_ns > 0)
        *rate = 1e9 * (double)(1 << 30) / (double)gib_ns;
}

static bool keep_rate(struct fitter *fitter, const struct recorded_op *op)
{
    enum { LARGE = 1 << 20 };
    const bool out = op->kind == OP_D2H;
    const enum host_memory memory = (enum host_memory)(out ? op->to : op->from);
    const int64_t took_ns = op->end_ns - op->start_ns;
    if (!op_is_copy(op->kind) || op->bytes < LARGE || took_ns <= 0 ||
        memory == HOST_MEMORY_UNKNOWN)
        return true;
    return keep(fitter,
                memory == HOST_MEMORY_PAGEABLE ? (out ? STAGED_OUT : STAGED_IN)
                : out                          ? OUT
                                               : IN,
                (int64_t)((double)took_ns * (1 << 30) / (double)op->bytes));
}

/* Looks at an op, of which all that began before it ended by `idle_ns` at the latest. */
static bool look(struct fitter *fitter, const struct recorded_op *op, int64_t idle_ns)
{
    enum { AHEAD_NS = 20000 };
    const struct recorded_call *call = &fitter->recording->calls[op->call];
    const int64_t before_ns = fitter->kernel_ns[op->stream];
    const bool copies = op_is_copy(op->kind), kernel = op->kind == OP_KERNEL;
    fitter->kernel_ns[op->stream] = kernel ? op->end_ns : 0;
    if (kernel && op->name < fitter->recording->name_count && !fitter->launched[op->name]) {
        fitter->launched[op->name] = true;
        return call->op_count != 1 || keep(fitter, LOAD, call->end_ns - call->start_ns);
    }
    if (call->op_count != 1 || !keep_rate(fitter, op))
        return call->op_count != 1;
    if (kernel && before_ns - call->end_ns > AHEAD_NS && before_ns == idle_ns &&
        !keep(fitter, KERNEL_GAP, later(op->start_ns - before_ns, 0)))
        return false;
    if (call->start_ns <= idle_ns || (copies && op->from == HOST_MEMORY_PAGEABLE) ||
        !(copies || kernel))
        return true;
    return keep(fitter, copies ? COPY : LAUNCH, call->end_ns - call->start_ns) &&
           keep(fitter, copies ? COPY_START : KERNEL_START, op->start_ns - call->start_ns);
}

COMPARE_POINTERS_BY(compare_starts, struct recorded_op, start_ns, end_ns);

/* Looks at all ops of the device, as they began, and at all calls that waited. */
static bool look_at_all(struct fitter *fitter, struct arena *arena)
{
    const struct recording *recording = fitter->recording;
    const struct recorded_op **ops = arena_zeros(arena, recording->op_count, sizeof *ops);
    size_t count = 0;
    int64_t idle_ns = INT64_MIN;
    fitter->kernel_ns = arena_zeros(arena, recording->stream_count, sizeof(int64_t));
    fitter->launched = arena_zeros(arena, recording->name_count, sizeof(bool));
    if (arena->full)
        return false;
    EACH (const struct recorded_op, op, recording->ops, recording->op_count) {
        if (op->call != RECORDING_NONE &&
            recording->streams[op->stream].device == fitter->device)
            ops[count++] = op;
    }
    qsort(ops, count, sizeof *ops, compare_starts);
    bool room = true;
    for (size_t i = 0; i < count && room; i++) {
        room = look(fitter, ops[i], idle_ns);
        idle_ns = later(idle_ns, ops[i]->end_ns);
    }
    return room;
}

/* Sets the rate of page-locked memory. One of another device is no rate of this one: then it is
 * that of pageable memory, and nothing is gained by page-locked memory. */
static void set_link(struct fitter *fitter, enum shown pinned, enum shown staged,
                     bool stands_in, double *link, double *pageable)
{
    set_rate(fitter, staged, pageable);
    if (stands_in && fitter->shown[staged].count > 0)
        *link = *pageable;
    set_rate(fitter, pinned, link);
}

/* Gives a machine, which is another device's where it only stands in, what the trace shows of
 * it.
 */
static bool fit(const struct recording *recording, uint32_t device, bool stands_in,
                struct machine *machine)
{
    enum { LEAST = 5 };
    struct fitter fitter = {.recording = recording, .device = device};
    struct arena arena = {0};
    int64_t call_ns = 0, start_ns = 0, load_ns = 0;
    const bool room = look_at_all(&fitter, &arena);
    set_link(&fitter, IN, STAGED_IN, stands_in, &machine->h2d_bytes_per_s,
             &machine->pageable_h2d_bytes_per_s);
    set_link(&fitter, OUT, STAGED_OUT, stands_in, &machine->d2h_bytes_per_s,
             &machine->pageable_d2h_bytes_per_s);
    set_median(&fitter, KERNEL_GAP, LEAST, &machine->kernel_gap_ns);
    set_median(&fitter, LAUNCH, LEAST, &call_ns);
    set_median(&fitter, KERNEL_START, LEAST, &start_ns);
    if (start_ns > 0)
        machine->kernel_latency_ns = later(start_ns - call_ns, 0);
    set_median(&fitter, LOAD, 1, &load_ns);
    if (load_ns > 0)
        machine->lazy_load_ns = later(load_ns - call_ns, 0);
    start_ns = 0;
    set_median(&fitter, COPY, LEAST, &call_ns);
    set_median(&fitter, COPY_START, LEAST, &start_ns);
    if (start_ns > 0)
        machine->copy_start_ns = later(start_ns - call_ns, 0);
    for (int i = 0; i < SHOWN; i++)
        free(fitter.shown[i].items);
    arena_free(&arena);
    return room;
}

enum status view_find_machine(const struct machine *calibrated, const char *asked,
                              const struct recording *recording, uint32_t device,
                              struct machine *machine, bool *found, struct error *error)
{
    struct machine named = {0};
    struct error why = {0};
    const bool profiled = recording->traced_by != NULL;
    if (calibrated != NULL &&
        check_calibrated(calibrated, recording->devices[device].name, error) != STATUS_OK)
        return error->status;
    if (calibrated != NULL)
        named = *calibrated;
    else
        snprintf(named.name, sizeof named.name, "%s", recording->devices[device].name);
    enum status status =
        reference_machine(calibrated != NULL ? NULL : asked, &named, calibrated != NULL,
                          recording->connections, machine, &why);
    const bool stands_in = status == STATUS_USAGE && asked == NULL && profiled;
    if (stands_in)
        status = machine_built_in(machine, "h200", &why);
    *found = status == STATUS_OK;
    if (status == STATUS_NO_MEMORY || (status != STATUS_OK && asked != NULL))
        return error_pass(error, &why);
    if (*found && profiled && !fit(recording, device, stands_in, machine))
        return error_no_memory(error, "for the machine of a trace");
    return STATUS_OK;
}
