/* check_batch.c - tiles that go in batches: which ops a plan then has, how long the simulator
 * takes for a batch's copies, and what is refused. */
#include "plan/rules.h"
#include "run/cpu_worker.h"
#include "sim/simulator.h"
#include "sim_cases.h"
#include "suites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 7, CALL = 100, COPY_CALL = 3 };

static struct machine batch_machine(void)
{
    struct machine machine = test_machine();
    machine.batch_gap_ns = GAP;
    return machine;
}

static struct settings batch_settings(const char *chain, uint32_t tiles, uint32_t batch)
{
    struct settings settings = test_settings(chain);
    settings.elements = 100 * tiles;
    settings.tiles = tiles;
    settings.issue = ISSUE_BATCH;
    settings.batch = batch;
    return settings;
}

static struct plan build(const struct settings *settings)
{
    const struct machine machine = batch_machine();
    return test_built_on(settings, &machine);
}

/* Every tile is copied in, worked on by each kernel and copied out exactly once, whatever the
 * batch; and the host's bytes of all ops of a kind are the whole array, in one piece. */
static void check_covers(const struct plan *plan, enum op_kind kind, int link)
{
    uint32_t next = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->op_count; i++) {
        const struct op *op = &plan->ops[i];
        if (op->kind != kind || (kind == OP_KERNEL && op->kernel.link != (uint32_t)link))
            continue;
        ck_assert_int_eq(op->tile, next);
        next += op_tiles(op);
        if (kind == OP_KERNEL)
            continue;
        ck_assert_uint_eq(op->copy.host.offset, bytes);
        ck_assert_uint_eq(op->copy.host.bytes, op->copy.device.bytes);
        bytes += op->copy.host.bytes;
    }
    ck_assert_uint_eq(next, plan->tiles);
    if (kind == OP_H2D)
        ck_assert_uint_eq(bytes, plan->buffer_bytes[BUFFER_HOST_IN0]);
    else if (kind == OP_D2H)
        ck_assert_uint_eq(bytes, plan->buffer_bytes[BUFFER_HOST_OUT]);
}

START_TEST(test_every_tile_goes_once)
{
    static const char *const chains[] = {"scale", "scale,sum", "transpose-naive,scale", "scan"};
    static const uint32_t batches[] = {1, 2, 7, 10, 16, 17, 100};
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
            struct settings settings = batch_settings(chains[c], 17, batches[b]);
            settings.columns = 10;
            struct plan plan = build(&settings);
            check_covers(&plan, OP_H2D, 0);
            for (int link = 0; link < plan.chain_length; link++)
                check_covers(&plan, OP_KERNEL, link);
            check_covers(&plan, OP_D2H, 0);
            plan_free(&plan);
        }
    }
}
END_TEST

/* Kernels whose elements stand alone are launched once for a batch, others once for each tile;
 * a slot holds a batch, so as many slots are needed as batches are in flight. */
START_TEST(test_ops_of_a_batch)
{
    struct settings settings = batch_settings("scale,sum", 32, 8);
    settings.streams = 2;
    settings.callbacks = true;
    struct plan plan = build(&settings);
    uint32_t scales = 0, sums = 0, copies = 0, callbacks = 0;
    for (uint32_t i = 0; i < plan.op_count; i++) {
        const struct op *op = &plan.ops[i];
        scales += op->kind == OP_KERNEL && op->kernel.link == 0;
        sums += op->kind == OP_KERNEL && op->kernel.link == 1;
        copies += op->kind == OP_H2D;
        callbacks += op->kind == OP_CALLBACK;
        ck_assert_uint_eq(op_tiles(op), op->kind == OP_KERNEL && op->kernel.link == 1 ? 1 : 8);
        /* The values of a batch's tiles lie together, so they are one copy. */
        ck_assert_uint_eq(rule_copies(&plan, op), op->kind == OP_H2D ? 8 : 1);
    }
    ck_assert_uint_eq(scales, 4);
    ck_assert_uint_eq(sums, 32);
    ck_assert_uint_eq(copies, 4);
    ck_assert_uint_eq(callbacks, 4);
    ck_assert_uint_eq(plan.slots, 2);
    ck_assert_uint_ge(plan.buffer_bytes[BUFFER_DEVICE_IN0], 2 * 8 * 400);
    ck_assert_uint_lt(plan.buffer_bytes[BUFFER_DEVICE_IN0], 3 * 8 * 400);
    char label[OP_LABEL];
    ck_assert_str_eq(plan_op_label(&plan, &plan.ops[0], label), "h2d 0-7");
    plan_free(&plan);
}
END_TEST

