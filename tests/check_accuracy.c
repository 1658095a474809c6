/* check_accuracy.c - bench/accuracy: the settings that the simulator is judged by, and what
 * judges it. Simulated devices stand for a real one. */
#include "fixtures.h"
#include "kernels/kernel_code.h"
#include "plot_cases.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCURACY TESTS_FOLDER "/../bench/accuracy/"
#define AWK                                                                                    \
    "LC_ALL=C awk -f " TESTS_FOLDER "/../plots/csv.awk -f " ACCURACY "shared.awk -f " ACCURACY

static void assert_works(const char *command)
{
    ck_assert_msg(system(command) == 0, "%s", command);
}

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

static void assert_file_shown(const char *path, const char *words)
{
    char *text = test_file_text(path);
    assert_shown(text, words);
    free(text);
}

static void write_file(const char *path, const char *text)
{
    test_file_put(path, text);
}

/* --- the settings --- */

static const struct draw {
    const char *file, *arguments;
    int settings;
} draws[] = {
    {"matrix.ini", "-v seed=18 -v count=408", 408},
    {"blind.ini", "-v seed=184 -v count=200 -v blind=1", 200},
    {"usual.ini", "-v seed=120147 -v count=100 -v blind=1 -v usual=1", 100},
    {"edges.ini", "-v seed=120148 -v count=100 -v blind=1", 100},
};

START_TEST(test_drawn_from_the_seed)
{
    char command[512];
    snprintf(command, sizeof command,
             "awk %s -f " ACCURACY "draw.awk >drawn.ini && cmp drawn.ini " ACCURACY "%s",
             draws[_i].arguments, draws[_i].file);
    assert_works(command);
}
END_TEST

/* Those of options that the program has not got yet: nobody may have changed them since. */
START_TEST(test_memory_drawn_from_the_seed)
{
    assert_works("awk -v seed=2003 -f " ACCURACY "draw_memory.awk >drawn.ini && "
                 "cmp drawn.ini " ACCURACY "memory.ini");
}
END_TEST

/* Takes products out of drawn settings where there is no library for them. */
static void copy_settings(const char *path)
{
    char command[512];
    const bool has_product = kernel_missing(kernel_find("dgemm")) == NULL;
    snprintf(command, sizeof command,
             "awk 'BEGIN { RS = \"\"; ORS = \"\\n\\n\" } %s' %s >settings.ini",
             has_product ? "1" : "!/kernel = dgemm/", path);
    assert_works(command);
}

/* The program takes every setting, and no plan has a race. */
START_TEST(test_every_setting_is_possible)
{
    char path[256];
    snprintf(path, sizeof path, ACCURACY "%s", draws[_i].file);
    copy_settings(path);
    assert_works(PIPELINE_PROGRAM
                 " compare -q --device=sim:h200 --no-data --dry-run settings.ini >out 2>err");
}
END_TEST

/* Every option that changes what a plan is has its line in `text`, but those of memory.ini and
 * share.ini. */
static void assert_option(void *text, const char *name, const char *value, enum value_kind kind)
{
    static const char *const others[] = {"input",   "output",     "device", "runs",  "warmup",
                                         "profile", "no-data",    "seed",   "alloc", "prefetch",
                                         "copy",    "tile-width", "share"};
    char line[64];
    (void)value;
    (void)kind;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(name, others[i]) == 0)
            return;
    snprintf(line, sizeof line, "\n%s = ", name);
    ck_assert_msg(strstr(text, line) != NULL, "no setting of --%s", name);
}

/* Every value has a setting, but auto, which is another one wherever it is run. */
static void assert_values(const char *text, const char *option, const char *const names[])
{
    for (int i = 0; names[i] != NULL; i++) {
        char line[64];
        if (strcmp(names[i], "auto") == 0 || names[i] == memory_names[MEMORY_MANAGED])
            continue;
        snprintf(line, sizeof line, "\n%s = %s\n", option, names[i]);
        ck_assert_msg(strstr(text, line) != NULL, "no setting of --%s=%s", option, names[i]);
    }
}

/* Only a mistake that races can't be compared: the device's result may then be anything. */
static void assert_mistakes(const char *text)
{
    for (int i = 1; i < test_mistake_count(); i++) {
        char line[64];
        snprintf(line, sizeof line, "\nmistake = %s\n", mistake_rows[i].name);
        ck_assert_msg((strstr(text, line) == NULL) == mistake_rows[i].races, "--mistake=%s",
                      mistake_rows[i].name);
    }
}

