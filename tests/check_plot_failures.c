/* check_plot_failures.c - what is said where gnuplot can't draw, and pictures drawn by hand and
 * by the program. */
#include "plot_cases.h"
#include "term/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- what is said where it can't be drawn --- */

/* Refused with one line that has all of `words` (separated by '|'); the data is kept. */
static void assert_kept(const struct report *report, const char *words)
{
    char list[256];
    size_t size;
    struct error error = {0};
    ck_assert_int_eq(plot_test_draw(report, "x.svg", &plot_slide, &error), STATUS_FAILED);
    snprintf(list, sizeof list, "%s", words);
    for (char *word = strtok(list, "|"); word != NULL; word = strtok(NULL, "|"))
        ck_assert_msg(strstr(error.text, word) != NULL, "no '%s' in: %s", word, error.text);
    ck_assert_ptr_null(strchr(error.text, '\n'));
    ck_assert_msg(access("x.svg", F_OK) != 0, "half a picture was left behind");
    char *kept = plot_read_file("x.svg.csv", &size);
    char *expected = test_written(report, write_csv_timeline);
    ck_assert_str_eq(kept, expected);
    ck_assert_int_eq(unlink("x.svg.csv"), 0);
    free(kept);
    free(expected);
}

/* Puts a fake gnuplot of `kind` into PATH. */
static void take_fake(const char *kind)
{
    char path[128], command[256];
    snprintf(path, sizeof path, "%s/bin", plot_folder);
    snprintf(command, sizeof command, TESTS_FOLDER "/hostile/gnuplot.sh %s %s", kind, path);
    ck_assert_int_eq(system(command), 0);
    setenv("PATH", path, 1);
}

/* Returns true if the process whose number is in `file` is running; no file: there is none. */
static bool is_running(const char *file)
{
    char path[64], text[512];
    size_t size;
    if (access(file, F_OK) != 0)
        return false;
    char *number = plot_read_file(file, &size);
    snprintf(path, sizeof path, "/proc/%d/stat", atoi(number));
    free(number);
    FILE *stat = fopen(path, "r");
    if (stat == NULL)
        return false;
    text[fread(text, 1, sizeof text - 1, stat)] = '\0';
    fclose(stat);
    const char *state = strrchr(text, ')'); /* behind the name */
    return state != NULL && state[2] != 'Z';
}

static void assert_ended(const char *kind)
{
    for (int i = 0; i < 1000 && (is_running("bin/pid") || is_running("bin/grandchild")); i++)
        usleep(10000);
    ck_assert_msg(!is_running("bin/pid"), "%s: gnuplot is still running", kind);
    ck_assert_msg(!is_running("bin/grandchild"), "%s: its child is still running", kind);
}

/* Fakes in gnuplot's place fail in the ways that a gnuplot can, and each must be reported. */
START_TEST(whatever_gnuplot_does_is_said)
{
    static const struct {
        const char *kind, *says;
    } cases[] = {
        {"missing", "cannot draw 'x.svg'|there is no gnuplot|gnuplot-nox|'x.svg.csv'"},
        {"not-executable", "gnuplot can't be started: Permission denied"},
        {"folder", "gnuplot can't be started: Permission denied"},
        {"no-program", "gnuplot can't be started: Exec format error"},
        {"no-interpreter", "gnuplot can't be started: No such file"},
        {"fails", "gnuplot: line 1: unknown;|'x.svg.csv'"},
        {"fails-silently", "gnuplot: it gives no reason"},
        {"complains-much", "gnuplot: line 9: at last;"},
        {"escapes", "gnuplot: line 1: \\x1b[31m"},
        {"killed", "ended by signal 9"},
        {"nothing", "timeline.gp drew nothing"},
        {"half", "timeline.gp drew no whole .svg picture"},
        {"other", "timeline.gp drew no whole .svg picture"},
        {"floods-output", "gnuplot printed over 64 MiB and was ended"},
    };
    char before[4096];
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    struct test_report *test = test_report_new(1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        take_fake(cases[i].kind);
        assert_kept(&test->report, cases[i].says);
        setenv("PATH", before, 1);
        assert_ended(cases[i].kind);
    }
    plot_write_file("bin/gnuplot",
                    "#!/bin/sh\nprintf 'sh: 1: awk: not found\n\nline 9\n' >&2\nexit 1\n",
                    0755);
    setenv("PATH", "bin", 1);
    assert_kept(&test->report, "gnuplot: awk: not found;");
    free(test);
}
END_TEST

