/* check_tune.c - what --tiles=auto and --streams=auto choose, in the room and in the program.
 */
#include "fixtures.h"
#include "report/tune.h"
#include "sim/simulator.h"
#include "suites.h"
#include "test_folder.h"
#include "tune_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct machine tune_h200(void)
{
    return test_machine_named("h200");
}

/* Settings for `kernels` that leave everything to be chosen. */
static struct settings auto_settings(const char *kernels, uint64_t elements)
{
    struct settings settings = test_settings(kernels);
    settings.elements = elements;
    settings.tiles = settings.streams = 0;
    return settings;
}

static struct tuned tune(struct settings *settings, const struct machine *machine)
{
    struct tuned tuned;
    struct error error = {0};
    ck_assert_msg(tune_settings(settings, machine, NULL, &tuned, &error) == STATUS_OK, "%s",
                  error.text);
    ck_assert_uint_eq(tuned.tiles, settings->tiles);
    ck_assert_uint_eq(tuned.streams, settings->streams);
    ck_assert_uint_ge(tuned.candidates, 1);
    ck_assert_int_ge(tuned.took_ns, 0);
    return tuned;
}

int64_t tune_simulated_ns(const struct settings *settings, const struct machine *machine)
{
    struct error error = {0};
    int64_t time_ns = 0;
    struct plan plan = test_built_on(settings, machine);
    ck_assert_int_eq(simulator_time(machine, 0, &plan, &time_ns, &error), STATUS_OK);
    plan_free(&plan);
    return time_ns;
}

/* --- the room --- */

START_TEST(test_only_auto_is_chosen)
{
    struct machine machine = tune_h200();
    struct settings settings = auto_settings("scale", 1 << 24);
    tune(&settings, &machine);
    struct settings other = settings;
    ck_assert_uint_gt(settings.tiles, 1);
    ck_assert_uint_gt(settings.streams, 1); /* copies both ways at once, at the least */
    settings.tiles = 5;
    settings.streams = 0;
    struct tuned tuned = tune(&settings, &machine);
    ck_assert_uint_eq(settings.tiles, 5);
    ck_assert_uint_le(settings.streams, 5);
    ck_assert_int_eq(tuned.time_ns, tune_simulated_ns(&settings, &machine));
    settings.tiles = 0;
    settings.streams = 7;
    tuned = tune(&settings, &machine);
    ck_assert_uint_eq(settings.streams, 7);
    ck_assert_int_eq(tuned.time_ns, tune_simulated_ns(&settings, &machine));
    settings.tiles = other.tiles;
    settings.streams = other.streams;
    ck_assert_mem_eq(&settings, &other, sizeof settings);
}
END_TEST

START_TEST(test_nothing_to_choose_of)
{
    struct machine machine = tune_h200();
    struct settings settings = auto_settings("scale", 1);
    tune(&settings, &machine);
    ck_assert_uint_eq(settings.tiles, 1);
    ck_assert_uint_eq(settings.streams, 1);
    settings = auto_settings("scale", 1 << 20); /* one tile can be in one stream only */
    settings.tiles = 1;
    ck_assert_uint_eq(tune(&settings, &machine).candidates, 1);
    ck_assert_uint_eq(settings.streams, 1);
}
END_TEST

/* Serial, nothing overlaps: dividing the work only costs. */
START_TEST(test_serial_takes_one_tile)
{
    struct machine machine = tune_h200();
    struct settings settings = auto_settings("scale", 1 << 22);
    settings.ways = 1;
    settings.streams = 1;
    tune(&settings, &machine);
    ck_assert_uint_eq(settings.tiles, 1);
}
END_TEST

START_TEST(test_the_same_is_chosen_again)
{
    struct machine machine = tune_h200();
    struct settings first = auto_settings("scale,scale", 1 << 24), second = first;
    struct tuned one = tune(&first, &machine), two = tune(&second, &machine);
    ck_assert_uint_eq(one.tiles, two.tiles);
    ck_assert_uint_eq(one.streams, two.streams);
    ck_assert_int_eq(one.time_ns, two.time_ns);
    ck_assert_uint_eq(one.candidates, two.candidates);
}
END_TEST

/* Every number of tiles up to 64, in up to 12 streams: none is better by more than a per cent.
 */
static int64_t best_ns(struct settings settings, const struct machine *machine)
{
    int64_t best = INT64_MAX;
    for (settings.tiles = settings.devices; settings.tiles <= 64; settings.tiles++) {
        for (settings.streams = 1; settings.streams <= 12 && settings.streams <= settings.tiles;
             settings.streams++) {
            int64_t span_ns = tune_simulated_ns(&settings, machine);
            best = span_ns < best ? span_ns : best;
        }
    }
    return best;
}

