/* memory.c - takes, clears, poisons and page-locks the memory of a run, and lets devices that
 * copy to each other reach each other's. */
#include "cuda/prepare.h"

#include "core/units.h"
#include "plan/host_layout.h"

#include <stdlib.h>

/* Says that a device, where there are several by its name, has too little memory. */
static enum status refuse_memory(const struct cuda_run *run, uint32_t device, uint64_t needed,
                                 uint64_t available, struct error *error)
{
    char need[UNITS_TEXT], have[UNITS_TEXT], name[CUDA_DEVICE_NAME];
    return error_set(
        error, STATUS_FAILED,
        "%sthe plan needs %s of device memory%s and %s are free (ways 3 and 4 need only "
        "a slot per stream: take more --tiles or fewer --streams)",
        needed > available ? "" : "cudaMalloc failed: ", units_bytes(needed, need),
        cuda_devices_name(run->devices, device, name), units_bytes(available, have));
}

/* Takes a device's part of all buffers; it is the current one. */
static enum status take_memory_on(struct cuda_run *run, uint32_t device, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    const uint64_t needed = plan_device_bytes(plan) / plan_devices(plan);
    size_t available, all;
    if (CUDA_CHECK(cudaMemGetInfo(&available, &all), error) != STATUS_OK)
        return STATUS_FAILED;
    cudaError_t result = needed > available ? cudaErrorMemoryAllocation : cudaSuccess;
    for (int i = 0; i < DEVICE_BUFFERS && result == cudaSuccess; i++) {
        const uint64_t bytes =
            plan_device_part(plan, (enum buffer)(BUFFER_FIRST_DEVICE + i), device).bytes;
        if (bytes > 0 && !plan_takes_buffer(plan, (enum buffer)(BUFFER_FIRST_DEVICE + i)))
            result = cudaMalloc(&run->memory[device][i], bytes);
    }
    if (result != cudaErrorMemoryAllocation)
        return cuda_check(result, "cudaMalloc", error);
    cudaGetLastError(); /* there may be as much free, but in pieces */
    return refuse_memory(run, device, needed, available, error);
}

/* Kernels expect scratch memory to be filled with zeros. */
enum status cuda_memory_take(struct cuda_run *run, struct error *error)
{
    const struct range part = plan_device_part(run->workload.plan, BUFFER_DEVICE_SCRATCH, 0);
    enum status status = STATUS_OK;
    for (uint32_t i = 0; cuda_devices_reach(run->devices, i, &status, error); i++)
        status = take_memory_on(run, i, error);
    for (uint32_t i = 0; cuda_devices_reach(run->devices, i, &status, error); i++) {
        void *scratch = run->memory[i][BUFFER_DEVICE_SCRATCH - BUFFER_FIRST_DEVICE];
        if (scratch != NULL)
            status = CUDA_CHECK(cudaMemset(scratch, 0, part.bytes), error);
    }
    return status == STATUS_OK ? cuda_devices_settle(run->devices, error) : status;
}

void *cuda_memory_at(const struct cuda_run *run, const struct range *range)
{
    const struct plan *plan = run->workload.plan;
    if (range->bytes == 0)
        return NULL;
    if (range->buffer < BUFFER_FIRST_DEVICE)
        return (char *)run->host[range->buffer] + host_layout_offset(plan, range);
    const uint64_t part = plan_device_part(plan, range->buffer, 0).bytes;
    uint64_t device = plan->devices > 1 ? range->offset / part : 0;
    if (device >= run->devices->count) /* a bad range stays the business of its call */
        device = run->devices->count - 1;
    return (char *)run->memory[device][range->buffer - BUFFER_FIRST_DEVICE] +
           (range->offset - device * part);
}

