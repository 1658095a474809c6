/* check_scan_twins.c - the rows of the scans and their twins. */
#include "check_kernels_util.h"
#include "scan_cases.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"scan", "scan-exclusive", "scan-naive", "scan-efficient",
                                    "scan-conflict-free"};
enum { NAMES = sizeof names / sizeof *names };

static uint32_t *random_ints(uint64_t count)
{
    uint32_t *x = take_zeroed(count, sizeof *x);
    for (uint64_t i = 0; i < count; i++)
        x[i] = (uint32_t)random_bits();
    return x;
}

/* Scans `count` elements with the twin of `name`, from `carry` on unless it is 0, and compares
 * with the plain loop. */
static void check_twin(const char *name, uint64_t count, uint32_t carry, bool in_place)
{
    enum { GUARD = 0x12345678 };
    const struct kernel *kernel = table_row(name);
    uint32_t *in = random_ints(count), *out = take_zeroed(count + 1, sizeof *out);
    uint32_t *expected = take_zeroed(count, sizeof *expected), total = carry, left = 0;
    for (uint64_t i = 0; i < count; i++) {
        expected[i] = kernel->exclusive ? total : total + in[i];
        total += in[i];
    }
    if (in_place)
        memcpy(out, in, count * sizeof *in);
    out[count] = GUARD;
    kernel_code(kernel)->host(&(struct kernel_args){.in = {in_place ? out : in},
                                                    .out = out,
                                                    .carry_in = carry != 0 ? &carry : NULL,
                                                    .carry_out = &left,
                                                    .count = count,
                                                    .params = {.intensity = 1}});
    ck_assert_msg(memcmp(out, expected, count * sizeof *out) == 0,
                  "%s of %" PRIu64 " elements%s", name, count, in_place ? ", in place" : "");
    ck_assert_uint_eq(left, total);
    ck_assert_uint_eq(out[count], GUARD);
    free(expected);
    free(out);
    free(in);
}

START_TEST(test_twins_at_all_counts)
{
    static const uint64_t counts[] = {1,    31,    32,    33,      1023,         1024,
                                      1025, 32767, 32768, 1 << 22, (1 << 22) + 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        check_twin(names[_i], counts[i], 0, false);
        check_twin(names[_i], counts[i], 0xdeadbeef, true);
    }
}
END_TEST

START_TEST(test_a_twin_needs_no_place_for_the_carry)
{
    const int32_t in[] = {INT32_MAX, 1, -5};
    int32_t out[3];
    table_code("scan")->host(&(struct kernel_args){.in = {in}, .out = out, .count = 3});
    ck_assert_int_eq(out[0], INT32_MAX);
    ck_assert_int_eq(out[1], INT32_MIN);
    ck_assert_int_eq(out[2], INT32_MAX - 4);
    table_code("scan-exclusive")
        ->host(&(struct kernel_args){.in = {in}, .out = out, .count = 3});
    ck_assert_int_eq(out[0], 0);
    ck_assert_int_eq(out[1], INT32_MAX);
    ck_assert_int_eq(out[2], INT32_MIN);
}
END_TEST

START_TEST(test_rows)
{
    for (int i = 0; i < NAMES; i++) {
        const struct kernel *kernel = table_row(names[i]);
        const uint64_t part = (uint64_t)kernel->per_thread * KERNEL_THREADS;
        ck_assert_int_eq(kernel->shape, KERNEL_SCAN);
        ck_assert(kernel_bytes_per_element(kernel) == 8);
        ck_assert_uint_eq(kernel_scratch_bytes(kernel, 1), KERNEL_SCRATCH_HEAD + 8);
        ck_assert_uint_eq(kernel_scratch_bytes(kernel, 7 * part - KERNEL_LINE + 1),
                          KERNEL_SCRATCH_HEAD + 56);
        ck_assert_uint_eq(kernel_scratch_bytes(kernel, 7 * part - KERNEL_LINE + 2),
                          KERNEL_SCRATCH_HEAD + 64);
    }
    const struct kernel *scan = table_row("scan"), *sum = table_row("reduce-shuffle");
    const struct kernel *const fit[] = {scan, scan, sum}, *const misfit[] = {scan, sum, scan};
    ck_assert_int_eq(kernel_chain_misfit(fit, 3), -1);
    ck_assert_int_eq(kernel_chain_misfit(misfit, 3), 2);
    ck_assert_int_eq(
        kernel_chain_misfit((const struct kernel *[]){table_row("scale"), scan}, 2), 1);
    ck_assert(kernel_chain_scans(fit, 3) && !kernel_chain_scans(&sum, 1));
}
END_TEST

TCase *scan_twins_tcase(void)
{
    TCase *twins = tcase_create("twins");
    tcase_set_timeout(twins, 60);
    tcase_add_loop_test(twins, test_twins_at_all_counts, 0, NAMES);
    tcase_add_test(twins, test_a_twin_needs_no_place_for_the_carry);
    tcase_add_test(twins, test_rows);
    return twins;
}
