/* check_compare_cli.c - `pipeline compare` as its user runs it: one machine file against
 * another, which needs no GPU, and against itself. */
#include "fixtures.h"
#include "plot_cases.h"
#include "suites.h"
#include "test_folder.h"

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
    FILE *file = fopen("s.ini", "w");
    ck_assert_ptr_nonnull(file);
    fputs(SECTIONS, file);
    ck_assert_int_eq(fclose(file), 0);
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

/* --- what is shown --- */

static int count(const char *text, const char *word)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        found++;
    return found;
}

static void assert_shown(const char *text, const char *words)
{
    char list[512];
    snprintf(list, sizeof list, "%s", words);
    for (char *word = strtok(list, "|"); word != NULL; word = strtok(NULL, "|"))
        ck_assert_msg(strstr(text, word) != NULL, "\"%s\" is not in:\n%s", word, text);
}

START_TEST(test_shown_as_text)
{
    write_sections();
    compare("--device=sim:h200 --machine=h100 s.ini", 0);
    char *text = test_file_text("out");
    assert_shown(text, "simulated, NVIDIA H200|against simulated, NVIDIA H100 (sim:h100)|"
                       "nothing was measured|tiles|streams|order|measured|noise|simulated|"
                       "error|start p50|start p95|end p95|order kept|"
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

/* --- bench/accuracy --- */

/* A line of `text` that begins with `head` has `words`. */
static void assert_line(const char *text, const char *head, const char *words)
{
    char line[256];
    const char *at = strstr(text, head);
    ck_assert_msg(at != NULL, "no line \"%s\" in:\n%s", head, text);
    at += head[0] == '\n';
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    assert_shown(line, words);
}

/* All settings on a machine that stands for itself: every goal is met. */
START_TEST(test_accuracy_of_a_machine_against_itself)
{
    ck_assert_int_eq(system("DEVICE=sim:h200 " TESTS_FOLDER
                            "/../bench/accuracy/run.sh " BUILD_FOLDER " out.d >out 2>err"),
                     0);
    char *text = test_file_text("out");
    assert_shown(text, "The simulator (sim:h200) against: simulated, NVIDIA H200\n|ways 4 |"
                       "layout stage |connections 32 |kernels 3 |tiles 257 to 1024 ");
    assert_line(text, "|error| of the span, median", "  0.00 %| met");
    assert_line(text, "  largest", "  0.00 %| met");
    ck_assert_ptr_null(strstr(text, "missed"));
    free(text);
    if (plot_have_gnuplot())
        plot_assert_texts("out.d/accuracy.svg",
                          "predicted against measured|within 5 %|serial|4-way|1 ms|10 %|"
                          "simulator, median 0 %|settings with at most that error");
    ck_assert_int_eq(system(TESTS_FOLDER "/../bench/accuracy/judge.sh " BUILD_FOLDER
                                         " again.d h200 out.d/accuracy.csv >out 2>err"),
                     0);
    text = test_file_text("out");
    assert_line(text, "  largest", "  0.00 %| met");
    assert_line(text, "the device itself at another time, median", "  0.00 %");
    free(text);
}
END_TEST

/* Errors of 1, 2 and 4 %, the largest of a setting that may be fitted to; one pair apart whose
 * winner is wrong, one too close to call. */
START_TEST(test_what_is_held_back_is_judged)
{
    FILE *file = fopen("a.csv", "w");
    ck_assert_ptr_nonnull(file);
    fputs("run,source,device,machine,time_ms,simulated_ms,noise,start_p95_ms,end_p95_ms,"
          "same_order,settings.connections,settings.order,"
          "settings.ways,settings.layout,settings.kernel,settings.tiles,settings.streams,"
          "settings.priorities\n"
          "1-depth,measured,G,sim:g,100,101,0.001,1,1,1,8,depth,3,tile,scale,16,4,\n"
          "1-breadth,measured,G,sim:g,102,103.02,0.001,1,1,1,8,breadth,3,tile,scale,"
          "16,4,\n"
          "3-depth,measured,G,sim:g,100,200,0.5,1,1,1,8,depth,3,tile,scale,16,4,\n"
          "5-depth,measured,G,sim:g,100,102,0.002,2,2,0.5,8,depth,2,stage,"
          "\"scale,sum\",17,1,\"0,-1\"\n"
          "5-breadth,measured,G,sim:g,104,99.84,0.002,2,2,0.5,8,breadth,2,stage,"
          "\"scale,sum\",17,1,\"0,-1\"\n",
          file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(system("LC_ALL=C awk -f " TESTS_FOLDER "/../plots/csv.awk -f " TESTS_FOLDER
                            "/../bench/accuracy/summary.awk a.csv >out"),
                     0);
    char *text = test_file_text("out");
    assert_shown(text, "5 settings; of those 1 may be used to fit, and 4 are held back");
    assert_line(text, "|error| of the span, median", " 1.00 %| 2 % | met");
    assert_line(text, "  largest", " 4.00 %| 10 % | met");
    assert_line(text, "noise of the device's repeats, median", " 0.10 %");
    assert_line(text, "depth or breadth", " 0 of 1 | missed");
    assert_line(text, "\nways 2 ", "   2 |  2.00 %|  4.00 %");
    assert_line(text, "\nkernels 1 ", "   2 |  1.00 %");
    assert_line(text, "\ntiles 17 to 64 ", "   2 ");
    assert_line(text, "\npriorities some ", "   2 ");
    assert_line(text, "\nfitted on ", "   1 |  100.00 %");
    assert_line(text, "\n5-breadth, connections=8 ", " -4.00 %");
    free(text);
}
END_TEST

/* Three settings: one that took longer the second time, one longer the first, and one again. */
static void write_measured(const char *path, const char *first, const char *second)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file,
            "run,source,device,machine,time_ms,simulated_ms,error,noise,start_p95_ms,"
            "end_p95_ms,same_order,settings.connections,"
            "settings.order,settings.ways,settings.layout,settings.kernel,settings.tiles,"
            "settings.streams,settings.priorities\n"
            "1-depth,measured,G,sim:g,%s,150,0.5,0.001,1,1,1,8,depth,3,tile,"
            "\"scale,sum\",16,4,\"0,-1\"\n"
            "1-depth,measured,G,sim:g,%s,150,0.5,0.001,1,1,1,32,depth,3,tile,"
            "\"scale,sum\",16,4,\"0,-1\"\n",
            first, second);
    ck_assert_int_eq(fclose(file), 0);
}

/* The fastest of each setting counts, and what is simulated now. */
START_TEST(test_judged_again)
{
    write_measured("first.csv", "100", "210");
    write_measured("again.csv", "120", "200");
    FILE *file = fopen("simulated.csv", "w");
    ck_assert_ptr_nonnull(file);
    fputs("run,time_ms,settings.connections\n1-depth,101,8\n1-depth,204,32\n", file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(system("LC_ALL=C awk -v machine=sim:new -f " TESTS_FOLDER
                            "/../plots/csv.awk -f " TESTS_FOLDER
                            "/../bench/accuracy/judge.awk simulated.csv first.csv again.csv "
                            ">out.csv && LC_ALL=C awk -f " TESTS_FOLDER
                            "/../plots/csv.awk -f " TESTS_FOLDER
                            "/../bench/accuracy/summary.awk out.csv >out"),
                     0);
    char *text = test_file_text("out.csv");
    assert_shown(text, "1-depth,measured,G,sim:new,100,101,0.01,0.001,,,,8,depth|"
                       "\"scale,sum\",16,4,\"0,-1\",0.2\n|sim:new,200,204,0.02,|,0.05\n");
    free(text);
    text = test_file_text("out");
    assert_line(text, "|error| of the span, median", "  1.00 %| met");
    assert_line(text, "the device itself at another time, median", "  5.00 %");
    ck_assert_ptr_null(strstr(text, "out of order"));
    free(text);
    ck_assert_int_ne(system("LC_ALL=C awk -f " TESTS_FOLDER "/../plots/csv.awk -f " TESTS_FOLDER
                            "/../bench/accuracy/judge.awk first.csv >out 2>err"),
                     0);
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
    suite_add_tcase(suite, other);
    TCase *shown = tcase_create("shown");
    tcase_add_checked_fixture(shown, test_folder_enter, test_folder_leave);
    tcase_add_test(shown, test_shown_as_text);
    tcase_add_test(shown, test_many_runs_show_the_worst);
    tcase_add_test(shown, test_csv);
    tcase_add_test(shown, test_files_show_both);
    tcase_add_test(shown, test_dry_run_compares_nothing);
    suite_add_tcase(suite, shown);
    TCase *accuracy = tcase_create("bench/accuracy");
    tcase_add_checked_fixture(accuracy, test_folder_enter, test_folder_leave);
    tcase_add_test(accuracy, test_accuracy_of_a_machine_against_itself);
    tcase_add_test(accuracy, test_what_is_held_back_is_judged);
    tcase_add_test(accuracy, test_judged_again);
    suite_add_tcase(suite, accuracy);
    TCase *refused = tcase_create("refused");
    tcase_add_checked_fixture(refused, test_folder_enter, test_folder_leave);
    tcase_add_test(refused, test_refusals);
    suite_add_tcase(suite, refused);
    return suite;
}
