/* backend.c - the device of each rank as the devices of one run.
 *
 * A device that measures runs the rank's portion of the plan, and what it took is gathered. A
 * simulated one is simulated with all others in every rank, which takes the same virtual time
 * everywhere, and beside that does the rank's portion for its bytes. */
#include "core/mix.h"
#include "kernels/kernel_code.h"
#include "mpi/parts.h"
#include "mpi/ranks.h"
#include "plan/device.h"
#include "plan/portion.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct backend {
    const struct backend_ops *ops; /* of the devices below */
    struct backend *part;          /* this rank's device, which does its portion */
    struct backend *whole;         /* simulated: all devices; else NULL */
    struct settings settings;      /* of the portion: one device */
    struct plan portion;
    struct crossings crossings; /* of the whole plan */
    struct workload workload, part_workload, whole_workload;
    struct ranks_seen seen;
    bool prepared, compared; /* its input is known to be that of the others */
    int begins;              /* how often the timed part of the present run began */
};

static const struct backend_ops *chosen; /* by ranks_backend() */

static void configure(const struct settings *settings)
{
    chosen->configure(settings);
}

/* Writes the argument that names this rank's device: of "h200*4" that is "h200", and of "0,1"
 * one of the numbers. */
static void own_argument(const char *argument, char *text, size_t size)
{
    const char *at = argument;
    for (uint32_t i = 0; i < world.number && chosen->measures && strchr(at, ',') != NULL; i++)
        at = strchr(at, ',') + 1;
    const size_t length =
        chosen->measures ? strcspn(at, ",") : device_argument_length(argument);
    snprintf(text, size, "%.*s", (int)length, at);
}

static enum status open_both(const char *argument, const struct settings *settings,
                             struct backend *backend, struct error *error)
{
    char own[4096];
    backend->ops = chosen;
    backend->settings = *settings;
    backend->settings.devices = 1;
    own_argument(argument, own, sizeof own);
    enum status status = chosen->open(own, &backend->settings, &backend->part, error);
    if (status == STATUS_OK && !chosen->measures)
        status = chosen->open(argument, settings, &backend->whole, error);
    return status;
}

static void see_hosts(struct ranks_seen *seen)
{
    char own[RANK_HOST] = "", all[MACHINE_DEVICES_MAX][RANK_HOST];
    world_host(own);
    MPI_Allgather(own, RANK_HOST, MPI_BYTE, all, RANK_HOST, MPI_BYTE, world.ranks);
    seen->count = world.count;
    for (uint32_t rank = 0; rank < world.count; rank++)
        memcpy(seen->places[rank].host, all[rank], RANK_HOST);
}

static void close_backend(struct backend *backend);

static enum status open_backend(const char *argument, const struct settings *settings,
                                struct backend **out, struct error *error)
{
    struct backend *backend = calloc(1, sizeof *backend);
    enum status status = STATUS_OK;
    if (backend == NULL)
        status = error_no_memory(error, "to open a device");
    else
        status = open_both(argument, settings, backend, error);
    status = world_agree(status, error);
    if (status != STATUS_OK) {
        close_backend(backend);
        return status;
    }
    see_hosts(&backend->seen);
    *out = backend;
    return STATUS_OK;
}

/* What the host's memory gives all devices at once was not measured, for each rank knows its
 * own device alone: it is taken to bound none of their links, so that no limit is above what a
 * run may take. */
static void bound_host(struct machine *machine)
{
    const double unbounded = 1e15;
    machine->host_h2d_bytes_per_s = unbounded;
    machine->host_d2h_bytes_per_s = unbounded;
    machine->host_joint_bytes_per_s = unbounded;
}

/* Rank 0 describes its device for all: the plan, and what is said of it, follow from one
 * machine. The others' devices are taken to be like it. */
static enum status describe(struct backend *backend, const struct settings *settings,
                            struct machine *machine, struct error *error)
{
    struct settings own = *settings;
    enum status status = STATUS_OK;
    if (backend->whole != NULL)
        status = backend->ops->describe(backend->whole, settings, machine, error);
    own.devices = 1;
    if (backend->whole == NULL && world.number == 0)
        status = backend->ops->describe(backend->part, &own, machine, error);
    status = world_agree(status, error);
    if (status != STATUS_OK)
        return status;
    MPI_Bcast(machine, sizeof *machine, MPI_BYTE, 0, world.ranks);
    /* No rank reaches into the memory of another one's device. */
    machine->peer_bytes_per_s = machine->peer_joint_bytes_per_s = 0;
    if (backend->whole == NULL) {
        machine->devices = settings->sharing == SHARING_NONE ? world.count : 1;
        bound_host(machine);
    }
    return STATUS_OK;
}

static struct backend *any(struct backend *backend)
{
    return backend->whole != NULL ? backend->whole : backend->part;
}

static enum status check(struct backend *backend, const struct plan *plan, struct error *error)
{
    return backend->ops->check(any(backend), plan, error);
}

