/* check_cli.c - the program as its user runs it: exit codes, one clear line, files or none. */
#include "fixtures.h"
#include "run/arrays.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void assert_ok(const char *arguments)
{
    int code = program_run(arguments);
    ck_assert_msg(code == 0, "pipeline %s: exit %d: %s", arguments, code, program_err);
}

/* Ends with `code` and one line on standard error that has all of `words` (separated by '|').
 */
static void assert_refused(const char *arguments, int code, const char *words)
{
    int ended = program_run(arguments);
    ck_assert_msg(ended == code, "pipeline %s: exit %d, not %d: %s", arguments, ended, code,
                  program_err);
    char *line_end = strchr(program_err, '\n');
    ck_assert_msg(line_end != NULL && line_end[1] == '\0', "not one line: %s", program_err);
    assert_shown(program_err, words);
    ck_assert_str_eq(program_out, "");
}

/* --- good input
 * ----------------------------------------------------------------------------------- */

START_TEST(test_headline_command)
{
    char text[65536];
    assert_ok("--device sim:h200 --streams 4 --order breadth --elements 1M --intensity 60 "
              "--timeline t.csv");
    ck_assert_ptr_nonnull(strstr(program_out, "simulated"));
    ck_assert_ptr_nonnull(strstr(program_out, "H200"));
    test_file_read("t.csv", text, sizeof text);
    ck_assert_int_eq(text[0], '#');
    ck_assert_ptr_nonnull(strstr(
        text, "\nrun,op,kind,name,tile,stream,engine,lane,bytes,issue_ns,start_ns,end_ns"));
    int rows = 0;
    for (char *line = text; line != NULL && *line != '\0';) {
        rows += line[0] != '#';
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    ck_assert_int_eq(rows, 1 + 32 * 3);
}
END_TEST

/* The order of issue is drawn where one was asked for; whether it matters here is said there,
 * and where another would take another time. */
START_TEST(test_order_of_issue)
{
    static const struct {
        const char *command, *row, *words;
    } cases[] = {
        {"--no-data --order=breadth", "issued    HHHHKKKKDDDDHHHHKKKKDDDD",
         "the order of issue makes no difference here: --order=depth takes as long"},
        {"--no-data --order=depth", "issued    HKDHKDHKDHKD", "makes no difference here"},
        {"--no-data -d sim:c2050", "why",
         "the order of issue matters here: with --order=breadth it would take"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_ok(cases[i].command);
        assert_shown(program_out, cases[i].row);
        assert_shown(program_out, cases[i].words);
    }
    ck_assert_ptr_null(strstr(program_out, "issued"));
    assert_ok("--no-data -d sim:c2050 --order=breadth --format=json");
    assert_shown(program_out, "\"other_order_ms\": 242.");
    assert_ok("--no-data -d sim:h200");
    ck_assert_ptr_null(strstr(program_out, "issue"));
}
END_TEST

START_TEST(test_json_report_of_the_ways)
{
    json_error_t why;
    test_file_put("ways.ini",
                  "[global]\nelements = 1M\ntiles = 8\ndevice = sim:h200\nintensity = 500\n"
                  "[serial]\nways = 1\n[two]\nways = 2\n[three]\nways = 3\n");
    assert_ok("--format json ways.ini");
    json_t *report = json_load_file("out", JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(report != NULL, "%s", why.text);
    ck_assert_int_eq(json_integer_value(json_object_get(report, "schema")), 2);
    json_t *runs = json_object_get(report, "runs");
    ck_assert_uint_eq(json_array_size(runs), 3);
    double span = 1e300;
    for (size_t i = 0; i < 3; i++) {
        json_t *one = json_array_get(runs, i);
        ck_assert(json_is_true(json_object_get(one, "verified")));
        ck_assert_str_eq(json_string_value(json_object_get(one, "source")), "simulated");
        double faster = json_real_value(json_object_get(one, "time_ms"));
        ck_assert_double_lt(faster, span); /* each way is faster than the one before */
        ck_assert_double_le(json_real_value(json_object_get(one, "limit_ms")), faster);
        span = faster;
    }
    json_decref(report);
}
END_TEST

START_TEST(test_same_seed_same_bytes_other_seed_other_bytes)
{
    assert_ok("--device sim:h200 -n 1000 -t 7 --seed 5 -o a.raw");
    assert_ok("--device sim:h200 -n 1000 -t 3 --seed 5 --ways 4 --cpu-share 0.5 -o b.raw");
    assert_ok("--device sim:h200 -n 1000 -t 7 --seed 6 -o c.raw");
    ck_assert_int_eq(system("cmp -s a.raw b.raw"), 0);
    ck_assert_int_ne(system("cmp -s a.raw c.raw"), 0);
}
END_TEST

/* The output of one run is the input of the next, which gives the same as both in one chain. */
START_TEST(test_files_in_and_out)
{
    assert_ok("--device sim:h200 -n 5000 -t 3 -k scale --intensity=3 -o once.npy");
    assert_ok("--device sim:h200 -i once.npy -t 4 -k scale --intensity=3 -o twice.npy");
    assert_ok("--device sim:h200 -n 5000 -t 5 -k scale,scale --intensity=3 -o chain.npy");
    ck_assert_int_eq(system("cmp -s twice.npy chain.npy"), 0);
    ck_assert_int_ne(system("cmp -s once.npy chain.npy"), 0);
    assert_ok(
        "--device sim:h200 -i once.npy -t 4 -k sum --layout stage --callbacks -o sums.npy");
    struct array_file file;
    struct error error = {0};
    ck_assert_int_eq(array_file_probe("sums.npy", DTYPE_F32, &file, &error), STATUS_OK);
    ck_assert_uint_eq(file.count, 4);
}
END_TEST

/* A reduction's value is of all tiles, also where callbacks feed what a scan carries. */
START_TEST(test_a_value_is_of_all_tiles)
{
    static const char *const ways[] = {"--carry=device", "--carry=callback", "--carry=sync",
                                       "--carry=callback --callbacks",
                                       "--carry=sync --layout=stage"};
    char command[256], text[16384], first[64] = "";
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        snprintf(command, sizeof command,
                 "--device sim:h200 -n 700 -t 7 -k scan,sum-int --format json %s", ways[i]);
        assert_ok(command);
        test_file_read("out", text, sizeof text);
        const char *value = strstr(text, "\"result\": ");
        ck_assert_ptr_nonnull(value);
        if (i == 0)
            snprintf(first, sizeof first, "%.*s", (int)strcspn(value, "\n"), value);
        ck_assert_msg(strncmp(value, first, strlen(first)) == 0, "%s: %.40s, not %s", ways[i],
                      value, first);
    }
}
END_TEST

/* The name that is given says which form a file has, not the one that it leads to. */
START_TEST(test_an_output_by_a_link_has_the_form_of_its_name)
{
    struct array_file file;
    struct error error = {0};
    ck_assert_int_eq(system("echo old >kept.txt; ln -s kept.txt link.npy"), 0);
    assert_ok("--device sim:h200 -n 4k -t 4 -o link.npy");
    ck_assert_int_eq(array_file_probe("link.npy", DTYPE_F32, &file, &error), STATUS_OK);
    ck_assert_uint_eq(file.count, 4096);
}
END_TEST

START_TEST(test_dry_run_runs_nothing)
{
    assert_ok("--device sim:h200 -n 1T -t 4 --dry-run --timeline t.csv -o x.npy");
    ck_assert_ptr_nonnull(strstr(program_out, "h2d 0"));
    ck_assert_ptr_nonnull(strstr(program_out, "scale 3"));
    ck_assert_int_ne(access("t.csv", F_OK), 0);
    ck_assert_int_ne(access("x.npy", F_OK), 0);
}
END_TEST

/* A dry run refuses the graphs that a run does: of a machine that knows none, and with calls.
 */
START_TEST(test_dry_run_refuses_what_a_run_does)
{
    static const char *const refused[] = {"--device=sim:c1060",
                                          "--device=sim:h200 --mistake=sync-in-loop",
                                          "--device=sim:h200 --mistake=pageable-memory"};
    char command[256];
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        snprintf(command, sizeof command, "-n 4k -t 4 --issue=graph %s", refused[i]);
        ck_assert_int_eq(program_run(command), 2);
        snprintf(command, sizeof command, "-n 4k -t 4 --issue=graph --dry-run %s", refused[i]);
        ck_assert_int_eq(program_run(command), 2);
    }
}
END_TEST

START_TEST(test_no_data_times_an_array_larger_than_memory)
{
    assert_ok("--device sim:h200 -n 256G -t 4096 --no-data --format json");
    ck_assert_ptr_nonnull(strstr(program_out, "\"verified\": null"));
}
END_TEST

START_TEST(test_help_version_and_lists)
{
    static const char *const commands[] = {"--help",        "--version",     "list",
                                           "list kernels",  "list machines", "list devices",
                                           "list mistakes", "help",          "help tiles",
                                           "help view",     "help --mistake"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        assert_ok(commands[i]);
        ck_assert_uint_gt(strlen(program_out), 8);
    }
}
END_TEST

/* --- --fix
 * ----------------------------------------------------------------------------------------- */

/* Returns the report of the last run, and asserts that it has `count` runs. */
static json_t *load_report(size_t count)
{
    json_error_t why;
    json_t *report = json_load_file("out", JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(report != NULL, "%s", why.text);
    ck_assert_uint_eq(json_array_size(json_object_get(report, "runs")), count);
    return report;
}

static json_t *run_at(json_t *report, size_t index)
{
    return json_array_get(json_object_get(report, "runs"), index);
}

/* A time in whole nanoseconds, from its name in milliseconds. */
static long long time_ns(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    ck_assert_msg(json_is_number(value), "%s is no number", key);
    return llround(1e6 * json_number_value(value));
}

/* Asserts that run `index` is followed by the same work with better settings, which takes to
 * the nanosecond what the first one's report predicted. Returns its options. */
static const char *assert_fixed(json_t *report, size_t index)
{
    json_t *given = run_at(report, index), *fixed = run_at(report, index + 1);
    json_t *best = json_object_get(given, "best");
    char name[64];
    snprintf(name, sizeof name, "%s fixed", json_string_value(json_object_get(given, "name")));
    ck_assert_str_eq(json_string_value(json_object_get(fixed, "name")), name);
    ck_assert(json_is_true(json_object_get(fixed, "verified")));
    ck_assert_int_eq(time_ns(fixed, "limit_ms"), time_ns(given, "limit_ms"));
    ck_assert_int_eq(time_ns(fixed, "time_ms"), time_ns(best, "predicted_ms"));
    ck_assert_int_lt(100 * time_ns(fixed, "time_ms"), 99 * time_ns(given, "time_ms"));
    return json_string_value(json_object_get(best, "command"));
}

/* One run needs one option to be put right, the other several. Given by hand behind the run's
 * own, the options that the report prints come to the same time. */
START_TEST(test_fix_runs_what_was_predicted)
{
    char command[512];
    test_file_put("two.ini", "[global]\ndevice = sim:h200\nelements = 8M\nintensity = 60\n"
                             "runs = 1\nwarmup = 0\n"
                             "[one]\ntiles = 8\nmistake = sync-in-loop\n"
                             "[several]\ntiles = 2\nstreams = 2\nmemory = pageable\n");
    assert_ok("--fix --format=json two.ini");
    json_t *report = load_report(4);
    const char *options = assert_fixed(report, 0);
    ck_assert_ptr_nonnull(strstr(options, "--mistake=none"));
    options = assert_fixed(report, 2);
    ck_assert_ptr_nonnull(strstr(options, "--memory=pinned"));
    ck_assert_ptr_nonnull(strchr(options, ' '));
    snprintf(command, sizeof command,
             "--format=json -d sim:h200 -n 8M --intensity=60 --runs=1 --warmup=0 -t 2 -s 2 "
             "--memory=pageable %s",
             options);
    long long fixed_ns = time_ns(run_at(report, 3), "time_ms");
    json_decref(report);
    assert_ok(command);
    report = load_report(1);
    ck_assert_int_eq(time_ns(run_at(report, 0), "time_ms"), fixed_ns);
    json_decref(report);
}
END_TEST

/* A fix can be another way for tiles: what was given is undone, and their size is left alone.
 */
START_TEST(test_fix_of_tiles_apart)
{
    test_file_put("apart.ini", "[global]\ndevice = sim:h200\nelements = 4M\ntiles = 256\n"
                               "intensity = 1\nruns = 1\nwarmup = 0\n"
                               "[packed]\npack = yes\nbatch = 8\nscatter = yes\n"
                               "[batches]\nissue = batch\nscatter = yes\n"
                               "[side-by-side]\npack = yes\n");
    assert_ok("--fix --format=json apart.ini");
    json_t *report = load_report(6);
    const char *options = assert_fixed(report, 0);
    ck_assert_ptr_nonnull(strstr(options, "--pack=no"));
    ck_assert_ptr_nonnull(strstr(options, "--batch=auto"));
    ck_assert_ptr_null(strstr(options, "--tiles"));
    options = assert_fixed(report, 2);
    ck_assert_ptr_nonnull(strstr(options, "--layout=stage"));
    ck_assert_ptr_null(strstr(options, "--tiles"));
    options = assert_fixed(report, 4);
    ck_assert_ptr_nonnull(strstr(options, "--pack=no"));
    ck_assert_ptr_nonnull(strstr(options, "--tiles"));
    json_decref(report);
}
END_TEST

/* What a run of ours lost by packing is found in its file, too. */
START_TEST(test_packing_seen_in_a_file)
{
    assert_ok("-d sim:h200 -n 4M -t 1024 --scatter --pack --intensity=1 --no-data "
              "--timeline=packed.csv");
    assert_ok("view packed.csv");
    const char *cause = strstr(program_out, "%: packing: ");
    ck_assert_msg(cause != NULL && strstr(program_out, "%: ") == cause, "%s", program_out);
}
END_TEST

/* Where nothing gains a hundredth the run stands alone, and a note says so. */
START_TEST(test_fix_of_what_is_good)
{
    assert_ok("--fix --no-data -d sim:h200 -n 1G -t 64 --format=json");
    ck_assert_msg(strstr(program_err, "--fix: no better settings") != NULL, "no note: %s",
                  program_err);
    json_t *report = load_report(1);
    ck_assert(json_is_null(json_object_get(run_at(report, 0), "best")));
    json_decref(report);
}
END_TEST

/* The given run's output file is written, once. */
START_TEST(test_fix_with_an_output)
{
    assert_ok(
        "--fix -d sim:h200 -n 1M -t 8 --intensity=60 --mistake=sync-in-loop -o fixed.raw");
    assert_ok("-d sim:h200 -n 1M -t 8 --intensity=60 -o plain.raw");
    ck_assert_int_eq(system("cmp -s fixed.raw plain.raw"), 0);
}
END_TEST

/* --- bad input
 * ------------------------------------------------------------------------------------- */

START_TEST(test_bad_options)
{
    assert_refused("--strems 4", 2, "--strems|--streams");
    assert_refused("--streams 0", 2, "--streams|0|1");
    assert_refused("--streams -3", 2, "--streams|-3");
    assert_refused("--tiles 12abc", 2, "--tiles|12abc");
    assert_refused("--tiles ''", 2, "--tiles");
    assert_refused("--elements 99999999999999999999", 2, "--elements|99999999999999999999");
    assert_refused("--elements 20000000000G", 2, "--elements|20000000000G");
    assert_refused("--elements 10 --tiles 11", 2, "tiles|11|10");
    assert_refused("--ways 1 --streams 4", 2, "ways|1|streams|4");
    assert_refused("--ways 5", 2, "--ways|5|1 to 4");
    assert_refused("--kernel scael", 2, "scael|scale");
    assert_refused("--kernel sum,scale", 2, "sum|scale");
    assert_refused("--kernel scale,reduce-shuffle", 2, "scale|reduce-shuffle");
    assert_refused("--device sim:h201", 2, "h201|h200");
    assert_refused("--device gpu", 2, "gpu");
    assert_refused("--tiles automatic", 2, "--tiles|automatic|auto");
    assert_refused("--machine c2050", 2, "--machine=c2050|--device=sim:NAME");
    assert_refused("--model psychic", 2, "--model|psychic|sim");
    assert_refused("bench pined", 2, "pined|pinned");
    assert_refused("bench xyzzy", 2, "xyzzy|allowed are|reductions");
    assert_refused("bench --tiles 4", 2, "--tiles=4|pipeline run");
    assert_refused("bench --timeline x.csv", 2, "--timeline|pipeline view");
    assert_refused("bench --runs 33 marks", 2, "--runs=33|32");
    assert_refused("--quick", 2, "--quick|bench");
    assert_refused("view --quick x.csv", 2, "--quick|bench");
    assert_refused("list lesson", 2, "lesson|did you mean lessons");
    assert_refused("--device=sim:H100", 2, "there is no machine 'H100'|did you mean h100?");
    assert_refused("help strems", 2, "strems|streams");
    assert_refused("lesson fyve", 2, "fyve|list lessons");
    assert_refused("--timeline x.doc", 2, "x.doc|.csv");
}
END_TEST

/* A wrong sweep, trace or profile is refused before any file is opened. */
START_TEST(test_bad_sweeps_views_and_profiles)
{
    assert_refused("--sweep", 2, "--sweep|OPTION=RANGE");
    assert_refused("--sweep strems=1..8", 2, "strems|streams");
    assert_refused("--sweep streams=8..1 --timeline x.csv", 2, "8..1|down|up");
    assert_refused("--sweep streams=1..4096", 2, "streams=4096|1 to 1024");
    assert_refused("--sweep streams=1,2 --streams 4", 2, "--streams=4|--sweep|one of them");
    assert_refused("--sweep tiles=1,2 -o x.npy", 2, "x.npy|two runs");
    assert_refused("--fix --sweep tiles=1,2 --timeline x.csv", 2, "--fix|--sweep");
    assert_refused("--sweep tiles=8,16 -n 10 --timeline x.csv", 2, "tiles=16|elements=10");
    assert_refused("view", 2, "TRACE");
    assert_refused("view nowhere.csv --timeline x.csv", 2, "nowhere.csv");
    assert_refused("view nowhere.csv --tiles 4", 2, "--tiles=4|pipeline run");
    assert_refused("view x.csv --timeline x.csv", 2, "x.csv|read");
    assert_refused("--profile --runs 3", 2, "--profile|--runs=3");
    assert_refused("--profile --timeline x.csv --device cuda:0", 2, "--profile|--timeline");
    ck_assert_int_ne(system("ls x.* >/dev/null 2>&1"), 0);
}
END_TEST

START_TEST(test_bad_configs)
{
    test_file_put("a.ini", "[global]\ntiles = 4\n\n[one]\nstrems = 2\n");
    assert_refused("a.ini", 2, "a.ini:5|strems|streams");
    test_file_put("a.ini", "[one]\ntiles = 4\ntiles = 8\n");
    assert_refused("a.ini", 2, "a.ini:3|tiles");
    test_file_put("a.ini", "[one]\ntiles = 0\n");
    assert_refused("a.ini", 2, "a.ini:2|tiles|0");
    test_file_put("a.ini", "[one]\ntiles\n");
    assert_refused("a.ini", 2, "a.ini:2");
    char text[600] = "[one]\ntiles = ";
    memset(text + strlen(text), '4', 500);
    test_file_put("a.ini", text);
    assert_refused("a.ini", 2, "a.ini:2|long");
    assert_refused("nowhere.ini", 2, "nowhere.ini");
}
END_TEST

START_TEST(test_bad_files)
{
    assert_refused("--device sim:h200 -i nowhere.npy", 2, "nowhere.npy");
    test_file_put("short.npy", "\x93NUMPY");
    assert_refused("--device sim:h200 -i short.npy", 2, "short.npy");
    test_file_put("odd.raw", "12345");
    assert_refused("--device sim:h200 -i odd.raw", 2, "odd.raw");
    assert_refused("--device sim:h200 -n 1k -o nowhere/x.npy", 2, "nowhere/x.npy");
    assert_refused("--device sim:h200 -n 1k --timeline nowhere/x.csv", 2, "nowhere/x.csv");
    assert_refused("--device sim:h200 -n 1k -t 4 -o .", 2, ".");
    test_file_put("four.raw", "aaaabbbbccccdddd");
    assert_refused("--device sim:h200 -i four.raw -t 5", 2, "tiles|5|4");
    assert_refused("--device sim:h200 -i four.raw -n 5 -t 2", 2, "elements|5|four.raw|4");
}
END_TEST

START_TEST(test_too_large_for_memory_says_how_much)
{
    assert_refused("--device sim:h200 -n 1T -t 1024 -s 4", 1, "TiB|available");
    assert_refused("--device sim:h200 -n 64G --ways 1 --no-data", 1,
                   "GiB of device memory|140");
    assert_refused("--device sim:h200 -n 1T -t 1024 -o x.npy", 1, "TiB");
    ck_assert_int_ne(access("x.npy", F_OK), 0);
}
END_TEST

START_TEST(test_full_disk_is_an_error)
{
    if (access("/dev/full", W_OK) != 0)
        return;
    assert_refused("-q --device sim:h200 -n 1k -t 4 -o /dev/full --format json >/dev/null", 1,
                   "/dev/full");
    char command[512];
    snprintf(command, sizeof command, "%s -q --device sim:h200 -n 1k -t 4 >/dev/full 2>err",
             PIPELINE_PROGRAM);
    int status = system(command);
    ck_assert_int_eq(WEXITSTATUS(status), 1);
}
END_TEST

START_TEST(test_an_error_stands_after_the_report)
{
    const int status = system(PIPELINE_PROGRAM " -d sim:h200 -n 64k -t 4 --layout=stage "
                                               "--mistake=missing-wait >both 2>&1");
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    char *text = test_file_text("both");
    const char *error = strstr(text, "pipeline: ");
    ck_assert_ptr_nonnull(error);
    ck_assert_ptr_null(strstr(error, "why"));
    ck_assert_ptr_eq(strchr(error, '\n'), text + strlen(text) - 1);
    free(text);
}
END_TEST

START_TEST(test_no_device_is_77)
{
    if (access("/dev/nvidiactl", F_OK) == 0)
        return; /* there may be one */
    assert_refused("--device cuda -n 1k -t 4 -o x.npy", 77, "--device=cuda");
    ck_assert_int_ne(access("x.npy", F_OK), 0);
    assert_refused("--device cuda:7 -n 1k -t 4", 77, "cuda");
}
END_TEST

Suite *cli_suite(void)
{
    Suite *suite = suite_create("cli");
    TCase *good = tcase_create("good input");
    tcase_set_timeout(good, 120);
    tcase_add_checked_fixture(good, test_folder_enter, test_folder_leave);
    tcase_add_test(good, test_headline_command);
    tcase_add_test(good, test_order_of_issue);
    tcase_add_test(good, test_json_report_of_the_ways);
    tcase_add_test(good, test_same_seed_same_bytes_other_seed_other_bytes);
    tcase_add_test(good, test_files_in_and_out);
    tcase_add_test(good, test_a_value_is_of_all_tiles);
    tcase_add_test(good, test_an_output_by_a_link_has_the_form_of_its_name);
    tcase_add_test(good, test_dry_run_runs_nothing);
    tcase_add_test(good, test_dry_run_refuses_what_a_run_does);
    tcase_add_test(good, test_no_data_times_an_array_larger_than_memory);
    tcase_add_test(good, test_help_version_and_lists);
    tcase_add_test(good, test_fix_runs_what_was_predicted);
    tcase_add_test(good, test_fix_of_what_is_good);
    tcase_add_test(good, test_fix_of_tiles_apart);
    tcase_add_test(good, test_packing_seen_in_a_file);
    tcase_add_test(good, test_fix_with_an_output);
    suite_add_tcase(suite, good);
    TCase *bad = tcase_create("bad input");
    tcase_set_timeout(bad, 120);
    tcase_add_checked_fixture(bad, test_folder_enter, test_folder_leave);
    tcase_add_test(bad, test_bad_options);
    tcase_add_test(bad, test_bad_sweeps_views_and_profiles);
    tcase_add_test(bad, test_bad_configs);
    tcase_add_test(bad, test_bad_files);
    tcase_add_test(bad, test_too_large_for_memory_says_how_much);
    tcase_add_test(bad, test_full_disk_is_an_error);
    tcase_add_test(bad, test_an_error_stands_after_the_report);
    tcase_add_test(bad, test_no_device_is_77);
    suite_add_tcase(suite, bad);
    return suite;
}
