/* check_tile_fold.c - folding tiles' values, whole and in any order. */
#include "fixtures.h"
#include "run/host_ops.h"
#include "suites.h"

START_TEST(test_floats_are_summed)
{
    const float out[] = {1.5f, -2.0f, 1e-3f};
    struct plan plan = test_plan(1, 0, 3, 30);
    plan.chain[0] = kernel_find("sum");
    struct tile_fold fold = tile_fold_begin(&plan, out);
    for (int32_t tile = 2; tile >= 0; tile--)
        tile_fold_add(&fold, tile);
    ck_assert_uint_eq(fold.tiles, 3);
    ck_assert_double_eq_tol(tile_fold_value(&fold), -0.5 + (double)1e-3f, 1e-15);
}
END_TEST

START_TEST(test_ints_wrap)
{
    const int32_t out[] = {INT32_MAX, 1, INT32_MIN, -7};
    struct plan plan = test_plan(1, 0, 4, 40);
    plan.chain[0] = kernel_find("reduce-shuffle");
    struct tile_fold fold = tile_fold_begin(&plan, out);
    tile_fold_add(&fold, 0);
    tile_fold_add(&fold, 1);
    ck_assert_double_eq(tile_fold_value(&fold), INT32_MIN);
    tile_fold_add(&fold, 2);
    tile_fold_add(&fold, 3);
    ck_assert_double_eq(tile_fold_value(&fold), -7);
}
END_TEST

START_TEST(test_ands_stay_0_once_a_tile_is)
{
    static const char *const names[] = {"all", "finite"};
    const int32_t out[] = {1, 1, 0, 1};
    for (size_t i = 0; i < 2; i++) {
        struct plan plan = test_plan(1, 0, 4, 40);
        plan.chain[0] = kernel_find(names[i]);
        struct tile_fold fold = tile_fold_begin(&plan, out);
        ck_assert_double_eq(tile_fold_value(&fold), 1);
        tile_fold_add(&fold, 3);
        tile_fold_add(&fold, 0);
        ck_assert_double_eq(tile_fold_value(&fold), 1); /* a sum would be 2 */
        tile_fold_add(&fold, 2);
        tile_fold_add(&fold, 1);
        ck_assert_double_eq(tile_fold_value(&fold), 0);
        ck_assert_uint_eq(fold.tiles, 4);
    }
}
END_TEST

START_TEST(test_maps_and_missing_data_only_count)
{
    const float out[] = {1, 2};
    struct plan plan = test_plan(1, 0, 2, 2);
    struct tile_fold fold = tile_fold_begin(&plan, out);
    tile_fold_add(&fold, 0);
    ck_assert_double_eq(tile_fold_value(&fold), 0);
    plan.chain[0] = kernel_find("sum");
    fold = tile_fold_begin(&plan, NULL);
    tile_fold_add(&fold, 1);
    ck_assert_uint_eq(fold.tiles, 1);
    ck_assert_double_eq(tile_fold_value(&fold), 0);
}
END_TEST

Suite *tile_fold_suite(void)
{
    Suite *suite = suite_create("tile_fold");
    TCase *tests = tcase_create("tile_fold");
    tcase_add_test(tests, test_floats_are_summed);
    tcase_add_test(tests, test_ints_wrap);
    tcase_add_test(tests, test_ands_stay_0_once_a_tile_is);
    tcase_add_test(tests, test_maps_and_missing_data_only_count);
    suite_add_tcase(suite, tests);
    return suite;
}
