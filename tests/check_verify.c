/* check_verify.c - right results pass; anything else is found and named exactly. */
#include "run/verify.h"

#include "run/arrays.h"
#include "run/host_ops.h"
#include "suites.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static struct error error;

/* A small run: a plan with no ops, which verification does not need, and its arrays. */
struct run {
    struct plan plan;
    struct arrays arrays;
};

/* Kernels of our own, for what the table's do not do. */

#define MAP(NAME, INPUTS, TYPE)                                                                \
    {                                                                                          \
        .name = #NAME, .shape = KERNEL_MAP, .inputs = (INPUTS), .in = (TYPE), .out = (TYPE),   \
        .code = &(const struct kernel_code)                                                    \
        {                                                                                      \
            .host = NAME##_host, .oracle_map = NAME##_oracle                                   \
        }                                                                                      \
    }

static void nudge_host(const struct kernel_args *args)
{
    const int32_t *in = args->in[0];
    int32_t *out = args->out;
    for (uint64_t i = 0; i < args->count; i++)
        out[i] = in[i] ^ (int32_t)args->params.intensity;
}

static void nudge_oracle(struct oracle *oracle, const void *second,
                         const struct kernel_params *params)
{
    ck_assert_ptr_null(second);
    for (size_t i = 0; i < oracle->count; i++)
        oracle->value[i] = (int32_t)oracle->value[i] ^ (int32_t)params->intensity;
}

static const struct kernel nudge = MAP(nudge, 1, DTYPE_I32);

/* Quarters, so that their sum fits. */
static void blend_host(const struct kernel_args *args)
{
    const int32_t *a = args->in[0], *b = args->in[1];
    int32_t *out = args->out;
    for (uint64_t i = 0; i < args->count; i++)
        out[i] = a[i] / 4 + b[i] / 4;
}

static void blend_oracle(struct oracle *oracle, const void *second,
                         const struct kernel_params *params)
{
    (void)params;
    for (size_t i = 0; i < oracle->count; i++)
        oracle->value[i] = (int32_t)oracle->value[i] / 4 + ((const int32_t *)second)[i] / 4;
}

static const struct kernel blend = MAP(blend, 2, DTYPE_I32);

/* Twice the input, give or take a quarter (exactly representable, so that the edge can be hit);
 * 3 stands for a value of which nothing can be claimed. */
static void loose_host(const struct kernel_args *args)
{
    const float *in = args->in[0];
    float *out = args->out;
    for (uint64_t i = 0; i < args->count; i++)
        out[i] = 2 * in[i];
}

static void loose_oracle(struct oracle *oracle, const void *second,
                         const struct kernel_params *params)
{
    (void)second;
    (void)params;
    for (size_t i = 0; i < oracle->count; i++) {
        oracle->bound[i] += oracle->value[i] == 3 ? INFINITY : 0.25;
        oracle->value[i] *= 2;
    }
}

static const struct kernel loose = MAP(loose, 1, DTYPE_F32);

/* How many elements there are: what the oracle was told of in parts must add up. */
static void tally_host(const struct kernel_args *args)
{
    *(int32_t *)args->out = (int32_t)args->count;
}

static void tally_fold(struct oracle_sum *sum, const struct oracle *oracle)
{
    sum->count += oracle->count;
}

static double tally_result(const struct oracle_sum *sum, double *bound)
{
    *bound = 0;
    return (double)sum->count;
}

static const struct kernel tally = {
    .name = "tally",
    .shape = KERNEL_REDUCE,
    .inputs = 1,
    .in = DTYPE_I32,
    .out = DTYPE_I32,
    .code = &(const struct kernel_code){
        .host = tally_host, .oracle_fold = tally_fold, .oracle_result = tally_result}};

static uint64_t out_count(const struct plan *plan)
{
    const bool reduces = plan->chain[plan->chain_length - 1]->shape == KERNEL_REDUCE;
    return reduces ? plan->tiles : plan->elements;
}

