/* check_kernels.c - the table of kernels and the reductions. */
#include "check_kernels_util.h"
#include "suites.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

START_TEST(test_rows_are_whole)
{
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        ck_assert_ptr_eq(kernel_find(kernel->name), kernel); /* so no name comes twice */
        ck_assert_uint_le(strlen(kernel->name), 32);
        ck_assert_ptr_nonnull(kernel->summary);
        ck_assert(kernel->inputs >= 1 && kernel->inputs <= KERNEL_INPUTS_MAX);
        ck_assert(kernel->flops >= 0 && kernel->per_thread > 0);
        ck_assert(kernel->code == NULL && kernel->launcher == NULL);
        const bool map = kernel->shape == KERNEL_MAP, reduces = kernel->shape == KERNEL_REDUCE;
        const struct kernel_code *code = kernel_code(kernel);
        ck_assert(code->host != NULL);
        const int judges =
            (code->oracle_map != NULL) + (code->gather != NULL) + (code->check != NULL);
        ck_assert_msg(judges == map, "%s", kernel->name);
        ck_assert(kernel->gathers == (code->gather != NULL));
        ck_assert(code->check == NULL || kernel->alone);
        ck_assert((code->oracle_fold != NULL) == reduces);
        ck_assert((code->oracle_result != NULL) == reduces);
        const struct kernel_launcher *launcher = kernel_launcher(kernel);
        if (launcher != NULL) {
            ck_assert(launcher->launch != NULL && launcher->preload != NULL);
            ck_assert((launcher->context_create == NULL) ==
                      (launcher->context_destroy == NULL));
            ck_assert(launcher->context_create == NULL || kernel->alone);
        }
        ck_assert(kernel->place_period == 0 || kernel_is_elementwise(kernel));
        ck_assert(kernel_is_elementwise(kernel) == (code->oracle_map != NULL));
        ck_assert(kernel->fold == KERNEL_FOLD_SUM || (reduces && kernel->out == DTYPE_I32));
        ck_assert(!kernel->exclusive || kernel->shape == KERNEL_SCAN);
        ck_assert((kernel_scratch_bytes(kernel, 1) == 0) == map);
        ck_assert(!reduces || kernel_scratch_bytes(kernel, 1) == KERNEL_SCRATCH_BYTES);
    }
}
END_TEST

/* The kernels that others name: machine files, configs, lessons. */
START_TEST(test_no_row_is_missing)
{
    static const char *const names[] = {
        "scale",
        "wave",
        "sum",
        "reduce-shuffle",
        "reduce-divergent",
        "reduce-conflicts",
        "reduce-sequential",
        "reduce-first-add",
        "reduce-last-warp",
        "reduce-unrolled",
        "reduce-many",
        "reduce-atomic",
        "sum-int",
        "sum-double",
        "all",
        "finite",
        "scan",
        "scan-exclusive",
        "scan-naive",
        "scan-efficient",
        "scan-conflict-free",
        "uniform",
        "divergent",
        "wave-launches",
        "transpose-copy",
        "transpose-shared-copy",
        "transpose-naive",
        "transpose-coalesced",
        "transpose-conflict-free",
        "transpose-fine",
        "transpose-coarse",
        "transpose-diagonal",
        "stride-copy",
        "dgemm",
        "stencil",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_str_eq(table_row(names[i])->name, names[i]);
}
END_TEST

START_TEST(test_costs)
{
    ck_assert(kernel_bytes_per_element(table_row("scale")) == 8);
    ck_assert(kernel_bytes_per_element(table_row("wave")) == 12);
    ck_assert(kernel_bytes_per_element(table_row("wave-launches")) == 16);
    ck_assert(kernel_bytes_per_element(table_row("sum")) == 4);
    ck_assert(kernel_bytes_per_element(table_row("reduce-shuffle")) == 4);
    ck_assert_uint_eq(dtype_bytes(DTYPE_F32), 4);
    ck_assert_uint_eq(dtype_bytes(DTYPE_I32), 4);
    ck_assert_str_eq(dtype_name(DTYPE_F32), "float32");
    ck_assert_str_eq(dtype_name(DTYPE_I32), "int32");
}
END_TEST

START_TEST(test_find_and_nearest)
{
    static const char *const near[][2] = {
        {"scale", "scale"},   {"scael", "scale"},
        {"Scale", "scale"},   {"cale", "scale"},
        {"scaling", "scale"}, {"wav", "wave"},
        {"waves", "wave"},    {"summ", "sum"},
        {"um", "sum"},        {"reduce_shufle", "reduce-shuffle"},
        {"scann", "scan"},    {"scan_naive", "scan-naive"},
    };
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        const char *nearest = kernel_nearest(near[i][0]);
        ck_assert_msg(nearest != NULL && strcmp(nearest, near[i][1]) == 0, "%s: %s", near[i][0],
                      nearest == NULL ? "(none)" : nearest);
    }
    static const char *const far[] = {"", "x", "foo", "xyzzy", "scale,sum"};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        ck_assert_msg(kernel_nearest(far[i]) == NULL, "%s: %s", far[i], kernel_nearest(far[i]));
        ck_assert_ptr_null(kernel_find(far[i]));
    }
    char longest[5000];
    memset(longest, 's', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ck_assert_ptr_null(kernel_nearest(longest));
    ck_assert_ptr_null(kernel_find("Scale"));
    ck_assert_ptr_null(kernel_find("scale "));
}
END_TEST

