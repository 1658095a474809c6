/* check_mistake.c - the table of mistakes, the plans that have one, and the program with it. */
#include "fixtures.h"
#include "plan/build.h"
#include "plan/mistake.h"
#include "run/arrays.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the table
 * -------------------------------------------------------------------------------------- */

START_TEST(test_table_is_whole)
{
    int count = 0;
    for (; mistake_rows[count].name != NULL; count++) {
        const struct mistake_row *row = &mistake_rows[count];
        int found = -1;
        ck_assert_ptr_nonnull(row->summary);
        ck_assert_ptr_nonnull(row->effect);
        ck_assert_ptr_nonnull(row->shows);
        ck_assert(mistake_find(row->name, &found));
        ck_assert_int_eq(found, count); /* no name twice */
        ck_assert_str_eq(mistake_name(found), row->name);
    }
    ck_assert_str_eq(mistake_name(MISTAKE_NONE), "none");
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(mistake_rows[i].races, i == test_mistake("missing-wait"));
}
END_TEST

START_TEST(test_names_that_are_none)
{
    int untouched = -1;
    ck_assert(!mistake_find("missing", &untouched));
    ck_assert(!mistake_find("", &untouched));
    ck_assert_int_eq(untouched, -1);
    ck_assert_str_eq(mistake_nearest("missing-wiat"), "missing-wait");
    ck_assert_ptr_null(mistake_nearest("quite-another"));
}
END_TEST

/* --- plans
 * ------------------------------------------------------------------------------------------ */

static struct settings random_settings(uint64_t *random)
{
    static const char *const chains[] = {"scale", "wave",     "sum", "scale,wave,scale",
                                         "scan",  "scan,scan"};
    uint32_t chain = test_random_below(random, 6);
    struct settings settings =
        test_random_settings(random, chains[chain], 20, chain < 4 ? 4 : 3);
    settings.elements = 1024;
    settings.cpu_share = settings.ways == 4 ? 0.25 : -1;
    return settings;
}

/* Returns true if a wait is for a copy in: then the op before its event's record is one. */
static bool waits_for_copy_in(const struct plan *plan, const struct op *wait)
{
    const struct op *before = NULL;
    for (uint32_t i = 0; i < wait->id; i++) {
        const struct op *record = &plan->ops[i];
        if (record->kind != OP_RECORD || record->event.event != wait->event.event)
            continue;
        for (uint32_t j = 0; j < i; j++) {
            if (plan->ops[j].stream == record->stream && plan->ops[j].kind != OP_WAIT &&
                plan->ops[j].kind != OP_RECORD)
                before = &plan->ops[j];
        }
    }
    ck_assert_ptr_nonnull(before);
    return before->kind == OP_H2D;
}

/* The plan with the mistake is the right one without those waits, op by op. */
static uint32_t assert_less_waits(const struct plan *right, const struct plan *broken)
{
    uint32_t at = 0, dropped = 0;
    for (uint32_t i = 0; i < right->op_count; i++) {
        const struct op *op = &right->ops[i];
        if (op->kind == OP_WAIT && waits_for_copy_in(right, op)) {
            dropped++;
            continue;
        }
        ck_assert_uint_lt(at, broken->op_count);
        const struct op *same = &broken->ops[at++];
        ck_assert_int_eq(same->kind, op->kind);
        ck_assert_uint_eq(same->stream, op->stream);
        ck_assert_int_eq(same->tile, op->tile);
        if (op->kind == OP_WAIT || op->kind == OP_RECORD)
            ck_assert_uint_eq(same->event.event, op->event.event);
    }
    ck_assert_uint_eq(at, broken->op_count);
    return dropped;
}

