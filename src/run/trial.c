/* trial.c - a kernel's work on its own, without a plan: odd numbers of elements, at any element
 * of memory, in place and not, by few blocks and by many; and nothing but its output may
 * change. All memory that a trial needs is one image: the arrays with guards before, between
 * and behind them. The image goes to where the work is done, and comes back. */
#include "run/backend.h"

#include "core/arena.h"
#include "core/mix.h"
#include "kernels/kernel_code.h"
#include "run/arrays.h"
#include "run/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GUARD = 4096, /* bytes on each side of an array */
    PIECE = 509,  /* elements that are worked on at once to know what is right: no size of a
                    tile */
    MOST = 262147,
    THREADS_COUNT = 4099, /* elements, where many threads work at once */
    THREADS_TRIALS = 64,
};

/* Around the sizes of warps, of blocks and of pieces; and one that fills a GPU. */
static const uint32_t counts[] = {1,   2,   3,   31,  32,   33,   127,   255, 256,
                                  257, 511, 512, 513, 1000, 4097, 65537, MOST};
static const uint32_t shifts[] = {0, 1, 3}; /* elements that the arrays are behind a boundary */

/* An output holds this before the work: a NaN, also as half a float64, or a large number. */
#define POISON UINT32_C(0x7FF5A5E1)

struct trials {
    const struct kernel *kernel;
    trial_runner *run;
    void *context;
    void *in[KERNEL_INPUTS_MAX]; /* MOST elements each */
    double *value, *bound;       /* maps: of each element; reductions: of each piece */
    bool by_twin;                /* that is the twin's */
    struct arena arena;          /* what has these arrays */
};

/* How one trial is made. */
struct trial {
    uint64_t first, count; /* elements of the inputs */
    uint32_t shift, blocks;
    bool in_place;
};

/* An image, before the work and after it. */
struct image {
    char *before, *after;
    uint64_t bytes, out_bytes;
    struct trial_work work;
};

static bool reduces(const struct kernel *kernel)
{
    return kernel->shape == KERNEL_REDUCE;
}

/* --- the image --- */

/* Returns the place of an array of `bytes`, and moves the image's end behind it and its guard.
 */
static uint64_t place(struct image *image, uint64_t bytes, uint64_t shift)
{
    const uint64_t at = image->bytes + shift;
    image->bytes = (at + bytes + GUARD - 1) / GUARD * GUARD + GUARD;
    return at;
}

/* Lays the arrays of a trial out: guards everywhere, the inputs, and a poisoned output. */
static enum status lay_out(const struct trials *trials, const struct trial *trial,
                           struct image *image, struct error *error)
{
    const struct kernel *kernel = trials->kernel;
    const uint64_t in_size = dtype_bytes(kernel->in), out_size = dtype_bytes(kernel->out);
    *image = (struct image){.bytes = GUARD,
                            .out_bytes = (reduces(kernel) ? 1 : trial->count) * out_size,
                            .work = {.count = trial->count, .blocks = trial->blocks}};
    for (int i = 0; i < kernel->inputs; i++)
        image->work.in[i] = place(image, trial->count * in_size, trial->shift * in_size);
    image->work.out = trial->in_place ? image->work.in[0]
                                      : place(image, image->out_bytes, trial->shift * out_size);
    image->before = malloc(image->bytes);
    image->after = malloc(image->bytes);
    if (image->before == NULL || image->after == NULL)
        return error_no_memory(error, "to try a kernel");
    for (uint64_t i = 0; i < image->bytes / sizeof(uint64_t); i++)
        ((uint64_t *)image->before)[i] = mix_at(trial->count, i);
    const uint32_t poison = POISON;
    for (uint64_t i = 0; i < image->out_bytes; i += sizeof poison)
        memcpy(image->before + image->work.out + i, &poison, sizeof poison);
    for (int i = 0; i < kernel->inputs;
         i++) /* in place, the first one is where the output is */
        memcpy(image->before + image->work.in[i],
               (const char *)trials->in[i] + trial->first * in_size, trial->count * in_size);
    memcpy(image->after, image->before, image->bytes);
    return STATUS_OK;
}

static void image_free(struct image *image)
{
    free(image->before);
    free(image->after);
}

