/* check_replan_view.c - what `pipeline view` makes of a recording's plan: its races, without
 * false alarms. */
#include "recording_maker.h"
#include "sim_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* --- races --- */

/* Views a recording and returns its only run; *root is to be freed. */
static json_t *view(const char *text, json_t **root)
{
    json_error_t why;
    test_file_put("rec.jsonl", text);
    ck_assert_msg(program_run("view -q --format=json rec.jsonl") == 0, "%s", program_err);
    char *printed = test_file_text("out");
    *root = json_loads(printed, 0, &why);
    ck_assert_msg(*root != NULL, "%s", why.text);
    free(printed);
    return json_array_get(json_object_get(*root, "runs"), 0);
}

struct told {
    size_t certain, possible;
    bool first;  /* the first verdict is a missing wait */
    bool likely; /* and only likely */
};

static struct told races_of(const char *text)
{
    json_t *root, *run = view(text, &root);
    json_t *verdict = json_array_get(json_object_get(run, "verdicts"), 0);
    const char *code = json_string_value(json_object_get(verdict, "code"));
    const char *evidence = json_string_value(json_object_get(verdict, "evidence"));
    struct told told = {
        .certain = json_array_size(json_object_get(run, "hazards")),
        .possible = json_array_size(json_object_get(run, "possible_hazards")),
        .first = code != NULL && strcmp(code, "missing-wait") == 0,
    };
    told.likely = told.first && strcmp(evidence, "likely") == 0;
    ck_assert(!told.first || strcmp(evidence, told.certain > 0 ? "certain" : "likely") == 0);
    json_decref(root);
    return told;
}

static char *recording_of(const struct settings *settings, const struct machine *machine)
{
    struct recording_maker maker = {.random = 5};
    char *text;
    size_t length;
    struct plan plan = test_built_on(settings, machine);
    struct timeline timeline = sim_run(machine, &plan);
    FILE *out = open_memstream(&text, &length);
    recording_make(out, &maker, &plan, &timeline);
    fclose(out);
    free(maker.node_ids);
    timeline_free(&timeline);
    plan_free(&plan);
    return text;
}

/* A kernel that comes too early may race; one that waits is not even named. */
START_TEST(missing_waits_are_possible_races)
{
    static const char *const chains[] = {"scale", "wave", "scale,sum"};
    struct machine machine = test_machine_named("h200");
    for (int wrong = 0; wrong <= 1; wrong++) {
        struct settings settings = test_settings(chains[_i]);
        settings.layout = LAYOUT_STAGE;
        settings.tiles = 16;
        settings.elements = 16 << 16;
        settings.mistake = wrong ? test_mistake("missing-wait") : MISTAKE_NONE;
        char *text = recording_of(&settings, &machine);
        const struct told told = races_of(text);
        ck_assert_uint_eq(told.certain, 0);
        ck_assert_int_eq(told.possible > 0, wrong);
        ck_assert_int_eq(told.likely, wrong);
        free(text);
    }
}
END_TEST

#define HEAD                                                                                   \
    "{\"pipeline_recording\":1,\"program\":\"p\"}\n"                                           \
    "[\"device\",0,\"GPU\",9,0,132,2048,32,65536,233472,3]\n[\"context\",1,0]\n"               \
    "[\"stream\",1,13,113,\"non-blocking\",0]\n[\"stream\",1,14,114,\"non-blocking\",0]\n"     \
    "[\"memory\",\"device\",10,7000000,1048576,0]\n[\"memory\",\"device\",10,8100000,4096,0]"  \
    "\n"                                                                                       \
    "[\"memory\",\"pinned\",20,5000000,1048576,null]\n[\"name\",3,\"k\"]\n"
#define COPY(call, time, stream, kind, to, from, start, end)                                   \
    "[\"call\"," #call ",\"cudaMemcpyAsync\",1," #time "," #time ",0]\n"                       \
    "[\"copy\"," #call ",1," #stream "," #to "," #from ",4096]\n"                              \
    "[\"op\"," #call ",\"" kind "\",1," #stream "," #start "," #end                            \
    ",4096,\"pinned\",\"pinned\",0]\n"
#define LAUNCH(call, time, stream, words, start, end)                                          \
    "[\"call\"," #call ",\"cudaLaunchKernel\",1," #time "," #time ",0]\n"                      \
    "[\"launch\"," #call ",1," #stream ",[" words "]]\n"                                       \
    "[\"kernel\"," #call ",1," #stream "," #start "," #end ",3,132,1024,64,0,0]\n"