/* The CPU's tiles, the last ones, are in no batch. */
START_TEST(test_cpu_tiles_go_alone)
{
    struct settings settings = batch_settings("scale", 20, 8);
    settings.ways = 4;
    settings.cpu_share = 0.25;
    struct plan plan = build(&settings);
    uint32_t cpu = 0, gpu = 0;
    for (uint32_t i = 0; i < plan.op_count; i++) {
        cpu += plan.ops[i].kind == OP_CPU ? op_tiles(&plan.ops[i]) : 0;
        gpu += plan.ops[i].kind == OP_KERNEL ? op_tiles(&plan.ops[i]) : 0;
    }
    ck_assert_uint_eq(cpu, 5);
    ck_assert_uint_eq(gpu, 15);
    ck_assert_uint_eq(plan_batches(&plan), 2);
    ck_assert_uint_eq(plan_batch(&plan, 1).count, 7);
    plan_free(&plan);
}
END_TEST

/* One call for a batch of n copies, each of which takes its bytes, with a gap between two. */
START_TEST(test_time_of_a_batch)
{
    enum { TILES = 6, BYTES = 400 };
    struct machine machine = batch_machine();
    machine.issue_copy_ns = CALL;
    machine.issue_batch_copy_ns = COPY_CALL;
    struct settings settings = batch_settings("scale", TILES, TILES);
    struct plan plan = build(&settings);
    struct timeline timeline = sim_run(&machine, &plan);
    const struct span *in = &timeline.spans[0];
    ck_assert_int_eq(in->kind, OP_H2D);
    ck_assert_int_eq(in->start_ns, CALL + TILES * COPY_CALL);
    ck_assert_int_eq(in->end_ns - in->start_ns, TILES * BYTES + (TILES - 1) * GAP);
    timeline_free(&timeline);
    plan_free(&plan);
}
END_TEST

/* While one direction pauses between two copies of its batch, the other has the whole link. */
START_TEST(test_gaps_leave_the_link_to_the_other_way)
{
    enum { TILES = 64, BYTES = 400, LONG_GAP = 400 };
    struct machine machine = batch_machine();
    machine.joint_bytes_per_s = 1e9; /* half for each when both are busy */
    machine.batch_gap_ns = LONG_GAP;
    struct settings settings = batch_settings("scale", 2 * TILES, TILES);
    struct plan plan = build(&settings);
    int64_t paused_ns, joint_ns;
    struct error error = {0};
    ck_assert_int_eq(simulator_time(&machine, 0, &plan, &paused_ns, &error), STATUS_OK);
    machine.batch_gap_ns = 1;
    ck_assert_int_eq(simulator_time(&machine, 0, &plan, &joint_ns, &error), STATUS_OK);
    /* Both ways are busy with the second batch in and the first one out; were the link halved
     * in the pauses too, each copy of these would take twice its bytes and a gap. */
    const int64_t halved_ns = 2 * TILES * (BYTES + LONG_GAP) + TILES * (2 * BYTES + LONG_GAP);
    ck_assert_int_gt(paused_ns, joint_ns);
    ck_assert_int_lt(paused_ns, halved_ns);
    plan_free(&plan);
}
END_TEST

/* Returns the time of 1 GiB each way in 64 KiB tiles on an H200. */
static int64_t h200_ns(enum issue issue, uint32_t batch)
{
    struct error error = {0};
    int64_t time_ns;
    struct machine machine = test_machine_named("h200");
    struct settings settings = batch_settings("scale", 16384, batch);
    settings.elements = 256 << 20;
    settings.issue = issue;
    struct plan plan = test_built_on(&settings, &machine);
    ck_assert_int_eq(simulator_time(&machine, 0, &plan, &time_ns, &error), STATUS_OK);
    plan_free(&plan);
    return time_ns;
}

/* A batch of small tiles is far faster than as many calls, and with the figures of an H200 as
 * fast as it was there: 1 GiB each way in 34 ms. Batches go through the same hardware queues:
 * those of one tile are as fast as calls. */
START_TEST(test_batch_on_an_h200)
{
    const int64_t batch_ns = h200_ns(ISSUE_BATCH, 0), single_ns = h200_ns(ISSUE_STREAMS, 0);
    ck_assert_int_gt(batch_ns, 22000000);
    ck_assert_int_lt(batch_ns, 27000000);
    ck_assert_int_gt(single_ns, 3 * batch_ns);
    ck_assert_int_eq(h200_ns(ISSUE_BATCH, 1), single_ns);
}
END_TEST

