/* backend.c - the CUDA backend: the hooks of run/backend.h for real devices.
 *
 * The files of this room from top to bottom; each uses only those below it:
 * - backend: the hooks;
 * - trace: the run with a timeline, by CUPTI or by events; match: which op a record is of;
 * - run: the plain run; graph: a prepared plan as one graph; issue: one op's call;
 * - prepare: streams, events, and every op's call looked up (calls); memory: what they work on;
 *   peers: devices that copy to each other;
 * - describe: the devices as a machine, from probe, which measures with events and knows the
 *   copies' rates, rates, the kernels', probe_host, all devices' copies at once, and
 *   probe_peers, those from device to device;
 * - trial: a launcher on its own;
 * - device: starting and describing devices, and settings that CUDA takes only once;
 * - cupti: the library that records; check: errors of CUDA calls. */
#include "cuda/device.h"
#include "cuda/prepare.h"
#include "cuda/run.h"

#include <inttypes.h>
#include <stdlib.h>

struct backend {
    struct cuda_devices devices;
    struct cuda_run run;     /* the prepared plan */
    struct cuda_graph graph; /* of it, with --issue=graph */
    struct cuda_tracer tracer;
};

static enum status cuda_open(const char *argument, const struct settings *settings,
                             struct backend **out, struct error *error)
{
    struct backend *backend = calloc(1, sizeof *backend);
    if (backend == NULL)
        return error_no_memory(error, "to open a device");
    cuda_process_configure(settings);
    enum status status = cuda_process_check(settings, error);
    if (status == STATUS_OK)
        status = cuda_devices_open(argument, &backend->devices, error);
    if (status == STATUS_OK)
        status = cuda_sharing_check(settings, backend->devices.items[0].number, error);
    if (status == STATUS_OK && backend->devices.count != settings_devices(settings))
        status = error_set(error, STATUS_USAGE,
                           "--device=cuda:%s has %" PRIu32 " devices, and %" PRIu32
                           " is asked for here: name it, as in cuda:0",
                           argument, backend->devices.count, settings_devices(settings));
    if (status == STATUS_OK)
        *out = backend;
    else
        free(backend);
    return status;
}

static enum status cuda_describe_hook(struct backend *backend, const struct settings *settings,
                                      struct machine *machine, struct error *error)
{
    return cuda_describe(&backend->devices, settings, machine, error);
}

static enum status cuda_check_hook(struct backend *backend, const struct plan *plan,
                                   struct error *error)
{
    (void)backend;
    return cuda_run_check(plan, error);
}

static enum status cuda_try_hook(struct backend *backend, const struct kernel *kernel,
                                 const struct trial_work *work, char *image, uint64_t bytes,
                                 struct error *error)
{
    const enum status status = cuda_devices_select(&backend->devices, 0, error);
    return status == STATUS_OK ? cuda_trial(kernel, work, image, bytes, error) : status;
}

static void cuda_release(struct backend *backend)
{
    cuda_graph_free(&backend->run, &backend->graph);
    cuda_run_release(&backend->run);
}

static enum status cuda_prepare(struct backend *backend, const struct workload *workload,
                                struct error *error)
{
    struct cuda_run *run = &backend->run;
    if (!workload->traced)
        cupti_trace_detach(backend->tracer.cupti);
    enum status status = cuda_run_prepare(run, &backend->devices, workload, error);
    if (status != STATUS_OK)
        return status;
    if (workload->plan->issue == ISSUE_GRAPH)
        status = cuda_graph_create(run, NULL, false, &backend->graph, error);
    if (status == STATUS_OK)
        cuda_run_name_streams(run);
    else
        cuda_release(backend);
    return status;
}

/* Runs the plan in the way that was asked for. What warms up CUDA moves pages, too, so these
 * are brought home behind it. */
static enum status run_prepared(struct backend *backend, struct timeline *timeline,
                                struct run_times *times, struct error *error)
{
    struct cuda_run *run = &backend->run;
    const bool profiled = timeline != NULL && run->workload.settings->profile;
    if (timeline != NULL && !profiled)
        return cuda_run_traced(&backend->tracer, run, timeline, times, error);
    int count;
    if (cuda_run_first_ops(run, &count, error) != STATUS_OK ||
        cuda_managed_begin(run, error) != STATUS_OK)
        return error->status;
    if (!profiled)
        return cuda_run_plain(run, &backend->graph, times, error);
    timeline_free(timeline); /* it gets no spans: an outside profiler measures this run */
    timeline->timing = TIMING_EVENTS; /* the times are measured, if not by the program */
    cuda_devices_sign(&backend->devices, timeline);
    return cuda_run_profiled(run, &backend->graph, times, error);
}

static enum status cuda_run_hook(struct backend *backend, struct timeline *timeline,
                                 struct run_times *times, struct error *error)
{
    struct cuda_run *run = &backend->run;
    if (cuda_devices_select(run->devices, 0, error) != STATUS_OK)
        return error->status;
    if (cuda_memory_poison(run, error) != STATUS_OK)
        return error->status;
    arrays_settle();
    if (run->workload.plan->packs)
        pieces_open_team();
    const enum status status = run_prepared(backend, timeline, times, error);
    return status == STATUS_OK ? cuda_managed_end(run, error) : status;
}

/* Closes the backend. The devices' contexts stay, for the next one to open. */
static void cuda_close(struct backend *backend)
{
    if (backend == NULL)
        return;
    cuda_release(backend);
    cupti_trace_close(backend->tracer.cupti);
    free(backend);
}

const struct backend_ops backend_cuda_ops = {
    .name = "cuda",
    .configure = cuda_process_configure,
    .open = cuda_open,
    .describe = cuda_describe_hook,
    .check = cuda_check_hook,
    .try_work = cuda_try_hook,
    .prepare = cuda_prepare,
    .run = cuda_run_hook,
    .release = cuda_release,
    .close = cuda_close,
    .list = cuda_device_list,
    .measures = true,
};