START_TEST(test_blocks)
{
    static const uint64_t sizes[] = {1, 255, 1024, 1025, 4096, 1 << 20, 1u << 31, UINT64_MAX};
    static const uint32_t resident[] = {0, 1, 7, 1056, 4096, 4097, UINT32_MAX};
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        const uint64_t per_block = (uint64_t)kernel->per_thread * KERNEL_THREADS;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (size_t r = 0; r < sizeof resident / sizeof *resident; r++) {
                const uint64_t blocks = kernel_blocks(kernel, sizes[i], resident[r]);
                ck_assert_uint_ge(blocks, 1);
                if (kernel->whole_grid) { /* a thread for everything, and no more blocks */
                    ck_assert(blocks == KERNEL_GRID_MAX || blocks * per_block >= sizes[i]);
                    ck_assert((blocks - 1) * per_block < sizes[i]);
                    continue;
                }
                ck_assert(blocks <= resident[r] || blocks == 1);
                ck_assert_uint_le(blocks, KERNEL_BLOCKS_MAX);
                if (kernel->work != NULL) { /* a library's fills the GPU */
                    ck_assert(blocks >= resident[r] || blocks == KERNEL_BLOCKS_MAX);
                    continue;
                }
                /* No block without work, and as many as the work is good for. */
                ck_assert(blocks == 1 || (blocks - 1) * per_block < sizes[i]);
                ck_assert(blocks >= resident[r] || blocks == KERNEL_BLOCKS_MAX ||
                          blocks * per_block >= sizes[i]);
            }
    }
    ck_assert_uint_eq(kernel_blocks(table_row("scale"), 1025, 1056), 2);
    ck_assert_uint_eq(kernel_blocks(table_row("reduce-divergent"), 1025, 2), 5);
    ck_assert_uint_eq(kernel_blocks(table_row("reduce-first-add"), 1 << 26, 2), 1 << 17);
}
END_TEST

START_TEST(test_chain_misfit)
{
    const struct kernel *scale = table_row("scale"), *wave = table_row("wave"),
                        *sum = table_row("sum");
    const struct kernel *shuffle = table_row("reduce-shuffle");
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){sum}, 1), -1);
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){scale, wave, sum}, 3), -1);
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){scale, sum, scale}, 3), 2);
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){sum, sum, sum}, 3), 1);
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){scale, shuffle}, 2), 1);
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){shuffle, shuffle}, 2), 1);
    const struct kernel *launches = table_row("wave-launches");
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){launches}, 1), -1);
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){launches, wave, scale}, 3),
                     -1);
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){scale, launches}, 2), 1);
    ck_assert_int_eq(kernel_chain_misfit((const struct kernel *[]){launches, scale, sum}, 3),
                     2);
}
END_TEST

/* ---- reductions ---- */

/* Sums as a device of one thread would: four elements in float, the rest in double. */
static float sum_like_device(const float *x, uint64_t count)
{
    double sum = 0;
    uint64_t i = 0;
    for (; i + 4 <= count; i += 4)
        sum += (double)((x[i] + x[i + 1]) + (x[i + 2] + x[i + 3]));
    for (; i < count; i++)
        sum += (double)x[i];
    return (float)sum;
}

