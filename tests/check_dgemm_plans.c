/* check_dgemm_plans.c - plans with a resident input and panels of two matrices, their runs on
 * the simulator, and the program's words about them. */
#include "analysis/analysis.h"
#include "analysis/limit.h"
#include "app/backends.h"
#include "fixtures.h"
#include "kernels/kernel_code.h"
#include "options_cases.h"
#include "report/tune.h"
#include "run/arrays.h"
#include "run/backend.h"
#include "run/verify.h"
#include "sim_cases.h"
#include "suites.h"
#include "test_emit.h"
#include "test_folder.h"
#include "test_program.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct settings random_settings(uint64_t *random)
{
    struct settings settings = test_random_settings(random, "dgemm", 12, 4);
    settings.rows = 1 + test_random_below(random, 40);
    settings.inner = 1 + test_random_below(random, 20);
    settings.elements = settings.rows * settings.tiles * (1 + test_random_below(random, 4));
    if (settings.ways == 4)
        settings.cpu_share = test_random_below(random, 11) / 10.0;
    return settings;
}

static size_t find_hazards(const struct plan *plan, struct hazard *hazard)
{
    size_t count;
    struct error error = {0};
    ck_assert_int_eq(plan_hazards(plan, hazard, 1, &count, &error), STATUS_OK);
    return count;
}

/* --- plans --- */

/* Panel `tile` of a matrix of `height` rows. */
static void assert_panel(const struct plan *plan, struct range range, enum buffer buffer,
                         uint32_t tile, uint64_t height)
{
    const uint64_t columns = plan->elements / plan->params.rows / plan->tiles;
    ck_assert_int_eq(range.buffer, buffer);
    ck_assert_uint_eq(range.offset, tile * columns * height * 8);
    ck_assert_uint_eq(range.bytes, columns * height * 8);
}

static void assert_whole_a(const struct plan *plan, struct range range, enum buffer buffer)
{
    ck_assert_int_eq(range.buffer, buffer);
    ck_assert_uint_eq(range.offset, 0);
    ck_assert_uint_eq(range.bytes, plan->params.rows * plan->params.inner * 8);
}

static void assert_op(const struct plan *plan, const struct op *op)
{
    const uint64_t rows = plan->params.rows, inner = plan->params.inner;
    if (op->kind == OP_H2D && op->tile >= 0 && op->copy.host.buffer == BUFFER_HOST_IN1)
        assert_panel(plan, op->copy.host, BUFFER_HOST_IN1, (uint32_t)op->tile, inner);
    else if (op->kind == OP_H2D && op->tile >= 0)
        assert_panel(plan, op->copy.host, BUFFER_HOST_IN0, (uint32_t)op->tile, rows);
    else if (op->kind == OP_D2H)
        assert_panel(plan, op->copy.host, BUFFER_HOST_OUT, (uint32_t)op->tile, rows);
    if (op->kind == OP_KERNEL) {
        assert_whole_a(plan, op->kernel.ranges->resident, BUFFER_DEVICE_RESIDENT);
        ck_assert_mem_eq(&op->kernel.ranges->in[0], &op->kernel.ranges->out,
                         sizeof op->kernel.ranges->out);
        ck_assert_uint_eq(op->kernel.ranges->in[1].bytes * rows,
                          op->kernel.ranges->out.bytes * inner);
    } else if (op->kind == OP_CPU) {
        assert_whole_a(plan, op->cpu.ranges->resident, BUFFER_HOST_RESIDENT);
        assert_panel(plan, op->cpu.ranges->in[1], BUFFER_HOST_IN1, (uint32_t)op->tile, inner);
        assert_panel(plan, op->cpu.ranges->out, BUFFER_HOST_OUT, (uint32_t)op->tile, rows);
    }
}

