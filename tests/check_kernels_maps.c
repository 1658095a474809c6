/* check_kernels_maps.c - the CPU twins and the oracles of the maps. */
#include "check_kernels_util.h"
#include "kernels/scale.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t intensities[] = {1, 2, 3, 4, 5, 7, 8, 100};
enum { INTENSITIES = sizeof intensities / sizeof *intensities };

static struct oracle oracle_of_map(const char *name, const float *x, const float *y,
                                   uint64_t count, uint32_t intensity)
{
    struct oracle oracle = oracle_create(x, count);
    const struct kernel_params params = {.intensity = intensity};
    table_code(name)->oracle_map(&oracle, y, &params);
    return oracle;
}

/* One assertion for all elements: each costs a write to Check's log. */
static void assert_all_right(const char *what, const float *out, const struct oracle *oracle)
{
    size_t i = 0;
    while (i < oracle->count && is_right((double)out[i], oracle->value[i], oracle->bound[i]))
        i++;
    ck_assert_msg(i == oracle->count, "%s: element %zu of %zu is %.9g, not %.17g +- %g", what,
                  i, oracle->count, (double)out[i], oracle->value[i], oracle->bound[i]);
}

/* ---- references: the definitions, in long double ---- */

static long double scale_reference(float x, uint32_t repeats)
{
    long double v = x;
    for (uint32_t i = 0; i < repeats; i++)
        v = v * (-1 + 1 / 65536.0L) + 1;
    return v;
}

static long double wave_reference(float x, float y, uint32_t repeats)
{
    long double v = 0;
    for (uint32_t i = 0; i < repeats; i++) {
        const long double u = x + v / 4, s = u * u + (long double)y * y;
        v = sinl(cosl(sinl(sqrtl(powl(cosl(s), 2)))));
    }
    return v;
}

/* The same in float, but fused wherever a device may fuse. */
static float scale_fused(float x, uint32_t repeats)
{
    for (uint32_t i = 0; i < repeats; i++)
        x = fmaf(-0x1.fffep-1f, x, 1);
    return x;
}

static float wave_fused(float x, float y, uint32_t repeats)
{
    float v = 0;
    for (uint32_t i = 0; i < repeats; i++) {
        const float u = fmaf(0.25f, v, x);
        v = sinf(cosf(sinf(sqrtf(powf(cosf(fmaf(u, u, y * y)), 2)))));
    }
    return v;
}

/* ---- maps ---- */

/* The twin, the oracle and the fused float arithmetic against the reference, for one size. */
static void check_scale(uint64_t count, uint32_t intensity, float magnitude)
{
    float *x = random_floats(count, magnitude), *out = take_zeroed(count + 1, sizeof *out);
    out[count] = TEST_GUARD;
    run_host("scale", x, NULL, out, count, intensity);
    ck_assert(out[count] == TEST_GUARD);
    struct oracle oracle = oracle_of_map("scale", x, NULL, count, intensity);
    assert_all_right("scale", out, &oracle);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; i += 1 + count / 5000) {
        const long double reference = scale_reference(x[i], intensity);
        wrong +=
            fabsl(oracle.value[i] - reference) > 1e-15L * (1000 + intensity) * (magnitude + 1);
        const float fused = scale_fused(x[i], intensity);
        wrong += !is_right((double)fused, oracle.value[i], oracle.bound[i]);
    }
    ck_assert_uint_eq(wrong, 0);
    run_host("scale", x, NULL, x, count, intensity); /* in place */
    ck_assert_mem_eq(x, out, count * sizeof *x);
    oracle_free(&oracle);
    free(x);
    free(out);
}

