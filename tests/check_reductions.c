/* check_reductions.c - the twins and oracles of the reductions beyond `sum` and
 * `reduce-shuffle`, at the edges of warps and blocks and in the millions. */
#include "check_kernels_util.h"
#include "fixtures.h"
#include "run/host_ops.h"
#include "run/verify.h"
#include "suites.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const int_sums[] = {
    "reduce-shuffle",   "reduce-divergent", "reduce-conflicts", "reduce-sequential",
    "reduce-first-add", "reduce-last-warp", "reduce-unrolled",  "reduce-many",
    "reduce-atomic",    "sum-int",
};
enum { INT_SUMS = sizeof int_sums / sizeof *int_sums };

static const uint64_t counts[] = {1, 31, 32, 33, 1023, 1024, 1025, 1 << 22, (1 << 22) + 1, 0};
enum { COUNTS = sizeof counts / sizeof *counts };

/* The counts; the last is drawn. */
static uint64_t count_at(int index)
{
    return counts[index] > 0 ? counts[index] : 1 + random_bits() % 3000000;
}

/* `count` ints over their whole range, freed by the caller. */
static int32_t *random_ints(uint64_t count)
{
    int32_t *x = take_zeroed(count, sizeof *x);
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t bits = (uint32_t)random_bits();
        memcpy(&x[i], &bits, sizeof bits);
    }
    return x;
}

/* Returns the oracle's result for ints, which it is given in chunks as verify_output() does. */
static double oracle_of_ints(const char *name, const int32_t *x, uint64_t count, double *bound)
{
    enum { CHUNK = 1000 };
    static double zeros[CHUNK];
    double values[CHUNK];
    struct oracle_sum sum = {0};
    for (uint64_t first = 0; first < count; first += CHUNK) {
        const uint64_t left = count - first;
        const struct oracle oracle = {
            .value = values, .bound = zeros, .count = left < CHUNK ? (size_t)left : CHUNK};
        for (size_t i = 0; i < oracle.count; i++)
            values[i] = x[first + i];
        table_code(name)->oracle_fold(&sum, &oracle);
    }
    ck_assert_uint_eq(sum.count, count);
    return table_code(name)->oracle_result(&sum, bound);
}

static int32_t twin_of_ints(const char *name, const int32_t *x, uint64_t count)
{
    int32_t out[2] = {0, 77};
    run_host(name, x, NULL, out, count, 1);
    ck_assert_int_eq(out[1], 77);
    return out[0];
}

START_TEST(test_int_sums_at_all_counts)
{
    const uint64_t count = count_at(_i);
    int32_t *x = random_ints(count);
    uint32_t expected = 0;
    for (uint64_t i = 0; i < count; i++)
        expected += (uint32_t)x[i];
    for (int kernel = 0; kernel < INT_SUMS; kernel++) {
        double bound = 1;
        const int32_t sum = twin_of_ints(int_sums[kernel], x, count);
        ck_assert_msg((uint32_t)sum == expected, "%s", int_sums[kernel]);
        ck_assert(oracle_of_ints(int_sums[kernel], x, count, &bound) == sum && bound == 0);
    }
    x[count - 1] ^= 1; /* what a lost last element, or one bit of it, would leave */
    ck_assert(oracle_of_ints("reduce-many", x, count, &(double){0}) != (int32_t)expected);
    free(x);
}
END_TEST

/* ---- sum-double ---- */

static double *random_doubles(uint64_t count, double scale)
{
    double *x = take_zeroed(count, sizeof *x);
    for (uint64_t i = 0; i < count; i++)
        x[i] = scale * ((double)(random_bits() >> 11) * 0x1p-52 - 1);
    return x;
}

/* Returns the CPU twin's sum of doubles, and fails unless it is within the oracle's bound. */
static double sum_of_doubles(const double *x, uint64_t count, double *bound)
{
    double out[2] = {0, TEST_GUARD};
    run_host("sum-double", x, NULL, out, count, 1);
    ck_assert(out[1] == TEST_GUARD);
    double *values = take_zeroed(count, sizeof *values),
           *bounds = take_zeroed(count, sizeof *bounds);
    memcpy(values, x, count * sizeof *x);
    const struct oracle oracle = {.value = values, .bound = bounds, .count = count};
    const double value = oracle_of_reduction("sum-double", &oracle, bound);
    ck_assert_msg(is_right(out[0], value, *bound), "%g is not %g", out[0], value);
    free(values);
    free(bounds);
    return out[0];
}

/* Sums as a device of one thread would: two at once, from the end. */
static double sum_like_device(const double *x, uint64_t count)
{
    double sum = count % 2 ? x[count - 1] : 0;
    for (uint64_t i = count - count % 2; i > 0; i -= 2)
        sum += x[i - 2] + x[i - 1];
    return sum;
}

