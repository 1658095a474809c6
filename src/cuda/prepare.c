/* prepare.c - makes a plan ready to run, and undoes that. */
#include "cuda/prepare.h"

#include "cuda/issue.h"
#include "plan/build.h"
#include "plan/mistake.h"
#include "run/topology.h"

#include <inttypes.h>
#include <stdlib.h>

enum status cuda_run_check(const struct plan *plan, struct error *error)
{
    enum status status = plan->issue == ISSUE_GRAPH ? plan_check_graph(plan, error) : STATUS_OK;
    return status == STATUS_OK ? cuda_issue_check(plan, error) : status;
}

static enum status refuse_settings(const struct cuda_devices *devices,
                                   const struct workload *workload, struct error *error)
{
    if (plan_devices(workload->plan) > devices->count)
        return error_set(error, STATUS_FAILED,
                         "the plan is for %" PRIu32 " devices, and %" PRIu32 " were opened",
                         plan_devices(workload->plan), devices->count);
    if (workload->arrays == NULL)
        return error_set(error, STATUS_USAGE, "--no-data: a CUDA device needs the bytes");
    if (cuda_run_check(workload->plan, error) != STATUS_OK ||
        cuda_slots_check(workload->plan, devices, error) != STATUS_OK)
        return error->status;
    for (int i = 0; i < workload->plan->chain_length; i++) {
        if (kernel_launcher(workload->plan->chain[i]) == NULL)
            return error_set(error, STATUS_FAILED, "kernel %s: it was built without nvcc",
                             workload->plan->chain[i]->name);
    }
    return STATUS_OK;
}

/* Creates the plan's stream `number`; the legacy default stream is there already. */
static enum status create_stream(const struct plan *plan, uint32_t number, cudaStream_t *stream,
                                 struct error *error)
{
    const enum stream_kind kind = plan_stream_kind(plan, number);
    int priority = plan->priorities != NULL ? plan->priorities[number] : 0;
    /* A blocking stream is as cudaStreamCreate() makes it. */
    unsigned flags = kind == STREAM_BLOCKING ? cudaStreamDefault : cudaStreamNonBlocking;
    if (kind == STREAM_LEGACY) {
        *stream = cudaStreamLegacy;
        return STATUS_OK;
    }
    return CUDA_CHECK(cudaStreamCreateWithPriority(stream, flags, priority), error);
}

/* Sets each event's device: the one whose streams record it. */
static enum status find_event_devices(const struct cuda_run *run, uint32_t *devices,
                                      struct error *error)
{
    const struct plan *plan = run->workload.plan;
    memset(devices, 0xFF, plan->events * sizeof *devices);
    EACH (const struct op, op, plan->ops, plan->op_count) {
        if (op->kind != OP_RECORD)
            continue;
        uint32_t *device = &devices[op->event.event];
        const uint32_t here = plan_stream_device(plan, op->stream);
        if (*device != UINT32_MAX && *device != here)
            return error_set(error, STATUS_FAILED, "event %" PRIu32 " is of two devices",
                             op->event.event);
        *device = here;
    }
    return STATUS_OK;
}

static enum status create_events(struct cuda_run *run, const uint32_t *devices,
                                 struct error *error)
{
    enum status status = STATUS_OK;
    while (run->event_count < run->workload.plan->events && status == STATUS_OK) {
        const uint32_t device = devices[run->event_count];
        status = cuda_devices_select(run->devices, device != UINT32_MAX ? device : 0, error);
        if (status == STATUS_OK)
            status = CUDA_CHECK(cudaEventCreateWithFlags(&run->events[run->event_count],
                                                         cudaEventDisableTiming),
                                error);
        run->event_count += status == STATUS_OK;
    }
    return status;
}

static enum status create_streams(struct cuda_run *run, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    uint32_t *devices = arena_zeros(&run->arena, plan->events, sizeof *devices);
    run->streams = arena_zeros(&run->arena, plan->streams, sizeof *run->streams);
    run->events = arena_zeros(&run->arena, plan->events, sizeof *run->events);
    enum status status = STATUS_OK;
    if (run->arena.full)
        status = error_no_memory(error, "for %" PRIu32 " streams", plan->streams);
    for (uint32_t i = 0; i < plan->streams && status == STATUS_OK; i++) {
        status = cuda_devices_select(run->devices, plan_stream_device(plan, i), error);
        if (status == STATUS_OK)
            status = create_stream(plan, i, &run->streams[i], error);
        run->stream_count += status == STATUS_OK;
    }
    if (status == STATUS_OK)
        status = find_event_devices(run, devices, error);
    if (status == STATUS_OK)
        status = create_events(run, devices, error);
    return status;
}

