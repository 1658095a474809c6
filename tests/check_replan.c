/* check_replan.c - plans of recordings: of plans of ours, which must come back op for op and
 * edge for edge; and of recordings by hand, for what no plan of ours does. */
#include "fixtures.h"
#include "options/options.h"
#include "plan/build.h"
#include "plan/hazard.h"
#include "recording_maker.h"
#include "sim/simulator.h"
#include "suites.h"
#include "trace/input.h"
#include "trace/replan.h"
#include "trace/replan_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A recording, and the plan of its first device. */
struct replanned {
    struct recording recording;
    struct plan plan;
    struct replan_left left;
};

static void replan_text(struct replanned *replanned, char *text, size_t length)
{
    struct error error = {0};
    struct trace_input input = {.file = fmemopen(text, length, "r")};
    ck_assert_ptr_nonnull(input.file);
    ck_assert_msg(recording_read(&input, "test", &replanned->recording, &error) == STATUS_OK,
                  "%s", error.text);
    ck_assert_msg(recording_plan(&replanned->recording, 0, &replanned->plan, &replanned->left,
                                 &error) == STATUS_OK,
                  "%s", error.text);
    trace_input_free(&input);
    fclose(input.file);
}

static void replanned_free(struct replanned *replanned)
{
    plan_free(&replanned->plan);
    recording_free(&replanned->recording);
}

/* --- plans of ours come back --- */

static struct settings random_settings(uint64_t *state)
{
    static const char *const chains[] = {"scale",     "wave", "scale,wave", "sum",
                                         "scale,sum", "scan", "scan,scale"};
    uint32_t chain = test_random_below(state, sizeof chains / sizeof *chains);
    struct settings settings = test_random_settings(state, chains[chain], 12, 4);
    settings.elements = (uint64_t)settings.tiles * 4096 +
                        (test_random_below(state, 2) == 0 ? test_random_below(state, 4096) : 0);
    settings.memory = (enum memory)test_random_below(state, 4);
    settings.carry = (enum carry)test_random_below(state, 3);
    settings.issue = test_random_below(state, 4) == 0 ? ISSUE_GRAPH : ISSUE_STREAMS;
    if (test_random_below(state, 3) == 0)
        settings.mistake = (int)test_random_below(state, (uint32_t)test_mistake_count());
    settings.priority_count = (int)test_random_below(state, 4);
    for (int i = 0; i < settings.priority_count; i++)
        settings.priorities[i] = -(int)test_random_below(state, 3);
    return settings;
}

/* Draws settings until they make a plan, and runs that. */
static struct plan draw_plan(uint64_t *state, const struct machine *machine,
                             struct timeline *timeline)
{
    for (;;) {
        struct settings settings = random_settings(state);
        struct error error = {0};
        struct plan plan;
        int64_t issued_ns;
        if (settings_check(&settings, &error) != STATUS_OK ||
            plan_build(&settings, machine, &plan, &error) != STATUS_OK)
            continue;
        *timeline = (struct timeline){0};
        if (plan.tiles > plan.cpu_tiles &&
            simulator_run(machine, 0, &plan, NULL, timeline, &issued_ns, &error) == STATUS_OK)
            return plan;
        timeline_free(timeline);
        plan_free(&plan);
    }
}

/* What was compared so far. */
struct compared_plans {
    uint32_t settings, graphs;
    size_t ops, edges;
};

/* A plan of ours beside the one that came back, and what of one stands for what of the other.
 */
struct pair {
    const struct plan *ours;
    const struct replanned *theirs;
    uint32_t *streams; /* of theirs, per stream of ours; UINT32_MAX: not seen yet */
    uint32_t *records; /* per event of ours: the op of theirs that recorded it last */
    uint32_t *seen;    /* the same of theirs */
};

static void compare_streams(struct pair *pair, const struct op *op, const struct op *other)
{
    const struct plan *ours = pair->ours, *theirs = &pair->theirs->plan;
    if (op->stream == ours->streams) {
        ck_assert_uint_eq(other->stream, theirs->streams);
        return;
    }
    ck_assert_uint_lt(other->stream, theirs->streams);
    if (pair->streams[op->stream] == UINT32_MAX) {
        for (uint32_t i = 0; i < ours->streams; i++)
            ck_assert_uint_ne(pair->streams[i], other->stream);
        pair->streams[op->stream] = other->stream;
        ck_assert_int_eq(plan_stream_kind(ours, op->stream),
                         plan_stream_kind(theirs, other->stream));
        ck_assert_int_eq(ours->priorities != NULL ? ours->priorities[op->stream] : 0,
                         theirs->priorities[other->stream]);
    }
    ck_assert_uint_eq(pair->streams[op->stream], other->stream);
}

static uint64_t address_in(const struct plan *plan, const struct range *range)
{
    return plan->recorded->buffers[range->buffer].address + range->offset;
}

/* Every range that our op touches is one of theirs: of a copy or a memset the same, of a kernel
 * one that begins there. */