static void check_wave(uint64_t count, uint32_t intensity, float magnitude)
{
    float *x = random_floats(count, magnitude), *y = random_floats(count, magnitude);
    float *out = take_zeroed(count + 1, sizeof *out);
    out[count] = TEST_GUARD;
    run_host("wave", x, y, out, count, intensity);
    ck_assert(out[count] == TEST_GUARD);
    struct oracle oracle = oracle_of_map("wave", x, y, count, intensity);
    assert_all_right("wave", out, &oracle);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; i += 1 + count / 2000) {
        const long double reference = wave_reference(x[i], y[i], intensity);
        const double off = (double)fabsl(oracle.value[i] - reference);
        wrong += off > (magnitude > 2 ? oracle.bound[i] : 1e-12);
        wrong += oracle.bound[i] > 0.2235; /* no two results are farther apart */
        const float fused = wave_fused(x[i], y[i], intensity);
        wrong += !is_right((double)fused, oracle.value[i], oracle.bound[i]);
    }
    ck_assert_uint_eq(wrong, 0);
    run_host("wave", x, y, x, count, intensity); /* in place */
    ck_assert_mem_eq(x, out, count * sizeof *x);
    oracle_free(&oracle);
    free(x);
    free(y);
    free(out);
}

START_TEST(test_maps_at_all_counts)
{
    check_scale(test_counts[_i], 1, 1);
    check_scale(test_counts[_i], 13, 1);
    check_wave(test_counts[_i], 1, 1);
}
END_TEST

START_TEST(test_maps_at_all_intensities)
{
    check_scale(1000, intensities[_i], 1);
    check_wave(600, intensities[_i], 1);
}
END_TEST

START_TEST(test_maps_at_all_magnitudes)
{
    static const float magnitudes[] = {0x1p-149f, 1e-40f, 1e-20f, 0.01f, 3,
                                       100,       1e4f,   1e10f,  9e18f, FLT_MAX};
    for (size_t i = 0; i < sizeof magnitudes / sizeof *magnitudes; i++) {
        check_scale(1000, 3, magnitudes[i]);
        if (magnitudes[i] < 1e19f)
            check_wave(1000, 2, magnitudes[i]);
    }
}
END_TEST

START_TEST(test_scale_at_the_highest_intensity)
{
    check_scale(33, 65536, 1);
    /* Nothing has settled: what was 1/8 apart is still a good part of that apart. */
    const float x[2] = {0.25f, 0.375f};
    struct oracle oracle = oracle_of_map("scale", x, NULL, 2, 65536);
    ck_assert(fabs(oracle.value[1] - oracle.value[0]) > 0.04);
    ck_assert(oracle.bound[0] < 0.01);
    oracle_free(&oracle);
}
END_TEST

/* What nobody measures may be done by a shorter way, and is the same to the bit: for inputs of
 * ours, results of earlier links, and values that have none of their properties. */
START_TEST(test_untimed_scale_is_the_same)
{
    static const float odd[] = {-1, -0.0f, 0.5f, 1, 2, 0x1p-149f, 0x1.fffffep0f, 3, NAN};
    static const uint32_t repeats[] = {255, 256, 1799, 1800, 5001};
    enum { COUNT = 4096, ODD = sizeof odd / sizeof odd[0] };
    float *x = random_floats(COUNT, 1), plain[COUNT], untimed[COUNT];
    run_host("scale", x + COUNT / 2, NULL, x + COUNT / 2, COUNT / 2, 1);
    for (size_t i = 0; i < ODD; i++)
        x[COUNT - 1 - 256 * (i / 7) - i] = odd[i]; /* what can't be done so, in a block apart */
    for (size_t i = 0; i < sizeof repeats / sizeof repeats[0]; i++) {
        const struct kernel_args args = {.in = {x},
                                         .out = untimed,
                                         .untimed = true,
                                         .count = COUNT,
                                         .params = {.intensity = repeats[i]}};
        run_host("scale", x, NULL, plain, COUNT, repeats[i]);
        table_code("scale")->host(&args);
        ck_assert_mem_eq(untimed, plain, sizeof plain);
        int leaps = 0;
        for (int first = 0; first < COUNT; first += BLOCK)
            leaps += can_leap(&args, x + first);
        ck_assert_int_eq(leaps, repeats[i] >= LEAPS_LEAST ? COUNT / BLOCK - 1 : 0);
    }
    free(x);
}
END_TEST

/* Blocks of all multiples of 2^-24 from -1 to 2, which have all values that one repeat gives.
 */