/* --- what is wrong --- */

enum { HOW_TEXT = 128 };
static const char *how(const struct trial *trial, char text[HOW_TEXT])
{
    snprintf(text, HOW_TEXT, "with %" PRIu64 " element%s%s%s%s", trial->count,
             trial->count == 1 ? "" : "s", trial->shift > 0 ? " that begin at any element" : "",
             trial->in_place ? ", its output at its input" : "",
             trial->blocks == 1 ? ", 1 block" : "");
    return text;
}

/* Refuses what changed beside the output. */
static enum status check_guards(const struct trials *trials, const struct trial *trial,
                                const struct image *image, struct error *error)
{
    const struct trial_work *work = &image->work;
    const uint64_t end = work->out + image->out_bytes;
    uint64_t at = 0;
    char text[HOW_TEXT];
    while (at < image->bytes &&
           (image->before[at] == image->after[at] || (at >= work->out && at < end)))
        at++;
    if (at == image->bytes)
        return STATUS_OK;
    for (int i = 0; i < trials->kernel->inputs; i++) {
        const uint64_t size = dtype_bytes(trials->kernel->in);
        if (at >= work->in[i] && at < work->in[i] + trial->count * size)
            return error_set(error, STATUS_FAILED,
                             "%s: writes into input %d, at element %" PRIu64, how(trial, text),
                             i, (at - work->in[i]) / size);
    }
    return error_set(error, STATUS_FAILED,
                     "%s: writes outside its output: %" PRIu64 " bytes %s it", how(trial, text),
                     at >= end ? at - end : work->out - at, at >= end ? "behind" : "before");
}

/* Compares an output's element `i` with the right one. */
static enum status check_value(const struct trials *trials, const struct trial *trial,
                               const struct image *image, uint64_t i, double value,
                               double bound, struct error *error)
{
    const enum dtype dtype = trials->kernel->out;
    const char *out = image->after + image->work.out;
    const double actual = dtype_load(dtype, out, i);
    char text[HOW_TEXT];
    const bool sums = reduces(trials->kernel) && dtype != DTYPE_I32;
    if (verify_is_right(dtype, value, bound, actual))
        return STATUS_OK;
    if (!trial->in_place && memcmp(out + i * dtype_bytes(dtype),
                                   image->before + image->work.out + i * dtype_bytes(dtype),
                                   dtype_bytes(dtype)) == 0)
        return error_set(error, STATUS_FAILED, "%s: does not write element %" PRIu64,
                         how(trial, text), i);
    return error_set(
        error, STATUS_FAILED,
        "%s: gives %.9g for %s %" PRIu64 "%s, where %s, in pieces of %d elements, "
        "gives %.9g%s",
        how(trial, text), actual, reduces(trials->kernel) ? "the sum of" : "element",
        reduces(trials->kernel) ? trial->count : i, reduces(trials->kernel) ? " elements" : "",
        trials->by_twin ? "the twin" : "it itself", PIECE, value,
        sums ? ": values of parts add up, and .tolerance says how far" : "");
}

/* --- what is right --- */

/* Runs a trial, and checks that it did its work and nothing else. */
static enum status work(struct trials *trials, const struct trial *trial, struct image *image,
                        struct error *error)
{
    char text[HOW_TEXT];
    struct error why = {0};
    enum status status = lay_out(trials, trial, image, error);
    if (status == STATUS_OK && trials->run(trials->context, trials->kernel, &image->work,
                                           image->after, image->bytes, &why) != STATUS_OK)
        status = error_set(error, why.status, "%s: %s", how(trial, text), why.text);
    return status == STATUS_OK ? check_guards(trials, trial, image, error) : status;
}

/* Has the twin's oracle say what elements [first, first + count) become. Returns a fold of them
 * where the kernel reduces. */