#define EVENT(call, time, stream, what)                                                        \
    "[\"call\"," #call ",\"cudaEvent\",1," #time "," #time ",0]\n"                             \
    "[\"" what "\"," #call ",1," #stream ",99]\n"

/* Two copies of the same bytes: a race if the second is issued while the first one runs. */
START_TEST(copies_that_race_are_told_for_certain)
{
    struct told told = races_of(HEAD COPY(1, 1000, 13, "h2d", 7000000, 5000000, 2000, 90000)
                                    COPY(2, 3000, 14, "d2h", 5500000, 7000000, 4000, 80000));
    ck_assert(told.certain == 1 && told.possible == 0 && told.first);
    told = races_of(HEAD COPY(1, 1000, 13, "h2d", 7000000, 5000000, 2000, 90000)
                        EVENT(2, 3000, 13, "record") EVENT(3, 3100, 14, "wait")
                            COPY(4, 3200, 14, "d2h", 5500000, 7000000, 91000, 99000));
    ck_assert(told.certain == 0 && told.possible == 0 && !told.first);
    told = races_of(HEAD COPY(1, 1000, 13, "h2d", 7000000, 5000000, 2000, 9000)
                        COPY(2, 30000, 14, "d2h", 5500000, 7000000, 40000, 80000));
    ck_assert(told.certain == 0 && told.possible == 0 && !told.first);
    told = races_of(HEAD COPY(1, 1000, 13, "h2d", 7000000, 5000000, 2000, 90000)
                        COPY(2, 3000, 14, "h2d", 7004096, 5000000, 4000, 80000));
    ck_assert(told.certain == 0 && told.possible == 0 && !told.first);
}
END_TEST

static void put_copy(FILE *out, int call, int stream, bool in, uint64_t address, int start,
                     int end)
{
    fprintf(out, "[\"call\",%d,\"cudaMemcpyAsync\",1,%d,%d,0]\n", call, start, start);
    fprintf(out, "[\"copy\",%d,1,%d,%lu,%lu,64]\n", call, stream,
            (unsigned long)(in ? address : 5000000), (unsigned long)(in ? 5000000 : address));
    fprintf(out, "[\"op\",%d,\"%s\",1,%d,%d,%d,64,\"pinned\",\"pinned\",0]\n", call,
            in ? "h2d" : "d2h", stream, start + 1, end);
}

/* Writes `pairs` copies in, each beside a copy out of the same bytes, or behind it. */
static char *recording_of_pairs(int pairs, bool beside, bool and_a_race)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    fputs(HEAD "[\"stream\",1,15,115,\"non-blocking\",0]\n", out);
    for (int i = 0; i < pairs; i++) {
        const int start = 100000 + 100000 * i;
        put_copy(out, 2 * i + 1, 13, true, 7000000 + 64 * (uint64_t)i, start, start + 20000);
        put_copy(out, 2 * i + 2, 14, false, 7000000 + 64 * (uint64_t)i,
                 start + (beside ? 10000 : 50000), start + 60000);
    }
    if (and_a_race) {
        const int start = 100000 + 100000 * pairs;
        put_copy(out, 2 * pairs + 1, 13, true, 8100000, start, start + 20000);
        put_copy(out, 2 * pairs + 2, 14, true, 8100000, start + 10000, start + 30000);
    }
    fclose(out);
    return text;
}

/* Pairs that do not count, however many, hide no race; and a list that is full says so. */
START_TEST(races_are_found_behind_many_pairs)
{
    static const char words[] = "more races may be there";
    char *text = recording_of_pairs(300, false, true);
    struct told told = races_of(text);
    ck_assert(told.certain == 1 && told.possible == 0);
    ck_assert_int_eq(program_run("view -q rec.jsonl"), 0);
    char *printed = test_file_text("out");
    ck_assert_ptr_null(strstr(printed, words));
    free(printed);
    free(text);
    text = recording_of_pairs(300, true, false);
    told = races_of(text);
    ck_assert_uint_eq(told.certain, 256);
    ck_assert_int_eq(program_run("view -q rec.jsonl"), 0);
    printed = test_file_text("out");
    ck_assert_ptr_nonnull(strstr(printed, words));
    free(printed);
    free(text);
}
END_TEST

/* A recording that lacks what could have ordered ops tells of nothing for certain. */
START_TEST(doubtful_recordings_accuse_nobody)
{
    const struct told told = races_of(
        HEAD COPY(1, 1000, 13, "h2d", 7000000, 5000000, 2000, 90000) EVENT(3, 3100, 14, "wait")
            COPY(4, 3200, 14, "d2h", 5500000, 7000000, 4000, 99000));
    ck_assert(told.certain == 0 && told.possible == 1 && !told.first);
}
END_TEST

