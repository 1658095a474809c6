/* check_units.c - counts and numbers are read strictly, and printed as people say them. */
#include "core/units.h"

#include "suites.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *text;
    uint64_t count;
} counts[] = {
    {"0", 0},
    {"1", 1},
    {"007", 7},
    {"64k", 65536},
    {"64K", 65536},
    {"64M", 67108864},
    {"64m", 67108864},
    {"3g", 3221225472},
    {"1T", 1099511627776},
    {"64kB", 65536},
    {"64Ki", 65536},
    {"64KiB", 65536},
    {"64kib", 65536},
    {"1.5GiB", 1610612736},
    {"1.0", 1},
    {"2.000000000000000000000000000000", 2},
    {"0.5k", 512},
    {"0.0009765625k", 1},
    {"0.25T", 274877906944},
    {"18446744073709551615", UINT64_MAX},
    {"17179869183G", 17179869183ull << 30},
    {"16777215.75T", 18446743798831644672ull},
};

START_TEST(time_is_read)
{
    static const struct {
        const char *text;
        enum units_result result;
        int64_t ns;
    } times[] = {{"2ms", UNITS_OK, 2000000},
                 {"1.5 us", UNITS_OK, 1500},
                 {"40ns", UNITS_OK, 40},
                 {"0.0004us", UNITS_OK, 0},
                 {"3s", UNITS_OK, 3000000000},
                 {"1e-3s", UNITS_OK, 1000000},
                 {"0", UNITS_OK, 0},
                 {"2", UNITS_NOT_A_NUMBER, 0},
                 {"", UNITS_NOT_A_NUMBER, 0},
                 {"ms", UNITS_NOT_A_NUMBER, 0},
                 {"2 min", UNITS_NOT_A_NUMBER, 0},
                 {"2msx", UNITS_NOT_A_NUMBER, 0},
                 {"1..2ms", UNITS_NOT_A_NUMBER, 0},
                 {"-2ms", UNITS_NEGATIVE, 0},
                 {"1e30s", UNITS_TOO_LARGE, 0}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        int64_t ns = 99;
        ck_assert_msg(units_read_time(times[i].text, &ns) == times[i].result, "%s",
                      times[i].text);
        ck_assert_int_eq(ns, times[i].result == UNITS_OK ? times[i].ns : 99);
    }
}
END_TEST

START_TEST(count_is_read)
{
    uint64_t count = 99;
    ck_assert_int_eq(units_read_count(counts[_i].text, &count), UNITS_OK);
    ck_assert_uint_eq(count, counts[_i].count);
}
END_TEST

static const struct {
    const char *text;
    enum units_result result;
} bad_counts[] = {
    {"", UNITS_NOT_A_NUMBER},
    {" 1", UNITS_NOT_A_NUMBER},
    {"1 ", UNITS_NOT_A_NUMBER},
    {"1\n", UNITS_NOT_A_NUMBER},
    {"+1", UNITS_NOT_A_NUMBER},
    {"-", UNITS_NOT_A_NUMBER},
    {"--1", UNITS_NOT_A_NUMBER},
    {"-x", UNITS_NOT_A_NUMBER},
    {"-1x", UNITS_NOT_A_NUMBER},
    {"abc", UNITS_NOT_A_NUMBER},
    {"k", UNITS_NOT_A_NUMBER},
    {"12abc", UNITS_NOT_A_NUMBER},
    {"12kk", UNITS_NOT_A_NUMBER},
    {"12kBi", UNITS_NOT_A_NUMBER},
    {"12kiBx", UNITS_NOT_A_NUMBER},
    {"12i", UNITS_NOT_A_NUMBER},
    {"12B", UNITS_NOT_A_NUMBER},
    {"12P", UNITS_NOT_A_NUMBER},
    {"0x10", UNITS_NOT_A_NUMBER},
    {"1e3", UNITS_NOT_A_NUMBER},
    {"1.", UNITS_NOT_A_NUMBER},
    {".5k", UNITS_NOT_A_NUMBER},
    {"1.k", UNITS_NOT_A_NUMBER},
    {"1.2.3", UNITS_NOT_A_NUMBER},
    {"1,5", UNITS_NOT_A_NUMBER},
    {"99999999999999999999x", UNITS_NOT_A_NUMBER},
    {"-1", UNITS_NEGATIVE},
    {"-0", UNITS_NEGATIVE},
    {"-4k", UNITS_NEGATIVE},
    {"-99999999999999999999999999", UNITS_NEGATIVE},
    {"18446744073709551616", UNITS_TOO_LARGE},
    {"99999999999999999999999999", UNITS_TOO_LARGE},
    {"16777216T", UNITS_TOO_LARGE},
    {"17179869184G", UNITS_TOO_LARGE},
    {"18446744073709551615k", UNITS_TOO_LARGE},
    {"1.5", UNITS_NOT_WHOLE},
    {"0.1k", UNITS_NOT_WHOLE},
    {"0.00048828125k", UNITS_NOT_WHOLE},
    {"1.9999999999999999999999999999999k", UNITS_NOT_WHOLE},
    {"1.000000000931322574615478515625G", UNITS_NOT_WHOLE}, /* too many digits to judge */
};

