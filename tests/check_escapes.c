/* check_escapes.c - names of every kind that hold what a terminal obeys, in every place where
 * one can stand: nothing of it reaches standard output, standard error or a file as it is. */
#include "core/escape.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sets a title, ends the line, is a C1 control, turns the direction of writing, is no UTF-8. */
#define ESC_NAME                                                                               \
    "x\x1b]0;t\x07\rb\xc2\x9b"                                                                 \
    "31m\xe2\x80\xae\xff"

/* The same, as a line of a file can have it. */
#define ESC_LINE                                                                               \
    "x\x1b]0;t\x07_b\xc2\x9b"                                                                  \
    "31m\xe2\x80\xae\xff"

#define SMALL_RUN "--elements=64k --tiles=4"

#define TRACE                                                                                  \
    "Start (ns),Duration (ns),CorrId,Strm,Device,Bytes (MB),Name\n"                            \
    "0,1000,1,7," ESC_LINE " (0),1,[CUDA memcpy Host-to-Device]\n"                             \
    "1000,1000,2,7," ESC_LINE " (0),,=cmd|" ESC_LINE "(int)\n"                                 \
    "2000,1000,3,8," ESC_LINE " (0),,-" ESC_LINE "'\\x1b\n"                                    \
    "3000,1000,4,8," ESC_LINE " (0),1,[CUDA memcpy Device-to-Host]\n"
#define OWN                                                                                    \
    "# pipeline 0 timeline\n# run: " ESC_LINE "\n#   timing: virtual\n#   device: " ESC_LINE   \
    "\nrun,op,kind,name,tile,stream,engine,lane,bytes,issue_ns,start_ns,end_ns\n" ESC_LINE     \
    ",0,kernel," ESC_LINE ",0,0,compute,0,0,0,0,10\n"

/* Fails where `text` holds what it should not, but for ends of lines and a picture's tabs. */
static void assert_harmless(const char *what, const char *text)
{
    bool picture = strncmp(text, "<?xml", 5) == 0;
    for (const char *at = text; *at != '\0';) {
        uint32_t character;
        size_t length = escape_utf8(at, &character);
        bool harmless = length > 0 && (character == '\n' || (picture && character == '\t') ||
                                       !escape_is_needed(character));
        ck_assert_msg(harmless, "%s: byte %#x at: %.40s", what, (unsigned char)*at,
                      at - text > 20 ? at - 20 : text);
        at += length;
    }
}

/* Runs `pipeline COMMAND`, in which every '@' is the name, behind `environment`. */
static int run(const char *environment, const char *command)
{
    char line[1024], *to = line;
    to += sprintf(to, "%s %s ", environment, PIPELINE_PROGRAM);
    for (const char *at = command; *at != '\0'; at++)
        to += *at == '@' ? sprintf(to, "%s", ESC_NAME) : (*to = *at, 1);
    strcpy(to, " >out 2>err </dev/null");
    int status = system(line);
    ck_assert_msg(WIFEXITED(status), "%s: signal", command);
    return WEXITSTATUS(status);
}

static void assert_harmless_file(const char *command, const char *path)
{
    char *text = test_file_text(path);
    assert_harmless(command, text);
    free(text);
}

/* Places where a name is refused: the error shows it, and recognisably. */
static const char *const refused[] = {
    "'--@'",
    "'@'",
    "'@.ini'",
    "'--tiles=@'",
    "'--kernel=@'",
    "'--mistake=@'",
    "'--device=@'",
    "'--device=sim:@'",
    "'--device=sim:./@'",
    "'--machine=@' --model=sim",
    "'--machine=./@' --model=sim",
    "'--input=@'",
    "'--input=@.npy'",
    "'--output=/nowhere/@'",
    "'--timeline=@'",
    "'--timeline=/nowhere/@.csv'",
    "'--sweep=@=1'",
    "'--sweep=streams=@'",
    "'--format=@'",
    "'--gantt=@'",
    "'--fail-above=@'",
    "'bench' '@'",
    "lesson '@'",
    "help '@'",
    "list '@'",
    "compare '@'",
    "calibrate '@'",
    "calibrate '--device=sim:./@'",
    "view '@'",
    "view '--before=@' '--after=@'",
    "bad.ini",
    "key.ini",
    "section.ini",
    "'@-run.ini'",
    "'--device=sim:./bad-machine.ini'",
    "'--device=sim:./bad-summary.ini'",
    "view bad.csv",
    "view trace.csv '--device=@'",
};

START_TEST(refusals_show_names_escaped)
{
    int code = run("", refused[_i]);
    ck_assert_msg(code == 1 || code == 2, "%s: exit %d", refused[_i], code);
    char *text = test_file_text("err");
    assert_harmless(refused[_i], text);
    ck_assert_msg(strstr(text, "\\x1b") != NULL, "%s: %s", refused[_i], text);
    free(text);
}
END_TEST