/* One kernel takes too long, and a stencil's plans are not of tiles that come and go. */
static void assert_kernels(const char *text)
{
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        char alone[64], first[64];
        snprintf(alone, sizeof alone, "\nkernel = %s\n", kernel->name);
        snprintf(first, sizeof first, "\nkernel = %s,", kernel->name);
        const bool drawn = strstr(text, alone) != NULL || strstr(text, first) != NULL;
        ck_assert_msg(drawn == (strcmp(kernel->name, "reduce-atomic") != 0 && !kernel->stencil),
                      "kernel %s", kernel->name);
    }
}

START_TEST(test_every_option_is_drawn)
{
    static const char *const ways[] = {"1", "2", "3", "4", NULL};
    char path[256];
    struct settings settings = test_settings("scale");
    snprintf(path, sizeof path, ACCURACY "%s", draws[_i].file);
    char *text = test_file_text(path);
    settings_each(&settings, assert_option, text);
    assert_values(text, "memory", memory_names);
    assert_values(text, "issue", issue_names);
    assert_values(text, "order", order_names);
    assert_values(text, "layout", layout_names);
    assert_values(text, "carry", carry_names);
    assert_values(text, "ways", ways);
    assert_mistakes(text);
    assert_kernels(text);
    ck_assert_int_eq(plot_count(text, "\n["), draws[_i].settings);
    free(text);
}
END_TEST

/* A third may be used to fit; of the blind settings none. */
START_TEST(test_what_settings_are_for)
{
    char *text = test_file_text(ACCURACY "matrix.ini");
    const int to_fit = plot_count(text, "\n[fit-"), all = draws[0].settings;
    ck_assert_int_ge(to_fit, all * 3 / 10);
    ck_assert_int_le(to_fit, all * 4 / 10);
    ck_assert_int_eq(plot_count(text, "\n[judge-"), all - to_fit);
    free(text);
    text = test_file_text(ACCURACY "blind.ini");
    ck_assert_int_eq(plot_count(text, "\n[blind-"), draws[1].settings);
    free(text);
}
END_TEST

/* A process can have one number of queues, one kind of launch, and load a kernel once. */
START_TEST(test_parts_suit_a_process)
{
    write_file("s.ini", "; a comment\n\n[a-depth]\nkernel = scale\nconnections = 2\n\n"
                        "[b]\nkernel = scale\n\n[c]\nkernel = sum\nconnections = 2\n\n"
                        "[d]\nkernel = sum\nmistake = launch-blocking\n\n"
                        "[e]\nkernel = sum\nmistake = lazy-loading\n\n"
                        "[f]\nkernel = sum\nmistake = lazy-loading\n\n[g]\nkernel = dgemm\n");
    assert_works(
        "mkdir parts && awk -v folder=parts -f " ACCURACY "parts.awk s.ini && "
        "grep '^\\[' parts/*.ini | sed 's/.*://' | tr -d '\\n' >out && ls parts >names");
    char *text = test_file_text("names");
    ck_assert_str_eq(text,
                     "dgemm-queues-01.ini\nqueues-01.ini\nqueues-2-01.ini\n"
                     "queues-blocking-01.ini\nqueues-lazy-1-01.ini\nqueues-lazy-2-01.ini\n");
    free(text);
    text = test_file_text("out");
    ck_assert_str_eq(text, "[g][b][a-depth][c][d][e][f]");
    free(text);
}
END_TEST

/* No pair is torn apart, however many settings there are. */
START_TEST(test_parts_keep_pairs)
{
    assert_works(
        "awk 'BEGIN { print \"[0]\\nkernel = sum\\n\"; for (i = 1; i <= 24; i++) "
        "print \"[\" i \"-depth]\\nkernel = sum\\n\\n[\" i \"-breadth]\\nkernel = sum\\n\" "
        "}' >s.ini; mkdir parts && awk -v folder=parts -f " ACCURACY "parts.awk s.ini && "
        "grep -c '^\\[' parts/*.ini | sed 's/.*://' >out; head -qn1 parts/*.ini >>out");
    char *text = test_file_text("out");
    ck_assert_str_eq(text, "25\n24\n[0]\n[13-depth]\n");
    free(text);
}
END_TEST

