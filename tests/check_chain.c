/* check_chain.c - a chain over several devices: which work is whose, that results are right,
 * that tiles really go from device to device, how long it takes, and what is refused. */
#include "analysis/critical.h"
#include "analysis/limit.h"
#include "app/backends.h"
#include "plan/rules.h"
#include "plot_cases.h"
#include "report/report.h"
#include "run/backend.h"
#include "run/verify.h"
#include "sim_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct settings chain_settings(const char *kernels, uint32_t devices, uint32_t tiles)
{
    struct settings settings = test_settings(kernels);
    settings.devices = devices;
    settings.spread = SPREAD_CHAIN;
    settings.tiles = tiles;
    settings.elements = 100 * tiles;
    return settings;
}

static int64_t time_of(const struct settings *settings, const struct machine *machine)
{
    struct plan plan = test_built_on(settings, machine);
    struct timeline timeline = sim_run(machine, &plan);
    const int64_t time_ns = timeline_time_ns(&timeline);
    timeline_free(&timeline);
    plan_free(&plan);
    return time_ns;
}

/* --- plans --- */

/* Five kernels over three devices: two, two and one. What is copied in comes to the first
 * device, what is copied out leaves the last, and each tile goes from each to the next once. */
START_TEST(links_are_dealt_over_devices)
{
    static const uint32_t homes[] = {0, 0, 1, 1, 2};
    const struct machine machine = test_machine_named("h200");
    for (enum exchange way = EXCHANGE_PEER; way <= EXCHANGE_HOST; way++) {
        struct settings settings = chain_settings("scale,scale,scale,scale,scale", 3, 7);
        uint32_t handed[3] = {0}, in = 0, out = 0;
        settings.exchange = way;
        struct plan plan = test_built_on(&settings, &machine);
        for (uint32_t i = 0; i < plan.op_count; i++) {
            const struct op *op = &plan.ops[i];
            const uint32_t device = plan_stream_home(&plan, op->stream).device;
            bool by_host = op_is_copy(op->kind) && op->copy.host.buffer == BUFFER_HOST_EXCHANGE;
            if (op->kind == OP_KERNEL)
                ck_assert_uint_eq(device, homes[op->kernel.link]);
            if (op->kind == OP_PEER)
                ck_assert_uint_eq(plan_range_device(&plan, &op->move.to), device + 1);
            handed[device] += op->kind == OP_PEER || (by_host && op->kind == OP_D2H);
            in += op->kind == OP_H2D && !by_host;
            out += op->kind == OP_D2H && !by_host;
            ck_assert(op->kind != OP_H2D || by_host || device == 0);
            ck_assert(op->kind != OP_D2H || by_host || device == 2);
            ck_assert(op->kind != OP_PEER || way == EXCHANGE_PEER);
        }
        ck_assert_uint_eq(handed[0], 7);
        ck_assert_uint_eq(handed[1], 7);
        ck_assert_uint_eq(handed[2], 0);
        ck_assert_uint_eq(in, 7);
        ck_assert_uint_eq(out, 7);
        plan_free(&plan);
    }
}
END_TEST

/* Where nothing is asked for, the machine decides. */
START_TEST(machines_choose_the_exchange)
{
    struct machine machine = test_machine_named("h200");
    struct settings settings = chain_settings("scale,scale", 2, 4);
    struct plan plan = test_built_on(&settings, &machine);
    ck_assert(!plan.by_host && plan.has_peers);
    ck_assert_uint_eq(plan.buffer_bytes[BUFFER_HOST_EXCHANGE], 0);
    plan_free(&plan);
    double *const rates[] = {&machine.peer_bytes_per_s, &machine.peer_joint_bytes_per_s};
    for (int i = 0; i < 2; i++) {
        const double rate = *rates[i];
        *rates[i] = 0;
        plan = test_built_on(&settings, &machine);
        ck_assert(plan.by_host && !plan.has_peers);
        ck_assert_uint_gt(plan.buffer_bytes[BUFFER_HOST_EXCHANGE], 0);
        plan_free(&plan);
        *rates[i] = rate;
    }
}
END_TEST