static void compare_bytes(const struct plan *theirs, const struct op *op,
                          const struct op *other)
{
    struct access access[OP_ACCESS_MAX];
    const int count = op_accesses(op, access);
    const struct op_recorded *seen = &theirs->recorded->ops[other->id];
    ck_assert_int_eq(seen->sure, op->kind != OP_KERNEL);
    for (int i = 0; i < count; i++) {
        bool found = false;
        for (uint32_t k = 0; k < seen->access_count && !found; k++) {
            const struct access *touched = &theirs->recorded->accesses[seen->first_access + k];
            found = address_in(theirs, &touched->range) ==
                    recording_address(access[i].range.buffer) + access[i].range.offset;
            if (found && seen->sure)
                ck_assert(touched->range.bytes == access[i].range.bytes &&
                          touched->writes == access[i].writes);
        }
        ck_assert_msg(found, "op %u: no %s+%lu", op->id, buffer_name(access[i].range.buffer),
                      (unsigned long)access[i].range.offset);
    }
}

static void compare_op(struct pair *pair, const struct op *op, const struct op *other)
{
    const struct plan *theirs = &pair->theirs->plan;
    const struct op_recorded *seen = &theirs->recorded->ops[other->id];
    ck_assert_msg(op->kind == other->kind, "op %u: %s came back as %s", op->id,
                  op_kind_name(op->kind), op_kind_name(other->kind));
    compare_streams(pair, op, other);
    ck_assert_int_ge(seen->host_ns, 0);
    if (op->kind == OP_RECORD) {
        pair->records[op->event.event] = other->id;
        pair->seen[other->event.event] = other->id;
    } else if (op->kind == OP_WAIT) {
        ck_assert_uint_eq(pair->seen[other->event.event], pair->records[op->event.event]);
    } else if (op->kind == OP_ALLOC) {
        ck_assert(op->alloc.bytes == other->alloc.bytes &&
                  op->alloc.pinned == other->alloc.pinned);
    } else if (op->kind == OP_KERNEL) {
        ck_assert_str_eq(theirs->recorded->names[seen->name],
                         pair->ours->chain[op->kernel.link]->name);
        ck_assert(seen->fill > 0 && seen->fill <= 1);
        compare_bytes(theirs, op, other);
    } else if (op_on_device(op->kind)) {
        ck_assert_uint_eq(op_bytes(op), op_bytes(other));
        ck_assert_int_eq(seen->pageable,
                         op_is_copy(op->kind) && pair->ours->memory == MEMORY_PAGEABLE);
        compare_bytes(theirs, op, other);
    }
}

/* Compares a plan that was issued call by call. */
static void compare_calls(struct pair *pair, struct compared_plans *compared)
{
    const struct plan *ours = pair->ours, *theirs = &pair->theirs->plan;
    uint32_t at = 0;
    for (uint32_t i = 0; i < ours->op_count; i++) {
        if (ours->ops[i].kind == OP_CPU)
            continue;
        ck_assert_uint_lt(at, theirs->op_count);
        compare_op(pair, &ours->ops[i], &theirs->ops[at++]);
        compared->edges += ours->ops[i].kind == OP_WAIT;
    }
    ck_assert_uint_eq(at, theirs->op_count);
    compared->ops += at;
    compared->edges += at - ours->streams; /* those of the streams' own order */
}

/* --- graphs: the same ops, and the same of them before each --- */

/* Sets before[i * count + k] where op k comes before op i by streams and events. */
static bool *orders_of(const struct plan *plan)
{
    const size_t count = plan->op_count;
    bool *before = calloc(count * count + 1, sizeof *before);
    uint32_t *latest = malloc((plan->streams + (size_t)1) * sizeof *latest);
    uint32_t *records = malloc((plan->events + (size_t)1) * sizeof *records);
    ck_assert(before != NULL && latest != NULL && records != NULL);
    memset(latest, 0xff, plan->streams * sizeof *latest);
    for (uint32_t i = 0; i < count; i++) {
        const struct op *op = &plan->ops[i];
        uint32_t others[2] = {UINT32_MAX, UINT32_MAX};
        if (!op_in_stream(op->kind))
            continue;
        others[0] = latest[op->stream];
        if (op->kind == OP_WAIT)
            others[1] = records[op->event.event];
        for (int k = 0; k < 2; k++) {
            if (others[k] == UINT32_MAX)
                continue;
            for (size_t j = 0; j < count; j++)
                before[i * count + j] |= before[others[k] * count + j];
            before[i * count + others[k]] = true;
        }
        if (op->kind == OP_RECORD)
            records[op->event.event] = i;
        latest[op->stream] = i;
    }
    free(latest);
    free(records);
    return before;
}

/* Returns the op of theirs that ran at our op's node. */
static uint32_t op_of_node(const struct replanned *theirs, uint64_t node)
{
    for (uint32_t i = 0; i < theirs->plan.op_count; i++) {
        const uint32_t ran = theirs->plan.recorded->ops[i].span;
        if (ran != UINT32_MAX && theirs->recording.ops[ran].node == node)
            return i;
    }
    ck_abort_msg("node %lu did not come back", (unsigned long)node);
}

static size_t count_kind(const struct plan *plan, enum op_kind kind)
{
    size_t count = 0;
    for (uint32_t i = 0; i < plan->op_count; i++)
        count += plan->ops[i].kind == kind;
    return count;
}