/* The few blocks of a scan wait less for a tile that the cache holds, but not where it holds
 * eight of them, which one batch has brought. */
START_TEST(test_batches_of_scans_leave_the_cache)
{
    struct error error = {0};
    int64_t ns[2];
    struct machine machine = test_machine_named("h200");
    for (uint32_t i = 0; i < 2; i++) {
        struct settings settings = batch_settings("scan-naive", 8, i == 0 ? 1 : 8);
        settings.elements = 8 << 20; /* 8 MiB in and out for each tile */
        settings.blocks = 1;
        settings.streams = 1;
        struct plan plan = test_built_on(&settings, &machine);
        ck_assert_int_eq(simulator_time(&machine, 0, &plan, &ns[i], &error), STATUS_OK);
        plan_free(&plan);
    }
    ck_assert_int_gt(ns[1], ns[0] + ns[0] / 10);
}
END_TEST

START_TEST(test_batch_is_as_many_tiles_as_it_should)
{
    static const struct {
        uint64_t elements;
        uint32_t tiles, streams, given, wanted;
    } cases[] = {
        {256 << 20, 16384, 4, 0, 64}, /* 4 MiB of 64 KiB each */
        {256 << 20, 32, 4, 0, 1},     /* tiles of 32 MiB */
        {1 << 20, 64, 4, 0, 2},       /* 8 batches in turn for each of 4 in flight */
        {1 << 20, 8, 4, 0, 1},        /* as few as they are */
        {1 << 20, 64, 4, 5, 5},       /* as it was given */
        {1 << 20, 64, 4, 1000, 64},   /* no more than there are */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct settings settings = batch_settings("scale", cases[i].tiles, cases[i].given);
        settings.elements = cases[i].elements;
        settings.streams = cases[i].streams;
        ck_assert_uint_eq(settings_batch(&settings), cases[i].wanted);
        settings.issue = ISSUE_STREAMS;
        ck_assert_uint_eq(settings_batch(&settings), 1);
    }
}
END_TEST

static void must_refuse(const struct settings *settings, const char *named)
{
    struct error error = {0};
    ck_assert_int_eq(settings_check(settings, &error), STATUS_USAGE);
    ck_assert_msg(strstr(error.text, named) != NULL, "%s", error.text);
}

/* The ops of a plan in which a batch has `of_batch` ops and each of its tiles `alone`. */
static double ops_of(const struct settings *settings, uint32_t tiles, double alone,
                     double of_batch)
{
    struct settings these = *settings;
    these.tiles = tiles;
    return tiles * (alone + of_batch / settings_batch(&these));
}

/* What a plan that is too large is told to take instead is small enough: fewer tiles go in
 * smaller batches, so that there may be as many ops as before. And it is not much too small. */
START_TEST(test_fewer_tiles_would_do)
{
    static const struct {
        const char *chain;
        uint32_t batch;
        double alone, of_batch;
    } cases[] = {{"scale", 0, 0, 30},
                 {"scan", 0, 1, 40},
                 {"scale,scan,sum", 0, 2, 30},
                 {"scan", 5, 1, 10},
                 {"scale", 1, 0, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct settings settings = batch_settings(cases[i].chain, 1 << 24, cases[i].batch);
        settings.elements = UINT64_C(1) << 40;
        const double most = settings_ops_most(&settings),
                     ops = ops_of(&settings, settings.tiles, cases[i].alone, cases[i].of_batch);
        struct error error = {0};
        ck_assert_int_eq(settings_refuse_size(&settings, most / ops, &error), STATUS_USAGE);
        const char *hint = strstr(error.text, ": --tiles=");
        ck_assert_msg(hint != NULL, "%s", error.text);
        const uint32_t tiles = (uint32_t)strtoul(hint + strlen(": --tiles="), NULL, 10);
        const double then = ops_of(&settings, tiles, cases[i].alone, cases[i].of_batch);
        ck_assert_msg(then <= most && then > 0.2 * most, "%s: %g of %g", error.text, then,
                      most);
    }
}
END_TEST

START_TEST(test_refusals)
{
    const struct machine without = test_machine();
    struct error error = {0};
    int64_t time_ns;
    struct settings settings = batch_settings("scale", 8, 4);
    struct plan plan = build(&settings);
    ck_assert_int_eq(simulator_time(&without, 0, &plan, &time_ns, &error), STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "batch_gap_ns"));
    plan_free(&plan);
    ck_assert_int_eq(settings_check(&settings, &(struct error){0}), STATUS_OK);
    settings.memory = MEMORY_PAGEABLE;
    must_refuse(&settings, "memory=pageable");
    settings.memory = MEMORY_PINNED;
    settings.mistake = test_mistake("missing-wait");
    must_refuse(&settings, "mistake=missing-wait");
    settings.mistake = MISTAKE_NONE;
    settings.issue = ISSUE_STREAMS;
    must_refuse(&settings, "batch=4");
}
END_TEST

