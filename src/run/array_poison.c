/* array_poison.c - what shows that a run did not write what it must, or wrote what it must not:
 * the output's poison, and words in the gaps between tiles that lie apart. */
#include "run/arrays.h"

#include "core/mix.h"

#include <inttypes.h>

/* The bits of a quiet NaN, as float32 and, twice, as float64, and those of its payload. */
#define NAN_BITS     UINT32_C(0x7FC00000)
#define PAYLOAD_BITS UINT32_C(0x003FFFFF)

/* --- the output --- */

void arrays_fill_poison(const struct arrays *arrays, void *memory, uint64_t bytes, bool team)
{
    uint32_t *words = memory;
    _Static_assert(sizeof *words == sizeof(float), "one pattern serves all element types");
    const uint64_t count = bytes / sizeof *words;
#pragma omp parallel for schedule(static) if (team && count >= ARRAYS_PARALLEL)
    for (uint64_t i = 0; i < count; i++)
        words[i] = arrays->poison;
}

static bool output_holds(const struct arrays *arrays, uint32_t word)
{
    const uint32_t *out = arrays->host[BUFFER_HOST_OUT];
    const uint64_t count = arrays->bytes[BUFFER_HOST_OUT] / sizeof *out;
    bool found = false;
#pragma omp parallel for schedule(static) reduction(|| : found) if (count >= ARRAYS_PARALLEL)
    for (uint64_t i = 0; i < count; i++)
        found = found || out[i] == word;
    return found;
}

/* Draws a poison that the output, as the last run left it, holds nowhere: no right result can
 * be it. The payloads 0 and all ones are left out, for they are what processors and GPUs make
 * themselves. Where so many payloads are in the output that none of DRAWS is free, the last one
 * drawn has to do, and a right result may be called unwritten. */
static void poison_draw(struct arrays *arrays)
{
    enum { DRAWS = 64 };
    for (int i = 0; i < DRAWS; i++) {
        uint32_t payload = 0;
        while (payload == 0 || payload == PAYLOAD_BITS)
            payload = (uint32_t)mix_bits(++arrays->drawn) & PAYLOAD_BITS;
        arrays->poison = NAN_BITS | payload;
        if (!output_holds(arrays, arrays->poison))
            return;
    }
}

/* Returns the first of `count` elements at `out` that is nothing but poison, or `count`. */
static uint64_t find_poison(const uint32_t *out, uint32_t poison, size_t element_bytes,
                            uint64_t count)
{
    const size_t words = element_bytes / sizeof *out, last = words - 1;
    uint64_t found = count;
#pragma omp parallel for schedule(static) reduction(min : found) if (count >= ARRAYS_PARALLEL)
    for (uint64_t i = 0; i < count; i++) {
        if (out[i * words] == poison && out[i * words + last] == poison && i < found)
            found = i;
    }
    return found;
}

/* Returns the first such element of [first, first + count), or the end. */
static uint64_t find_poison_from(const struct arrays *arrays, size_t element_bytes,
                                 uint64_t first, uint64_t count)
{
    struct range rest = {BUFFER_HOST_OUT, first * element_bytes, count * element_bytes}, piece;
    if (arrays->apart == NULL)
        return first +
               find_poison(arrays_at(arrays, &rest), arrays->poison, element_bytes, count);
    while (host_layout_next(arrays->apart, &rest, &piece)) {
        const uint64_t there = piece.bytes / element_bytes;
        const uint64_t found =
            find_poison(arrays_at(arrays, &piece), arrays->poison, element_bytes, there);
        if (found < there)
            return piece.offset / element_bytes + found;
    }
    return first + count;
}

uint64_t arrays_find_poison(const struct arrays *arrays, size_t element_bytes, uint64_t count)
{
    if (arrays->dealt == NULL)
        return find_poison_from(arrays, element_bytes, 0, count);
    const bool reduces = plan_last_kernel(arrays->dealt)->shape == KERNEL_REDUCE;
    for (uint32_t tile = 0; tile < arrays->dealt->tiles; tile++) {
        uint64_t first = tile, own = 1;
        if (!reduces)
            plan_tile(arrays->dealt, tile, &first, &own);
        if (!arrays_have_tile(arrays, tile))
            continue;
        const uint64_t found = find_poison_from(arrays, element_bytes, first, own);
        if (found < first + own)
            return found;
    }
    return count;
}

/* --- gaps --- */

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

/* Fills the gaps, the inputs' too, with words of their own. */
static void guard_gaps(struct arrays *arrays)
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

/* --- before a run --- */

void arrays_poison(struct arrays *arrays)
{
    arrays_unsettle();
    poison_draw(arrays);
    for (int b = BUFFER_HOST_OUT; b <= BUFFER_HOST_EXCHANGE; b++)
        arrays_fill_poison(arrays, arrays->host[b], arrays->bytes[b], true);
    guard_gaps(arrays);
}