/* Does what every backend must have done: the chain on every tile. */
static void run_compute(struct run *run)
{
    const struct plan *plan = &run->plan;
    void *scratch = malloc(plan->elements * 4);
    ck_assert_ptr_nonnull(scratch);
    for (uint32_t tile = 0; tile < plan->tiles; tile++) {
        uint64_t first, count;
        plan_tile(plan, tile, &first, &count);
        const uint64_t to = out_count(plan) == plan->tiles ? tile : first;
        chain_host_run(plan->chain, plan->chain_length, &plan->params,
                       (const char *)run->arrays.host[BUFFER_HOST_IN0] + first * 4,
                       (const char *)run->arrays.host[BUFFER_HOST_IN1] + first * 4, NULL,
                       (char *)run->arrays.host[BUFFER_HOST_OUT] + to * 4, count, scratch);
    }
    free(scratch);
}

/* A finished run of `first`, and `last` unless it is NULL, on generated data. */
static struct run run_make(const struct kernel *first, const struct kernel *last,
                           uint64_t elements, uint32_t tiles, uint64_t seed)
{
    struct run run = {.plan = {.elements = elements,
                               .tiles = tiles,
                               .chain = {first, last},
                               .chain_length = last == NULL ? 1 : 2,
                               .params = {.intensity = 3}}};
    ck_assert_ptr_nonnull(first);
    for (int i = 0; i < BUFFER_FIRST_DEVICE; i++) {
        run.arrays.host[i] = malloc(elements * 4);
        ck_assert_ptr_nonnull(run.arrays.host[i]);
    }
    arrays_generate(first->in, seed, 0, 0, elements, run.arrays.host[BUFFER_HOST_IN0]);
    arrays_generate(first->in, seed, 1, 0, elements, run.arrays.host[BUFFER_HOST_IN1]);
    run_compute(&run);
    return run;
}

static void run_free(struct run *run)
{
    for (int i = 0; i < BUFFER_FIRST_DEVICE; i++)
        free(run->arrays.host[i]);
}

static void assert_right(const struct run *run)
{
    error_clear(&error);
    ck_assert_msg(verify_output(&run->plan, &run->arrays, &error) == STATUS_OK, "%s",
                  error.text);
    ck_assert_int_eq(error.status, STATUS_OK);
}

/* Result `index` of the output must be named as the first wrong one, whichever way it is. */
static void assert_wrong(const struct run *run, uint64_t index)
{
    const struct plan *plan = &run->plan;
    char place[128];
    if (out_count(plan) == plan->tiles &&
        plan->chain[plan->chain_length - 1]->shape == KERNEL_REDUCE) {
        snprintf(place, sizeof place, "wrong result: tile %" PRIu64 ": should be ", index);
    } else {
        uint64_t first = 0, count = 0;
        uint32_t tile = 0;
        while (plan_tile(plan, tile, &first, &count), index >= first + count)
            tile++;
        snprintf(place, sizeof place,
                 "wrong result: tile %" PRIu32 ", element %" PRIu64 " (%" PRIu64
                 " of the array): should be ",
                 tile, index - first, index);
    }
    error_clear(&error);
    ck_assert_msg(verify_output(plan, &run->arrays, &error) == STATUS_FAILED,
                  "result %" PRIu64 " is wrong and was not found", index);
    ck_assert_int_eq(error.status, STATUS_FAILED);
    ck_assert_msg(strncmp(error.text, place, strlen(place)) == 0, "'%s' does not say '%s'",
                  error.text, place);
}

static uint32_t *out_bits(const struct run *run)
{
    return run->arrays.host[BUFFER_HOST_OUT];
}

static float *out_floats(const struct run *run)
{
    return run->arrays.host[BUFFER_HOST_OUT];
}

/* The chains under test: every kernel by itself, and maps before a reduction. */
static const struct {
    const char *first, *last;
} chains[] = {
    {"scale", NULL},    {"wave", NULL},    {"sum", NULL},    {"reduce-shuffle", NULL},
    {"scale", "scale"}, {"wave", "scale"}, {"scale", "sum"}, {"wave", "sum"},
};

static struct run run_make_chain(int chain, uint64_t elements, uint32_t tiles, uint64_t seed)
{
    const char *last = chains[chain].last;
    return run_make(kernel_find(chains[chain].first), last == NULL ? NULL : kernel_find(last),
                    elements, tiles, seed);
}