void cuda_memory_free(struct cuda_run *run, uint32_t device)
{
    for (int b = 0; b < DEVICE_BUFFERS; b++) {
        if (run->memory[device][b] != NULL)
            cuda_devices_warn(run->devices, device, cudaFree(run->memory[device][b]),
                              "cudaFree");
    }
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

/* Does so to the memory of a device, which is current. */
static enum status poison_device(const struct cuda_run *run, uint32_t device,
                                 struct error *error)
{
    const struct plan *plan = run->workload.plan;
    enum status status = STATUS_OK;
    for (int b = BUFFER_FIRST_DEVICE; b < BUFFER_COUNT && status == STATUS_OK; b++) {
        void *memory = run->memory[device][b - BUFFER_FIRST_DEVICE];
        if (memory != NULL && b != BUFFER_DEVICE_SCRATCH)
            status = fill_words(memory, plan_device_part(plan, (enum buffer)b, device).bytes,
                                run->workload.arrays->poison, error);
    }
    return status;
}

enum status cuda_memory_poison(const struct cuda_run *run, struct error *error)
{
    enum status status = STATUS_OK;
    if (getenv("PIPELINE_NO_POISON") != NULL)
        return STATUS_OK;
    for (uint32_t i = 0; cuda_devices_reach(run->devices, i, &status, error); i++)
        status = poison_device(run, i, error);
    return status == STATUS_OK ? cuda_devices_settle(run->devices, error) : status;
}

/* The error of a cudaHostUnregister() that failed, for later runs. The driver then takes memory
 * for page-locked that is not, and copies what was there before: nothing more may run. */
static cudaError_t unregister_failed = cudaSuccess;

enum status cuda_memory_register(struct cuda_run *run, struct error *error)
{
    if (unregister_failed != cudaSuccess)
        return error_set(
            error, STATUS_FAILED, "after an earlier run cudaHostUnregister failed: %s: %s",
            cudaGetErrorName(unregister_failed), cudaGetErrorString(unregister_failed));
    const struct arrays *arrays = run->workload.arrays;
    for (int b = 0; b < BUFFER_FIRST_DEVICE; b++)
        run->host[b] = arrays->host[b];
    const enum memory memory = run->workload.plan->memory;
    if (memory == MEMORY_MANAGED)
        return cuda_managed_take(run, error);
    const bool mapped = memory == MEMORY_MAPPED;
    const unsigned flags = run->devices->count > 1 ? cudaHostRegisterPortable
                           : mapped                ? cudaHostRegisterMapped
                                                   : cudaHostRegisterDefault;
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

void cuda_memory_unregister(struct cuda_run *run)
{
    cuda_managed_free(run);
    for (int b = 0; b < BUFFER_FIRST_DEVICE; b++) {
        cudaError_t end = run->registered[b] ? cudaHostUnregister(run->host[b]) : cudaSuccess;
        cuda_devices_warn(run->devices, 0, end, "cudaHostUnregister");
        if (end != cudaSuccess)
            unregister_failed = end;
    }
}

/* --- peers --- */

enum status cuda_peers_can(const struct cuda_devices *devices, uint32_t from, uint32_t to,
                           bool *can, struct error *error)
{
    int there = 0, back = 0;
    const int a = devices->items[from].number, b = devices->items[to].number;
    *can = false;
    if (CUDA_CHECK(cudaDeviceCanAccessPeer(&there, a, b), error) != STATUS_OK ||
        CUDA_CHECK(cudaDeviceCanAccessPeer(&back, b, a), error) != STATUS_OK)
        return error->status;
    *can = there != 0 && back != 0;
    return STATUS_OK;
}

/* Lets a device reach another's memory. */
static enum status enable(const struct cuda_devices *devices, uint32_t device, uint32_t peer,
                          struct error *error)
{
    if (cuda_devices_select(devices, device, error) != STATUS_OK)
        return error->status;
    const cudaError_t result = cudaDeviceEnablePeerAccess(devices->items[peer].number, 0);
    if (result != cudaErrorPeerAccessAlreadyEnabled)
        return cuda_check(result, "cudaDeviceEnablePeerAccess", error);
    cudaGetLastError(); /* an earlier run has done it */
    return STATUS_OK;
}

enum status cuda_peers_join(const struct cuda_devices *devices, uint32_t from, uint32_t to,
                            struct error *error)
{
    enum status status = enable(devices, from, to, error);
    if (status == STATUS_OK)
        status = enable(devices, to, from, error);
    return status == STATUS_OK ? cuda_devices_select(devices, 0, error) : status;
}

static enum status join_or_refuse(const struct plan *plan, const struct cuda_devices *devices,
                                  uint32_t from, uint32_t to, struct error *error)
{
    bool can;
    if (cuda_peers_can(devices, from, to, &can, error) != STATUS_OK)
        return error->status;
    if (!can)
        return error_set(
            error, STATUS_USAGE,
            "--exchange=peer: cuda:%d and cuda:%d can't reach each other's memory: %s",
            devices->items[from].number, devices->items[to].number,
            plan->has_halo ? "a stencil needs devices that can, or one alone"
                           : "allowed is host");
    return cuda_peers_join(devices, from, to, error);
}

enum status cuda_peers_enable(const struct plan *plan, const struct cuda_devices *devices,
                              struct error *error)
{
    bool joined[MACHINE_DEVICES_MAX][MACHINE_DEVICES_MAX] = {{false}};
    enum status status = STATUS_OK;
    for (uint32_t i = 0; plan->has_peers && i < plan->op_count && status == STATUS_OK; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind != OP_PEER)
            continue;
        const uint32_t from = plan_range_device(plan, &op->move.from);
        const uint32_t to = plan_range_device(plan, &op->move.to);
        if (joined[from][to])
            continue;
        joined[from][to] = joined[to][from] = true;
        status = join_or_refuse(plan, devices, from, to, error);
    }
    return status;
}
