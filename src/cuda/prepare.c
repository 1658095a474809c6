/* prepare.c - makes a plan ready to run, and undoes that. */
#include "cuda/prepare.h"

#include "core/units.h"
#include "cuda/calls.h"
#include "cuda/device.h"
#include "plan/mistake.h"
#include "plan/validate.h"

#include <inttypes.h>
#include <stdlib.h>

enum status cuda_run_check(const struct plan *plan, struct error *error)
{
    enum status status = plan->issue == ISSUE_GRAPH ? plan_check_graph(plan, error) : STATUS_OK;
    return status == STATUS_OK ? cuda_calls_check(plan, error) : status;
}

static enum status refuse_settings(const struct workload *workload, struct error *error)
{
    if (workload->arrays == NULL)
        return error_set(error, STATUS_USAGE, "--no-data: a CUDA device needs the bytes");
    if (cuda_run_check(workload->plan, error) != STATUS_OK)
        return error->status;
    for (int i = 0; i < workload->plan->chain_length; i++) {
        if (kernel_launcher(workload->plan->chain[i]) == NULL)
            return error_set(error, STATUS_FAILED, "kernel %s: it was built without nvcc",
                             workload->plan->chain[i]->name);
    }
    return STATUS_OK;
}

static enum status take_device_memory(struct cuda_run *run, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    const uint64_t needed = plan_device_bytes(plan);
    size_t available, all;
    if (CUDA_CHECK(cudaMemGetInfo(&available, &all), error) != STATUS_OK)
        return STATUS_FAILED;
    cudaError_t result = needed > available ? cudaErrorMemoryAllocation : cudaSuccess;
    for (int b = BUFFER_FIRST_DEVICE; b < BUFFER_COUNT && result == cudaSuccess; b++) {
        if (plan->buffer_bytes[b] > 0)
            result = cudaMalloc(&run->memory[b], plan->buffer_bytes[b]);
    }
    if (result != cudaErrorMemoryAllocation)
        return cuda_check(result, "cudaMalloc", error);
    cudaGetLastError(); /* there may be as much free, but in pieces */
    char need[UNITS_TEXT], have[UNITS_TEXT];
    return error_set(
        error, STATUS_FAILED,
        "%sthe plan needs %s of device memory and %s are free (ways 3 and 4 need only "
        "a slot per stream: take more --tiles or fewer --streams)",
        needed > available ? "" : "cudaMalloc failed: ", units_bytes(needed, need),
        units_bytes(available, have));
}

/* Fills scratch memory with zeros, as kernels expect. */
static enum status clear_scratch(struct cuda_run *run, struct error *error)
{
    void *scratch = run->memory[BUFFER_DEVICE_SCRATCH];
    const uint64_t bytes = run->workload.plan->buffer_bytes[BUFFER_DEVICE_SCRATCH];
    if (scratch != NULL && CUDA_CHECK(cudaMemset(scratch, 0, bytes), error) != STATUS_OK)
        return STATUS_FAILED;
    return CUDA_CHECK(cudaDeviceSynchronize(), error);
}

/* Fills device memory with a word: the first words come from the host, and each copy within the
 * device doubles what is there. */
static enum status fill_words(char *memory, uint64_t bytes, uint32_t word, struct error *error)
{
    uint32_t words[1024];
    uint64_t filled = bytes < sizeof words ? bytes : sizeof words;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        words[i] = word;
    enum status status =
        CUDA_CHECK(cudaMemcpy(memory, words, filled, cudaMemcpyHostToDevice), error);
    for (uint64_t more; filled < bytes && status == STATUS_OK; filled += more) {
        more = bytes - filled < filled ? bytes - filled : filled;
        status = CUDA_CHECK(cudaMemcpy(memory + filled, memory, more, cudaMemcpyDeviceToDevice),
                            error);
    }
    return status;
}

enum status cuda_run_poison(const struct cuda_run *run, struct error *error)
{
    enum status status = STATUS_OK;
    if (getenv("PIPELINE_NO_POISON") != NULL)
        return STATUS_OK;
    for (int b = BUFFER_FIRST_DEVICE; b < BUFFER_COUNT && status == STATUS_OK; b++) {
        if (run->memory[b] != NULL && b != BUFFER_DEVICE_SCRATCH)
            status = fill_words(run->memory[b], run->workload.plan->buffer_bytes[b],
                                run->workload.arrays->poison, error);
    }
    return status == STATUS_OK ? CUDA_CHECK(cudaDeviceSynchronize(), error) : status;
}

/* The error of a cudaHostUnregister() that failed, for later runs. The driver then takes memory
 * for page-locked that is not, and copies what was there before: nothing more may run. */
static cudaError_t unregister_failed = cudaSuccess;

