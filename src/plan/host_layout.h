/* host_layout.h - the bytes of a plan's host arrays in memory.
 *
 * A plan's ranges of host buffers are logical: their offsets are as if each array lay in one
 * piece, tile behind tile. That is also how arrays lie in memory, unless the plan has them lie
 * otherwise, the inputs and the output alike:
 *
 *   - With `places` the tiles lie apart, each in one piece at the place that is drawn for it,
 *     with a gap behind it, so that no two tiles touch.
 *   - With a `copy` other than COPY_WHOLE each array is a matrix, row behind row without gaps.
 *     A row has tile_width elements of tile 0, then as many of tile 1, and so on, so that a
 * tile is a block of columns; its rows, from the top, are its elements in their order.
 *
 * What every tile needs whole, what scans carry, and the values of a reduction, one per tile,
 * stay in one piece.
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

/* Returns the key of the sequence (core/mix.h) that places are drawn from: the arrays' elements
 * have others of the same seed. */
uint64_t host_layout_key(uint64_t seed);

/* Draws plan->places from `seed`: a permutation of all tiles, the same on every host (Fisher &
 * Yates; Durstenfeld, CACM 1964). The plan owns it. STATUS_NO_MEMORY. */
enum status host_layout_draw(struct plan *plan, uint64_t seed, struct error *error);

/* Returns true if any buffer lies otherwise than tile behind tile. */
bool host_layout_is_apart(const struct plan *plan);

/* Returns true if the tiles of `buffer` lie apart, at drawn places. */
bool host_layout_is_scattered(const struct plan *plan, enum buffer buffer);

/* Returns the bytes of memory that `buffer` takes, gaps included. */
uint64_t host_layout_bytes(const struct plan *plan, enum buffer buffer);

/* Returns the distance in bytes of two neighbouring places of a scattered buffer. */
uint64_t host_layout_pitch(const struct plan *plan, enum buffer buffer);

/* Returns the offset in memory of a range, whose bytes must lie in one piece: of a scattered
 * buffer, within one tile; of a matrix, within one row of a tile. Of a longer range it is that
 * of the first byte. The range may be of any buffer, a device's too. */
uint64_t host_layout_offset(const struct plan *plan, const struct range *range);

/* The rows that a range of a matrix is made of: whole ones of one tile. */
struct host_rows {
    uint64_t count; /* 1: the range lies in one piece */
    uint64_t bytes; /* of a row */
    uint64_t pitch; /* bytes from one row's start to the next one's, in memory */
};

/* Returns the rows of a range: one, which is all of it, where it is not of a matrix. */
struct host_rows host_layout_rows(const struct plan *plan, const struct range *range);

/* Returns how many pieces a host buffer is cut into, and the range of one: its tiles if it is
 * scattered, its tiles' rows if it is a matrix, else one piece that is the whole of it. */
uint64_t host_layout_pieces(const struct plan *plan, enum buffer buffer);
struct range host_layout_piece(const struct plan *plan, enum buffer buffer, uint64_t piece);

/* Takes the first piece off a logical range, which may cover several tiles: *piece is what of
 * `rest` lies in one piece from its start, and `rest` what is left. Returns false when nothing
 * is left. The pieces come in tile order and cover the range without gaps:
 *
 *     struct range rest = op->copy.host, piece;
 *     while (host_layout_next(plan, &rest, &piece))
 *         ... host_layout_offset(plan, &piece), piece.bytes ...
 */
bool host_layout_next(const struct plan *plan, struct range *rest, struct range *piece);

/* A copy from one range to another of as many bytes, one of which may be a tile of a matrix:
 * rows of `bytes` each, that begin so many bytes behind one another. One row is all of it. */
struct host_copy {
    uint64_t rows, bytes;
    uint64_t to_pitch, from_pitch;
};
struct host_copy host_layout_copy(const struct plan *plan, const struct range *to,
                                  const struct range *from);

#endif