/* --- measured whole --- */

/* Draws a few settings of their own, which run on `device`, into the folder out.d. */
static void run_small(const char *device, int code)
{
    char command[512];
    assert_works("awk -v seed=5 -v count=40 -f " ACCURACY "draw.awk >drawn.ini");
    copy_settings("drawn.ini");
    snprintf(command, sizeof command,
             "SETTINGS=settings.ini DEVICE=%s " ACCURACY "run.sh " BUILD_FOLDER
             " out.d h200 >out 2>err; test $? = %d",
             device, code);
    assert_works(command);
}

/* A machine that stands for itself meets every goal, also when it is judged by what was
 * measured before: the file that comes of it says every setting. */
START_TEST(test_a_machine_against_itself)
{
    run_small("sim:h200", 0);
    char *text = test_file_text("out");
    assert_shown(text,
                 "The simulator (sim:h200) against: simulated, NVIDIA H200\n|layout stage |"
                 "issue graph |memory pageable |callbacks yes |kernel scan");
    assert_line(text, "  worst", "  0.00 %| met");
    ck_assert_ptr_null(strstr(text, "missed"));
    free(text);
    if (plot_have_gnuplot())
        plot_assert_texts("out.d/accuracy.svg", "predicted against measured|within 5 %|4-way|"
                                                "simulator, median 0 %");
    assert_works(ACCURACY "judge.sh " BUILD_FOLDER
                          " again.d h200 out.d/accuracy.csv >out 2>err");
    text = test_file_text("out");
    assert_line(text, "  worst", "  0.00 %| met");
    assert_line(text, "the device itself at another time, median", "  0.00 %");
    free(text);
}
END_TEST

/* A part that fails costs its own settings alone, and what was measured is kept. */
START_TEST(test_a_part_that_fails)
{
    write_file("settings.ini",
               "[judge-1]\nelements = 64k\n\n"
               "[judge-2]\nelements = 64k\ntiles = 3\nkernel = transpose-naive\n"
               "connections = 2\n");
    const char *run = "SETTINGS=settings.ini DEVICE=sim:h200 " ACCURACY "run.sh " BUILD_FOLDER
                      " out.d >out 2>err; test $? = 1";
    assert_works(run);
    assert_file_shown("err", "queues-2-01: not measured|transpose-naive|parts that failed: 1");
    assert_file_shown("out", "\n1 settings;");
    assert_works(run);
    assert_file_shown("err", "queues-01: measured before");
}
END_TEST

/* A call that is to measure one part leaves the others to the next, and joins what there is. */
START_TEST(test_a_part_at_a_time)
{
    write_file("settings.ini", "[judge-1]\nelements = 64k\n\n"
                               "[judge-2]\nelements = 64k\nconnections = 2\n");
    const char *run = "PARTS=1 SETTINGS=settings.ini DEVICE=sim:h200 " ACCURACY
                      "run.sh " BUILD_FOLDER " out.d >out 2>err";
    assert_works(run);
    assert_file_shown("err", "parts that are left: 1");
    assert_file_shown("out", "\n1 settings;");
    assert_works(run);
    assert_file_shown("out", "\n2 settings;");
    assert_works("test ! -e out.d/parts");
}
END_TEST

/* Of what was measured on other hosts than the machine file's, four in five times or more lie
 * in their intervals, and not because these are as wide as can be. */
START_TEST(test_measured_times_lie_in_their_intervals)
{
    static const char *const files[] = {"21-accuracy-third", "25-blind-third",
                                        "30-last-usual-1"};
    char command[512];
    snprintf(command, sizeof command,
             "xz -dc " TESTS_FOLDER
             "/../bench/results/h200-2026-11-%s.csv.xz >a.csv && " ACCURACY
             "judge.sh " BUILD_FOLDER " out.d h200 a.csv >out 2>err && "
             "sed -n 's/.*the interval.* \\([0-9.]*\\) %%.*/\\1/p' out >shares",
             files[_i]);
    assert_works(command);
    assert_works("awk '{ share[NR] = $1 } END { exit !(share[1] >= 80 && share[2] < 100) }' "
                 "shares");
}
END_TEST

