/* carry.h - a scan's carry from tile to tile by way of the host: its copies, and the callback
 * that feeds the next tile. */
#ifndef PIPELINE_PLAN_CARRY_H
#define PIPELINE_PLAN_CARRY_H

#include "plan/placement.h"
#include "plan/settings.h"

/* Appends what comes right before link `link` of the tile in its stream: the copy in of the sum
 * of all tiles before it, which a callback has left on the host. It appends nothing for the
 * first tile, for kernels that carry nothing, and where a carry stays on the device. */
enum status carry_write_in(struct plan *plan, const struct placement *placement,
                           uint32_t stream, uint32_t tile, uint32_t link, struct error *error);

/* Appends what comes right behind link `link` of the tile: the copy out of the tile's own
 * total, and the callback that adds it to the sum and so leaves what the next tile copies in;
 * with CARRY_SYNC the host waits for that. It appends nothing for the last tile, for kernels
 * that carry nothing, and where a carry stays on the device. The caller must make the next
 * tile's link wait for this stream. */
enum status carry_write_out(struct plan *plan, const struct placement *placement,
                            enum carry carry, uint32_t stream, uint32_t tile, uint32_t link,
                            struct error *error);

/* Does the callback's work: *next = *before + *total, modulo 2^32. `before` is NULL for the
 * first tile, whose sum begins at 0. */
void carry_feed(const void *before, const void *total, void *next);

#endif
