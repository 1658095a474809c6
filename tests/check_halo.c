/* check_halo.c - a stencil's steps over devices: which rows are whose, that results are right,
 * that no wait and no exchange can be left out, how much is hidden, and what is refused. */
#include "analysis/analysis.h"
#include "analysis/limit.h"
#include "app/backends.h"
#include "plan/build.h"
#include "report/report.h"
#include "run/backend.h"
#include "run/verify.h"
#include "sim_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns settings of `tiles` tiles with `rows` rows each. */
static struct settings halo_settings(uint32_t devices, uint32_t tiles, uint64_t rows,
                                     uint32_t halo, uint32_t steps)
{
    struct settings settings = test_settings("stencil");
    settings.devices = devices;
    settings.tiles = tiles;
    settings.columns = 37;
    settings.elements = settings.columns * rows * tiles;
    settings.halo = halo;
    settings.steps = steps;
    return settings;
}

/* --- plans --- */

/* Seven tiles over three devices: three, two and two. The device in the middle sends both ways
 * in all steps but the last. */
START_TEST(rows_are_dealt_in_blocks)
{
    const struct machine machine = test_machine_named("h200");
    for (enum hide hide = HIDE_YES; hide <= HIDE_NO; hide++) {
        struct settings settings = halo_settings(3, 7, 6, 2, 5);
        uint32_t copies[3] = {0}, sent[3] = {0}, launches[3] = {0};
        settings.hide = hide;
        struct plan plan = test_built_on(&settings, &machine);
        ck_assert_uint_eq(plan.streams, hide == HIDE_YES ? 6 : 3);
        for (uint32_t i = 0; i < plan.op_count; i++) {
            const struct op *op = &plan.ops[i];
            const struct stream_home home = plan_stream_home(&plan, op->stream);
            copies[home.device] += op->kind == OP_H2D;
            sent[home.device] += op->kind == OP_PEER;
            launches[home.device] += op->kind == OP_KERNEL;
            if (op->kind == OP_PEER)
                ck_assert_uint_eq(op_bytes(op), 2 * 37 * sizeof(float));
            if (plan.priorities != NULL)
                ck_assert_int_eq(plan.priorities[op->stream],
                                 home.number == 1 ? machine.priority_greatest : 0);
        }
        ck_assert_uint_eq(copies[0], 3);
        ck_assert_uint_eq(copies[1], 2);
        ck_assert_uint_eq(copies[2], 2);
        ck_assert_uint_eq(sent[0], 4);
        ck_assert_uint_eq(sent[1], 8);
        ck_assert_uint_eq(sent[2], 4);
        ck_assert_uint_eq(launches[0], hide == HIDE_YES ? 10 : 5);
        ck_assert_uint_eq(launches[1], hide == HIDE_YES ? 15 : 5);
        plan_free(&plan);
    }
}
END_TEST

/* Each wait of a plan is there for a reason: without it two ops race. */
START_TEST(every_wait_is_needed)
{
    const struct machine machine = test_machine_named("h200");
    for (int variant = 0; variant < 8; variant++) {
        struct settings settings = halo_settings(variant & 1 ? 3 : 2, 6, 5, 2, 4);
        settings.hide = variant & 2 ? HIDE_NO : HIDE_YES;
        settings.exchange = variant & 4 ? EXCHANGE_HOST : EXCHANGE_PEER;
        struct plan plan = test_built_on(&settings, &machine);
        struct error error = {0};
        uint32_t waits = 0;
        ck_assert_msg(hazards_refuse(&plan, &error) == STATUS_OK, "%s", error.text);
        for (uint32_t i = 0; i < plan.op_count; i++) {
            const struct op kept = plan.ops[i];
            if (kept.kind != OP_WAIT)
                continue;
            waits++;
            plan.events++; /* an event that nobody records orders nothing */
            plan.ops[i].event.event = plan.events - 1;
            ck_assert_msg(hazards_refuse(&plan, &error) == STATUS_FAILED,
                          "variant %d: op %u need not wait", variant, (unsigned)i);
            plan.ops[i] = kept;
        }
        ck_assert_uint_ge(waits, 6);
        plan_free(&plan);
    }
}
END_TEST

