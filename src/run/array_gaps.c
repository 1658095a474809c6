/* array_gaps.c - the gaps between tiles that lie apart: words that nobody may write. */
#include "run/arrays.h"

#include "core/mix.h"

#include <inttypes.h>

/* Finds the words between the end of tile `tile` and the next place. Returns how many. */
static uint64_t gap_of(const struct arrays *arrays, enum buffer buffer, uint32_t tile,
                       uint32_t **words)
{
    const struct plan *plan = arrays->apart;
    const struct range range = host_layout_piece(plan, buffer, tile);
    *words = (uint32_t *)((char *)arrays_at(arrays, &range) + range.bytes);
    return (host_layout_pitch(plan, buffer) - range.bytes) / sizeof **words;
}

/* Returns word `i` of the gap behind a tile: another one in every gap, so that a gap that was
 * copied over another shows. */
static uint32_t guard_word(enum buffer buffer, uint32_t tile, uint64_t i)
{
    return (uint32_t)mix_at((uint64_t)buffer << 32 | tile, i);
}

static bool has_gaps(const struct arrays *arrays, enum buffer buffer)
{
    return arrays->apart != NULL && arrays->host[buffer] != NULL &&
           host_layout_is_scattered(arrays->apart, buffer);
}

void arrays_guard_gaps(struct arrays *arrays)
{
    for (enum buffer buffer = 0; buffer < BUFFER_FIRST_DEVICE; buffer++) {
        for (uint32_t tile = 0; has_gaps(arrays, buffer) && tile < arrays->apart->tiles;
             tile++) {
            uint32_t *words;
            const uint64_t count = gap_of(arrays, buffer, tile, &words);
            for (uint64_t i = 0; i < count; i++)
                words[i] = guard_word(buffer, tile, i);
        }
    }
}

/* Judges the gap behind one tile. */
static enum status check_gap(const struct arrays *arrays, enum buffer buffer, uint32_t tile,
                             struct error *error)
{
    uint32_t *words;
    const uint64_t count = gap_of(arrays, buffer, tile, &words);
    uint64_t first = 0, end = count;
    while (first < count && words[first] == guard_word(buffer, tile, first))
        first++;
    while (end > first && words[end - 1] == guard_word(buffer, tile, end - 1))
        end--;
    if (first == count)
        return STATUS_OK;
    return error_set(error, STATUS_FAILED,
                     "wrong result: tile %" PRIu32 ": bytes %" PRIu64 " to %" PRIu64
                     " behind its end in %s were written, and belong to no tile",
                     tile, first * sizeof *words, end * sizeof *words, buffer_name(buffer));
}

enum status arrays_check_gaps(const struct arrays *arrays, struct error *error)
{
    const uint32_t tiles = arrays->apart != NULL ? arrays->apart->tiles : 0;
    enum status status = STATUS_OK;
    for (uint32_t tile = 0; tile < tiles; tile++) {
        for (enum buffer buffer = 0; buffer < BUFFER_FIRST_DEVICE && status == STATUS_OK;
             buffer++) {
            if (has_gaps(arrays, buffer))
                status = check_gap(arrays, buffer, tile, error);
        }
    }
    return status;
}