START_TEST(test_sum_double_at_all_counts)
{
    static const double scales[] = {1, 1e300, 1e-300, 0x1p-1070};
    const uint64_t count = count_at(_i);
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        double *x = random_doubles(count, scales[s]);
        long double reference = 0, magnitude = 0;
        for (uint64_t i = 0; i < count; i++) {
            reference += x[i];
            magnitude += fabsl(x[i]);
        }
        double bound;
        const double sum = sum_of_doubles(x, count, &bound);
        ck_assert(fabsl(sum - reference) <= bound);
        ck_assert(fabsl(sum_like_device(x, count) - reference) <= bound);
        ck_assert(bound < 4e-16L * (count + 1) * magnitude + 0x1p-1074L);
        x[count / 2] += scales[s]; /* another's, however large the sum */
        ck_assert(fabs(sum_like_device(x, count) - sum) > bound);
        free(x);
    }
}
END_TEST

/* Values that cancel leave a sum far smaller than its parts, so the bound must follow the
 * parts. */
START_TEST(test_cancelling_values)
{
    enum { COUNT = 1025 };
    double x[COUNT], bound;
    float y[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = i % 2 ? -1e15 : 1e15;
        y[i] = i % 2 ? -1e7f : 1e7f;
    }
    x[COUNT - 1] = 0.125;
    y[COUNT - 1] = 0.125f;
    ck_assert(fabs(sum_of_doubles(x, COUNT, &bound) - 0.125) <= bound);
    ck_assert(bound > 1 && bound < 1e6); /* 3 * 1025 * 2^-53 of 1024e15: 3.5e5 */
    float sum;
    struct oracle oracle = oracle_create(y, COUNT);
    run_host("sum", y, NULL, &sum, COUNT, 1);
    const double value = oracle_of_reduction("sum", &oracle, &bound);
    ck_assert(value == 0.125 && is_right((double)sum, value, bound) && bound < 2000);
    oracle_free(&oracle);
}
END_TEST

START_TEST(test_nonfinite_doubles)
{
    double bound;
    ck_assert(isnan(sum_of_doubles((double[]){1, NAN, 2}, 3, &bound)) && bound == 0);
    ck_assert(isnan(sum_of_doubles((double[]){INFINITY, -INFINITY}, 2, &bound)));
    ck_assert(sum_of_doubles((double[]){1, INFINITY, 2}, 3, &bound) == INFINITY && bound == 0);
    ck_assert(sum_of_doubles((double[]){-INFINITY, 2}, 2, &bound) == -INFINITY && bound == 0);
    /* Beyond DBL_MAX the order of additions decides. */
    sum_of_doubles((double[]){DBL_MAX, DBL_MAX, -DBL_MAX}, 3, &bound);
    ck_assert(isinf(bound));
    sum_of_doubles((double[]){DBL_MAX, DBL_MAX, -INFINITY}, 3, &bound);
    ck_assert(isinf(bound));
    sum_of_doubles((double[]){DBL_MAX / 4, DBL_MAX / 2}, 2, &bound);
    ck_assert(isfinite(bound));
    ck_assert(sum_of_doubles((double[]){0x1p-1074, 0x1p-1074, -0x1p-1070}, 3, &bound) ==
              -14 * 0x1p-1074);
}
END_TEST

/* ---- all and finite ---- */

static float float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Twin and oracle of `finite`. */
static int32_t is_finite(const float *x, uint64_t count)
{
    int32_t out[2] = {-1, 77};
    double bound = 1;
    run_host("finite", x, NULL, out, count, 1);
    ck_assert_int_eq(out[1], 77);
    struct oracle oracle = oracle_create(x, count);
    ck_assert(oracle_of_reduction("finite", &oracle, &bound) == out[0] && bound == 0);
    oracle_free(&oracle);
    return out[0];
}

static int32_t is_all(const int32_t *x, uint64_t count)
{
    double bound = 1;
    const int32_t all = twin_of_ints("all", x, count);
    ck_assert(oracle_of_ints("all", x, count, &bound) == all && bound == 0);
    return all;
}

/* The places that a kernel may forget: the ends, and both sides of every 32nd. */
static uint64_t next_place(uint64_t at, uint64_t count)
{
    if (at + 1 >= count)
        return count;
    const uint64_t next = at % 32 == 31 ? at + 1 : at | 31;
    return next < count ? next : count - 1;
}