static struct settings drawn(uint64_t *state)
{
    const uint32_t devices = 1 + test_random_below(state, 5);
    const uint32_t halo = 1 + test_random_below(state, 6);
    const uint32_t tiles = devices + test_random_below(state, 12);
    const uint64_t rows = 2 * halo + 1 + test_random_below(state, 200);
    struct settings settings =
        halo_settings(devices, tiles, rows, halo, 1 + test_random_below(state, 12));
    settings.columns = 1 + test_random_below(state, 1 << test_random_below(state, 14));
    settings.elements = settings.columns * rows * tiles;
    settings.hide = (enum hide)test_random_below(state, 2);
    settings.memory = (enum memory)test_random_below(state, MEMORY_MAPPED);
    if (devices > 1)
        settings.exchange = (enum exchange)test_random_below(state, EXCHANGE_HOST + 1);
    return settings;
}

/* No drawn plan races, and none ends before the limit. */
START_TEST(drawn_plans_are_sound)
{
    const struct machine machine = test_machine_named("h200");
    uint64_t state = 5;
    for (int i = 0; i < test_cases(200); i++) {
        struct settings settings = drawn(&state);
        struct error error = {0};
        struct plan plan = test_built_on(&settings, &machine);
        ck_assert_msg(hazards_refuse(&plan, &error) == STATUS_OK, "case %d: %s", i, error.text);
        struct timeline timeline = sim_run(&machine, &plan);
        ck_assert_msg(timeline_time_ns(&timeline) + plan.op_count >=
                          limit_of(&machine, &plan).ns,
                      "case %d ends before its limit", i);
        timeline_free(&timeline);
        plan_free(&plan);
    }
}
END_TEST

/* --- data --- */

/* A way to spoil a plan: op number `number` among those of a kind is left out. */
struct spoil {
    enum op_kind kind;
    uint32_t number;
};

/* Leaves the op out; returns false where there are not so many. */
static bool leave_out(struct plan *plan, struct spoil spoil)
{
    for (uint32_t i = 0; i < plan->op_count; i++) {
        struct op *op = &plan->ops[i];
        if (op->kind != spoil.kind || spoil.number-- > 0)
            continue;
        const uint32_t stream = op->stream;
        plan->events++;
        *op = (struct op){.id = i, .kind = OP_RECORD, .stream = stream, .tile = -1};
        op->event.event = plan->events - 1;
        return true;
    }
    return false;
}

/* Runs the plan with its bytes, spoiled, and returns what verification says; STATUS_USAGE where
 * there was nothing to spoil. */
static enum status run_spoiled(struct settings *settings, const struct spoil *spoil)
{
    const struct backend_ops *ops;
    const char *argument;
    struct backend *backend;
    struct machine machine;
    struct arrays arrays;
    struct timeline timeline = {0};
    struct run_times times;
    struct error error = {0};
    settings->device = "sim:h200*3";
    ck_assert_int_eq(backend_select(backends, settings->device, &ops, &argument, &error),
                     STATUS_OK);
    ck_assert_int_eq(ops->open(argument, settings, &backend, &error), STATUS_OK);
    ck_assert_int_eq(ops->describe(backend, settings, &machine, &error), STATUS_OK);
    struct plan plan = test_built_on(settings, &machine);
    enum status status = STATUS_USAGE;
    if (spoil == NULL || leave_out(&plan, *spoil)) {
        ck_assert_int_eq(arrays_create(&arrays, &plan, settings, &error), STATUS_OK);
        arrays_poison(&arrays);
        const struct workload workload = {
            .plan = &plan, .settings = settings, .arrays = &arrays, .races = true};
        ck_assert_int_eq(ops->prepare(backend, &workload, &error), STATUS_OK);
        ck_assert_int_eq(ops->run(backend, &timeline, &times, &error), STATUS_OK);
        status = verify_output(&plan, &arrays, &error);
        ops->release(backend);
        timeline_free(&timeline);
        arrays_free(&arrays);
    }
    ops->close(backend);
    plan_free(&plan);
    return status;
}

/* Without any one of its copies, launches and memsets a plan gives a wrong result. */
START_TEST(nothing_can_be_left_out)
{
    static const enum op_kind kinds[] = {OP_PEER, OP_KERNEL, OP_MEMSET, OP_H2D, OP_D2H};
    for (int variant = 0; variant < 4; variant++) {
        struct settings settings = halo_settings(3, 3, 9, 2, 3);
        settings.hide = variant & 1 ? HIDE_NO : HIDE_YES;
        settings.exchange = variant & 2 ? EXCHANGE_HOST : EXCHANGE_PEER;
        ck_assert_int_eq(run_spoiled(&settings, NULL), STATUS_OK);
        for (size_t i = variant & 2 ? 1 : 0; i < sizeof kinds / sizeof kinds[0]; i++) {
            struct spoil spoil = {kinds[i], 0};
            enum status status;
            while ((status = run_spoiled(&settings, &spoil)) != STATUS_USAGE) {
                ck_assert_msg(status == STATUS_FAILED, "%s %u was not missed",
                              op_kind_name(kinds[i]), (unsigned)spoil.number);
                spoil.number++;
            }
            ck_assert_uint_gt(spoil.number, 2);
        }
    }
}
END_TEST

