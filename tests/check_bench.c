/* check_bench.c - the output of `pipeline bench`, in each form; times are not checked. */
#include "core/version.h"
#include "fixtures.h"
#include "kernels/kernel_code.h"
#include "plot_cases.h"
#include "suites.h"
#include "test_folder.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *bench(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "%s bench --quick --runs=2 %s >out 2>err",
             PIPELINE_PROGRAM, arguments);
    int code = system(command);
    ck_assert_msg(code == 0, "%s: %d: %s", arguments, code, test_file_text("err"));
    return test_file_text("out");
}

START_TEST(test_as_text)
{
    char *text = bench("marks tune");
    ck_assert_ptr_nonnull(strstr(text, "pipeline " /* the version follows */));
    ck_assert_ptr_nonnull(strstr(text, ", quick;"));
    ck_assert_ptr_nonnull(strstr(text, "marks, while no tool listens"));
    ck_assert_ptr_nonnull(strstr(text, "regret"));
    ck_assert_ptr_nonnull(strstr(text, "missed\n"));
    ck_assert_ptr_null(strstr(text, "GPU:")); /* neither group uses a GPU */
    free(text);
}
END_TEST

START_TEST(test_json)
{
    char *text = bench("--format=json marks");
    json_t *root = json_loads(text, 0, NULL), *result;
    size_t i;
    ck_assert_ptr_nonnull(root);
    ck_assert_int_eq(json_integer_value(json_object_get(root, "schema")), 1);
    ck_assert(json_is_string(json_object_get(root, "cpu")));
    ck_assert(json_is_true(json_object_get(root, "quick")));
    const json_t *results = json_object_get(root, "results");
    ck_assert_uint_ge(json_array_size(results), 3);
    json_array_foreach(results, i, result)
    {
        ck_assert_str_eq(json_string_value(json_object_get(result, "group")), "marks");
        ck_assert_uint_eq(json_array_size(json_object_get(result, "repeats")), 2);
    }
    json_decref(root);
    free(text);
}
END_TEST

START_TEST(test_csv)
{
    char *text = bench("--format=csv marks");
    ck_assert_msg(strncmp(text, "# pipeline ", strlen("# pipeline ")) == 0, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, ", quick\n#   source: measured\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "\ngroup,name,unit,median,least,most,repeats,at_least,at_most\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nmarks,"));
    ck_assert_ptr_nonnull(strstr(text, ",1.02\n"));
    free(text);
}
END_TEST

/* The simulated group holds all ways against each other, tiles in one piece and apart. */
START_TEST(test_small_tiles)
{
    json_t *result;
    size_t i;
    int times = 0, goals = 0;
    char *text = bench("--format=json small-tiles-sim");
    json_t *root = json_loads(text, 0, NULL);
    json_array_foreach(json_object_get(root, "results"), i, result)
    {
        const char *name = json_string_value(json_object_get(result, "name"));
        times += strncmp(name, "64 MiB each way, ", 17) == 0;
        goals += strstr(name, ": auto over the best") != NULL;
        if (strstr(name, ": auto over the best") != NULL)
            ck_assert_msg(json_is_true(json_object_get(result, "met")), "%s", name);
        ck_assert_double_gt(json_number_value(json_object_get(result, "median")), 0);
    }
    ck_assert_int_eq(times, 2 * 5 * 11); /* layouts, sizes, ways with auto and bare copies */
    ck_assert_int_eq(goals, 2 * 5);
    json_decref(root);
    free(text);
    text = bench("small-tiles-sim");
    ck_assert_ptr_nonnull(
        strstr(text, "\n64 MiB each way, scattered, 4 streams, ms (medians)\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n  64 KiB "));
    ck_assert_ptr_nonnull(strstr(text, "\n0 goals missed\n"));
    free(text);
}
END_TEST

/* Each of the users' kernels has what was chosen for it held against the best of a grid. */
START_TEST(test_own)
{
    static const char *const names[] = {"own-light", "own-heavy", "own-sum"};
    char *text = bench("--format=json own-sim");
    json_t *root = json_loads(text, 0, NULL);
    const json_t *results = json_object_get(root, "results");
    ck_assert_uint_eq(json_array_size(results), 3 * 5);
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        const char *name = json_string_value(json_object_get(result, "name"));
        const bool goal = strstr(name, ": auto over the best of the grid") != NULL;
        ck_assert_int_eq(strncmp(name, names[i / 5], strlen(names[i / 5])), 0);
        ck_assert_double_gt(json_number_value(json_object_get(result, "median")), 0);
        ck_assert(json_is_true(json_object_get(result, "met")) == goal);
    }
    json_decref(root);
    free(text);
    text = bench("own-sim");
    ck_assert_ptr_nonnull(strstr(text, "auto chooses by the device's file\n"));
    ck_assert_ptr_nonnull(strstr(text, "  own-sum: best, -t "));
    free(text);
}
END_TEST