START_TEST(test_missing_wait_drops_those_waits_alone)
{
    uint64_t random = 60221;
    int refused = 0, built = 0;
    for (int i = 0; i < test_cases(1000); i++) {
        struct settings settings = random_settings(&random);
        struct machine machine = test_machine();
        struct plan right, broken;
        struct error error = {0};
        right = test_built_on(&settings, &machine);
        settings.mistake = test_mistake("missing-wait");
        enum status status = plan_build(&settings, &machine, &broken, &error);
        if (status == STATUS_OK) {
            struct hazard hazard;
            size_t hazards;
            ck_assert_uint_gt(assert_less_waits(&right, &broken), 0);
            ck_assert_int_eq(plan_hazards(&broken, &hazard, 1, &hazards, &error), STATUS_OK);
            ck_assert_uint_eq(hazards, 1);
            built++;
            plan_free(&broken);
        } else {
            ck_assert_int_eq(status, STATUS_USAGE);
            ck_assert_ptr_nonnull(strstr(error.text, "--mistake=missing-wait"));
            ck_assert_ptr_nonnull(strstr(error.text, ": use --"));
            ck_assert((strstr(error.text, "--layout=stage") != NULL) ==
                      (settings.layout != LAYOUT_STAGE));
            for (uint32_t op = 0; op < right.op_count; op++)
                ck_assert(right.ops[op].kind != OP_WAIT ||
                          !waits_for_copy_in(&right, &right.ops[op]));
            refused++;
        }
        plan_free(&right);
    }
    ck_assert_int_gt(refused, 0);
    ck_assert_int_gt(built, 0);
}
END_TEST

/* --- the program
 * ------------------------------------------------------------------------------------ */

/* One race is lost on this machine, and one is won, for its copies are soon over. */
#define LOST                                                                                   \
    "-q --device=sim:h200 --layout=stage --mistake=missing-wait -n 1M -t 8 --intensity=60 "
#define WON "-q --device=sim:h200 --layout=stage --mistake=missing-wait -n 8 -t 8 -s 1 "

START_TEST(test_lost_race)
{
    ck_assert_int_eq(program_run(LOST), 1);
    assert_shown(program_out, "hazards, | lost |device.in0 [0, 524288); in this run scale 0 ");
    assert_has(program_out, "  WRONG");
    assert_has(program_err, "wrong result: tile ");
    assert_has(program_err, "--mistake=missing-wait did that");
    ck_assert_ptr_eq(strchr(program_err, '\n'),
                     program_err + strlen(program_err) - 1); /* one line */
    ck_assert_int_eq(program_run(LOST "--kernel=sum"), 1);
    assert_has(program_out, "  nan  WRONG");
}
END_TEST

START_TEST(test_won_race)
{
    ck_assert_int_eq(program_run(WON), 1);
    assert_shown(program_out, "8 hazards, none |in this run h2d 3 ended |  raced");
    assert_has(program_err, "every element is right this time, but ops raced");
}
END_TEST

/* Arrays whose right results are what memory that was never written could hold: NaN, and -1 in
 * ints. What raced is never called verified, and is not written. */
START_TEST(test_due_poison)
{
    static const struct {
        uint32_t first, rest;
        const char *arguments;
    } cases[] = {
        {0x7FC00000, 0x7FC00000, ""},
        {0xFFFFFFFF, 0xFFFFFFFF, ""},
        {0x7FC00000, 0x7FC00000, "-k wave"},
        {0x7F800000, 0x7F800000, "-k wave"},
        {0x7F800000, 0xFF800000, "-k sum"},
        {0x7F7FFFFF, 0x7F7FFFFF, "-k sum"},
        {0x7FC00000, 0x7FC00000, "-k finite"},
        {0x7FC00000, 0x7FC00000, "-k transpose-copy --columns=64"},
        {0xFFFFFFFF, 0, "-k scan"},
        {0xFFFFFFFF, 0, "-k all"},
    };
    const size_t count = 256 << 10;
    uint32_t *words = calloc(count, sizeof *words);
    ck_assert_ptr_nonnull(words);
    char line[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t k = 0; k < count; k++)
            words[k] = k == 0 ? cases[i].first : cases[i].rest;
        FILE *file = fopen("due.raw", "wb");
        ck_assert_uint_eq(fwrite(words, sizeof *words, count, file), count);
        ck_assert_int_eq(fclose(file), 0);
        for (int raced = 0; raced < 2; raced++) {
            snprintf(
                line, sizeof line,
                "-q -d sim:h200 -t 8 --layout=stage --intensity=60 -i due.raw -o due.npy %s %s",
                cases[i].arguments, raced ? "--mistake=missing-wait" : "");
            ck_assert_msg(program_run(line) == raced, "%s: %s", line, program_err);
            ck_assert_int_eq(strstr(program_out, "  yes\n") != NULL, !raced);
            ck_assert_int_eq(unlink("due.npy"), raced ? -1 : 0);
        }
    }
    free(words);
}
END_TEST