static struct settings drawn(uint64_t *state)
{
    static const char *const kernels[] = {"scale,scale",     "scale,scale,sum",
                                          "wave,scale",      "scale,scale,scale,scale",
                                          "scan,scan",       "scale,scale,scale,finite",
                                          "scale,scale,sum", "uniform,divergent,scale"};
    struct settings settings = test_settings(kernels[test_random_below(state, 8)]);
    const uint32_t links = (uint32_t)settings.chain_length;
    settings.spread = SPREAD_CHAIN;
    settings.devices = 2 + test_random_below(state, links - 1);
    settings.exchange = (enum exchange)test_random_below(state, 3);
    settings.elements = 1 << (16 + test_random_below(state, 10));
    settings.tiles = 1 + test_random_below(state, 40);
    settings.streams = 1 + test_random_below(state, 6);
    settings.order = (enum order)test_random_below(state, 2);
    settings.layout = (enum layout)test_random_below(state, 2);
    settings.ways = kernel_chain_scans(settings.chain, settings.chain_length)
                        ? 3
                        : 3 + (int)test_random_below(state, 2);
    settings.carry = (enum carry)test_random_below(state, 3);
    settings.intensity = 1 + test_random_below(state, 3000);
    settings.memory = (enum memory)test_random_below(state, MEMORY_MAPPED);
    return settings;
}

/* No drawn plan races, none ends before the limit, and an engine is held by its own device's
 * work alone. */
START_TEST(drawn_plans_are_sound)
{
    uint64_t state = 23;
    for (int i = 0; i < test_cases(300); i++) {
        struct machine machine = test_machine_named("h200");
        struct settings settings = drawn(&state);
        if (settings.exchange != EXCHANGE_PEER && test_random_below(&state, 4) == 0)
            machine.peer_bytes_per_s = machine.peer_joint_bytes_per_s = 0;
        struct plan plan = test_built_on(&settings, &machine);
        struct error error = {0};
        ck_assert_msg(hazards_refuse(&plan, &error) == STATUS_OK, "case %d: %s", i, error.text);
        struct timeline timeline = sim_run(&machine, &plan);
        ck_assert_int_ge(timeline_time_ns(&timeline) + plan.op_count,
                         limit_of(&machine, &plan).ns);
        struct critical critical;
        ck_assert_int_eq(critical_find(&timeline, &machine, &critical, &error), STATUS_OK);
        for (uint32_t k = 0; k < timeline.span_count; k++) {
            const struct hold *hold = &critical.holds[k];
            if (hold->by == HELD_BY_ENGINE || hold->by == HELD_BY_QUEUE)
                ck_assert_uint_eq(timeline.spans[hold->span].device, timeline.spans[k].device);
        }
        critical_free(&critical);
        timeline_free(&timeline);
        plan_free(&plan);
    }
}
END_TEST

/* Each wait of a plan is there for a reason: without it two ops race. */
START_TEST(every_wait_is_needed)
{
    const struct machine machine = test_machine_named("h200");
    for (int variant = 0; variant < 8; variant++) {
        struct settings settings =
            chain_settings(variant & 4 ? "scale,scale,sum" : "scale,scale,scale", 3, 7);
        settings.exchange = variant & 1 ? EXCHANGE_HOST : EXCHANGE_PEER;
        settings.layout = variant & 2 ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.streams = 2;
        struct plan plan = test_built_on(&settings, &machine);
        struct error error = {0};
        uint32_t waits = 0;
        ck_assert_int_eq(hazards_refuse(&plan, &error), STATUS_OK);
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
        ck_assert_uint_gt(waits, 12);
        plan_free(&plan);
    }
}
END_TEST

/* --- data --- */

/* Runs the plan with its bytes, after `spoil` has changed it, and returns what verification
 * says of the result. */
