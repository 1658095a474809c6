/* check_launches.c - `wave-launches`, whose repeats are a launch each: what they leave, what
 * they cost, the plans, and whole runs on simulated machines. */
#include "analysis/limit.h"
#include "app/backends.h"
#include "check_kernels_util.h"
#include "fixtures.h"
#include "report/tune.h"
#include "run/arrays.h"
#include "run/backend.h"
#include "run/verify.h"
#include "suites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the twin --- */

/* How many of `out` are not what `intensity` repeats make of the inputs. */
static uint64_t count_wrong(const float *x, const float *y, const float *out, uint64_t count,
                            uint32_t intensity)
{
    const struct kernel_params params = {.intensity = intensity};
    struct oracle oracle = oracle_create(x, count);
    uint64_t wrong = 0;
    table_code("wave-launches")->oracle_map(&oracle, y, &params);
    for (uint64_t i = 0; i < count; i++)
        wrong += !is_right((double)out[i], oracle.value[i], oracle.bound[i]);
    oracle_free(&oracle);
    return wrong;
}

/* The launches come to what the loop of `wave` does, whatever was in the output before; one
 * more or one less does not. */
static void check_twin(uint64_t count, uint32_t intensity)
{
    float *x = random_floats(count, 2), *y = random_floats(count, 2);
    float *out = random_floats(count + 1, 5), *loop = take_zeroed(count, sizeof *loop);
    out[count] = TEST_GUARD;
    run_host("wave-launches", x, y, out, count, intensity);
    ck_assert(out[count] == TEST_GUARD);
    ck_assert_uint_eq(count_wrong(x, y, out, count, intensity), 0);
    run_host("wave", x, y, loop, count, intensity);
    ck_assert_uint_eq(count_wrong(x, y, loop, count, intensity), 0);
    if (count >= 31 && intensity < 4) {
        ck_assert_uint_gt(count_wrong(x, y, out, count, intensity + 1), 0);
        ck_assert(intensity == 1 || count_wrong(x, y, out, count, intensity - 1) > 0);
    }
    free(x);
    free(y);
    free(out);
    free(loop);
}

START_TEST(test_twin_at_all_counts)
{
    for (uint32_t intensity = 1; intensity <= 5; intensity++)
        check_twin(test_counts[_i], intensity);
}
END_TEST

/* --- what it costs --- */

/* A launch reads both inputs and, but for the first one, what the last one left, and writes. */
START_TEST(test_launches_cost)
{
    const struct kernel *launches = table_row("wave-launches"), *wave = table_row("wave");
    const struct kernel_params params = {.intensity = 5}, once = {.intensity = 1};
    struct machine machine = test_machine();
    machine.memory_bytes_per_s = machine.cpu_bytes_per_s = 1e9;
    machine.flops_per_s = machine.cpu_flops_per_s = 1e15;
    ck_assert_uint_eq(kernel_launches(launches, &params), 5);
    ck_assert_uint_eq(kernel_launches(wave, &params), 1);
    ck_assert_uint_eq(
        kernel_chain_launches((const struct kernel *[]){launches, wave}, 2, &params), 6);
    ck_assert_double_eq_tol(machine_kernel_ns(&machine, launches, &params, 10),
                            10 * (12 + 4 * 16), 1e-6);
    ck_assert_double_eq_tol(machine_cpu_ns(&machine, launches, &params, 10), 10 * (12 + 4 * 16),
                            1e-6);
    ck_assert_double_eq_tol(machine_kernel_ns(&machine, launches, &once, 10), 120, 1e-6);
    ck_assert_double_eq_tol(machine_kernel_ns(&machine, wave, &params, 10), 120, 1e-6);
    machine.flops_per_s = machine.cpu_flops_per_s = 1e6;
    ck_assert_double_eq_tol(machine_kernel_ns(&machine, launches, &params, 10),
                            machine_kernel_ns(&machine, wave, &params, 10), 1e-3);
    ck_assert_double_eq_tol(machine_cpu_ns(&machine, launches, &params, 10),
                            machine_cpu_ns(&machine, wave, &params, 10), 1e-3);
    /* The CPU's own rate of bytes has the first repeat's arithmetic in it. */
    const double all_ns = machine_cpu_ns(&machine, wave, &params, 10),
                 one_ns = machine_cpu_ns(&machine, wave, &once, 10);
    machine.kernel_count = 1;
    machine.kernels[0] =
        (struct machine_kernel){.name = "wave", .cpu_bytes_per_s = 12e9 * 10 / (one_ns / 2)};
    ck_assert_double_eq_tol(machine_cpu_ns(&machine, wave, &once, 10), one_ns / 2, 1e-3);
    ck_assert_double_eq_tol(machine_cpu_ns(&machine, wave, &params, 10), all_ns - one_ns / 2,
                            1e-3);
}
END_TEST