/* --- packing --- */

static struct settings packed_settings(const char *chain, uint32_t tiles, uint32_t batch)
{
    struct settings settings = batch_settings(chain, tiles, batch);
    settings.issue = ISSUE_STREAMS;
    settings.pack = true;
    settings.streams = 2;
    return settings;
}

/* Copies move the host's slots alone, and the packing all of the arrays, once. */
START_TEST(test_packing_moves_every_byte)
{
    static const char *const chains[] = {"scale", "wave", "sum", "scan"};
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        struct settings settings = packed_settings(chains[c], 17, 4);
        struct plan plan = build(&settings);
        uint64_t packed[BUFFER_COUNT] = {0};
        for (uint32_t i = 0; i < plan.op_count; i++) {
            const struct op *op = &plan.ops[i];
            bool values = op->kind == OP_D2H && c == 2;
            if (op->kind == OP_H2D || op->kind == OP_D2H) {
                ck_assert(values || op->copy.host.buffer >= BUFFER_HOST_PACK_IN0);
                ck_assert_uint_eq(rule_copies(&plan, op), 1);
            }
            if (op->kind != OP_PACK)
                continue;
            packed[op->move.from.buffer] += op->move.from.bytes;
            packed[op->move.to.buffer] += op->move.to.bytes;
        }
        ck_assert_uint_eq(packed[BUFFER_HOST_IN0], plan.buffer_bytes[BUFFER_HOST_IN0]);
        ck_assert_uint_eq(packed[BUFFER_HOST_IN1], plan.buffer_bytes[BUFFER_HOST_IN1]);
        ck_assert_uint_eq(packed[BUFFER_HOST_OUT],
                          c == 2 ? 0 : plan.buffer_bytes[BUFFER_HOST_OUT]);
        ck_assert_uint_eq(test_hazard_count(&plan), 0);
        plan_free(&plan);
    }
}
END_TEST

/* Without the host's wait for a batch it would unpack what is not there yet, and pack over what
 * is still being copied: each of these is a race that is found. */
START_TEST(test_packing_without_a_wait_races)
{
    struct settings settings = packed_settings("scale", 12, 2);
    struct plan plan = build(&settings);
    uint32_t waits = 0;
    for (uint32_t i = 0; i < plan.op_count; i++) {
        const struct op op = plan.ops[i];
        if (op.kind != OP_SYNC_EVENT)
            continue;
        waits++;
        plan.ops[i] = (struct op){.id = i, .kind = OP_ALLOC, .stream = op.stream, .tile = -1};
        plan.ops[i].alloc.bytes = 1;
        ck_assert_uint_gt(test_hazard_count(&plan), 0);
        plan.ops[i] = op;
        ck_assert_uint_eq(test_hazard_count(&plan), 0);
    }
    ck_assert_uint_eq(waits, 6);
    plan_free(&plan);
}
END_TEST

/* Asserts that packing and unpacking tiles of 4 bytes for each of `elements` take so long. */
static void assert_packing(uint64_t elements, int64_t takes_ns)
{
    enum { TILES = 4 };
    struct machine machine = test_machine();
    machine.pack_ns = 50;
    machine.pack_bytes_per_s = 4e9;
    machine.cpu_core_share = 0.5;
    struct settings settings = packed_settings("scale", TILES, TILES);
    settings.elements = elements;
    struct plan plan = build(&settings);
    struct timeline timeline = sim_run(&machine, &plan);
    int64_t packed_ns = 0, unpacked_ns = 0, back_ns = 0;
    for (uint32_t i = 0; i < timeline.span_count; i++) {
        const struct span *span = &timeline.spans[i];
        const bool packs = span->kind == OP_PACK && span->issue_ns == 0;
        packed_ns = packs ? span->end_ns : packed_ns;
        back_ns = span->kind == OP_D2H ? span->end_ns : back_ns;
        if (span->kind == OP_H2D)
            ck_assert_int_eq(span->start_ns, packed_ns);
        if (span->kind != OP_PACK || packs)
            continue;
        ck_assert_int_eq(span->start_ns, back_ns);
        unpacked_ns = span->end_ns - span->start_ns;
    }
    ck_assert_int_eq(packed_ns, takes_ns);
    ck_assert_int_eq(unpacked_ns, takes_ns);
    timeline_free(&timeline);
    plan_free(&plan);
}

