/* verify.c - compares the output with the chain's oracles, piece by piece, with all cores.
 *
 * A batch of pieces is worked on in parallel and then judged in order. So the first wrong
 * element is found whichever core was faster, and a sum is folded in the same order on any
 * machine. What a scan's element must be depends on all elements before it: where the chain has
 * one, its pieces are worked on one after another, in order, and each scan's running total goes
 * from piece to piece. */
#include "run/verify.h"

#include "kernels/kernel_code.h"
#include "term/marks.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 1024,       /* elements that an oracle sees at once: they stay in the cache */
    PIECE = 16 * CHUNK, /* elements of a piece at most: enough work for a core */
    BATCH = 256,        /* pieces that are worked on side by side */
};

/* The values, bounds and results of a chunk, for one thread. */
struct workspace {
    double value[CHUNK], bound[CHUNK], actual[CHUNK];
};

/* A part of a tile, with its findings. */
struct piece {
    uint32_t tile;
    bool ends_tile;
    bool passed; /* another process judges it: it counts for the scans' totals alone */
    uint64_t first, count; /* elements of the array */
    uint64_t tile_first;   /* the tile's first one */
    uint64_t right;        /* maps: elements that are right before the first wrong one */
    struct {
        double value, bound, actual;
    } wrong;               /* maps: the first wrong one */
    struct oracle_sum sum; /* reductions: the fold of its elements */
};

/* The arguments of verify_judge(), and the state of the chain's scans. */
struct verification {
    const struct plan *plan;
    const struct arrays *arrays;
    const struct kernel *last;
    uint32_t *totals; /* per link: a scan's total so far. NULL: no link is a scan */
};

/* The place where the next piece is cut off a plan's tiles. */
struct cutter {
    uint32_t tile;
    uint64_t done; /* elements of that tile that are in earlier pieces */
};

/* Returns the address of `count` elements of a host buffer. */
static const void *elements_at(const struct arrays *arrays, enum buffer buffer,
                               enum dtype dtype, uint64_t first, uint64_t count)
{
    const uint64_t size = dtype_bytes(dtype);
    return arrays_at(arrays, &(struct range){buffer, first * size, count * size});
}

/* Loads `count` values as doubles, which hold all values. */
static void values_load(const void *data, enum dtype dtype, size_t count, double *to)
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

/* Loads elements [first, first + count) of a host buffer as doubles. They lie in one piece: in
 * one tile, or one row of it, where tiles lie apart. */