START_TEST(test_one_bad_element_is_found_anywhere)
{
    static const uint64_t sizes[] = {1, 3, 31, 32, 33, 255, 257, 1023, 1025, 40001};
    static const uint32_t bad[] = {0x7F800000, 0xFF800000, 0x7FC00000,
                                   0x7F800001, 0xFFFFFFFF, 0x7FFADEAD};
    const uint64_t count = sizes[_i], step = count > 2000 ? 97 : 1;
    float *x = random_floats(count, 1);
    int32_t *n = take_zeroed(count, sizeof *n);
    for (uint64_t i = 0; i < count; i++)
        n[i] = i % 3 == 0 ? INT32_MIN : (int32_t)(1u << i % 31);
    ck_assert_int_eq(is_finite(x, count), 1);
    ck_assert_int_eq(is_all(n, count), 1);
    for (uint64_t at = 0, turn = 0; at < count; at = next_place(at, count), turn++) {
        if (turn % step != 0)
            continue;
        const float good = x[at];
        const int32_t one = n[at];
        x[at] = float_of_bits(bad[turn % (sizeof bad / sizeof *bad)]);
        n[at] = 0;
        ck_assert_int_eq(is_finite(x, count), 0);
        ck_assert_int_eq(is_all(n, count), 0);
        x[at] = good;
        n[at] = one;
    }
    free(x);
    free(n);
}
END_TEST

START_TEST(test_what_is_finite)
{
    static const uint32_t good[] = {0,          0x80000000, 1,          0x80000001,
                                    0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF};
    float x[sizeof good / sizeof *good];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        x[i] = float_of_bits(good[i]);
    ck_assert_int_eq(is_finite(x, sizeof good / sizeof *good), 1);
    /* Behind maps, rounding may decide; but not where something is surely not finite. */
    double values[] = {(double)FLT_MAX, 1, 2e39}, bounds[] = {1e33, 0, 1e38}, bound;
    struct oracle oracle = {.value = values, .bound = bounds, .count = 2};
    ck_assert(oracle_of_reduction("finite", &oracle, &bound) == 0.5 && bound == 0.5);
    oracle.count = 3;
    ck_assert(oracle_of_reduction("finite", &oracle, &bound) == 0 && bound == 0);
}
END_TEST

/* ---- through plan, verification and fold ---- */

static double fold_tiles(const struct plan *plan, const struct arrays *arrays)
{
    struct tile_fold fold = tile_fold_begin(plan, arrays->host[BUFFER_HOST_OUT]);
    for (uint32_t tile = 0; tile < plan->tiles; tile++)
        tile_fold_add(&fold, (int32_t)tile);
    return tile_fold_value(&fold);
}

/* Generated data has hardly a zero and no NaN: one is put into the third of seven tiles. */
START_TEST(test_a_failing_tile_is_told)
{
    static const char *const names[] = {"all", "finite"};
    const struct machine machine = test_machine();
    struct settings settings = test_settings(names[_i]);
    settings.elements = 70001;
    settings.tiles = 7;
    struct error error = {0}, wrong = {0};
    struct arrays arrays;
    struct plan plan = test_built_on(&settings, &machine);
    ck_assert_int_eq(arrays_create(&arrays, &plan, &settings, &error), STATUS_OK);
    int32_t *out = arrays.host[BUFFER_HOST_OUT];
    run_tiles(&plan, &arrays);
    ck_assert_int_eq(verify_output(&plan, &arrays, &error), STATUS_OK);
    ck_assert(fold_tiles(&plan, &arrays) == 1);
    const uint32_t bad = _i == 0 ? 0 : 0x7FC00000;
    memcpy((uint32_t *)arrays.host[BUFFER_HOST_IN0] + 29999, &bad, sizeof bad);
    ck_assert_int_eq(verify_output(&plan, &arrays, &wrong), STATUS_FAILED);
    ck_assert_msg(strstr(wrong.text, "tile 2: should be 0, is 1") != NULL, "%s", wrong.text);
    run_tiles(&plan, &arrays);
    ck_assert_int_eq(verify_output(&plan, &arrays, &error), STATUS_OK);
    ck_assert(out[2] == 0 && out[3] == 1 && fold_tiles(&plan, &arrays) == 0);
    arrays_free(&arrays);
    plan_free(&plan);
}
END_TEST

Suite *reductions_suite(void)
{
    Suite *suite = suite_create("reductions");
    TCase *ints = tcase_create("ints");
    tcase_add_loop_test(ints, test_int_sums_at_all_counts, 0, COUNTS);
    suite_add_tcase(suite, ints);
    TCase *doubles = tcase_create("doubles");
    tcase_add_loop_test(doubles, test_sum_double_at_all_counts, 0, COUNTS);
    tcase_add_test(doubles, test_cancelling_values);
    tcase_add_test(doubles, test_nonfinite_doubles);
    suite_add_tcase(suite, doubles);
    TCase *ands = tcase_create("ands");
    tcase_add_loop_test(ands, test_one_bad_element_is_found_anywhere, 0, 10);
    tcase_add_test(ands, test_what_is_finite);
    tcase_add_loop_test(ands, test_a_failing_tile_is_told, 0, 2);
    suite_add_tcase(suite, ands);
    return suite;
}