static void compare_graph(const struct pair *pair, const uint64_t *nodes,
                          struct compared_plans *compared)
{
    const struct plan *ours = pair->ours, *theirs = &pair->theirs->plan;
    bool *wanted = orders_of(ours), *got = orders_of(theirs);
    uint32_t *others = calloc(ours->op_count, sizeof *others);
    ck_assert_ptr_nonnull(others);
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        if (op_is_node((enum op_kind)kind))
            ck_assert_uint_eq(count_kind(ours, (enum op_kind)kind),
                              count_kind(theirs, (enum op_kind)kind));
    }
    for (uint32_t i = 0; i < ours->op_count; i++) {
        const struct op *op = &ours->ops[i];
        if (!op_on_device(op->kind))
            continue;
        others[i] = op_of_node(pair->theirs, nodes[i]);
        ck_assert_int_eq(op->kind, theirs->ops[others[i]].kind);
        if (op->kind != OP_KERNEL)
            ck_assert_uint_eq(op_bytes(op), op_bytes(&theirs->ops[others[i]]));
        compare_bytes(theirs, op, &theirs->ops[others[i]]);
        for (uint32_t k = 0; k < i; k++) {
            if (!op_on_device(ours->ops[k].kind))
                continue;
            const bool before = wanted[i * (size_t)ours->op_count + k];
            ck_assert_int_eq(before, got[others[i] * (size_t)theirs->op_count + others[k]]);
            compared->edges += before;
        }
        compared->ops++;
    }
    free(wanted);
    free(got);
    free(others);
}

/* --- what data asks for comes back, too --- */

/* Where all tiles have one size, what their plan asks for is at least what ours does. */
static void compare_needed(const struct plan *ours, const struct plan *theirs)
{
    struct needed wanted, got;
    struct error error = {0};
    const size_t count = theirs->op_count;
    if (ours->elements % ours->tiles != 0 || ours->cpu_tiles > 0)
        return;
    ck_assert_int_eq(plan_needed(ours, &wanted, &error), STATUS_OK);
    ck_assert_int_eq(plan_needed(theirs, &got, &error), STATUS_OK);
    bool *before = calloc(count * count + 1, sizeof *before);
    ck_assert_ptr_nonnull(before);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = got.first[i]; k < got.first[i + 1]; k++) {
            for (size_t j = 0; j < count; j++)
                before[i * count + j] |= before[got.before[k] * count + j];
            before[i * count + got.before[k]] = true;
        }
        for (size_t k = wanted.first[i]; k < wanted.first[i + 1]; k++)
            ck_assert_msg(before[i * count + wanted.before[k]],
                          "op %zu came back without the order behind op %u", i,
                          wanted.before[k]);
    }
    free(before);
    needed_free(&wanted);
    needed_free(&got);
}

/* Nothing is called a race where none is; where waits are missing, something is. Only a
 * recording knows that the host waits for copies back to pageable memory before it issues more.
 */
static void compare_hazards(const struct plan *ours, const struct plan *theirs)
{
    enum { MOST = 64 };
    struct hazard wanted[MOST], got[MOST];
    size_t wanted_count, got_count;
    struct error error = {0};
    ck_assert_msg(plan_validate(theirs, &error) == STATUS_OK, "%s", error.text);
    ck_assert_int_eq(plan_hazards(ours, wanted, MOST, &wanted_count, &error), STATUS_OK);
    ck_assert_int_eq(plan_hazards(theirs, got, MOST, &got_count, &error), STATUS_OK);
    ck_assert_msg(wanted_count > 0 || got_count == 0, "op %u and op %u race", got[0].first,
                  got[0].second);
    ck_assert(wanted_count == 0 || got_count > 0 || ours->memory == MEMORY_PAGEABLE);
}

static void compare_plans(const struct plan *ours, const struct replanned *theirs,
                          const uint64_t *nodes, struct compared_plans *compared)
{
    struct pair pair = {.ours = ours, .theirs = theirs};
    pair.streams = malloc((ours->streams + (size_t)1) * sizeof *pair.streams);
    pair.records = calloc(ours->events + (size_t)1, sizeof *pair.records);
    pair.seen = calloc(theirs->plan.events + (size_t)1, sizeof *pair.seen);
    ck_assert(pair.streams && pair.records && pair.seen);
    memset(pair.streams, 0xff, ours->streams * sizeof *pair.streams);
    ck_assert_int_eq(ours->launches_block, theirs->plan.launches_block);
    compare_hazards(ours, &theirs->plan);
    compared->settings++;
    compared->graphs += ours->issue == ISSUE_GRAPH;
    if (ours->issue == ISSUE_GRAPH) {
        compare_graph(&pair, nodes, compared);
    } else {
        compare_calls(&pair, compared);
        compare_needed(ours, &theirs->plan);
    }
    free(pair.streams);
    free(pair.records);
    free(pair.seen);
}

START_TEST(our_plans_come_back)
{
    const int rounds = test_cases(400);
    struct compared_plans compared = {0};
    uint64_t state = 0x5851f42d4c957f2du;
    struct machine machine = test_machine_named("h200");
    for (int round = 0; round < rounds; round++) {
        struct timeline timeline;
        struct plan plan = draw_plan(&state, &machine, &timeline);
        struct recording_maker maker = {.random = test_random(&state) | 1,
                                        .reuses_handles = round % 2 == 0};
        struct replanned replanned = {0};
        char *text;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        recording_make(out, &maker, &plan, &timeline);
        fclose(out);
        replan_text(&replanned, text, length);
        compare_plans(&plan, &replanned, maker.node_ids, &compared);
        ck_assert_uint_eq(replanned.left.waited_ops + replanned.left.stray_ops, 0);
        replanned_free(&replanned);
        free(maker.node_ids);
        free(text);
        timeline_free(&timeline);
        plan_free(&plan);
    }
    ck_assert_uint_eq(compared.settings, rounds);
    ck_assert_uint_gt(compared.graphs, 0);
    ck_assert_uint_gt(compared.ops, 20 * compared.settings);
    ck_assert_uint_gt(compared.edges, 20 * compared.settings);
}
END_TEST

