/* check_environment.c - what a caller's environment may change: nothing, where the program runs
 * with rights that its caller lacks. */
#include "suites.h"
#include "test_folder.h"
#include "test_program.h"

#include <check.h>
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

Suite *environment_suite(void)
{
    Suite *suite = suite_create("environment");
    TCase *tests = tcase_create("environment");
    tcase_add_checked_fixture(tests, test_folder_enter, test_folder_leave);
    tcase_add_test(tests, test_set_uid);
    suite_add_tcase(suite, tests);
    return suite;
}
