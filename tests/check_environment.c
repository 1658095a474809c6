/* check_environment.c - what a caller's environment may change: nothing, where the program runs
 * with rights that its caller lacks; and no number, whatever the locale. */
#include "lib/pipeline.h"
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <check.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Makes ./other, the program with the rights of a user that is not its caller. False where that
 * can't be. */
static bool make_set_uid(void)
{
    enum { NOBODY = 65534 };
    struct statvfs about;
    char command[512];
    snprintf(command, sizeof command, "cp '%s' other", program_path);
    ck_assert_int_eq(system(command), 0);
    return chown("other", NOBODY, NOBODY) == 0 && chmod("other", 04755) == 0 &&
           chmod(".", 0755) == 0 && statvfs("other", &about) == 0 &&
           (about.f_flag & ST_NOSUID) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;
}

START_TEST(test_set_uid)
{
    const char *plain = program_path;
    setenv("PIPELINE_OPENBLAS", "./libnone.so", 1);
    ck_assert_int_eq(program_run("list kernels"), 0);
    assert_says(program_out, "./libnone.so");
    if (make_set_uid()) {
        program_path = "./other";
#ifndef SANITIZED /* which can't look into such a process, and calls that a failure */
        ck_assert_int_eq(program_run("list kernels"), 0);
#else
        program_run("list kernels");
#endif
        ck_assert_ptr_null(strstr(program_out, "libnone"));
        program_run("record ./other"); /* would have those rights */
        assert_says(program_err, "rights");
        program_path = plain;
    } else {
        fprintf(stderr, "environment: skipped: no program can be set-uid here\n");
    }
    unsetenv("PIPELINE_OPENBLAS");
}
END_TEST

/* Makes a locale, "commas", in which 1.5 is 1,5. False where that can't be. */
static bool make_commas(void)
{
    test_file_put("commas.txt", "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\n"
                                "grouping 3;3\nEND LC_NUMERIC\n");
    if (system("localedef -c -i commas.txt -f ANSI_X3.4-1968 ./commas >made.txt 2>&1") < 0)
        return false;
    setenv("LOCPATH", ".", 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* glibc keeps LOCPATH's folders for ever */
    const bool made = setlocale(LC_NUMERIC, "commas") != NULL;
    setlocale(LC_NUMERIC, "C");
    if (!made)
        fprintf(stderr, "environment: skipped: localedef made no locale\n");
    return made;
}

/* Runs a kernel from a library of the tests', whose name is always the same. */
static void run_with(const char *library, const char *format, const char *timeline)
{
    char line[512];
    snprintf(line, sizeof line, "cp '" BUILD_FOLDER "/tests/own/%s.so' mine.so", library);
    ck_assert_int_eq(system(line), 0);
    snprintf(line, sizeof line,
             "-q -d sim:h200 -n 100003 -t 13 -w 4 --cpu-share=0.3 -k ./mine.so --format=%s "
             "--timeline=%s",
             format, timeline);
    ck_assert_msg(program_run(line) == 0, "%.2000s", program_err);
}

/* A library of the user's may choose a locale, for the process when it is opened and for a
 * thread when it is called: what is read and written behind that is as it was. */
START_TEST(test_libraries_change_no_number)
{
    static const char *const formats[] = {"json", "csv", "text"};
    if (!make_commas())
        return;
    for (int i = 0; i < 3; i++) {
        char plain[sizeof program_out];
        run_with("SOFT", formats[i], "plain.csv");
        strcpy(plain, program_out);
        run_with("COMMAS", formats[i], "commas.csv");
        ck_assert_str_eq(program_out, plain);
        ck_assert_int_eq(system("cmp plain.csv commas.csv"), 0);
    }
    ck_assert_msg(program_run("kernel check -d sim:h200 ./mine.so") == 0, "%s", program_out);
}
END_TEST

/* Nor does the locale of a program that uses the library, which keeps it. */
START_TEST(test_programs_change_no_number)
{
    struct pipeline_error error;
    if (!make_commas())
        return;
    setlocale(LC_ALL, "commas");
    struct pipeline *run = pipeline_new();
    ck_assert_ptr_nonnull(run);
    ck_assert_msg(pipeline_set_machine(run, "c2050", &error), "%s", error.text);
    ck_assert_msg(pipeline_set(run, "cpu-share", "0.5", &error), "%s", error.text);
    ck_assert(!pipeline_set(run, "cpu-share", "1.5", &error));
    assert_has(error.text, "1.5");
    ck_assert(!pipeline_set(run, "cpu-share", "1,5", &error));
    ck_assert_msg(pipeline_simulate(run, &error), "%s", error.text);
    pipeline_free(run);
    ck_assert_str_eq(localeconv()->decimal_point, ",");
    ck_assert(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
}
END_TEST

Suite *environment_suite(void)
{
    Suite *suite = suite_create("environment");
    TCase *tests = tcase_create("environment");
    tcase_add_checked_fixture(tests, test_folder_enter, test_folder_leave);
    tcase_add_test(tests, test_set_uid);
    tcase_add_test(tests, test_libraries_change_no_number);
    tcase_add_test(tests, test_programs_change_no_number);
    suite_add_tcase(suite, tests);
    return suite;
}