static enum status run_spoiled(struct settings *settings, void (*spoil)(struct plan *plan))
{
    const struct backend_ops *ops;
    const char *argument;
    struct backend *backend;
    struct machine machine;
    struct plan plan;
    struct arrays arrays;
    struct timeline timeline = {0};
    struct run_times times;
    struct error error = {0};
    settings->device = "sim:h200*2";
    ck_assert_int_eq(backend_select(backends, settings->device, &ops, &argument, &error),
                     STATUS_OK);
    ck_assert_int_eq(ops->open(argument, settings, &backend, &error), STATUS_OK);
    ck_assert_int_eq(ops->describe(backend, settings, &machine, &error), STATUS_OK);
    plan = test_built_on(settings, &machine);
    spoil(&plan);
    ck_assert_int_eq(arrays_create(&arrays, &plan, settings, &error), STATUS_OK);
    arrays_poison(&arrays);
    const struct workload workload = {.plan = &plan, .settings = settings, .arrays = &arrays};
    ck_assert_int_eq(ops->prepare(backend, &workload, &error), STATUS_OK);
    ck_assert_int_eq(ops->run(backend, &timeline, &times, &error), STATUS_OK);
    enum status status = verify_output(&plan, &arrays, &error);
    ops->release(backend);
    ops->close(backend);
    timeline_free(&timeline);
    arrays_free(&arrays);
    plan_free(&plan);
    return status;
}

static void spoil_nothing(struct plan *plan)
{
    (void)plan;
}

static bool is_exchange(const struct op *op)
{
    return op->kind == OP_PEER ||
           (op_is_copy(op->kind) && op->copy.host.buffer == BUFFER_HOST_EXCHANGE);
}

/* Has the last copy from device to device move a byte less. */
static void spoil_length(struct plan *plan)
{
    uint32_t i = plan->op_count - 1;
    while (!is_exchange(&plan->ops[i]))
        i--;
    struct op *op = &plan->ops[i];
    if (op->kind == OP_PEER)
        op->move.from.bytes = --op->move.to.bytes;
    else
        op->copy.host.bytes = --op->copy.device.bytes;
}

/* Has no op wait for another any more. */
static void spoil_waits(struct plan *plan)
{
    plan->events++;
    for (uint32_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].kind == OP_WAIT)
            plan->ops[i].event.event = plan->events - 1;
}

START_TEST(bytes_go_by_the_exchange)
{
    for (enum exchange way = EXCHANGE_PEER; way <= EXCHANGE_HOST; way++) {
        struct settings settings = chain_settings("scale,scale", 2, 9);
        settings.exchange = way;
        settings.elements = 1 << 16;
        ck_assert_int_eq(run_spoiled(&settings, spoil_nothing), STATUS_OK);
        ck_assert_int_eq(run_spoiled(&settings, spoil_length), STATUS_FAILED);
        ck_assert_int_eq(run_spoiled(&settings, spoil_waits), STATUS_FAILED);
    }
}
END_TEST

static const char *const right[] = {
    "",
    "--order=breadth",
    "--layout=stage",
    "--layout=stage --order=breadth -s 2",
    "-s 1",
    "-t 1",
    "-t 2 -s 9",
    "-w 4 --cpu-share=0.4",
    "-w 4",
    "--memory=pageable",
    "--memory=registered --callbacks",
    "--scatter",
    "--priorities=0,-1",
    "--connections=1 -s 6",
    "--tiles=auto --streams=auto",
    "-k wave,scale",
    "-k scale,scale,sum",
    "-k scale,scale,scale,scale,finite -d sim:h200*3",
    "-k scale,scale,scale,scale -d sim:h200*4 --layout=stage",
    "-k scan,scan-exclusive",
    "-k scan,scan-exclusive --carry=callback",
    "-k scan,scan-exclusive --carry=sync --layout=stage",
    "-k wave-launches,scale --intensity=3",
    "-k uniform,divergent,scale",
};
START_TEST(results_are_right)
{
    static const char *const ways[] = {"peer", "host"};
    char line[256];
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line,
                 "-q -d sim:h200*2 --spread=chain --exchange=%s -k scale,scale -n 1M -t 13 %s "
                 "--format=json",
                 ways[i], right[_i]);
        ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
        assert_has(program_out, "\"verified\": true");
    }
}
END_TEST

/* --- times --- */