/* The host's cores are woken, and read and write each byte, but little is one core's; while
 * they do, nothing is issued. With one slot nothing is copied out meanwhile either, and they
 * are 1.4 times as fast. */
START_TEST(test_time_of_packing)
{
    const int64_t bytes = RULE_PACK_SHARE_BYTES;
    assert_packing((uint64_t)bytes / 4, 50 + machine_ceil_ns((double)bytes / 2.8));
    assert_packing((uint64_t)bytes / 4 - 4, machine_ceil_ns((double)(bytes - 16) / 1.4));
}
END_TEST

/* With pageable arrays only the packing is the CPU's: copies have page-locked memory, so their
 * calls wait for nothing. */
START_TEST(test_packing_pageable_memory)
{
    struct settings settings = packed_settings("scale", 8, 2);
    int64_t pinned_ns, pageable_ns, staged_ns;
    struct error error = {0};
    struct machine machine = test_machine_named("h200");
    settings.elements = 8 << 20;
    struct plan plan = build(&settings);
    ck_assert_int_eq(simulator_time(&machine, 0, &plan, &pinned_ns, &error), STATUS_OK);
    plan.memory = MEMORY_PAGEABLE;
    ck_assert_int_eq(simulator_time(&machine, 0, &plan, &pageable_ns, &error), STATUS_OK);
    plan_free(&plan);
    settings.pack = false;
    settings.batch = 0;
    settings.memory = MEMORY_PAGEABLE;
    plan = build(&settings);
    ck_assert_int_eq(simulator_time(&machine, 0, &plan, &staged_ns, &error), STATUS_OK);
    ck_assert_int_eq(pageable_ns, pinned_ns);
    ck_assert_int_gt(staged_ns, pageable_ns);
    plan_free(&plan);
}
END_TEST

/* Only the packed slots are page-locked then: the values of a reduction, and what every tile
 * needs whole, are staged by the host as anywhere. */
START_TEST(test_only_packed_copies_are_not_staged)
{
    struct settings settings = packed_settings("sum", 8, 2);
    settings.memory = MEMORY_PAGEABLE;
    struct plan plan = build(&settings);
    for (uint32_t i = 0; i < plan.op_count; i++) {
        const struct op *op = &plan.ops[i];
        ck_assert(rule_copy_staged(&plan, op) == (op->kind == OP_D2H));
        if (op->kind == OP_D2H)
            ck_assert_int_eq(op->copy.host.buffer, BUFFER_HOST_OUT);
    }
    plan_free(&plan);
}
END_TEST

/* The host can't wait for an event before it is recorded. */
START_TEST(test_waits_come_behind_records)
{
    struct settings settings = packed_settings("scale", 8, 2);
    struct plan plan = build(&settings);
    struct error error = {0};
    uint32_t at = 0;
    while (plan.ops[at].kind != OP_SYNC_EVENT)
        at++;
    ck_assert_int_eq(plan_validate(&plan, &error), STATUS_OK);
    plan.ops[at].event.event = plan.events - 1;
    ck_assert_int_ne(plan_validate(&plan, &error), STATUS_OK);
    plan_free(&plan);
}
END_TEST

/* A batch's tiles each have a place of their own in its slot, so that kernels which don't join
 * them share nothing, and fewer ops find room. */