static const struct {
    const char *machine, *kernels;
    uint64_t elements;
    uint32_t intensity;
    int ways;
    enum order order;
    enum layout layout;
    uint32_t devices;
    enum spread spread;
} workloads[] = {
    {"h200", "scale", 1 << 24, 1, 3, ORDER_DEPTH, LAYOUT_TILE, 1, SPREAD_TILES},
    {"h200", "scale", 1 << 24, 2000, 3, ORDER_DEPTH, LAYOUT_TILE, 1, SPREAD_TILES},
    {"h200", "scale,scale,scale", 1 << 24, 300, 3, ORDER_BREADTH, LAYOUT_TILE, 1, SPREAD_TILES},
    {"h200", "wave,sum", 1 << 22, 1, 3, ORDER_DEPTH, LAYOUT_STAGE, 1, SPREAD_TILES},
    {"h200", "scale", 1 << 18, 1, 3, ORDER_DEPTH, LAYOUT_TILE, 1, SPREAD_TILES},
    {"h200", "scale", 1 << 24, 50, 4, ORDER_DEPTH, LAYOUT_TILE, 1, SPREAD_TILES},
    {"h200", "scale", 1 << 24, 1, 2, ORDER_BREADTH, LAYOUT_TILE, 1, SPREAD_TILES},
    {"c1060", "scale", 1 << 22, 50, 3, ORDER_BREADTH, LAYOUT_TILE, 1, SPREAD_TILES},
    {"c2050", "scale", 1 << 22, 50, 3, ORDER_DEPTH, LAYOUT_TILE, 1, SPREAD_TILES},
    {"rtx3050-laptop", "scale", 1 << 22, 100, 3, ORDER_DEPTH, LAYOUT_TILE, 1, SPREAD_TILES},
    {"h200", "scale", 1 << 24, 1, 3, ORDER_DEPTH, LAYOUT_TILE, 2, SPREAD_TILES},
    {"h200", "scale", 1 << 24, 2000, 3, ORDER_DEPTH, LAYOUT_STAGE, 4, SPREAD_TILES},
    {"k80", "scale", 1 << 22, 50, 3, ORDER_DEPTH, LAYOUT_TILE, 2, SPREAD_TILES},
    {"h200", "scale,scale", 1 << 24, 900, 3, ORDER_DEPTH, LAYOUT_TILE, 2, SPREAD_CHAIN},
};
enum { WORKLOADS = sizeof workloads / sizeof workloads[0] };

START_TEST(test_within_a_per_cent_of_the_best)
{
    struct settings settings = auto_settings(workloads[_i].kernels, workloads[_i].elements);
    struct machine machine = test_machine_named(workloads[_i].machine);
    settings.intensity = workloads[_i].intensity;
    settings.ways = workloads[_i].ways;
    settings.order = workloads[_i].order;
    settings.layout = workloads[_i].layout;
    settings.devices = workloads[_i].devices;
    settings.spread = workloads[_i].spread;
    int64_t best = best_ns(settings, &machine);
    struct tuned tuned = tune(&settings, &machine);
    ck_assert_int_eq(tuned.time_ns, tune_simulated_ns(&settings, &machine));
    ck_assert_msg((double)tuned.time_ns <= 1.01 * (double)best,
                  "%u tiles, %u streams: %ld ns, the best %ld ns", tuned.tiles, tuned.streams,
                  (long)tuned.time_ns, (long)best);
}
END_TEST

/* A machine too small for two slots of half the array, but not for many of little. */
START_TEST(test_device_memory_is_kept_to)
{
    struct machine machine = tune_h200();
    struct settings settings = auto_settings("scale", 1 << 24);
    machine.memory_bytes = UINT64_C(1) << 23; /* of 64 MiB each way */
    tune(&settings, &machine);
    struct plan plan = test_built_on(&settings, &machine);
    ck_assert_uint_le(plan_device_bytes(&plan), machine.memory_bytes);
    plan_free(&plan);
}
END_TEST

/* 2-way holds the whole array, however it is divided. */
START_TEST(test_what_never_fits_is_refused)
{
    struct machine machine = tune_h200();
    struct settings settings = auto_settings("scale", 1 << 24);
    struct tuned tuned = {.tiles = 77};
    struct error error = {0};
    settings.ways = 2;
    machine.memory_bytes = UINT64_C(1) << 23;
    ck_assert_int_eq(tune_settings(&settings, &machine, NULL, &tuned, &error), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "device memory"));
    ck_assert_ptr_nonnull(strstr(error.text, "h200"));
    ck_assert_uint_eq(settings.tiles, 0);
    ck_assert_uint_eq(settings.streams, 0);
    ck_assert_uint_eq(tuned.tiles, 77);
}
END_TEST