/* One that does not end is ended, with all that it started. */
START_TEST(a_gnuplot_that_hangs_is_ended)
{
    static const char *const kinds[] = {"hangs", "hangs-closed", "hangs-below", "stopped",
                                        "floods-errors"};
    char before[4096];
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    struct test_report *test = test_report_new(1);
    plot_test_seconds = 1;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        take_fake(kinds[i]);
        assert_kept(&test->report, "gnuplot took over 1 s and was ended");
        setenv("PATH", before, 1);
        assert_ended(kinds[i]);
    }
    free(test);
}
END_TEST

/* A picture is there when gnuplot has ended, whoever else has its output open. */
START_TEST(what_gnuplot_leaves_running_is_not_waited_for)
{
    static const char *const kinds[] = {"grandchild", "escaped"};
    char before[4096], name[16];
    size_t size;
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    struct test_report *test = test_report_new(1);
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 3; k++) {
            snprintf(name, sizeof name, "x%s", (const char *[]){".svg", ".png", ".PDF"}[k]);
            take_fake(kinds[i]);
            plot_assert_drawn(&test->report, name, &plot_slide);
            free(plot_read_file(name, &size));
            ck_assert_uint_gt(size, 10);
            setenv("PATH", before, 1);
            assert_ended(kinds[i]);
        }
    }
    free(test);
}
END_TEST

/* Of a picture that is half written nothing comes into its place. */
START_TEST(a_picture_that_does_not_fit_is_a_failure)
{
    enum { ROOM = 40000 }; /* for the scripts and the data, but not for the picture */
    const struct rlimit little = {.rlim_cur = ROOM, .rlim_max = RLIM_INFINITY};
    struct error error = {0};
    size_t size;
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(4);
    plot_write_file("x.svg", "the one before", 0644);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
    ck_assert_int_eq(plot_test_draw(&test->report, "x.svg", &plot_slide, &error),
                     STATUS_FAILED);
    ck_assert_msg(strstr(error.text, "cannot write the output file '") != NULL &&
                      strstr(error.text, "x.svg': File too large") != NULL,
                  "%s", error.text);
    char *text = plot_read_file("x.svg", &size);
    ck_assert_str_eq(text, "the one before");
    free(text);
    error = (struct error){0};
    ck_assert_int_eq(symlink("/dev/full", "full.svg"), 0);
    ck_assert_int_eq(plot_test_draw(&test->report, "full.svg", &plot_slide, &error),
                     STATUS_FAILED);
    ck_assert_msg(strstr(error.text, "No space left") != NULL, "%s", error.text);
    free(test);
}
END_TEST

/* Neither is a picture mixed with what stands where a standard descriptor should be. */
START_TEST(closed_descriptors_do_not_matter)
{
    struct error error = {0};
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(1);
    int kept[STDERR_FILENO + 1];
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 100);
        close(fd);
    }
    enum status status = plot_test_draw(&test->report, "x.svg", &plot_slide, &error);
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        dup2(kept[fd], fd); /* the tests' own words go there */
        close(kept[fd]);
    }
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    plot_assert_texts("x.svg", "engines|streams|H2D");
    free(test);
}
END_TEST

/* gnuplot ends when the program does, even where that can't do anything any more. */
START_TEST(gnuplot_ends_with_the_program)
{
    static const struct {
        const char *kind, *last; /* the file that is there when all of it has started */
        int number;
    } cases[] = {{"hangs", "bin/pid", SIGKILL}, {"hangs-below", "bin/grandchild", SIGTERM}};
    char path[4096];
    int ended;
    snprintf(path, sizeof path, "%s/bin:%s", plot_folder, getenv("PATH"));
    for (size_t i = 0; i < 2; i++) {
        take_fake(cases[i].kind);
        setenv("PATH", path, 1);
        pid_t program = fork();
        if (program == 0) {
            execl(PIPELINE_PROGRAM, "pipeline", "--device=sim:h200", "--no-data", "-q", "-n1M",
                  "-t4", "--timeline=x.svg", "--gantt=none", NULL);
            _exit(127);
        }
        for (int k = 0; k < 2000 && !is_running(cases[i].last); k++)
            usleep(10000);
        ck_assert(is_running(cases[i].last));
        ck_assert_int_eq(kill(program, cases[i].number), 0);
        ck_assert_int_eq(waitpid(program, &ended, 0), program);
        ck_assert(WIFSIGNALED(ended) && WTERMSIG(ended) == cases[i].number);
        assert_ended(cases[i].kind);
        ck_assert_int_ne(access("x.svg", F_OK), 0);
    }
}
END_TEST

