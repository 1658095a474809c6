/* host_layout.c - the bytes of a plan's host arrays in memory. */
#include "plan/host_layout.h"

#include "core/mix.h"

#include <stdlib.h>

uint64_t host_layout_key(uint64_t seed)
{
    enum { PLACES = 64 };
    return mix_bits(mix_bits(seed) + PLACES);
}

enum status host_layout_draw(struct plan *plan, uint64_t seed, struct error *error)
{
    const uint64_t key = host_layout_key(seed);
    uint32_t *places = malloc(plan->tiles * sizeof *places);
    if (places == NULL)
        return error_no_memory(error, "for the places of the tiles");
    for (uint32_t tile = 0; tile < plan->tiles; tile++) {
        const uint64_t drawn = mix_at(key, tile) >> 32;
        const uint32_t other = (uint32_t)(drawn * (tile + 1) >> 32); /* 0 to tile */
        places[tile] = places[other];
        places[other] = tile;
    }
    free(plan->places);
    plan->places = places;
    return STATUS_OK;
}

bool host_layout_is_apart(const struct plan *plan)
{
    return plan->places != NULL || plan->copy != COPY_WHOLE;
}

/* Returns true if a buffer is made of the tiles' elements. */
static bool has_tiles(const struct plan *plan, enum buffer buffer)
{
    return buffer == BUFFER_HOST_IN0 || buffer == BUFFER_HOST_IN1 ||
           (buffer == BUFFER_HOST_OUT && plan_last_kernel(plan)->shape != KERNEL_REDUCE);
}

bool host_layout_is_scattered(const struct plan *plan, enum buffer buffer)
{
    return plan->places != NULL && has_tiles(plan, buffer);
}

/* Where one tile has all columns its rows lie behind one another, in one piece. */
static bool is_matrix(const struct plan *plan, enum buffer buffer)
{
    return plan->copy != COPY_WHOLE && plan->tiles > 1 && has_tiles(plan, buffer);
}

/* Returns the bytes of an element of a buffer that has as many as the array. */
static uint64_t element_bytes(const struct plan *plan, enum buffer buffer)
{
    return plan->buffer_bytes[buffer] / plan->elements;
}

uint64_t host_layout_pitch(const struct plan *plan, enum buffer buffer)
{
    const uint64_t largest = (plan->elements + plan->tiles - 1) / plan->tiles;
    const uint64_t units =
        (largest * element_bytes(plan, buffer) + HOST_TILE_ALIGNMENT - 1) / HOST_TILE_ALIGNMENT;
    return units * HOST_TILE_ALIGNMENT + HOST_GAP_BYTES;
}

uint64_t host_layout_bytes(const struct plan *plan, enum buffer buffer)
{
    if (plan->buffer_bytes[buffer] == 0 || !host_layout_is_scattered(plan, buffer))
        return plan->buffer_bytes[buffer];
    return plan->tiles * host_layout_pitch(plan, buffer);
}

uint64_t plan_host_bytes(const struct plan *plan)
{
    uint64_t bytes = 0;
    for (int i = 0; i < BUFFER_FIRST_DEVICE; i++)
        bytes += host_layout_bytes(plan, (enum buffer)i);
    return bytes;
}

static struct range tile_range(const struct plan *plan, enum buffer buffer, uint32_t tile)
{
    const uint64_t bytes = element_bytes(plan, buffer);
    uint64_t first, count;
    plan_tile(plan, tile, &first, &count);
    return (struct range){buffer, first * bytes, count * bytes};
}

/* Returns the tile that a byte of a scattered buffer is in. */
static uint32_t tile_at(const struct plan *plan, enum buffer buffer, uint64_t offset)
{
    return plan_tile_of(plan, offset / element_bytes(plan, buffer));
}

/* Returns the bytes of a row of a tile of a matrix. */
static uint64_t row_bytes(const struct plan *plan, enum buffer buffer)
{
    return plan->tile_width * element_bytes(plan, buffer);
}

