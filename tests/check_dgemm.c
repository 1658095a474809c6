/* check_dgemm.c - the matrix product's twin, and the check that judges results without it. */
#include "check_kernels_util.h"
#include "fixtures.h"
#include "suites.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* A product with its matrices; c is what is judged. */
struct product {
    uint64_t rows, columns, inner;
    double *a, *b, *c0, *c;
};

/* 1: of each alone; 2: blocks of rows begin and end here; 3: strips of 16 blocks, too. */
static const struct {
    uint64_t rows, columns, inner;
} shapes[] = {
    {1, 1, 1},    {1, 9, 3},    {7, 1, 5},     {5, 4, 1},   {3, 5, 129},
    {17, 6, 33},  {127, 3, 8},  {128, 5, 16},  {129, 4, 7}, {300, 9, 40},
    {2048, 3, 5}, {2049, 5, 3}, {2300, 2, 11},
};
enum { BLOCK = 128 }; /* rows of C that the check sums up together */
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static double *random_doubles(uint64_t count)
{
    double *x = take_zeroed(count, sizeof *x);
    for (uint64_t i = 0; i < count; i++)
        x[i] = (double)(random_bits() >> 11) * 0x1p-52 - 1;
    return x;
}

/* Three loops, one sum after another; what could be off is at most this bound. */
static double naive(const struct product *product, uint64_t row, uint64_t column, double *bound)
{
    double sum = product->c0[column * product->rows + row], magnitude = fabs(sum);
    for (uint64_t p = 0; p < product->inner; p++) {
        const double term =
            product->a[p * product->rows + row] * product->b[column * product->inner + p];
        sum += term;
        magnitude += fabs(term);
    }
    *bound = 2.01 * (double)(product->inner + 1) * 0x1p-53 * magnitude;
    return sum;
}

static struct kernel_args args_of(const struct product *product)
{
    return (struct kernel_args){
        .in = {product->c0, product->b},
        .resident = product->a,
        .out = product->c,
        .count = product->rows * product->columns,
        .params = {.intensity = 1, .rows = product->rows, .inner = product->inner}};
}

/* With a right result by the three loops, not by the twin. */
static struct product product_create(uint64_t rows, uint64_t columns, uint64_t inner)
{
    struct product product = {rows, columns, inner, NULL, NULL, NULL, NULL};
    double bound;
    product.a = random_doubles(rows * inner);
    product.b = random_doubles(inner * columns);
    product.c0 = random_doubles(rows * columns);
    product.c = take_zeroed(rows * columns, sizeof *product.c);
    for (uint64_t i = 0; i < rows * columns; i++)
        product.c[i] = naive(&product, i % rows, i / rows, &bound);
    return product;
}

static void product_free(struct product *product)
{
    free(product->a);
    free(product->b);
    free(product->c0);
    free(product->c);
}

static void assert_right(const struct product *product, const char *what)
{
    const struct kernel_args args = args_of(product);
    struct kernel_fault fault;
    ck_assert_msg(table_code("dgemm")->check(&args, &fault) == KERNEL_RIGHT,
                  "%s: %g at %lu, should be %g", what, fault.actual,
                  (unsigned long)fault.element, fault.value);
}

/* The first wrong element is `element`. */
static void assert_wrong(const struct product *product, uint64_t element, const char *what)
{
    const struct kernel_args args = args_of(product);
    struct kernel_fault fault = {0};
    ck_assert_msg(table_code("dgemm")->check(&args, &fault) == KERNEL_WRONG,
                  "%s at %lu of %lu x %lu, %lu", what, (unsigned long)element,
                  (unsigned long)product->rows, (unsigned long)product->columns,
                  (unsigned long)product->inner);
    ck_assert_uint_eq(fault.element, element);
    ck_assert(memcmp(&fault.actual, &product->c[element], sizeof fault.actual) == 0);
    double bound;
    const double value =
        naive(product, element % product->rows, element / product->rows, &bound);
    ck_assert(!isfinite(value) || fabs(fault.value - value) <= bound);
    ck_assert(!isfinite(value) || fabs(fault.bound - bound) <= 0.1 * bound);
}

/* --- the twin --- */

START_TEST(test_twin_against_three_loops)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        struct product product =
            product_create(shapes[_i].rows, shapes[_i].columns, shapes[_i].inner);
        const uint64_t count = product.rows * product.columns;
        double *out = take_zeroed(count, sizeof *out);
        struct kernel_args args = args_of(&product);
        args.out = out;
        if (in_place) {
            memcpy(out, product.c0, count * sizeof *out);
            args.in[0] = out;
        }
        table_code("dgemm")->host(&args);
        for (uint64_t i = 0; i < count; i++) {
            double bound;
            const double value = naive(&product, i % product.rows, i / product.rows, &bound);
            ck_assert_msg(fabs(out[i] - value) <= bound, "element %lu", (unsigned long)i);
        }
        memcpy(product.c, out, count * sizeof *out);
        assert_right(&product, "the twin's");
        free(out);
        product_free(&product);
    }
}
END_TEST