START_TEST(test_small_tiles_are_drawn)
{
    if (!plot_have_gnuplot())
        return;
    free(bench("--format=csv small-tiles-sim"));
    ck_assert_int_eq(plot_by_hand("tiles.gp out tiles.svg"), 0);
    plot_assert_texts("tiles.svg",
                      "time against the size of tiles|64 MiB each way|"
                      "tiles contiguous|tiles scattered|bytes of a tile|ms|"
                      "64 KiB|4 MiB|bare copies|streams|mapped batch|pack|auto|"
                      "simulated, sim:h200, without data; pipeline " PIPELINE_VERSION);
    free(bench("--format=csv marks"));
    ck_assert_int_ne(plot_by_hand("tiles.gp out none.svg"), 0);
    char *text = test_file_text("err");
    ck_assert_ptr_nonnull(strstr(text, "the file has no rows of the group small-tiles"));
    free(text);
    /* Of a device that has no batches, in one layout, with spreads. */
    plot_write_file(
        "some.csv",
        "# pipeline 9\n#   source: measured\n#   device: GPU \"X\"\n"
        "group,name,unit,median,least,most,repeats,at_least,at_most\n"
        "small-tiles,\"1 GiB each way, contiguous, tiles of 4 KiB: bare copies\",ms,"
        "21,20,22,5,,\n"
        "small-tiles,\"1 GiB each way, contiguous, tiles of 4 KiB: pack\",ms,"
        "41,40,52,5,,\n"
        "small-tiles,\"1 GiB each way, contiguous, tiles of 1 MiB: pack\",ms,"
        "41,40,52,5,,\n",
        0644);
    ck_assert_int_eq(plot_by_hand("tiles.gp some.csv some.svg paper"), 0);
    plot_assert_texts("some.svg",
                      "1 GiB each way|tiles contiguous|pack|bare copies|4 KiB|1 MiB|"
                      "measured, GPU \"X\"; pipeline 9");
    plot_write_file("bad.csv",
                    "group,name,unit,median,least,most,repeats,at_least,at_most\n"
                    "small-tiles,\"1 GiB each way, contiguous: %s%n\",ms,1,1,1,5,,\n",
                    0644);
    ck_assert_int_ne(plot_by_hand("tiles.gp bad.csv bad.svg"), 0);
}
END_TEST

/* Without a GPU the CPU's rows are there; with one the kernels' are, too. */
START_TEST(test_tables_of_kernels)
{
    static const char *const groups[][2] = {
        {"reductions", "sums of ints, 16 MiB"},
        {"scans", "scans of 16 MiB of ints"},
        {"transforms", "wave over 256k elements, 4 repeats"},
        {"transposes", "transposes, 2048 x 2048 floats"},
        {"strides", "stride-copy, 4 MiB each way"},
    };
    char *text = bench(groups[_i][0]);
    ck_assert_ptr_nonnull(strstr(text, "GPU: "));
    ck_assert_msg(strstr(text, groups[_i][1]) != NULL, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "the CPU, "));
    free(text);
}
END_TEST

/* The curve is the GPU's, or else the CPU's. */
START_TEST(test_strides_are_drawn)
{
    if (!plot_have_gnuplot())
        return;
    free(bench("--format=csv strides"));
    ck_assert_int_eq(plot_by_hand("strides.gp out strides.svg"), 0);
    plot_assert_texts("strides.svg", "bandwidth against stride|stride-copy, 4 MiB each way|1|"
                                     "8|256|stride in elements of 4 bytes|stride-copy, median");
    free(bench("--format=csv marks"));
    ck_assert_int_ne(plot_by_hand("strides.gp out none.svg"), 0);
    char *text = test_file_text("err");
    ck_assert_ptr_nonnull(strstr(text, "the file has no rows of the group strides"));
    free(text);
}
END_TEST

START_TEST(test_without_a_gpu)
{
    if (system(PIPELINE_PROGRAM " list devices | grep -q ^cuda") == 0)
        return;
    char *text = bench("pinned marks");
    ck_assert_ptr_nonnull(strstr(text, "GPU: none: its measurements are left out"));
    free(text);
    int code = system(PIPELINE_PROGRAM " bench --quick pinned >out 2>err");
    ck_assert_int_eq(WEXITSTATUS(code), 77);
    text = test_file_text("err");
    ck_assert_str_eq(text, "pipeline: bench pinned: there is no CUDA device\n");
    free(text);
    code = system(PIPELINE_PROGRAM " bench --quick small-tiles >out 2>err");
    ck_assert_int_eq(WEXITSTATUS(code), 77);
    code = system(PIPELINE_PROGRAM " bench --quick scattered-tiles >out 2>err");
    ck_assert_int_eq(WEXITSTATUS(code), 77);
    code = system(PIPELINE_PROGRAM " bench --quick own >out 2>err");
    ck_assert_int_eq(WEXITSTATUS(code), 77);
}
END_TEST