/* A goes in once, before all else that goes in; not where the CPU does it all. */
static void assert_one_upload(const struct plan *plan)
{
    uint32_t uploads = 0, copies_in = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        assert_op(plan, op);
        if (op->kind != OP_H2D)
            continue;
        if (op->tile < 0) {
            ck_assert_uint_eq(copies_in, 0);
            assert_whole_a(plan, op->copy.host, BUFFER_HOST_RESIDENT);
            assert_whole_a(plan, op->copy.device, BUFFER_DEVICE_RESIDENT);
            uploads++;
        }
        copies_in++;
    }
    const uint32_t gpu_tiles = plan->tiles - plan->cpu_tiles;
    ck_assert_uint_eq(uploads, gpu_tiles > 0);
    ck_assert_uint_eq(copies_in, gpu_tiles > 0 ? 1 + 2 * gpu_tiles : 0);
}

START_TEST(test_generated_plans)
{
    uint64_t random = 1977;
    for (int i = 0; i < test_cases(2000); i++) {
        struct settings settings = random_settings(&random);
        struct plan plan = test_built(&settings);
        struct hazard hazard;
        ck_assert_uint_eq(find_hazards(&plan, &hazard), 0);
        assert_one_upload(&plan);
        ck_assert_uint_eq(plan.buffer_bytes[BUFFER_DEVICE_OUT], 0);
        plan_free(&plan);
    }
}
END_TEST

/* Leave any wait out and two ops race: over A, where it is one for the upload. */
START_TEST(test_every_wait_is_needed)
{
    uint64_t random = 11;
    int waits = 0, for_a = 0;
    /* Few cases may have no wait for A: then more are drawn. */
    for (int i = 0; i < test_cases(400) || (for_a == 0 && i < 400); i++) {
        struct settings settings = random_settings(&random);
        struct plan plan = test_built(&settings);
        for (uint32_t w = 0; w < plan.op_count; w++) {
            struct hazard hazard;
            if (plan.ops[w].kind != OP_WAIT)
                continue;
            const struct op kept = plan.ops[w];
            plan.ops[w].kind = OP_RECORD; /* of an event that nothing waits for any more */
            plan.ops[w].event.event = plan.events++;
            ck_assert_uint_eq(find_hazards(&plan, &hazard), 1);
            for_a += hazard.where.buffer == BUFFER_DEVICE_RESIDENT;
            plan.ops[w] = kept;
            waits++;
        }
        plan_free(&plan);
    }
    ck_assert_int_gt(waits, 20);
    ck_assert_int_gt(for_a, 0);
}
END_TEST

/* --- programs of --emit --- */

START_TEST(test_plans_are_programs)
{
    uint64_t random = 23;
    for (int i = 0; i < test_cases(300); i++) {
        struct settings settings = random_settings(&random);
        struct plan plan = test_built(&settings);
        ck_assert_int_eq(emit_plan(&plan, &settings, "/dev/null"),
                         plan.cpu_tiles > 0 ? STATUS_USAGE : STATUS_OK);
        plan_free(&plan);
    }
}
END_TEST

/* A has to come in before the first kernel, and counts among the copies. */
START_TEST(test_limit_counts_the_resident_input)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("dgemm");
    settings.rows = 100;
    settings.inner = 50;
    settings.elements = 100 * 8;
    settings.tiles = 8;
    machine.flops_per_s = 1e15;
    struct plan plan = test_built(&settings);
    /* One byte per ns: A, then a column of B and one of C, and so on. */
    const int64_t a = 8 * 100 * 50, in = 8 * 8 * (50 + 100);
    struct limit limit = limit_of(&machine, &plan);
    ck_assert_int_eq(limit.ns, a + in);
    plan_free(&plan);
}
END_TEST