static struct oracle_sum ask_twin(const struct trials *trials, uint64_t first, uint64_t count,
                                  double *value, double *bound)
{
    const struct kernel *kernel = trials->kernel;
    const struct kernel_code *code = kernel_code(kernel);
    const struct kernel_params params = {.intensity = 1, .columns = 1, .stride = 1};
    const struct oracle oracle = {value, bound, (size_t)count, first};
    struct oracle_sum sum = {0};
    for (uint64_t i = 0; i < count; i++) {
        value[i] = dtype_load(kernel->in, trials->in[0], first + i);
        bound[i] = 0;
    }
    if (reduces(kernel))
        code->oracle_fold(&sum, &oracle);
    else
        code->oracle_map((struct oracle *)&oracle,
                         kernel->inputs > 1
                             ? (const char *)trials->in[1] + first * dtype_bytes(kernel->in)
                             : NULL,
                         &params);
    return sum;
}

/* Has the kernel itself, for which there is no twin, say what a piece becomes. */
static enum status ask_itself(struct trials *trials, uint64_t first, uint64_t count,
                              double *value, double *bound, struct error *error)
{
    const struct kernel *kernel = trials->kernel;
    const struct trial trial = {.first = first, .count = count, .blocks = 1};
    const uint64_t results = reduces(kernel) ? 1 : count;
    struct image image;
    enum status status = work(trials, &trial, &image, error);
    const char *out = image.after + image.work.out;
    const size_t size = dtype_bytes(kernel->out);
    for (uint64_t i = 0; status == STATUS_OK && i < results; i++) {
        if (memcmp(out + i * size, image.before + image.work.out + i * size, size) == 0)
            status = error_set(error, STATUS_FAILED,
                               "with %" PRIu64 " elements: does not write element %" PRIu64,
                               count, i);
        value[i] = dtype_load(kernel->out, out, i);
        bound[i] = isfinite(value[i]) ? fabs(value[i]) * kernel->tolerance : 0;
    }
    for (uint64_t i = 0; reduces(kernel) && i < count; i++)
        bound[0] += fabs(dtype_load(kernel->in, trials->in[0], first + i)) * kernel->tolerance;
    image_free(&image);
    return status;
}

/* Sets what every element of a map becomes. */
static enum status know_map(struct trials *trials, struct error *error)
{
    enum status status = STATUS_OK;
    for (uint64_t first = 0; first < MOST && status == STATUS_OK; first += PIECE) {
        const uint64_t count = MOST - first < PIECE ? MOST - first : PIECE;
        if (trials->by_twin)
            ask_twin(trials, first, count, trials->value + first, trials->bound + first);
        else
            status = ask_itself(trials, first, count, trials->value + first,
                                trials->bound + first, error);
    }
    return status;
}

/* The value that a reduction is to give, and how far a right one may be from it. */
struct known_sum {
    double value, bound;
};

/* Sets what `count` elements from `begin` on are together. */
static enum status know_sum(struct trials *trials, uint64_t begin, uint64_t count,
                            struct known_sum *sum, struct error *error)
{
    enum status status = STATUS_OK;
    struct oracle_sum all = {0};
    *sum = (struct known_sum){0};
    for (uint64_t done = 0; done < count && status == STATUS_OK; done += PIECE) {
        const uint64_t part = count - done < PIECE ? count - done : PIECE, first = begin + done;
        if (trials->by_twin) {
            const struct oracle_sum folded =
                ask_twin(trials, first, part, trials->value, trials->bound);
            oracle_sum_add(&all, &folded);
            continue;
        }
        status = ask_itself(trials, first, part, trials->value, trials->bound, error);
        sum->value += trials->value[0];
        sum->bound += trials->bound[0];
    }
    if (trials->by_twin)
        sum->value = kernel_code(trials->kernel)->oracle_result(&all, &sum->bound);
    else if (trials->kernel->out == DTYPE_I32) /* ints wrap around */
        sum->value = (int32_t)(uint32_t)(int64_t)fmod(sum->value, 4294967296.0);
    return status;
}

/* Makes one trial. `sum` is what a reduction gives of its elements. */
static enum status try_one(struct trials *trials, const struct trial *trial,
                           const struct known_sum *sum, struct error *error)
{
    struct image image;
    enum status status = work(trials, trial, &image, error);
    if (status == STATUS_OK && reduces(trials->kernel))
        status = check_value(trials, trial, &image, 0, sum->value, sum->bound, error);
    for (uint64_t i = 0; i < trial->count && status == STATUS_OK && !reduces(trials->kernel);
         i++)
        status = check_value(trials, trial, &image, i, trials->value[trial->first + i],
                             trials->bound[trial->first + i], error);
    image_free(&image);
    return status;
}

