/* check_compare_cli.c - `pipeline compare` as its user runs it: one machine file against
 * another, which needs no GPU, and against itself. */
#include "fixtures.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* A chain that one queue holds back, both orders, and the serial way; times alone. */
static const char SECTIONS[] =
    "[global]\nno-data = yes\nelements = 4M\nkernel = scale,scale\nintensity = 500\ntiles = "
    "16\n"
    "[depth]\norder = depth\n[breadth]\norder = breadth\n[serial]\nways = 1\n";

static void write_sections(void)
{
    test_file_put("s.ini", SECTIONS);
}

/* Runs `pipeline compare ARGUMENTS`, which must end with `code`; what it wrote is in "out" and
 * "err". */
static void compare(const char *arguments, int code)
{
    char command[1024];
    snprintf(command, sizeof command, "%s compare %s >out 2>err </dev/null", PIPELINE_PROGRAM,
             arguments);
    int status = system(command);
    char *said = test_file_text("err");
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == code,
                  "pipeline compare %s: not exit %d: %s", arguments, code, said);
    free(said);
}

static json_t *compare_json(const char *arguments)
{
    char all[512];
    json_error_t why;
    snprintf(all, sizeof all, "--format=json %s", arguments);
    compare(all, 0);
    json_t *report = json_load_file("out", JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(report != NULL, "%s", why.text);
    return report;
}

/* The number at a path of keys, such as "start|largest_ms". */
static double number(const json_t *object, const char *path)
{
    char keys[128];
    snprintf(keys, sizeof keys, "%s", path);
    for (char *key = strtok(keys, "|"); key != NULL; key = strtok(NULL, "|"))
        object = json_object_get(object, key);
    ck_assert_msg(json_is_number(object), "no number %s", path);
    return json_number_value(object);
}

/* --- against itself --- */

static void assert_all_zero(const char *arguments)
{
    json_t *report = compare_json(arguments), *runs = json_object_get(report, "runs"), *run;
    size_t i;
    ck_assert_uint_gt(json_array_size(runs), 0);
    json_array_foreach(runs, i, run)
    {
        const json_t *compared = json_object_get(run, "compare");
        ck_assert_double_eq(number(compared, "error"), 0);
        ck_assert_double_eq(number(compared, "traced_error"), 0);
        ck_assert_double_eq(number(compared, "start|largest_ms"), 0);
        ck_assert_double_eq(number(compared, "end|largest_ms"), 0);
        ck_assert_double_eq(number(compared, "same_order"), 1);
        ck_assert_double_eq(number(compared, "simulated_ms"), number(run, "time_ms"));
        ck_assert_double_gt(number(compared, "spans"), 0);
    }
    ck_assert_double_eq(number(report, "summary|error|largest"), 0);
    json_decref(report);
}

/* Whatever the settings: with the queues that the device was opened with, its memory, its own
 * CPU share. */
START_TEST(test_same_machine_has_no_error)
{
    static const char *const settings[] = {
        "--device=sim:h200 s.ini",
        "--device=sim:h200 --machine=h200 s.ini",
        "--device=sim:h200 --machine=h200 --connections=1 s.ini",
        "--device=sim:h200 --connections=32 --layout=stage -n 1M",
        "--device=sim:c2050 --machine=c2050 --memory=pageable -n 1M",
        "--device=sim:v100 --ways=4 --callbacks --priorities=0,-1 -n 1M -t 64",
    };
    write_sections();
    assert_all_zero(settings[_i]);
}
END_TEST

/* --- against another --- */

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The summary's figures are those of the runs. */
START_TEST(test_summary_is_of_the_runs)
{
    enum { RUNS = 12 };
    double errors[RUNS];
    json_t *report = compare_json("--device=sim:h200 --machine=c2050 --no-data -n 4M "
                                  "--sweep=streams=1..6 --sweep=order=depth,breadth");
    json_t *runs = json_object_get(report, "runs"), *run;
    size_t i;
    ck_assert_uint_eq(json_array_size(runs), RUNS);
    json_array_foreach(runs, i, run)
    {
        const json_t *compared = json_object_get(run, "compare");
        double error = number(compared, "simulated_ms") / number(run, "time_ms") - 1;
        ck_assert_double_eq_tol(number(compared, "error"), error, 1e-9);
        ck_assert_double_gt(number(compared, "end|p95_ms"), 0);
        ck_assert_str_eq(json_string_value(json_object_get(compared, "machine")), "sim:c2050");
        errors[i] = fabs(error);
    }
    qsort(errors, RUNS, sizeof errors[0], compare_double);
    ck_assert_double_gt(errors[0], 1); /* a C2050 is no H200 */
    ck_assert_double_eq_tol(number(report, "summary|error|median"), errors[5], 1e-9);
    ck_assert_double_eq_tol(number(report, "summary|error|p95"), errors[11], 1e-9);
    ck_assert_double_eq_tol(number(report, "summary|error|largest"), errors[11], 1e-9);
    ck_assert_double_eq(number(report, "summary|settings"), RUNS);
    ck_assert_double_eq(number(report, "summary|order_pairs"), RUNS / 2);
    json_decref(report);
}
END_TEST

/* Depth-first wins on a C2050 and breadth-first on a C1060: the wrong machine file has the
 * wrong winner, the right one the right winner. */
START_TEST(test_winner_of_the_wrong_machine)
{
    static const char settings[] = "-n 4M -t 4 -s 4 --no-data --sweep=order=depth,breadth";
    char arguments[256];
    snprintf(arguments, sizeof arguments, "--device=sim:c2050 --machine=c1060 %s", settings);
    json_t *report = compare_json(arguments);
    ck_assert_double_eq(number(report, "summary|order_apart"), 1);
    ck_assert_double_eq(number(report, "summary|order_right"), 0);
    json_decref(report);
    snprintf(arguments, sizeof arguments, "--device=sim:c2050 --machine=c2070 %s", settings);
    report = compare_json(arguments);
    ck_assert_double_eq(number(report, "summary|order_apart"), 1);
    ck_assert_double_eq(number(report, "summary|order_right"), 1);
    json_decref(report);
}
END_TEST

/* --- with the host's calls as they are --- */

/* Writes host.ini: an H200 whose host takes twice as long for its calls, and a run that does
 * nothing else. */
static const char HOST_BOUND[] = "--device=sim:./host.ini --machine=h200 --calibrate --no-data "
                                 "-n 1M -t 1024 --intensity=1";

static void write_host(void)
{
    ck_assert_int_eq(system(PIPELINE_PROGRAM " calibrate --device=sim:h200 >h200.ini"), 0);
    ck_assert_int_eq(system("awk '/^issue_[a-z]*_ns = |^sync_ns = "
                            "|^graph_(launch|copies)[a-z_]* = |^callback_ns = / "
                            "{ $3 *= 2 } { print }' h200.ini >host.ini"),
                     0);
}

/* The prediction with the calls as calibrated is right, and the file's own is not. */
START_TEST(test_calibrated_calls)
{
    static const char *const more[] = {"", " --issue=graph", " --callbacks",
                                       " --layout=stage --sweep=streams=3,4"};
    char arguments[256];
    snprintf(arguments, sizeof arguments, "%s%s", HOST_BOUND, more[_i]);
    write_host();
    json_t *report = compare_json(arguments), *runs = json_object_get(report, "runs"), *run;
    size_t i;
    json_array_foreach(runs, i, run)
    {
        const json_t *compared = json_object_get(run, "compare");
        double without = number(compared, "file_error");
        ck_assert_double_lt(fabs(number(compared, "error")), 0.01);
        ck_assert_double_lt(without, -0.1);
        ck_assert_double_eq_tol(
            without, number(compared, "file_simulated_ms") / number(run, "time_ms") - 1, 1e-9);
    }
    ck_assert_double_lt(number(report, "summary|error|largest"), 0.01);
    ck_assert_double_gt(number(report, "summary|file_error|median"), 0.1);
    json_decref(report);
}
END_TEST

/* Without the option nothing of it is shown; with it, in all forms. */
START_TEST(test_calibrated_calls_are_shown)
{
    char arguments[256];
    write_host();
    snprintf(arguments, sizeof arguments, "%s --sweep=streams=1,2", HOST_BOUND);
    compare(arguments, 0);
    char *text = test_file_text("out");
    assert_shown(text, "as calibrated first|by file|its file alone");
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
        ck_assert_uint_le(strcspn(line, "\n"), 80);
    free(text);
    snprintf(arguments, sizeof arguments, "%s --format=csv", HOST_BOUND);
    compare(arguments, 0);
    text = test_file_text("out");
    assert_shown(text, ",same_order,file_simulated_ms,file_error,settings.");
    free(text);
    compare("--device=sim:h200 --machine=h100 --no-data -n 1M --sweep=streams=1,2", 0);
    text = test_file_text("out");
    ck_assert(strstr(text, "by file") == NULL && strstr(text, "calibrated") == NULL);
    free(text);
    json_t *report = compare_json("--device=sim:h200 --machine=h100 --no-data -n 1M");
    const json_t *run = json_array_get(json_object_get(report, "runs"), 0);
    ck_assert_ptr_null(json_object_get(json_object_get(run, "compare"), "file_error"));
    json_decref(report);
}
END_TEST

/* A device is calibrated once for all runs on it, and each for itself. */
START_TEST(test_calibrated_calls_of_two_devices)
{
    write_host();
    FILE *file = fopen("two.ini", "w");
    ck_assert_ptr_nonnull(file);
    fputs("[global]\nno-data = yes\nelements = 1M\ntiles = 1024\nintensity = 1\n"
          "[slow]\ndevice = sim:./host.ini\n[usual]\ndevice = sim:h200\n"
          "[slow again]\ndevice = sim:./host.ini\nstreams = 2\n",
          file);
    ck_assert_int_eq(fclose(file), 0);
    json_t *report = compare_json("--machine=h200 --calibrate two.ini");
    const json_t *runs = json_object_get(report, "runs");
    for (size_t i = 0; i < 3; i++) {
        const json_t *compared = json_object_get(json_array_get(runs, i), "compare");
        ck_assert_double_lt(fabs(number(compared, "error")), 0.01);
        ck_assert((fabs(number(compared, "file_error")) > 0.1) == (i != 1));
    }
    json_decref(report);
}
END_TEST

/* --- what is shown --- */

static int count(const char *text, const char *word)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        found++;
    return found;
}