/* The arithmetic is that of `wave`: so is its rate, unless the machine file knows better. */
START_TEST(test_a_machine_takes_the_rates_of_wave)
{
    const struct kernel *kernel = table_row("wave-launches");
    const struct kernel_params once = {.intensity = 1};
    struct machine machine = test_machine();
    machine.kernel_count = 1;
    machine.kernels[0] = (struct machine_kernel){.name = "wave", .flops_per_s = 2e9};
    ck_assert_double_eq_tol(machine_kernel_ns(&machine, kernel, &once, 100), 5000, 1e-6);
    machine.kernel_count = 2;
    machine.kernels[1] = (struct machine_kernel){.name = "wave-launches", .flops_per_s = 1e10};
    ck_assert_double_eq_tol(machine_kernel_ns(&machine, kernel, &once, 100), 1000, 1e-6);
}
END_TEST

/* --- plans --- */

static bool reads_output(const struct op *op)
{
    struct access access[OP_ACCESS_MAX];
    bool reads = false;
    for (int i = op_accesses(op, access) - 1; i >= 0; i--)
        reads = reads || (!access[i].writes && access[i].range.buffer == BUFFER_DEVICE_OUT);
    return reads;
}

START_TEST(test_a_plan_has_a_launch_per_repeat)
{
    struct settings settings = test_settings("wave-launches,scale");
    settings.tiles = 3;
    settings.intensity = 4;
    struct plan plan = test_built(&settings);
    ck_assert_uint_eq(plan.op_count, 3 * (2 + 4 + 1 + 1));
    for (uint32_t tile = 0; tile < 3; tile++) {
        const struct op *op = &plan.ops[tile * 8 + 2];
        for (uint32_t repeat = 0; repeat < 4; repeat++, op++) {
            ck_assert(op->kind == OP_KERNEL && op->tile == (int32_t)tile);
            ck_assert(op->kernel.link == 0 && op->kernel.repeat == repeat);
            ck_assert(reads_output(op) == (repeat > 0));
        }
        ck_assert(op->kind == OP_KERNEL && op->kernel.link == 1 && op->kernel.repeat == 0);
    }
    plan_free(&plan);
}
END_TEST

/* Without the wait for the copies in, each launch of a tile races with them. */
START_TEST(test_each_launch_races_without_its_wait)
{
    struct settings settings = test_settings("wave-launches");
    settings.tiles = 2;
    settings.intensity = 3;
    settings.layout = LAYOUT_STAGE;
    settings.mistake = test_mistake("missing-wait");
    struct plan plan = test_built(&settings);
    struct hazard hazards[64];
    struct error error = {0};
    size_t count = 0;
    uint32_t racing[3] = {0};
    ck_assert_int_eq(plan_hazards(&plan, hazards, 64, &count, &error), STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        const struct op *first = &plan.ops[hazards[i].first],
                        *second = &plan.ops[hazards[i].second];
        ck_assert(first->kind == OP_H2D && second->kind == OP_KERNEL);
        racing[second->kernel.repeat]++;
    }
    for (int repeat = 0; repeat < 3; repeat++)
        ck_assert_uint_eq(racing[repeat], 4); /* two tiles' two inputs */
    plan_free(&plan);
}
END_TEST

/* The simulator is not asked for millions of launches to choose a number of tiles. */
START_TEST(test_tuning_heeds_the_launches)
{
    struct settings settings = test_settings("wave-launches");
    struct tuned tuned;
    struct error error = {0};
    struct machine machine = test_machine_named("h200");
    settings.elements = 1 << 22;
    settings.intensity = 2000;
    settings.tiles = settings.streams = 0;
    ck_assert_int_eq(tune_settings(&settings, &machine, NULL, &tuned, &error), STATUS_OK);
    ck_assert_uint_ge(tuned.candidates, 5);
    ck_assert_uint_le(tuned.tiles, 32);
    settings.tiles = 100000;
    settings.streams = 0;
    ck_assert_int_eq(tune_settings(&settings, &machine, NULL, &tuned, &error), STATUS_OK);
    ck_assert_uint_eq(settings.tiles, 100000);
    ck_assert_uint_ge(settings.streams, 1);
}
END_TEST

