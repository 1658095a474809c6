/* host_layout.c - the bytes of a plan's host arrays in memory. */
#include "plan/host_layout.h"

#include "core/mix.h"

#include <stdlib.h>

/* The sequence that places are drawn from: the arrays' elements have others of the same seed.
 */
static uint64_t places_key(uint64_t seed)
{
    enum { PLACES = 64 };
    return mix_bits(mix_bits(seed) + PLACES);
}

enum status host_layout_draw(struct plan *plan, uint64_t seed, struct error *error)
{
    const uint64_t key = places_key(seed);
    uint32_t *places = malloc(plan->tiles * sizeof *places);
    if (places == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory for the places of the tiles");
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

bool host_layout_is_scattered(const struct plan *plan, enum buffer buffer)
{
    if (plan->places == NULL)
        return false;
    return buffer == BUFFER_HOST_IN0 || buffer == BUFFER_HOST_IN1 ||
           (buffer == BUFFER_HOST_OUT && plan_last_kernel(plan)->shape != KERNEL_REDUCE);
}

/* Returns the bytes of an element of a scattered buffer, which has as many as the array. */
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

uint64_t host_layout_offset(const struct plan *plan, const struct range *range)
{
    if (range->bytes == 0 || !host_layout_is_scattered(plan, range->buffer))
        return range->offset;
    const uint32_t tile = tile_at(plan, range->buffer, range->offset);
    return plan->places[tile] * host_layout_pitch(plan, range->buffer) + range->offset -
           tile_range(plan, range->buffer, tile).offset;
}

uint32_t host_layout_pieces(const struct plan *plan, enum buffer buffer)
{
    return host_layout_is_scattered(plan, buffer) ? plan->tiles : 1;
}

struct range host_layout_piece(const struct plan *plan, enum buffer buffer, uint32_t piece)
{
    if (!host_layout_is_scattered(plan, buffer))
        return (struct range){buffer, 0, plan->buffer_bytes[buffer]};
    return tile_range(plan, buffer, piece);
}

bool host_layout_next(const struct plan *plan, struct range *rest, struct range *piece)
{
    if (rest->bytes == 0)
        return false;
    *piece = *rest;
    if (host_layout_is_scattered(plan, rest->buffer)) {
        const struct range tile =
            tile_range(plan, rest->buffer, tile_at(plan, rest->buffer, rest->offset));
        const uint64_t left = tile.offset + tile.bytes - rest->offset;
        piece->bytes = rest->bytes < left ? rest->bytes : left;
    }
    rest->offset += piece->bytes;
    rest->bytes -= piece->bytes;
    return true;
}