/* A machine on which a copy takes a ns for each byte, whichever way it goes, and light kernels
 * take less. */
static struct machine chain_machine(void)
{
    struct machine machine = test_machine();
    machine.devices = 4;
    machine.flops_per_s = 1e11;
    machine.peer_bytes_per_s = 1e9;
    machine.peer_joint_bytes_per_s = 2e9;
    machine.host_h2d_bytes_per_s = machine.host_d2h_bytes_per_s = 1e15;
    machine.host_joint_bytes_per_s = 1e15;
    return machine;
}

/* By hand: a tile of 100 elements is 400 bytes, and 400 ns long on each link; kernels take
 * less. Of ten tiles the first is at the end of the chain after three copies and two kernels,
 * and one more ends every 400 ns. By the host there is one more copy on the way. */
START_TEST(times_are_those_of_the_slowest_link)
{
    const struct machine machine = chain_machine();
    struct settings settings = chain_settings("scale,scale", 2, 10);
    settings.intensity = 1;
    settings.exchange = EXCHANGE_PEER;
    struct plan plan = test_built_on(&settings, &machine);
    struct timeline timeline = sim_run(&machine, &plan);
    const int64_t kernel_ns = timeline_span(&timeline, 1)->end_ns - 400;
    ck_assert_int_gt(kernel_ns, 0);
    ck_assert_int_le(kernel_ns, 100);
    ck_assert_int_eq(timeline_time_ns(&timeline), 3 * 400 + 2 * kernel_ns + 9 * 400);
    timeline_free(&timeline);
    plan_free(&plan);
    settings.exchange = EXCHANGE_HOST;
    ck_assert_int_eq(time_of(&settings, &machine), 4 * 400 + 2 * kernel_ns + 9 * 400);
    /* The pair of links that is slower sets the pace. */
    struct machine slow = machine;
    slow.peer_bytes_per_s = 0.5e9;
    settings.exchange = EXCHANGE_PEER;
    ck_assert_int_eq(time_of(&settings, &slow), 2 * 400 + 2 * kernel_ns + 10 * 800);
}
END_TEST

/* Two H200s: with many tiles a chain takes at most 5 % longer than the slower of the links and
 * its kernels, in each order and layout. */
START_TEST(many_tiles_are_near_the_limit)
{
    static const uint32_t intensities[] = {1, 900, 8000};
    const struct machine machine = test_machine_named("h200");
    for (int variant = 0; variant < 12; variant++) {
        struct settings settings = chain_settings("scale,scale", 2, 256);
        settings.elements = UINT64_C(1) << 30;
        settings.intensity = intensities[variant / 4];
        settings.order = variant & 1 ? ORDER_BREADTH : ORDER_DEPTH;
        settings.layout = variant & 2 ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.streams = 6;
        struct plan plan = test_built_on(&settings, &machine);
        const int64_t limit_ns = limit_of(&machine, &plan).ns;
        ck_assert_int_le(time_of(&settings, &machine), limit_ns + limit_ns / 20);
        plan_free(&plan);
    }
}
END_TEST

/* --- the limit --- */

/* Whatever a machine file says, no run of either way, nor of tiles that are dealt over devices,
 * is faster than its limit. */
START_TEST(limits_hold_on_any_machine)
{
    uint64_t state = (uint64_t)_i;
    for (int i = 0; i < 60; i++) {
        struct machine machine = test_machine_named("h200");
        double *const figures[] = {&machine.peer_bytes_per_s, &machine.peer_joint_bytes_per_s,
                                   &machine.host_h2d_bytes_per_s, &machine.host_d2h_bytes_per_s,
                                   &machine.host_joint_bytes_per_s};
        for (size_t k = 0; k < sizeof figures / sizeof figures[0]; k++)
            *figures[k] = pow(10, 9 + (double)test_random_below(&state, 40) / 10);
        struct settings settings = drawn(&state);
        settings.elements = UINT64_C(1) << (20 + test_random_below(&state, 4));
        settings.tiles += settings.devices;
        if (test_random_below(&state, 3) == 0)
            settings.spread = SPREAD_TILES;
        if (settings.spread == SPREAD_TILES && settings_carries_apart(&settings))
            continue;
        struct plan plan = test_built_on(&settings, &machine);
        struct timeline timeline = sim_run(&machine, &plan);
        const int64_t limit_ns = limit_of(&machine, &plan).ns;
        ck_assert_msg(timeline_time_ns(&timeline) >= limit_ns, "%d: %lld of %lld ns", i,
                      (long long)timeline_time_ns(&timeline), (long long)limit_ns);
        timeline_free(&timeline);
        plan_free(&plan);
    }
}
END_TEST

