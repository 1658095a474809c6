/* check_recorded_hazards.c - races of recorded plans, and what such a plan may not say. */
#include "recorded_plan.h"
#include "recording_cases.h"
#include "test_folder.h"
#include "trace/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HAZARDS_MAX = 64 };

static size_t hazards_of(const struct plan *plan, struct hazard hazards[HAZARDS_MAX])
{
    struct error error = {0};
    size_t count;
    ck_assert_msg(plan_hazards(plan, hazards, HAZARDS_MAX, &count, &error) == STATUS_OK, "%s",
                  error.text);
    return count;
}

/* Compares the hazards of `built` with those of its recording, and returns how many they are.
 */
static size_t assert_same_hazards(const struct plan *built, const struct machine *machine)
{
    struct hazard expected[HAZARDS_MAX], found[HAZARDS_MAX];
    struct plan plan = recorded_of(built, machine);
    size_t count = hazards_of(built, expected);
    ck_assert_uint_eq(hazards_of(&plan, found), count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(found[i].first, expected[i].first);
        ck_assert_uint_eq(found[i].second, expected[i].second);
        ck_assert_int_eq(found[i].where.buffer, expected[i].where.buffer);
        ck_assert_uint_eq(found[i].where.offset, expected[i].where.offset);
        ck_assert_uint_eq(found[i].where.bytes, expected[i].where.bytes);
        ck_assert(found[i].sure && expected[i].sure);
    }
    plan_free(&plan);
    return count;
}

START_TEST(recordings_race_where_their_plans_do)
{
    static const char *const chains[] = {"scale", "wave", "scan", "scale,scale,sum"};
    struct machine machine = test_machine();
    size_t racing = 0;
    for (int i = 0; i < 4 * 2 * 2 * 3; i++) {
        struct settings settings = test_settings(chains[i % 4]);
        settings.elements = 1 << 12;
        settings.tiles = 8;
        settings.streams = 3;
        settings.order = i / 4 % 2 ? ORDER_BREADTH : ORDER_DEPTH;
        settings.layout = i / 8 % 2 ? LAYOUT_STAGE : LAYOUT_TILE;
        settings.callbacks = i / 16 == 1;
        settings.memory = i / 16 == 2 ? MEMORY_PAGEABLE : MEMORY_PINNED;
        for (int drop = 0; drop < 2; drop++) {
            settings.mistake = drop ? test_mistake("missing-wait") : 0;
            if (drop && settings.layout == LAYOUT_TILE)
                continue;
            struct plan plan = test_built_on(&settings, &machine);
            size_t count = assert_same_hazards(&plan, &machine);
            ck_assert_int_eq(count > 0, drop);
            racing += count > 0;
            plan_free(&plan);
        }
    }
    ck_assert_uint_eq(racing, 24);
}
END_TEST

/* A copy in, read by another stream: the host's wait for an event orders them, if the event
 * stands for the copy. */
START_TEST(the_host_waits_for_an_event)
{
    struct machine machine = test_machine();
    struct hazard hazards[HAZARDS_MAX];
    for (int when = 0; when < 3; when++) { /* recorded behind the copy, before it, never */
        struct plan built = test_plan(2, 1, 1, 64);
        if (when == 1)
            test_record(&built, 0, 0);
        test_h2d(&built, 0, 0, 0, 256);
        if (when == 0)
            test_record(&built, 0, 0);
        recorded_sync_event(&built, 0);
        test_kernel(&built, 1, 0, 0, 64, 1);
        struct plan plan = recorded_of(&built, &machine);
        ck_assert_uint_eq(hazards_of(&plan, hazards), when != 0);
        plan_free(&plan);
        plan_free(&built);
    }
}
END_TEST

/* The host goes on only when such a copy has ended, so another stream comes after it. */
START_TEST(the_host_waits_for_a_copy)
{
    struct machine machine = test_machine();
    struct hazard hazards[HAZARDS_MAX];
    for (int how = 0; how < 4; how++) {
        struct plan built = test_plan(2, 0, 1, 64);
        test_h2d(&built, 0, 0, 0, 256);
        test_kernel(&built, 1, 0, 0, 64, 1);
        test_d2h(&built, 1, 0, 0, 256);
        test_memset(&built, 0, 0, 256, 1);
        struct plan plan = recorded_of(&built, &machine);
        plan.recorded->ops[0].waits = how & 1;
        plan.recorded->ops[0].pageable = true; /* may still be on its way when the call ends */
        plan.recorded->ops[2].pageable = how & 2;
        size_t count = hazards_of(&plan, hazards);
        ck_assert_uint_eq(count, (how & 1 ? 0 : 1) + (how & 2 ? 0 : 2));
        plan_free(&plan);
        plan_free(&built);
    }
}
END_TEST

