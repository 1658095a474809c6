/* carry.c - a scan's carry by way of the host.
 *
 * A carry that stays on the device needs no host: a kernel leaves it, the next one waits for an
 * event and takes it. The way by the host stands for all that only the host can do between two
 * tiles: a tile's total is copied out, a callback works on it, and what the callback leaves is
 * copied in for the next tile. Stream order and events put these in their order, so that nobody
 * waits but the streams. */
#include "plan/carry.h"

static bool goes_by_host(const struct placement *placement, uint32_t link)
{
    return placement->carry_by_host && placement->plan->chain[link]->shape == KERNEL_SCAN;
}

/* Appends one of the two copies. A place of the carry has the same offset on both sides. */
static enum status write_copy(struct plan *plan, const struct placement *placement,
                              struct op op, uint32_t link, enum carry_place place,
                              struct error *error)
{
    const uint32_t tile = (uint32_t)op.tile;
    op.copy.host = placement_carry(placement, BUFFER_HOST_CARRY, link, tile, place);
    op.copy.device = placement_carry(placement, BUFFER_DEVICE_CARRY, link, tile, place);
    return plan_append(plan, &op, error);
}

enum status carry_write_in(struct plan *plan, const struct placement *placement,
                           uint32_t stream, uint32_t tile, uint32_t link, struct error *error)
{
    if (!goes_by_host(placement, link) || tile == 0)
        return STATUS_OK;
    const struct op op = {.kind = OP_H2D, .stream = stream, .tile = (int32_t)tile};
    return write_copy(plan, placement, op, link, CARRY_BEFORE, error);
}

enum status carry_write_out(struct plan *plan, const struct placement *placement,
                            enum carry carry, uint32_t stream, uint32_t tile, uint32_t link,
                            struct error *error)
{
    if (!goes_by_host(placement, link) || tile + 1 == plan->tiles)
        return STATUS_OK;
    struct op op = {.kind = OP_D2H, .stream = stream, .tile = (int32_t)tile};
    enum status status = write_copy(plan, placement, op, link, CARRY_TOTAL, error);
    op.kind = OP_CALLBACK;
    op.callback.result = (struct range){0};
    op.callback.before = (struct range){0};
    if (tile > 0)
        op.callback.before =
            placement_carry(placement, BUFFER_HOST_CARRY, link, tile, CARRY_BEFORE);
    op.callback.total = placement_carry(placement, BUFFER_HOST_CARRY, link, tile, CARRY_TOTAL);
    op.callback.next =
        placement_carry(placement, BUFFER_HOST_CARRY, link, tile + 1, CARRY_BEFORE);
    if (status == STATUS_OK)
        status = plan_append(plan, &op, error);
    op.kind = OP_SYNC;
    if (status == STATUS_OK && carry == CARRY_SYNC)
        status = plan_append(plan, &op, error);
    return status;
}

void carry_feed(const void *before, const void *total, void *next)
{
    const uint32_t sum = before != NULL ? *(const uint32_t *)before : 0;
    *(uint32_t *)next = sum + *(const uint32_t *)total;
}
