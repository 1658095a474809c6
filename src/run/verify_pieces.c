/* verify_pieces.c - what a piece's elements must be, and whether they are. */
#include "run/verify_pieces.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Returns the address of `count` elements of a host buffer. */
static const void *elements_at(const struct arrays *arrays, enum buffer buffer,
                               enum dtype dtype, uint64_t first, uint64_t count)
{
    const uint64_t size = dtype_bytes(dtype);
    return arrays_at(arrays, &(struct range){buffer, first * size, count * size});
}

void verify_load_values(const void *data, enum dtype dtype, size_t count, double *to)
{
    switch (dtype) {
    case DTYPE_F32:
        for (size_t i = 0; i < count; i++)
            to[i] = ((const float *)data)[i];
        return;
    case DTYPE_I32:
        for (size_t i = 0; i < count; i++)
            to[i] = ((const int32_t *)data)[i];
        return;
    case DTYPE_F64:
        memcpy(to, data, count * sizeof *to);
        return;
    case DTYPE_COUNT:
        return;
    }
}

void verify_load(const struct arrays *arrays, enum buffer buffer, enum dtype dtype,
                 uint64_t first, size_t count, double *to)
{
    verify_load_values(elements_at(arrays, buffer, dtype, first, count), dtype, count, to);
}

/* Loads the elements that the first kernel, one that gathers, moves to places [first, first +
 * count) of tile `tile`. */
static void elements_gather(const struct verification *verification, uint32_t tile,
                            uint64_t first, size_t count, double *to)
{
    const struct plan *plan = verification->plan;
    const struct kernel *kernel = plan->chain[0];
    uint64_t (*gather)(uint64_t, uint64_t, const struct kernel_params *) =
        kernel_code(kernel)->gather;
    uint64_t tile_first, tile_count;
    plan_tile(plan, tile, &tile_first, &tile_count);
    for (size_t i = 0; i < count; i++) {
        const uint64_t from = gather(first + i - tile_first, tile_count, &plan->params);
        verify_load(verification->arrays, BUFFER_HOST_IN0, kernel->in, tile_first + from, 1,
                    &to[i]);
    }
}

bool verify_is_right(enum dtype dtype, double value, double bound, double actual)
{
    const double largest = dtype == DTYPE_F64 ? DBL_MAX : (double)FLT_MAX;
    if (isinf(bound))
        return true;
    if (isnan(value) || isnan(actual))
        return isnan(value) && isnan(actual);
    if (isinf(actual))
        return actual > 0 ? value + bound > largest : value - bound < -largest;
    return fabs(actual - value) <= bound;
}

/* Turns the oracle of the elements before a scan of ints into that after it, in place, and adds
 * them to `total`. They are exact: the bounds stay 0. */
static void chunk_scan(const struct oracle *oracle, bool exclusive, uint32_t *total)
{
    for (size_t i = 0; i < oracle->count; i++) {
        const uint32_t with = *total + (uint32_t)(int64_t)oracle->value[i];
        oracle->value[i] = verify_signed(exclusive ? *total : with);
        *total = with;
    }
}

double verify_tolerance(const struct plan *plan)
{
    double tolerance = 0;
    for (int link = 0; link < plan->chain_length; link++)
        tolerance += plan->chain[link]->tolerance;
    return tolerance;
}

/* Returns what an untiled launch has made of elements [first, first + count). */
static struct oracle chunk_untiled(const struct verification *verification, uint64_t first,
                                   size_t count, struct verify_workspace *work)
{
    const enum dtype dtype = verification->last->out;
    const char *untiled = verification->arrays->untiled;
    const double tolerance = verify_tolerance(verification->plan);
    verify_load_values(untiled + first * dtype_bytes(dtype), dtype, count, work->value);
    for (size_t i = 0; i < count; i++)
        work->bound[i] = isfinite(work->value[i]) ? fabs(work->value[i]) * tolerance : 0;
    return (struct oracle){work->value, work->bound, count, first};
}

/* Returns the oracle of elements [first, first + count), which lie in `piece`, after the
 * chain's maps and scans. */