static void check_sum(uint64_t count, float magnitude)
{
    float *x = random_floats(count, magnitude);
    long double reference = 0;
    for (uint64_t i = 0; i < count; i++)
        reference += x[i];
    float out[2] = {0, TEST_GUARD};
    run_host("sum", x, NULL, out, count, 1);
    ck_assert(out[1] == TEST_GUARD);
    struct oracle oracle = oracle_create(x, count);
    double bound;
    const double value = oracle_of_reduction("sum", &oracle, &bound);
    ck_assert(fabsl(value - reference) <= 1e-12L * count * magnitude);
    ck_assert(bound < 2e-7 * (double)count * (double)magnitude);
    ck_assert(fabsl(out[0] - reference) <= bound);
    ck_assert(fabsl(sum_like_device(x, count) - reference) <= bound);
    if (count > 1) { /* another tile's, and never written */
        x[0] += x[0] > 0 ? -magnitude : magnitude;
        ck_assert(!is_right((double)sum_like_device(x, count), value, bound));
        ck_assert(!is_right(0, value, bound));
    }
    oracle_free(&oracle);
    free(x);
}

START_TEST(test_sum_at_all_counts)
{
    check_sum(test_counts[_i], 1);
    check_sum(test_counts[_i], 1e30f);
    check_sum(test_counts[_i], 1e-40f);
}
END_TEST

/* Sums what is given, by twin and by oracle. */
static double check_sum_of(const float *x, uint64_t count, double *bound)
{
    float out;
    run_host("sum", x, NULL, &out, count, 1);
    struct oracle oracle = oracle_create(x, count);
    const double value = oracle_of_reduction("sum", &oracle, bound);
    ck_assert_msg(is_right((double)out, value, *bound), "%g is not %g", (double)out, value);
    oracle_free(&oracle);
    return value;
}

START_TEST(test_sum_of_nonfinite_values)
{
    double bound;
    ck_assert(isnan(check_sum_of((float[]){1, NAN, 2}, 3, &bound)) && bound == 0);
    ck_assert(isnan(check_sum_of((float[]){INFINITY, -INFINITY}, 2, &bound)) && bound == 0);
    ck_assert(check_sum_of((float[]){1, INFINITY, 2}, 3, &bound) == INFINITY && bound == 0);
    ck_assert(check_sum_of((float[]){-INFINITY, 2}, 2, &bound) == -INFINITY && bound == 0);
    /* The order of additions decides: nothing can be claimed. */
    check_sum_of((float[]){FLT_MAX, FLT_MAX, -FLT_MAX}, 3, &bound);
    ck_assert(isinf(bound));
    check_sum_of((float[]){FLT_MAX, FLT_MAX, -INFINITY}, 3, &bound);
    ck_assert(isinf(bound));
    check_sum_of((float[]){FLT_MAX / 4, FLT_MAX / 2}, 2, &bound);
    ck_assert(isfinite(bound));
}
END_TEST

START_TEST(test_reduce_shuffle_at_all_counts)
{
    const uint64_t count = test_counts[_i];
    int32_t *x = take_zeroed(count, sizeof *x);
    float *as_float = take_zeroed(count, sizeof *as_float);
    struct oracle oracle = oracle_create(as_float, count);
    uint32_t expected = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t bits = (uint32_t)random_bits();
        memcpy(&x[i], &bits, sizeof bits);
        oracle.value[i] = x[i];
        expected += bits;
    }
    int32_t out[2] = {0, 77};
    run_host("reduce-shuffle", x, NULL, out, count, 1);
    ck_assert_mem_eq(&out[0], &expected, sizeof expected);
    ck_assert_int_eq(out[1], 77);
    double bound = 1;
    ck_assert(oracle_of_reduction("reduce-shuffle", &oracle, &bound) == out[0]);
    ck_assert(bound == 0);
    oracle_free(&oracle);
    free(as_float);
    free(x);
}
END_TEST