START_TEST(bad_count_is_refused)
{
    uint64_t count = 99;
    ck_assert_int_eq(units_read_count(bad_counts[_i].text, &count), bad_counts[_i].result);
    ck_assert_uint_eq(count, 99);
}
END_TEST

static const struct {
    const char *text;
    double value;
} reals[] = {
    {"0", 0},        {"1", 1},         {"0.25", 0.25},    {".5", 0.5},
    {"5.", 5},       {"-2.5", -2.5},   {"1e3", 1000},     {"1E+3", 1000},
    {"2.5e-1", .25}, {"1e308", 1e308}, {"0.1e-400", 0.0},
};

START_TEST(real_is_read)
{
    double value = 99;
    ck_assert_int_eq(units_read_real(reals[_i].text, &value), UNITS_OK);
    ck_assert(value == reals[_i].value);
}
END_TEST

static const struct {
    const char *text;
    enum units_result result;
} bad_reals[] = {
    {"", UNITS_NOT_A_NUMBER},     {" 1", UNITS_NOT_A_NUMBER},    {"1 ", UNITS_NOT_A_NUMBER},
    {"+1", UNITS_NOT_A_NUMBER},   {"-", UNITS_NOT_A_NUMBER},     {".", UNITS_NOT_A_NUMBER},
    {"-.", UNITS_NOT_A_NUMBER},   {"e5", UNITS_NOT_A_NUMBER},    {"1e", UNITS_NOT_A_NUMBER},
    {"1e+", UNITS_NOT_A_NUMBER},  {"nan", UNITS_NOT_A_NUMBER},   {"inf", UNITS_NOT_A_NUMBER},
    {"-inf", UNITS_NOT_A_NUMBER}, {"0x1p3", UNITS_NOT_A_NUMBER}, {"1,5", UNITS_NOT_A_NUMBER},
    {"1.5k", UNITS_NOT_A_NUMBER}, {"1e999", UNITS_TOO_LARGE},    {"-1e999", UNITS_TOO_LARGE},
};

START_TEST(bad_real_is_refused)
{
    double value = 99;
    ck_assert_int_eq(units_read_real(bad_reals[_i].text, &value), bad_reals[_i].result);
    ck_assert(value == 99);
}
END_TEST

START_TEST(complaints_say_what_is_wrong)
{
    ck_assert_str_eq(units_complaint(UNITS_NOT_A_NUMBER), "is not a number");
    ck_assert_str_eq(units_complaint(UNITS_NEGATIVE), "is negative");
    ck_assert_str_eq(units_complaint(UNITS_TOO_LARGE), "is too large");
    ck_assert_str_eq(units_complaint(UNITS_NOT_WHOLE), "is not a whole number");
}
END_TEST

static const struct {
    uint64_t bytes;
    const char *text;
} bytes_printed[] = {
    {0, "0 B"},
    {1, "1 B"},
    {1023, "1023 B"},
    {1024, "1 KiB"},
    {1536, "1.5 KiB"},
    {1023 * 1024, "1023 KiB"},
    {1024 * 1024 - 1, "1 MiB"},
    {64 << 20, "64 MiB"},
    {3ull << 29, "1.5 GiB"},
    {150755016704, "140 GiB"},
    {1ull << 40, "1 TiB"},
    {UINT64_MAX, "16 EiB"},
};

START_TEST(bytes_are_printed)
{
    char text[UNITS_TEXT];
    ck_assert_str_eq(units_bytes(bytes_printed[_i].bytes, text), bytes_printed[_i].text);
}
END_TEST

static const struct {
    int64_t ns;
    const char *text;
} times_printed[] = {
    {0, "0 ns"},           {999, "999 ns"},           {1000, "1 us"},
    {1234, "1.23 us"},     {9996, "10 us"},           {99960, "100 us"},
    {999499, "999 us"},    {999600, "1 ms"},          {22432100, "22.4 ms"},
    {100000000, "100 ms"}, {1500000000, "1.5 s"},     {1234000000000, "1234 s"},
    {-1500, "-1.5 us"},    {INT64_MAX, "9.22e+09 s"}, {INT64_MIN, "-9.22e+09 s"},
};

START_TEST(times_are_printed)
{
    char text[UNITS_TEXT];
    ck_assert_str_eq(units_time(times_printed[_i].ns, text), times_printed[_i].text);
}
END_TEST