static void release(struct backend *backend)
{
    if (!backend->prepared)
        return;
    backend->ops->release(backend->part);
    if (backend->whole != NULL)
        backend->ops->release(backend->whole);
    courier_release();
    crossings_free(&backend->crossings);
    plan_free(&backend->portion);
    backend->prepared = false;
}

/* Has all ranks begin at once. Where a rank has to make its run again, the others have begun
 * long ago, and what they had for this rank has come. */
static void begin(void *context)
{
    struct backend *backend = context;
    if (backend->begins++ == 0)
        MPI_Barrier(world.ranks);
}

/* Returns true if rank 0 gets the results of all tiles, and judges all. */
static bool gathers(const struct backend *backend)
{
    const struct kernel *last = plan_last_kernel(backend->workload.plan);
    return backend->workload.settings->output != NULL || last->shape == KERNEL_REDUCE ||
           kernel_code(last)->check != NULL;
}

static enum status prepare(struct backend *backend, const struct workload *workload,
                           struct error *error)
{
    if (workload->arrays != NULL)
        common_take(workload->arrays, &backend->seen);
    enum status status = crossings_find(workload->plan, &backend->crossings, error);
    if (status == STATUS_OK)
        status = plan_portion(workload->plan, world.number, &backend->crossings,
                              &backend->portion, error);
    status = world_agree(status, error); /* all take their flags together, or none does */
    if (status != STATUS_OK) {
        plan_free(&backend->portion);
        crossings_free(&backend->crossings);
        return status;
    }
    backend->prepared = true;
    backend->compared = false;
    backend->workload = backend->whole_workload = backend->part_workload = *workload;
    backend->whole_workload.arrays = NULL;
    backend->whole_workload.on_tile = NULL;
    backend->part_workload.on_tile = NULL;
    backend->part_workload.plan = &backend->portion;
    backend->settings = *workload->settings;
    backend->settings.devices = 1;
    backend->part_workload.settings = &backend->settings;
    backend->part_workload.on_begin = begin;
    backend->part_workload.begins = backend;
    if (workload->arrays != NULL && !(world.number == 0 && gathers(backend))) {
        workload->arrays->dealt = workload->plan;
        workload->arrays->device = world.number;
    }
    status = courier_prepare(&backend->crossings, &backend->part_workload, error);
    if (status == STATUS_OK && backend->whole != NULL)
        status = backend->ops->prepare(backend->whole, &backend->whole_workload, error);
    if (status == STATUS_OK && (backend->whole == NULL || workload->arrays != NULL))
        status = backend->ops->prepare(backend->part, &backend->part_workload, error);
    if (status != STATUS_OK)
        release(backend);
    return status;
}

/* Starts the courier in all ranks, or in none. */
static enum status start_courier(struct error *error)
{
    const enum status status = world_agree(courier_start(error), error);
    if (status != STATUS_OK)
        courier_cancel();
    return status;
}

/* --- a simulated run --- */

/* Simulates all devices, and does this rank's portion for its bytes. */
static enum status simulate(struct backend *backend, struct timeline *timeline,
                            struct run_times *times, uint64_t *hash, struct error *error)
{
    struct run_times unused;
    enum status status = start_courier(error);
    if (status != STATUS_OK)
        return status;
    status = backend->ops->run(backend->whole, timeline, times, error);
    if (status == STATUS_OK && backend->workload.arrays != NULL)
        status = backend->ops->run(backend->part, NULL, &unused, error);
    courier_end(status != STATUS_OK);
    *hash = 0;
    for (uint32_t i = 0; status == STATUS_OK && i < timeline->span_count; i++)
        *hash = mix_at(*hash ^ (uint64_t)timeline->spans[i].end_ns,
                       (uint64_t)timeline->spans[i].start_ns);
    return status;
}

static enum status run_simulated(struct backend *backend, struct timeline *timeline,
                                 struct run_times *times, struct error *error)
{
    uint64_t hash = 0;
    enum status status = world_agree(simulate(backend, timeline, times, &hash, error), error);
    if (status != STATUS_OK)
        return status;
    const uint32_t unlike = world_unlike(hash);
    return unlike == 0 ? STATUS_OK
                       : error_set(error, STATUS_FAILED,
                                   "rank %" PRIu32 " simulates another machine than rank 0: "
                                   "they read unlike files",
                                   unlike);
}

/* --- a measured run --- */

/* Runs this rank's portion. A rank that fails before its timed part begins must not leave the
 * others to wait for it. */
static enum status run_portion(struct backend *backend, struct timeline *part,
                               struct rank_run *run, struct error *error)
{
    backend->begins = 0;
    enum status status = start_courier(error);
    if (status != STATUS_OK)
        return status;
    status = backend->ops->run(backend->part, part, &run->times, error);
    if (backend->begins == 0)
        begin(backend);
    courier_end(status != STATUS_OK);
    run->begins = backend->begins;
    if (status != STATUS_OK || part == NULL)
        return world_agree(status, error);
    run->timing = part->timing;
    run->resolution_ns = part->resolution_ns;
    run->device_node = part->numa.devices[0];
    run->buffers_node = part->numa.buffers;
    memcpy(run->device, part->device, sizeof run->device);
    memcpy(run->driver, part->driver, sizeof run->driver);
    return world_agree(status, error);
}