/* A possible write hides no certain one: the copies race, whatever the kernel between does. */
START_TEST(certain_races_are_told_from_possible_ones)
{
    struct machine machine = test_machine();
    struct hazard hazards[HAZARDS_MAX];
    struct plan built = test_plan(3, 1, 1, 64);
    uint32_t copy = test_h2d(&built, 0, 0, 0, 256);
    test_record(&built, 0, 0);
    test_wait(&built, 1, 0);
    uint32_t kernel = test_kernel(&built, 1, 0, 0, 64, 1);
    uint32_t other = test_h2d(&built, 2, 0, 128, 64);
    struct plan plan = recorded_of(&built, &machine);
    plan.recorded->ops[kernel].sure = false;
    plan.recorded->accesses[plan.recorded->ops[kernel].first_access].writes = 1;
    ck_assert_uint_eq(hazards_of(&plan, hazards), 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(hazards[i].second, other);
        ck_assert_uint_eq(hazards[i].where.offset, 128);
        ck_assert_uint_eq(hazards[i].where.bytes, 64);
        ck_assert_uint_eq(hazards[i].first, hazards[i].sure ? copy : kernel);
    }
    ck_assert(hazards[0].sure != hazards[1].sure);
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

/* Drops what certain accesses touch, or what possible ones do. */
static void drop_accesses(struct plan *plan, bool sure)
{
    for (uint32_t i = 0; i < plan->op_count; i++) {
        if (plan->recorded->ops[i].sure == sure)
            plan->recorded->ops[i].access_count = 0;
    }
}

/* Keeps, of `count` hazards, those whose ops are both certain, or both possible. */
static size_t keep_alike(const struct plan *plan, struct hazard hazards[HAZARDS_MAX],
                         size_t count, bool sure)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (plan->recorded->ops[hazards[i].first].sure == sure &&
            plan->recorded->ops[hazards[i].second].sure == sure)
            hazards[kept++] = hazards[i];
    }
    return kept;
}

static struct plan random_plan(uint64_t *random)
{
    enum { STREAMS = 3, EVENTS = 4, OPS = 14, PIECE = 8, PIECES = 6 };
    struct machine machine = test_machine();
    struct plan built = test_plan(STREAMS, EVENTS, 1, PIECE * PIECES / 4);
    for (uint32_t i = 0; i < OPS; i++) {
        uint32_t stream = test_random_below(random, STREAMS);
        uint32_t event = test_random_below(random, EVENTS);
        uint32_t first = test_random_below(random, PIECES);
        uint32_t count = 1 + test_random_below(random, PIECES - first);
        if (test_random_below(random, 3) > 0) {
            test_memset(&built, stream, (uint64_t)first * PIECE, (uint64_t)count * PIECE, 1);
            test_record(&built, stream, event);
        } else {
            test_d2h(&built, stream, 0, (uint64_t)first * PIECE, (uint64_t)count * PIECE);
        }
        if (test_random_below(random, 3) > 0)
            test_wait(&built, test_random_below(random, STREAMS), event);
    }
    struct plan plan = recorded_of(&built, &machine);
    for (uint32_t i = 0; i < plan.op_count; i++)
        plan.recorded->ops[i].sure = test_random_below(random, 2);
    plan_free(&built);
    return plan;
}

/* Certain accesses race with each other as if there were no possible ones, and the reverse; and
 * where the accesses of two sides race, the first op that races is found. */
START_TEST(each_side_is_complete)
{
    struct hazard hazards[HAZARDS_MAX], alike[HAZARDS_MAX], expected[HAZARDS_MAX];
    uint64_t random = 4;
    size_t mixed = 0;
    for (int i = 0; i < test_cases(2000); i++) {
        struct plan plan = random_plan(&random);
        size_t count = hazards_of(&plan, hazards);
        for (int sure = 0; sure < 2; sure++) {
            struct op_recorded kept[64];
            memcpy(alike, hazards, sizeof alike);
            memcpy(kept, plan.recorded->ops, plan.op_count * sizeof kept[0]);
            size_t found = keep_alike(&plan, alike, count, sure);
            drop_accesses(&plan, !sure);
            ck_assert_uint_eq(hazards_of(&plan, expected), found);
            for (size_t j = 0; j < found; j++) {
                ck_assert_uint_eq(alike[j].first, expected[j].first);
                ck_assert_uint_eq(alike[j].second, expected[j].second);
                ck_assert(alike[j].sure == sure);
            }
            mixed += count - found;
            memcpy(plan.recorded->ops, kept, plan.op_count * sizeof kept[0]);
        }
        for (uint32_t j = 0; j < plan.op_count; j++)
            plan.recorded->ops[j].sure = true;
        size_t all = hazards_of(&plan, expected);
        ck_assert_int_eq(all > 0, count > 0);
        if (count > 0)
            ck_assert_uint_eq(hazards[0].second, expected[0].second);
        plan_free(&plan);
    }
    ck_assert_uint_gt(mixed, 0);
}
END_TEST

