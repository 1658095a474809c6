/* check_reductions.c - the twins and oracles of the reductions beyond `sum` and
 * `reduce-shuffle`, at the edges of warps and blocks and in the millions. */
#include "check_kernels_util.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

static const char *const int_sums[] = {
    "reduce-shuffle",   "reduce-divergent", "reduce-conflicts", "reduce-sequential",
    "reduce-first-add", "reduce-last-warp", "reduce-unrolled",  "reduce-many",
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

/* What the oracle makes of ints, which it is given in chunks as verify_output() gives them. */
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
        table_row(name)->oracle_fold(&sum, &oracle);
    }
    ck_assert_uint_eq(sum.count, count);
    return table_row(name)->oracle_result(&sum, bound);
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

Suite *reductions_suite(void)
{
    Suite *suite = suite_create("reductions");
    TCase *ints = tcase_create("ints");
    tcase_add_loop_test(ints, test_int_sums_at_all_counts, 0, COUNTS);
    suite_add_tcase(suite, ints);
    return suite;
}