/* Creates a context for each stream that launches the chain's kernel, if that needs one. */
static enum status create_contexts(struct cuda_run *run, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    const struct kernel *kernel = plan->chain[0];
    const struct kernel_launcher *launcher = kernel_launcher(kernel);
    char why[KERNEL_WHY];
    if (launcher->context_create == NULL)
        return STATUS_OK;
    run->contexts = arena_zeros(&run->arena, plan->streams, sizeof *run->contexts);
    if (run->contexts == NULL)
        return error_no_memory(error, "for %" PRIu32 " streams", plan->streams);
    EACH (const struct op, op, plan->ops, plan->op_count) {
        if (op->kind != OP_KERNEL || run->contexts[op->stream] != NULL)
            continue;
        if (cuda_devices_select(run->devices, plan_stream_device(plan, op->stream), error) !=
            STATUS_OK)
            return error->status;
        const char *failed =
            launcher->context_create(run->streams[op->stream], &run->contexts[op->stream], why);
        if (failed != NULL)
            return error_set(error, STATUS_FAILED, "kernel %s: %s", kernel->name, failed);
    }
    return STATUS_OK;
}

/* Loads the chain's kernels on the current device, unless the run is to do that itself. */
static enum status preload_here(const struct plan *plan, struct error *error)
{
    for (int i = 0; i < plan->chain_length; i++) {
        cuda_kernel_loaded(plan->chain[i]);
        cudaError_t result = plan->loads_lazily
                                 ? cudaSuccess
                                 : (cudaError_t)kernel_launcher(plan->chain[i])->preload();
        if (result == cudaSuccess)
            continue;
        cudaGetLastError();
        return error_set(
            error, STATUS_FAILED, "cudaFuncGetAttributes failed to load kernel %s: %s: %s",
            plan->chain[i]->name, cudaGetErrorName(result), cudaGetErrorString(result));
    }
    return STATUS_OK;
}

static enum status preload_kernels(const struct cuda_run *run, struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; cuda_devices_reach(run->devices, i, &status, error); i++)
        status = preload_here(run->workload.plan, error);
    return status;
}

/* Refuses a plan that is to load a kernel in the run, but an earlier run of the process has. */
static enum status refuse_loaded(const struct workload *workload, struct error *error)
{
    const struct plan *plan = workload->plan;
    for (uint32_t i = 0; plan->loads_lazily && i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind == OP_KERNEL && cuda_kernel_is_loaded(plan->chain[op->kernel.link]))
            return error_set(error, STATUS_USAGE,
                             "--mistake=%s: kernel %s was loaded before this run, and a "
                             "process does that once: make it the first run, or the only one",
                             mistake_name(workload->settings->mistake),
                             plan->chain[op->kernel.link]->name);
    }
    return STATUS_OK;
}

void cuda_run_name_streams(const struct cuda_run *run)
{
    static const char *const stages[] = {"h2d", "kernel", "d2h"};
    enum { STAGES = sizeof stages / sizeof stages[0] };
    char name[64], device[CUDA_DEVICE_NAME];
    const uint32_t each = run->stream_count / run->devices->count;
    bool by_stage = run->workload.settings->layout == LAYOUT_STAGE && each >= STAGES;
    for (uint32_t i = 0; i < run->stream_count && marks_on(); i++) {
        const struct stream_home home = plan_stream_home(run->workload.plan, i);
        cuda_devices_name(run->devices, home.device, device);
        if (by_stage && home.number < STAGES)
            snprintf(name, sizeof name, "pipeline %s%s", stages[home.number], device);
        else
            snprintf(name, sizeof name, "pipeline stream %" PRIu32 "%s", home.number, device);
        marks_name_stream(run->streams[i], name);
    }
}

static enum status create_listener(struct cuda_run *run, struct error *error)
{
    run->listener = calloc(1, sizeof *run->listener);
    if (run->listener == NULL)
        return error_no_memory(error, "for callbacks");
    run->listener->on_tile = run->workload.on_tile;
    run->listener->context = run->workload.context;
    pthread_mutex_init(&run->listener->lock, NULL);
    return STATUS_OK;
}

/* Frees what callbacks look at. If the device is not known to be `idle`, it may still call
 * them: then they are made to do nothing, and what they look at stays. */
