/* verify.c - compares the output with the chain's oracles, piece by piece, with all cores.
 *
 * A batch of pieces is worked on in parallel and then judged in order. So the first wrong
 * element is found whichever core was faster, and a sum is folded in the same order on any
 * machine. What a scan's element must be depends on all elements before it: where the chain has
 * one, its pieces are worked on one after another, in order, and each scan's running total goes
 * from piece to piece. */
#include "run/verify.h"

#include "run/verify_pieces.h"
#include "term/marks.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static enum status piece_judge(const struct plan *plan, const struct verify_piece *piece,
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
    verify_load(verification->arrays, BUFFER_HOST_OUT, last->out, tile, 1, &actual);
    if (verify_is_right(last->out, value, bound, actual))
        return STATUS_OK;
    char text[EXPECTATION_TEXT];
    return error_set(error, STATUS_FAILED, "wrong result: tile %" PRIu32 ": %s", tile,
                     expectation(value, bound, actual, text));
}

/* Judges a batch in order. `sum` carries the fold of a reduction's unfinished tile. */
static enum status batch_judge(const struct verification *verification,
                               const struct verify_piece *pieces, int count,
                               struct oracle_sum *sum, struct error *error)
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
        return error_no_memory(error, "to verify the result with");
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
    const uint64_t chunks = (plan->elements + VERIFY_CHUNK - 1) / VERIFY_CHUNK;
    double sizes = 0;
#pragma omp parallel for schedule(static) reduction(+ : sizes)
    for (uint64_t chunk = 0; chunk < chunks; chunk++) {
        const uint64_t end = chunk + 1 < chunks ? (chunk + 1) * VERIFY_CHUNK : plan->elements;
        double value[VERIFY_CHUNK];
        for (uint64_t first = chunk * VERIFY_CHUNK, count; first < end; first += count) {
            count = verify_chunk(verification, first, end - first);
            verify_load(verification->arrays, BUFFER_HOST_IN0, plan->chain[0]->in, first, count,
                        value);
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
    verify_load_values(verification->arrays->untiled, out, 1, &right);
    for (uint32_t tile = 0; tile < plan->tiles; tile++) {
        verify_load(verification->arrays, BUFFER_HOST_OUT, out, tile, 1, &value);
        sum += value;
        sizes += fabs(value);
    }
    sizes += sizes_of_input(verification);
    if (out == DTYPE_I32)
        sum = verify_signed((uint32_t)(int64_t)fmod(sum, 4294967296.0));
    const double bound = verify_tolerance(plan) * (sizes + fabs(right));
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
    struct verify_workspace *works = calloc((size_t)omp_get_max_threads(), sizeof *works);
    struct verify_piece *pieces = calloc(VERIFY_BATCH, sizeof *pieces);
    enum status status = STATUS_OK;
    if (works == NULL || pieces == NULL) {
        status = error_no_memory(error, "to verify the result with");
        goto free_all;
    }
    struct verify_cutter cutter = {0};
    struct oracle_sum sum = {0};
    int count;
    bool right = true;
    while (right && (count = verify_cut(&cutter, &verification, pieces)) > 0) {
#pragma omp parallel for schedule(static) if (count > 1 && !scans)
        for (int i = 0; i < count; i++)
            verify_piece(&verification, &pieces[i], &works[omp_get_thread_num()]);
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
    const bool shows = status == STATUS_OK && arrays->poison != 0;
    if (shows && found.wrong.status == STATUS_OK)
        arrays_check_gaps(arrays, &found.wrong);
    if (shows && found.wrong.status == STATUS_OK)
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
