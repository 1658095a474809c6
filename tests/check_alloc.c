/* check_alloc.c - memory that is taken for each tile: the plans, what is wrong with plans that
 * are tampered with, the races without a wait, and what the program says. */
#include "check_kernels_util.h"
#include "fixtures.h"
#include "plan/build.h"
#include "plan/hazard.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <string.h>

static const char *const chains[] = {"scale", "wave,scale",     "sum",           "scale,sum",
                                     "scan",  "reduce-shuffle", "transpose-fine"};
enum { CHAINS = sizeof chains / sizeof *chains };

static struct settings random_settings(uint64_t *random)
{
    struct settings settings =
        test_random_settings(random, chains[test_random_below(random, CHAINS)], 30, 3);
    settings.elements =
        settings.tiles * settings_unit(&settings) * (1 + test_random_below(random, 9));
    settings.alloc = (enum alloc)(ALLOC_LOOP + test_random_below(random, 3));
    return settings;
}

static uint32_t count_actions(const struct plan *plan, enum alloc_action action)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->op_count; i++)
        count += plan->ops[i].kind == OP_ALLOC && plan->ops[i].alloc.action == action;
    return count;
}

/* Every tile takes its inputs' and its result's memory once and gives both back; the plan is
 * sound (plan_build() sees to that) and free of races. */
START_TEST(test_plans)
{
    uint64_t random = 20;
    for (int i = 0; i < 400; i++) {
        const struct settings settings = random_settings(&random);
        struct plan plan = test_built(&settings);
        const uint32_t takes = count_actions(&plan, ALLOC_TAKE);
        const uint32_t buffers = 1 + (plan.buffer_bytes[BUFFER_DEVICE_IN1] > 0) +
                                 (plan.buffer_bytes[BUFFER_DEVICE_OUT] > 0);
        ck_assert_uint_eq(takes, plan.tiles * buffers);
        ck_assert_uint_eq(count_actions(&plan, ALLOC_GIVE), takes);
        ck_assert_uint_eq(count_actions(&plan, ALLOC_PAIR), 0);
        ck_assert_uint_eq(test_hazard_count(&plan), 0);
        for (uint32_t k = 0; k < plan.op_count; k++) {
            const struct op *op = &plan.ops[k];
            ck_assert(op->kind != OP_ALLOC ||
                      op->alloc.ordered == (settings.alloc != ALLOC_LOOP));
        }
        plan_free(&plan);
    }
}
END_TEST

static struct op *action_of(struct plan *plan, enum alloc_action action, uint32_t number)
{
    for (uint32_t i = 0; i < plan->op_count; i++) {
        struct op *op = &plan->ops[i];
        if (op->kind == OP_ALLOC && op->alloc.action == action && number-- == 0)
            return op;
    }
    ck_abort_msg("there is no such action");
}

/* One action in another's place is refused, by what it breaks. */
START_TEST(test_faults)
{
    struct settings settings = test_settings("wave");
    settings.tiles = 12;
    settings.elements = 12000;
    settings.streams = 3;
    settings.alloc = ALLOC_ASYNC;
    struct plan plan = test_built(&settings);
    struct op *take = action_of(&plan, ALLOC_TAKE, 4), *give = action_of(&plan, ALLOC_GIVE, 4);
    take->alloc.action = ALLOC_GIVE;
    test_plan_refused(&plan, "gives back memory that is not taken");
    take->alloc.action = ALLOC_TAKE;
    give->alloc.action = ALLOC_TAKE;
    test_plan_refused(&plan, "takes memory that is taken");
    give->alloc.action = ALLOC_GIVE;
    const struct op kept = *take;
    *take = (struct op){.id = kept.id, .kind = OP_CALLBACK, .stream = 0, .tile = kept.tile};
    test_plan_refused(&plan, "works on memory that is not taken");
    *take = kept;
    take->alloc.range.offset += 4;
    test_plan_refused(&plan, "is no slot");
    *take = kept;
    take->alloc.range.buffer = BUFFER_DEVICE_SCRATCH;
    test_plan_refused(&plan, "none that a tile has");
    *take = kept;
    take->alloc.stream = plan.streams;
    test_plan_refused(&plan, "the order of no stream");
    *take = kept;
    struct error error = {0};
    ck_assert_int_eq(plan_validate(&plan, &error), STATUS_OK);
    plan_free(&plan);
}
END_TEST

/* Memory that is given back in the order of another stream may be gone before its last use: a
 * race. By the host, which waits, it is none. */
START_TEST(test_a_give_too_early_is_a_hazard)
{
    struct settings settings = test_settings("wave");
    settings.tiles = 12;
    settings.elements = 12000;
    settings.streams = 3;
    settings.alloc = ALLOC_POOL;
    struct plan plan = test_built(&settings);
    ck_assert_uint_eq(test_hazard_count(&plan), 0);
    struct op *give = action_of(&plan, ALLOC_GIVE, 3);
    give->alloc.stream = (give->alloc.stream + 1) % plan.streams;
    ck_assert_uint_gt(test_hazard_count(&plan), 0);
    give->alloc.ordered = false;
    ck_assert_uint_eq(test_hazard_count(&plan), 0);
    plan_free(&plan);
}
END_TEST

/* --- the program --- */

static void refused(const char *arguments, const char *why)
{
    ck_assert_int_eq(program_run(arguments), 2);
    assert_has(program_err, why);
}

START_TEST(test_program)
{
    refused("-q --alloc=loop --memory=mapped", "copies none: use --memory=pinned, pageable");
    refused("-q --alloc=async --issue=graph", "use --issue=streams, or --alloc=once\n");
    refused("-q --alloc=pool --issue=auto", "use --issue=streams, or --alloc=once\n");
    refused("-q --alloc=pool --pack -t 64", "use --pack=no, or --alloc=once\n");
    refused("-q --alloc=async -d sim:h200*2",
            "has several: use a --device such as sim:h200, or --alloc=once\n");
    refused("-q --alloc=loop --mistake=sync-in-loop", "use --mistake=none, or --alloc=once\n");
    refused("-q --alloc=async -k stencil --columns=64 -n 64k",
            "on the device for all steps: use --alloc=once\n");
    refused("-q --alloc=sometimes", "must be once, loop, async, pool\n");
    ck_assert_int_eq(program_run("-n 64k -t 16 --gantt=none --alloc=loop --timeline=t.csv"), 0);
    assert_has(program_out, " with alloc=loop on 64k elements");
    assert_has(program_out, "alloc-in-loop costs");
    assert_has(program_out, "with --alloc=once it would take");
    ck_assert_int_eq(program_run("view t.csv --gantt=none"), 0);
    assert_has(program_out, "alloc-in-loop");
    ck_assert_int_eq(program_run("-n 64k -t 16 --gantt=none --alloc=async"), 0);
    assert_has(program_out, "alloc-in-stream");
    ck_assert_int_eq(program_run("-q -t 2 --alloc=pool --dry-run"), 0);
    assert_has(program_out, "take device.in0 0");
    assert_has(program_out, "in the order of stream 0");
}
END_TEST

Suite *alloc_suite(void)
{
    Suite *suite = suite_create("alloc");
    TCase *tests = tcase_create("alloc");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_plans);
    tcase_add_test(tests, test_faults);
    tcase_add_test(tests, test_a_give_too_early_is_a_hazard);
    suite_add_tcase(suite, tests);
    TCase *program = tcase_create("program");
    tcase_add_checked_fixture(program, test_folder_enter, test_folder_leave);
    tcase_add_test(program, test_program);
    suite_add_tcase(suite, program);
    return suite;
}