/* Every tile has as many rows: settings_tiles_fit(). */
static uint64_t tile_rows(const struct plan *plan)
{
    return plan->elements / plan->tiles / plan->tile_width;
}

/* Returns the offset in memory of a byte of a matrix. */
static uint64_t matrix_offset(const struct plan *plan, const struct range *range)
{
    const uint64_t bytes = row_bytes(plan, range->buffer), rows = tile_rows(plan);
    const uint64_t row = range->offset / bytes; /* of all tiles' rows, tile behind tile */
    return (row % rows * plan->tiles + row / rows) * bytes + range->offset % bytes;
}

uint64_t host_layout_offset(const struct plan *plan, const struct range *range)
{
    if (range->bytes == 0 || !host_layout_is_apart(plan))
        return range->offset;
    if (is_matrix(plan, range->buffer))
        return matrix_offset(plan, range);
    if (!host_layout_is_scattered(plan, range->buffer))
        return range->offset;
    const uint32_t tile = tile_at(plan, range->buffer, range->offset);
    return plan->places[tile] * host_layout_pitch(plan, range->buffer) + range->offset -
           tile_range(plan, range->buffer, tile).offset;
}

struct host_rows host_layout_rows(const struct plan *plan, const struct range *range)
{
    if (range->bytes == 0 || !is_matrix(plan, range->buffer))
        return (struct host_rows){1, range->bytes, range->bytes};
    const uint64_t bytes = row_bytes(plan, range->buffer);
    const uint64_t count = range->bytes / bytes;
    if (count <= 1)
        return (struct host_rows){1, range->bytes, range->bytes};
    return (struct host_rows){count, bytes, plan->tiles * bytes};
}

uint64_t host_layout_pieces(const struct plan *plan, enum buffer buffer)
{
    if (is_matrix(plan, buffer))
        return plan->tiles * tile_rows(plan);
    return host_layout_is_scattered(plan, buffer) ? plan->tiles : 1;
}

struct range host_layout_piece(const struct plan *plan, enum buffer buffer, uint64_t piece)
{
    if (is_matrix(plan, buffer))
        return (struct range){buffer, piece * row_bytes(plan, buffer), row_bytes(plan, buffer)};
    if (!host_layout_is_scattered(plan, buffer))
        return (struct range){buffer, 0, plan->buffer_bytes[buffer]};
    return tile_range(plan, buffer, (uint32_t)piece);
}

/* Returns the bytes from the start of a range on that lie in one piece, be they more than it
 * has. */
static uint64_t bytes_together(const struct plan *plan, const struct range *range)
{
    if (is_matrix(plan, range->buffer)) {
        const uint64_t bytes = row_bytes(plan, range->buffer);
        return bytes - range->offset % bytes;
    }
    if (!host_layout_is_scattered(plan, range->buffer))
        return range->bytes;
    const struct range tile =
        tile_range(plan, range->buffer, tile_at(plan, range->buffer, range->offset));
    return tile.offset + tile.bytes - range->offset;
}

bool host_layout_next(const struct plan *plan, struct range *rest, struct range *piece)
{
    if (rest->bytes == 0)
        return false;
    const uint64_t together = bytes_together(plan, rest);
    *piece = *rest;
    piece->bytes = together < rest->bytes ? together : rest->bytes;
    rest->offset += piece->bytes;
    rest->bytes -= piece->bytes;
    return true;
}

struct host_copy host_layout_copy(const struct plan *plan, const struct range *to,
                                  const struct range *from)
{
    const struct host_rows there = host_layout_rows(plan, to);
    const struct host_rows here = host_layout_rows(plan, from);
    const struct host_rows rows = here.count > there.count ? here : there;
    return (struct host_copy){rows.count, rows.bytes,
                              there.count > 1 ? there.pitch : rows.bytes,
                              here.count > 1 ? here.pitch : rows.bytes};
}
