/* check_sim_sync_random.c - random plans of syncs, blocking streams, the legacy default stream
 * and ops that synchronise implicitly, simulated and looked through for hazards, against the
 * rules as they are written: pair by pair. */
#include "sim_cases.h"

enum { STREAMS = 5, EVENTS = 4, OPS_MAX = 60, PIECE = 8, PIECES = 12 };

static void append_random(struct plan *plan, uint64_t *random, bool *recorded)
{
    uint32_t stream = test_random_below(random, STREAMS);
    uint32_t event = test_random_below(random, EVENTS);
    uint64_t offset = PIECE * (uint64_t)test_random_below(random, PIECES);
    switch (test_random_below(random, 12)) {
    case 0:
    case 1:
        test_h2d(plan, stream, 0, offset, PIECE);
        break;
    case 2:
    case 3:
        test_d2h(plan, stream, 0, offset, PIECE);
        break;
    case 4:
        test_kernel(plan, stream, 0, offset / 4, PIECE / 4, 1 + test_random_below(random, 12));
        break;
    case 5:
        sim_callback(plan, stream, 0);
        break;
    case 6:
        test_record(plan, stream, event);
        recorded[event] = true;
        break;
    case 7:
        if (recorded[event])
            test_wait(plan, stream, event);
        break;
    case 8:
        test_memset(plan, stream, offset, PIECE, 1);
        break;
    case 9:
        test_d2d(plan, stream, offset, PIECE);
        break;
    case 10:
        test_sync(plan, test_random_below(random, STREAMS + 1));
        break;
    default:
        if (test_random_below(random, 3) == 0)
            test_alloc(plan, 64, test_random_below(random, 2));
    }
}

static struct plan random_plan(uint64_t *random)
{
    enum stream_kind kinds[STREAMS];
    bool recorded[EVENTS] = {false};
    struct error error = {0};
    struct plan plan = test_plan(STREAMS, EVENTS, 1, PIECE * PIECES / 4);
    for (int i = 0; i < STREAMS; i++)
        kinds[i] = test_random_below(random, 2) ? STREAM_BLOCKING : STREAM_NONBLOCKING;
    if (test_random_below(random, 4) > 0)
        kinds[test_random_below(random, STREAMS)] = STREAM_LEGACY;
    test_stream_kinds(&plan, kinds);
    uint32_t ops = 1 + test_random_below(random, OPS_MAX);
    for (uint32_t i = 0; i < ops; i++)
        append_random(&plan, random, recorded);
    ck_assert_msg(plan_validate(&plan, &error) == STATUS_OK, "%s", error.text);
    return plan;
}

/* Returns true if op `later` comes directly after op `earlier`, on any machine. A record that
 * came before a wait for its event is found by who calls. */
static bool follows(const struct plan *plan, const struct op *earlier, const struct op *later)
{
    enum stream_kind one = plan_stream_kind(plan, earlier->stream);
    enum stream_kind other = plan_stream_kind(plan, later->stream);
    if (earlier->kind == OP_SYNC)
        return true; /* whatever it is, the host issues it later */
    if (earlier->kind == OP_ALLOC || later->kind == OP_ALLOC)
        return false;
    if (later->kind == OP_SYNC)
        return later->stream == plan->streams || later->stream == earlier->stream ||
               (other == STREAM_LEGACY && one == STREAM_BLOCKING);
    if (earlier->stream == later->stream)
        return true;
    return (one == STREAM_LEGACY && other == STREAM_BLOCKING) ||
           (one == STREAM_BLOCKING && other == STREAM_LEGACY);
}

/* Which ops come before which, by any path. */
struct paths {
    bool before[OPS_MAX][OPS_MAX];
};

static void paths_find(struct paths *paths, const struct plan *plan)
{
    uint32_t recorder[EVENTS] = {0};
    for (uint32_t j = 0; j < plan->op_count; j++) {
        const struct op *later = &plan->ops[j];
        for (uint32_t i = 0; i < j; i++)
            paths->before[i][j] = follows(plan, &plan->ops[i], later) ||
                                  (later->kind == OP_WAIT && recorder[later->event.event] == i);
        for (uint32_t k = 0; k < j; k++) {
            for (uint32_t i = 0; paths->before[k][j] && i < k; i++)
                paths->before[i][j] |= paths->before[i][k];
        }
        if (later->kind == OP_RECORD)
            recorder[later->event.event] = j;
    }
}

