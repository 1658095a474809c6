/* peers.c - peer access between the devices that a plan copies from and to. */
#include "cuda/peers.h"

#include "cuda/check.h"

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
