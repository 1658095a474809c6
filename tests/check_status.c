/* check_status.c - the first error wins; statuses and exit codes. */
#include "core/status.h"
#include "suites.h"

#include <string.h>

START_TEST(test_first_error_wins)
{
    struct error error = {0};
    ck_assert_int_eq(error_set(&error, STATUS_USAGE, "%s:%d", "a.ini", 3), STATUS_USAGE);
    ck_assert_int_eq(error_set(&error, STATUS_FAILED, "later"), STATUS_FAILED);
    ck_assert_int_eq(error.status, STATUS_USAGE);
    ck_assert_str_eq(error.text, "a.ini:3");
    error_clear(&error);
    ck_assert_int_eq(error.status, STATUS_OK);
    ck_assert_int_eq(error_set(&error, STATUS_FAILED, "now"), STATUS_FAILED);
    ck_assert_str_eq(error.text, "now");
    ck_assert_int_eq(error_set(NULL, STATUS_FAILED, "nobody listens"), STATUS_FAILED);
}
END_TEST

/* What a terminal would obey is shown instead: escape sequences, C1 as UTF-8, characters that
 * turn the direction of writing, bytes that are no UTF-8. */
START_TEST(test_text_is_escaped_once)
{
    struct error error = {0}, again = {0};
    error_set(&error, STATUS_USAGE, "%s",
              "a\x1b[31m\r\n\t\x7f\xc2\x9b"
              "b\xe2\x80\xae\xff\xc3\xa9\\");
    ck_assert_str_eq(error.text, "a\\x1b[31m\\r\\n\\t\\x7f\\u009bb\\u202e\\xff\xc3\xa9\\");
    error_set(&again, STATUS_USAGE, "%s", error.text);
    ck_assert_str_eq(again.text, error.text);
}
END_TEST

START_TEST(test_long_text_is_cut_not_overrun)
{
    struct error error = {0};
    error_set(&error, STATUS_FAILED, "%5000d", 1);
    ck_assert_uint_eq(strlen(error.text), sizeof error.text - 1);
}
END_TEST

START_TEST(test_exit_codes)
{
    ck_assert_int_eq(status_exit_code(STATUS_OK), 0);
    ck_assert_int_eq(status_exit_code(STATUS_FAILED), 1);
    ck_assert_int_eq(status_exit_code(STATUS_USAGE), 2);
    ck_assert_int_eq(status_exit_code(STATUS_NO_DEVICE), 77);
}
END_TEST

Suite *status_suite(void)
{
    Suite *suite = suite_create("status");
    TCase *tests = tcase_create("status");
    tcase_add_test(tests, test_first_error_wins);
    tcase_add_test(tests, test_text_is_escaped_once);
    tcase_add_test(tests, test_long_text_is_cut_not_overrun);
    tcase_add_test(tests, test_exit_codes);
    suite_add_tcase(suite, tests);
    return suite;
}