/* By the file of their own start page-locked settings have intervals that are narrow, and most
 * of them lie inside. */
START_TEST(test_plain_runs_have_narrow_intervals)
{
    assert_works(
        "sed 's/^copies = .*/copies = 0.007/; s/^kernels = .*/kernels = 0.02/' " TESTS_FOLDER
        "/../bench/results/h200-2026-11-30-again-calibrated-1.ini >own.ini && "
        "xz -dc " TESTS_FOLDER
        "/../bench/results/h200-2026-11-30-again-usual-1.csv.xz >all.csv && "
        "awk 'NR == 1 || (!/mapped|pageable|callback/ && !/,true,device/)' all.csv >a.csv && "
        "test $(wc -l <a.csv) -gt 30 && " ACCURACY "judge.sh " BUILD_FOLDER
        " out.d ./own.ini a.csv >out 2>err && "
        "sed -n 's/.*the interval.* \\([0-9.]*\\) %.*/\\1/p' out >shares");
    assert_works(
        "awk '{ share[NR] = $1 } END { exit !(share[1] >= 85 && share[2] < 7.5) }' shares");
}
END_TEST

/* Without a GPU there is nothing to hold a machine file against, which is said at once. */
START_TEST(test_nothing_to_measure)
{
    assert_works("CUDA_VISIBLE_DEVICES= " ACCURACY "run.sh " BUILD_FOLDER
                 " out.d >out 2>err; test $? = 1 && test ! -s out && test ! -e out.d");
    assert_file_shown("err", "--device=cuda: |DEVICE=sim:h200 would");
}
END_TEST

/* --- judged --- */

#define COLUMNS                                                                                \
    "run,source,device,machine,time_ms,simulated_ms,error,noise,start_p95_ms,end_p95_ms,"      \
    "same_order,issue_ms,settings.connections,settings.order,settings.ways,settings.layout,"   \
    "settings.kernel,settings.elements,settings.tiles,settings.streams,settings.priorities,"   \
    "settings.memory,settings.issue,settings.callbacks,settings.mistake\n"

/* Errors from 1 to 100 %, the largest of a setting that may be fitted to. */
static void write_errors(void)
{
    write_file("a.csv", COLUMNS
               "judge-1-depth,measured,G,sim:g,100,101,0,0.001,1,1,1,1,8,depth,3,tile,"
               "scale,1048576,16,4,,pinned,streams,false,\n"
               "judge-1-breadth,measured,G,sim:g,102,103.02,0,0.001,1,1,1,99,8,breadth,3,"
               "tile,scale,1048576,16,4,,pinned,streams,false,\n"
               "fit-3-depth,measured,G,sim:g,100,200,0,0.5,1,1,1,1,8,depth,3,tile,"
               "scale,1048576,16,4,,pinned,streams,false,\n"
               "judge-5-depth,measured,G,sim:g,100,101.9,0,0.002,2,2,0.5,1,8,depth,2,stage,"
               "\"scale,sum\",1048576,17,1,\"0,-1\",registered,graph,false,\n"
               "judge-5-breadth,measured,G,sim:g,104,99.84,0,0.002,2,2,0.5,1,8,breadth,2,"
               "stage,\"scale,sum\",1048576,17,1,\"0,-1\",registered,graph,false,\n"
               "judge-6-depth,measured,G,sim:g,100,99,0,0.03,1,1,1,1,8,depth,3,tile,"
               "sum,1048576,16,4,,mapped,streams,false,alloc-in-loop\n"
               "judge-6-breadth,measured,G,sim:g,108,98,0,0.03,1,1,1,1,8,breadth,3,tile,"
               "sum,1048576,16,4,,mapped,streams,false,alloc-in-loop\n"
               "judge-7,measured,G,sim:g,0.1,0.07,0,0.001,1,1,1,0,,depth,3,tile,"
               "scan,65536,64,4,,pageable,streams,false,\n"
               "judge-8,measured,G,sim:g,0.1,0.13,0,0.001,1,1,1,0,,depth,3,tile,"
               "scan,65536,64,4,,pinned,streams,true,\n");
}