/* Copies between devices that are slower than the links to the host are not taken, and where
 * they were asked for that is the cause. */
START_TEST(slow_peers_are_told)
{
    ck_assert_int_eq(
        system(
            "sed -E 's/^peer_(joint_)?bytes_per_s.*/peer_\\1bytes_per_s = 3e9/' " TESTS_FOLDER
            "/../configs/machines/h200.ini >slow.ini"),
        0);
    const char *run = "-q -d sim:./slow.ini*2 -k scale,scale --spread=chain -n 16M --no-data";
    char line[256];
    ck_assert_int_eq(program_run(run), 0);
    assert_has(program_out, "handed on by the host");
    snprintf(line, sizeof line, "%s --exchange=peer", run);
    ck_assert_int_eq(program_run(line), 0);
    assert_shown(program_out, "slow-peers costs|--exchange=host");
}
END_TEST

/* By hand: 100 elements are 400 bytes in, on, and out, at a byte per ns. */
START_TEST(limit_knows_the_links_between_devices)
{
    struct machine machine = chain_machine();
    struct settings settings = chain_settings("scale,scale,scale", 3, 1);
    settings.intensity = 1;
    struct plan plan = test_built_on(&settings, &machine);
    struct limit limit = limit_of(&machine, &plan);
    ck_assert_int_eq(limit.ns, 400);
    ck_assert_int_eq(limit.cause, LIMIT_COPIES);
    /* Slow ones are not the limit where the way by the host is faster, but where it is not. */
    machine.peer_bytes_per_s = 0.5e9;
    limit = limit_of(&machine, &plan);
    ck_assert(limit.ns == 400 && limit.by_host);
    machine.host_h2d_bytes_per_s = machine.host_d2h_bytes_per_s = 1e9;
    limit = limit_of(&machine, &plan);
    ck_assert(limit.ns == 800 && !limit.by_host);
    ck_assert_int_eq(limit.cause, LIMIT_PEER);
    ck_assert_str_eq(limit.figure, "peer_bytes_per_s");
    ck_assert_str_eq(limit_cause_name(limit.cause), "peer");
    /* The device in the middle has both ways. */
    machine.peer_joint_bytes_per_s = 0.8e9;
    limit = limit_of(&machine, &plan);
    ck_assert_int_eq(limit.ns, 1000);
    ck_assert_str_eq(limit.figure, "peer_joint_bytes_per_s");
    /* By the host each device's link has 400 bytes each way, side by side. */
    machine.peer_bytes_per_s = 0;
    machine.host_h2d_bytes_per_s = machine.host_d2h_bytes_per_s = 1e15;
    limit = limit_of(&machine, &plan);
    ck_assert_int_eq(limit.ns, 400);
    ck_assert_int_eq(limit.cause, LIMIT_COPIES);
    machine.host_h2d_bytes_per_s = machine.host_d2h_bytes_per_s = 2e9;
    machine.host_joint_bytes_per_s = 2e9;
    limit = limit_of(&machine, &plan);
    ck_assert_int_ge(limit.ns, 1199); /* three times 400 in, and out, at 2 bytes per ns */
    ck_assert_int_eq(limit.cause, LIMIT_HOST);
    plan_free(&plan);
}
END_TEST