START_TEST(test_room_for_ops)
{
    struct settings settings = batch_settings("sum", 1000, 10);
    const uint32_t batched = settings_ops_most(&settings);
    settings.batch = 1;
    ck_assert_uint_lt(batched, settings_ops_most(&settings));
    settings = batch_settings("scale,scale", 1000, 10);
    ck_assert_uint_gt(settings_ops_most(&settings), batched);
    /* The launches of a chain's two kernels share what is in each slot. */
    const struct machine machine = batch_machine();
    settings = batch_settings("scale,scale", 1000, 1);
    settings.streams = 4;
    struct plan plan = test_built_on(&settings, &machine);
    const struct op_ranges *seen[16];
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan.op_count; i++) {
        uint32_t known = 0;
        if (plan.ops[i].kind != OP_KERNEL)
            continue;
        while (known < count && seen[known] != plan.ops[i].kernel.ranges)
            known++;
        ck_assert_uint_lt(known, 16);
        seen[known] = plan.ops[i].kernel.ranges;
        count += known == count;
    }
    ck_assert_uint_eq(count, 8);
    plan_free(&plan);
}
END_TEST

START_TEST(test_packing_is_refused)
{
    struct settings settings = packed_settings("scale", 8, 4);
    ck_assert_int_eq(settings_check(&settings, &(struct error){0}), STATUS_OK);
    settings.ways = 4;
    must_refuse(&settings, "ways=4");
    settings.ways = 3;
    settings.issue = ISSUE_GRAPH;
    must_refuse(&settings, "issue=graph");
    settings.issue = ISSUE_BATCH;
    must_refuse(&settings, "issue=batch");
    settings.issue = ISSUE_STREAMS;
    settings.memory = MEMORY_MAPPED;
    must_refuse(&settings, "memory=mapped");
    settings.memory = MEMORY_PINNED;
    settings.mistake = test_mistake("slow-callback");
    must_refuse(&settings, "mistake=slow-callback");
}
END_TEST

/* Every byte of every piece arrives, and none beside them, whatever the team's threads share.
 */
START_TEST(test_pieces_are_copied)
{
    enum { MOST = 40, ROOM = 1 << 16 };
    static unsigned char from[ROOM], to[ROOM];
    uint64_t random = 99 + (uint64_t)_i;
    void *targets[MOST];
    const void *sources[MOST];
    size_t bytes[MOST], place = 0, copied = 0, changed = 0;
    const size_t count = test_random_below(&random, MOST + 1);
    for (size_t i = 0; i < ROOM; i++) {
        from[i] = (unsigned char)(1 + i % 251);
        to[i] = 0;
    }
    for (size_t i = 0; i < count; i++) {
        bytes[i] = test_random_below(&random, i % 5 == 0 ? 5 : 1500);
        sources[i] = from + place;
        targets[i] = to + ROOM - place - bytes[i] - i; /* in the other order, a byte apart */
        place += bytes[i];
        copied += bytes[i];
    }
    const struct pieces pieces = {targets, sources, bytes, count};
    pieces_copy(&pieces);
    for (size_t i = 0; i < count; i++)
        ck_assert(memcmp(targets[i], sources[i], bytes[i]) == 0);
    for (size_t i = 0; i < ROOM; i++)
        changed += to[i] != 0;
    ck_assert_uint_eq(changed, copied);
}
END_TEST

Suite *batch_suite(void)
{
    Suite *suite = suite_create("batch");
    TCase *plans = tcase_create("plans");
    tcase_add_test(plans, test_every_tile_goes_once);
    tcase_add_test(plans, test_ops_of_a_batch);
    tcase_add_test(plans, test_cpu_tiles_go_alone);
    tcase_add_test(plans, test_batch_is_as_many_tiles_as_it_should);
    tcase_add_test(plans, test_room_for_ops);
    tcase_add_test(plans, test_fewer_tiles_would_do);
    tcase_add_test(plans, test_refusals);
    suite_add_tcase(suite, plans);
    TCase *times = tcase_create("times");
    tcase_add_test(times, test_time_of_a_batch);
    tcase_add_test(times, test_gaps_leave_the_link_to_the_other_way);
    tcase_add_test(times, test_batch_on_an_h200);
    tcase_add_test(times, test_batches_of_scans_leave_the_cache);
    suite_add_tcase(suite, times);
    TCase *packing = tcase_create("packing");
    tcase_add_test(packing, test_packing_moves_every_byte);
    tcase_add_test(packing, test_packing_without_a_wait_races);
    tcase_add_test(packing, test_time_of_packing);
    tcase_add_test(packing, test_packing_pageable_memory);
    tcase_add_test(packing, test_only_packed_copies_are_not_staged);
    tcase_add_test(packing, test_waits_come_behind_records);
    tcase_add_test(packing, test_packing_is_refused);
    tcase_add_loop_test(packing, test_pieces_are_copied, 0, 20);
    suite_add_tcase(suite, packing);
    return suite;
}