static const char *const right[] = {
    "",
    "--hide=no",
    "-d sim:h200",
    "-d sim:h200 --steps=1",
    "--steps=1",
    "--steps=2 --halo=7",
    "-d sim:h200*3 -t 7 -n 7000 --columns=10 --halo=64",
    "-d sim:h200*3 -t 7 -n 7000 --columns=10 --halo=5 --hide=no",
    "-d sim:h200*4 -t 11 -n 11k --columns=1 --halo=3",
    "-n 1M --columns=1M -t 1 -d sim:h200 --halo=9",
    "-d sim:h200*4 --memory=pageable",
    "-d sim:h200*4 --memory=registered --exchange=peer",
    "--exchange=host",
    "-d sim:h200*4 --exchange=host --hide=no --steps=8",
    "-d sim:h200*3 -t 7 -n 7000 --columns=10 --halo=64 --exchange=host --memory=pageable",
    "--exchange=host --steps=1",
    "--tiles=auto",
    "--connections=1",
    "-d sim:h200 -t 1 -n 35 --columns=7 --halo=20",
};
START_TEST(results_are_right)
{
    char line[256];
    snprintf(line, sizeof line,
             "-q -d sim:h200*2 -k stencil -n 256k --columns=512 -t 16 --steps=7 %s "
             "--format=json",
             right[_i]);
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
    assert_has(program_out, "\"verified\": true");
}
END_TEST

/* --- figures --- */

static struct analysis analysed(const struct settings *settings)
{
    const struct machine machine = test_machine_named("h200");
    struct plan plan = test_built_on(settings, &machine);
    struct timeline timeline = sim_run(&machine, &plan);
    struct analysis analysis;
    struct error error = {0};
    ck_assert_int_eq(analyse(&timeline, &analysis, &error), STATUS_OK);
    timeline_free(&timeline);
    plan_free(&plan);
    return analysis;
}

/* Where the inside takes longer than the exchange, that is hidden. */
START_TEST(long_insides_hide_the_exchange)
{
    for (uint32_t devices = 2; devices <= 4; devices++) {
        struct settings settings = halo_settings(devices, 16, 1, 8, 40);
        settings.columns = 1 << 16;
        settings.elements = 1 << 28;
        const struct analysis hidden = analysed(&settings);
        settings.hide = HIDE_NO;
        const struct analysis bare = analysed(&settings);
        ck_assert(hidden.peers_hidden >= 0.95 && hidden.peers_hidden <= 1);
        ck_assert(bare.peers_hidden < 0.2);
        ck_assert_int_lt(hidden.time_ns, bare.time_ns);
        ck_assert_uint_eq(hidden.engines[ENGINE_PEER].bytes, bare.engines[ENGINE_PEER].bytes);
    }
}
END_TEST

/* Returns what a report says that a cause cost, in ns; -1 where it does not name it. */
static int64_t cost_of(const char *report, const char *cause)
{
    char code[64];
    snprintf(code, sizeof code, "\"code\": \"%s\"", cause);
    const char *at = strstr(report, code);
    const char *ns = at != NULL ? strstr(at, "\"ns\": ") : NULL;
    return ns != NULL ? strtoll(ns + strlen("\"ns\": "), NULL, 10) : -1;
}

/* What an exchange costs that is longer than the inner rows is what links that take no time
 * would save, and the events' way from device to device, hidden or not; where the inner rows
 * are longer it costs nothing. */