/* --- recordings by hand --- */

/* A device, a context on it and one on another device; streams 13 and 14, which is blocking,
 * and 7, the default stream; 1 MiB of the device's memory at 7000000, 1 MiB that is page-locked
 * at 5000000. */
#define HEAD                                                                                   \
    "{\"pipeline_recording\":1,\"program\":\"p\"}\n"                                           \
    "[\"device\",0,\"GPU\",9,0,132,2048,32,65536,233472,3]\n"                                  \
    "[\"device\",1,\"GPU\",9,0,132,2048,32,65536,233472,3]\n"                                  \
    "[\"context\",1,0]\n[\"context\",2,1]\n"                                                   \
    "[\"stream\",1,7,0,\"legacy\",0]\n[\"stream\",1,13,113,\"non-blocking\",0]\n"              \
    "[\"stream\",1,14,114,\"blocking\",-2]\n[\"stream\",2,13,213,\"non-blocking\",0]\n"        \
    "[\"memory\",\"device\",10,7000000,1048576,0]\n"                                           \
    "[\"memory\",\"pinned\",20,5000000,1048576,null]\n[\"name\",3,\"k\"]\n"

static struct replanned replan(const char *lines)
{
    struct replanned replanned = {0};
    const size_t length = strlen(HEAD) + strlen(lines);
    char *text = malloc(length + 1);
    ck_assert_ptr_nonnull(text);
    strcpy(text, HEAD);
    strcat(text, lines);
    replan_text(&replanned, text, length);
    free(text);
    return replanned;
}

static void assert_kinds(const struct plan *plan, const char *names)
{
    char text[256] = "";
    for (uint32_t i = 0; i < plan->op_count; i++) {
        strcat(text, i > 0 ? " " : "");
        strcat(text, op_kind_name(plan->ops[i].kind));
    }
    ck_assert_str_eq(text, names);
}

static const struct access *access_of(const struct plan *plan, uint32_t op, uint32_t access)
{
    ck_assert_uint_lt(access, plan->recorded->ops[op].access_count);
    return &plan->recorded->accesses[plan->recorded->ops[op].first_access + access];
}

static void assert_range(const struct plan *plan, uint32_t op, uint32_t access,
                         uint64_t address, uint64_t bytes, bool writes)
{
    const struct access *touched = access_of(plan, op, access);
    ck_assert_uint_eq(address_in(plan, &touched->range), address);
    ck_assert_uint_eq(touched->range.bytes, bytes);
    ck_assert_int_eq(touched->writes, writes);
}

/* A program that is far ahead of the device waits for room in a queue in most of its launches:
 * a launch takes what those took that surely found some. */
START_TEST(a_wait_for_room_is_no_part_of_a_launch)
{
    enum { FREE = 300, HELD = 400, QUICK_NS = 500, KERNEL_NS = 60000 };
    char *text;
    size_t length;
    int64_t now_ns = 1000;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    for (int i = 1; i <= FREE + HELD; i++) {
        const int64_t begin_ns = 2000 + (int64_t)i * KERNEL_NS;
        const int64_t end_ns = now_ns + (i <= FREE ? QUICK_NS : KERNEL_NS);
        fprintf(out, "[\"call\",%d,\"cudaLaunchKernel\",1,%" PRId64 ",%" PRId64 ",0]\n", i,
                now_ns, end_ns);
        fprintf(out, "[\"launch\",%d,1,13,[]]\n", i);
        fprintf(out, "[\"kernel\",%d,1,13,%" PRId64 ",%" PRId64 ",3,8,128,32,0,0]\n", i,
                begin_ns, begin_ns + KERNEL_NS - 1000);
        now_ns = end_ns + 100;
    }
    fclose(out);
    struct replanned got = replan(text);
    ck_assert_uint_eq(got.plan.op_count, FREE + HELD);
    ck_assert_int_eq(got.plan.recorded->ops[FREE + HELD - 1].call_ns, QUICK_NS);
    replanned_free(&got);
    free(text);
}
END_TEST

/* A handle comes again: the latest event that was made of it says whether a record keeps the
 * time, and lines come in any order. An event that no line is about keeps none. */
START_TEST(events_that_keep_the_time_are_known)
{
    struct replanned got = replan("[\"call\",1,\"cudaEventRecord\",1,110,111,0]\n"
                                  "[\"record\",1,1,13,99]\n"
                                  "[\"call\",2,\"cudaEventRecord\",1,210,211,0]\n"
                                  "[\"record\",2,1,13,99]\n"
                                  "[\"call\",3,\"cudaEventRecord\",1,310,311,0]\n"
                                  "[\"record\",3,1,13,99]\n"
                                  "[\"call\",4,\"cudaEventRecord\",1,320,321,0]\n"
                                  "[\"record\",4,1,13,98]\n"
                                  "[\"event\",300,99,5]\n[\"event\",200,99,2]\n"
                                  "[\"event\",100,99,0]\n[\"event\",400,99,2]\n");
    assert_kinds(&got.plan, "record record record record");
    static const bool timed[] = {true, false, true, false};
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(got.plan.recorded->ops[i].timed, timed[i]);
    replanned_free(&got);
}
END_TEST

/* Waits for the latest record; for what was never recorded, or on another device, nobody does.
 */
