/* check_model.c - the closed formulas by hand, and against the simulator where they are exact.
 */
#include "fixtures.h"
#include "plan/build.h"
#include "report/model.h"
#include "sim_cases.h"
#include "suites.h"

#include <math.h>
#include <stdlib.h>

static struct plan plan_for(const struct settings *settings, const struct machine *machine)
{
    struct plan plan;
    struct error error = {0};
    ck_assert_msg(plan_build(settings, machine, &plan, &error) == STATUS_OK, "%s", error.text);
    return plan;
}

static struct model_parts parts_of(const struct settings *settings,
                                   const struct machine *machine)
{
    struct plan plan = plan_for(settings, machine);
    struct model_parts parts;
    struct error error = {0};
    ck_assert_int_eq(model_parts_of(machine, &plan, &parts, &error), STATUS_OK);
    plan_free(&plan);
    return parts;
}

static int64_t predicted_ns(enum model model, const struct settings *settings,
                            const struct machine *machine)
{
    struct plan plan = plan_for(settings, machine);
    struct error error = {0};
    int64_t span_ns = -1;
    ck_assert_msg(model_span_ns(model, machine, &plan, settings, &span_ns, &error) == STATUS_OK,
                  "%s", error.text);
    plan_free(&plan);
    return span_ns;
}

/* --- the parts --- */

/* Four tiles of 100 bytes each way at 1 byte/ns. */
START_TEST(test_copies_of_a_plan)
{
    struct machine machine = test_machine();
    machine.h2d_latency_ns = 10;
    machine.h2d_gap_ns = 5;
    machine.d2h_latency_ns = 20;
    machine.d2h_gap_ns = 3;
    machine.issue_copy_ns = 1; /* of the first: the others' calls come while it copies */
    machine.signal_gap_ns = 7;
    struct settings settings = test_settings("scale");
    settings.elements = 100;
    struct model_parts parts = parts_of(&settings, &machine);
    ck_assert_uint_eq(parts.chunks, 4);
    ck_assert_int_eq(parts.copy_engines, 2);
    ck_assert(!parts.synchronises);
    ck_assert_double_eq(parts.in.whole_ns, 1 + 10 + 400);
    ck_assert_double_eq(parts.in.all_ns, 1 + 4 * (10 + 100) + 3 * 5);
    ck_assert_double_eq(parts.in.chunk_ns, 1 + 10 + 100);
    ck_assert_double_eq(parts.out.whole_ns, 1 + 20 + 400);
    ck_assert_double_eq(parts.out.all_ns, 1 + 4 * (20 + 100) + 3 * 3);
    ck_assert_double_eq(parts.out.chunk_ns, 1 + 20 + 100);
    /* What it costs to divide, shared out, and a launch. */
    machine.kernel_latency_ns = 50;
    parts = parts_of(&settings, &machine);
    ck_assert_double_eq(parts.overhead_ns, (3 * (10 + 5) + 3 * (20 + 3)) / 4.0 + 50);
    machine.compute_capability = 2.0; /* and 128 concurrent kernels */
    ck_assert(parts_of(&settings, &machine).synchronises);
}
END_TEST

/* Two arrays in: two copies a tile, one behind the other. A reduction: a value out. */
START_TEST(test_copies_of_other_kernels)
{
    struct machine machine = test_machine();
    machine.h2d_latency_ns = 10;
    machine.h2d_gap_ns = machine.signal_gap_ns = 5;
    struct settings settings = test_settings("wave,sum");
    settings.elements = 100;
    struct model_parts parts = parts_of(&settings, &machine);
    ck_assert_double_eq(parts.in.all_ns, 8 * (10 + 100) + 7 * 5);
    ck_assert_double_eq(parts.in.chunk_ns, 2 * (10 + 100) + 5);
    ck_assert_double_eq(parts.out.all_ns, 4 * 4);
    ck_assert_double_eq(parts.out.chunk_ns, 4);
    settings.memory = MEMORY_PAGEABLE;
    machine.pageable_h2d_bytes_per_s = 0.5e9;
    machine.pageable_d2h_bytes_per_s = 2e9; /* the link is slower */
    parts = parts_of(&settings, &machine);
    ck_assert_double_eq(parts.in.whole_ns, 10 + 2 * 800);
    ck_assert_double_eq(parts.out.whole_ns, 16);
}
END_TEST

/* A tile of one block leaves seven of the GPU's eight slots idle: its kernel takes eight times
 * as long as its work would on all of it. */