static enum status register_arrays(struct cuda_run *run, struct error *error)
{
    if (unregister_failed != cudaSuccess)
        return error_set(
            error, STATUS_FAILED, "after an earlier run cudaHostUnregister failed: %s: %s",
            cudaGetErrorName(unregister_failed), cudaGetErrorString(unregister_failed));
    const struct arrays *arrays = run->workload.arrays;
    for (int b = 0; b < BUFFER_FIRST_DEVICE; b++)
        run->memory[b] = arrays->host[b];
    const enum memory memory = run->workload.plan->memory;
    const bool mapped = memory == MEMORY_MAPPED;
    const unsigned flags = mapped ? cudaHostRegisterMapped : cudaHostRegisterDefault;
    for (int b = 0; b < BUFFER_FIRST_DEVICE; b++) {
        if (arrays->host[b] == NULL || arrays->bytes[b] == 0 ||
            (memory == MEMORY_PAGEABLE && !buffer_is_page_locked((enum buffer)b)))
            continue;
        if (CUDA_CHECK(cudaHostRegister(arrays->host[b], arrays->bytes[b], flags), error) !=
            STATUS_OK)
            return STATUS_FAILED;
        run->registered[b] = true;
        if (mapped && CUDA_CHECK(cudaHostGetDevicePointer(&run->mapped[b], arrays->host[b], 0),
                                 error) != STATUS_OK)
            return STATUS_FAILED;
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

static enum status create_streams(struct cuda_run *run, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    run->streams = calloc(plan->streams, sizeof *run->streams);
    run->events = calloc(plan->events + (size_t)1, sizeof *run->events);
    if (run->streams == NULL || run->events == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory for %" PRIu32 " streams",
                         plan->streams);
    for (uint32_t i = 0; i < plan->streams; i++, run->stream_count++) {
        if (create_stream(plan, i, &run->streams[i], error) != STATUS_OK)
            return error->status;
    }
    for (uint32_t i = 0; i < plan->events; i++, run->event_count++) {
        if (CUDA_CHECK(cudaEventCreateWithFlags(&run->events[i], cudaEventDisableTiming),
                       error) != STATUS_OK)
            return error->status;
    }
    return STATUS_OK;
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
    run->contexts = calloc(plan->streams, sizeof *run->contexts);
    if (run->contexts == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory for %" PRIu32 " streams",
                         plan->streams);
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind != OP_KERNEL || run->contexts[op->stream] != NULL)
            continue;
        const char *failed =
            launcher->context_create(run->streams[op->stream], &run->contexts[op->stream], why);
        if (failed != NULL)
            return error_set(error, STATUS_FAILED, "kernel %s: %s", kernel->name, failed);
    }
    return STATUS_OK;
}

/* Loads the chain's kernels, unless the run is to do that itself. */
static enum status preload_kernels(const struct plan *plan, struct error *error)
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
    char name[32];
    bool by_stage =
        run->workload.settings->layout == LAYOUT_STAGE && run->stream_count >= STAGES;
    for (uint32_t i = 0; i < run->stream_count && marks_on(); i++) {
        if (by_stage && i < STAGES)
            snprintf(name, sizeof name, "pipeline %s", stages[i]);
        else
            snprintf(name, sizeof name, "pipeline stream %" PRIu32, i);
        marks_name_stream(run->streams[i], name);
    }
}

static enum status create_listener(struct cuda_run *run, struct error *error)
{
    run->listener = calloc(1, sizeof *run->listener);
    if (run->listener == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory for callbacks");
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
 * Returns false where the device can't be waited for. */
static bool wait_for_device(struct cuda_run *run)
{
    const cudaError_t result = cudaDeviceSynchronize();
    cuda_run_warn(run, result, "cudaDeviceSynchronize");
    run->lost = run->lost || result != cudaSuccess;
    return result == cudaSuccess;
}

enum status cuda_run_prepare(struct cuda_run *run, const struct workload *workload,
                             struct error *error)
{
    if (refuse_settings(workload, error) != STATUS_OK ||
        refuse_loaded(workload, error) != STATUS_OK)
        return error->status;
    *run = (struct cuda_run){.workload = *workload};
    if (create_listener(run, error) == STATUS_OK &&
        take_device_memory(run, error) == STATUS_OK && clear_scratch(run, error) == STATUS_OK &&
        register_arrays(run, error) == STATUS_OK && create_streams(run, error) == STATUS_OK &&
        create_contexts(run, error) == STATUS_OK &&
        cuda_calls_look_up(run, error) == STATUS_OK &&
        preload_kernels(workload->plan, error) == STATUS_OK &&
        cpu_worker_create(&run->worker, workload->plan, run->memory, error) == STATUS_OK)
        return STATUS_OK;
    cuda_run_release(run);
    return error->status;
}

void cuda_run_release(struct cuda_run *run)
{
    if (run->workload.plan == NULL)
        return; /* nothing is prepared */
    cpu_worker_free(run->worker);
    free_callbacks(run, wait_for_device(run));
    cuda_calls_free(run);
    while (run->event_count > 0)
        cuda_run_warn(run, cudaEventDestroy(run->events[--run->event_count]),
                      "cudaEventDestroy");
    for (uint32_t i = 0; run->contexts != NULL && i < run->workload.plan->streams; i++) {
        if (run->contexts[i] != NULL)
            kernel_launcher(run->workload.plan->chain[0])->context_destroy(run->contexts[i]);
    }
    free(run->contexts);
    while (run->stream_count > 0) {
        cudaStream_t stream = run->streams[--run->stream_count];
        if (stream != cudaStreamLegacy)
            cuda_run_warn(run, cudaStreamDestroy(stream), "cudaStreamDestroy");
    }
    free(run->events);
    free(run->streams);
    for (int b = 0; b < BUFFER_FIRST_DEVICE; b++) {
        cudaError_t end = run->registered[b] ? cudaHostUnregister(run->memory[b]) : cudaSuccess;
        cuda_run_warn(run, end, "cudaHostUnregister");
        if (end != cudaSuccess)
            unregister_failed = end;
    }
    for (int b = BUFFER_FIRST_DEVICE; b < BUFFER_COUNT; b++) {
        if (run->memory[b] != NULL)
            cuda_run_warn(run, cudaFree(run->memory[b]), "cudaFree");
    }
    cudaGetLastError();
    *run = (struct cuda_run){0};
}
