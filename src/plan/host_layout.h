/* host_layout.h - the bytes of a plan's host arrays in memory.
 *
 * A plan's ranges of host buffers are logical: their offsets are as if each array lay in one
 * piece, tile behind tile. That is also how arrays lie in memory, unless the plan has `places`:
 * then the tiles of the inputs and of the output lie apart, each in one piece at the place that
 * is drawn for it, with a gap behind it, so that no two tiles touch. What every tile needs
 * whole, what scans carry, and the values of a reduction, one per tile, stay in one piece.
 *
 * Whatever touches the bytes asks here for their offset in memory; nothing else has to know. */
#ifndef PIPELINE_PLAN_HOST_LAYOUT_H
#define PIPELINE_PLAN_HOST_LAYOUT_H

#include "core/status.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* The least bytes between two tiles that lie apart, and what each tile's offset is a multiple
 * of. */
enum { HOST_GAP_BYTES = 256, HOST_TILE_ALIGNMENT = 64 };

/* Draws plan->places from `seed`: a permutation of all tiles, the same on every host (Fisher &
 * Yates; Durstenfeld, CACM 1964). The plan owns it. STATUS_NO_MEMORY. */
enum status host_layout_draw(struct plan *plan, uint64_t seed, struct error *error);

/* Returns true if the tiles of `buffer` lie apart. */
bool host_layout_is_scattered(const struct plan *plan, enum buffer buffer);

/* Returns the bytes of memory that `buffer` takes, gaps included. */
uint64_t host_layout_bytes(const struct plan *plan, enum buffer buffer);

/* Returns the distance in bytes of two neighbouring places of a scattered buffer. */
uint64_t host_layout_pitch(const struct plan *plan, enum buffer buffer);

/* Returns the offset in memory of a range, whose bytes must lie in one piece: of a scattered
 * buffer, within one tile. The range may be of any buffer, a device's too. */
uint64_t host_layout_offset(const struct plan *plan, const struct range *range);

/* Returns how many pieces a host buffer is cut into, and the range of one: its tiles if it is
 * scattered, else one piece that is the whole of it. */
uint32_t host_layout_pieces(const struct plan *plan, enum buffer buffer);
struct range host_layout_piece(const struct plan *plan, enum buffer buffer, uint32_t piece);

/* Takes the first piece off a logical range, which may cover several tiles: *piece is what of
 * `rest` lies in one piece from its start, and `rest` what is left. Returns false when nothing
 * is left. The pieces come in tile order and cover the range without gaps:
 *
 *     struct range rest = op->copy.host, piece;
 *     while (host_layout_next(plan, &rest, &piece))
 *         ... host_layout_offset(plan, &piece), piece.bytes ...
 */
bool host_layout_next(const struct plan *plan, struct range *rest, struct range *piece);

#endif