START_TEST(test_leaps_from_all_values)
{
    enum { BLOCKS = 3 * (1 << 24) / BLOCK + 1, REPEATS = 1800 };
    const char *mode = getenv("PIPELINE_TESTS");
    int wrong = 0;
    if (mode == NULL || (strcmp(mode, "full") != 0 && strcmp(mode, "deep") != 0))
        return;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
    for (int block = 0; block < BLOCKS; block++) {
        float plain[BLOCK], leapt[BLOCK];
        for (int i = 0; i < BLOCK; i++)
            plain[i] = (float)fmin((block * BLOCK + i) * 0x1p-24 - 1, 2);
        memcpy(leapt, plain, sizeof plain);
        scale_block(plain, REPEATS);
        leap_block(leapt, REPEATS);
        wrong += memcmp(plain, leapt, sizeof plain) != 0;
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

START_TEST(test_maps_of_nonfinite_values)
{
    const float x[] = {NAN, INFINITY, -INFINITY, 1, 1e30f, 0};
    const float y[] = {1, 1, 1, NAN, 1, INFINITY};
    const uint64_t count = sizeof x / sizeof *x;
    float out[sizeof x / sizeof *x];
    for (uint32_t intensity = 1; intensity <= 6; intensity++) {
        run_host("scale", x, NULL, out, count, intensity);
        struct oracle oracle = oracle_of_map("scale", x, NULL, count, intensity);
        assert_all_right("scale", out, &oracle);
        ck_assert(isnan(oracle.value[0]) && isinf(oracle.value[1]) && isinf(oracle.value[2]));
        ck_assert((oracle.value[1] > 0) == (intensity % 2 == 0));
        oracle_free(&oracle);

        run_host("wave", x, y, out, count, intensity);
        oracle = oracle_of_map("wave", x, y, count, intensity);
        assert_all_right("wave", out, &oracle);
        for (uint64_t i = 0; i < count; i++)
            ck_assert(isnan(oracle.value[i]) && oracle.bound[i] == 0);
        oracle_free(&oracle);
    }
}
END_TEST

/* How many of `oracle`'s elements would pass with `wrong` in their place. */
static uint64_t count_passing(const struct oracle *oracle, const float *wrong)
{
    uint64_t passing = 0;
    for (size_t i = 0; i < oracle->count; i++)
        passing += is_right((double)wrong[i], oracle->value[i], oracle->bound[i]);
    return passing;
}

/* A few elements lie where one repeat more, or two, change less than rounding does. */
START_TEST(test_wrong_elements_of_maps_are_caught)
{
    enum { COUNT = 1000, FEW = COUNT / 10 };
    static const char *const names[] = {"scale", "wave"};
    float *x = random_floats(COUNT + 1, 1), *y = random_floats(COUNT + 1, 1);
    float *right = take_zeroed(COUNT, sizeof *right),
          *wrong = take_zeroed(COUNT, sizeof *wrong);
    float *zeros = take_zeroed(COUNT, sizeof *zeros);
    for (size_t n = 0; n < 2; n++)
        for (uint32_t intensity = 1; intensity <= 2; intensity++) {
            struct oracle oracle = oracle_of_map(names[n], x, y, COUNT, intensity);
            run_host(names[n], x, y, right, COUNT, intensity);
            ck_assert_uint_eq(count_passing(&oracle, right), COUNT);
            run_host(names[n], x + 1, y + 1, wrong, COUNT, intensity); /* the neighbours' */
            ck_assert_uint_le(count_passing(&oracle, wrong), 1);
            run_host(names[n], x, y, wrong, COUNT, intensity + 1);
            ck_assert_uint_le(count_passing(&oracle, wrong), FEW);
            ck_assert_uint_le(count_passing(&oracle, x), FEW);
            ck_assert_uint_eq(count_passing(&oracle, y), 0);
            ck_assert_uint_eq(count_passing(&oracle, zeros), 0);
            oracle_free(&oracle);
        }
    free(x);
    free(y);
    free(right);
    free(wrong);
    free(zeros);
}
END_TEST

START_TEST(test_bounds_carry_through_a_chain)
{
    enum { COUNT = 2000 };
    float *x = random_floats(COUNT, 1), *y = random_floats(COUNT, 1);
    struct oracle oracle = oracle_create(x, COUNT);
    const struct kernel_params params = {.intensity = 2};
    static const char *const chain[] = {"scale", "wave", "scale", "wave", "scale"};
    for (size_t link = 0; link < sizeof chain / sizeof *chain; link++) {
        table_code(chain[link])->oracle_map(&oracle, y, &params);
        run_host(chain[link], x, y, x, COUNT, 2);
        assert_all_right(chain[link], x, &oracle);
        double widest = 0;
        for (int i = 0; i < COUNT; i++)
            widest = fmax(widest, oracle.bound[i]);
        ck_assert(widest > 0 && widest < 1e-5);
    }
    float sum;
    double bound;
    run_host("sum", x, NULL, &sum, COUNT, 2);
    const double should = oracle_of_reduction("sum", &oracle, &bound);
    ck_assert(is_right((double)sum, should, bound) && bound < COUNT * 1e-5);
    /* An error of the input becomes an error of the output, so the bound must grow with it. */
    struct oracle off = {.value = (double[]){0.5}, .bound = (double[]){0.125}, .count = 1};
    table_code("scale")->oracle_map(&off, NULL, &params);
    ck_assert(off.bound[0] > 0.1249 && off.bound[0] < 0.126);
    table_code("wave")->oracle_map(&off, y, &params);
    ck_assert(off.bound[0] > 0.01 && off.bound[0] < 0.25);
    oracle_free(&oracle);
    free(x);
    free(y);
}
END_TEST

/* Runs the twin on TILES tiles of `count` elements, one behind another: tile by tile, and all
 * as one. Returns true if the results are the same. */
static bool joined_is_same(const struct kernel *kernel, uint64_t count)
{
    enum { TILES = 3 };
    float *x = random_floats(TILES * count, 1), *y = random_floats(TILES * count, 1);
    float *apart = take_zeroed(TILES * count, sizeof *apart),
          *joined = take_zeroed(TILES * count, sizeof *joined);
    for (uint64_t first = 0; first < TILES * count; first += count)
        run_host(kernel->name, x + first, kernel->inputs > 1 ? y + first : NULL, apart + first,
                 count, 2);
    run_host(kernel->name, x, kernel->inputs > 1 ? y : NULL, joined, TILES * count, 2);
    const bool same = memcmp(apart, joined, TILES * count * sizeof *apart) == 0;
    free(x);
    free(y);
    free(apart);
    free(joined);
    return same;
}

START_TEST(test_tiles_that_join)
{
    static const uint64_t counts[] = {33, 64, 96, 128, 130};
    static const char *const names[] = {"scale", "wave", "wave-launches", "uniform",
                                        "divergent"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(kernel_is_elementwise(table_row(names[i])), "%s", names[i]);
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            const bool joins = kernel_joins(kernel, counts[i]);
            if (!kernel_is_elementwise(kernel))
                ck_assert_msg(!joins, "%s", kernel->name);
            else if (kernel->in == DTYPE_F32 && kernel->out == DTYPE_F32)
                ck_assert_msg(joined_is_same(kernel, counts[i]) == joins,
                              "%s, tiles of %d elements", kernel->name, (int)counts[i]);
        }
}
END_TEST

TCase *kernels_maps_tcase(void)
{
    TCase *maps = tcase_create("maps");
    tcase_add_loop_test(maps, test_maps_at_all_counts, 0, TEST_COUNTS);
    tcase_add_loop_test(maps, test_maps_at_all_intensities, 0, INTENSITIES);
    tcase_add_test(maps, test_maps_at_all_magnitudes);
    tcase_add_test(maps, test_scale_at_the_highest_intensity);
    tcase_add_test(maps, test_untimed_scale_is_the_same);
    tcase_add_test(maps, test_leaps_from_all_values);
    tcase_add_test(maps, test_maps_of_nonfinite_values);
    tcase_add_test(maps, test_wrong_elements_of_maps_are_caught);
    tcase_add_test(maps, test_bounds_carry_through_a_chain);
    tcase_add_test(maps, test_tiles_that_join);
    return maps;
}