static void free_callbacks(struct cuda_run *run, bool idle)
{
    if (run->listener == NULL)
        return;
    if (idle) {
        pthread_mutex_destroy(&run->listener->lock);
        free(run->callbacks);
        free(run->listener);
        return;
    }
    pthread_mutex_lock(&run->listener->lock);
    run->listener->closed = true;
    pthread_mutex_unlock(&run->listener->lock);
}

/* Waits until nothing is at work on the run's memory: a call that failed may have left work.
 * Returns false where a device can't be waited for. */
static bool wait_for_devices(struct cuda_run *run)
{
    bool idle = true;
    for (uint32_t i = 0; i < run->devices->count; i++) {
        cudaError_t result = cuda_devices_enter(run->devices, i);
        if (result == cudaSuccess)
            result = cudaDeviceSynchronize();
        cuda_devices_warn(run->devices, i, result, "cudaDeviceSynchronize");
        run->used.lost[i] = run->used.lost[i] || result != cudaSuccess;
        idle &= result == cudaSuccess;
    }
    return idle;
}

/* Prepares all that begins on the host, or on every device. */
static enum status take_all(struct cuda_run *run, struct error *error)
{
    enum status status = create_listener(run, error);
    if (status == STATUS_OK)
        status = cuda_memory_take(run, error);
    if (status == STATUS_OK)
        status = cuda_memory_register(run, error);
    if (status == STATUS_OK)
        status = cuda_flags_take(run, error);
    if (status == STATUS_OK)
        status = cuda_peers_enable(run->workload.plan, run->devices, error);
    if (status == STATUS_OK)
        status = create_streams(run, error);
    if (status == STATUS_OK)
        status = create_contexts(run, error);
    if (status == STATUS_OK)
        status = cuda_calls_look_up(run, error);
    if (status == STATUS_OK)
        status = preload_kernels(run, error);
    if (status == STATUS_OK)
        status = cuda_devices_select(run->devices, 0, error);
    if (status == STATUS_OK) {
        const char *bus_ids[MACHINE_DEVICES_MAX];
        cuda_devices_bus_ids(run->devices, bus_ids);
        topology_see(TOPOLOGY_SYSFS, bus_ids, run->devices->count, run->workload.arrays,
                     &run->seen);
    }
    return status;
}

enum status cuda_run_prepare(struct cuda_run *run, const struct cuda_devices *devices,
                             const struct workload *workload, struct error *error)
{
    if (refuse_settings(devices, workload, error) != STATUS_OK ||
        refuse_loaded(workload, error) != STATUS_OK)
        return error->status;
    *run = (struct cuda_run){.workload = *workload, .used = *devices};
    run->used.count = plan_devices(workload->plan);
    run->devices = &run->used;
    if (take_all(run, error) == STATUS_OK &&
        cpu_worker_create(&run->worker, workload->plan, run->host, error) == STATUS_OK)
        return STATUS_OK;
    cuda_run_release(run);
    return error->status;
}

/* Gives back what is a device's; it is the current one. */
static void release_device(struct cuda_run *run, uint32_t device)
{
    const struct plan *plan = run->workload.plan;
    const uint32_t each = plan->streams / run->devices->count;
    for (uint32_t i = device * each; i < (device + 1) * each; i++) {
        if (run->contexts != NULL && run->contexts[i] != NULL)
            kernel_launcher(plan->chain[0])->context_destroy(run->contexts[i]);
        if (i < run->stream_count && run->streams[i] != cudaStreamLegacy)
            cuda_devices_warn(run->devices, device, cudaStreamDestroy(run->streams[i]),
                              "cudaStreamDestroy");
    }
    if (run->tiles[device] != NULL)
        cuda_devices_warn(run->devices, device, cudaFree(run->tiles[device]), "cudaFree");
    cuda_memory_free(run, device);
}

void cuda_run_release(struct cuda_run *run)
{
    if (run->workload.plan == NULL)
        return; /* nothing is prepared */
    const struct cuda_devices *devices = run->devices;
    cpu_worker_free(run->worker);
    free_callbacks(run, wait_for_devices(run));
    cuda_slots_free(run);
    while (run->event_count > 0) /* whichever device is current */
        cuda_devices_warn(devices, 0, cudaEventDestroy(run->events[--run->event_count]),
                          "cudaEventDestroy");
    for (uint32_t i = devices->count; i > 0; i--) { /* the first stays current */
        cuda_devices_warn(run->devices, i - 1, cuda_devices_enter(devices, i - 1),
                          "cudaSetDevice");
        release_device(run, i - 1);
    }
    cuda_flags_free(run);
    cuda_memory_unregister(run);
    cudaGetLastError();
    arena_free(&run->arena);
    *run = (struct cuda_run){0};
}