START_TEST(long_exchanges_are_told)
{
    struct settings settings = halo_settings(2, 8, 1, 2, 40);
    settings.columns = 1 << 19;
    settings.elements = 1 << 23;
    struct machine machine = test_machine_named("h200");
    struct plan plan = test_built_on(&settings, &machine);
    struct timeline slow = sim_run(&machine, &plan);
    machine.peer_bytes_per_s = machine.peer_joint_bytes_per_s = 1e16;
    machine.peer_latency_ns = 0;
    struct timeline fast = sim_run(&machine, &plan);
    const double saved_ns = (double)(timeline_time_ns(&slow) - timeline_time_ns(&fast));
    timeline_free(&slow);
    timeline_free(&fast);
    plan_free(&plan);
    static const char *const hides[] = {"yes", "no"}, *const elements[] = {"8M", "32M"};
    for (int hide = 0; hide < 2; hide++)
        for (int large = 0; large < 2; large++) {
            char line[256];
            snprintf(line, sizeof line,
                     "-q -d sim:h200*2 --no-data -n %s -t 8 -k stencil --steps=40 "
                     "--columns=512k --halo=2 --hide=%s --format=json",
                     elements[large], hides[hide]);
            ck_assert_int_eq(program_run(line), 0);
            const int64_t cost_ns = cost_of(program_out, "long-exchange");
            const int64_t bare_ns = cost_of(program_out, "bare-exchange");
            ck_assert_msg((cost_ns > 0) == !large, "%s: %lld ns", line, (long long)cost_ns);
            ck_assert_msg((bare_ns > 0) == hide, "%s: %lld ns", line, (long long)bare_ns);
            if (!large)
                ck_assert_msg((double)cost_ns > 0.8 * saved_ns &&
                                  (double)cost_ns < 2 * saved_ns,
                              "%lld of %.0f ns", (long long)cost_ns, saved_ns);
        }
}
END_TEST

/* Where steps are short the launches that hide an exchange cost more than it does. */
START_TEST(hiding_may_cost_more)
{
    ck_assert_int_eq(program_run("-q -d sim:h200*4 -k stencil -n 1M --columns=64k --steps=50 "
                                 "-t 4 --no-data"),
                     0);
    assert_has(program_out, "--hide=no");
}
END_TEST

/* Sweeps say what a stencil's runs share, and compare no unlike work. */
START_TEST(sweeps_tell_the_stencil)
{
    ck_assert_int_eq(program_run("-q -d sim:h200*4 -k stencil -n 16M --halo=3 --hide=no "
                                 "--no-data --sweep=steps=5,20"),
                     0);
    assert_has(program_out, "4 x NVIDIA H200");
    assert_has(program_out, "halo=3");
    assert_has(program_out, "hide=no");
    ck_assert_ptr_null(strstr(program_out, "speed-up"));
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M --no-data --sweep=tiles=2,4"), 0);
    ck_assert_ptr_null(strstr(program_out, "halo"));
    ck_assert_ptr_null(strstr(program_out, "spread"));
}
END_TEST

/* Reports have the halo's settings and figures where there is one, and nowhere else. */
START_TEST(reports_tell_of_the_exchange)
{
    const char *line = "-q -d sim:h200*2 --no-data -n 1M -t 16 --format=json -k";
    char text[256];
    snprintf(text, sizeof text, "%s stencil", line);
    ck_assert_int_eq(program_run(text), 0);
    assert_has(program_out, "\"halo\": 1");
    assert_has(program_out, "\"steps\": 10");
    assert_has(program_out, "\"hide\": \"yes\"");
    assert_has(program_out, "\"exchange\": \"peer\"");
    assert_has(program_out, "\"hidden\"");
    snprintf(text, sizeof text, "%s scale", line);
    ck_assert_int_eq(program_run(text), 0);
    ck_assert_ptr_null(strstr(program_out, "\"halo\""));
    ck_assert_ptr_null(strstr(program_out, "\"hide\""));
    ck_assert_ptr_null(strstr(program_out, "\"hidden\""));
    ck_assert_int_eq(program_run("-q -d sim:h200*2 --no-data -n 64M -k stencil --steps=50 "
                                 "--columns=64k --halo=8 --hide=no --gantt=none"),
                     0);
    assert_has(program_out, "exchange hidden");
    assert_has(program_out, "bare-exchange");
    assert_has(program_out, "--hide=yes");
    assert_has(program_out, "all steps: they can't overlap");
}
END_TEST

/* --- refusals --- */