/* Kernels side by side may read the same table; a kernel that gets the same pointer each time
 * chooses its part by a number, which nobody sees. */
START_TEST(kernels_alone_are_no_race)
{
    struct told told = races_of(HEAD COPY(1, 1000, 13, "h2d", 8100000, 5000000, 2000, 9000)
                                    EVENT(2, 1100, 13, "record") EVENT(3, 1200, 14, "wait")
                                        LAUNCH(4, 1300, 13, "8100000", 9500, 50000)
                                            LAUNCH(5, 1400, 14, "8100000", 9600, 50000));
    ck_assert(told.certain == 0 && told.possible == 0 && !told.first);
    told = races_of(HEAD COPY(1, 1000, 13, "h2d", 7000000, 5000000, 2000,
                              30000) LAUNCH(2, 1100, 13, "7000000", 31000, 60000)
                        COPY(3, 1200, 14, "h2d", 7004096, 5004096, 32000, 50000)
                            LAUNCH(4, 1300, 14, "7000000", 51000, 70000)
                                COPY(5, 1400, 13, "d2h", 5500000, 7000000, 61000, 80000)
                                    COPY(6, 1500, 14, "d2h", 5504096, 7004096, 81000, 90000));
    ck_assert(told.certain == 0 && told.possible == 0 && !told.first);
}
END_TEST

/* --- kernels whose pointers step --- */

/* The waits of a pipeline of three streams, any of which may be forgotten. */
enum forgotten { NOTHING, COPIED, DONE, USED, FETCHED };

struct pipeline_maker {
    FILE *out;
    int calls;
    enum forgotten forgotten;
};

/* Writes a call; what it issues runs long after all calls, one op behind the other. */
static int put_call(struct pipeline_maker *maker, const char *name)
{
    const int call = ++maker->calls;
    fprintf(maker->out, "[\"call\",%d,\"%s\",1,%d,%d,0]\n", call, name, 1000 + 10 * call,
            1000 + 10 * call);
    return call;
}

static void put_half(struct pipeline_maker *maker, int stream, bool in, int address)
{
    const int call = put_call(maker, "cudaMemcpyAsync"), start = 200000 + 1000 * call;
    fprintf(maker->out, "[\"copy\",%d,1,%d,%d,%d,4096]\n", call, stream, in ? address : 5500000,
            in ? 5000000 : address);
    fprintf(maker->out, "[\"op\",%d,\"%s\",1,%d,%d,%d,4096,\"pinned\",\"pinned\",0]\n", call,
            in ? "h2d" : "d2h", stream, start, start + 900);
}

static void put_launch(struct pipeline_maker *maker, int stream, int in, int out)
{
    const int call = put_call(maker, "cudaLaunchKernel"), start = 200000 + 1000 * call;
    fprintf(maker->out, "[\"launch\",%d,1,%d,[%d,%d]]\n", call, stream, in, out);
    fprintf(maker->out, "[\"kernel\",%d,1,%d,%d,%d,3,132,1024,64,0,0]\n", call, stream, start,
            start + 900);
}

static void put_event(struct pipeline_maker *maker, const char *what, int stream,
                      enum forgotten wait, int slot)
{
    if (wait != maker->forgotten)
        fprintf(maker->out, "[\"%s\",%d,1,%d,%d]\n", what, put_call(maker, "cudaEvent"), stream,
                100 + 10 * (int)wait + slot);
}

/* Nine tiles go through three slots of one allocation, each in two copies in, one or two
 * launches and two copies out. */
static char *recording_of_tiles(enum forgotten forgotten, int launches)
{
    char *text;
    size_t length;
    struct pipeline_maker maker = {.out = open_memstream(&text, &length),
                                   .forgotten = forgotten};
    ck_assert_ptr_nonnull(maker.out);
    fputs(HEAD "[\"stream\",1,15,115,\"non-blocking\",0]\n", maker.out);
    for (int tile = 0; tile < 9; tile++) {
        const int slot = tile % 3, in = 7000000 + 8192 * slot, out = in + 65536;
        put_event(&maker, "wait", 13, USED, slot);
        put_half(&maker, 13, true, in);
        put_half(&maker, 13, true, in + 4096);
        put_event(&maker, "record", 13, COPIED, slot);
        put_event(&maker, "wait", 14, COPIED, slot);
        put_event(&maker, "wait", 14, FETCHED, slot);
        for (int i = 0; i < launches; i++)
            put_launch(&maker, 14, in, out);
        put_event(&maker, "record", 14, USED, slot);
        put_event(&maker, "record", 14, DONE, slot);
        put_event(&maker, "wait", 15, DONE, slot);
        put_half(&maker, 15, false, out);
        put_half(&maker, 15, false, out + 4096);
        put_event(&maker, "record", 15, FETCHED, slot);
    }
    fclose(maker.out);
    return text;
}