static const struct {
    int64_t ns, low_ns, high_ns;
    const char *text;
} about_printed[] = {
    {25600000, 24900000, 26500000, "about 25.6 ms, 24.9 to 26.5"},
    {1010000, 987000, 1200000, "about 1.01 ms, 0.99 to 1.2"}, /* in the time's own unit */
    {7000, 0, 12500, "about 7 us, 0 to 12.5"},
    {25600000, 25590000, 25640000, "25.6 ms"}, /* its digits say as much */
    {25600000, 0, 0, "25.6 ms"},               /* nothing is known */
};

START_TEST(intervals_are_printed)
{
    char text[UNITS_ABOUT];
    ck_assert_str_eq(units_about(about_printed[_i].ns, about_printed[_i].low_ns,
                                 about_printed[_i].high_ns, text),
                     about_printed[_i].text);
}
END_TEST

static const struct {
    double bytes_per_s;
    const char *text;
} rates_printed[] = {
    {0, "0 B/s"},        {999, "999 B/s"},      {1e3, "1 kB/s"},        {50.1e9, "50.1 GB/s"},
    {9.3e9, "9.3 GB/s"}, {101.2e9, "101 GB/s"}, {4.2e12, "4.2 TB/s"},   {4.485e12, "4.49 TB/s"},
    {999.7e6, "1 GB/s"}, {2e20, "200000 PB/s"}, {1e300, "1e+285 PB/s"}, {INFINITY, "inf PB/s"},
};

START_TEST(rates_are_printed)
{
    char text[UNITS_TEXT];
    ck_assert_str_eq(units_rate(rates_printed[_i].bytes_per_s, text), rates_printed[_i].text);
}
END_TEST

static const struct {
    uint64_t count;
    const char *text;
} counts_printed[] = {
    {0, "0"},
    {1, "1"},
    {1000, "1000"},
    {1024, "1k"},
    {1025, "1025"},
    {64 << 20, "64M"},
    {3ull << 29, "1536M"},
    {1ull << 40, "1T"},
    {1ull << 50, "1024T"},
    {UINT64_MAX, "18446744073709551615"},
};

START_TEST(counts_are_printed)
{
    char text[UNITS_TEXT];
    ck_assert_str_eq(units_count(counts_printed[_i].count, text), counts_printed[_i].text);
}
END_TEST

/* A printed count reads back as itself, whatever its size. */
START_TEST(counts_survive_printing)
{
    uint64_t state = 1;
    for (int i = 0; i < 10000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t count = (state >> (state >> 58)) << (state >> 52 & 31), back = ~count;
        char text[UNITS_TEXT];
        ck_assert_int_eq(units_read_count(units_count(count, text), &back), UNITS_OK);
        ck_assert_uint_eq(back, count);
    }
}
END_TEST

/* Whatever the value, its text keeps 1 to 4 digits and is within half of its last one. */
START_TEST(printed_bytes_are_near)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    uint64_t state = 1;
    for (int i = 0; i < 10000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t bytes = state >> (state >> 58);
        char text[UNITS_TEXT], unit[8];
        double value;
        ck_assert_int_eq(sscanf(units_bytes(bytes, text), "%lf %7s", &value, unit), 2);
        ck_assert_uint_le(strspn(text, "0123456789."), 5);
        int power = 0;
        while (strcmp(units[power], unit) != 0)
            ck_assert_int_lt(++power, 7);
        ck_assert_double_le(fabs(ldexp(value, 10 * power) - (double)bytes),
                            0.0051 * (double)bytes);
    }
}
END_TEST

#define ADD_EACH(tcase, test, table)                                                           \
    tcase_add_loop_test(tcase, test, 0, (int)(sizeof(table) / sizeof(table)[0]))

Suite *units_suite(void)
{
    Suite *suite = suite_create("units");
    TCase *reading = tcase_create("reading");
    ADD_EACH(reading, count_is_read, counts);
    ADD_EACH(reading, bad_count_is_refused, bad_counts);
    ADD_EACH(reading, real_is_read, reals);
    ADD_EACH(reading, bad_real_is_refused, bad_reals);
    tcase_add_test(reading, time_is_read);
    tcase_add_test(reading, complaints_say_what_is_wrong);
    suite_add_tcase(suite, reading);
    TCase *printing = tcase_create("printing");
    ADD_EACH(printing, bytes_are_printed, bytes_printed);
    ADD_EACH(printing, times_are_printed, times_printed);
    ADD_EACH(printing, intervals_are_printed, about_printed);
    ADD_EACH(printing, rates_are_printed, rates_printed);
    ADD_EACH(printing, counts_are_printed, counts_printed);
    tcase_add_test(printing, counts_survive_printing);
    tcase_add_test(printing, printed_bytes_are_near);
    suite_add_tcase(suite, printing);
    return suite;
}