START_TEST(events_are_joined)
{
    struct replanned got = replan("[\"call\",1,\"cudaStreamWaitEvent\",1,100,101,0]\n"
                                  "[\"wait\",1,1,13,99]\n"
                                  "[\"call\",2,\"cudaEventRecord\",1,110,111,0]\n"
                                  "[\"record\",2,1,13,99]\n"
                                  "[\"call\",3,\"cudaEventRecord\",1,120,121,0]\n"
                                  "[\"record\",3,1,14,99]\n"
                                  "[\"call\",4,\"cudaStreamWaitEvent\",1,130,131,0]\n"
                                  "[\"wait\",4,1,13,99]\n"
                                  "[\"call\",5,\"cudaEventSynchronize\",1,140,150,0]\n"
                                  "[\"sync\",5,\"event\",1,99]\n"
                                  "[\"call\",6,\"cudaEventRecord\",2,141,142,0]\n"
                                  "[\"record\",6,2,13,99]\n"
                                  "[\"call\",7,\"cudaStreamWaitEvent\",1,160,161,0]\n"
                                  "[\"wait\",7,1,14,99]\n"
                                  "[\"call\",8,\"cudaStreamWaitEvent\",1,170,171,0]\n"
                                  "[\"wait\",8,1,14,98]\n");
    const struct plan *plan = &got.plan;
    assert_kinds(plan, "record record wait event-sync");
    ck_assert_uint_ne(plan->ops[0].event.event, plan->ops[1].event.event);
    ck_assert_uint_eq(plan->ops[2].event.event, plan->ops[1].event.event);
    ck_assert_uint_eq(plan->ops[3].event.event, plan->ops[1].event.event);
    ck_assert_uint_eq(plan->ops[3].stream, plan->streams);
    ck_assert_uint_eq(plan->ops[2].stream, plan->ops[0].stream);
    ck_assert_int_eq(plan_stream_kind(plan, plan->ops[1].stream), STREAM_BLOCKING);
    ck_assert_int_eq(plan->priorities[plan->ops[1].stream], -2);
    ck_assert_uint_eq(got.left.waited_ops, 4);
    replanned_free(&got);
}
END_TEST

/* Rows are ranges of their own; memory that nobody took is a buffer where it is named. */
START_TEST(copies_touch_what_they_name)
{
    struct replanned got =
        replan("[\"call\",1,\"cudaMemcpy2DAsync\",1,100,101,0]\n"
               "[\"copy2d\",1,1,13,7000000,256,900000,100,64,3]\n"
               "[\"op\",1,\"h2d\",1,13,200,300,192,\"pageable\",\"device\",0]\n"
               "[\"call\",2,\"cudaMemcpy\",1,110,400,0]\n"
               "[\"copy\",2,1,7,900250,7001000,64]\n"
               "[\"op\",2,\"d2h\",1,7,310,390,64,\"device\",\"pageable\",0]\n"
               "[\"call\",3,\"cudaMemset\",1,410,411,0]\n[\"set\",3,1,7,7000000,1000]\n"
               "[\"op\",3,\"memset\",1,7,420,430,1000,null,null,0]\n"
               "[\"call\",4,\"cudaMemcpyToSymbol\",1,440,450,0]\n"
               "[\"op\",4,\"h2d\",1,7,441,449,32,\"pageable\",\"device\",0]\n"
               "[\"call\",5,\"cudaMemcpyAsync\",1,460,461,2]\n"
               "[\"copy\",5,1,13,7000000,5000000,64]\n");
    const struct plan *plan = &got.plan;
    assert_kinds(plan, "h2d d2h memset h2d");
    for (uint32_t row = 0; row < 3; row++) {
        assert_range(plan, 0, row, 900000 + 100 * row, 64, false);
        assert_range(plan, 0, 3 + row, 7000000 + 256 * row, 64, true);
    }
    assert_range(plan, 1, 1, 900250, 64, true);
    ck_assert_uint_eq(access_of(plan, 1, 1)->range.buffer, access_of(plan, 0, 2)->range.buffer);
    ck_assert_uint_eq(op_bytes(&plan->ops[0]), 192);
    ck_assert(plan->recorded->ops[0].pageable && !plan->recorded->ops[0].waits);
    ck_assert(plan->recorded->ops[1].waits && plan->recorded->ops[1].sure);
    assert_range(plan, 2, 0, 7000000, 1000, true);
    ck_assert_uint_eq(plan->recorded->ops[3].access_count, 0);
    ck_assert_int_eq(plan->recorded->ops[1].host_ns, 9);
    ck_assert_int_eq(plan->recorded->ops[2].host_ns, 10);
    replanned_free(&got);
}
END_TEST

#define LAUNCH(call, time, words)                                                              \
    "[\"call\"," #call ",\"cudaLaunchKernel\",1," #time "," #time ",0]\n"                      \
    "[\"launch\"," #call ",1,13,[" words "]]\n"                                                \
    "[\"kernel\"," #call ",1,13,9000,9100,3,132,1024,64,0,0]\n"
#define COPY(call, time, to, from, bytes)                                                      \
    "[\"call\"," #call ",\"cudaMemcpyAsync\",1," #time "," #time ",0]\n"                       \
    "[\"copy\"," #call ",1,13," #to "," #from "," #bytes "]\n"                                 \
    "[\"op\"," #call ",\"h2d\",1,13,8000,8100," #bytes ",\"pinned\",\"device\",0]\n"