/* An input that holds every poison of the first runs is copied rightly all the same. */
START_TEST(test_poison_in_the_input)
{
    enum { COUNT = 4096 };
    uint32_t words[COUNT] = {0};
    struct arrays probe = {0};
    for (int i = 0; i < 8; i++) {
        arrays_poison(&probe);
        words[500 * i] = probe.poison;
    }
    FILE *file = fopen("poison.raw", "wb");
    ck_assert_uint_eq(fwrite(words, sizeof *words, COUNT, file), COUNT);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_msg(program_run("-q -d sim:h200 -t 4 -i poison.raw -o out.raw "
                              "-k transpose-copy --columns=32") == 0,
                  "%s", program_err);
    uint32_t copied[COUNT];
    file = fopen("out.raw", "rb");
    ck_assert_uint_eq(fread(copied, sizeof *copied, COUNT, file), COUNT);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_mem_eq(words, copied, sizeof words);
}
END_TEST

static json_t *json_run(int index)
{
    json_error_t why;
    json_t *report = json_load_file("out", JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(report != NULL, "%s", why.text);
    json_t *one = json_array_get(json_object_get(report, "runs"), (size_t)index);
    ck_assert_ptr_nonnull(one);
    json_incref(one);
    json_decref(report);
    return one;
}

START_TEST(test_json_and_csv)
{
    ck_assert_int_eq(program_run(LOST "--format=json"), 1);
    json_t *one = json_run(0);
    ck_assert(json_is_false(json_object_get(one, "verified")));
    json_t *hazards = json_object_get(one, "hazards");
    ck_assert_uint_eq(json_array_size(hazards), 8);
    assert_has(json_string_value(json_array_get(hazards, 0)), "h2d 0 and scale 0 both touch");
    json_t *settings = json_object_get(one, "settings");
    ck_assert_str_eq(json_string_value(json_object_get(settings, "mistake")), "missing-wait");
    json_decref(one);
    ck_assert_int_eq(program_run(WON "--format=json"), 1);
    one = json_run(0);
    ck_assert(json_is_null(json_object_get(one, "verified")));
    ck_assert_uint_eq(json_array_size(json_object_get(one, "hazards")), 8);
    json_decref(one);
    ck_assert_int_eq(program_run(LOST "--format=csv"), 1);
    assert_has(program_out, "\nrun,simulated,virtual,NVIDIA H200,,false,");
}
END_TEST

/* A wrong result is not kept; the files that were asked for beside it are. */
START_TEST(test_files_of_a_wrong_run)
{
    ck_assert_int_eq(program_run(LOST "-o x.npy --timeline=x.csv"), 1);
    ck_assert_int_ne(access("x.npy", F_OK), 0);
    ck_assert_int_eq(access("x.csv", F_OK), 0);
    assert_has(program_err, "; x.npy is not written");
    ck_assert_int_eq(program_run(WON "-o x.npy"), 1);
    ck_assert_int_ne(access("x.npy", F_OK), 0);
}
END_TEST

/* Runs before and behind a wrong one are reported as usual. */
START_TEST(test_one_of_several_runs)
{
    FILE *file = fopen("m.ini", "w");
    ck_assert_ptr_nonnull(file);
    fputs(
        "[global]\nlayout=stage\nelements=1M\nintensity=60\ntiles=8\ndevice=sim:h200\n[right]\n"
        "[broken]\nmistake=missing-wait\n[again]\n",
        file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(program_run("-q --format=json m.ini"), 1);
    assert_has(program_err, "pipeline: run broken: wrong result: ");
    for (int i = 0; i < 3; i++) {
        json_t *one = json_run(i);
        ck_assert_int_eq(json_is_true(json_object_get(one, "verified")), i != 1);
        ck_assert_uint_eq(json_array_size(json_object_get(one, "hazards")), i == 1 ? 8 : 0);
        json_decref(one);
    }
    ck_assert_int_eq(program_run("-q --gantt=none m.ini"), 1);
    assert_has(program_out, "\nbroken: 8 hazards, ");
    ck_assert_ptr_null(strstr(program_out, "\nright: 0 hazards"));
    ck_assert_ptr_null(strstr(program_out, "\nagain: 8 hazards"));
}
END_TEST

START_TEST(test_sweeps_without_data_and_dry)
{
    ck_assert_int_eq(
        program_run(
            "-q -d sim -n 1M -t 8 --intensity=60 -w 2 --sweep=mistake=none,missing-wait"),
        1);
    assert_has(program_out, "  best\n");
    assert_has(program_out, "  WRONG\n");
    assert_has(program_out, "best: mistake=none (");
    assert_has(program_out, "2 runs, 1 of them WRONG; ");
    ck_assert_int_eq(program_run(LOST "--sweep=seed=1,2"), 1);
    ck_assert_ptr_null(strstr(program_out, "best"));
    assert_has(program_out, "2 runs, 2 of them WRONG\n");
    ck_assert_int_eq(program_run(LOST "--sweep=seed=1,2 --sweep=order=depth,breadth"), 1);
    assert_has(program_out, " us!  ");
    ck_assert_int_eq(program_run(LOST "--no-data"), 0);
    assert_has(program_out, "not asked");
    assert_shown(program_out, "hazards, | lost ");
    ck_assert_int_eq(
        program_run("--device=sim:h200 --layout=stage --mistake=missing-wait --dry-run"), 0);
    assert_shown(program_err, "note: |32 hazards|h2d 0|scale 0|device.in0");
}
END_TEST

/* What is said to be wanting is what was not given, and with it the mistake can be made. */
START_TEST(test_settings_without_such_a_wait)
{
    static const struct {
        const char *line, *advice;
    } cases[] = {
        {"", "--layout=stage"},
        {"-w 1", "--layout=stage and --ways=2 or 3"},
        {"-w 1 --layout=stage", "--ways=2 or 3"},
        {"-w 2 -s 1", "--layout=stage"},
        {"-w 2 -k scan", "--layout=stage"},
        {"-w 4 --cpu-share=0.5", "--layout=stage"},
        {"--memory=mapped --layout=stage", "--memory=pinned"},
        {"--memory=mapped", "--memory=pinned and --layout=stage"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[256], words[128];
        snprintf(line, sizeof line, "-d sim -n 64k -t 8 --mistake=missing-wait %s",
                 cases[i].line);
        ck_assert_msg(program_run(line) == 2, "%s: %s", line, program_err);
        assert_has(program_err, "pipeline: --mistake=missing-wait: ");
        snprintf(words, sizeof words, ": use %s\n", cases[i].advice);
        assert_has(program_err, words);
        ck_assert_str_eq(program_out, "");
    }
    ck_assert_int_eq(
        program_run("-d sim -n 64k -t 8 --mistake=missing-wait --dry-run --memory=mapped "
                    "-w 1 --memory=pinned --layout=stage --ways=2"),
        0);
}
END_TEST

START_TEST(test_list)
{
    ck_assert_int_eq(program_run("list mistakes"), 0);
    for (const struct mistake_row *row = mistake_rows; row->name != NULL; row++) {
        assert_says(program_out, row->name);
        assert_says(program_out, row->summary);
        assert_says(program_out, row->effect);
        if (row != &mistake_rows[MISTAKE_NONE]) /* it shows nowhere */
            assert_says(program_out, row->shows);
        if (row->needs != NULL)
            assert_says(program_out, row->needs);
    }
}
END_TEST

Suite *mistake_suite(void)
{
    Suite *suite = suite_create("mistake");
    TCase *plans = tcase_create("table and plans");
    tcase_add_test(plans, test_table_is_whole);
    tcase_add_test(plans, test_names_that_are_none);
    tcase_add_test(plans, test_missing_wait_drops_those_waits_alone);
    suite_add_tcase(suite, plans);
    TCase *program = tcase_create("program");
    tcase_set_timeout(program, 120);
    tcase_add_checked_fixture(program, test_folder_enter, test_folder_leave);
    tcase_add_test(program, test_lost_race);
    tcase_add_test(program, test_won_race);
    tcase_add_test(program, test_due_poison);
    tcase_add_test(program, test_poison_in_the_input);
    tcase_add_test(program, test_json_and_csv);
    tcase_add_test(program, test_files_of_a_wrong_run);
    tcase_add_test(program, test_one_of_several_runs);
    tcase_add_test(program, test_sweeps_without_data_and_dry);
    tcase_add_test(program, test_settings_without_such_a_wait);
    tcase_add_test(program, test_list);
    suite_add_tcase(suite, program);
    return suite;
}
