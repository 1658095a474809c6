/* check_stencil.c - the stencil's twin against plain loops, and what its check finds. */
#include "check_kernels_util.h"
#include "suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An array with `halo` rows of zeros before and behind it. */
struct padded {
    uint64_t columns, count, border; /* elements; of the rows on each side */
    float *all;
};

static struct padded padded_take(uint64_t columns, uint64_t rows, uint32_t halo)
{
    struct padded padded = {columns, columns * rows, columns * halo, NULL};
    padded.all = take_zeroed(padded.count + 2 * padded.border + 1, sizeof(float));
    for (uint64_t i = 0; i < padded.count; i++)
        padded.all[padded.border + i] = (float)((double)random_bits() * 0x1p-63 - 1);
    return padded;
}

static void run_twin(const struct padded *from, const struct padded *to, uint32_t halo)
{
    const struct kernel_args args = {
        .in = {from->all},
        .out = to->all + to->border,
        .count = from->count,
        .params = {.intensity = 1, .columns = from->columns, .halo = halo},
    };
    table_code("stencil")->host(&args);
}

/* Returns an element of a row, or zero beside it. */
static float beside(const float *row, int64_t column, int64_t columns)
{
    return column >= 0 && column < columns ? row[column] : 0;
}

/* Returns what one step makes of an element, by the definition. */
static float by_definition(const struct padded *from, uint64_t element, uint32_t halo)
{
    const int64_t columns = (int64_t)from->columns, column = (int64_t)element % columns;
    const float *row = from->all + from->border + element - column;
    float weight = 0.5f, sum = 0;
    while (weight * 4 * (float)halo > 0.5f)
        weight /= 2;
    if (weight > 0.125f)
        weight = 0.125f;
    for (int64_t k = 1; k <= (int64_t)halo; k++)
        sum += (row[column - k * columns] + row[column + k * columns]) +
               (beside(row, column - k, columns) + beside(row, column + k, columns));
    return row[column] / 2 + weight * sum;
}

static const struct {
    uint64_t columns, rows;
    uint32_t halo;
} shapes[] = {
    {1, 1, 1},      {1, 7, 2},     {7, 1, 3},    {3, 5, 4},     {5, 3, 1},
    {256, 4, 1},    {257, 9, 2},   {1000, 3, 5}, {513, 40, 16}, {64, 700, 3},
    {100, 100, 64}, {40000, 3, 1}, {33, 9, 0},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

START_TEST(twin_is_the_definition)
{
    const uint32_t halo = shapes[_i].halo;
    struct padded from = padded_take(shapes[_i].columns, shapes[_i].rows, halo);
    struct padded to = padded_take(shapes[_i].columns, shapes[_i].rows, halo);
    run_twin(&from, &to, halo);
    for (uint64_t i = 0; i < from.count; i++) {
        const float right = by_definition(&from, i, halo), is = to.all[to.border + i];
        ck_assert_msg(memcmp(&right, &is, sizeof is) == 0, "element %u: %a, should be %a",
                      (unsigned)i, (double)is, (double)right);
    }
    free(from.all);
    free(to.all);
}
END_TEST

/* Makes steps by the twin, and has the whole judged; with `spoil` one element is off a little
 * in between. */
static enum kernel_verdict judge(uint64_t columns, uint64_t rows, uint32_t halo, uint32_t steps,
                                 float spoil, struct kernel_fault *fault)
{
    struct padded first = padded_take(columns, rows, halo);
    struct padded now = padded_take(columns, rows, halo);
    struct padded next = padded_take(columns, rows, halo);
    memcpy(now.all, first.all, (first.count + 2 * first.border) * sizeof *first.all);
    for (uint32_t step = 0; step < steps; step++) {
        struct padded before = now;
        now.all[now.border + now.count / 2] += step == steps / 2 ? spoil : 0;
        run_twin(&now, &next, halo);
        now = next;
        next = before;
    }
    const struct kernel_args whole = {
        .in = {first.all + first.border},
        .out = now.all + now.border,
        .count = first.count,
        .params = {.intensity = 1, .columns = columns, .halo = halo, .steps = steps},
    };
    enum kernel_verdict verdict = table_code("stencil")->check(&whole, fault);
    free(first.all);
    free(now.all);
    free(next.all);
    return verdict;
}

START_TEST(check_knows_right_from_wrong)
{
    static const uint32_t steps[] = {1, 2, 7, 50};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct kernel_fault fault;
        ck_assert_int_eq(
            judge(shapes[_i].columns, shapes[_i].rows, shapes[_i].halo, steps[i], 0, &fault),
            KERNEL_RIGHT);
        if (steps[i] > 7)
            continue; /* what is off a little spreads until it is lost among the roundings */
        ck_assert_int_eq(judge(shapes[_i].columns, shapes[_i].rows, shapes[_i].halo, steps[i],
                               0.25f, &fault),
                         KERNEL_WRONG);
        ck_assert_uint_lt(fault.element, shapes[_i].columns * shapes[_i].rows);
        ck_assert(fabs(fault.actual - fault.value) > fault.bound);
    }
}
END_TEST

/* NaN spreads to where it is read, and nothing is claimed of what may overflow. */
START_TEST(check_minds_special_values)
{
    const float specials[] = {NAN, INFINITY, 3e38f};
    for (size_t i = 0; i < 3; i++) {
        float in[3 * 3] = {0}, out[3 * 3] = {0};
        struct kernel_fault fault;
        in[4] = specials[i];
        const struct kernel_args whole = {
            .in = {in},
            .out = out,
            .count = 9,
            .params = {.intensity = 1, .columns = 3, .halo = 1, .steps = 1}};
        enum kernel_verdict verdict = table_code("stencil")->check(&whole, &fault);
        ck_assert_int_eq(verdict, i == 0 ? KERNEL_WRONG : KERNEL_RIGHT);
        ck_assert(i > 0 || fault.element == 1);
    }
}
END_TEST

START_TEST(cost_grows_with_neighbours)
{
    const struct kernel *stencil = table_row("stencil");
    const struct kernel_params narrow = {.intensity = 1, .columns = 8, .halo = 1},
                               wide = {.intensity = 1, .columns = 8, .halo = 5};
    ck_assert(kernel_flops_per_element(stencil, &narrow) == 7);
    ck_assert(kernel_flops_per_element(stencil, &wide) == 23);
    ck_assert(kernel_bytes_per_element(stencil) == 8);
    ck_assert_ptr_nonnull(kernel_needs_neighbours(stencil));
}
END_TEST

Suite *stencil_suite(void)
{
    Suite *suite = suite_create("stencil");
    TCase *tcase = tcase_create("stencil");
    tcase_add_loop_test(tcase, twin_is_the_definition, 0, SHAPES);
    tcase_add_loop_test(tcase, check_knows_right_from_wrong, 0, SHAPES);
    tcase_add_test(tcase, check_minds_special_values);
    tcase_add_test(tcase, cost_grows_with_neighbours);
    suite_add_tcase(suite, tcase);
    return suite;
}