/* The device whose kernels take longest counts, not all kernels. */
START_TEST(limit_knows_whose_kernels)
{
    const struct machine machine = chain_machine();
    struct settings settings = chain_settings("scale,scale,scale", 2, 1);
    settings.intensity = 1000;
    struct plan plan = test_built_on(&settings, &machine);
    const struct limit chain = limit_of(&machine, &plan);
    plan_free(&plan);
    settings.devices = 1;
    plan = test_built_on(&settings, &machine);
    const struct limit one = limit_of(&machine, &plan);
    ck_assert_int_eq(chain.cause, LIMIT_COMPUTE);
    ck_assert_uint_eq(chain.device, 0);
    ck_assert_int_le(llabs(3 * chain.ns - 2 * one.ns), 3);
    plan_free(&plan);
}
END_TEST

/* --- the program --- */

static const struct {
    const char *arguments, *words;
} wrong[] = {
    {"-d sim:h200 --spread=chain -k scale,scale", "--device=sim:h200 is one"},
    {"-d sim:h200*3 --spread=chain -k scale,scale", "has fewer than there are devices"},
    {"-d sim:h200*2 --spread=chain", "has fewer than there are devices"},
    {"-d sim:h200*2 --spread=chain -k scale,wave", "has wave behind"},
    {"-d sim:h200*2 --spread=chain -k scale,scale -w 2", "--ways=2"},
    {"-d sim:h200*2 --spread=chain -k scale,scale -w 1", "--ways=1"},
    {"-d sim:h200*2 --spread=chain -k scale,scale --issue=batch", "--issue=batch"},
    {"-d sim:h200*2 --spread=chain -k scale,scale --issue=graph", "--issue=graph"},
    {"-d sim:h200*2 --spread=chain -k scale,scale --issue=auto", "--issue=auto"},
    {"-d sim:h200*2 --spread=chain -k scale,scale --pack", "--pack"},
    {"-d sim:h200*2 --spread=chain -k scale,scale --memory=mapped", "--memory=mapped"},
    {"-d sim:h200*2 --spread=chain -k scale,scale --mistake=sync-in-loop", "--mistake"},
    {"-d sim:./alone.ini*2 --spread=chain -k scale,scale --exchange=peer", "peer_bytes_per_s"},
    {"-d sim:h200 --exchange=peer", "--exchange=peer is about several"},
    {"-d sim:h200*2 --exchange=host", "--exchange=host is about tiles that are handed on"},
    {"-d sim:h200*2 --spread=ring", "--spread"},
    {"-d sim:h200*2 --exchange=mail", "--exchange"},
};
START_TEST(what_does_not_go_is_refused)
{
    char line[256];
    ck_assert_int_eq(system("sed 's/^peer_bytes_per_s.*//' " TESTS_FOLDER
                            "/../configs/machines/h200.ini >alone.ini"),
                     0);
    snprintf(line, sizeof line, "%s -n 64k", wrong[_i].arguments);
    int code = program_run(line);
    ck_assert_msg(code == 2, "%s: exit %d: %s", line, code, program_err);
    assert_has(program_err, wrong[_i].words);
    ck_assert_ptr_eq(strchr(program_err, '\n'), strrchr(program_err, '\n'));
}
END_TEST

/* Reports of several devices name what these do, and by which way; those of one don't, unless
 * another run of the same table has several. */
START_TEST(reports_name_the_spread)
{
    const char *chain = "-q -d sim:h200*2 --spread=chain -k scale,scale -n 1M -t 9";
    char line[256];
    snprintf(line, sizeof line, "%s --format=json", chain);
    ck_assert_msg(program_run(line) == 0, "%s", program_err);
    assert_shown(program_out, "\"spread\": \"chain\"|\"exchange\": \"peer\"|\"peer\": {");
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M -t 9 --format=json"), 0);
    ck_assert_ptr_null(strstr(program_out, "spread"));
    ck_assert_ptr_null(strstr(program_out, "peer"));
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 1M -t 9 --format=csv"), 0);
    ck_assert_ptr_null(strstr(program_out, "spread"));
    FILE *file = fopen("two.ini", "w");
    ck_assert_ptr_nonnull(file);
    fputs("[global]\nkernel = scale,scale\nelements = 1M\ntiles = 9\n[one]\ndevice = sim:h200\n"
          "[two]\ndevice = sim:h200*2\nspread = chain\n",
          file);
    fclose(file);
    ck_assert_int_eq(program_run("-q two.ini --format=csv"), 0);
    assert_has(program_out, "peer_busy_ms,peer_utilisation,peer_bytes");
    char *rest = NULL;
    int columns = 0, rows = 0;
    for (char *row = strtok_r(program_out, "\n", &rest); row != NULL;
         row = strtok_r(NULL, "\n", &rest), rows++) {
        int count = 0, quoted = 0;
        for (const char *at = row; *at != '\0'; at++) {
            quoted ^= *at == '"';
            count += *at == ',' && !quoted;
        }
        columns = rows == 0 ? count : columns;
        ck_assert_int_eq(count, columns);
    }
    ck_assert_int_eq(rows, 3);
}
END_TEST