/* A hundred thousand tiles are not simulated to choose the streams. */
START_TEST(test_many_given_tiles)
{
    struct machine machine = tune_h200();
    struct settings settings = auto_settings("scale", UINT64_C(1) << 30);
    settings.tiles = 100000;
    tune(&settings, &machine);
    ck_assert_uint_eq(settings.tiles, 100000);
    ck_assert_uint_eq(settings.elements, UINT64_C(1) << 30);
    ck_assert_uint_ge(settings.streams, 2);
    ck_assert_uint_le(settings.streams, 32);
}
END_TEST

/* --- the program --- */

/* Runs `pipeline ARGUMENTS` with its output in "out" and its notes in "err". */
int tune_program(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "%s %s >out 2>err </dev/null", PIPELINE_PROGRAM,
             arguments);
    int status = system(command);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void read_text(const char *path, char text[4096])
{
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, 4095, file)] = '\0';
    fclose(file);
}

void tune_assert_said(const char *path, const char *wanted)
{
    char text[4096];
    read_text(path, text);
    ck_assert_msg(strstr(text, wanted) != NULL, "\"%s\" is not in: %s", wanted, text);
}

json_t *tune_report(const char *arguments)
{
    char line[512], text[4096];
    snprintf(line, sizeof line, "--device=sim:h200 --format=json %s", arguments);
    int code = tune_program(line);
    read_text("err", text);
    ck_assert_msg(code == 0, "%s: exit %d: %s", line, code, text);
    json_t *report = json_load_file("out", JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(report);
    return report;
}

json_t *tune_run_of(const json_t *report, size_t index)
{
    json_t *one = json_array_get(json_object_get(report, "runs"), index);
    ck_assert_ptr_nonnull(one);
    return one;
}

static json_int_t setting(const json_t *one, const char *name)
{
    json_t *value = json_object_get(json_object_get(one, "settings"), name);
    ck_assert_msg(json_is_integer(value), "%s is no number", name);
    return json_integer_value(value);
}

/* The report has the settings as used, and they are what the note says. */
START_TEST(test_report_has_what_was_chosen)
{
    char note[64];
    json_t *report = tune_report("-n 1M -t auto -s auto --intensity=60");
    json_t *one = tune_run_of(report, 0);
    ck_assert(json_is_true(json_object_get(one, "verified")));
    snprintf(note, sizeof note, "tiles=%d streams=%d, chosen of ", (int)setting(one, "tiles"),
             (int)setting(one, "streams"));
    tune_assert_said("err", note);
    tune_assert_said("err", " by simulating h200\n");
    json_decref(report);
    report = tune_report("-n 1M -t auto -s 3 -q --no-data");
    ck_assert_int_eq(setting(tune_run_of(report, 0), "streams"), 3);
    json_decref(report);
    char text[4096];
    read_text("err", text);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(test_configs_and_sweeps_choose_for_each_run)
{
    test_file_put("two.ini",
                  "[global]\nelements=1M\ntiles=auto\nstreams=auto\n[one]\nways=1\n[three]\n");
    json_t *report = tune_report("two.ini");
    ck_assert_int_eq(setting(tune_run_of(report, 0), "tiles"), 1);
    ck_assert_int_eq(setting(tune_run_of(report, 0), "streams"), 1);
    ck_assert_int_gt(setting(tune_run_of(report, 1), "tiles"), 1);
    json_decref(report);
    report = tune_report("--no-data -n 16M -t auto --sweep streams=1,4");
    ck_assert_int_eq(setting(tune_run_of(report, 0), "tiles"), 1);
    ck_assert_int_gt(setting(tune_run_of(report, 1), "tiles"), 4);
    json_decref(report);
}
END_TEST

START_TEST(test_dry_run_shows_the_plan_that_was_chosen)
{
    ck_assert_int_eq(tune_program("--device=sim:h200 --dry-run -n 64k -t auto -s auto -w 1"),
                     2);
    ck_assert_int_eq(tune_program("--device=sim:h200 --dry-run -n 64k -t auto -w 1"), 0);
    tune_assert_said("err", "tiles=1, chosen of ");
    tune_assert_said("out", "tiles    1 of 64k elements");
}
END_TEST

/* Where the simulator can't tell, the choice says so: an old device's queue tells the orders
 * apart. */
START_TEST(test_what_is_as_good_is_said)
{
    ck_assert_int_eq(tune_program("--device=sim:h200 --no-data --order=auto"), 0);
    tune_assert_said("err", "as good, as far as the simulator can tell: order=breadth\n");
    ck_assert_int_eq(tune_program("--device=sim:c2050 --no-data --order=auto"), 0);
    char text[4096];
    read_text("err", text);
    ck_assert_ptr_null(strstr(text, "as good"));
}
END_TEST

/* Another machine makes other choices: on one with a single copy engine and no overlap worth
 * it. */
START_TEST(test_other_machines_can_be_asked)
{
    ck_assert_int_eq(
        tune_program("--no-data --device=sim:h200 --machine=c1060 -t auto -s auto"), 0);
    tune_assert_said("err", "by simulating c1060\n");
    ck_assert_int_eq(tune_program("--no-data --device=sim:h200 --machine=c1061 -t auto"), 2);
    tune_assert_said("err", "there is no machine 'c1061'");
    ck_assert_int_eq(tune_program("--no-data --device=sim:h200 --machine=./no.ini -t auto"), 2);
    tune_assert_said("err", "./no.ini");
}
END_TEST

static void assert_prediction(const json_t *one, size_t index, const char *model)
{
    json_t *prediction = json_array_get(json_object_get(one, "predictions"), index);
    ck_assert_str_eq(json_string_value(json_object_get(prediction, "model")), model);
    double span = json_real_value(json_object_get(one, "time_ms"));
    double ms = json_real_value(json_object_get(prediction, "ms"));
    double error = json_real_value(json_object_get(prediction, "error"));
    ck_assert_double_gt(ms, 0);
    ck_assert_double_eq_tol(error, ms / span - 1, 1e-9);
}

/* A simulated run is predicted exactly. */
START_TEST(test_models_are_in_the_report)
{
    json_t *report = tune_report("-n 1M --no-data --model=sim");
    ck_assert_uint_eq(json_array_size(json_object_get(tune_run_of(report, 0), "predictions")),
                      1);
    assert_prediction(tune_run_of(report, 0), 0, "sim");
    json_t *first = json_array_get(json_object_get(tune_run_of(report, 0), "predictions"), 0);
    ck_assert_double_eq(json_real_value(json_object_get(first, "error")), 0);
    json_decref(report);
    report = tune_report("-n 1M --no-data --model=sim --machine=c2050");
    assert_prediction(tune_run_of(report, 0), 0, "sim");
    first = json_array_get(json_object_get(tune_run_of(report, 0), "predictions"), 0);
    ck_assert_double_gt(json_real_value(json_object_get(first, "error")), 1); /* PCIe 2 */
    json_decref(report);
    report = tune_report("-n 1M --no-data");
    ck_assert_uint_eq(json_array_size(json_object_get(tune_run_of(report, 0), "predictions")),
                      0);
    json_decref(report);
}
END_TEST

START_TEST(test_models_are_in_the_text)
{
    ck_assert_int_eq(
        tune_program("-q --device=sim:h200 -n 1M --no-data --gantt=none --model=sim"), 0);
    tune_assert_said("out", "     sim  off by  ");
    tune_assert_said("out", "+0.0%");
    ck_assert_int_eq(tune_program("-q --device=sim:h200 -n 1M --no-data --model=sim "
                                  "--sweep=streams=1,2"),
                     0);
    tune_assert_said("out", "     sim  off by  ");
}
END_TEST

Suite *tune_suite(void)
{
    Suite *suite = suite_create("tune");
    TCase *room = tcase_create("room"), *program = tcase_create("program");
    tcase_set_timeout(room, 120);
    tcase_add_test(room, test_only_auto_is_chosen);
    tcase_add_test(room, test_nothing_to_choose_of);
    tcase_add_test(room, test_serial_takes_one_tile);
    tcase_add_test(room, test_the_same_is_chosen_again);
    tcase_add_loop_test(room, test_within_a_per_cent_of_the_best, 0, test_cases(WORKLOADS));
    tcase_add_test(room, test_device_memory_is_kept_to);
    tcase_add_test(room, test_what_never_fits_is_refused);
    tcase_add_test(room, test_many_given_tiles);
    suite_add_tcase(suite, room);
    tcase_add_checked_fixture(program, test_folder_enter, test_folder_leave);
    tcase_add_test(program, test_report_has_what_was_chosen);
    tcase_add_test(program, test_configs_and_sweeps_choose_for_each_run);
    tcase_add_test(program, test_dry_run_shows_the_plan_that_was_chosen);
    tcase_add_test(program, test_other_machines_can_be_asked);
    tcase_add_test(program, test_what_is_as_good_is_said);
    tcase_add_test(program, test_models_are_in_the_report);
    tcase_add_test(program, test_models_are_in_the_text);
    suite_add_tcase(suite, program);
    suite_add_tcase(suite, tune_issue_room_case());
    suite_add_tcase(suite, tune_issue_program_case());
    suite_add_tcase(suite, tune_try_case());
    return suite;
}