START_TEST(test_shown_as_text)
{
    write_sections();
    compare("--device=sim:h200 --machine=h100 s.ini", 0);
    char *text = test_file_text("out");
    assert_shown(text, "simulated, NVIDIA H200|against simulated, NVIDIA H100 (sim:h100)|"
                       "nothing was measured|tiles|streams|order|measured|noise|simulated|"
                       "error|interval|inside|start p95|end p95|order kept|"
                       " times lie in the interval of the simulated one|"
                       "depth or breadth: ");
    ck_assert_int_eq(count(text, "\nserial "), 2); /* once in each half of the table */
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
        ck_assert_uint_le(strcspn(line, "\n"), 80);
    free(text);
    compare("--device=sim:h200 -n 1M", 0);
    text = test_file_text("out");
    ck_assert_ptr_null(strstr(text, "|error|")); /* one run is no crowd */
    free(text);
}
END_TEST

START_TEST(test_many_runs_show_the_worst)
{
    static const char arguments[] =
        "--device=sim:h200 --machine=h100 --no-data -n 1M -t 64 --sweep=streams=1..48";
    char verbose[256];
    compare(arguments, 0);
    char *text = test_file_text("out");
    assert_shown(text, "the 10 worst of 48 runs|median");
    ck_assert_int_eq(count(text, "\nrun streams="), 2 * 10);
    /* The first shown is the largest of all. */
    double first = 0;
    const char *row = strstr(text, "\nrun streams=") + 1, *last = row + strcspn(row, "\n");
    while (last[-1] != ' ')
        last--;
    ck_assert_int_eq(sscanf(last, "%lf%%", &first), 1);
    free(text);
    json_t *report = compare_json(arguments);
    ck_assert_double_eq_tol(100 * number(report, "summary|error|largest"), fabs(first), 0.051);
    json_decref(report);
    snprintf(verbose, sizeof verbose, "-v %s", arguments);
    compare(verbose, 0);
    text = test_file_text("out");
    ck_assert_int_eq(count(text, "\nrun streams="), 2 * 48);
    ck_assert_ptr_null(strstr(text, "worst"));
    free(text);
}
END_TEST

