/* managed.c - managed memory: taken, brought home before a run, and its pages' moves in one.
 *
 * The arrays stay what they are to all others, who fill, poison and verify them: what a run
 * works on is a copy of them. */
#include "cuda/prepare.h"

#include "plan/build.h"

#include <string.h>

enum { HOME = -1 };

/* Moves the pages of `bytes` of memory to a device by its number, or HOME. */
static cudaError_t prefetch(const void *memory, size_t bytes, int device, cudaStream_t stream)
{
#if CUDART_VERSION >= 13000
    const struct cudaMemLocation where = {.type = device == HOME ? cudaMemLocationTypeHost
                                                                 : cudaMemLocationTypeDevice,
                                          .id = device == HOME ? 0 : device};
    return cudaMemPrefetchAsync(memory, bytes, where, 0, stream);
#else
    return cudaMemPrefetchAsync(memory, bytes, device == HOME ? cudaCpuDeviceId : device,
                                stream);
#endif
}

cudaError_t cuda_managed_prefetch(const struct cuda_issued *op)
{
    const bool in = op->kind == OP_H2D;
    return prefetch(in ? op->copy.from : op->copy.to, op->copy.bytes, in ? op->device : HOME,
                    op->stream);
}

/* Refuses a device that can't work on managed memory beside the host, or has too little free.
 */
static enum status refuse_device(const struct cuda_run *run, struct error *error)
{
    int concurrent;
    size_t available, all;
    if (CUDA_CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess,
                                          run->devices->items[0].number),
                   error) != STATUS_OK ||
        CUDA_CHECK(cudaMemGetInfo(&available, &all), error) != STATUS_OK)
        return STATUS_FAILED;
    if (!concurrent)
        return error_set(
            error, STATUS_FAILED,
            "--memory=managed: this device can't work on managed memory while the "
            "host does (cudaDevAttrConcurrentManagedAccess is 0): allowed is other "
            "memory");
    return managed_check_room(run->workload.plan, available, "are free", error);
}

enum status cuda_managed_take(struct cuda_run *run, struct error *error)
{
    const struct arrays *arrays = run->workload.arrays;
    if (refuse_device(run, error) != STATUS_OK)
        return error->status;
    for (int b = 0; b < BUFFER_FIRST_DEVICE; b++) {
        if (arrays->host[b] == NULL || arrays->bytes[b] == 0)
            continue;
        if (CUDA_CHECK(
                cudaMallocManaged(&run->mapped[b], arrays->bytes[b], cudaMemAttachGlobal),
                error) != STATUS_OK)
            return error->status;
        run->host[b] = run->mapped[b];
        memcpy(run->host[b], arrays->host[b], arrays->bytes[b]);
    }
    return STATUS_OK;
}

void cuda_managed_free(struct cuda_run *run)
{
    for (int b = 0; b < BUFFER_FIRST_DEVICE; b++) {
        if (run->workload.plan->memory != MEMORY_MANAGED || run->mapped[b] == NULL)
            continue;
        cuda_devices_warn(run->devices, 0, cudaFree(run->mapped[b]), "cudaFree");
        run->mapped[b] = NULL;
    }
}

/* Brings all pages home, and waits for that. */
static enum status bring_home(const struct cuda_run *run, struct error *error)
{
    enum status status = STATUS_OK;
    for (int b = 0; b < BUFFER_FIRST_DEVICE && status == STATUS_OK; b++) {
        if (run->mapped[b] != NULL)
            status = cuda_check(
                prefetch(run->mapped[b], run->workload.arrays->bytes[b], HOME, run->streams[0]),
                "cudaMemPrefetchAsync", error);
    }
    return status == STATUS_OK ? cuda_devices_settle(run->devices, error) : status;
}

/* Brings managed memory home, and copies what the result's array has. */
static enum status move_result(const struct cuda_run *run, const void *from, void *to,
                               struct error *error)
{
    if (run->workload.plan->memory != MEMORY_MANAGED)
        return STATUS_OK;
    const enum status status = bring_home(run, error);
    if (status == STATUS_OK)
        memcpy(to, from, run->workload.arrays->bytes[BUFFER_HOST_OUT]);
    return status;
}

enum status cuda_managed_begin(const struct cuda_run *run, struct error *error)
{
    return move_result(run, run->workload.arrays->host[BUFFER_HOST_OUT],
                       run->host[BUFFER_HOST_OUT], error);
}

enum status cuda_managed_end(const struct cuda_run *run, struct error *error)
{
    return move_result(run, run->host[BUFFER_HOST_OUT],
                       run->workload.arrays->host[BUFFER_HOST_OUT], error);
}