static void elements_load(const struct arrays *arrays, enum buffer buffer, enum dtype dtype,
                          uint64_t first, size_t count, double *to)
{
    values_load(elements_at(arrays, buffer, dtype, first, count), dtype, count, to);
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
        elements_load(verification->arrays, BUFFER_HOST_IN0, kernel->in, tile_first + from, 1,
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

/* Returns the 32-bit integer that has these bits. */
static int32_t signed_of(uint32_t bits)
{
    return bits <= INT32_MAX ? (int32_t)bits : -(int32_t)~bits - 1;
}

/* Turns the oracle of the elements before a scan of ints into that after it, in place, and adds
 * them to `total`. They are exact: the bounds stay 0. */
static void chunk_scan(const struct oracle *oracle, bool exclusive, uint32_t *total)
{
    for (size_t i = 0; i < oracle->count; i++) {
        const uint32_t with = *total + (uint32_t)(int64_t)oracle->value[i];
        oracle->value[i] = signed_of(exclusive ? *total : with);
        *total = with;
    }
}

/* Returns by how much of its size a value may differ where the chain's kernels have no twins.
 */
static double chain_tolerance(const struct plan *plan)
{
    double tolerance = 0;
    for (int link = 0; link < plan->chain_length; link++)
        tolerance += plan->chain[link]->tolerance;
    return tolerance;
}

/* Returns what an untiled launch has made of elements [first, first + count). */
static struct oracle chunk_untiled(const struct verification *verification, uint64_t first,
                                   size_t count, struct workspace *work)
{
    const enum dtype dtype = verification->last->out;
    const char *untiled = verification->arrays->untiled;
    const double tolerance = chain_tolerance(verification->plan);
    values_load(untiled + first * dtype_bytes(dtype), dtype, count, work->value);
    for (size_t i = 0; i < count; i++)
        work->bound[i] = isfinite(work->value[i]) ? fabs(work->value[i]) * tolerance : 0;
    return (struct oracle){work->value, work->bound, count, first};
}

/* Returns the oracle of elements [first, first + count), which lie in `piece`, after the
 * chain's maps and scans. */
static struct oracle chunk_predict(const struct verification *verification,
                                   const struct piece *piece, uint64_t first, size_t count,
                                   struct workspace *work)
{
    const struct plan *plan = verification->plan;
    const struct arrays *arrays = verification->arrays;
    struct oracle oracle = {work->value, work->bound, count, first - piece->tile_first};
    if (arrays->untiled != NULL)
        return chunk_untiled(verification, first, count, work);
    if (plan->chain[0]->gathers)
        elements_gather(verification, piece->tile, first, count, work->value);
    else
        elements_load(arrays, BUFFER_HOST_IN0, plan->chain[0]->in, first, count, work->value);
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
                            const struct oracle *oracle, uint64_t first, struct workspace *work)
{
    elements_load(verification->arrays, BUFFER_HOST_OUT, verification->last->out, first,
                  oracle->count, work->actual);
    size_t right = 0;
    while (right < oracle->count &&
           verify_is_right(verification->last->out, oracle->value[right], oracle->bound[right],
                           work->actual[right]))
        right++;
    return right;
}

/* Returns how many of `left` elements from `first` on are the next chunk: they lie in one piece
 * of the arrays. */
static size_t chunk_count(const struct verification *verification, uint64_t first,
                          uint64_t left)
{
    const uint64_t size = dtype_bytes(verification->plan->chain[0]->in);
    const uint64_t count = left < CHUNK ? left : CHUNK;
    struct range rest = {BUFFER_HOST_IN0, first * size, count * size}, chunk;
    if (verification->arrays->apart == NULL)
        return count;
    host_layout_next(verification->arrays->apart, &rest, &chunk);
    return chunk.bytes / size;
}

/* Compares or folds the elements of `piece`. */
static void piece_work(const struct verification *verification, struct piece *piece,
                       struct workspace *work)
{
    size_t count;
    for (uint64_t done = 0; done < piece->count; done += count) {
        count = chunk_count(verification, piece->first + done, piece->count - done);
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

/* Cuts the next pieces, at most BATCH, off the tiles that this process has, or off all where a
 * scan's totals need those. Returns how many there were. */
static int cutter_take(struct cutter *cutter, const struct verification *verification,
                       struct piece *pieces)
{
    const struct plan *plan = verification->plan;
    int taken = 0;
    while (taken < BATCH && cutter->tile < plan->tiles) {
        uint64_t first, count;
        const bool passed = !arrays_have_tile(verification->arrays, cutter->tile);
        if (passed && verification->totals == NULL) {
            cutter->tile++;
            continue;
        }
        plan_tile(plan, cutter->tile, &first, &count);
        const uint64_t left = count - cutter->done;
        const bool ends_tile = left <= PIECE;
        pieces[taken++] = (struct piece){.tile = cutter->tile,
                                         .ends_tile = ends_tile,
                                         .passed = passed,
                                         .tile_first = first,
                                         .first = first + cutter->done,
                                         .count = ends_tile ? left : PIECE};
        cutter->done = ends_tile ? 0 : cutter->done + PIECE;
        cutter->tile += ends_tile;
    }
    return taken;
}

/* Writes "should be 0.5 (+-1e-07), is nan", without the bound where there is none. */
enum { EXPECTATION_TEXT = 96 };
static const char *expectation(double value, double bound, double actual,
                               char text[EXPECTATION_TEXT])
{
    char give_or_take[32] = "";
    if (bound != 0)
        snprintf(give_or_take, sizeof give_or_take, " (+-%.2g)", bound);
    /* The sign of a NaN says nothing, so it is not printed. */
    snprintf(text, EXPECTATION_TEXT, "should be %.10g%s, is %.10g", isnan(value) ? NAN : value,
             give_or_take, isnan(actual) ? NAN : actual);
    return text;
}

/* Writes "tile 4, element 17 (4017 of the array)" of the element `element` of the array, with
 * its row and column where tiles are columns of a matrix. */
enum { PLACE_TEXT = 192 };
static const char *place_of(const struct plan *plan, uint64_t element, char text[PLACE_TEXT])
{
    const struct kernel *matrix = chain_unit_kernel(plan->chain, plan->chain_length);
    const uint32_t tile = plan_tile_of(plan, element);
    uint64_t first, count;
    char where[96] = "";
    plan_tile(plan, tile, &first, &count);
    if (matrix != NULL && strcmp(matrix->unit_name, "columns") == 0) {
        const uint64_t rows = matrix->unit(&plan->params);
        snprintf(where, sizeof where, ": row %" PRIu64 ", column %" PRIu64, element % rows,
                 element / rows);
    }
    snprintf(text, PLACE_TEXT,
             "tile %" PRIu32 ", element %" PRIu64 " (%" PRIu64 " of the array%s)", tile,
             element - first, element, where);
    return text;
}

/* Names the first wrong element of a map's or a scan's piece. */
static enum status piece_judge(const struct plan *plan, const struct piece *piece,
                               struct error *error)
{
    if (piece->right == piece->count)
        return STATUS_OK;
    const uint64_t element = piece->first + piece->right;
    char text[EXPECTATION_TEXT], place[PLACE_TEXT];
    return error_set(
        error, STATUS_FAILED, "wrong result: %s: %s", place_of(plan, element, place),
        expectation(piece->wrong.value, piece->wrong.bound, piece->wrong.actual, text));
}

/* Judges a reduction's tile, whose pieces are all folded into `sum`. */
static enum status tile_judge(const struct verification *verification, uint32_t tile,
                              const struct oracle_sum *sum, struct error *error)
{
    const struct kernel *last = verification->last;
    double bound = 0, actual = NAN;
    const double value = kernel_code(last)->oracle_result(sum, &bound);
    elements_load(verification->arrays, BUFFER_HOST_OUT, last->out, tile, 1, &actual);
    if (verify_is_right(last->out, value, bound, actual))
        return STATUS_OK;
    char text[EXPECTATION_TEXT];
    return error_set(error, STATUS_FAILED, "wrong result: tile %" PRIu32 ": %s", tile,
                     expectation(value, bound, actual, text));
}

/* Judges a batch in order. `sum` carries the fold of a reduction's unfinished tile. */
static enum status batch_judge(const struct verification *verification,
                               const struct piece *pieces, int count, struct oracle_sum *sum,
                               struct error *error)
{
    const bool reduces = verification->last->shape == KERNEL_REDUCE;
    enum status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        if (pieces[i].passed)
            continue;
        if (!reduces) {
            status = piece_judge(verification->plan, &pieces[i], error);
            continue;
        }
        oracle_sum_add(sum, &pieces[i].sum);
        if (!pieces[i].ends_tile)
            continue;
        status = tile_judge(verification, pieces[i].tile, sum, error);
        *sum = (struct oracle_sum){0};
    }
    return status;
}

/* Has a kernel that has a check of its own judge the output. */
static enum status check_whole(const struct verification *verification, struct error *wrong,
                               struct error *error)
{
    const struct plan *plan = verification->plan;
    const struct kernel_args whole = {
        .in = {verification->arrays->host[BUFFER_HOST_IN0],
               verification->arrays->host[BUFFER_HOST_IN1]},
        .resident = verification->arrays->host[BUFFER_HOST_RESIDENT],
        .out = verification->arrays->host[BUFFER_HOST_OUT],
        .count = plan->elements,
        .params = plan->params,
    };
    struct kernel_fault fault;
    const enum kernel_verdict verdict = kernel_code(verification->last)->check(&whole, &fault);
    if (verdict == KERNEL_NO_MEMORY)
        return error_set(error, STATUS_NO_MEMORY, "no memory to verify the result with");
    if (verdict == KERNEL_RIGHT)
        return STATUS_OK;
    char text[EXPECTATION_TEXT], place[PLACE_TEXT];
    error_set(wrong, STATUS_FAILED, "wrong result: %s: %s",
              place_of(plan, fault.element, place),
              expectation(fault.value, fault.bound, fault.actual, text));
    return STATUS_OK;
}

/* Returns the sum of the sizes of all elements of the input. */
static double sizes_of_input(const struct verification *verification)
{
    const struct plan *plan = verification->plan;
    const uint64_t chunks = (plan->elements + CHUNK - 1) / CHUNK;
    double sizes = 0;
#pragma omp parallel for schedule(static) reduction(+ : sizes)
    for (uint64_t chunk = 0; chunk < chunks; chunk++) {
        const uint64_t end = chunk + 1 < chunks ? (chunk + 1) * CHUNK : plan->elements;
        double value[CHUNK];
        for (uint64_t first = chunk * CHUNK, count; first < end; first += count) {
            count = chunk_count(verification, first, end - first);
            elements_load(verification->arrays, BUFFER_HOST_IN0, plan->chain[0]->in, first,
                          count, value);
            for (uint64_t i = 0; i < count; i++)
                sizes += fabs(value[i]);
        }
    }
    return sizes;
}

/* Compares the sum of a reduction's tiles with that of an untiled launch, which has been
 * rounded in another order: how much that is follows from the sizes of what is added. */
static void judge_untiled_sum(const struct verification *verification, struct error *wrong)
{
    const struct plan *plan = verification->plan;
    const enum dtype out = verification->last->out;
    double right, sum = 0, sizes = 0, value;
    values_load(verification->arrays->untiled, out, 1, &right);
    for (uint32_t tile = 0; tile < plan->tiles; tile++) {
        elements_load(verification->arrays, BUFFER_HOST_OUT, out, tile, 1, &value);
        sum += value;
        sizes += fabs(value);
    }
    sizes += sizes_of_input(verification);
    if (out == DTYPE_I32)
        sum = signed_of((uint32_t)(int64_t)fmod(sum, 4294967296.0));
    const double bound = chain_tolerance(plan) * (sizes + fabs(right));
    char text[EXPECTATION_TEXT];
    if (!verify_is_right(out, right, bound, sum))
        error_set(wrong, STATUS_FAILED, "wrong result: the sum of all tiles: %s",
                  expectation(right, bound, sum, text));
}

/* Judges the values of the output. */
static enum status judge_values(const struct plan *plan, const struct arrays *arrays,
                                struct error *wrong, struct error *error)
{
    const bool scans = kernel_chain_scans(plan->chain, plan->chain_length);
    uint32_t totals[CHAIN_MAX] = {0};
    const struct verification verification = {plan, arrays, plan_last_kernel(plan),
                                              scans ? totals : NULL};
    if (arrays->untiled != NULL && verification.last->shape == KERNEL_REDUCE) {
        judge_untiled_sum(&verification, wrong);
        return STATUS_OK;
    }
    if (kernel_code(verification.last)->check != NULL) /* who has all tiles judges them */
        return arrays->dealt == NULL ? check_whole(&verification, wrong, error) : STATUS_OK;
    struct workspace *works = calloc((size_t)omp_get_max_threads(), sizeof *works);
    struct piece *pieces = calloc(BATCH, sizeof *pieces);
    enum status status = STATUS_OK;
    if (works == NULL || pieces == NULL) {
        status = error_set(error, STATUS_NO_MEMORY, "no memory to verify the result with");
        goto free_all;
    }
    struct cutter cutter = {0};
    struct oracle_sum sum = {0};
    int count;
    bool right = true;
    while (right && (count = cutter_take(&cutter, &verification, pieces)) > 0) {
#pragma omp parallel for schedule(static) if (count > 1 && !scans)
        for (int i = 0; i < count; i++)
            piece_work(&verification, &pieces[i], &works[omp_get_thread_num()]);
        right = batch_judge(&verification, pieces, count, &sum, wrong) == STATUS_OK;
    }

free_all:
    free(pieces);
    free(works);
    return status;
}

/* Finds the first element that still holds the poison, whatever its value is worth. */
static void find_unwritten(const struct plan *plan, const struct arrays *arrays,
                           struct judgement *judgement)
{
    const struct kernel *last = plan_last_kernel(plan);
    const uint64_t count = last->shape == KERNEL_REDUCE ? plan->tiles : plan->elements;
    const uint64_t found = arrays_find_poison(arrays, dtype_bytes(last->out), count);
    if (found == count)
        return;
    char place[PLACE_TEXT];
    snprintf(place, sizeof place, "tile %" PRIu64, found);
    judgement->unwritten = true;
    error_set(
        &judgement->wrong, STATUS_FAILED,
        "wrong result: %s holds the bits that were there before the run, and nothing shows "
        "that it was written",
        last->shape == KERNEL_REDUCE ? place : place_of(plan, found, place));
}

enum status verify_judge(const struct plan *plan, const struct arrays *arrays,
                         struct judgement *judgement, struct error *error)
{
    struct judgement found = {0};
    const enum status status = judge_values(plan, arrays, &found.wrong, error);
    if (status == STATUS_OK && found.wrong.status == STATUS_OK)
        arrays_check_gaps(arrays, &found.wrong);
    if (status == STATUS_OK && found.wrong.status == STATUS_OK && arrays->poison != 0)
        find_unwritten(plan, arrays, &found);
    if (status == STATUS_OK)
        *judgement = found;
    return status;
}

enum status verify_run(const struct plan *plan, struct arrays *arrays,
                       enum status (*run)(void *context, struct error *error), void *context,
                       judgement_agree *agree, struct judgement *judgement, struct error *error)
{
    enum status status = STATUS_OK;
    *judgement = (struct judgement){.unwritten = true};
    for (int i = 0; i < 2 && status == STATUS_OK && judgement->unwritten; i++) {
        arrays_poison(arrays);
        status = run(context, error);
        marks_begin("verify");
        if (status == STATUS_OK)
            status = verify_judge(plan, arrays, judgement, error);
        marks_end();
        if (agree != NULL)
            status = agree(status, judgement, error);
    }
    return status;
}

enum status verify_output(const struct plan *plan, const struct arrays *arrays,
                          struct error *error)
{
    struct judgement judgement;
    const enum status status = verify_judge(plan, arrays, &judgement, error);
    return status == STATUS_OK ? error_pass(error, &judgement.wrong) : status;
}
