/* check_rework_work.c - recorded plans whose work itself is changed: copies within the device
 * that go, kernels that get more blocks, large copies in pieces. */
#include "causes/knobs.h"
#include "recorded_plan.h"
#include "rework_cases.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

enum { OPS_MOST = 1024, ROUNDS = 8, BUFFERS = 3, HOST = 2, BUFFER_SIZE = 1 << 30 };

static const int64_t WORK_NS = 400000;

/* Returns a recorded plan without ops: buffers 0 and 1 are the device's, HOST is not. */
static struct plan empty(uint32_t streams)
{
    struct plan plan = {0};
    plan.streams = streams;
    plan.recorded = calloc(1, sizeof *plan.recorded);
    ck_assert_ptr_nonnull(plan.recorded);
    struct plan_recorded *recorded = plan.recorded;
    recorded->ops = calloc(OPS_MOST, sizeof *recorded->ops);
    recorded->accesses = calloc((size_t)2 * OPS_MOST, sizeof *recorded->accesses);
    recorded->buffers = calloc(BUFFERS, sizeof *recorded->buffers);
    recorded->names = calloc(1, sizeof *recorded->names);
    ck_assert(recorded->ops && recorded->accesses && recorded->buffers && recorded->names);
    recorded->names[recorded->name_count++] = strdup("step");
    for (uint32_t i = 0; i < BUFFERS; i++)
        recorded->buffers[i] =
            (struct recorded_buffer){.address = (i + 1) * UINT64_C(0x100000000),
                                     .bytes = BUFFER_SIZE,
                                     .host = i == HOST};
    recorded->buffer_count = BUFFERS;
    recorded->threads = 1;
    return plan;
}

static struct range bytes_of(int buffer, uint64_t offset, uint64_t bytes)
{
    return (struct range){(enum buffer)buffer, offset, bytes};
}

static void touch(struct plan *plan, struct range range, bool writes)
{
    struct plan_recorded *recorded = plan->recorded;
    recorded->accesses[recorded->access_count++] =
        (struct access){.range = range, .writes = writes};
    recorded->ops[plan->op_count - 1].access_count++;
}

static struct op_recorded *append(struct plan *plan, struct op op, int64_t work_ns, double fill)
{
    struct error error = {0};
    ck_assert_uint_lt(plan->op_count, OPS_MOST);
    op.tile = -1;
    ck_assert_int_eq(plan_append(plan, &op, &error), STATUS_OK);
    struct op_recorded *seen = &plan->recorded->ops[plan->op_count - 1];
    *seen = (struct op_recorded){.work_ns = work_ns,
                                 .fill = fill,
                                 .first_access = plan->recorded->access_count,
                                 .span = plan->op_count - 1,
                                 .sure = op.kind != OP_KERNEL};
    return seen;
}

/* A kernel that may read and write what it names: buffer `one`, and `other` if it is another.
 */
static void kernel(struct plan *plan, uint32_t stream, uint32_t blocks, double fill, int one,
                   int other, uint64_t bytes)
{
    struct op op = {.kind = OP_KERNEL, .stream = stream};
    op.kernel.blocks = blocks;
    append(plan, op, WORK_NS, fill);
    for (int writes = 0; writes < 2; writes++) {
        touch(plan, bytes_of(one, 0, bytes), writes != 0);
        if (other != one)
            touch(plan, bytes_of(other, 0, bytes), writes != 0);
    }
}

static void copy(struct plan *plan, enum op_kind kind, uint32_t stream, int device,
                 uint64_t offset, uint64_t bytes)
{
    struct op op = {.kind = kind, .stream = stream};
    op.copy.device = bytes_of(device, offset, bytes);
    op.copy.host = bytes_of(HOST, offset, bytes);
    append(plan, op, 0, 1);
    touch(plan, kind == OP_H2D ? op.copy.host : op.copy.device, false);
    touch(plan, kind == OP_H2D ? op.copy.device : op.copy.host, true);
}

