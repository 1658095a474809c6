/* check_writer_put.c - numbers and texts, as snprintf() and the slower writers print them. */
#include "fixtures.h"
#include "suites.h"
#include "trace/input.h"
#include "writer_cases.h"
#include "writers/put.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void check_number(uint64_t value)
{
    char text[WRITE_NUMBER_ROOM], expected[48];
    int64_t value_signed = (int64_t)value;
    *write_count(text, value) = '\0';
    snprintf(expected, sizeof expected, "%" PRIu64, value);
    ck_assert_str_eq(text, expected);
    *write_integer(text, value_signed) = '\0';
    snprintf(expected, sizeof expected, "%" PRId64, value_signed);
    ck_assert_str_eq(text, expected);
    *write_thousandths(text, value) = '\0';
    snprintf(expected, sizeof expected, "%" PRIu64 ".%03" PRIu64, value / 1000, value % 1000);
    ck_assert_str_eq(text, expected);
}

START_TEST(numbers_are_as_printf_has_them)
{
    uint64_t random = 3;
    check_number(0);
    for (uint64_t power = 1; power <= UINT64_MAX / 10; power *= 10) {
        for (uint64_t digit = 1; digit < 10; digit++) {
            check_number(digit * power - 1);
            check_number(digit * power);
            check_number(digit * power + 1);
        }
    }
    check_number(UINT64_C(10000000000000000000));
    check_number(UINT64_MAX);
    check_number(UINT64_C(1) << 63);
    for (int i = test_cases(20000); i > 0; i--)
        check_number(test_random(&random) >> test_random_below(&random, 64));
}
END_TEST

/* Returns `text` as a field of CSV, to be freed. */
static char *csv_of(const char *text)
{
    char *written;
    size_t size;
    FILE *out = open_memstream(&written, &size);
    write_csv_field(out, text);
    fclose(out);
    return written;
}

/* Fails unless `field` is one of RFC 4180, with '#' quoted as well, that harms no terminal and
 * no spreadsheet, and that gives `text` back. */
static void check_csv(const char *field, const char *text)
{
    char *line = strdup(field), *first;
    const char *why;
    ck_assert_int_eq(field[0] == '"', strpbrk(text, ",\"#") != NULL);
    ck_assert_int_eq(csv_line_split(line, ',', &first, 1, &why), 1);
    for (const char *at = first; *at != '\0'; at++)
        ck_assert((unsigned char)*at >= 0x20 && *at != 0x7f);
    ck_assert_str_eq(csv_unmark(first), text);
    free(line);
}

static char *json_of(const char *text)
{
    char *written;
    size_t size;
    struct put put;
    FILE *out = open_memstream(&written, &size);
    put_begin(&put, out);
    PUT_LITERAL(&put, "\"");
    put_json_text(&put, text, false);
    PUT_LITERAL(&put, "\"");
    put_end(&put);
    fclose(out);
    return written;
}

static void check_text(const char *text)
{
    size_t room = 3 * strlen(text) + 1;
    char *clean = malloc(room), *field = csv_of(text);
    check_csv(field, text);
    free(field);
    char *quoted = json_of(text);
    json_t *json = json_loads(quoted, JSON_DECODE_ANY, NULL);
    ck_assert_msg(json != NULL, "%s", quoted);
    ck_assert_str_eq(json_string_value(json), utf8_of(clean, room, text));
    for (const char *at = quoted; *at != '\0'; at++)
        ck_assert((unsigned char)*at >= 0x20 && *at != 0x7f);
    json_decref(json);
    free(quoted);
    free(clean);
}

START_TEST(texts_are_written_as_they_read_back)
{
    uint64_t random = 9;
    static const unsigned char bytes[] = {'a',  '"',  ',',  '\n', '\\', 0x01, 0x7f, 0xc3, 0xa9,
                                          0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80, 0xed, 0xff};
    for (int i = 0; test_names[i] != NULL; i++)
        check_text(test_names[i]);
    for (int i = test_cases(5000); i > 0; i--) {
        char text[16];
        uint32_t length = test_random_below(&random, sizeof text);
        for (uint32_t k = 0; k < length; k++)
            text[k] = (char)bytes[test_random_below(&random, sizeof bytes)];
        text[length] = '\0';
        check_text(text);
    }
}
END_TEST

/* More than the buffer holds, in pieces of every size. */
START_TEST(nothing_is_lost_between_blocks)
{
    enum { LENGTH = 5 * PUT_ROOM + 17 };
    char *bytes = malloc(LENGTH), *written;
    size_t size, at = 0;
    uint64_t random = 11;
    struct put put;
    for (size_t i = 0; i < LENGTH; i++)
        bytes[i] = (char)('a' + test_random_below(&random, 26));
    FILE *out = open_memstream(&written, &size);
    put_begin(&put, out);
    while (at < LENGTH) {
        size_t left = LENGTH - at, part = test_random_below(&random, 4000);
        if (test_random_below(&random, 20) == 0)
            part = 2 * PUT_ROOM + 5;
        part = part < left ? part : left;
        put_bytes(&put, bytes + at, part);
        at += part;
    }
    put_end(&put);
    fclose(out);
    ck_assert_uint_eq(size, LENGTH);
    ck_assert(memcmp(written, bytes, LENGTH) == 0);
    free(written);
    free(bytes);
}
END_TEST

Suite *writer_put_suite(void)
{
    Suite *suite = suite_create("writer_put");
    TCase *all = tcase_create("all");
    tcase_add_test(all, numbers_are_as_printf_has_them);
    tcase_add_test(all, texts_are_written_as_they_read_back);
    tcase_add_test(all, nothing_is_lost_between_blocks);
    suite_add_tcase(suite, all);
    return suite;
}