static const struct {
    const char *options, *says;
} refused[] = {
    {"--ways=2", "--ways=2"},
    {"--ways=4", "--ways=4"},
    {"--order=breadth", "use --order=depth"},
    {"--layout=stage", "use --layout=tile"},
    {"-d sim:h200 --memory=mapped", "pinned, pageable or registered"},
    {"-d sim:h200 --issue=graph", "use --issue=streams"},
    {"--issue=batch", "use --issue=streams"},
    {"--pack", "--pack"},
    {"--callbacks", "--callbacks"},
    {"--priorities=0,-1", "use --priorities=none"},
    {"-d sim:h200 --mistake=sync-in-loop", "use --mistake=none"},
    {"--streams=3", "streams of its own"},
    {"--scatter", "--scatter"},
    {"-d sim:h200*3 -t auto -n 3k --columns=1k", "--tiles=auto leaves one without"},
    {"--carry=sync", "--carry"},
    {"--blocks=100", "--blocks"},
    {"-d sim:h200 --exchange=host", "is about several devices"},
    {"--spread=chain", "all work on together"},
    {"-d sim:h200*5", "has 4 devices"},
    {"-k scale,stencil", "stencil can't follow scale"},
    {"--halo=0", "1 to 64"},
    {"--halo=65", "1 to 64"},
    {"--steps=0", "1 to 10000"},
    {"--hide=maybe", "yes, no"},
    {"-n 16k --columns=1k --halo=4", "more rows than two halos"},
    {"-n 1000 -t 10 --columns=7", "no whole number of rows"},
    {"-t 1", "more devices than there are tiles"},
};
START_TEST(others_are_refused)
{
    char line[256];
    snprintf(line, sizeof line, "-q --no-data -k stencil -d sim:h200*2 -n 1M -t 16 %s",
             refused[_i].options);
    ck_assert_msg(program_run(line) == 2, "%s: %s", line, program_err);
    assert_has(program_err, refused[_i].says);
}
END_TEST

/* What is refused has more tiles than can be, and the number that is named instead can be. */
START_TEST(plans_of_too_many_ops_are_refused)
{
    struct settings settings = halo_settings(2, 1 << 23, 1 << 23, 1, 2);
    const struct machine machine = test_machine_named("h200");
    struct plan plan;
    struct error error = {0};
    unsigned tiles = 0;
    ck_assert_int_eq(plan_build(&settings, &machine, &plan, &error), STATUS_USAGE);
    const char *remedy = strstr(error.text, "allowed: --tiles=");
    ck_assert_msg(remedy != NULL, "%s", error.text);
    ck_assert_int_eq(sscanf(remedy, "allowed: --tiles=%u would do", &tiles), 1);
    ck_assert_uint_le(2 * tiles + 1000, settings_ops_most(&settings));
}
END_TEST

/* A kernel that reads memory as long as it adds up neighbours hides no more than half of the
 * one behind the other; where neighbours take nearly all of its time, nothing of that is named.
 */
START_TEST(kernels_that_hide_little_are_told)
{
    const char *run = "-q -d sim:h200*2 --no-data -k stencil --columns=64k -n 64M --steps=8";
    char line[256];
    ck_assert_int_eq(program_run(run), 0);
    assert_shown(program_out, "host-memory|slow-kernels");
    ck_assert_ptr_null(strstr(program_out, "unknown costs"));
    snprintf(line, sizeof line, "%s --halo=64", run);
    ck_assert_int_eq(program_run(line), 0);
    ck_assert_ptr_null(strstr(program_out, "slow-kernels costs"));
}
END_TEST

Suite *halo_suite(void)
{
    Suite *suite = suite_create("halo");
    TCase *plans = tcase_create("plans");
    tcase_add_test(plans, rows_are_dealt_in_blocks);
    tcase_add_test(plans, every_wait_is_needed);
    tcase_add_test(plans, drawn_plans_are_sound);
    tcase_add_test(plans, plans_of_too_many_ops_are_refused);
    suite_add_tcase(suite, plans);
    TCase *data = tcase_create("data");
    tcase_add_checked_fixture(data, test_folder_enter, test_folder_leave);
    tcase_add_test(data, nothing_can_be_left_out);
    tcase_add_loop_test(data, results_are_right, 0, sizeof right / sizeof right[0]);
    suite_add_tcase(suite, data);
    TCase *figures = tcase_create("figures");
    tcase_add_checked_fixture(figures, test_folder_enter, test_folder_leave);
    tcase_add_test(figures, long_insides_hide_the_exchange);
    tcase_add_test(figures, long_exchanges_are_told);
    tcase_add_test(figures, hiding_may_cost_more);
    tcase_add_test(figures, kernels_that_hide_little_are_told);
    tcase_add_test(figures, sweeps_tell_the_stencil);
    tcase_add_test(figures, reports_tell_of_the_exchange);
    suite_add_tcase(suite, figures);
    TCase *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(refusals, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(refusals, others_are_refused, 0, sizeof refused / sizeof refused[0]);
    suite_add_tcase(suite, refusals);
    return suite;
}