START_TEST(test_kernels_take_what_they_take_alone)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("scale");
    settings.tiles = 1;
    settings.elements = KERNEL_THREADS;
    double one_block = parts_of(&settings, &machine).kernels_ns;
    double work = machine_kernel_ns(&machine, settings.chain[0],
                                    &(struct kernel_params){.intensity = 1}, KERNEL_THREADS);
    ck_assert_double_eq_tol(one_block, 8 * work, 1);
    settings.elements = UINT64_C(1) << 22; /* a multiple of all slots' sweeps */
    work = machine_kernel_ns(&machine, settings.chain[0],
                             &(struct kernel_params){.intensity = 1}, settings.elements);
    ck_assert_double_eq_tol(parts_of(&settings, &machine).kernels_ns, work, 1e-5 * work);
    settings.tiles = 4;
    ck_assert_double_eq_tol(parts_of(&settings, &machine).kernels_ns, work, 1e-5 * work);
}
END_TEST

START_TEST(test_all_on_the_cpu)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("scale");
    settings.ways = 4;
    settings.cpu_share = 1;
    ck_assert_uint_eq(parts_of(&settings, &machine).chunks, 0);
    ck_assert_int_eq(predicted_ns(MODEL_WERKHOVEN, &settings, &machine), 0);
    ck_assert_int_eq(predicted_ns(MODEL_GOMEZ_LUNA, &settings, &machine), 0);
    ck_assert_int_gt(predicted_ns(MODEL_SIM, &settings, &machine), 0);
}
END_TEST

/* --- the formulas, by hand --- */

static const struct model_parts example = {
    .in = {.whole_ns = 400, .all_ns = 420, .chunk_ns = 105},
    .out = {.whole_ns = 200, .all_ns = 220, .chunk_ns = 55},
    .kernels_ns = 100,
    .overhead_ns = 10,
    .chunks = 4,
    .copy_engines = 2,
};

START_TEST(test_werkhoven_by_hand)
{
    struct model_parts parts = example;
    ck_assert_double_eq(model_werkhoven_ns(&parts, 1), 420 + 100 + 220);
    ck_assert_double_eq(model_werkhoven_ns(&parts, 2), 420 + 25 + 220);
    ck_assert_double_eq(model_werkhoven_ns(&parts, 3), 420 + 25 + 55);
    ck_assert_double_eq(model_werkhoven_ns(&parts, 4), 420 + 25 + 55);
    parts.kernels_ns = 1000;
    ck_assert_double_eq(model_werkhoven_ns(&parts, 2), 420 + 1000 + 55);
    ck_assert_double_eq(model_werkhoven_ns(&parts, 3), 105 + 1000 + 55);
    parts.kernels_ns = 100;
    parts.out = (struct model_copies){800, 820, 205};
    ck_assert_double_eq(model_werkhoven_ns(&parts, 3), 105 + 25 + 820);
    parts.copy_engines = 1;
    ck_assert_double_eq(model_werkhoven_ns(&parts, 3), 420 + 820);
    parts.kernels_ns = 2000;
    ck_assert_double_eq(model_werkhoven_ns(&parts, 3), 105 + 2000 + 205);
    parts.synchronises = true;
    ck_assert_double_eq(model_werkhoven_ns(&parts, 3), 105 + 2000 + 820);
    ck_assert_double_eq(model_werkhoven_ns(&parts, 2), 420 + 2000 + 820);
    parts.kernels_ns = 100;
    ck_assert_double_eq(model_werkhoven_ns(&parts, 3), 420 + 25 + 820);
}
END_TEST

START_TEST(test_gomez_luna_by_hand)
{
    struct model_parts parts = example;
    ck_assert_double_eq(model_gomez_luna_ns(&parts, 1), 420 + 100 + 220);
    /* The copies of both directions, 600, dominate; then the kernels do. */
    ck_assert_double_eq(model_gomez_luna_ns(&parts, 3), 600 + 100 / 4.0 + 4 * 10);
    ck_assert_double_eq(model_gomez_luna_ns(&parts, 2), 400 + 200 + 100 / 4.0 + 4 * 10);
    parts.kernels_ns = 1000;
    ck_assert_double_eq(model_gomez_luna_ns(&parts, 3), 1000 + 600 / 4.0 + 4 * 10);
    ck_assert_double_eq(model_gomez_luna_ns(&parts, 4), 1000 + 600 / 4.0 + 4 * 10);
    ck_assert_double_eq(model_gomez_luna_ns(&parts, 2), 400 + 1000 + 200 / 4.0 + 4 * 10);
    /* Copies out come after the last kernel: only those in overlap. */
    parts.synchronises = true;
    ck_assert_double_eq(model_gomez_luna_ns(&parts, 3), 1000 + 400 / 4.0 + 4 * 10 + 200);
    ck_assert_double_eq(model_gomez_luna_ns(&parts, 2), 420 + 1000 + 220);
    parts.kernels_ns = 100;
    ck_assert_double_eq(model_gomez_luna_ns(&parts, 3), 400 + 100 / 4.0 + 4 * 10 + 200);
}
END_TEST

/* --- against the simulator --- */