START_TEST(test_no_run_is_below_its_limit)
{
    uint64_t random = 17;
    struct machine machine = test_machine();
    for (int i = 0; i < test_cases(300); i++) {
        struct settings settings = random_settings(&random);
        struct plan plan = test_built(&settings);
        ck_assert_int_ge(sim_span_ns(&machine, &plan), limit_of(&machine, &plan).ns);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(test_tuned_tiles_are_whole_columns)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("dgemm");
    struct tuned tuned;
    struct error error = {0};
    settings.rows = 512;
    settings.inner = 64;
    settings.elements = 512 * 360;
    settings.tiles = settings.streams = 0;
    ck_assert_msg(tune_settings(&settings, &machine, NULL, &tuned, &error) == STATUS_OK, "%s",
                  error.text);
    ck_assert_uint_eq(360 % settings.tiles, 0);
    ck_assert_uint_gt(settings.tiles, 1);
}
END_TEST

/* --- runs with data --- */

struct rig {
    struct backend *backend;
    const struct backend_ops *ops;
    struct plan plan;
    struct arrays arrays;
};

static void rig_run(struct rig *rig, const struct settings *settings)
{
    const char *argument;
    struct machine machine;
    struct run_times times;
    struct error error = {0};
    ck_assert_int_eq(backend_select(backends, "sim:h200", &rig->ops, &argument, &error),
                     STATUS_OK);
    ck_assert_int_eq(rig->ops->open(argument, settings, &rig->backend, &error), STATUS_OK);
    rig->ops->describe(rig->backend, settings, &machine, &error);
    rig->plan = test_built_on(settings, &machine);
    ck_assert_msg(arrays_create(&rig->arrays, &rig->plan, settings, &error) == STATUS_OK, "%s",
                  error.text);
    arrays_poison(&rig->arrays);
    const struct workload workload = {
        .plan = &rig->plan, .settings = settings, .arrays = &rig->arrays};
    ck_assert_int_eq(rig->ops->prepare(rig->backend, &workload, &error), STATUS_OK);
    ck_assert_int_eq(rig->ops->run(rig->backend, NULL, &times, &error), STATUS_OK);
    ck_assert_msg(verify_output(&rig->plan, &rig->arrays, &error) == STATUS_OK, "%s",
                  error.text);
}

static void rig_free(struct rig *rig)
{
    rig->ops->release(rig->backend);
    rig->ops->close(rig->backend);
    plan_free(&rig->plan);
    arrays_free(&rig->arrays);
}

START_TEST(test_runs_are_right)
{
    uint64_t random = 2011;
    for (int i = 0; i < test_cases(200); i++) {
        struct settings settings = random_settings(&random);
        struct rig rig;
        settings.seed = (uint64_t)i;
        rig_run(&rig, &settings);
        rig_free(&rig);
    }
}
END_TEST

/* No element of A, B and C is like another's by accident of how they are generated. */
START_TEST(test_matrices_differ)
{
    struct settings settings = test_settings("dgemm");
    struct rig rig;
    settings.rows = settings.inner = 16;
    settings.elements = 16 * 16;
    rig_run(&rig, &settings);
    void *const *host = rig.arrays.host;
    ck_assert_uint_eq(rig.arrays.bytes[BUFFER_HOST_RESIDENT], 16 * 16 * 8);
    ck_assert(memcmp(host[BUFFER_HOST_RESIDENT], host[BUFFER_HOST_IN0], 64) != 0);
    ck_assert(memcmp(host[BUFFER_HOST_RESIDENT], host[BUFFER_HOST_IN1], 64) != 0);
    ck_assert(memcmp(host[BUFFER_HOST_IN0], host[BUFFER_HOST_IN1], 64) != 0);
    rig_free(&rig);
}
END_TEST

/* Wherever an element is damaged, tile, row and column are named. */
START_TEST(test_damage_is_named)
{
    struct settings settings = test_settings("dgemm");
    struct rig rig;
    uint64_t random = 5;
    settings.rows = 150;
    settings.inner = 9;
    settings.tiles = 4;
    settings.elements = 150 * 12;
    rig_run(&rig, &settings);
    for (int i = 0; i < test_cases(200); i++) {
        struct error error = {0};
        char words[128];
        const uint32_t at = test_random_below(&random, 150 * 12), tile = at / (150 * 3);
        double *out = rig.arrays.host[BUFFER_HOST_OUT], right = out[at];
        out[at] += 1e-6;
        ck_assert_int_eq(verify_output(&rig.plan, &rig.arrays, &error), STATUS_FAILED);
        snprintf(words, sizeof words,
                 "wrong result: tile %u, element %u (%u of the array: row %u, column %u): "
                 "should be ",
                 tile, at - tile * 450, at, at % 150, at / 150);
        ck_assert_msg(strncmp(error.text, words, strlen(words)) == 0, "%s", error.text);
        out[at] = right;
    }
    rig_free(&rig);
}
END_TEST

/* --- the program --- */

#define SMALL "-q --device=sim:h200 -k dgemm --rows=64 --inner=32 -n 64k -t 8 "

START_TEST(test_report_gives_the_rate)
{
    ck_assert_int_eq(program_run(SMALL "--gantt=none"), 0);
    assert_has(program_out, "dgemm with A of 64 x 32 on 64k elements: 784 KiB in, 512 KiB out");
    assert_has(program_out, "Gflop/s  verified\n");
    ck_assert_int_eq(program_run("-q --device=sim:h200 -n 64k --gantt=none"), 0);
    ck_assert_ptr_null(strstr(program_out, "Gflop/s"));
    ck_assert_int_eq(program_run("-q --device=sim:h200 -n 64k --format=json"), 0);
    ck_assert_ptr_null(strstr(program_out, "gflops"));
    ck_assert_int_eq(program_run(SMALL "--format=json"), 0);
    json_t *root = json_loads(program_out, 0, NULL), *first;
    ck_assert_ptr_nonnull(root);
    first = json_array_get(json_object_get(root, "runs"), 0);
    const double ms = json_real_value(json_object_get(first, "time_ms"));
    const double rate = json_real_value(json_object_get(first, "gflops"));
    ck_assert_double_eq_tol(rate, 2.0 * 65536 * 32 / (1e6 * ms), 1e-5 * rate);
    ck_assert(json_is_true(json_object_get(first, "verified")));
    json_decref(root);
    ck_assert_int_eq(program_run(SMALL "--format=csv"), 0);
    assert_has(program_out, ",predicted_sim_ms,gflops,settings.elements,");
}
END_TEST

/* Settings that dgemm can't work with are refused in one line that says what would work. */
START_TEST(test_refusals)
{
    static const struct {
        const char *arguments, *words;
    } refused[] = {
        {"-k dgemm --rows=64 -n 640 -t 4",
         "--tiles=4 does not divide the array's columns of --rows=64 into tiles of as many "
         "each, as dgemm needs (there are 10 columns): use --tiles=2 or 5"},
        {"-k dgemm --rows=64 -n 448 -t 3", "use --tiles=1 or 7"},
        {"-k dgemm --rows=64 -n 640 -t 11", "use --tiles=10, or --elements=704 or 1408"},
        {"-k dgemm --rows=64 -n 1000 -t 1", "--elements=1000 is no whole number of columns of "
                                            "--rows=64, as dgemm needs: use "
                                            "--elements=960 or 1024"},
        {"-k dgemm --rows=64 -n 10 -t 1", "use --elements=64 or 128"},
        {"-k dgemm --rows=64 -n 1000 -t auto", "no whole number of columns"},
        {"-k dgemm,dgemm", "dgemm can't follow dgemm: dgemm can't be chained"},
        {"-k scale,dgemm", "dgemm can't follow scale: dgemm can't be chained"},
        {"-k dgemm,scale", "scale can't follow dgemm: dgemm can't be chained"},
        {"-k sum,dgemm", "sum leaves one value per tile"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ck_assert_msg(program_run(refused[i].arguments) == 2, "%s", refused[i].arguments);
        assert_has(program_err, refused[i].words);
        ck_assert_ptr_eq(strchr(program_err, '\n'),
                         program_err + strlen(program_err) - 1); /* one line */
    }
}
END_TEST

/* An array of a length that an input file tells is held to the same. */
START_TEST(test_input_of_odd_length)
{
    const double elements[6] = {0};
    test_file_write("six.bin", elements, sizeof elements);
    ck_assert_int_eq(program_run("-q --device=sim -k dgemm --rows=4 --inner=2 -i six.bin -t 1"),
                     2);
    assert_has(program_err, "elements=6 is no whole number of columns of rows=4");
    ck_assert_int_eq(program_run("-q --device=sim -k dgemm --rows=3 --inner=2 -i six.bin -t 2"),
                     0);
}
END_TEST

/* Kernels that wait for no copy in multiply by what is not there yet. Where each waits for its
 * panels, which come in behind A, the race for A is won. */
START_TEST(test_missing_wait)
{
    ck_assert_int_eq(program_run(SMALL "--mistake=missing-wait"), 1);
    assert_has(program_err, "raced");
    assert_shown(program_out, "6 hazards, none |h2d and dgemm 1 |device.resident [0, 16384)");
    ck_assert_int_eq(
        program_run("-q --device=sim:h200 -k dgemm --rows=1k --inner=512 -n 64k -t 8 "
                    "--mistake=missing-wait --layout=stage"),
        1);
    assert_shown(program_out, "h2d and dgemm 0 |device.resident [0, 4194304)");
    assert_has(program_err, "wrong result: tile ");
}
END_TEST

START_TEST(test_configs)
{
    char arguments[1024];
    snprintf(arguments, sizeof arguments,
             "-q --device=sim:h200 --no-data --gantt=none --format=csv %s/../configs/dgemm.ini",
             TESTS_FOLDER);
    ck_assert_int_eq(program_run(arguments), 0);
    assert_has(program_out, "\nserial,simulated");
    assert_has(program_out, "\n4-way,simulated");
    snprintf(arguments, sizeof arguments,
             "-q --device=sim:h200 --gantt=none %s/../configs/dgemm-small.ini", TESTS_FOLDER);
    if (test_cases(100) == 100) /* not under slow tools */
        ck_assert_int_eq(program_run(arguments), 0);
}
END_TEST

/* Without OpenBLAS it is listed, with the reason, and refused. */
START_TEST(test_unavailable)
{
    setenv("PIPELINE_OPENBLAS", "./libnone.so", 1);
    ck_assert_int_eq(program_run("list kernels"), 0);
    assert_has(program_out, "\ndgemm ");
    assert_says(program_out, " not available: OpenBLAS can't be opened: ./libnone.so: ");
    ck_assert_int_eq(program_run("-k dgemm"), 2);
    assert_has(program_err,
               "pipeline: dgemm is not available: OpenBLAS can't be opened: ./libnone.so: ");
    test_file_write("libnone.so", "no library", 10);
    ck_assert_int_eq(program_run("-k dgemm"), 2);
    assert_has(program_err, "dgemm is not available: OpenBLAS can't be opened: ./libnone.so: ");
    ck_assert_int_eq(program_run("-q -k scale -n 4k"), 0);
    unsetenv("PIPELINE_OPENBLAS"); /* the next test may be of this process */
}
END_TEST

START_TEST(test_available)
{
    ck_assert_int_eq(program_run("list kernels"), 0);
    assert_has(program_out, "\ndgemm ");
    ck_assert_ptr_null(strstr(program_out, "not available"));
}
END_TEST

static TCase *program_tcase(bool available)
{
    TCase *program = tcase_create("program");
    tcase_add_checked_fixture(program, test_folder_enter, test_folder_leave);
    tcase_add_test(program, test_unavailable);
    if (!available)
        return program;
    tcase_add_test(program, test_available);
    tcase_add_test(program, test_report_gives_the_rate);
    tcase_add_test(program, test_refusals);
    tcase_add_test(program, test_input_of_odd_length);
    tcase_add_test(program, test_missing_wait);
    tcase_add_test(program, test_configs);
    return program;
}

Suite *dgemm_plans_suite(void)
{
    Suite *suite = suite_create("dgemm_plans");
    const bool available = kernel_missing(kernel_find("dgemm")) == NULL;
    TCase *plans = tcase_create("plans");
    tcase_add_test(plans, test_generated_plans);
    tcase_add_test(plans, test_every_wait_is_needed);
    tcase_add_test(plans, test_limit_counts_the_resident_input);
    tcase_add_test(plans, test_no_run_is_below_its_limit);
    tcase_add_test(plans, test_tuned_tiles_are_whole_columns);
    tcase_add_test(plans, test_plans_are_programs);
    suite_add_tcase(suite, plans);
    if (available) {
        TCase *runs = tcase_create("runs");
        tcase_add_test(runs, test_runs_are_right);
        tcase_add_test(runs, test_matrices_differ);
        tcase_add_test(runs, test_damage_is_named);
        suite_add_tcase(suite, runs);
    }
    suite_add_tcase(suite, program_tcase(available));
    return suite;
}
