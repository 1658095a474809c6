/* check_branches.c - `uniform` and `divergent`: which element takes which branch, in tiles that
 * begin anywhere. */
#include "check_kernels_util.h"
#include "fixtures.h"
#include "run/verify.h"
#include "suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"uniform", "divergent"};

/* The definition: by runs of 32 elements, or every other one. */
static bool takes_second(int kernel, uint64_t index)
{
    return (index & (kernel == 0 ? 32 : 1)) != 0;
}

static long double reference(bool second, float x, uint32_t repeats)
{
    long double v = x;
    for (uint32_t i = 0; i < repeats; i++)
        v = v * (-1 + 1 / 65536.0L) + (second ? -1 : 1);
    return v;
}

/* Returns an element as a device computes it that fuses multiplication and addition. */
static double fused(bool second, float x, uint32_t repeats)
{
    for (uint32_t i = 0; i < repeats; i++)
        x = fmaf(-0x1.fffep-1f, x, second ? -1.0f : 1.0f);
    return (double)x;
}

/* The oracle of all elements, asked in chunks that begin anywhere. */
static struct oracle oracle_in_chunks(int kernel, const float *x, uint64_t count,
                                      uint32_t intensity)
{
    const struct kernel_params params = {.intensity = intensity};
    struct oracle oracle = oracle_create(x, count);
    for (uint64_t first = 0, size = 1; first < count; first += size, size = 2 * size + 1) {
        const uint64_t left = count - first;
        struct oracle chunk = {.value = oracle.value + first,
                               .bound = oracle.bound + first,
                               .count = size < left ? size : left,
                               .first = first};
        table_code(names[kernel])->oracle_map(&chunk, NULL, &params);
    }
    return oracle;
}

/* The twin, the oracle, fused arithmetic, and that of the other branch, which must not pass. */
static void check_branch(int kernel, uint64_t count, uint32_t intensity, float scale)
{
    float *x = random_floats(count, scale), *out = take_zeroed(count + 1, sizeof *out);
    out[count] = TEST_GUARD;
    run_host(names[kernel], x, NULL, out, count, intensity);
    ck_assert(out[count] == TEST_GUARD);
    struct oracle oracle = oracle_in_chunks(kernel, x, count, intensity);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; i++) {
        const double value = oracle.value[i], bound = oracle.bound[i];
        const bool second = takes_second(kernel, i);
        const long double off = value - reference(second, x[i], intensity);
        wrong += fabsl(off) > 1e-15L * (1000 + intensity) * (scale + 1);
        wrong += !is_right((double)out[i], value, bound);
        wrong += !is_right(fused(second, x[i], intensity), value, bound);
        wrong += is_right(fused(!second, x[i], intensity), value, bound);
    }
    ck_assert_uint_eq(wrong, 0);
    run_host(names[kernel], x, NULL, x, count, intensity); /* in place */
    ck_assert_mem_eq(x, out, count * sizeof *x);
    oracle_free(&oracle);
    free(x);
    free(out);
}

/* Repeats in pairs bring both branches back to where they were, nearly: odd numbers of them. */
START_TEST(test_branches_at_all_counts)
{
    for (int kernel = 0; kernel < 2; kernel++) {
        check_branch(kernel, test_counts[_i], 1, 1);
        check_branch(kernel, test_counts[_i], 7, 1);
        check_branch(kernel, test_counts[_i] % 3000 + 1, 101, 100);
    }
}
END_TEST

START_TEST(test_nonfinite_values_keep_their_branch)
{
    const float x[] = {INFINITY, INFINITY, -INFINITY, NAN};
    for (int kernel = 0; kernel < 2; kernel++) {
        float out[4];
        run_host(names[kernel], x, NULL, out, 4, 3);
        struct oracle oracle = oracle_in_chunks(kernel, x, 4, 3);
        for (int i = 0; i < 4; i++)
            ck_assert(is_right((double)out[i], oracle.value[i], oracle.bound[i]));
        ck_assert(oracle.value[0] < 0 && oracle.value[1] < 0 && isnan(oracle.value[3]));
        oracle_free(&oracle);
    }
}
END_TEST

/* Tiles of 40001 elements: an index counts from its tile's first element, in whichever chunk
 * and piece it is. */
START_TEST(test_tiles_that_begin_anywhere_are_verified)
{
    const struct machine machine = test_machine();
    struct settings settings = test_settings(names[_i]);
    settings.elements = 3 * 40001;
    settings.tiles = 3;
    settings.intensity = 5;
    struct error error = {0}, wrong = {0};
    struct arrays arrays;
    struct plan plan = test_built_on(&settings, &machine);
    ck_assert_int_eq(arrays_create(&arrays, &plan, &settings, &error), STATUS_OK);
    run_tiles(&plan, &arrays);
    ck_assert_msg(verify_output(&plan, &arrays, &error) == STATUS_OK, "%s", error.text);
    /* The second tile gets the results of indices that count from the array's first element,
     * not from the tile's: these must be refused. */
    uint64_t first, count;
    plan_tile(&plan, 1, &first, &count);
    const uint64_t odd = first % (_i == 0 ? 64 : 2);
    ck_assert_uint_ne(odd, 0);
    float *in = arrays.host[BUFFER_HOST_IN0], *out = arrays.host[BUFFER_HOST_OUT];
    float *all = take_zeroed(first + count, sizeof *all);
    run_host(names[_i], in, NULL, all, first + count, 5);
    memcpy(out + first, all + first, count * sizeof *out);
    ck_assert_int_eq(verify_output(&plan, &arrays, &wrong), STATUS_FAILED);
    ck_assert_msg(strstr(wrong.text, "tile 1, element ") != NULL, "%s", wrong.text);
    free(all);
    arrays_free(&arrays);
    plan_free(&plan);
}
END_TEST

/* Where arithmetic decides, a machine takes twice as long for divergent warps; where memory
 * does, just as long. */
START_TEST(test_divergence_costs_arithmetic)
{
    struct machine machine = test_machine();
    machine.memory_bytes_per_s = 1e9;
    const struct kernel *uniform = table_row(names[0]), *divergent = table_row(names[1]);
    const struct kernel_params heavy = {.intensity = 10000}, light = {.intensity = 1};
    ck_assert(kernel_bytes_per_element(divergent) == kernel_bytes_per_element(uniform));
    ck_assert_double_eq_tol(machine_kernel_ns(&machine, divergent, &heavy, 1 << 20) /
                                machine_kernel_ns(&machine, uniform, &heavy, 1 << 20),
                            2, 1e-9);
    ck_assert_double_eq_tol(machine_kernel_ns(&machine, divergent, &light, 1 << 20) /
                                machine_kernel_ns(&machine, uniform, &light, 1 << 20),
                            1, 1e-9);
}
END_TEST

Suite *branches_suite(void)
{
    Suite *suite = suite_create("branches");
    TCase *tcase = tcase_create("branches");
    tcase_add_loop_test(tcase, test_branches_at_all_counts, 0, TEST_COUNTS);
    tcase_add_test(tcase, test_nonfinite_values_keep_their_branch);
    tcase_add_loop_test(tcase, test_tiles_that_begin_anywhere_are_verified, 0, 2);
    tcase_add_test(tcase, test_divergence_costs_arithmetic);
    suite_add_tcase(suite, tcase);
    return suite;
}