START_TEST(test_reduce_shuffle_wraps_around)
{
    static const struct {
        int32_t x[3], sum;
    } cases[] = {
        {{INT32_MAX, 1, 0}, INT32_MIN},
        {{INT32_MIN, INT32_MIN, 0}, 0},
        {{INT32_MIN, -1, 0}, INT32_MAX},
        {{INT32_MAX, INT32_MAX, INT32_MAX}, INT32_MAX - 2},
        {{INT32_MIN, 0, 0}, INT32_MIN},
        {{INT32_MIN, INT32_MIN, INT32_MIN}, INT32_MIN},
        {{-1, 0, 0}, -1},
        {{INT32_MIN, INT32_MAX, 1}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t out;
        run_host("reduce-shuffle", cases[i].x, NULL, &out, 3, 1);
        ck_assert_int_eq(out, cases[i].sum);
        double values[3], bounds[3] = {0}, bound;
        for (int j = 0; j < 3; j++)
            values[j] = cases[i].x[j];
        const struct oracle oracle = {.value = values, .bound = bounds, .count = 3};
        ck_assert(oracle_of_reduction("reduce-shuffle", &oracle, &bound) == cases[i].sum);
    }
}
END_TEST

START_TEST(test_folding_in_chunks)
{
    enum { COUNT = 10007 };
    static const char *const names[] = {"sum", "reduce-shuffle"};
    float *x = random_floats(COUNT, 1000);
    struct oracle oracle = oracle_create(x, COUNT);
    for (int i = 0; i < COUNT; i++) {
        oracle.value[i] = trunc(oracle.value[i]);
        oracle.bound[i] = fabs(oracle.value[i]) / 1024;
    }
    for (size_t n = 0; n < 2; n++) {
        double whole_bound, bound;
        const double whole = oracle_of_reduction(names[n], &oracle, &whole_bound);
        struct oracle_sum sum = {0};
        for (size_t first = 0, size = 1; first < COUNT; first += size, size = size * 2 + 1) {
            const size_t count = size < COUNT - first ? size : COUNT - first;
            table_code(names[n])->oracle_fold(
                &sum,
                &(struct oracle){oracle.value + first, oracle.bound + first, count, first});
        }
        ck_assert(table_code(names[n])->oracle_result(&sum, &bound) == whole);
        ck_assert(bound == whole_bound);
        ck_assert(n == 1 || bound > COUNT / 4.0); /* the elements' own bounds are in it */
    }
    oracle_free(&oracle);
    free(x);
}
END_TEST

/* ---- threads ---- */

START_TEST(test_results_do_not_depend_on_threads)
{
    const int usual = omp_get_max_threads();
    /* Twice as many, for kernels of doubles: any bits will do. */
    float *x = random_floats(2 * TEST_COUNT_MAX, 1), *y = random_floats(2 * TEST_COUNT_MAX, 1);
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        /* One that works on matrices has a test of its own, in check_dgemm.c. */
        if (kernel->rated)
            continue;
        double *some = take_zeroed(TEST_COUNT_MAX, sizeof *some),
               *more = take_zeroed(TEST_COUNT_MAX, sizeof *more);
        omp_set_num_threads(5);
        run_host(kernel->name, x, y, more, TEST_COUNT_MAX, 2);
        for (int threads = 1; threads <= 4; threads++) {
            omp_set_num_threads(threads);
            run_host(kernel->name, x, y, some, TEST_COUNT_MAX, 2);
            ck_assert_msg(memcmp(some, more, TEST_COUNT_MAX * sizeof *some) == 0,
                          "%s with %d threads", kernel->name, threads);
        }
        free(some);
        free(more);
    }
    omp_set_num_threads(usual);
    free(x);
    free(y);
}
END_TEST

Suite *kernels_suite(void)
{
    Suite *suite = suite_create("kernels");
    TCase *table = tcase_create("table");
    tcase_add_test(table, test_rows_are_whole);
    tcase_add_test(table, test_no_row_is_missing);
    tcase_add_test(table, test_costs);
    tcase_add_test(table, test_find_and_nearest);
    tcase_add_test(table, test_blocks);
    tcase_add_test(table, test_chain_misfit);
    suite_add_tcase(suite, table);

    suite_add_tcase(suite, kernels_maps_tcase());

    TCase *reductions = tcase_create("reductions");
    tcase_add_loop_test(reductions, test_sum_at_all_counts, 0, TEST_COUNTS);
    tcase_add_test(reductions, test_sum_of_nonfinite_values);
    tcase_add_loop_test(reductions, test_reduce_shuffle_at_all_counts, 0, TEST_COUNTS);
    tcase_add_test(reductions, test_reduce_shuffle_wraps_around);
    tcase_add_test(reductions, test_folding_in_chunks);
    tcase_add_test(reductions, test_results_do_not_depend_on_threads);
    suite_add_tcase(suite, reductions);
    return suite;
}