static void d2d(struct plan *plan, uint32_t stream, int from, int to, uint64_t bytes)
{
    struct op op = {.kind = OP_D2D, .stream = stream};
    op.move.from = bytes_of(from, 0, bytes);
    op.move.to = bytes_of(to, 0, bytes);
    append(plan, op, WORK_NS / 2, 1);
    touch(plan, op.move.from, false);
    touch(plan, op.move.to, true);
}

static void sync_stream(struct plan *plan, uint32_t stream)
{
    append(plan, (struct op){.kind = OP_SYNC, .stream = stream}, 0, 1)->span = UINT32_MAX;
}

static uint32_t count(const struct plan *plan, enum op_kind kind)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < plan->op_count; i++)
        found += plan->ops[i].kind == kind;
    return found;
}

/* Returns the turn of a cause; NULL: it is none. */
static const struct knob_gain *turn_of(const struct found *found, enum verdict_code code)
{
    for (int i = 0; i < found->count; i++) {
        if (found->knobs[i].code == code)
            return &found->knobs[i];
    }
    return NULL;
}

static struct plan apply(const struct plan *plan, const struct machine *machine,
                         const struct rework *change)
{
    struct rework_base base;
    struct plan fixed;
    struct error error = {0};
    ck_assert_int_eq(rework_begin(&base, plan, machine, &error), STATUS_OK);
    ck_assert_msg(rework_apply(&base, change, &fixed, &error) == STATUS_OK, "%s", error.text);
    rework_end(&base);
    rework_assert_no_race(&fixed);
    return fixed;
}

START_TEST(test_copies_of_the_new_state_over_the_old_one_go)
{
    struct machine machine = test_machine_named("h200");
    struct plan plan = empty(1);
    for (int i = 0; i < ROUNDS; i++) {
        kernel(&plan, 0, 4096, 1, 0, 1, 64 << 20);
        d2d(&plan, 0, 1, 0, 64 << 20);
    }
    struct found found = rework_must_find(&plan, &machine);
    const struct knob_gain *turn = turn_of(&found, VERDICT_DEVICE_COPIES);
    ck_assert_ptr_nonnull(turn);
    ck_assert_int_eq(found.count, 1);
    struct plan fixed = apply(&plan, &machine, &found.whole);
    ck_assert_uint_eq(count(&fixed, OP_D2D), 0);
    ck_assert_uint_eq(count(&fixed, OP_KERNEL), ROUNDS);
    ck_assert_int_lt(turn->fixed_ns, ROUNDS * WORK_NS * 11 / 10);
    plan_free(&fixed);
    plan_free(&plan);
}
END_TEST

START_TEST(test_copies_that_keep_an_old_state_stay)
{
    struct machine machine = test_machine_named("h200");
    struct plan plan = empty(1);
    const struct rework change = {.drops_device_copies = true};
    for (int i = 0; i < ROUNDS; i++) {
        kernel(&plan, 0, 4096, 1, 0, 0, 64 << 20);
        d2d(&plan, 0, 0, 1, 64 << 20);
        copy(&plan, OP_D2H, 0, 1, 0, 64 << 20);
    }
    struct plan fixed = apply(&plan, &machine, &change);
    ck_assert_uint_eq(count(&fixed, OP_D2D), ROUNDS);
    plan_free(&fixed);
    plan_free(&plan);
}
END_TEST

/* Rounds of a copy from 1 to 0, an op of kind `refills` on 1, or none, a kernel on 0, and a
 * copy of that to the host. Returns how many of the copies within the device go. */
static uint32_t copies_gone(enum op_kind refills, bool reads_back)
{
    struct machine machine = test_machine_named("h200");
    struct plan plan = empty(1);
    const struct rework change = {.drops_device_copies = true};
    for (int i = 0; i < ROUNDS; i++) {
        d2d(&plan, 0, 1, 0, 64 << 20);
        if (refills == OP_H2D)
            copy(&plan, OP_H2D, 0, 1, 0, 64 << 20);
        if (refills == OP_KERNEL)
            kernel(&plan, 0, 4096, 1, 1, 1, 64 << 20);
        kernel(&plan, 0, 4096, 1, 0, 0, 64 << 20);
        if (reads_back)
            copy(&plan, OP_D2H, 0, 0, 0, 64 << 20);
    }
    struct plan fixed = apply(&plan, &machine, &change);
    const uint32_t gone = ROUNDS - count(&fixed, OP_D2D);
    if (gone > 0)
        ck_assert_int_eq(fixed.recorded->accesses[0].range.buffer, 1);
    plan_free(&fixed);
    plan_free(&plan);
    return gone;
}

