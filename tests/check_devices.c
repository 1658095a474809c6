/* check_devices.c - several devices: what the host's memory gives their copies, which work is
 * whose, that results are right, and how files and pictures show it. */
#include "analysis/analysis.h"
#include "analysis/critical.h"
#include "analysis/limit.h"
#include "plan/build.h"
#include "plan/device.h"
#include "plan/rules.h"
#include "report/report.h"
#include "sim_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the host's memory --- */

/* Bare copies of one, two and four H200s of one host, in GB/s: in, out, both. */
START_TEST(host_gives_what_was_measured)
{
    static const struct {
        uint32_t devices;
        double in, out, joint;
    } measured[] = {{1, 55.4, 55.3, 101}, {2, 105, 110, 150}, {4, 173, 143, 177}};
    const struct machine machine = test_machine_named("h200");
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        struct host_rates rates = rule_host_rates(&machine, measured[i].devices);
        ck_assert_double_lt(fabs(rates.in / measured[i].in / 1e9 - 1), 0.05);
        ck_assert_double_lt(fabs(rates.out / measured[i].out / 1e9 - 1), 0.05);
        ck_assert_double_lt(fabs(rates.joint / measured[i].joint / 1e9 - 1), 0.05);
    }
}
END_TEST

/* One device gets all that its link has, whatever the bound; more get more together, never
 * above it, and each less. */
START_TEST(host_takes_nothing_from_one)
{
    ck_assert_double_eq(rule_host_bytes_per_s(10, 10, 20), 10);
    ck_assert_double_eq(rule_host_bytes_per_s(9, 10, 20), 9);
    double before = 10;
    for (int devices = 2; devices <= 8; devices++) {
        double given = rule_host_bytes_per_s(10 * devices, 10, 20);
        ck_assert_double_gt(given, before);
        ck_assert_double_lt(given, 20);
        before = given;
    }
    const struct machine machine = test_machine_named("h200");
    ck_assert_double_eq(rule_host_share(&machine, OP_H2D, machine.h2d_bytes_per_s, 0), 1);
    ck_assert_double_eq(rule_host_share(&machine, OP_D2H, machine.joint_bytes_per_s / 2,
                                        machine.joint_bytes_per_s / 2),
                        1);
}
END_TEST

/* Bare copies in one direction are as fast as the rule says: the figure of both directions is
 * not theirs. Two and four H200s were measured at 105 and 173 GB/s. */
START_TEST(one_direction_has_its_own_figure)
{
    const struct machine machine = test_machine_named("h200");
    enum { BYTES = 64 << 20 };
    for (uint32_t devices = 2; devices <= 4; devices += 2) {
        struct plan plan = test_plan(devices, 0, devices, devices * (uint64_t)BYTES);
        plan.devices = devices;
        for (uint32_t i = 0; i < devices; i++)
            test_h2d(&plan, i, i, i * (uint64_t)BYTES, BYTES);
        struct timeline timeline = sim_run(&machine, &plan);
        const double rate = (double)BYTES * devices / (double)timeline_time_ns(&timeline);
        const double said = rule_host_rates(&machine, devices).in / 1e9;
        ck_assert_double_le(fabs(rate / said - 1), 0.01);
        timeline_free(&timeline);
        plan_free(&plan);
    }
}
END_TEST

/* What is measured of all devices gives the bound that gives it. */
START_TEST(bound_follows_from_what_was_given)
{
    const double alone = 55e9;
    for (int devices = 2; devices <= 8; devices *= 2) {
        const double asked = devices * alone;
        for (double most = 60e9; most < 400e9; most *= 1.3) {
            const double given = rule_host_bytes_per_s(asked, alone, most);
            if (given < 0.999 * asked)
                ck_assert_double_lt(fabs(rule_host_most(asked, alone, given) / most - 1), 1e-6);
        }
        ck_assert_double_ge(rule_host_most(asked, alone, asked), 1e15);
        ck_assert_double_ge(rule_host_most(asked, alone, 1.1 * asked), 1e15);
    }
}
END_TEST

/* Two devices copy in at once, 1000 bytes and 500 at a byte per ns as far as the links go. The
 * longer copy is as fast as alone once the other has ended. */