/* Pictures have a band for what goes from device to device, files say so, and what is read back
 * says the same. */
START_TEST(files_and_pictures_show_the_exchange)
{
    const char *run = "-q -d sim:h200*2 --spread=chain -k scale,scale -n 16M -t 9 "
                      "--timeline=a.csv --timeline=a.json --timeline=a.html";
    ck_assert_msg(program_run(run) == 0, "%s", program_err);
    assert_shown(program_out, "  device 0\n  H2D|  peer |X peer|chain over devices");
    ck_assert_int_eq(system("grep -q ',peer,.*,peer,' a.csv && grep -q ' peer=' a.csv && "
                            "grep -q ' 1-peer=0' a.csv && grep -q '\"name\":\"peer\"' a.json"),
                     0);
    ck_assert_msg(program_run("view a.csv --timeline=b.csv") == 0, "%s", program_err);
    assert_shown(program_out, "0 peer");
    ck_assert_int_eq(
        system("for f in a b; do grep -v '^#' $f.csv | cut -d, -f2- >$f; done; cmp a b"), 0);
    ck_assert_int_eq(program_run("-d sim:h200*2 --spread=chain -k scale,scale --exchange=host "
                                 "-t 8 --dry-run"),
                     0);
    assert_has(program_out, "hand tiles on by the host");
}
END_TEST

/* Returns the event of a trace that an arrow ends with; NULL where there is none. */
static json_t *arrow_end(json_t *events, const char *id)
{
    json_t *event;
    size_t i;
    json_array_foreach(events, i, event)
    {
        const char *its = json_string_value(json_object_get(event, "id"));
        if (its != NULL && strcmp(its, id) == 0 &&
            strcmp(json_string_value(json_object_get(event, "ph")), "f") == 0)
            return event;
    }
    return NULL;
}

/* Returns how many arrows a trace has. Each begins with a copy, and ends in the process of the
 * device that the copy is to, behind the copy. */
static int count_arrows(const char *path)
{
    json_t *root = json_load_file(path, 0, NULL), *event;
    ck_assert_ptr_nonnull(root);
    json_t *events = json_object_get(root, "traceEvents");
    int arrows = 0;
    size_t i;
    json_array_foreach(events, i, event)
    {
        if (strcmp(json_string_value(json_object_get(event, "ph")), "s") != 0)
            continue;
        json_t *end = arrow_end(events, json_string_value(json_object_get(event, "id")));
        ck_assert_ptr_nonnull(end);
        const json_int_t from = json_integer_value(json_object_get(event, "pid"));
        const json_int_t into = json_integer_value(json_object_get(end, "pid"));
        ck_assert(from - into == 1 || into - from == 1);
        ck_assert_double_gt(json_number_value(json_object_get(end, "ts")),
                            json_number_value(json_object_get(event, "ts")));
        arrows++;
    }
    json_decref(root);
    return arrows;
}