START_TEST(right_results_pass)
{
    static const struct {
        uint64_t elements;
        uint32_t tiles;
    } cases[] = {{1, 1},     {2, 1},     {3, 2},     {1023, 1},   {1024, 1},  {1025, 1},
                 {16384, 1}, {16385, 1}, {40000, 2}, {5000, 333}, {900, 900}, {49157, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run run = run_make_chain(_i, cases[i].elements, cases[i].tiles, i + 1);
        assert_right(&run);
        run_free(&run);
    }
}
END_TEST

/* Where there is a wrong result: at the seams of chunks (1024), pieces (16384) and tiles. */
static const uint64_t spots[] = {0,     1,     1022,  1023,  1024,  2047,  9999,  10000, 10001,
                                 16383, 16384, 16385, 20000, 26383, 26384, 29998, 29999};
enum { SPOT_ELEMENTS = 30000, SPOT_TILES = 3 }; /* tiles of 10000 */

START_TEST(one_wrong_element_is_named)
{
    static const struct kernel *const kernels[] = {&nudge, &blend, &loose};
    struct run run = _i < 3 ? run_make(kernels[_i], NULL, SPOT_ELEMENTS, SPOT_TILES, 5)
                            : run_make_chain(_i - 3, SPOT_ELEMENTS, SPOT_TILES, 5);
    for (size_t i = 0; i < sizeof spots / sizeof spots[0]; i++) {
        const uint32_t right = out_bits(&run)[spots[i]];
        out_bits(&run)[spots[i]] ^= 1u << 31;
        assert_wrong(&run, spots[i]);
        out_bits(&run)[spots[i]] = right;
    }
    assert_right(&run);
    run_free(&run);
}
END_TEST

START_TEST(the_first_of_many_wrong_elements_is_named)
{
    const int before = omp_get_max_threads();
    for (int threads = 1; threads <= 7; threads += 2) {
        omp_set_num_threads(threads);
        struct run run = run_make(&nudge, NULL, SPOT_ELEMENTS, SPOT_TILES, 6);
        for (size_t i = sizeof spots / sizeof spots[0]; i-- > 0;) {
            out_bits(&run)[spots[i]]++;
            assert_wrong(&run, spots[i]);
        }
        run_free(&run);
    }
    omp_set_num_threads(before);
}
END_TEST

START_TEST(any_flipped_bit_of_an_integer_is_found)
{
    struct run map = run_make(&nudge, NULL, 100, 9, 1);
    struct run sum = run_make(kernel_find("reduce-shuffle"), NULL, 100, 9, 1);
    for (int bit = 0; bit < 32; bit++) {
        for (uint32_t i = 0; i < 9; i++) {
            out_bits(&map)[i * 7] ^= 1u << bit;
            assert_wrong(&map, i * 7);
            out_bits(&map)[i * 7] ^= 1u << bit;
            out_bits(&sum)[i] ^= 1u << bit;
            assert_wrong(&sum, i);
            out_bits(&sum)[i] ^= 1u << bit;
        }
    }
    run_free(&sum);
    run_free(&map);
}
END_TEST

/* The lowest bits of a float may differ rightly; the sign, the exponent and what is worth more
 * than 2^-8 of the value may not. */
START_TEST(any_flipped_high_bit_of_a_float_is_found)
{
    struct run run = run_make_chain(_i, 200, 10, 2);
    const uint64_t count = out_count(&run.plan);
    for (int bit = 15; bit < 32; bit++) {
        for (uint64_t i = 0; i < count; i += count / 10) {
            if (fabsf(out_floats(&run)[i]) < 0.01f)
                continue; /* what is small may be off by as much as itself */
            out_bits(&run)[i] ^= 1u << bit;
            assert_wrong(&run, i);
            out_bits(&run)[i] ^= 1u << bit;
        }
    }
    assert_right(&run);
    run_free(&run);
}
END_TEST

/* Bad copies leave tile 4 with the results of another tile or another run, or with none. */
enum damage { SWAPPED, STALE, MISSING, ZEROED, SHIFTED, DAMAGES };

START_TEST(a_damaged_tile_is_named)
{
    const uint32_t tiles = 11, tile = 4;
    const int chain = _i / DAMAGES;
    struct run run = run_make_chain(chain, 7 * 11 * 13, tiles, 3);
    struct run other = run_make_chain(chain, 7 * 11 * 13, tiles, 4);
    const uint64_t count = out_count(&run.plan) / tiles;
    uint32_t *damaged = out_bits(&run) + tile * count;
    const size_t bytes = count * 4;
    switch ((enum damage)(_i % DAMAGES)) {
    case SWAPPED:
        memcpy(out_bits(&other), damaged, bytes);
        memcpy(damaged, damaged + 3 * count, bytes);
        memcpy(damaged + 3 * count, out_bits(&other), bytes);
        break;
    case STALE:
        memcpy(damaged, out_bits(&other) + tile * count, bytes);
        break;
    case MISSING:
        arrays_poison(&(struct arrays){.host[BUFFER_HOST_OUT] = damaged,
                                       .bytes[BUFFER_HOST_OUT] = bytes});
        break;
    case ZEROED:
        memset(damaged, 0, bytes);
        break;
    case SHIFTED:
        memmove(damaged, damaged + 1, bytes);
        break;
    case DAMAGES:
        break;
    }
    assert_wrong(&run, tile * count);
    run_free(&other);
    run_free(&run);
}
END_TEST

/* An element that was never written is found whatever its right value is, and one that rightly
 * is the poison passes in a run with another. */
START_TEST(poison_is_no_result)
{
    const bool reduces = _i == 2;
    struct run run = run_make(_i == 0   ? &loose
                              : _i == 1 ? &nudge
                                        : kernel_find("sum"),
                              NULL, 40, 4, 1);
    float *in = run.arrays.host[BUFFER_HOST_IN0];
    const uint64_t place = reduces ? 3 : 30;
    struct judgement judgement;
    run.arrays.bytes[BUFFER_HOST_OUT] = out_count(&run.plan) * 4;
    arrays_poison(&run.arrays);
    const uint32_t first = run.arrays.poison;
    const uint32_t due = first ^ run.plan.params.intensity;
    if (_i == 0)
        in[place] = NAN; /* so is the poison */
    else if (_i == 1)
        memcpy(&in[place], &due, sizeof due);
    else
        in[30] = INFINITY, in[31] = -INFINITY; /* whose sum is NaN */
    run_compute(&run);
    memcpy(&out_bits(&run)[place], &first, 4);
    ck_assert_int_eq(verify_judge(&run.plan, &run.arrays, &judgement, &error), STATUS_OK);
    ck_assert_int_eq(judgement.wrong.status, STATUS_FAILED);
    ck_assert(judgement.unwritten);
    ck_assert_ptr_nonnull(strstr(judgement.wrong.text, "tile 3"));
    arrays_poison(&run.arrays);
    ck_assert_uint_ne(run.arrays.poison, first);
    run_compute(&run);
    assert_right(&run);
    run_free(&run);
}
END_TEST

START_TEST(a_changed_input_is_found)
{
    for (int which = 0; which < 2; which++) {
        for (size_t i = 0; i < sizeof spots / sizeof spots[0]; i++) {
            struct run run = run_make(&blend, NULL, SPOT_ELEMENTS, SPOT_TILES, 7);
            ((int32_t *)run.arrays.host[BUFFER_HOST_IN0 + which])[spots[i]] ^= 1 << 20;
            assert_wrong(&run, spots[i]);
            run_free(&run);
        }
    }
}
END_TEST

START_TEST(the_parameters_reach_the_oracles)
{
    struct run run = run_make(&nudge, NULL, 100, 1, 1);
    run.plan.params.intensity = 2;
    assert_wrong(&run, 0);
    run_compute(&run);
    assert_right(&run);
    run_free(&run);
}
END_TEST

/* A tile whose pieces fall into two batches (of 256 pieces, 3 to a tile) is folded as one. */
START_TEST(tiles_across_batches_are_whole)
{
    const uint32_t tiles = 90;
    struct run run =
        run_make(kernel_find("reduce-shuffle"), NULL, tiles * (2 * 16384 + 1), tiles, 8);
    assert_right(&run);
    for (uint32_t tile = 85; tile < 87; tile++) {
        out_bits(&run)[tile]++;
        assert_wrong(&run, tile);
        out_bits(&run)[tile]--;
    }
    int32_t *in = run.arrays.host[BUFFER_HOST_IN0];
    for (uint64_t part = 0; part < 3; part += 2) {
        const uint64_t at = 85 * (2 * 16384 + 1) + part * 16384;
        in[at] ^= 1;
        assert_wrong(&run, 85);
        in[at] ^= 1;
    }
    run_free(&run);
}
END_TEST

START_TEST(every_element_is_folded_once)
{
    struct run run = run_make(&nudge, &tally, 100001, 3, 1);
    assert_right(&run);
    out_bits(&run)[2]--;
    assert_wrong(&run, 2);
    run_free(&run);
}
END_TEST

START_TEST(many_small_tiles_are_named)
{
    struct run run = run_make(kernel_find("reduce-shuffle"), NULL, 5001, 2500, 8);
    for (uint32_t tile = 2499; tile > 600; tile -= 333) {
        out_bits(&run)[tile] ^= 1;
        assert_wrong(&run, tile);
    }
    run_free(&run);
}
END_TEST

START_TEST(the_number_of_cores_changes_nothing)
{
    struct run run = run_make(kernel_find("sum"), NULL, 200000, 3, 9);
    out_floats(&run)[1] += 1;
    const int before = omp_get_max_threads();
    char text[sizeof error.text] = "";
    for (int threads = 1; threads <= 8; threads++) {
        omp_set_num_threads(threads);
        assert_wrong(&run, 1);
        if (threads > 1)
            ck_assert_str_eq(error.text, text);
        memcpy(text, error.text, sizeof text);
    }
    omp_set_num_threads(before);
    run_free(&run);
}
END_TEST

/* loose: `in` gives 2 in, give or take 0.25. */
static const struct {
    float in, out;
    bool right;
} judgements[] = {
    {1, 2, true},
    {1, 2.25f, true},
    {1, 1.75f, true},
    {1, 0x1.200002p+1f, false}, /* 2.25 and an ulp */
    {1, 0x1.bffffep+0f, false}, /* 1.75 less an ulp */
    {1, -2, false},
    {1, NAN, false},
    {1, -NAN, false},
    {1, INFINITY, false},
    {1, -INFINITY, false},
    {0, 0, true},
    {0, -0.0f, true},
    {NAN, NAN, true},
    {NAN, -NAN, true},
    {-NAN, NAN, true},
    {NAN, 0, false},
    {NAN, INFINITY, false},
    {INFINITY, INFINITY, true},
    {INFINITY, -INFINITY, false},
    {INFINITY, FLT_MAX, false},
    {INFINITY, NAN, false},
    {-INFINITY, -INFINITY, true},
    {-INFINITY, INFINITY, false},
    {FLT_MAX, INFINITY, true}, /* 2 FLT_MAX is no float */
    {FLT_MAX, -INFINITY, false},
    {FLT_MAX, FLT_MAX, false},
    {FLT_MAX, NAN, false},
    {-FLT_MAX, -INFINITY, true},
    {-FLT_MAX, INFINITY, false},
    {FLT_MAX / 2, FLT_MAX, true},
    {FLT_MAX / 2, INFINITY, false}, /* half a unit would be more than the bound */
    {-FLT_MAX / 2, -INFINITY, false},
    {FLT_MAX / 4, INFINITY, false},
    {3, 6, true}, /* nothing is claimed */
    {3, -1000, true},
    {3, NAN, true},
    {3, -INFINITY, true},
};

START_TEST(floats_are_judged_by_the_bound)
{
    struct run run = run_make(&loose, NULL, 10, 2, 1);
    ((float *)run.arrays.host[BUFFER_HOST_IN0])[7] = judgements[_i].in;
    run_compute(&run);
    out_floats(&run)[7] = judgements[_i].out;
    if (judgements[_i].right)
        assert_right(&run);
    else
        assert_wrong(&run, 7);
    run_free(&run);
}
END_TEST

START_TEST(bounds_add_up_along_a_chain)
{
    struct run run = run_make(&loose, &loose, 10, 2, 1);
    const float right = out_floats(&run)[7];
    out_floats(&run)[7] = right + 0.499f;
    assert_right(&run);
    out_floats(&run)[7] = right + 0.501f;
    assert_wrong(&run, 7);
    run_free(&run);
}
END_TEST

START_TEST(messages_are_exact)
{
    struct run run = run_make(&loose, NULL, 100, 4, 1);
    float *in = run.arrays.host[BUFFER_HOST_IN0];
    in[60] = 0.25f;
    out_floats(&run)[60] = NAN;
    assert_wrong(&run, 60);
    ck_assert_str_eq(error.text, "wrong result: tile 2, element 10 (60 of the array): "
                                 "should be 0.5 (+-0.25), is nan");
    out_floats(&run)[60] = -NAN;
    assert_wrong(&run, 60);
    ck_assert_ptr_nonnull(strstr(error.text, "is nan"));
    out_floats(&run)[60] = -INFINITY;
    assert_wrong(&run, 60);
    ck_assert_ptr_nonnull(strstr(error.text, "should be 0.5 (+-0.25), is -inf"));
    in[60] = -NAN;
    assert_wrong(&run, 60);
    ck_assert_ptr_nonnull(strstr(error.text, "should be nan (+-0.25), is -inf"));
    run_free(&run);

    run = run_make(&nudge, NULL, 100, 4, 1);
    ((int32_t *)run.arrays.host[BUFFER_HOST_IN0])[99] = INT32_MIN;
    out_bits(&run)[99] = INT32_MAX;
    assert_wrong(&run, 99);
    ck_assert_str_eq(error.text, "wrong result: tile 3, element 24 (99 of the array): "
                                 "should be -2147483645, is 2147483647");
    run_free(&run);

    run = run_make(kernel_find("reduce-shuffle"), NULL, 4, 2, 1);
    memcpy(run.arrays.host[BUFFER_HOST_IN0], (const int32_t[]){1, 2, INT32_MAX, 1}, 16);
    memcpy(run.arrays.host[BUFFER_HOST_OUT], (const int32_t[]){3, -1}, 8);
    assert_wrong(&run, 1);
    ck_assert_str_eq(error.text, "wrong result: tile 1: should be -2147483648, is -1");
    run_free(&run);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

Suite *verify_suite(void)
{
    Suite *suite = suite_create("verify");
    TCase *cases = tcase_create("verify");
    tcase_add_loop_test(cases, right_results_pass, 0, ROWS(chains));
    tcase_add_loop_test(cases, one_wrong_element_is_named, 0, 5);
    tcase_add_test(cases, the_first_of_many_wrong_elements_is_named);
    tcase_add_test(cases, any_flipped_bit_of_an_integer_is_found);
    tcase_add_loop_test(cases, any_flipped_high_bit_of_a_float_is_found, 0, ROWS(chains));
    tcase_add_loop_test(cases, a_damaged_tile_is_named, 0, ROWS(chains) * DAMAGES);
    tcase_add_loop_test(cases, poison_is_no_result, 0, 3);
    tcase_add_test(cases, a_changed_input_is_found);
    tcase_add_test(cases, the_parameters_reach_the_oracles);
    tcase_add_test(cases, tiles_across_batches_are_whole);
    tcase_add_test(cases, every_element_is_folded_once);
    tcase_add_test(cases, many_small_tiles_are_named);
    tcase_add_test(cases, the_number_of_cores_changes_nothing);
    tcase_add_loop_test(cases, floats_are_judged_by_the_bound, 0, ROWS(judgements));
    tcase_add_test(cases, bounds_add_up_along_a_chain);
    tcase_add_test(cases, messages_are_exact);
    tcase_set_timeout(cases, 120); /* under valgrind */
    suite_add_tcase(suite, cases);
    return suite;
}