static bool touch_the_same(const struct op *a, const struct op *b)
{
    struct access first[OP_ACCESS_MAX], second[OP_ACCESS_MAX];
    int count = op_accesses(a, first), others = op_accesses(b, second);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < others; j++) {
            const struct range *one = &first[i].range, *other = &second[j].range;
            if ((first[i].writes || second[j].writes) && one->buffer == other->buffer &&
                one->offset < other->offset + other->bytes &&
                other->offset < one->offset + one->bytes)
                return true;
        }
    }
    return false;
}

/* Hazards are the pairs that touch the same bytes without an order. The finder forgets who
 * touched a piece before the last writer, so each of its finds is one of them, and it finds
 * none only where there is none. */
static void assert_hazards(const struct plan *plan, const struct paths *paths)
{
    struct hazard hazards[OPS_MAX * OPS_MAX];
    struct error error = {0};
    size_t count;
    bool any = false;
    ck_assert_int_eq(plan_hazards(plan, hazards, OPS_MAX * OPS_MAX, &count, &error), STATUS_OK);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(
            !paths->before[hazards[i].first][hazards[i].second] &&
                touch_the_same(&plan->ops[hazards[i].first], &plan->ops[hazards[i].second]),
            "ops %u and %u do not race", hazards[i].first, hazards[i].second);
    for (uint32_t j = 0; j < plan->op_count; j++) {
        for (uint32_t i = 0; i < j; i++)
            any |= !paths->before[i][j] && touch_the_same(&plan->ops[i], &plan->ops[j]);
    }
    ck_assert_int_eq(count > 0, any);
}

/* Returns true if `op` waits for all that came before it, and all that comes later for it. */
static bool is_barrier(const struct machine *machine, const struct op *op)
{
    bool old = machine->compute_capability < 5;
    return ((op->kind == OP_MEMSET || op->kind == OP_D2D) && old) ||
           (op->kind == OP_ALLOC && (old || !op->alloc.pinned));
}

/* Records have no span, and a wait's is what the ops around it make it. */
static bool is_timed(const struct op *op)
{
    return op->kind != OP_RECORD && op->kind != OP_WAIT;
}

/* An op that comes after another starts when that one has ended; a call ends then. */
static void assert_ordered(const struct machine *machine, const struct plan *plan,
                           struct timeline *timeline, const struct paths *paths)
{
    for (uint32_t j = 0; j < plan->op_count; j++) {
        for (uint32_t i = 0; i < j; i++) {
            const struct op *earlier = &plan->ops[i], *later = &plan->ops[j];
            bool comes_after = paths->before[i][j] || op_is_call(earlier->kind) ||
                               is_barrier(machine, later) ||
                               (is_barrier(machine, earlier) && later->kind != OP_SYNC);
            if (!comes_after || !is_timed(earlier) || !is_timed(later))
                continue;
            const struct span *one = timeline_span(timeline, i);
            const struct span *other = timeline_span(timeline, j);
            int64_t begins = op_is_call(later->kind) ? other->end_ns : other->start_ns;
            ck_assert_msg(begins >= one->end_ns,
                          "op %u (%s) ended at %ld, op %u (%s) began %ld", i,
                          op_kind_name(earlier->kind), (long)one->end_ns, j,
                          op_kind_name(later->kind), (long)begins);
        }
    }
}

static struct machine random_machine(uint64_t *random)
{
    static const char *const names[] = {"c1060", "c2050", "k20c", "p100", "h200"};
    const char *name = names[test_random_below(random, 5)];
    struct machine machine = test_machine_named(name);
    machine.queues = 1 + test_random_below(random, machine.queues);
    machine.queue_depth = 1 + test_random_below(random, 10);
    machine.concurrent_kernels = 1 + test_random_below(random, 3);
    if (machine.concurrent_kernels == 1)
        machine.alloc_ns = 0;
    return machine;
}

START_TEST(test_random_plans_keep_the_order)
{
    uint64_t random = 4711;
    for (int i = 0; i < test_cases(3000); i++) {
        struct plan plan = random_plan(&random);
        struct paths paths = {0};
        paths_find(&paths, &plan);
        assert_hazards(&plan, &paths);
        struct machine machine = random_machine(&random);
        struct timeline timeline = sim_run(&machine, &plan);
        assert_ordered(&machine, &plan, &timeline, &paths);
        timeline_free(&timeline);
        plan_free(&plan);
    }
}
END_TEST

TCase *sim_sync_random_case(void)
{
    TCase *tests = tcase_create("sim_sync_random");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_random_plans_keep_the_order);
    return tests;
}