/* Each wait that is forgotten is told, though no copy names just what the kernel gets; slots
 * that are used again are not, nor are waits for events that nothing has recorded yet. */
START_TEST(steps_show_what_kernels_touch)
{
    char *text = recording_of_tiles((enum forgotten)_i, 1);
    const struct told told = races_of(text);
    ck_assert_uint_eq(told.certain, 0);
    ck_assert_int_eq(told.possible > 0, _i != NOTHING);
    ck_assert_int_eq(told.likely, _i != NOTHING);
    free(text);
    /* Two launches get the same pointer: a number may say what each works on. */
    text = recording_of_tiles((enum forgotten)_i, 2);
    ck_assert(races_of(text).possible == 0);
    free(text);
}
END_TEST

/* A result goes home while the next kernel reads it. */
START_TEST(results_that_are_read_are_no_race)
{
    char *text;
    size_t length;
    struct pipeline_maker maker = {.out = open_memstream(&text, &length)};
    ck_assert_ptr_nonnull(maker.out);
    fputs(HEAD, maker.out);
    for (int pass = 0; pass < 12; pass++) {
        const int in = 7000000 + 4096 * (pass % 2), out = 7004096 - 4096 * (pass % 2);
        put_launch(&maker, 13, in, out);
        put_event(&maker, "record", 13, DONE, 0);
        put_event(&maker, "wait", 14, DONE, 0);
        put_half(&maker, 14, false, out);
        put_event(&maker, "record", 14, FETCHED, pass % 2);
        put_event(&maker, "wait", 13, FETCHED, !(pass % 2));
    }
    fclose(maker.out);
    ck_assert(!races_of(text).first);
    free(text);
}
END_TEST

/* --- the plan itself --- */

START_TEST(the_plan_is_printed)
{
    json_t *root;
    view(HEAD COPY(1, 1000, 13, "h2d", 7000000, 5000000, 2000, 9000)
             LAUNCH(2, 1100, 13, "7000000,3", 9500, 50000),
         &root);
    json_decref(root);
    ck_assert_int_eq(program_run("view -q --dry-run rec.jsonl"), 0);
    assert_has(program_out, "1 h2d, 1 kernel");
    ck_assert_int_eq(program_run("view -q --dry-run --format=json rec.jsonl"), 0);
    char *printed = test_file_text("out");
    root = json_loads(printed, 0, NULL);
    json_t *plan = json_array_get(json_object_get(root, "plans"), 0);
    json_t *ops = json_object_get(plan, "ops");
    ck_assert_uint_eq(json_array_size(ops), 2);
    ck_assert_uint_eq(json_array_size(json_object_get(plan, "buffers")), 2);
    json_t *kernel = json_array_get(ops, 1);
    ck_assert_str_eq(json_string_value(json_object_get(kernel, "name")), "k");
    json_t *range = json_array_get(json_object_get(kernel, "writes"), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(range, "bytes")), 4096);
    json_decref(root);
    free(printed);
    test_file_put("trace.csv", "Start (ns),Duration (ns),Strm,Name\n1,2,7,k\n");
    ck_assert_int_eq(program_run("view --dry-run trace.csv"), 2);
    assert_has(program_err, "--dry-run: ");
}
END_TEST

Suite *replan_view_suite(void)
{
    Suite *suite = suite_create("replan_view");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(all, missing_waits_are_possible_races, 0, 3);
    tcase_add_test(all, copies_that_race_are_told_for_certain);
    tcase_add_test(all, races_are_found_behind_many_pairs);
    tcase_add_test(all, doubtful_recordings_accuse_nobody);
    tcase_add_test(all, kernels_alone_are_no_race);
    tcase_add_loop_test(all, steps_show_what_kernels_touch, NOTHING, FETCHED + 1);
    tcase_add_test(all, results_that_are_read_are_no_race);
    tcase_add_test(all, the_plan_is_printed);
    suite_add_tcase(suite, all);
    return suite;
}