/* Several blocks of rows and of columns. */
START_TEST(test_twin_does_not_depend_on_threads)
{
    const int usual = omp_get_max_threads();
    struct product product = product_create(2100, 300, 6);
    const struct kernel_args args = args_of(&product);
    double *first = take_zeroed(args.count, sizeof *first);
    for (int threads = 1; threads <= 5; threads++) {
        omp_set_num_threads(threads);
        memset(product.c, 0xff, args.count * sizeof *product.c);
        table_code("dgemm")->host(&args);
        assert_right(&product, "with other threads");
        if (threads == 1)
            memcpy(first, product.c, args.count * sizeof *first);
        ck_assert(memcmp(first, product.c, args.count * sizeof *first) == 0);
    }
    omp_set_num_threads(usual);
    free(first);
    product_free(&product);
}
END_TEST

/* --- the check --- */

/* Returns the bound that the header states for the block of `element`, worked out here a second
 * time so that the check is not judged by its own code. */
static double block_bound(const struct product *product, uint64_t element)
{
    const uint64_t row = element % product->rows, column = element / product->rows;
    const uint64_t first = row - row % BLOCK;
    double norm = 0, magnitude = 0;
    for (uint64_t p = 0; p < product->inner; p++) {
        const double b = product->b[column * product->inner + p];
        norm += b * b;
    }
    for (uint64_t i = first; i < first + BLOCK && i < product->rows; i++) {
        double squares = 0;
        for (uint64_t p = 0; p < product->inner; p++) {
            const double a = product->a[p * product->rows + i];
            squares += a * a;
        }
        magnitude += sqrt(squares) * sqrt(norm) + fabs(product->c[column * product->rows + i]) +
                     fabs(product->c0[column * product->rows + i]);
    }
    return (4 * (double)product->inner + 2 * BLOCK + 16) * 0x1p-53 * magnitude;
}

START_TEST(test_right_results_pass)
{
    struct product product =
        product_create(shapes[_i].rows, shapes[_i].columns, shapes[_i].inner);
    assert_right(&product, "three loops");
    product_free(&product);
}
END_TEST

/* Any element, off by little more than what is surely found, missing, or stale. */
START_TEST(test_a_wrong_element_is_found)
{
    struct product product =
        product_create(shapes[_i].rows, shapes[_i].columns, shapes[_i].inner);
    const uint64_t count = product.rows * product.columns;
    const uint64_t some = (uint64_t)test_cases(60), step = count > some ? count / some : 1;
    for (uint64_t i = 0; i < count; i += step) {
        const double right = product.c[i], least = 4.1 * block_bound(&product, i);
        const double wrong[] = {right + least, right - least, NAN,  INFINITY,
                                -INFINITY,     right + 1,     1e300};
        ck_assert_double_lt(least, 1e-9);
        for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
            product.c[i] = wrong[w];
            assert_wrong(&product, i, "damage");
        }
        product.c[i] = right;
    }
    assert_right(&product, "whole again");
    product_free(&product);
}
END_TEST

/* The lowest one is named, whichever core is faster. */
START_TEST(test_the_first_of_many_is_named)
{
    struct product product = product_create(300, 60, 20);
    uint64_t random = 31;
    for (int i = 0; i < test_cases(100); i++) {
        double *right = take_zeroed(300 * 60, sizeof *right);
        memcpy(right, product.c, 300 * 60 * sizeof *right);
        uint64_t first = UINT64_MAX;
        for (int damage = 0; damage < 5; damage++) {
            const uint64_t at = test_random_below(&random, 300 * 60);
            product.c[at] = damage % 2 ? NAN : 77;
            first = at < first ? at : first;
        }
        assert_wrong(&product, first, "the first");
        memcpy(product.c, right, 300 * 60 * sizeof *right);
        free(right);
    }
    product_free(&product);
}
END_TEST

/* The check must find the mistakes of practice: a tile that was never worked on, one that is
 * another's, two elements swapped, equal and opposite errors, a product in single precision. */
START_TEST(test_likely_mistakes_are_found)
{
    enum { ROWS = 140, COLUMNS = 24, INNER = 30, TILE = 6 * ROWS };
    struct product product = product_create(ROWS, COLUMNS, INNER);
    double right[ROWS * COLUMNS];
    memcpy(right, product.c, sizeof right);

    memcpy(product.c + TILE, product.c0 + TILE, TILE * sizeof right[0]);
    assert_wrong(&product, TILE, "not worked on");
    memcpy(product.c + TILE, right + 2 * TILE, TILE * sizeof right[0]);
    assert_wrong(&product, TILE, "another tile");
    memcpy(product.c, right, sizeof right);

    product.c[205] = right[206];
    product.c[206] = right[205];
    assert_wrong(&product, 205, "swapped");
    product.c[205] = right[205] + 0.25;
    product.c[206] = right[206] - 0.25;
    assert_wrong(&product, 205, "equal and opposite");
    memcpy(product.c, right, sizeof right);

    for (int i = 0; i < ROWS * COLUMNS; i++)
        product.c[i] = (double)(float)right[i];
    const struct kernel_args args = args_of(&product);
    struct kernel_fault fault;
    ck_assert_int_eq(table_code("dgemm")->check(&args, &fault), KERNEL_WRONG);
    product_free(&product);
}
END_TEST

