/* check_dry_run.c - `--dry-run`: plans as JSON, and notes on hazards that are whole. */
#include "plan/mistake.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <check.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns what the latest run printed, to be freed. */
static json_t *printed(void)
{
    json_error_t why;
    char *text = test_file_text("out");
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(root != NULL, "%d: %s: %.200s", why.line, why.text, text);
    free(text);
    return root;
}

static int64_t whole(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    ck_assert_msg(json_is_integer(value), "no %s", key);
    return json_integer_value(value);
}

static json_t *list(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    ck_assert_msg(json_is_array(value), "no %s", key);
    return value;
}

/* Every op has its number, its kind, and what it touches. */
static void check_plan(const json_t *plan)
{
    json_t *op;
    size_t i;
    json_array_foreach(list(plan, "ops"), i, op)
    {
        const json_t *stream = json_object_get(op, "stream");
        ck_assert_int_eq(whole(op, "id"), (int64_t)i);
        ck_assert(json_is_string(json_object_get(op, "kind")));
        ck_assert(json_is_null(stream) ||
                  (size_t)json_integer_value(stream) < json_array_size(list(plan, "streams")));
        bool copies = strcmp(json_string_value(json_object_get(op, "kind")), "h2d") == 0;
        ck_assert_int_eq(copies, copies && json_array_size(list(op, "reads")) == 1 &&
                                     json_array_size(list(op, "writes")) == 1);
    }
    ck_assert_uint_gt(i, 0);
    ck_assert(json_is_object(json_object_get(plan, "settings")));
}

START_TEST(plans_are_json)
{
    test_file_put("two.ini",
                  "[global]\ndevice=sim:h200\nelements=1M\ntiles=4\n[one]\n[two]\nways=1\n");
    ck_assert_msg(program_run("--dry-run --format=json two.ini") == 0, "%s", program_err);
    json_t *root = printed(), *plans = list(root, "plans"), *plan;
    size_t i;
    ck_assert_int_eq(whole(root, "schema"), 1);
    ck_assert_uint_eq(json_array_size(plans), 2);
    json_array_foreach(plans, i, plan)
    {
        check_plan(plan);
        ck_assert_uint_eq(json_array_size(list(plan, "ops")), 12);
        ck_assert_int_eq(whole(plan, "tiles"), 4);
        ck_assert_str_eq(json_string_value(json_object_get(plan, "name")),
                         i == 0 ? "one" : "two");
    }
    json_decref(root);
    ck_assert_int_eq(program_run("compare --dry-run --format=json -d sim:h200 -n 1M -t 2"), 0);
    json_decref(printed());
    ck_assert_int_eq(program_run("lesson 1 --dry-run --format=json -d sim:h200"), 0);
    json_decref(printed());
}
END_TEST

/* Each mistake on each layout: the JSON is whole, and so is the note of the text. */
START_TEST(mistakes_are_told_whole)
{
    static const char *const more[] = {"", " --layout=stage -k scale,wave", " -w 4",
                                       " -k scan"};
    char line[256];
    int hazards = 0;
    for (size_t k = 0; k < sizeof more / sizeof more[0]; k++) {
        snprintf(line, sizeof line, "-d sim:h200 -n 1M -t 8 --dry-run --mistake=%s%s",
                 mistake_rows[_i].name, more[k]);
        int code = program_run(line);
        ck_assert_int_eq(program_err[0] != '\0', strlen(program_err) > 10);
        if (code != 0)
            continue;
        char *note = strstr(program_err, "hazard");
        strcat(line, " --format=json");
        ck_assert_int_eq(program_run(line), 0);
        json_t *root = printed(), *plan = json_array_get(list(root, "plans"), 0);
        check_plan(plan);
        size_t count = json_array_size(list(plan, "hazards"));
        hazards += count > 0;
        ck_assert_msg((note != NULL) == (count > 0), "%s: %zu hazards", line, count);
        ck_assert_ptr_null(strstr(program_err, "hazard")); /* the document has them */
        json_decref(root);
    }
    ck_assert_int_eq(hazards > 0, mistake_rows[_i].races);
}
END_TEST

START_TEST(notes_are_sentences)
{
    ck_assert_int_eq(
        program_run("-d sim:h200 -n 1M -t 8 --dry-run --mistake=missing-wait --layout=stage"),
        0);
    assert_has(program_err,
               "the plan has 8 hazards: h2d 0 and scale 0 both touch device.in0 [0, "
               "524288), and nothing orders them (--format=json lists all)\n");
}
END_TEST

START_TEST(csv_is_refused)
{
    ck_assert_int_eq(program_run("-d sim:h200 -n 1M -t 8 --dry-run --format=csv"), 2);
    ck_assert_str_eq(program_out, "");
    assert_has(program_err, "--dry-run --format=csv: ");
}
END_TEST

/* Where a later plan is refused, what was printed before is still a document. */
START_TEST(a_refused_plan_leaves_json)
{
    FILE *file = fopen("bad.ini", "w");
    fputs("[global]\nelements=64k\ntiles=4\ndevice=sim:h200\n[one]\n[two]\n"
          "device=sim:./none.ini\n",
          file);
    fclose(file);
    ck_assert_int_ne(program_run("--dry-run --format=json bad.ini"), 0);
    if (program_out[0] != '\0')
        json_decref(printed());
    assert_has(program_err, "none.ini");
}
END_TEST

Suite *dry_run_suite(void)
{
    int mistakes = 1;
    while (mistake_rows[mistakes].name != NULL)
        mistakes++;
    Suite *suite = suite_create("dry_run");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_add_test(all, plans_are_json);
    tcase_add_loop_test(all, mistakes_are_told_whole, 1, mistakes);
    tcase_add_test(all, notes_are_sentences);
    tcase_add_test(all, csv_is_refused);
    tcase_add_test(all, a_refused_plan_leaves_json);
    suite_add_tcase(suite, all);
    return suite;
}