/* Runs the portions of all ranks at once, and again where one had to make its run again: it
 * knows then how to take its times. */
static enum status run_portions(struct backend *backend, struct timeline *part,
                                struct rank_run *runs, struct error *error)
{
    enum { TRIES = 3 };
    bool again = true;
    for (int i = 0; i < TRIES && again; i++) {
        struct rank_run own = {0};
        clocks_compare(&backend->seen);
        enum status status = run_portion(backend, part, &own, error);
        if (status != STATUS_OK)
            return status;
        clocks_compare_again(&backend->seen);
        MPI_Allgather(&own, sizeof own, MPI_BYTE, runs, sizeof own, MPI_BYTE, world.ranks);
        again = false;
        for (uint32_t rank = 0; rank < world.count; rank++)
            again |= runs[rank].begins > 1;
    }
    if (!again)
        return STATUS_OK;
    return world_agree(error_set(error, STATUS_FAILED,
                                 "the ranks' runs can't be traced at once: with "
                                 "PIPELINE_NO_CUPTI=1 times come from events"),
                       error);
}

static enum status run_measured(struct backend *backend, struct timeline *timeline,
                                struct run_times *times, struct error *error)
{
    struct rank_run runs[MACHINE_DEVICES_MAX];
    struct timeline part = {0};
    enum status status = run_portions(backend, timeline != NULL ? &part : NULL, runs, error);
    if (status == STATUS_OK)
        gather_times(runs, &backend->seen, times);
    if (status == STATUS_OK && timeline != NULL)
        status =
            gather_spans(backend->workload.plan, &part, &backend->seen, runs, timeline, error);
    timeline_free(&part);
    return status;
}

/* Mixes the words of the array that was read from a file. */
static uint64_t input_hash(const struct plan *plan, const struct arrays *arrays)
{
    struct range rest = plan_whole(plan, BUFFER_HOST_IN0), piece;
    uint64_t hash = rest.bytes;
    while (host_layout_next(plan, &rest, &piece)) {
        const char *bytes = arrays_at(arrays, &piece);
        for (uint64_t at = 0, word = 0; at < piece.bytes; at += sizeof word, word = 0) {
            const uint64_t left = piece.bytes - at;
            memcpy(&word, bytes + at, left < sizeof word ? left : sizeof word);
            hash = mix_at(hash, word);
        }
    }
    return hash;
}

/* Refuses ranks that read unlike files of one name. */
static enum status compare_inputs(struct backend *backend, struct error *error)
{
    const struct workload *workload = &backend->workload;
    if (backend->compared || workload->arrays == NULL || workload->settings->input == NULL)
        return STATUS_OK;
    const uint32_t unlike = world_unlike(input_hash(workload->plan, workload->arrays));
    backend->compared = unlike == 0;
    if (backend->compared)
        return STATUS_OK;
    world.failed = true;
    return error_set(error, STATUS_FAILED,
                     "rank %" PRIu32 " reads another --input=%.200s than rank 0", unlike,
                     workload->settings->input);
}

static enum status run(struct backend *backend, struct timeline *timeline,
                       struct run_times *times, struct error *error)
{
    enum status status;
    struct timeline own = {0};
    if (compare_inputs(backend, error) != STATUS_OK)
        return error->status;
    if (backend->whole != NULL)
        status = run_simulated(backend, timeline != NULL ? timeline : &own, times, error);
    else
        status = run_measured(backend, timeline, times, error);
    timeline_free(&own);
    if (status != STATUS_OK)
        return status;
    if (backend->workload.arrays != NULL && gathers(backend))
        gather_output(backend->workload.plan, backend->workload.arrays);
    if (timeline != NULL)
        timeline->ranks = backend->seen;
    return STATUS_OK;
}

static void close_backend(struct backend *backend)
{
    if (backend == NULL)
        return;
    release(backend);
    if (backend->part != NULL)
        backend->ops->close(backend->part);
    if (backend->whole != NULL)
        backend->ops->close(backend->whole);
    free(backend);
}

static void list(void (*each)(void *context, const char *device, const char *summary),
                 void *context)
{
    chosen->list(each, context);
}

const struct backend_ops *ranks_backend(const struct backend_ops *ops)
{
    static struct backend_ops shared;
    if (world.count == 1)
        return ops;
    chosen = ops;
    shared = (struct backend_ops){
        .name = ops->name,
        .configure = configure,
        .open = open_backend,
        .describe = describe,
        .check = check,
        .prepare = prepare,
        .run = run,
        .release = release,
        .close = close_backend,
        .list = list,
        .measures = ops->measures,
    };
    return &shared;
}