/* The program runs itself, wherever it lies. */
START_TEST(test_no_folder_is_a_command)
{
    ck_assert_int_eq(mkdir("a'; touch X; echo '", 0755), 0);
    ck_assert_int_eq(system("cp " PIPELINE_PROGRAM " a*/"), 0);
    ck_assert_int_eq(system("./a*/pipeline bench --quick --runs=2 verdicts >out 2>err"), 0);
    char *text = test_file_text("out");
    ck_assert_ptr_nonnull(strstr(text, "first verdict names it"));
    free(text);
    ck_assert_int_ne(access("X", F_OK), 0);
}
END_TEST

/* Runs the script of the experiments on programs of the test's own, all of which are `text`. */
static int experiments(const char *text, const char *names)
{
    static const char *const programs[] = {
        "callback", "pageable", "graph", "l2",    "launch", "copies",  "devices",
        "memory",   "tiles",    "cpu",   "small", "share",  "handoff", "packing"};
    char path[128], command[1024];
    mkdir("experiments", 0755);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        snprintf(path, sizeof path, "experiments/%s", programs[i]);
        FILE *file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fprintf(file, "#!/bin/sh\n%s\n", text);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_int_eq(chmod(path, 0755), 0);
    }
    snprintf(command, sizeof command,
             "BUILD=. sh '%s/../bench/experiments/run.sh' table %s >out 2>err", TESTS_FOLDER,
             names);
    return WEXITSTATUS(system(command));
}

/* The rows of every run come together, under its name; a run that fails keeps what it printed.
 */
START_TEST(test_experiments_make_one_table)
{
    const char *program = "echo \"# head, of words\"\n"
                          "echo experiment,variant,parameter,median_us,least_us,most_us\n"
                          "echo \"${0##*/},a-$CUDA_DEVICE_MAX_CONNECTIONS,7,2.5,1.5,3.5\"\n"
                          "[ ${0##*/} != cpu ]";
    ck_assert_int_eq(experiments(program, "l2 launch launch-32"), 0);
    char *text = test_file_text("table/all.csv");
    ck_assert_str_eq(text, "experiment,variant,parameter,median_us,least_us,most_us\n"
                           "l2,a-,7,2.5,1.5,3.5\nlaunch,a-,7,2.5,1.5,3.5\n"
                           "launch-32,a-32,7,2.5,1.5,3.5\n");
    free(text);
    ck_assert_int_eq(experiments(program, "cpu copies"), 1);
    text = test_file_text("table/all.csv");
    ck_assert_ptr_nonnull(strstr(text, "\ncopies,"));
    ck_assert_ptr_nonnull(strstr(text, "\ncpu,"));
    ck_assert_ptr_nonnull(strstr(text, "\nl2,")); /* of the run before */
    free(text);
    ck_assert_int_eq(experiments(program, "no-such"), 2);
}
END_TEST

/* Without a device the first program says so, and nothing is left behind. */
START_TEST(test_experiments_need_a_gpu)
{
    ck_assert_int_eq(experiments("echo no device >&2; exit 77", ""), 77);
    char *text = test_file_text("err");
    ck_assert_str_eq(text, "no device\n");
    free(text);
    ck_assert_int_eq(rmdir("table"), 0);
    ck_assert_int_eq(system("rm experiments/small"), 0);
    ck_assert_int_eq(
        system("BUILD=. sh '" TESTS_FOLDER "/../bench/experiments/run.sh' table 2>err"),
        2 << 8);
    text = test_file_text("err");
    ck_assert_ptr_nonnull(strstr(text, "make experiments"));
    free(text);
}
END_TEST

Suite *bench_suite(void)
{
    Suite *suite = suite_create("bench");
    TCase *tcase = tcase_create("bench");
    tcase_add_checked_fixture(tcase, test_folder_enter, test_folder_leave);
    tcase_add_test(tcase, test_as_text);
    tcase_add_test(tcase, test_json);
    tcase_add_test(tcase, test_csv);
    tcase_add_loop_test(tcase, test_tables_of_kernels, 0, 5);
    tcase_add_test(tcase, test_strides_are_drawn);
    tcase_add_test(tcase, test_small_tiles);
    tcase_add_test(tcase, test_own);
    tcase_add_test(tcase, test_small_tiles_are_drawn);
    tcase_add_test(tcase, test_without_a_gpu);
    tcase_add_test(tcase, test_no_folder_is_a_command);
    tcase_add_test(tcase, test_experiments_make_one_table);
    tcase_add_test(tcase, test_experiments_need_a_gpu);
    suite_add_tcase(suite, tcase);
    return suite;
}
