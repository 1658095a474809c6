/* check_lab.c - what the lab page asks of the simulator, without the page: answers are the
 * command's. */
#include "suites.h"

#include "core/embedded.h"
#include "lab/lab.h"
#include "lib/pipeline.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Loads an answer, which is freed. */
static json_t *load(char *answer)
{
    json_error_t why;
    ck_assert_ptr_nonnull(answer);
    json_t *value = json_loads(answer, 0, &why);
    ck_assert_msg(value != NULL, "%s at %d in %.200s", why.text, why.position, answer);
    free(answer);
    return value;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    ck_assert_msg(text != NULL, "no text \"%s\"", key);
    return text;
}

START_TEST(every_lesson_is_simulated)
{
    for (const struct embedded *lesson = lesson_texts; lesson->name != NULL; lesson++) {
        json_t *data = load(lab_run(lesson->text));
        const json_t *runs = json_object_get(data, "runs");
        ck_assert_msg(json_array_size(runs) > 0, "%s has no runs", lesson->name);
        for (size_t i = 0; i < json_array_size(runs); i++) {
            const json_t *run = json_array_get(runs, i);
            ck_assert_int_gt(json_integer_value(json_object_get(run, "time_ns")), 0);
            ck_assert_uint_gt(json_array_size(json_object_get(run, "verdicts")), 0);
            ck_assert_str_eq(text_of(run, "source"), "simulated");
        }
        json_decref(data);
    }
}
END_TEST

START_TEST(every_exercise_is_simulated)
{
    json_t *catalogue = load(lab_catalogue());
    const json_t *exercises = json_object_get(catalogue, "exercises");
    ck_assert_uint_eq(json_array_size(exercises), 13);
    for (size_t i = 0; i < json_array_size(exercises); i++) {
        const json_t *exercise = json_array_get(exercises, i);
        const char *name = text_of(exercise, "name");
        json_t *data = load(lab_run(text_of(exercise, "ini")));
        const json_t *runs = json_object_get(data, "runs");
        const size_t count = json_array_size(runs);
        ck_assert_msg(count > 1, "%s has %zu runs", name, count);
        const json_t *first = json_array_get(runs, 0), *last = json_array_get(runs, count - 1);
        ck_assert_msg(json_integer_value(json_object_get(last, "time_ns")) <=
                          json_integer_value(json_object_get(first, "time_ns")),
                      "%s: nothing is gained", name);
        ck_assert_ptr_nonnull(strstr(text_of(exercise, "start"), "your part begins"));
        ck_assert_ptr_nonnull(strstr(text_of(exercise, "answer"), "your part begins"));
        const json_t *task = json_object_get(exercise, "task");
        ck_assert_uint_ge(json_array_size(task), 2);
        ck_assert_ptr_null(strstr(json_string_value(json_array_get(task, 0)), "//"));
        json_decref(data);
    }
    json_decref(catalogue);
}
END_TEST

/* The library takes the same way through other code. */
START_TEST(times_are_the_librarys)
{
    static const char *const settings[][2] = {
        {"streams", "1"}, {"order", "breadth"}, {"memory", "pageable"}, {"tiles", "200"}};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        char config[128];
        struct pipeline *run = pipeline_new();
        struct pipeline_error why;
        ck_assert(pipeline_set(run, settings[i][0], settings[i][1], &why));
        ck_assert_msg(pipeline_simulate(run, &why), "%s", why.text);
        snprintf(config, sizeof config, "[run]\ndevice = sim:h200\n%s = %s\n", settings[i][0],
                 settings[i][1]);
        json_t *data = load(lab_run(config));
        const json_t *got = json_array_get(json_object_get(data, "runs"), 0);
        ck_assert_int_eq(json_integer_value(json_object_get(got, "time_ns")),
                         pipeline_time_ns(run));
        ck_assert_int_eq(json_integer_value(json_object_get(got, "limit_ns")),
                         pipeline_limit_ns(run));
        json_decref(data);
        pipeline_free(run);
    }
}
END_TEST

/* Returns the member `key` of the only program of a config. The answer is freed. */
static char *code_of(const char *config, const char *key)
{
    json_t *answer = load(lab_code(config)), *programs = json_object_get(answer, "programs");
    ck_assert_uint_eq(json_array_size(programs), 1);
    char *text = strdup(text_of(json_array_get(programs, 0), key));
    json_decref(answer);
    return text;
}