START_TEST(scripts_come_from_a_folder)
{
    size_t size;
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(1);
    ck_assert_int_eq(mkdir("it's \"mine\"", 0755), 0);
    setenv("PIPELINE_PLOTS", "it's \"mine\"", 1);
    assert_kept(&test->report, "PIPELINE_PLOTS|timeline.gp|No such file");
    plot_write_file("it's \"mine\"/timeline.gp", "a = 1\nset nonsense\n", 0644);
    assert_kept(&test->report, "timeline.gp|line 2");
    plot_write_file("it's \"mine\"/timeline.gp",
                    "set print '-'\nload style_gp\n"
                    "print sprintf('<svg>%s%s %s %s</svg>', mark, ARG2, ARG3, ARG4)\n",
                    0644);
    plot_write_file("it's \"mine\"/style.gp", "mark = '!'\n", 0644);
    plot_assert_drawn(&test->report, "mine.svg", &plot_slide);
    char *text = plot_read_file("mine.svg", &size);
    ck_assert_str_eq(text, "<svg>!.svg slide both</svg>\n");
    free(text);
    free(test);
}
END_TEST

/* The name of the picture is as long as any can be, so there is none for its data. */
START_TEST(data_that_cannot_be_kept_is_said)
{
    struct error error = {0};
    struct test_report *test = test_report_new(1);
    char path[256] = "";
    memset(path, 'x', 251);
    strcat(path, ".svg");
    if (plot_have_gnuplot())
        ck_assert_int_eq(plot_test_draw(&test->report, path, &plot_slide, &error), STATUS_OK);
    unlink(path);
    take_fake("missing");
    ck_assert_int_eq(plot_test_draw(&test->report, path, &plot_slide, &error), STATUS_FAILED);
    ck_assert_msg(strstr(error.text, "there is no gnuplot") != NULL &&
                      strstr(error.text, "nor is its data kept: ") != NULL &&
                      strstr(error.text, "x.svg.csv'") != NULL,
                  "%s", error.text);
    ck_assert_int_ne(access(path, F_OK), 0);
    free(test);
}
END_TEST

/* --- by hand --- */

START_TEST(kinds_of_ops_are_those_of_the_program)
{
    size_t size;
    ck_assert_int_eq(
        system("echo @plot-ops@ | " BUILD_FOLDER "/print-pages /usr >ops.gp 2>err"), 0);
    char *made = plot_read_file("ops.gp", &size);
    char *kept = plot_read_file(TESTS_FOLDER "/../plots/ops.gp", &size);
    ck_assert_msg(strcmp(made, kept) == 0, "plots/ops.gp is not of today: run make ops");
    for (int kind = 0; kind < OP_KIND_COUNT; kind++)
        ck_assert_ptr_nonnull(strstr(kept, op_rows[kind].label));
    free(made);
    free(kept);
}
END_TEST

int plot_by_hand(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "gnuplot -c " TESTS_FOLDER "/../plots/%s 2>err",
             arguments);
    return system(command);
}

START_TEST(scripts_run_by_hand)
{
    size_t size;
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(4);
    char *data = test_written(&test->report, write_csv_timeline);
    plot_write_file("it's a=b.csv", data, 0644);
    free(data);
    free(test);
    ck_assert_int_eq(plot_by_hand("timeline.gp \"it's a=b.csv\" \"it's.svg\""), 0);
    ck_assert_int_eq(rename("it's.svg", "its.svg"), 0);
    plot_assert_texts("its.svg", "serial|4-way");
    ck_assert_int_eq(plot_by_hand("timeline.gp \"it's a=b.csv\" one.svg paper both 3"), 0);
    plot_assert_texts("one.svg", "engines|streams|1.82x, limit 500 us");
    ck_assert_int_eq(plot_by_hand("bandwidth.gp \"it's a=b.csv\" bandwidth.svg"), 0);
    plot_assert_texts("bandwidth.svg",
                      "bandwidth against copy size|1 MiB|H2D|D2H|bytes per copy");
    ck_assert_int_ne(plot_by_hand("timeline.gp \"it's a=b.csv\" x.svg slide both 5"), 0);
    char *text = plot_read_file("err", &size);
    ck_assert_ptr_nonnull(strstr(text, "there is no run 5: there are 4"));
    free(text);
    ck_assert_int_ne(plot_by_hand("timeline.gp nowhere.csv x.svg"), 0);
    ck_assert_int_ne(plot_by_hand("sweep.gp \"it's a=b.csv\" x.svg"), 0);
    ck_assert_int_ne(plot_by_hand("timeline.gp \"it's a=b.csv\" x.doc"), 0);
}
END_TEST