/* A row per run, each with as many fields as there are titles. */
START_TEST(test_csv)
{
    write_sections();
    compare("--device=sim:h200 --machine=h100 --format=csv s.ini", 0);
    char *text = test_file_text("out");
    int fields = -1, rows = 0;
    assert_shown(text, "simulated_ms,error,noise|same_order,"
                       "settings.elements|sim:h100");
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"), rows++) {
        int commas = count(line, ",") - count(line, "scale,scale");
        ck_assert_int_eq(commas, fields < 0 ? commas : fields);
        fields = commas;
    }
    ck_assert_int_eq(rows, 1 + 3);
    free(text);
}
END_TEST

START_TEST(test_files_show_both)
{
    write_sections();
    compare("--device=sim:h200 --machine=h100 --timeline=t.csv --timeline=t.json s.ini", 0);
    char *text = test_file_text("t.csv");
    assert_shown(text,
                 "\n# run: depth\n|\n# run: depth simulated\n|\n# run: serial simulated\n");
    ck_assert_int_eq(count(text, "\n# run: "), 2 * 3);
    ck_assert_int_eq(count(text, "\nbreadth simulated,"), count(text, "\nbreadth,"));
    ck_assert_ptr_nonnull(strstr(text, "device: NVIDIA H100"));
    free(text);
    json_error_t why;
    json_t *trace = json_load_file("t.json", 0, &why);
    ck_assert_msg(trace != NULL, "%s", why.text);
    json_decref(trace);
    /* A sweep's pictures are curves, so its files have the runs alone. */
    compare("--device=sim:h200 --no-data --sweep=streams=1,2 --timeline=s.csv", 0);
    text = test_file_text("s.csv");
    ck_assert_int_eq(count(text, "\n# run: "), 2);
    free(text);
}
END_TEST

