/* check_stencil_launcher.c - the stencil's launcher with neighbours, against its CPU twin: the
 * tests of every row launch it without. */
#include "check_launchers.h"

#include "cpu/grid.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    uint64_t columns, rows;
    uint32_t halo;
} shapes[] = {
    {1, 1, 1},   {1, 9, 3},    {5, 3, 1},    {3, 5, 4},
    {257, 5, 2}, {1023, 2, 1}, {1025, 3, 6}, {64, 65, 5},
};

/* The twin's bits come out, whatever the order of the threads. What lies around the rows and
 * must not be read is NaN, which would show. */
START_TEST(test_stencil_launcher)
{
    const struct kernel *kernel = kernel_find("stencil");
    const uint64_t count = shapes[_i].columns * shapes[_i].rows;
    const uint64_t border = shapes[_i].columns * shapes[_i].halo;
    const uint64_t all = count + 2 * border;
    float *memory = malloc((all + 2) * sizeof *memory), *in = memory + 1;
    float *out = malloc(2 * count * sizeof *out), *right = out + count;
    memset(memory, 0xFF, (all + 2) * sizeof *memory);
    for (uint64_t i = 0; i < all; i++)
        in[i] = (float)(i * 2654435761u % 2001) / 1000.0f - 1;
    struct kernel_args args = {
        .in = {in},
        .out = right,
        .count = count,
        .blocks = 1,
        .params = {.intensity = 1, .columns = shapes[_i].columns, .halo = shapes[_i].halo}};
    kernel_code(kernel)->host(&args);
    args.out = out;
    for (uint64_t order = 0; order < 4; order++) {
        memset(out, 0xFF, count * sizeof *out);
        grid_set_order(order % 2 ? NEXT_ANY : NEXT_HIGHEST, 1 + (uint32_t)order, order);
        ck_assert_int_eq(kernel_launcher(kernel)->launch(&args, NULL), 0);
        ck_assert_ptr_null(emulator_fault());
        ck_assert_mem_eq(out, right, count * sizeof *out);
    }
    free(memory);
    free(out);
}
END_TEST

Suite *stencil_launcher_suite(void)
{
    Suite *suite = suite_create("stencil launcher");
    TCase *tcase = tcase_create("stencil launcher");
    tcase_add_loop_test(tcase, test_stencil_launcher, 0, sizeof shapes / sizeof shapes[0]);
    suite_add_tcase(suite, tcase);
    return suite;
}