/* Names that mean something to a shell, to gnuplot or to printf(). */
START_TEST(no_name_is_run_by_hand)
{
    static const char *const folders[] = {
        "a'; touch BAD; echo '",
        "`touch BAD`$(touch BAD)",
        "\"; system(\"touch BAD\"); \"",
        "x\ntouch BAD\n",
        "%s%n",
        "caf\xc3\xa9 \xff",
    };
    static const char *const pictures[] = {
        "|touch BAD; .svg",   "< touch BAD; .svg", "~.svg",
        "`touch BAD`'\".svg", "%s%n.svg",          "\xff\n.svg",
    };
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(1);
    char *data = test_written(&test->report, write_csv_timeline), script[128], file[128],
         target[128];
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const char *const words[] = {"gnuplot", "-c", script, file, target, NULL};
        ck_assert_int_eq(mkdir("new", 0755), 0);
        ck_assert_int_eq(
            system("cp " TESTS_FOLDER "/../plots/*.gp " TESTS_FOLDER "/../plots/*.awk new"), 0);
        ck_assert_int_eq(rename("new", folders[i]), 0);
        snprintf(script, sizeof script, "%s/timeline.gp", folders[i]);
        snprintf(file, sizeof file, "%s/%s", folders[i], "it's `touch BAD` < a=b.csv");
        snprintf(target, sizeof target, "%s", pictures[i]);
        plot_write_file(file, data, 0644);
        struct child gnuplot = {
            .arguments = (char *const *)words, .output_max = 4096, .seconds = 60};
        ck_assert_int_eq(child_run(&gnuplot), CHILD_EXITED);
        ck_assert_msg(gnuplot.code == 0, "%s: %s", script, gnuplot.errors);
        free(gnuplot.output);
        ck_assert_msg(access(pictures[i], F_OK) == 0, "no '%s'", pictures[i]);
        setenv("PIPELINE_PLOTS", folders[i], 1);
        plot_assert_drawn(&test->report, "x.svg", &plot_slide);
        ck_assert_msg(access("BAD", F_OK) != 0, "'%s' was run as a command", folders[i]);
    }
    free(data);
    free(test);
}
END_TEST

/* What is wrong is said without what was typed, which gnuplot would take for a format. */
START_TEST(no_argument_is_run_by_hand)
{
    static const char *const wrong[][3] = {
        {"timeline.gp", "%s%n.doc", "slide"},
        {"timeline.gp", "x.svg", "%s%n"},
        {"timeline.gp", "x.svg", "slide '%s%n'"},
        {"timeline.gp", "x.svg", "slide 'both|engines'"},
        {"timeline.gp", "x.svg", "slide '`touch BAD`'"},
        {"timeline.gp", "x.svg", "slide both '`touch BAD`%n'"},
        {"sweep.gp", "x.svg", ""},
        {"bandwidth.gp", "x.svg", "'|touch BAD'"},
        {"strides.gp", "x.svg", ""},
        {"tiles.gp", "x.svg", ""},
        {"accuracy.gp", "x.svg", ""},
    };
    char arguments[256];
    size_t size;
    if (!plot_have_gnuplot())
        return;
    plot_write_file("%s%n.csv", "run,engine,%s%n,start_ns,sample\n%n,%s,%n,%s,%n\n", 0644);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(arguments, sizeof arguments, "%s %%s%%n.csv %s %s", wrong[i][0], wrong[i][1],
                 wrong[i][2]);
        int ended = plot_by_hand(arguments);
        char *text = plot_read_file("err", &size);
        ck_assert_msg(WIFEXITED(ended) && WEXITSTATUS(ended) != 0, "%s: %s", arguments, text);
        ck_assert_msg(strstr(text, "%n") == NULL && strstr(text, "detected") == NULL, "%s: %s",
                      arguments, text);
        free(text);
        ck_assert_int_ne(access("BAD", F_OK), 0);
    }
}
END_TEST