START_TEST(test_goals_are_judged)
{
    write_errors();
    assert_works(AWK "summary.awk a.csv >out");
    char *text = test_file_text("out");
    assert_shown(text, "9 settings; of those 1 may be used to fit, and 8 are held back");
    assert_line(text, "all 8 settings: median", " 1.90 %| 2 % | met");
    assert_line(text, "  worst", " 30.00 %| 20 % | missed");
    assert_line(text, "pinned or registered, no callbacks (4): median", " 1.00 %| 1.5 % | met");
    assert_line(text, "callbacks or pageable (2): median", " 30.00 %| 5 % | missed");
    assert_line(text, "right one of depth and breadth", " 0 of 1 | all | missed");
    assert_shown(text, "of 3 pairs|said to be faster|-4.00 %|104 ms|judge-5-breadth");
    assert_line(text, "noise of the device's repeats, median", " 0.10 %");
    free(text);
}
END_TEST

START_TEST(test_parts_of_options_are_judged)
{
    write_errors();
    assert_works(AWK "summary.awk a.csv >out");
    char *text = test_file_text("out");
    assert_line(text, "\nmay be used to fit ", "   1 |  100.00 %");
    assert_line(text, "\nmemory pageable ", "   1 |  30.00 %| -30.00 %");
    assert_line(text, "\nmemory registered ", "   2 |  1.90 %|  4.00 %");
    assert_line(text, "\ncallbacks yes ", "   1 |  30.00 %|  30.00 %");
    assert_line(text, "\nissue graph ", "   2 |  1.90 %|  4.00 %");
    assert_line(text, "\nmistake alloc-in-loop ", "   2 |  1.00 %|  9.26 %| -9.26 %");
    assert_line(text, "\nways 2 ", "   2 |  1.90 %|  4.00 %");
    assert_line(text, "\nkernels 2 ", "   2 ");
    assert_line(text, "\nkernel sum ", "   4 ");
    assert_line(text, "\ntiles 64 to 255 ", "   2 |  30.00 %");
    assert_line(text, "\ntile bytes 4 KiB to 64 KiB ", "   2 |  30.00 %");
    assert_line(text, "\ntile bytes 64 KiB to 1 MiB ", "   6 ");
    assert_line(text, "\nelements 64k to 1M ", "   2 |  30.00 %");
    assert_line(text, "\ntime 100 us to 1 ms ", "   2 |  30.00 %");
    assert_line(text, "\nhost issues for 0.9 of it or more ", "   1 |  1.00 %");
    assert_line(text, "\npriorities some ", "   2 ");
    assert_line(text, "\nconnections by default ", "   2 |  30.00 %");
    const char *worst = strstr(text, "\nthe worst of those held back");
    ck_assert_ptr_nonnull(worst);
    ck_assert_ptr_null(strstr(worst, "fit-3"));
    assert_shown(worst, "-30.00 %       100 us    0.10 %  judge-7\n"
                        "    --kernel=scan --elements=65536 --tiles=64 --streams=4 "
                        "--memory=pageable");
    free(text);
}
END_TEST

/* One setting with two numbers of queues. */
static void write_measured(const char *path, const char *first, const char *second)
{
    char text[1024];
    snprintf(text, sizeof text,
             COLUMNS "1-depth,measured,G,sim:g,%s,150,0.5,0.001,1,1,1,1,8,depth,3,tile,"
                     "\"scale,sum\",65536,16,4,\"0,-1\",pinned,streams,true,\n"
                     "1-depth,measured,G,sim:g,%s,150,0.5,0.001,1,1,1,1,32,depth,3,tile,"
                     "\"scale,sum\",65536,16,4,\"0,-1\",pinned,streams,true,\n",
             first, second);
    write_file(path, text);
}