/* --- all of it --- */

static enum status trials_begin(struct trials *trials, struct error *error)
{
    const struct kernel *kernel = trials->kernel;
    trials->by_twin = !kernel_lacks_twin(kernel);
    trials->value = arena_zeros(&trials->arena, MOST, sizeof(double));
    trials->bound = arena_zeros(&trials->arena, MOST, sizeof(double));
    for (int i = 0; i < kernel->inputs; i++) {
        trials->in[i] = arena_zeros(&trials->arena, MOST, dtype_bytes(kernel->in));
        if (trials->in[i] != NULL)
            arrays_generate(kernel->in, 1, i, 0, MOST, trials->in[i]);
    }
    if (trials->arena.full)
        return error_no_memory(error, "to try a kernel");
    return reduces(kernel) ? STATUS_OK : know_map(trials, error);
}

enum status trial_kernel(const struct kernel *kernel, uint32_t blocks, trial_runner *run,
                         void *context, int *done, struct error *error)
{
    struct trials trials = {.kernel = kernel, .run = run, .context = context};
    const bool fits = !reduces(kernel) && dtype_bytes(kernel->in) == dtype_bytes(kernel->out);
    enum status status = trials_begin(&trials, error);
    *done = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && status == STATUS_OK; i++) {
        struct known_sum sum = {0};
        if (reduces(kernel))
            status = know_sum(&trials, 0, counts[i], &sum, error);
        for (int way = 0; way < 12 && status == STATUS_OK; way++) {
            const struct trial trial = {.count = counts[i],
                                        .shift = shifts[way % 3],
                                        .in_place = way / 3 % 2 == 1,
                                        .blocks = way / 6 == 0 ? blocks : 1};
            if ((trial.in_place && !fits) || (blocks == 1 && way / 6 == 1))
                continue;
            status = try_one(&trials, &trial, &sum, error);
            *done += 1;
        }
    }
    arena_free(&trials.arena);
    return status;
}

enum status trial_on_host(void *context, const struct kernel *kernel,
                          const struct trial_work *work, char *image, uint64_t bytes,
                          struct error *error)
{
    (void)context;
    (void)bytes;
    (void)error;
    const struct kernel_args args = {
        .in = {image + work->in[0], kernel->inputs > 1 ? image + work->in[1] : NULL},
        .out = image + work->out,
        .count = work->count,
        .blocks = work->blocks,
        .params = {.intensity = 1, .columns = 1, .stride = 1},
    };
    kernel_code(kernel)->host(&args);
    return STATUS_OK;
}

/* Returns the first element of a thread's: others than another's, so that none gets what
 * another has left. */
static uint64_t thread_first(int i)
{
    return (uint64_t)i * 1013;
}

enum status trial_threads(const struct kernel *kernel, int *done, struct error *error)
{
    struct trials trials = {.kernel = kernel, .run = trial_on_host};
    enum status status = trials_begin(&trials, error);
    struct error first = {0};
    struct known_sum sums[THREADS_TRIALS];
    *done = 0;
    for (int i = 0; i < THREADS_TRIALS && status == STATUS_OK && reduces(kernel); i++)
        status = know_sum(&trials, thread_first(i), THREADS_COUNT, &sums[i], error);
    if (status != STATUS_OK) {
        arena_free(&trials.arena);
        return status;
    }
#pragma omp parallel for schedule(dynamic) num_threads(8)
    for (int i = 0; i < THREADS_TRIALS; i++) {
        struct trials mine = trials;
        const struct trial trial = {
            .first = thread_first(i), .count = THREADS_COUNT, .blocks = 1};
        struct error why = {0};
        const enum status found = try_one(&mine, &trial, &sums[i], &why);
#pragma omp critical(trial_found)
        if (found != STATUS_OK && first.status == STATUS_OK)
            first = why;
    }
    *done = THREADS_TRIALS;
    arena_free(&trials.arena);
    return first.status == STATUS_OK ? STATUS_OK : error_pass(error, &first);
}