/* Copies of pieces, each followed by a kernel that may write all of the buffer: looked through
 * piece by piece that would take hours. */
START_TEST(whole_buffers_and_pieces)
{
    enum { PIECES = 200000, BYTES = 16 };
    struct plan plan = {.streams = 1};
    struct error error = {0};
    struct plan_recorded *recorded = calloc(1, sizeof *recorded);
    ck_assert_ptr_nonnull(recorded);
    plan.recorded = recorded;
    recorded->ops = calloc(2 * PIECES, sizeof *recorded->ops);
    recorded->accesses = calloc(2 * PIECES, sizeof *recorded->accesses);
    recorded->buffers = calloc(1, sizeof *recorded->buffers);
    ck_assert(recorded->ops != NULL && recorded->accesses != NULL && recorded->buffers != NULL);
    recorded->buffers[0].bytes = (uint64_t)PIECES * BYTES;
    recorded->buffer_count = recorded->threads = 1;
    recorded->access_count = 2 * (size_t)PIECES;
    for (uint32_t i = 0; i < 2 * PIECES; i++) {
        bool set = i % 2 == 0;
        struct op op = {.kind = OP_MEMSET, .tile = -1};
        ck_assert_int_eq(plan_append(&plan, &op, &error), STATUS_OK);
        recorded->ops[i] =
            (struct op_recorded){.first_access = i, .access_count = 1, .sure = set};
        recorded->accesses[i].writes = 1;
        recorded->accesses[i].range = set ? (struct range){0, i / 2 * (uint64_t)BYTES, BYTES}
                                          : (struct range){0, 0, (uint64_t)PIECES * BYTES};
    }
    struct hazard hazards[HAZARDS_MAX];
    ck_assert_msg(plan_validate(&plan, &error) == STATUS_OK, "%s", error.text);
    ck_assert_uint_eq(hazards_of(&plan, hazards), 0);
    plan_free(&plan);
}
END_TEST

/* Every wait for an event joins the clocks of all streams, and each event that is still to be
 * waited for keeps one. */
START_TEST(many_streams)
{
    enum { STREAMS = 4096, OPS = 20000 };
    struct hazard hazards[HAZARDS_MAX];
    struct error error = {0};
    struct plan plan = test_plan(STREAMS, OPS, 1, 64);
    for (uint32_t i = 0; i < OPS; i++) {
        uint32_t next = (i + 1) % STREAMS;
        test_memset(&plan, i % STREAMS, 0, 4, 1);
        test_record(&plan, i % STREAMS, i);
        test_wait(&plan, next, i);
    }
    ck_assert_uint_eq(hazards_of(&plan, hazards), 0);
    plan_free(&plan);

    size_t count;
    plan = (struct plan){.streams = 100000};
    ck_assert_int_eq(plan_hazards(&plan, hazards, HAZARDS_MAX, &count, &error), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "too many streams (100000)"));
}
END_TEST

/* --- what a recorded plan may not say --- */

START_TEST(faults_are_named)
{
    struct machine machine = test_machine();
    struct error error = {0};
    struct plan built = test_plan(1, 1, 1, 64);
    test_h2d(&built, 0, 0, 0, 256);
    test_kernel(&built, 0, 0, 0, 64, 1);
    recorded_sync_event(&built, 0);
    test_plan_refused(&built, "only recorded programs");
    struct plan plan = recorded_of(&built, &machine);
    struct op_recorded *seen = &plan.recorded->ops[1], kept = *seen;
    struct access *access = &plan.recorded->accesses[seen->first_access], ranges = *access;
    struct op op = plan.ops[1];
#define ASSERT_FAULT(change, words)                                                            \
    do {                                                                                       \
        change;                                                                                \
        test_plan_refused(&plan, words);                                                       \
        *seen = kept;                                                                          \
        *access = ranges;                                                                      \
        plan.ops[1] = op;                                                                      \
        ck_assert_msg(plan_validate(&plan, &error) == STATUS_OK, "%s", error.text);            \
    } while (0)
    ASSERT_FAULT(seen->thread = 1, "thread");
    ASSERT_FAULT(seen->name = 1, "name");
    ASSERT_FAULT(seen->work_ns = -1, "no time");
    ASSERT_FAULT(seen->host_ns = INT64_MAX, "36 years");
    ASSERT_FAULT(seen->fill = 1.5, "GPU");
    ASSERT_FAULT(seen->fill = NAN, "GPU");
    ASSERT_FAULT(seen->first_access = SIZE_MAX, "ranges");
    ASSERT_FAULT(seen->access_count = 9, "ranges");
    ASSERT_FAULT(access->range.buffer = BUFFER_COUNT, "buffer");
    ASSERT_FAULT(access->range.offset = 1, "beyond");
    ASSERT_FAULT(access->range.bytes = 0, "no bytes");
    ASSERT_FAULT(plan.ops[1].stream = 1, "stream");
    ASSERT_FAULT(plan.ops[1].tile = 0, "tile");
    ASSERT_FAULT(plan.ops[1].kind = OP_CPU, "CPU");
    ASSERT_FAULT(plan.ops[1].kind = OP_KIND_COUNT, "of no kind");
    plan.ops[2].event.event = 1;
    test_plan_refused(&plan, "event");
    plan.ops[2].event.event = 0;
    plan.ops[0].copy.host.bytes = 1;
    test_plan_refused(&plan, "sizes");
    plan_free(&plan);
    plan_free(&built);
}
END_TEST