/* Equal tiles that are issued breadth-first, each in a stream of its own, on a machine whose
 * calls, latencies and gaps cost nothing and whose directions don't slow each other down: what
 * the formula assumes. Kernels fill the GPU, so that no two run side by side. */
static struct settings ideal_settings(uint64_t *random)
{
    struct settings settings = test_settings("scale");
    settings.tiles = settings.streams = 1 + test_random_below(random, 20);
    settings.elements = settings.tiles * UINT64_C(8192) * (1 + test_random_below(random, 8));
    settings.intensity = 1 + test_random_below(random, 12);
    settings.order = ORDER_BREADTH;
    settings.ways = 1 + (int)test_random_below(random, 3);
    if (settings.ways == 1)
        settings.streams = 1;
    return settings;
}

START_TEST(test_werkhoven_is_exact_where_its_assumptions_hold)
{
    uint64_t random = 577;
    for (int i = 0; i < test_cases(600); i++) {
        struct machine machine = test_machine();
        machine.h2d_bytes_per_s *= 1 + test_random_below(&random, 3);
        machine.d2h_bytes_per_s *= 1 + test_random_below(&random, 3);
        machine.joint_bytes_per_s = machine.h2d_bytes_per_s + machine.d2h_bytes_per_s;
        machine.copy_engines = 1 + (int)test_random_below(&random, 2);
        machine.compute_capability = test_random_below(&random, 2) ? 2.0 : 9.0;
        struct settings settings = ideal_settings(&random);
        if (settings.ways == 2) /* waits between kernels make a difference to those checks */
            machine.compute_capability = 9.0;
        int64_t simulated = predicted_ns(MODEL_SIM, &settings, &machine);
        int64_t formula = predicted_ns(MODEL_WERKHOVEN, &settings, &machine);
        /* Each op is rounded to whole ns. */
        ck_assert_msg(llabs(formula - simulated) <= 4 * settings.tiles,
                      "%u tiles, ways %d, %d engines, capability %.1f, intensity %u: %ld by "
                      "formula, %ld simulated",
                      settings.tiles, settings.ways, machine.copy_engines,
                      machine.compute_capability, settings.intensity, (long)formula,
                      (long)simulated);
    }
}
END_TEST

/* The simulator's own answer is that of a run of the plan; pageable memory counts. */
START_TEST(test_sim_is_the_simulators_span)
{
    struct machine machine;
    struct error error = {0};
    ck_assert_int_eq(machine_built_in(&machine, "h200", &error), STATUS_OK);
    struct settings settings = test_settings("scale");
    settings.elements = 1 << 22;
    struct plan plan = plan_for(&settings, &machine);
    int64_t pinned = predicted_ns(MODEL_SIM, &settings, &machine);
    ck_assert_int_eq(pinned, sim_span_ns(&machine, &plan));
    plan_free(&plan);
    settings.memory = MEMORY_PAGEABLE;
    ck_assert_int_gt(predicted_ns(MODEL_SIM, &settings, &machine), 2 * pinned);
}
END_TEST

/* On a machine as it is, the second opinion is one: of its own, and not absurd. */
START_TEST(test_opinions_differ_within_reason)
{
    struct machine machine;
    struct error error = {0};
    ck_assert_int_eq(machine_built_in(&machine, "h200", &error), STATUS_OK);
    struct settings settings = test_settings("scale");
    settings.elements = UINT64_C(1) << 26;
    settings.tiles = 32;
    double simulated = (double)predicted_ns(MODEL_SIM, &settings, &machine);
    double werkhoven = (double)predicted_ns(MODEL_WERKHOVEN, &settings, &machine);
    double gomez_luna = (double)predicted_ns(MODEL_GOMEZ_LUNA, &settings, &machine);
    ck_assert_double_ne(simulated, werkhoven);
    ck_assert_double_gt(werkhoven, 0.8 * simulated); /* it knows nothing of the joint rate */
    ck_assert_double_lt(werkhoven, simulated);
    ck_assert_double_gt(gomez_luna, 1.5 * simulated); /* it knows one copy engine alone */
    ck_assert_double_lt(gomez_luna, 2.2 * simulated);
}
END_TEST

Suite *model_suite(void)
{
    Suite *suite = suite_create("model");
    TCase *tests = tcase_create("model");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_copies_of_a_plan);
    tcase_add_test(tests, test_copies_of_other_kernels);
    tcase_add_test(tests, test_kernels_take_what_they_take_alone);
    tcase_add_test(tests, test_all_on_the_cpu);
    tcase_add_test(tests, test_werkhoven_by_hand);
    tcase_add_test(tests, test_gomez_luna_by_hand);
    tcase_add_test(tests, test_werkhoven_is_exact_where_its_assumptions_hold);
    tcase_add_test(tests, test_sim_is_the_simulators_span);
    tcase_add_test(tests, test_opinions_differ_within_reason);
    suite_add_tcase(suite, tests);
    return suite;
}