/* The fastest of each setting counts, and what is simulated now. */
START_TEST(test_judged_again)
{
    write_measured("first.csv", "100", "210");
    write_measured("again.csv", "120", "200");
    assert_works(AWK "judge.awk -v settings=1 first.csv again.csv >out");
    char *text = test_file_text("out");
    ck_assert_int_eq(plot_count(text, "["), 2);
    assert_shown(
        text,
        "[1-depth/8]\nkernel = scale,sum\nelements = 65536\ntiles = 16\n"
        "streams = 4\npriorities = 0,-1\ncallbacks = yes\nconnections = 8\n|[1-depth/32]");
    free(text);
    write_file("simulated.csv",
               "run,time_ms,settings.connections\n1-depth/8,101,8\n1-depth/32,204,32\n");
    assert_works(
        AWK "judge.awk -v machine=sim:new simulated.csv first.csv again.csv >out.csv && " AWK
            "summary.awk out.csv >out");
    text = test_file_text("out.csv");
    assert_shown(text, "1-depth,measured,G,sim:new,100,101,0.01,0.001,,,,1,8,depth|"
                       "\"scale,sum\",65536,16,4,\"0,-1\",pinned,streams,true,,0.2,,\n|"
                       "sim:new,200,204,0.02,|,0.05,,\n");
    free(text);
    text = test_file_text("out");
    assert_line(text, "all 2 settings: median", "  1.00 %| met");
    assert_line(text, "the device itself at another time, median", "  5.00 %");
    ck_assert_ptr_null(strstr(text, "out of order"));
    free(text);
    ck_assert_int_ne(system(AWK "judge.awk first.csv >out 2>err"), 0);
}
END_TEST

/* Figures of several files: an odd and an even number of values, none, and comments. */
START_TEST(test_calibrations_are_compared)
{
    write_file("a.ini", "[machine]\nformat = 1\nsummary = A 100\n[link]\n"
                        "h2d_bytes_per_s = 55.0e9 ; +-1 %: 4 copies = more\npoll_ns = 30\n"
                        "[kernel sum]\nfixed_ns = 0\n");
    write_file("b.ini", "[link]\nh2d_bytes_per_s = 5.6e10\npoll_ns=10\n"
                        "[kernel sum]\nfixed_ns = 0\n");
    write_file("c.ini", "[link]\nh2d_bytes_per_s = 54e9\n[kernel sum]\nfixed_ns = 0\n");
    assert_works("awk -f " ACCURACY "spread.awk a.ini b.ini c.ini >out");
    char *text = test_file_text("out");
    assert_line(text, "h2d_bytes_per_s", " 3      5.4e+10      5.5e+10      5.6e+10     1.8 %");
    assert_line(text, "poll_ns", " 2           10           20           30    50.0 %");
    assert_line(text, "[kernel sum] fixed_ns",
                " 3            0            0            0     0.0 %");
    ck_assert_ptr_null(strstr(text, "format"));
    ck_assert_ptr_null(strstr(text, "summary"));
    free(text);
}
END_TEST

Suite *accuracy_suite(void)
{
    enum { DRAWS = sizeof draws / sizeof draws[0] };
    Suite *suite = suite_create("accuracy");
    TCase *settings = tcase_create("the settings");
    tcase_add_checked_fixture(settings, test_folder_enter, test_folder_leave);
    tcase_add_loop_test(settings, test_drawn_from_the_seed, 0, DRAWS);
    tcase_add_test(settings, test_memory_drawn_from_the_seed);
    tcase_add_loop_test(settings, test_every_setting_is_possible, 0, DRAWS);
    tcase_add_loop_test(settings, test_every_option_is_drawn, 0,
                        2); /* usual settings leave some out, and edges are too few */
    tcase_add_test(settings, test_what_settings_are_for);
    tcase_add_test(settings, test_parts_suit_a_process);
    tcase_add_test(settings, test_parts_keep_pairs);
    suite_add_tcase(suite, settings);
    TCase *whole = tcase_create("measured whole");
    tcase_add_checked_fixture(whole, test_folder_enter, test_folder_leave);
    tcase_add_test(whole, test_a_machine_against_itself);
    tcase_add_test(whole, test_plain_runs_have_narrow_intervals);
    tcase_add_loop_test(whole, test_measured_times_lie_in_their_intervals, 0, 3);
    tcase_add_test(whole, test_a_part_that_fails);
    tcase_add_test(whole, test_a_part_at_a_time);
    tcase_add_test(whole, test_nothing_to_measure);
    suite_add_tcase(suite, whole);
    TCase *judged = tcase_create("judged");
    tcase_add_checked_fixture(judged, test_folder_enter, test_folder_leave);
    tcase_add_test(judged, test_goals_are_judged);
    tcase_add_test(judged, test_parts_of_options_are_judged);
    tcase_add_test(judged, test_judged_again);
    tcase_add_test(judged, test_calibrations_are_compared);
    suite_add_tcase(suite, judged);
    return suite;
}