START_TEST(every_lesson_is_a_program)
{
    for (const struct embedded *lesson = lesson_texts; lesson->name != NULL; lesson++) {
        json_t *answer = load(lab_code(lesson->text)), *program;
        size_t i;
        json_array_foreach(json_object_get(answer, "programs"), i, program)
        {
            const json_t *code = json_object_get(program, "code");
            ck_assert_str_ne(text_of(program, "name"), "");
            ck_assert_msg((code != NULL) != (json_object_get(program, "refusal") != NULL), "%s",
                          lesson->name);
            ck_assert(code == NULL || strstr(json_string_value(code), "int main() {") != NULL);
        }
        ck_assert_uint_gt(i, 0);
        json_decref(answer);
    }
}
END_TEST

START_TEST(programs_are_written_or_refused)
{
    char *code = code_of("[run]\ndevice = sim:h200\nstreams = 7\n", "code");
    ck_assert_ptr_nonnull(strstr(code, "STREAMS = 7"));
    free(code);
    char *refusal = code_of("[run]\ndevice = sim:h200\nkernel = scan\ncarry = callback\n"
                            "issue = batch\nbatch = 4\n",
                            "refusal");
    ck_assert_ptr_nonnull(strstr(refusal, "can't be written as a program"));
    free(refusal);
    json_t *answer = load(lab_code("[run]\ntiles = 0\n"));
    ck_assert_ptr_nonnull(strstr(text_of(answer, "error"), "tiles=0 is too small"));
    json_decref(answer);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    static const char *const bad[][2] = {
        {"[run]\ntiles = 0\n", "tiles=0 is too small"},
        {"[run]\ntile = 4\n", "did you mean"},
        {"[run]\ndevice = sim:h300\n", "there is no machine 'h300'"},
        {"[run]\nmemory = pinnned\n", "memory=pinnned is unknown: must be pinned, "},
        {"tiles = 4\n", "lab:1: "},
        {"[a]\n[b]\ndevice = sim:c2050\nconnections = 9\n", "run b: --connections=9"},
        {"", "lab holds no section: allowed are [global] and one [NAME] for each run"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json_t *answer = load(lab_run(bad[i][0]));
        ck_assert_msg(strstr(text_of(answer, "error"), bad[i][1]) != NULL, "%s: %s", bad[i][0],
                      text_of(answer, "error"));
        ck_assert(json_is_true(json_object_get(answer, "refused")));
        json_decref(answer);
    }
}
END_TEST

START_TEST(a_recording_is_judged)
{
    json_t *data = load(lab_view(TESTS_FOLDER "/recordings/good.jsonl"));
    const json_t *run = json_array_get(json_object_get(data, "runs"), 0);
    ck_assert(json_is_true(json_object_get(run, "foreign")));
    ck_assert_uint_gt(json_array_size(json_object_get(run, "spans")), 0);
    json_decref(data);
    json_t *answer = load(lab_view(TESTS_FOLDER "/check_lab.c"));
    ck_assert(text_of(answer, "error")[0] != '\0');
    json_decref(answer);
}
END_TEST

START_TEST(all_that_can_be_chosen_is_listed)
{
    json_t *catalogue = load(lab_catalogue());
    static const char *const lists[] = {"options",  "machines", "kernels",
                                        "mistakes", "verdicts", "lessons"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        ck_assert_msg(json_array_size(json_object_get(catalogue, lists[i])) > 4, "%s",
                      lists[i]);
    size_t index;
    json_t *lesson, *option;
    json_array_foreach(json_object_get(catalogue, "lessons"), index, lesson)
    {
        ck_assert_str_ne(text_of(lesson, "message"), "");
        ck_assert_uint_gt(json_array_size(json_object_get(lesson, "guesses")), 0);
        ck_assert_uint_gt(json_array_size(json_object_get(lesson, "runs")), 0);
        ck_assert_uint_gt(json_array_size(json_object_get(lesson, "explanation")), 0);
    }
    json_array_foreach(json_object_get(catalogue, "options"), index, option)
        ck_assert_str_ne(text_of(option, "help"), "");
    json_decref(catalogue);
}
END_TEST

Suite *lab_suite(void)
{
    Suite *suite = suite_create("lab");
    TCase *tests = tcase_create("answers");
    tcase_add_test(tests, every_lesson_is_simulated);
    tcase_add_test(tests, every_exercise_is_simulated);
    tcase_add_test(tests, times_are_the_librarys);
    tcase_add_test(tests, every_lesson_is_a_program);
    tcase_add_test(tests, programs_are_written_or_refused);
    tcase_add_test(tests, what_cannot_be_is_refused);
    tcase_add_test(tests, a_recording_is_judged);
    tcase_add_test(tests, all_that_can_be_chosen_is_listed);
    suite_add_tcase(suite, tests);
    return suite;
}