/* C may come from a file, with what is not finite in it: that stays, and hides nothing. */
START_TEST(test_values_that_are_not_finite)
{
    struct product product = product_create(140, 5, 10);
    static const double odd[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        const uint64_t at = 140 + 30, beside = at + 1, before = 17;
        const double was0 = product.c0[at], was = product.c[at];
        product.c0[at] = product.c[at] = odd[i];
        assert_right(&product, "not finite");
        product.c[at] = 1;
        assert_wrong(&product, at, "should not be finite");
        product.c[at] = odd[(i + 1) % 3];
        assert_wrong(&product, at, "another that is not finite");
        product.c[at] = odd[i];
        const double right = product.c[beside];
        product.c[beside] += 1e-9;
        assert_wrong(&product, beside, "beside what is not finite");
        product.c[beside] = right;
        product.c[before] = -product.c[before];
        assert_wrong(&product, before, "before what is not finite");
        product.c[before] = -product.c[before];
        product.c0[at] = was0;
        product.c[at] = was;
    }
    product_free(&product);
}
END_TEST

/* Beyond the largest double nothing is claimed; what is below is judged. */
START_TEST(test_values_that_overflow)
{
    struct product product = product_create(4, 2, 2);
    for (int i = 0; i < 8; i++)
        product.c0[i] = product.c[i] = 0;
    for (int i = 0; i < 4; i++)
        product.a[i] = product.a[4 + i] = i == 3 ? 1e200 : 1;
    for (int i = 0; i < 4; i++)
        product.b[i] = 1e200;
    for (int i = 0; i < 8; i++)
        product.c[i] = i % 4 == 3 ? INFINITY : 2e200;
    assert_right(&product, "overflown");
    product.c[6] = 2.0001e200;
    assert_wrong(&product, 6, "beside an overflow");
    product_free(&product);
}
END_TEST

/* The counts, bytes and flops of a large product must be exact, also where they exceed 32 bits.
 */
START_TEST(test_sizes_of_the_hooks)
{
    const struct kernel *kernel = table_row("dgemm");
    const struct kernel_params params = {.intensity = 1, .rows = 16384, .inner = 1408};
    const struct kernel *chain[] = {kernel};
    double bytes, flops;
    ck_assert_uint_eq(kernel_second_count(kernel, &params, 16384 * 512), 1408 * 512);
    ck_assert_uint_eq(chain_second_count(chain, 1, &params, 16384 * 512), 1408 * 512);
    ck_assert_uint_eq(chain_resident_bytes(chain, 1, &params), 8ul * 16384 * 1408);
    ck_assert_uint_eq(chain_unit(chain, 1, &params), 16384);
    kernel_work(kernel, &params, 16384ul * 16384, &bytes, &flops);
    ck_assert_double_eq_tol(flops, 2.0 * 16384 * 16384 * 1408, 1);
    ck_assert_double_eq_tol(bytes, 8.0 * (2 * 16384.0 * 1408 + 2 * 16384.0 * 16384), 1);
    const struct kernel *wave[] = {table_row("scale"), table_row("wave")};
    ck_assert_uint_eq(chain_second_count(wave, 2, &params, 100), 100);
    ck_assert_uint_eq(chain_second_count(wave, 1, &params, 100), 0);
    ck_assert_uint_eq(chain_resident_bytes(wave, 2, &params), 0);
    ck_assert_uint_eq(chain_unit(wave, 2, &params), 1);
}
END_TEST

Suite *dgemm_suite(void)
{
    Suite *suite = suite_create("dgemm");
    TCase *twin = tcase_create("twin");
    if (kernel_missing(kernel_find("dgemm")) == NULL) {
        tcase_add_loop_test(twin, test_twin_against_three_loops, 0, SHAPES);
        tcase_add_test(twin, test_twin_does_not_depend_on_threads);
    }
    suite_add_tcase(suite, twin);
    TCase *check = tcase_create("check");
    tcase_add_loop_test(check, test_right_results_pass, 0, SHAPES);
    tcase_add_loop_test(check, test_a_wrong_element_is_found, 0, SHAPES);
    tcase_add_test(check, test_the_first_of_many_is_named);
    tcase_add_test(check, test_likely_mistakes_are_found);
    tcase_add_test(check, test_values_that_are_not_finite);
    tcase_add_test(check, test_values_that_overflow);
    tcase_add_test(check, test_sizes_of_the_hooks);
    suite_add_tcase(suite, check);
    return suite;
}