/* Places where a name is taken, and comes back in reports and files. */
static const char *const taken[] = {
    SMALL_RUN " '--device=sim:./@.ini'",
    SMALL_RUN " '--device=sim:./@.ini' --dry-run",
    SMALL_RUN " '--device=sim:./@.ini' --format=json -v",
    SMALL_RUN " '--device=sim:./@.ini' --format=csv",
    SMALL_RUN " '--device=sim:./@.ini' '--output=@.npy' -v",
    SMALL_RUN " '--device=sim:./@.ini' --timeline=t.csv --timeline=t.json --timeline=t.html",
    SMALL_RUN " '--sweep=device=sim:./@.ini,sim:h200'",
    SMALL_RUN " '--sweep=device=sim:./@.ini,sim:h200' --format=json",
    SMALL_RUN " '--sweep=device=sim:./@.ini,sim:h200' --format=csv",
    SMALL_RUN " --device=sim:h200 '--machine=./@.ini' --model=sim --tiles=auto",
    "compare " SMALL_RUN " '--device=sim:./@.ini'",
    "run.ini",
    "view trace.csv",
    "view trace.csv -v --gantt=streams",
    "view trace.csv --format=json",
    "view trace.csv --format=csv",
    "view trace.csv --timeline=t.csv --timeline=t.json --timeline=t.html",
    "view '@.csv'",
    "view '@.csv' trace.csv --format=csv --timeline=t.csv",
    "view own.csv -v",
    "view --before=devices.csv --after=devices.csv -v",
};

START_TEST(reports_show_names_escaped)
{
    static const char *const files[] = {"t.csv", "t.json", "t.html"};
    int code = run("", taken[_i]);
    char *text = test_file_text("err");
    ck_assert_msg(code == 0, "%s: exit %d: %s", taken[_i], code, text);
    assert_harmless(taken[_i], text);
    free(text);
    assert_harmless_file(taken[_i], "out");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (access(files[i], R_OK) == 0 && strcmp(files[i], "t.html") != 0)
            assert_harmless_file(taken[_i], files[i]);
    }
}
END_TEST

/* Values of the environment that a message tells of. */
START_TEST(environment_is_shown_escaped)
{
    int code =
        run("PIPELINE_PLOTS='" ESC_NAME "'", SMALL_RUN " --device=sim:h200 --timeline=t.svg");
    ck_assert_int_eq(code, 1);
    char *text = test_file_text("err");
    assert_harmless("PIPELINE_PLOTS", text);
    ck_assert_ptr_nonnull(strstr(text, "\\x1b"));
    free(text);
}
END_TEST

/* A picture says the same as a page, in text that XML can hold. */
START_TEST(pictures_show_names_escaped)
{
    if (system("command -v gnuplot >/dev/null") != 0)
        return;
    ck_assert_int_eq(run("", "view trace.csv --timeline=t.svg"), 0);
    assert_harmless_file("view --timeline=t.svg", "t.svg");
    ck_assert_int_eq(run("", SMALL_RUN " '--device=sim:./@.ini' --timeline=t.svg"), 0);
    assert_harmless_file("--timeline=t.svg", "t.svg");
}
END_TEST

/* What was escaped in this program's CSV comes back as it was. */
START_TEST(names_come_back_from_csv)
{
    ck_assert_int_eq(run("", "view '@.csv' trace.csv --timeline=t.csv -q"), 0);
    ck_assert_int_eq(run("", "view t.csv --timeline=again.csv -q"), 0);
    ck_assert_int_eq(system("grep -v '^#' t.csv >t.rows; grep -v '^#' again.csv >again.rows"),
                     0);
    ck_assert_int_eq(system("cmp t.rows again.rows && grep -q '^.x.*x1b' t.rows"), 0);
}
END_TEST

static void enter(void)
{
    char command[512];
    test_folder_enter();
    test_file_put("bad.ini", "[run]\ntiles=" ESC_LINE "\n");
    test_file_put("key.ini", "[run]\n" ESC_LINE "=1\n");
    test_file_put("section.ini", "[" ESC_LINE "]\ntiles=1\n");
    test_file_put("bad-machine.ini", "[machine]\n" ESC_LINE "=1\n");
    test_file_put("bad-summary.ini", "[machine]\nsummary = " ESC_LINE "\n");
    test_file_put("bad.csv", TRACE ESC_LINE ",1000,4,8,a GPU,1,a\n");
    test_file_put("trace.csv", TRACE);
    test_file_put(ESC_NAME ".csv", TRACE);
    test_file_put("devices.csv",
                  TRACE "0,1000,5,7," ESC_LINE " (1),,a\n"); /* runs named by them */
    test_file_put("own.csv", OWN);
    test_file_put("run.ini", "[run]\nelements=64k\ntiles=2\ndevice=sim:./" ESC_LINE ".ini\n");
    test_file_put(ESC_NAME "-run.ini", "[global]\ntiles=2\n");
    snprintf(command, sizeof command,
             "cp " TESTS_FOLDER "/../configs/machines/h200.ini '" ESC_NAME
             ".ini' && cp '" ESC_NAME ".ini' '" ESC_LINE ".ini'");
    ck_assert_int_eq(system(command), 0);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

Suite *escapes_suite(void)
{
    Suite *suite = suite_create("escapes");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, enter, test_folder_leave);
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, refusals_show_names_escaped, 0, COUNT(refused));
    tcase_add_loop_test(all, reports_show_names_escaped, 0, COUNT(taken));
    tcase_add_test(all, environment_is_shown_escaped);
    tcase_add_test(all, pictures_show_names_escaped);
    tcase_add_test(all, names_come_back_from_csv);
    suite_add_tcase(suite, all);
    return suite;
}