/* A kernel reaches as far as the copy before it does; or to the next argument. */
START_TEST(kernels_reach_as_far_as_copies)
{
    struct replanned got = replan(
        COPY(1, 100, 7000000, 5000000, 4096) LAUNCH(2, 110, "7000000,4096,7500000")
            COPY(3, 120, 7000000, 5000000, 4000) LAUNCH(4, 130, "7000000,7600000,7000000"));
    assert_range(&got.plan, 1, 0, 7000000, 4096, true);
    assert_range(&got.plan, 1, 1, 7500000, 100000, true);
    assert_range(&got.plan, 3, 0, 7000000, 4000, true);
    assert_range(&got.plan, 3, 1, 7600000, 448576, true);
    ck_assert_uint_eq(got.plan.recorded->ops[3].access_count, 2);
    ck_assert(!got.plan.recorded->ops[3].sure);
    ck_assert_double_eq(got.plan.recorded->ops[3].fill, 1);
    replanned_free(&got);
}
END_TEST

/* Arguments point to what is taken at the launch: the same address again and again, memory
 * within memory, and a free that is lost. */
START_TEST(kernels_touch_memory_of_their_time)
{
    struct replanned got = replan(
        "[\"memory\",\"device\",100,9000000,100,0]\n[\"free\",200,9000000]\n"
        "[\"memory\",\"device\",300,9000000,50,0]\n[\"memory\",\"device\",500,9000000,10,0]\n"
        "[\"memory\",\"registered\",100,9100000,4096,null]\n[\"free\",400,9100000]\n"
        "[\"memory\",\"device\",1,64,0,0]\n" LAUNCH(1, 150, "8999999,9000000,9000099,9000100")
            LAUNCH(2, 250, "9000000,9100000,64")
                LAUNCH(3, 350, "9000049,9000050,9104095,9104096")
                    LAUNCH(4, 600, "9000009,9000010,9100000"));
    static const uint64_t touched[] = {9000000, 9000099, 9100000, 9000049, 9104095, 9000009};
    static const uint32_t counts[] = {2, 1, 2, 1};
    ck_assert_uint_eq(got.plan.op_count, 4);
    for (uint32_t op = 0, at = 0; op < 4; op++) {
        ck_assert_uint_eq(got.plan.recorded->ops[op].access_count, counts[op]);
        for (uint32_t i = 0; i < counts[op]; i++)
            ck_assert_uint_eq(address_in(&got.plan, &access_of(&got.plan, op, i)->range),
                              touched[at++]);
    }
    replanned_free(&got);
}
END_TEST

/* One kernel on what was copied in parts works on all of them. */
START_TEST(kernels_reach_over_all_parts)
{
    struct replanned got = replan(COPY(1, 100, 7000000, 5000000, 4096) COPY(
        2, 110, 7004096, 5004096, 4096) LAUNCH(3, 120, "7000000"));
    assert_range(&got.plan, 2, 0, 7000000, 1048576, true);
    replanned_free(&got);
}
END_TEST

#define ISSUE(call, thread, start, end)                                                        \
    "[\"call\"," #call ",\"cudaLaunchKernel\"," #thread "," #start "," #end ",0]\n"            \
    "[\"launch\"," #call ",1,13,[]]\n"                                                         \
    "[\"kernel\"," #call ",1,13,9000,9100,3,132,1024,64,0,0]\n"

/* Calls take what those of their name took for the most part: one that found a queue full
 * took longer, which is simulated. Nodes of a graph take the host nothing more. */
START_TEST(calls_take_what_most_took)
{
    struct replanned got = replan(ISSUE(1, 1, 100, 107) ISSUE(2, 1, 110, 910)
                                      ISSUE(3, 1, 920, 927) COPY(4, 930, 7000000, 900000, 64));
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_int_eq(got.plan.recorded->ops[i].call_ns, 7);
    ck_assert_int_eq(got.plan.recorded->ops[3].call_ns, 1);
    replanned_free(&got);
}
END_TEST

/* Where one thread goes on in the stream in which another one stopped, both are one chain of
 * calls: time elsewhere is that in which no thread was in a call. Threads that call at the same
 * time, or that go on in other streams, are threads of their own. */