/* --- runs --- */

static struct settings random_settings(uint64_t *random)
{
    static const char *const chains[] = {"wave-launches", "wave-launches,scale",
                                         "wave-launches,wave,uniform"};
    struct settings settings =
        test_random_settings(random, chains[test_random_below(random, 3)], 12, 4);
    settings.intensity = 1 + test_random_below(random, 5);
    settings.cpu_share = test_random_below(random, 3) / 2.0;
    return settings;
}

/* Each launch has a span of its own, behind that of the one before. */
static void assert_spans(const struct plan *plan, const struct timeline *timeline)
{
    const uint32_t none = UINT32_MAX;
    uint32_t launches = 0, last = none;
    int64_t end_ns = 0;
    for (uint32_t op = 0; op < plan->op_count; op++) {
        if (plan->ops[op].kind != OP_KERNEL || plan->ops[op].kernel.link != 0)
            continue;
        const struct span *span = NULL;
        for (uint32_t i = 0; i < timeline->span_count; i++)
            if (timeline->spans[i].op == op) {
                ck_assert_ptr_null(span);
                span = &timeline->spans[i];
            }
        ck_assert_ptr_nonnull(span);
        ck_assert_int_gt(span->end_ns, span->start_ns);
        if (plan->ops[op].kernel.repeat > 0) {
            ck_assert_uint_eq(op, last + 1);
            ck_assert_int_ge(span->start_ns, end_ns);
        }
        end_ns = span->end_ns;
        last = op;
        launches++;
    }
    ck_assert_uint_eq(launches, (plan->tiles - plan->cpu_tiles) *
                                    kernel_launches(plan->chain[0], &plan->params));
}

/* Everything of one run on a simulated machine. */
static void check_run(const struct settings *settings)
{
    const struct backend_ops *ops;
    const char *argument;
    struct backend *backend;
    struct machine machine;
    struct arrays arrays;
    struct timeline timeline = {0};
    struct run_times times;
    struct error error = {0};
    enum status status = backend_select(backends, settings->device, &ops, &argument, &error);
    ck_assert_int_eq(status, STATUS_OK);
    ck_assert_int_eq(ops->open(argument, settings, &backend, &error), STATUS_OK);
    ck_assert_int_eq(ops->describe(backend, settings, &machine, &error), STATUS_OK);
    struct plan plan = test_built_on(settings, &machine);
    ck_assert_int_eq(arrays_create(&arrays, &plan, settings, &error), STATUS_OK);
    arrays_poison(&arrays);
    const struct workload workload = {.plan = &plan, .settings = settings, .arrays = &arrays};
    ck_assert_int_eq(ops->prepare(backend, &workload, &error), STATUS_OK);
    ck_assert_int_eq(ops->run(backend, &timeline, &times, &error), STATUS_OK);
    ck_assert_msg(verify_output(&plan, &arrays, &error) == STATUS_OK, "%s", error.text);
    assert_spans(&plan, &timeline);
    /* Simulated times are whole nanoseconds: each op may have been rounded down. */
    ck_assert_int_ge(times.time_ns + plan.op_count / 2 + 1, limit_of(&machine, &plan).ns);
    ops->release(backend);
    ops->close(backend);
    timeline_free(&timeline);
    arrays_free(&arrays);
    plan_free(&plan);
}

START_TEST(test_runs_of_random_settings)
{
    static const char *const devices[] = {"sim:h200", "sim:c1060", "sim:c2050", "sim:k20c"};
    uint64_t random = 161803;
    for (int i = 0; i < test_cases(200); i++) {
        struct settings settings = random_settings(&random);
        settings.device = devices[i % 4];
        check_run(&settings);
    }
}
END_TEST

Suite *launches_suite(void)
{
    Suite *suite = suite_create("launches");
    TCase *tcase = tcase_create("launches");
    tcase_add_loop_test(tcase, test_twin_at_all_counts, 0, TEST_COUNTS);
    tcase_add_test(tcase, test_launches_cost);
    tcase_add_test(tcase, test_a_machine_takes_the_rates_of_wave);
    tcase_add_test(tcase, test_a_plan_has_a_launch_per_repeat);
    tcase_add_test(tcase, test_each_launch_races_without_its_wait);
    tcase_add_test(tcase, test_tuning_heeds_the_launches);
    tcase_add_test(tcase, test_runs_of_random_settings);
    suite_add_tcase(suite, tcase);
    return suite;
}