/* Of the last one it is not known whether another takes its place. */
START_TEST(test_copies_that_one_kernel_reads_go)
{
    ck_assert_uint_eq(copies_gone(OP_WAIT, false), ROUNDS - 1);
    ck_assert_uint_eq(copies_gone(OP_H2D, false), 0);
    ck_assert_uint_eq(copies_gone(OP_KERNEL, false), 0);
    ck_assert_uint_eq(copies_gone(OP_WAIT, true), 0);
}
END_TEST

/* Kernels of other tiles hold a tile's up only where they leave no room. */
START_TEST(test_kernels_that_leave_room_make_no_chain)
{
    struct machine machine = test_machine_named("h200");
    for (int full = 0; full < 2; full++) {
        struct plan plan = empty(1);
        struct rework_base base;
        struct rework_looks looks;
        struct error error = {0};
        for (int i = 0; i < ROUNDS; i++) {
            copy(&plan, OP_H2D, 0, 0, 0, 1 << 20);
            for (int k = 0; k < 3; k++)
                kernel(&plan, 0, full ? 4096 : 128, full ? 1 : 0.1, 0, 0, 1 << 20);
            copy(&plan, OP_D2H, 0, 0, 0, 1 << 20);
        }
        ck_assert_int_eq(rework_begin(&base, &plan, &machine, &error), STATUS_OK);
        ck_assert_int_eq(rework_look(&base, &looks, &error), STATUS_OK);
        ck_assert_int_eq(looks.chained, full);
        rework_end(&base);
        plan_free(&plan);
    }
}
END_TEST

START_TEST(test_kernels_of_few_blocks_are_spread)
{
    struct machine machine = test_machine_named("h200");
    struct plan plan = empty(1);
    for (int i = 0; i < ROUNDS; i++) {
        kernel(&plan, 0, machine.sms / 8, 1.0 / 64, 0, 0, 1 << 20);
        copy(&plan, OP_D2H, 0, 0, 0, 1 << 20);
    }
    struct found found = rework_must_find(&plan, &machine);
    const struct knob_gain *turn = turn_of(&found, VERDICT_FEW_BLOCKS);
    ck_assert_ptr_nonnull(turn);
    struct plan fixed = apply(&plan, &machine, &found.whole);
    int64_t work_ns = fixed.recorded->ops[0].work_ns;
    ck_assert_int_ge(work_ns, WORK_NS / 9); /* no less than blocks more than SMs would tell */
    ck_assert_int_le(work_ns, WORK_NS / 7);
    ck_assert_uint_eq(fixed.ops[0].kernel.blocks, machine.sms);
    plan_free(&fixed);
    plan_free(&plan);
}
END_TEST

START_TEST(test_a_quarter_of_the_sms_is_room)
{
    struct machine machine = test_machine_named("h200");
    struct plan plan = empty(1);
    for (int i = 0; i < ROUNDS; i++)
        kernel(&plan, 0, machine.sms * 3 / 4, 3.0 / 32, 0, 0, 1 << 20);
    struct found found = rework_must_find(&plan, &machine);
    ck_assert_ptr_nonnull(turn_of(&found, VERDICT_FEW_BLOCKS));
    ck_assert_int_ge(found.better_ns, found.given_ns * 3 / 4);
    plan_free(&plan);
}
END_TEST

START_TEST(test_few_kernels_of_few_blocks_leave_no_room)
{
    struct machine machine = test_machine_named("h200");
    struct plan plan = empty(1);
    for (int i = 0; i < ROUNDS; i++)
        kernel(&plan, 0, i % 3 == 0 ? 1 : 4096, i % 3 == 0 ? 1.0 / 1024 : 1, 0, 0, 1 << 20);
    struct found found = rework_must_find(&plan, &machine);
    ck_assert_ptr_null(turn_of(&found, VERDICT_FEW_BLOCKS));
    plan_free(&plan);
}
END_TEST