START_TEST(threads_that_take_turns_are_one)
{
#define FOUR(call, thread, start)                                                              \
    ISSUE(call##1, thread, start##10, start##15)                                               \
    ISSUE(call##2, thread, start##20, start##25)                                               \
    ISSUE(call##3, thread, start##30, start##35) ISSUE(call##4, thread, start##40, start##45)
    struct replanned got = replan(FOUR(1, 1, 1) FOUR(2, 2, 2) FOUR(3, 1, 3) FOUR(4, 2, 4));
    ck_assert_uint_eq(got.plan.recorded->threads, 1);
    ck_assert_int_eq(got.plan.recorded->ops[4].host_ns, 65);
    ck_assert_int_eq(got.plan.recorded->ops[8].host_ns, 65);
    replanned_free(&got);
    got = replan(ISSUE(1, 1, 100, 105) ISSUE(2, 2, 102, 107) ISSUE(3, 1, 110, 115)
                     ISSUE(4, 1, 120, 125) ISSUE(5, 1, 130, 135) ISSUE(6, 1, 140, 145));
    ck_assert_uint_eq(got.plan.recorded->threads, 2);
    replanned_free(&got);
}
END_TEST

/* Memory that is given back at once is one op; else there is one for each call. */
START_TEST(memory_is_taken_and_given_back)
{
    struct replanned got = replan(
        "[\"call\",1,\"cudaMalloc\",1,100,120,0]\n[\"memory\",\"device\",121,8000000,64,0]\n"
        "[\"call\",2,\"cudaFree\",1,130,150,0]\n[\"free\",151,8000000]\n"
        "[\"call\",3,\"cudaMallocHost\",1,200,220,0]\n"
        "[\"memory\",\"pinned\",222,6500000,128,null]\n" COPY(
            4, 230, 7000000, 6500000,
            100) "[\"call\",5,\"cudaFreeHost\",1,9000,9200,0]\n[\"free\",9100,6500000]\n"
                 "[\"call\",6,\"cudaMallocAsync\",1,9300,9301,0]\n"
                 "[\"memory\",\"pool\",9300,8800000,64,0]\n"
                 "[\"call\",7,\"cudaFree\",1,9400,9500,0]\n");
    assert_kinds(&got.plan, "alloc alloc h2d alloc");
    ck_assert(got.plan.ops[0].alloc.bytes == 64 && !got.plan.ops[0].alloc.pinned);
    ck_assert_int_eq(got.plan.recorded->ops[0].work_ns, 40);
    ck_assert_int_eq(got.plan.recorded->ops[1].host_ns, 50);
    ck_assert(got.plan.ops[3].alloc.bytes == 128 && got.plan.ops[3].alloc.pinned);
    ck_assert_uint_eq(got.plan.ops[0].stream, got.plan.streams);
    replanned_free(&got);
}
END_TEST

/* What a call that gives memory back waits for the device is no time of its own; page-locked
 * memory is given back without that. */
START_TEST(giving_back_waits_for_the_device)
{
    struct replanned got = replan(
        "[\"memory\",\"device\",1,8000000,64,0]\n[\"memory\",\"pinned\",1,6500000,64,null]"
        "\n" COPY(
            1, 100, 7000000, 5000000,
            4096) "[\"call\",2,\"cudaFree\",1,110,8140,0]\n[\"free\",8130,8000000]\n"
                  "[\"call\",3,\"cudaFreeHost\",1,8150,8170,0]\n[\"free\",8160,6500000]\n");
    assert_kinds(&got.plan, "h2d alloc alloc");
    ck_assert_int_eq(got.plan.recorded->ops[1].work_ns, 40);
    ck_assert_int_eq(got.plan.recorded->ops[2].work_ns, 20);
    replanned_free(&got);
}
END_TEST

#define KERNEL(call, start, end, blocks)                                                       \
    "[\"call\"," #call ",\"cudaLaunchKernel\",1," #call ",100,0]\n[\"launch\"," #call          \
    ",1,13,[]]\n[\"kernel\"," #call ",1,13," #start "," #end ",3," #blocks ",1024,64,0,0]\n"

/* Time in which others have the room of a launch is not its own. The device has room for 132
 * blocks. */
START_TEST(launches_wait_for_room)
{
    static const int64_t works_ns[] = {100, 80, 80, 50, 90, 20};
    struct replanned got =
        replan(KERNEL(1, 1000, 1100, 132)   /* alone */
               KERNEL(2, 1050, 1180, 132)   /* has it from 1100 on */
               KERNEL(3, 1060, 1260, 132)   /* from 1180 on */
               KERNEL(4, 2000, 2050, 66)    /* half of it */
               KERNEL(5, 2010, 2100, 66)    /* the other half */
               KERNEL(6, 2015, 2035, 132)); /* ended before there was any: it had some */
    for (uint32_t i = 0; i < got.plan.op_count; i++)
        ck_assert_int_eq(got.plan.recorded->ops[i].work_ns, works_ns[i]);
    ck_assert_uint_eq(got.plan.op_count, 6);
    replanned_free(&got);
}
END_TEST

/* The calls of a capture have no effects; nothing at all is a plan, too. */
START_TEST(captures_issue_nothing)
{
    struct replanned got = replan("[\"call\",1,\"cudaStreamBeginCapture\",1,100,101,0]\n"
                                  "[\"call\",2,\"cudaEventRecord\",1,110,111,0]\n"
                                  "[\"call\",3,\"cudaStreamEndCapture\",1,120,121,0]\n");
    ck_assert_uint_eq(got.plan.op_count, 0);
    ck_assert_uint_ge(got.plan.streams, 1);
    replanned_free(&got);
}
END_TEST

/* A capture that fails to begin takes nothing up, and one of a thread may be ended by another:
 * what has an effect was issued. */
START_TEST(captures_hide_nothing)
{
    struct replanned got = replan("[\"call\",1,\"cudaStreamBeginCapture\",1,100,101,900]\n"
                                  "[\"call\",2,\"cudaEventRecord\",1,110,111,0]\n"
                                  "[\"record\",2,1,13,99]\n"
                                  "[\"call\",3,\"cudaStreamBeginCapture\",1,120,121,0]\n"
                                  "[\"call\",4,\"cudaStreamEndCapture\",2,130,131,0]\n"
                                  "[\"call\",5,\"cudaStreamWaitEvent\",1,140,141,0]\n"
                                  "[\"wait\",5,1,14,99]\n");
    assert_kinds(&got.plan, "record wait");
    replanned_free(&got);
}
END_TEST

#define NODE(call, node, start)                                                                \
    "[\"kernel\"," #call ",1,13," #start ",9000,3,132,1024,64,0," #node "]\n"

/* The handle of a graph that was destroyed may be another's later: a launch is one of the graph
 * that its ops name, and has no streams and waits of the other. */
START_TEST(handles_of_graphs_are_used_again)
{
    struct replanned got = replan(
        "[\"node\",77,1,\"kernel\"]\n[\"node\",77,2,\"kernel\"]\n"
        "[\"node\",77,3,\"kernel\"]\n[\"edge\",77,1,2]\n[\"edge\",77,1,3]\n"
        "[\"node\",77,4,\"kernel\"]\n[\"node\",77,5,\"kernel\"]\n[\"edge\",77,4,5]\n"
        "[\"call\",1,\"cudaGraphLaunch\",1,100,101,0]\n[\"graph\",1,1,13,77]\n" NODE(1, 1, 200)
            NODE(1, 2, 300) NODE(1, 3, 300) "[\"call\",2,\"cudaGraphLaunch\",1,110,"
                                            "111,0]\n[\"graph\",2,1,13,77]\n" NODE(2, 4, 400)
                                                NODE(2, 5, 500));
    assert_kinds(&got.plan, "kernel record kernel wait kernel record wait kernel kernel");
    ck_assert_uint_eq(got.plan.streams, 2);
    ck_assert_uint_eq(got.plan.ops[7].stream, got.plan.ops[0].stream);
    ck_assert_uint_eq(got.plan.ops[8].stream, got.plan.ops[0].stream);
    replanned_free(&got);
}
END_TEST

/* A graph waits for its own launch before, also in another stream, and for no other graph's. */
START_TEST(launches_of_a_graph_wait_for_each_other)
{
    struct replanned got = replan(
        "[\"node\",77,1,\"kernel\"]\n[\"node\",78,2,\"kernel\"]\n"
        "[\"call\",1,\"cudaGraphLaunch\",1,100,101,0]\n[\"graph\",1,1,13,77]\n" NODE(
            1, 1,
            200) "[\"call\",2,\"cudaGraphLaunch\",1,110,111,0]\n[\"graph\",2,1,14,77]\n"
                 "[\"kernel\",2,1,14,9100,9200,3,132,1024,64,0,1]\n"
                 "[\"call\",3,\"cudaGraphLaunch\",1,120,121,0]\n[\"graph\",3,1,13,78]\n" NODE(
                     3, 2, 300));
    assert_kinds(&got.plan, "kernel record wait kernel record kernel record");
    ck_assert_uint_eq(got.plan.ops[1].stream, got.plan.ops[0].stream);
    ck_assert_uint_eq(got.plan.ops[2].stream, got.plan.ops[3].stream);
    ck_assert_uint_ne(got.plan.ops[0].stream, got.plan.ops[3].stream);
    ck_assert_uint_eq(got.plan.ops[2].event.event, got.plan.ops[1].event.event);
    replanned_free(&got);
}
END_TEST

/* CUDA's own examples of its occupancy rules. */
START_TEST(launches_fill_a_gpu_by_its_rules)
{
    const struct sm_room h100 = {
        .major = 9, .threads = 2048, .blocks = 32, .registers = 65536, .shared = 233472};
    struct block_need need = {.threads = 256, .registers = 32};
    ck_assert_uint_eq(occupancy_blocks_per_sm(&h100, &need), 8);
    ck_assert(fabs(occupancy_fill(&h100, 132, 132, &need) - 0.125) < 1e-12);
    need.registers = 33; /* a warp takes 1280: 12 in each part of an SM */
    ck_assert_uint_eq(occupancy_blocks_per_sm(&h100, &need), 6);
    need.registers = 255;
    ck_assert_uint_eq(occupancy_blocks_per_sm(&h100, &need), 1);
    need.registers = 16;
    need.shared = 48 << 10; /* and 1 KiB that each block takes */
    ck_assert_uint_eq(occupancy_blocks_per_sm(&h100, &need), 4);
    need = (struct block_need){.threads = 32, .registers = 16};
    ck_assert_uint_eq(occupancy_blocks_per_sm(&h100, &need), 32);
    ck_assert_double_eq(occupancy_fill(&h100, 132, 10000, &need), 1);
    ck_assert_double_gt(occupancy_fill(&(struct sm_room){0}, 0, 0, &(struct block_need){0}), 0);
}
END_TEST

Suite *replan_suite(void)
{
    Suite *suite = suite_create("replan");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 300);
    tcase_add_test(all, our_plans_come_back);
    tcase_add_test(all, events_are_joined);
    tcase_add_test(all, events_that_keep_the_time_are_known);
    tcase_add_test(all, a_wait_for_room_is_no_part_of_a_launch);
    tcase_add_test(all, copies_touch_what_they_name);
    tcase_add_test(all, kernels_reach_as_far_as_copies);
    tcase_add_test(all, kernels_touch_memory_of_their_time);
    tcase_add_test(all, kernels_reach_over_all_parts);
    tcase_add_test(all, calls_take_what_most_took);
    tcase_add_test(all, threads_that_take_turns_are_one);
    tcase_add_test(all, memory_is_taken_and_given_back);
    tcase_add_test(all, giving_back_waits_for_the_device);
    tcase_add_test(all, launches_wait_for_room);
    tcase_add_test(all, captures_issue_nothing);
    tcase_add_test(all, captures_hide_nothing);
    tcase_add_test(all, handles_of_graphs_are_used_again);
    tcase_add_test(all, launches_of_a_graph_wait_for_each_other);
    tcase_add_test(all, launches_fill_a_gpu_by_its_rules);
    suite_add_tcase(suite, all);
    return suite;
}