START_TEST(test_dry_run_compares_nothing)
{
    compare("--device=sim:h200 --dry-run -t 4", 0);
    char *text = test_file_text("out");
    ck_assert_ptr_nonnull(strstr(text, "h2d 0"));
    ck_assert_ptr_null(strstr(text, "against"));
    free(text);
}
END_TEST

/* --- refused --- */

static void assert_refused(const char *arguments, const char *words)
{
    compare(arguments, 2);
    char *text = test_file_text("err");
    assert_shown(text, words);
    ck_assert_int_eq(count(text, "\n"), 1);
    free(text);
    text = test_file_text("out");
    ck_assert_str_eq(text, "");
    free(text);
}

START_TEST(test_refusals)
{
    assert_refused("--device=sim:h200 --machine=h201", "h201");
    assert_refused("--device=sim:h200 --machine=./nowhere.ini", "nowhere.ini");
    assert_refused("--device=cuda --profile", "--profile|compare");
    assert_refused("nowhere.ini", "nowhere.ini");
    assert_refused("--device=sim:h200 --calibrate", "--calibrate|sim:h200|--machine");
    assert_refused("--device=sim:h200 --machine=h100 --calibrate --dry-run",
                   "--calibrate|--dry-run");
}
END_TEST

Suite *compare_cli_suite(void)
{
    Suite *suite = suite_create("compare_cli");
    TCase *itself = tcase_create("against itself");
    tcase_add_checked_fixture(itself, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(itself, test_same_machine_has_no_error, 0, 6);
    suite_add_tcase(suite, itself);
    TCase *other = tcase_create("against another");
    tcase_add_checked_fixture(other, test_folder_enter, test_folder_leave);
    tcase_add_test(other, test_summary_is_of_the_runs);
    tcase_add_test(other, test_winner_of_the_wrong_machine);
    tcase_add_loop_test(other, test_calibrated_calls, 0, 4);
    tcase_add_test(other, test_calibrated_calls_of_two_devices);
    suite_add_tcase(suite, other);
    TCase *shown = tcase_create("shown");
    tcase_add_checked_fixture(shown, test_folder_enter, test_folder_leave);
    tcase_add_test(shown, test_shown_as_text);
    tcase_add_test(shown, test_many_runs_show_the_worst);
    tcase_add_test(shown, test_csv);
    tcase_add_test(shown, test_files_show_both);
    tcase_add_test(shown, test_dry_run_compares_nothing);
    tcase_add_test(shown, test_calibrated_calls_are_shown);
    suite_add_tcase(suite, shown);
    TCase *refused = tcase_create("refused");
    tcase_add_checked_fixture(refused, test_folder_enter, test_folder_leave);
    tcase_add_test(refused, test_refusals);
    suite_add_tcase(suite, refused);
    return suite;
}