/* Copies from device to device say where to, in files and by arrows. */
START_TEST(copies_are_drawn_to_their_receivers)
{
    ck_assert_msg(program_run("-q -d sim:h200*3 --spread=chain -k scale,scale,sum -n 24M -t 6 "
                              "--no-data --timeline=a.csv --timeline=a.json") == 0,
                  "%s", program_err);
    ck_assert_int_eq(count_arrows("a.json"), 12);
    ck_assert_int_eq(system("test $(grep -c ',peer,to device 1,.*,0$' a.csv) = 6 && "
                            "test $(grep -c ',peer,to device 2,.*,1$' a.csv) = 6"),
                     0);
    /* Breadth-first a wave's copies are all issued before what waits for each of them. */
    ck_assert_int_eq(program_run("-q -d sim:h200*2 --spread=chain -k scale,scale -n 16M -t 8 "
                                 "--order=breadth --no-data --timeline=b.json"),
                     0);
    ck_assert_int_eq(count_arrows("b.json"), 8);
    /* A device that its run lacks is none, nor is the sender. */
    ck_assert_int_eq(
        system("sed 's/to device 1/to device 3/; s/to device 2/to device 1/' a.csv "
               ">b.csv"),
        0);
    ck_assert_int_eq(program_run("view -q b.csv --timeline=c.csv --timeline=c.json"), 0);
    ck_assert_int_eq(system("test $(grep -c ',peer,peer,' c.csv) = 12"), 0);
    ck_assert_int_eq(count_arrows("c.json"), 0);
    if (plot_have_gnuplot()) {
        ck_assert_int_eq(program_run("view -q a.csv --timeline=a.svg"), 0);
        ck_assert_int_eq(
            system("test $(grep -c \"<path stroke='rgb(136,  34,  85)'\" a.svg) = 12"), 0);
    }
    ck_assert_int_eq(program_run("-q -d sim:h200*3 -k stencil --columns=64k --halo=2 --steps=5 "
                                 "-n 24M -t 6 --no-data --timeline=a.csv --timeline=a.json"),
                     0);
    ck_assert_int_eq(count_arrows("a.json"), 16);
    ck_assert_int_eq(system("test $(grep -c ',peer,to device 1,.*,[02]$' a.csv) = 8 && "
                            "test $(grep -c ',peer,to device [02],.*,1$' a.csv) = 8"),
                     0);
}
END_TEST

/* By the host each tile takes two copies on links that have others to do. */
START_TEST(the_way_by_the_host_is_a_cause)
{
    ck_assert_int_eq(program_run("-q -d sim:h200*2 --spread=chain -k scale,scale "
                                 "--exchange=host -n 64M -t 64 --no-data"),
                     0);
    assert_shown(program_out, "host-exchange costs|--exchange=peer");
    ck_assert_int_eq(program_run("-q -d sim:h200*2 --spread=chain -k scale,scale -n 64M -t 64 "
                                 "--no-data"),
                     0);
    ck_assert_ptr_null(strstr(program_out, "host-exchange"));
}
END_TEST

Suite *chain_suite(void)
{
    Suite *suite = suite_create("chain");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_set_timeout(all, 60);
    tcase_add_test(all, links_are_dealt_over_devices);
    tcase_add_test(all, machines_choose_the_exchange);
    tcase_add_test(all, drawn_plans_are_sound);
    tcase_add_test(all, every_wait_is_needed);
    tcase_add_test(all, bytes_go_by_the_exchange);
    tcase_add_loop_test(all, results_are_right, 0, (int)(sizeof right / sizeof right[0]));
    tcase_add_test(all, times_are_those_of_the_slowest_link);
    tcase_add_test(all, many_tiles_are_near_the_limit);
    tcase_add_loop_test(all, limits_hold_on_any_machine, 0, 3);
    tcase_add_test(all, slow_peers_are_told);
    tcase_add_test(all, limit_knows_the_links_between_devices);
    tcase_add_test(all, limit_knows_whose_kernels);
    tcase_add_loop_test(all, what_does_not_go_is_refused, 0,
                        (int)(sizeof wrong / sizeof wrong[0]));
    tcase_add_test(all, reports_name_the_spread);
    tcase_add_test(all, files_and_pictures_show_the_exchange);
    tcase_add_test(all, copies_are_drawn_to_their_receivers);
    tcase_add_test(all, the_way_by_the_host_is_a_cause);
    suite_add_tcase(suite, all);
    return suite;
}