/* Eight streams whose kernels together have `part` of a block for each SM. */
static void assert_not_few(const struct machine *machine, double part)
{
    struct plan plan = empty(8);
    for (int i = 0; i < 8 * ROUNDS; i++) {
        uint64_t offset = (uint64_t)(i % 8) << 20;
        struct op op = {.kind = OP_KERNEL, .stream = (uint32_t)i % 8};
        op.kernel.blocks = (uint32_t)(part * machine->sms / 8);
        append(&plan, op, WORK_NS, part / 64);
        touch(&plan, bytes_of(0, offset, 1 << 20), true);
    }
    struct found found = rework_must_find(&plan, machine);
    ck_assert_ptr_null(turn_of(&found, VERDICT_FEW_BLOCKS));
    plan_free(&plan);
}

START_TEST(test_kernels_side_by_side_are_not_few_blocks)
{
    struct machine machine = test_machine_named("h200");
    assert_not_few(&machine, 1);
    machine.queues = 1; /* which keeps the kernels from running side by side */
    assert_not_few(&machine, 0.5);
}
END_TEST

START_TEST(test_large_copies_are_cut_where_small_ones_wait)
{
    struct machine machine = test_machine_named("h200");
    struct plan plan = empty(2);
    for (int i = 0; i < 4 * ROUNDS; i++) {
        copy(&plan, OP_H2D, 1, 0, 0, 1 << 18);
        if (i == 0)
            copy(&plan, OP_H2D, 0, 1, 1 << 20, 1 << 29);
        kernel(&plan, 1, 4096, 1, 0, 0, 1 << 18);
        copy(&plan, OP_D2H, 1, 0, 0, 1 << 18);
        sync_stream(&plan, 1);
        plan.recorded->ops[plan.op_count - 1].host_ns = 0;
    }
    sync_stream(&plan, 0);
    struct found found = rework_must_find(&plan, &machine);
    const struct rework cut = {.cuts_copies = true};
    struct plan fixed = apply(&plan, &machine, &cut);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < fixed.op_count; i++) {
        if (fixed.ops[i].kind != OP_H2D || fixed.ops[i].stream != 0)
            continue;
        ck_assert_uint_eq(fixed.ops[i].copy.device.offset, (1 << 20) + bytes);
        bytes += fixed.ops[i].copy.device.bytes;
    }
    ck_assert_uint_eq(bytes, 1 << 29);
    ck_assert_uint_eq(count(&fixed, OP_H2D), 2 * 4 * ROUNDS);
    ck_assert_ptr_nonnull(turn_of(&found, VERDICT_LARGE_COPY));
    plan_free(&fixed);
    plan_free(&plan);
}
END_TEST

/* Tiles in two streams, each of which the host waits for by an event, once it has worked. */
static struct plan waited_for(int64_t host_ns)
{
    struct plan plan = empty(2);
    plan.events = 2;
    for (uint32_t i = 0; i < 2 * ROUNDS; i++) {
        uint32_t stream = i % 2;
        struct op record = {.kind = OP_RECORD, .stream = stream};
        struct op wait = {.kind = OP_SYNC_EVENT, .stream = 2};
        record.event.event = wait.event.event = stream;
        copy(&plan, OP_H2D, stream, (int)stream, 0, 1 << 22);
        kernel(&plan, stream, 4096, 1, (int)stream, (int)stream, 1 << 22);
        append(&plan, record, 0, 1)->span = UINT32_MAX;
        append(&plan, wait, 0, 1)->span = UINT32_MAX;
        plan.recorded->ops[plan.op_count - 1].host_ns = host_ns;
    }
    sync_stream(&plan, 2);
    return plan;
}