static struct oracle chunk_predict(const struct verification *verification,
                                   const struct verify_piece *piece, uint64_t first,
                                   size_t count, struct verify_workspace *work)
{
    const struct plan *plan = verification->plan;
    const struct arrays *arrays = verification->arrays;
    struct oracle oracle = {work->value, work->bound, count, first - piece->tile_first};
    if (arrays->untiled != NULL)
        return chunk_untiled(verification, first, count, work);
    if (plan->chain[0]->gathers)
        elements_gather(verification, piece->tile, first, count, work->value);
    else
        verify_load(arrays, BUFFER_HOST_IN0, plan->chain[0]->in, first, count, work->value);
    memset(work->bound, 0, count * sizeof work->bound[0]);
    for (int link = 0; link < plan->chain_length; link++) {
        const struct kernel *kernel = plan->chain[link];
        if (kernel->shape == KERNEL_REDUCE)
            break;
        if (kernel->shape == KERNEL_SCAN) {
            chunk_scan(&oracle, kernel->exclusive, &verification->totals[link]);
            continue;
        }
        const struct kernel_code *code = kernel_code(kernel);
        if (code->oracle_map != NULL) /* a map that only moves elements has none */
            code->oracle_map(&oracle,
                             kernel->inputs > 1 ? elements_at(arrays, BUFFER_HOST_IN1,
                                                              kernel->in, first, count)
                                                : NULL,
                             &plan->params);
    }
    return oracle;
}

/* Returns how many elements of the chunk are right before the first wrong one. */
static size_t chunk_compare(const struct verification *verification,
                            const struct oracle *oracle, uint64_t first,
                            struct verify_workspace *work)
{
    verify_load(verification->arrays, BUFFER_HOST_OUT, verification->last->out, first,
                oracle->count, work->actual);
    size_t right = 0;
    while (right < oracle->count &&
           verify_is_right(verification->last->out, oracle->value[right], oracle->bound[right],
                           work->actual[right]))
        right++;
    return right;
}

size_t verify_chunk(const struct verification *verification, uint64_t first, uint64_t left)
{
    const uint64_t size = dtype_bytes(verification->plan->chain[0]->in);
    const uint64_t count = left < VERIFY_CHUNK ? left : VERIFY_CHUNK;
    struct range rest = {BUFFER_HOST_IN0, first * size, count * size}, chunk;
    if (verification->arrays->apart == NULL)
        return count;
    host_layout_next(verification->arrays->apart, &rest, &chunk);
    return chunk.bytes / size;
}

void verify_piece(const struct verification *verification, struct verify_piece *piece,
                  struct verify_workspace *work)
{
    size_t count;
    for (uint64_t done = 0; done < piece->count; done += count) {
        count = verify_chunk(verification, piece->first + done, piece->count - done);
        struct oracle oracle =
            chunk_predict(verification, piece, piece->first + done, count, work);
        if (piece->passed)
            continue;
        if (verification->last->shape == KERNEL_REDUCE) {
            kernel_code(verification->last)->oracle_fold(&piece->sum, &oracle);
            continue;
        }
        const size_t right = chunk_compare(verification, &oracle, piece->first + done, work);
        piece->right += right;
        if (right == count)
            continue;
        piece->wrong.value = work->value[right];
        piece->wrong.bound = work->bound[right];
        piece->wrong.actual = work->actual[right];
        return;
    }
}

int verify_cut(struct verify_cutter *cutter, const struct verification *verification,
               struct verify_piece *pieces)
{
    const struct plan *plan = verification->plan;
    int taken = 0;
    while (taken < VERIFY_BATCH && cutter->tile < plan->tiles) {
        uint64_t first, count;
        const bool passed = !arrays_have_tile(verification->arrays, cutter->tile);
        if (passed && verification->totals == NULL) {
            cutter->tile++;
            continue;
        }
        plan_tile(plan, cutter->tile, &first, &count);
        const uint64_t left = count - cutter->done;
        const bool ends_tile = left <= VERIFY_PIECE;
        pieces[taken++] = (struct verify_piece){.tile = cutter->tile,
                                                .ends_tile = ends_tile,
                                                .passed = passed,
                                                .tile_first = first,
                                                .first = first + cutter->done,
                                                .count = ends_tile ? left : VERIFY_PIECE};
        cutter->done = ends_tile ? 0 : cutter->done + VERIFY_PIECE;
        cutter->tile += ends_tile;
    }
    return taken;
}