START_TEST(rates_change_in_mid_copy)
{
    struct machine machine = test_machine();
    machine.host_h2d_bytes_per_s = 1.25e9;
    machine.host_d2h_bytes_per_s = machine.host_joint_bytes_per_s = 1e15;
    struct plan plan = test_plan(2, 0, 2, 1000);
    plan.devices = 2;
    test_h2d(&plan, 0, 0, 0, 1000);
    test_h2d(&plan, 1, 1, 1000, 500);
    struct timeline timeline = sim_run(&machine, &plan);
    const double each = rule_host_bytes_per_s(2e9, 1e9, 1.25e9) / 2e9;
    ck_assert_double_lt(each, 0.65);
    ck_assert_int_eq(timeline.spans[1].end_ns, (int64_t)ceil(500 / each));
    ck_assert_int_le(llabs(timeline.spans[0].end_ns - (int64_t)(500 / each + 500)), 1);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* 4 GiB each way in tiles of 32 MiB, measured on one, two and four H200s: 48, 72 and 87 GB/s
 * each way. Simulated it is 50, 71 and 85. */
START_TEST(tiles_are_as_fast_as_measured)
{
    static const double measured[] = {[1] = 48, [2] = 72, [4] = 87};
    static const double said[] = {[1] = 49.7, [2] = 71.5, [4] = 85};
    const struct machine machine = test_machine_named("h200");
    for (uint32_t devices = 1; devices <= 4; devices *= 2) {
        struct settings settings = test_settings("scale");
        settings.elements = UINT64_C(1) << 30;
        settings.tiles = 128;
        settings.intensity = 1;
        settings.devices = devices;
        struct plan plan = test_built_on(&settings, &machine);
        struct timeline timeline = sim_run(&machine, &plan);
        double rate = (double)(4 * settings.elements) / (double)timeline_time_ns(&timeline);
        ck_assert_double_lt(fabs(rate / measured[devices] - 1), 0.04);
        ck_assert_double_lt(fabs(rate / said[devices] - 1), 0.005);
        timeline_free(&timeline);
        plan_free(&plan);
    }
}
END_TEST

/* Two devices behind one switch have half of its link each, and the report says whose that is.
 */
START_TEST(a_switch_is_shared)
{
    const struct machine machine = test_machine_named("k80");
    ck_assert_int_eq(machine.host_shared, MACHINE_SHARES_SWITCH);
    const struct host_rates rates = rule_host_rates(&machine, 2);
    ck_assert_double_eq(rates.in, machine.h2d_bytes_per_s);
    ck_assert_double_le(fabs(rates.joint / machine.joint_bytes_per_s - 1), 1e-9);
    ck_assert_double_le(fabs(rule_host_share(&machine, OP_H2D, 2 * rates.in, 0) - 0.5), 1e-9);
    struct settings settings = test_settings("scale");
    settings.elements = 1 << 26;
    settings.tiles = 64;
    settings.intensity = 1;
    int64_t ns[3] = {0};
    for (settings.devices = 1; settings.devices <= 2; settings.devices++) {
        struct plan plan = test_built_on(&settings, &machine);
        struct timeline timeline = sim_run(&machine, &plan);
        const struct limit limit = limit_of(&machine, &plan);
        ns[settings.devices] = timeline_time_ns(&timeline);
        ck_assert_int_eq(limit.cause, settings.devices == 1 ? LIMIT_COPIES : LIMIT_SWITCH);
        ck_assert_int_le(limit.ns, ns[settings.devices]);
        timeline_free(&timeline);
        plan_free(&plan);
    }
    ck_assert_double_le(fabs((double)ns[2] / (double)ns[1] - 1), 0.02);
}
END_TEST

START_TEST(reports_name_the_switch)
{
    const char *run = "-q -d sim:k80*2 -n 16M -t 32 --intensity=1 --no-data";
    char line[256];
    snprintf(line, sizeof line, "%s --format=json", run);
    ck_assert_msg(program_run(line) == 0, "%s", program_err);
    assert_shown(program_out, "\"limit_cause\": \"switch\"|\"switch-bound\"");
    ck_assert_int_eq(program_run(run), 0);
    assert_has(program_out, "set by the switch's link");
    ck_assert_ptr_null(strstr(program_out, "host's memory"));
}
END_TEST

/* Holds what copies in and out have whose links ask for `in` and `out`, of a machine that gives
 * both together `given`. */
static void assert_shares(const struct machine *machine, double in, double out, double given,
                          bool even)
{
    const double reads = in * rule_host_share(machine, OP_H2D, in, out);
    const double writes = out * rule_host_share(machine, OP_D2H, in, out);
    ck_assert_double_gt(reads, 0);
    ck_assert_double_gt(writes, 0);
    ck_assert_double_le(reads, in * (1 + 1e-9));
    ck_assert_double_le(writes, out * (1 + 1e-9));
    ck_assert_double_le(fabs((reads + writes) / given - 1), 1e-9);
    if (even)
        ck_assert_double_le(fabs(reads / in - writes / out), 1e-9);
    else
        ck_assert_double_lt(reads / in, writes / out);
}

/* Where the host's memory can't give both directions what their links ask for, they have what
 * it gives, and copies out have more of that; behind a switch both have alike. However unlike
 * the links and however many copies are in a direction, each goes on. */
START_TEST(copies_in_lose_to_copies_out)
{
    static const double slower_out[] = {1, 0.5, 0.1};
    for (size_t i = 0; i < sizeof slower_out / sizeof slower_out[0]; i++) {
        struct machine machine = test_machine_named("h200");
        machine.d2h_bytes_per_s *= slower_out[i];
        machine.host_h2d_bytes_per_s = machine.host_d2h_bytes_per_s = 1e15;
        const double joint =
            fmin(machine.joint_bytes_per_s, machine.h2d_bytes_per_s + machine.d2h_bytes_per_s);
        for (int in = 1; in <= 7; in++) {
            const int out = 8 - in;
            const double a = in * machine.h2d_bytes_per_s, b = out * machine.d2h_bytes_per_s;
            const double given =
                rule_host_bytes_per_s(a + b, joint, machine.host_joint_bytes_per_s);
            machine.host_shared = MACHINE_SHARES_MEMORY;
            if (given < 0.99 * (a + b))
                assert_shares(&machine, a, b, given, false);
            machine.host_shared = MACHINE_SHARES_SWITCH;
            assert_shares(&machine, a, b, given, true);
        }
    }
}
END_TEST

/* Two H200s of a host had 96 GB/s out, all that they have beside copies in, and 83 in. */
START_TEST(copies_out_have_what_they_had)
{
    struct machine machine = test_machine_named("h200");
    const double in = 100e9, out = 97e9, given = 179e9;
    machine.joint_bytes_per_s = (in + out) / 2;
    machine.host_joint_bytes_per_s = rule_host_most(in + out, (in + out) / 2, given);
    const double reads = in * rule_host_share(&machine, OP_H2D, in, out);
    const double writes = out * rule_host_share(&machine, OP_D2H, in, out);
    ck_assert_double_le(fabs(reads / 83e9 - 1), 0.02);
    ck_assert_double_le(fabs(writes / 96e9 - 1), 0.03);
}
END_TEST

/* That is a cause, with what each direction had; it is none where there is no memory to share,
 * or nothing goes the other way. */
START_TEST(slow_reads_are_a_cause)
{
    const char *run = "-q -n 256M -t 64 --intensity=1 --no-data";
    char line[256];
    snprintf(line, sizeof line, "%s -d sim:h200*2", run);
    ck_assert_msg(program_run(line) == 0, "%s", program_err);
    assert_shown(program_out, "slow-reads|copies in had 36.|GB/s each while they ran");
    snprintf(line, sizeof line, "%s -d sim:h200*2 -k sum", run);
    ck_assert_msg(program_run(line) == 0, "%s", program_err);
    ck_assert_ptr_null(strstr(program_out, "slow-reads"));
    snprintf(line, sizeof line, "%s -d sim:k80*2", run);
    ck_assert_msg(program_run(line) == 0, "%s", program_err);
    ck_assert_ptr_null(strstr(program_out, "slow-reads"));
    snprintf(line, sizeof line, "%s -d sim:h200", run);
    ck_assert_msg(program_run(line) == 0, "%s", program_err);
    ck_assert_ptr_null(strstr(program_out, "slow-reads"));
}
END_TEST

/* Two in slots of their own take half as long as one. */
START_TEST(slots_of_their_own_share_nothing)
{
    ck_assert_msg(program_run("-q -d sim:k20x*2 -n 16M -t 32 --intensity=1 --no-data "
                              "--format=json") == 0,
                  "%s", program_err);
    assert_has(program_out, "\"limit_cause\": \"copies\"");
}
END_TEST

/* --- plans --- */

/* Tiles go to the devices in turn, and an op works on the memory of its stream's device. The
 * priorities are dealt anew on each. */
START_TEST(tiles_are_dealt_over_devices)
{
    const struct machine machine = test_machine_named("h200");
    struct settings settings = test_settings("scale,sum");
    struct access room[OP_ACCESS_MAX];
    settings.elements = 1 << 20;
    settings.tiles = 10;
    settings.devices = 3;
    settings.priorities[1] = -1;
    settings.priority_count = 2;
    struct plan plan = test_built_on(&settings, &machine);
    ck_assert_uint_eq(plan.streams, 12);
    for (uint32_t i = 0; i < plan.op_count; i++) {
        const struct op *op = &plan.ops[i];
        const uint32_t device = plan_stream_home(&plan, op->stream).device;
        ck_assert_uint_eq(device, (uint32_t)op->tile % 3);
        const int count = op_accesses(op, room);
        for (int k = 0; k < count; k++) {
            const struct range part = plan_device_part(&plan, room[k].range.buffer, device);
            if (room[k].range.buffer < BUFFER_FIRST_DEVICE)
                continue;
            ck_assert_uint_ge(room[k].range.offset, part.offset);
            ck_assert_uint_le(room[k].range.offset + room[k].range.bytes,
                              part.offset + part.bytes);
        }
    }
    for (uint32_t i = 0; i < plan.streams; i++)
        ck_assert_int_eq(plan.priorities[i], i % 4 % 2 == 0 ? 0 : -1);
    plan_free(&plan);
}
END_TEST

/* An op on the memory of another device is a defect of a plan. */
START_TEST(validation_knows_whose_memory)
{
    struct error error = {0};
    struct plan plan = test_plan(2, 0, 2, 1000);
    plan.devices = 2;
    test_h2d(&plan, 1, 1, 0, 100);
    ck_assert_int_eq(plan_validate(&plan, &error), STATUS_FAILED);
    assert_has(error.text, "another device's memory");
    plan_free(&plan);
}
END_TEST

static struct settings drawn(uint64_t *state)
{
    static const char *const kernels[] = {"scale", "sum", "wave", "scale,scale"};
    struct settings settings = test_settings(kernels[test_random_below(state, 4)]);
    settings.devices = 2 + test_random_below(state, 3);
    settings.elements = 1 << (16 + test_random_below(state, 10));
    settings.tiles = settings.devices + test_random_below(state, 40);
    settings.streams = 1 + test_random_below(state, 6);
    settings.order = (enum order)test_random_below(state, 2);
    settings.layout = (enum layout)test_random_below(state, 2);
    settings.ways = 1 + (int)test_random_below(state, 4);
    settings.intensity = 1 + test_random_below(state, 3000);
    settings.memory = (enum memory)test_random_below(state, MEMORY_MAPPED);
    return settings;
}

/* No drawn plan races, none ends before the limit, and no copy or kernel was held by another
 * device's engine. */
START_TEST(drawn_plans_are_sound)
{
    uint64_t state = 19;
    const struct machine machine = test_machine_named("h200");
    for (int i = 0; i < test_cases(300); i++) {
        struct settings settings = drawn(&state);
        struct plan plan = test_built_on(&settings, &machine);
        struct error error = {0};
        ck_assert_msg(hazards_refuse(&plan, &error) == STATUS_OK, "%s", error.text);
        struct timeline timeline = sim_run(&machine, &plan);
        ck_assert_int_ge(timeline_time_ns(&timeline), limit_of(&machine, &plan).ns);
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

/* Busy times and bytes of all devices are sums, and utilisation is the mean. */
START_TEST(busy_times_are_added_up)
{
    const struct machine machine = test_machine_named("h200");
    struct settings settings = test_settings("scale");
    struct analysis analysis;
    struct error error = {0};
    settings.elements = 1 << 22;
    settings.tiles = 7;
    settings.devices = 2;
    struct plan plan = test_built_on(&settings, &machine);
    struct timeline timeline = sim_run(&machine, &plan);
    ck_assert_int_eq(analyse(&timeline, &analysis, &error), STATUS_OK);
    ck_assert_uint_eq(analysis.devices, 2);
    for (int i = 0; i < ENGINE_PEER; i++) {
        const struct engine_use *all = &analysis.engines[i], *one = &analysis.on[0][i],
                                *two = &analysis.on[1][i];
        ck_assert_int_eq(all->busy_ns, one->busy_ns + two->busy_ns);
        ck_assert_uint_eq(all->bytes, one->bytes + two->bytes);
        ck_assert_uint_eq(one->spans, 4);
        ck_assert_uint_eq(two->spans, 3);
        ck_assert_double_le(fabs(all->utilisation - (one->utilisation + two->utilisation) / 2),
                            1e-12);
    }
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* The more devices, the less is left to the CPU. */
START_TEST(the_cpu_is_beside_all_devices)
{
    const struct machine machine = test_machine_named("h200");
    struct settings settings = test_settings("scale");
    uint32_t before = UINT32_MAX;
    settings.elements = 1 << 26;
    settings.tiles = 256;
    settings.intensity = 100;
    settings.ways = 4;
    for (settings.devices = 1; settings.devices <= 4; settings.devices *= 2) {
        uint32_t tiles = plan_cpu_tiles(&settings, &machine);
        ck_assert_uint_lt(tiles, before);
        before = tiles;
    }
    ck_assert_uint_gt(before, 0);
}
END_TEST

/* By hand: 400 bytes each way are 200 on each of two devices, at a byte per ns; where the
 * host's memory gives no more than one device has, they take as long as on one. */
START_TEST(limit_has_the_devices_given)
{
    struct machine machine = test_machine();
    struct settings settings = test_settings("scale");
    settings.elements = 100;
    settings.devices = 2;
    machine.host_h2d_bytes_per_s = machine.host_d2h_bytes_per_s = 1e15;
    machine.host_joint_bytes_per_s = 1e15;
    struct plan plan = test_built_on(&settings, &machine);
    struct limit limit = limit_of(&machine, &plan);
    ck_assert_int_eq(limit.ns, 200);
    ck_assert_int_eq(limit.compute_ns, 100);
    ck_assert_int_eq(limit.cause, LIMIT_COPIES);
    machine.host_joint_bytes_per_s = 2e9;
    limit = limit_of(&machine, &plan);
    ck_assert_int_ge(limit.ns, 399);
    ck_assert_int_eq(limit.cause, LIMIT_HOST);
    ck_assert_str_eq(limit.figure, "host_joint_bytes_per_s");
    plan_free(&plan);
}
END_TEST

/* --- names --- */

START_TEST(lists_are_read_in_order)
{
    int numbers[MACHINE_DEVICES_MAX];
    ck_assert_uint_eq(device_numbers("3,0,12", numbers), 3);
    ck_assert(numbers[0] == 3 && numbers[1] == 0 && numbers[2] == 12);
    ck_assert_uint_eq(device_numbers("0,1,2,3,4,5,6,7", numbers), 8);
    static const char *const faulty[] = {
        "", ",", "0,", ",0", "0,,1", "0,0", "-1", "all", "0 ,1", "99999", "0,1,2,3,4,5,6,7,8"};
    for (size_t i = 0; i < sizeof faulty / sizeof faulty[0]; i++)
        ck_assert_uint_eq(device_numbers(faulty[i], numbers), 0);
    ck_assert_uint_eq(device_count("cuda:3,0,12"), 3);
    ck_assert_uint_eq(device_count("cuda"), 1);
    ck_assert_uint_eq(device_count("cuda:all"), 0);
    ck_assert_uint_eq(device_count("sim:a,b"), 1);
    ck_assert(device_is_all("cuda:all") && !device_is_all("sim:all") && !device_is_all("auto"));
    ck_assert(device_complaint("cuda:all") == NULL && device_complaint("cuda:1,0") == NULL);
}
END_TEST

/* --- runs --- */

/* Whatever goes with several devices gives the right bytes: the program says so by its code. */
static const char *const right[] = {
    "-k scale",
    "-k scale,scale,sum --order=breadth",
    "-k wave --layout=stage",
    "-w 1",
    "-w 2 -s 3",
    "-w 4 --cpu-share=0.4",
    "--memory=pageable",
    "--callbacks --scatter",
    "--issue=batch -t 200",
    "--pack -t 200",
    "--issue=auto",
    "--tiles=auto --streams=auto",
    "-k scan-exclusive --carry=callback",
    "-k scan-exclusive --carry=sync -w 2",
    "-k dgemm -n 1M --rows=1024 --inner=64 -t 16",
    "-t 3",
};
START_TEST(results_are_right)
{
    char line[256];
    snprintf(line, sizeof line, "-q -d sim:h200*3 -n 1M -t 13 %s --format=json", right[_i]);
    ck_assert_msg(program_run(line) == 0, "%s: %s", line, program_err);
    assert_has(program_out, "\"verified\": true");
}
END_TEST

static const struct {
    const char *arguments, *words;
} wrong[] = {
    {"-d sim:h200*0", "sim:h200*0"},
    {"-d sim:h200*99 -t 128", "more devices than a host can have"},
    {"-d sim:c2050*2", "has 1 device "},
    {"-d sim:h200*3 -t 2", "more devices than"},
    {"-d sim:h200*2 -s 1024", "use --streams=512, or a --device such as sim:h200"},
    {"-d sim:h200*2 --memory=mapped", "--memory=mapped"},
    {"-d sim:h200*2 --issue=graph", "--issue=graph"},
    {"-d sim:h200*2 --mistake=sync-in-loop", "--mistake=sync-in-loop"},
    {"-d sim:h200*2 -k scan-exclusive", "carry=device"},
    {"-d sim:h200 --spread=chain -k scale,scale",
     "use a --device such as sim:h200*2, or --spread=tiles\n"},
    /* What the machine has not is never advised. */
    {"-d sim:h100 --spread=chain -k scale,scale", "is one: use --spread=tiles\n"},
    {"-d sim:k20c --batch=4", "use --batch=auto, or --pack=yes\n"},
};
START_TEST(what_does_not_go_is_refused)
{
    char line[256];
    snprintf(line, sizeof line, "%s -n 64k", wrong[_i].arguments);
    int code = program_run(line);
    ck_assert_msg(code == 2, "%s: exit %d: %s", line, code, program_err);
    assert_has(program_err, wrong[_i].words);
    ck_assert_ptr_eq(strchr(program_err, '\n'), strrchr(program_err, '\n'));
}
END_TEST

/* A machine file is not written over, however many devices it is read for. */
START_TEST(files_of_machines_are_safe)
{
    ck_assert_int_eq(system("cp " TESTS_FOLDER "/../configs/machines/h200.ini mine.ini"), 0);
    ck_assert_msg(program_run("-q -d sim:./mine.ini*2 -n 64k -t 4") == 0, "%s", program_err);
    ck_assert_int_eq(program_run("-q -d sim:./mine.ini*2 -n 64k -t 4 -o mine.ini"), 2);
    assert_has(program_err, "which is read");
}
END_TEST

/* With one device --spread means nothing, and nothing tells of devices. */
START_TEST(one_device_is_as_ever)
{
    const char *with = "-q -d sim:h200*1 --spread=tiles -n 64k -t 4 --timeline=a.csv";
    ck_assert_msg(program_run(with) == 0, "%s", program_err);
    ck_assert_int_eq(program_run("-q -d sim:h200 -n 64k -t 4 --timeline=b.csv"), 0);
    ck_assert_int_eq(system("sed 's/h200\\*1/h200/' a.csv | cmp - b.csv && "
                            "! grep -E 'device$|devices' b.csv"),
                     0);
}
END_TEST

/* No fix is one that is refused: what a scan carries can't stay on one of several devices. */
START_TEST(fixes_are_what_is_allowed)
{
    static const char *const carries[] = {"callback", "sync"};
    for (int i = 0; i < 2; i++) {
        char line[128];
        snprintf(line, sizeof line, "-q -d sim:h200*2 -k scan --carry=%s -n 1M --no-data",
                 carries[i]);
        ck_assert_msg(program_run(line) == 0, "%s", program_err);
        ck_assert_ptr_null(strstr(program_out, "--carry=device"));
        ck_assert_int_eq(strstr(program_out, "--carry=callback") != NULL, i == 1);
    }
}
END_TEST

/* Serial on several devices has one stream of each: the fix says how many there are to be, and
 * with all that it names a run takes what it promises. */
START_TEST(a_fix_of_serial_names_its_streams)
{
    const char *run = "-q -d sim:k80*2 -n 2M --layout=stage --no-data";
    double took_ms;
    char line[192], said[64];
    snprintf(line, sizeof line, "%s --ways=3 --streams=4 --format=json", run);
    ck_assert_msg(program_run(line) == 0, "%s", program_err);
    ck_assert_int_eq(sscanf(strstr(program_out, "\"time_ms\": "), "\"time_ms\": %lf", &took_ms),
                     1);
    snprintf(said, sizeof said, "        about %.3g ms, ", took_ms);
    snprintf(line, sizeof line, "%s --ways=1", run);
    ck_assert_msg(program_run(line) == 0, "%s", program_err);
    assert_shown(program_out, "one stream of each device|--ways=3 --streams=4; it would take");
    assert_has(program_out, said);
}
END_TEST

/* --- files and pictures --- */

START_TEST(files_tell_the_devices)
{
    const char *run = "-q -d sim:h200*2 -n 1M -t 9 --callbacks --timeline=a.csv "
                      "--timeline=a.json --timeline=a.html --format=json";
    ck_assert_msg(program_run(run) == 0, "%s", program_err);
    assert_shown(program_out, "\"limit_cause\": \"host-memory\"|\"devices\": [");
    ck_assert_int_eq(system("grep -q '^run,op,.*,end_ns,device$' a.csv && "
                            "grep -q '^run,.*,h2d,.*,1$' a.csv && "
                            "grep -q '\"name\":\"run: device 1\"' a.json && "
                            "grep -q '\"devices\": *2' a.html"),
                     0);
    /* What is read back says the same. */
    ck_assert_msg(program_run("view a.csv --timeline=b.csv") == 0, "%s", program_err);
    assert_shown(program_out, "0 H2D|1 D2H|device 1");
    ck_assert_msg(program_run("view a.csv --stream=5 --timeline=d.json") == 0, "%s",
                  program_err);
    ck_assert_msg(program_run("view a.csv --window=0%..20% --timeline=d.html") == 0, "%s",
                  program_err);
    ck_assert_int_eq(system("for f in a b; do grep -v '^#' $f.csv | cut -d, -f2- >$f; done; "
                            "cmp a b"),
                     0);
}
END_TEST

START_TEST(pictures_have_a_band_for_each)
{
    ck_assert_int_eq(program_run("-q -d sim:h200*2 -n 16M -t 8 --no-data"), 0);
    assert_shown(program_out, "simulated, 2 x NVIDIA H200|  device 0\n  H2D|  device 1\n  H2D");
    ck_assert_int_eq(program_run("-q -d sim:h200*2 -n 16M -t 8 --no-data --gantt=streams"), 0);
    assert_shown(program_out, "  device 1\n  stream 4");
    ck_assert_int_eq(program_run("-d sim:h200*2 -t 8 --dry-run"), 0);
    assert_has(program_out, "streams  8, 4 on each of 2 devices");
}
END_TEST

Suite *devices_suite(void)
{
    Suite *suite = suite_create("devices");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_set_timeout(all, 60);
    tcase_add_test(all, host_gives_what_was_measured);
    tcase_add_test(all, host_takes_nothing_from_one);
    tcase_add_test(all, one_direction_has_its_own_figure);
    tcase_add_test(all, lists_are_read_in_order);
    tcase_add_test(all, bound_follows_from_what_was_given);
    tcase_add_test(all, rates_change_in_mid_copy);
    tcase_add_test(all, tiles_are_as_fast_as_measured);
    tcase_add_test(all, a_switch_is_shared);
    tcase_add_test(all, reports_name_the_switch);
    tcase_add_test(all, copies_in_lose_to_copies_out);
    tcase_add_test(all, copies_out_have_what_they_had);
    tcase_add_test(all, slow_reads_are_a_cause);
    tcase_add_test(all, slots_of_their_own_share_nothing);
    tcase_add_test(all, tiles_are_dealt_over_devices);
    tcase_add_test(all, validation_knows_whose_memory);
    tcase_add_test(all, drawn_plans_are_sound);
    tcase_add_test(all, busy_times_are_added_up);
    tcase_add_test(all, the_cpu_is_beside_all_devices);
    tcase_add_test(all, limit_has_the_devices_given);
    tcase_add_loop_test(all, results_are_right, 0, (int)(sizeof right / sizeof right[0]));
    tcase_add_loop_test(all, what_does_not_go_is_refused, 0,
                        (int)(sizeof wrong / sizeof wrong[0]));
    tcase_add_test(all, files_of_machines_are_safe);
    tcase_add_test(all, one_device_is_as_ever);
    tcase_add_test(all, fixes_are_what_is_allowed);
    tcase_add_test(all, a_fix_of_serial_names_its_streams);
    tcase_add_test(all, files_tell_the_devices);
    tcase_add_test(all, pictures_have_a_band_for_each);
    suite_add_tcase(suite, all);
    return suite;
}