/* Races that a recording tells are certain, each in the report of the devices that have a part
 * in it: of the host's code, of a graph's node, of two devices. Of a call that is not there
 * nothing is said. */
START_TEST(races_are_told)
{
    static const struct {
        int run;
        uint32_t first, second;
        const char *text;
    } told[] = {
        {0, 0, SPAN_NONE,
         "step (halo.cu:5, stream 7, at 0.003 ms) and cudaMemcpyPeerAsync (halo.cu:6, on "
         "NVIDIA H200 (1)) both touch 64 bytes of the device's memory at 0x1000, and nothing "
         "orders them"},
        {0, 3, SPAN_NONE,
         "step (halo.cu:17, stream 13, at 0.011 ms) and the host's code, which writes "
         "(main.cu:9) both touch 8 bytes of the host's memory at 0x4d, and nothing orders "
         "them"},
        {1, SPAN_NONE, 1,
         "cuLaunchKernel (halo.cu:5, on NVIDIA H100 (0)) and peer (halo.cu:6, stream 7, at "
         "0.007 ms) both touch 64 bytes of the device's memory at 0x1000, and nothing orders "
         "them"},
    };
    char text[8192];
    test_file_read(RECORDINGS "devices.jsonl", text, sizeof text);
    FILE *out = fopen("told.jsonl", "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fputs("[\"race\",4096,64,5,0,2,\"halo.cu:5\",7,0,1,\"/home/me/halo.cu:6\"]\n"
          "[\"race\",77,8,9,2,1,null,null,0,2,\"/home/me/main.cu:9\"]\n"
          "[\"race\",77,8,9,2,1,null,4711,0,2,null]\n",
          out);
    fclose(out);
    const char *words[] = {"told.jsonl"};
    const struct options options = {
        .command = COMMAND_VIEW, .words = words, .word_count = 1, .quiet = true, .all = true};
    struct view view;
    struct error error = {0};
    ck_assert_msg(view_read(&options, NULL, &view, &error) == STATUS_OK, "%s", error.text);
    size_t seen[2] = {0, 0};
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        const struct run_report *run = &view.report.runs[told[i].run];
        const size_t k = seen[told[i].run]++;
        ck_assert_uint_lt(k, run->hazard_count);
        ck_assert_str_eq(run->hazard_texts[k], told[i].text);
        ck_assert_uint_eq(run->hazards[k].first, told[i].first);
        ck_assert_uint_eq(run->hazards[k].second, told[i].second);
        ck_assert_int_eq(run->verdicts.items[0].code, VERDICT_MISSING_WAIT);
    }
    for (int i = 0; i < 2; i++)
        ck_assert_uint_eq(view.report.runs[i].hazard_count, seen[i]);
    view_free(&view);
}
END_TEST

TCase *recorded_hazards_case(void)
{
    TCase *tc = tcase_create("hazards");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, test_folder_enter, test_folder_leave);
    tcase_add_test(tc, races_are_told);
    tcase_add_test(tc, recordings_race_where_their_plans_do);
    tcase_add_test(tc, the_host_waits_for_an_event);
    tcase_add_test(tc, the_host_waits_for_a_copy);
    tcase_add_test(tc, certain_races_are_told_from_possible_ones);
    tcase_add_test(tc, each_side_is_complete);
    tcase_add_test(tc, whole_buffers_and_pieces);
    tcase_add_test(tc, many_streams);
    tcase_add_test(tc, faults_are_named);
    return tc;
}