START_TEST(test_the_hosts_time_before_waits_stays)
{
    enum { HOST_NS = 8000 };
    static const struct rework changes[] = {
        {.drops_waits = true},
        {.drops_syncs = true},
        {.streams = 3},
        {.streams = 2, .pieces = 2},
        {.streams = 2, .order = REWORK_DEPTH},
        {.streams = 4, .order = REWORK_BREADTH},
    };
    struct machine machine = test_machine_named("h200");
    struct plan plan = waited_for(HOST_NS);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct plan fixed = apply(&plan, &machine, &changes[i]);
        int64_t host_ns = 0;
        for (uint32_t k = 0; k < fixed.op_count; k++)
            host_ns += fixed.recorded->ops[k].host_ns;
        ck_assert_msg(host_ns == 2 * ROUNDS * HOST_NS, "%zu: %ld ns", i, (long)host_ns);
        plan_free(&fixed);
    }
    plan_free(&plan);
}
END_TEST

/* Two streams work on the same bytes, in the order that the host's calls give them: a copy back
 * to pageable memory, which returns when it has ended, or launches that block. Page-locked
 * memory takes the one away, another environment the other: events keep the order. */
START_TEST(test_orders_by_calls_that_wait_are_kept)
{
    static const struct rework changes[] = {
        {.pins = true}, {.frees_launches = true}, {.evens_priorities = true}};
    struct machine machine = test_machine_named("h200");
    for (size_t i = 0; i < 2 * sizeof changes / sizeof changes[0]; i++) {
        const struct rework *change = &changes[i / 2];
        struct plan plan = empty(2);
        kernel(&plan, 0, 64, 1, 0, 0, 1 << 20);
        if (i % 2 == 0) {
            copy(&plan, OP_D2H, 0, 0, 0, 1 << 20);
            plan.recorded->ops[1].pageable = true;
        }
        plan.launches_block = i % 2 == 1;
        kernel(&plan, 1, 64, 1, 0, 0, 1 << 20);
        struct plan fixed = apply(&plan, &machine, change);
        ck_assert_uint_eq(count(&fixed, OP_WAIT), i % 2 == 1 || change->pins);
        plan_free(&fixed);
        plan_free(&plan);
    }
}
END_TEST

/* The host works on what each round brings back before the next round copies all of it in. */
START_TEST(test_waits_for_bytes_that_a_larger_copy_takes_stay)
{
    enum { SLICE = 1 << 18, SPENT_NS = 18000 };
    const struct rework drops = {.drops_syncs = true};
    struct machine machine = test_machine_named("h200");
    for (int moves = 0; moves < 2; moves++) {
        struct plan plan = empty(1);
        for (int i = 0; i < ROUNDS; i++) {
            copy(&plan, OP_H2D, 0, 0, 0, 1 << 23);
            plan.recorded->ops[plan.op_count - 1].host_ns = SPENT_NS;
            kernel(&plan, 0, 4096, 1, 0, 0, 1 << 23);
            copy(&plan, OP_D2H, 0, 0, (uint64_t)SLICE * (moves ? i + 1 : 1), SLICE);
            sync_stream(&plan, 0);
        }
        struct plan fixed = apply(&plan, &machine, &drops);
        ck_assert_uint_ge(count(&fixed, OP_SYNC) + count(&fixed, OP_SYNC_EVENT), ROUNDS);
        plan_free(&fixed);
        plan_free(&plan);
    }
}
END_TEST

TCase *rework_work_case(void)
{
    TCase *work = tcase_create("work");
    tcase_add_test(work, test_copies_of_the_new_state_over_the_old_one_go);
    tcase_add_test(work, test_copies_that_keep_an_old_state_stay);
    tcase_add_test(work, test_kernels_of_few_blocks_are_spread);
    tcase_add_test(work, test_copies_that_one_kernel_reads_go);
    tcase_add_test(work, test_kernels_that_leave_room_make_no_chain);
    tcase_add_test(work, test_a_quarter_of_the_sms_is_room);
    tcase_add_test(work, test_few_kernels_of_few_blocks_leave_no_room);
    tcase_add_test(work, test_kernels_side_by_side_are_not_few_blocks);
    tcase_add_test(work, test_large_copies_are_cut_where_small_ones_wait);
    tcase_add_test(work, test_the_hosts_time_before_waits_stays);
    tcase_add_test(work, test_waits_for_bytes_that_a_larger_copy_takes_stay);
    tcase_add_test(work, test_orders_by_calls_that_wait_are_kept);
    return work;
}
