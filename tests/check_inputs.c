/* check_inputs.c - what is read may be anything: devices, pipes without an end or without a
 * writer, lines and files of any length. Every reader ends soon, and says why. */
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The ways to read something; '@' is its name. */
static const char *const readers[] = {
    "@",
    "--device=sim:@ -n 64k -t 2",
    "--machine=@ --model=sim -d sim:h200 -n 64k -t 2",
    "view @",
    "-i @ -t 2",
};
enum { READERS = sizeof readers / sizeof readers[0] };

static void put_name(char *line, size_t room, const char *command, const char *name)
{
    const char *at = strchr(command, '@');
    snprintf(line, room, "%.*s%s%s", (int)(at - command), command, name, at + 1);
}

static void assert_refused(const char *command, const char *words)
{
    int code = program_run(command);
    ck_assert_msg(code == 2, "%s: exit %d: %s", command, code, program_err);
    ck_assert_msg(strstr(program_err, words) != NULL, "%s: no '%s' in: %s", command, words,
                  program_err);
}

START_TEST(devices_and_folders_are_refused)
{
    static const char *const names[] = {"/dev/zero", "/dev/urandom", "/dev/full", "/dev/null",
                                        "/dev/"};
    char line[512];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        put_name(line, sizeof line, readers[_i], names[i]);
        assert_refused(line, names[i]);
        bool folder = i == 4,
             said = strstr(program_err, folder ? "folder" : "device") != NULL ||
                    strstr(program_err, "director") != NULL;
        ck_assert_msg(said, "%s: %s", line, program_err);
    }
}
END_TEST

/* Nobody writes into it, and nobody ever will. */
START_TEST(a_pipe_without_a_writer_is_refused)
{
    char line[512];
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    put_name(line, sizeof line, readers[_i], "./pipe");
    assert_refused(line, "pipe");
}
END_TEST

/* What a program does write is read, from a pipe with a name and from one without. */
START_TEST(pipes_are_read)
{
    char line[512];
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    ck_assert_int_eq(
        system("printf '[a]\\nelements=64k\\ntiles=2\\ndevice=sim:h200\\n' >w.ini"), 0);
    ck_assert_int_eq(system("cat w.ini >pipe &"), 0);
    ck_assert_int_eq(program_run("pipe"), 0);
    snprintf(line, sizeof line, "cat w.ini | %s /dev/stdin >out", PIPELINE_PROGRAM);
    ck_assert_int_eq(system(line), 0);
    snprintf(line, sizeof line, "sleep 3 | cat - w.ini | %s /dev/stdin >out", PIPELINE_PROGRAM);
    ck_assert_int_eq(system(line), 0);
    snprintf(line, sizeof line,
             "cat %s/../configs/machines/h200.ini | %s -d sim:/dev/stdin -n 64k -t 2 >out",
             TESTS_FOLDER, PIPELINE_PROGRAM);
    ck_assert_int_eq(system(line), 0);
    ck_assert_int_eq(program_run("-d sim:h200 --no-data -n 1M -t 3000 --timeline=t.csv"), 0);
    snprintf(line, sizeof line, "cat t.csv | %s view /dev/stdin >out.csv", PIPELINE_PROGRAM);
    ck_assert_int_eq(system(line), 0);
    ck_assert_int_eq(system("test -s out.csv"), 0);
}
END_TEST

/* Each writes for ever what a reader of that form goes on reading: one line, or one value of
 * JSON. */
static const struct {
    const char *writes, *words;
} endless[] = {
    {"yes xxxxxxxx | tr -d '\\n'", "longer than 1 MiB"},
    {"(cat t.csv; yes xxxxxxxx | tr -d '\\n')", "longer than 1 MiB"},
    {"(cat trace.csv; yes xxxxxxxx | tr -d '\\n')", "longer than 1 MiB"},
    {"(printf '{\"a\":['; yes 1,)", "more than 64 MiB"},
    {"cat /dev/zero", "longer than 1 MiB"},
};

START_TEST(endless_pipes_are_refused)
{
    char line[512];
    ck_assert_int_eq(program_run("-d sim:h200 --no-data -n 1M -t 3 --timeline=t.csv"), 0);
    ck_assert_int_eq(
        system("printf 'Start (ns),Duration (ns),Strm,Name\\n0,1,7,k\\n' >trace.csv"), 0);
    snprintf(line, sizeof line, "%s | %s view /dev/stdin >out 2>err; test $? -eq 0",
             endless[_i].writes, PIPELINE_PROGRAM);
    ck_assert_int_ne(system(line), 0);
    char *text = test_file_text("err");
    ck_assert_msg(strstr(text, endless[_i].words) != NULL, "%s: %s", line, text);
    free(text);
}
END_TEST

START_TEST(large_texts_are_refused)
{
    char line[512];
    ck_assert_int_eq(system("(echo '[a]'; yes '; a comment' | head -c 2M) >large.ini"), 0);
    put_name(line, sizeof line, readers[_i], "./large.ini");
    assert_refused(line, "larger than 1 MiB");
}
END_TEST

/* A whole line and a whole value may be as long as they are allowed to be. */
START_TEST(long_lines_are_read)
{
    ck_assert_int_eq(system("(echo 'Start (ns),Duration (ns),Strm,Name'; printf '0,1,7,';"
                            "head -c 1048000 /dev/zero | tr '\\0' x; echo) >trace.csv"),
                     0);
    ck_assert_msg(program_run("view trace.csv") == 0, "%s", program_err);
    ck_assert_int_eq(system("(echo 'Start (ns),Duration (ns),Strm,Name'; printf '0,1,7,';"
                            "head -c 1048577 /dev/zero | tr '\\0' x; echo) >trace.csv"),
                     0);
    assert_refused("view trace.csv", "trace.csv:2: the line is longer than 1 MiB");
}
END_TEST

Suite *inputs_suite(void)
{
    Suite *suite = suite_create("inputs");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, test_folder_enter, test_folder_leave);
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, devices_and_folders_are_refused, 0, READERS);
    tcase_add_loop_test(all, a_pipe_without_a_writer_is_refused, 0, READERS);
    tcase_add_test(all, pipes_are_read);
    tcase_add_loop_test(all, endless_pipes_are_refused, 0,
                        (int)(sizeof endless / sizeof endless[0]));
    tcase_add_loop_test(all, large_texts_are_refused, 0, 3);
    tcase_add_test(all, long_lines_are_read);
    suite_add_tcase(suite, all);
    return suite;
}