/* Spreadsheets drop the lines of provenance, and end lines with CR LF. */
START_TEST(bare_and_foreign_lines_are_drawn)
{
    if (!plot_have_gnuplot())
        return;
    struct test_report *test = test_report_new(2);
    char *data = test_written(&test->report, write_csv_timeline);
    plot_write_file("whole.csv", data, 0644);
    free(data);
    free(test);
    ck_assert_int_eq(system("grep -v '^#' whole.csv >bare.csv"), 0);
    ck_assert_int_eq(system("sed 's/$/\\r/' whole.csv >crlf.csv"), 0);
    ck_assert_int_eq(plot_by_hand("timeline.gp whole.csv whole.svg"), 0);
    ck_assert_int_eq(plot_by_hand("timeline.gp bare.csv bare.svg"), 0);
    ck_assert_int_eq(plot_by_hand("timeline.gp crlf.csv crlf.svg"), 0);
    for (int engine = 0; engine < ENGINE_CPU; engine++) {
        ck_assert_int_eq(plot_boxes("bare.svg", engine), plot_boxes("whole.svg", engine));
        ck_assert_int_eq(plot_boxes("crlf.svg", engine), plot_boxes("whole.svg", engine));
    }
    plot_assert_texts("bare.svg", "serial|2-way|H2D|0|3");
    plot_assert_texts("crlf.svg", "serial|2-way|1 ms|1.00x");
}
END_TEST

/* --- the program --- */

START_TEST(the_program_draws)
{
    size_t size;
    static const char run[] = PIPELINE_PROGRAM
        " --device=sim:h200 --no-data -q -n 1M -t 4 --timeline=x.svg >out 2>err </dev/null";
    static const char hidden[] =
        "PATH=/nonexistent " PIPELINE_PROGRAM
        " --device=sim:h200 --no-data -q -n 1M -t 4 --timeline=y.svg >out 2>err </dev/null";
    static const char piped[] =
        "ln -s /dev/stdout z.svg; " PIPELINE_PROGRAM
        " --device=sim:h200 --no-data -q -n 1M -t 4 --timeline=z.svg --gantt=none | cat >z";
    static const char childless[] =
        "env --ignore-signal=CHLD " PIPELINE_PROGRAM
        " --device=sim:h200 --no-data -q -n 1M -t 4 --timeline=c.svg >out 2>err </dev/null";
    int ended = system(hidden);
    ck_assert_int_eq(WEXITSTATUS(ended), 1);
    char *text = plot_read_file("err", &size);
    ck_assert_int_eq(plot_count(text, "\n"), 1);
    free(text);
    ck_assert_int_eq(access("y.svg.csv", F_OK), 0);
    if (!plot_have_gnuplot())
        return;
    ck_assert_int_eq(system(run), 0);
    plot_assert_texts("x.svg", "engines|streams|H2D");
    ck_assert_int_ne(access("x.svg.csv", F_OK), 0);
    ck_assert_int_eq(system(childless), 0);
    ck_assert_int_eq(system(piped), 0);
    text = plot_read_file("z", &size);
    ck_assert_ptr_nonnull(strstr(text, "</svg>"));
    free(text);
}
END_TEST

TCase *plot_hand_case(void)
{
    TCase *tests = tcase_create("hand");
    tcase_add_checked_fixture(tests, plot_enter_folder, plot_leave_folder);
    tcase_add_test(tests, scripts_run_by_hand);
    tcase_add_test(tests, no_name_is_run_by_hand);
    tcase_add_test(tests, no_argument_is_run_by_hand);
    tcase_add_test(tests, bare_and_foreign_lines_are_drawn);
    tcase_add_test(tests, the_program_draws);
    tcase_add_test(tests, kinds_of_ops_are_those_of_the_program);
    return tests;
}

TCase *plot_failure_case(void)
{
    TCase *tests = tcase_create("failures");
    tcase_add_checked_fixture(tests, plot_enter_folder, plot_leave_folder);
    tcase_add_test(tests, whatever_gnuplot_does_is_said);
    tcase_add_test(tests, a_gnuplot_that_hangs_is_ended);
    tcase_add_test(tests, what_gnuplot_leaves_running_is_not_waited_for);
    tcase_add_test(tests, a_picture_that_does_not_fit_is_a_failure);
    tcase_add_test(tests, closed_descriptors_do_not_matter);
    tcase_add_test(tests, gnuplot_ends_with_the_program);
    tcase_add_test(tests, scripts_come_from_a_folder);
    tcase_add_test(tests, data_that_cannot_be_kept_is_said);
    return tests;
}
