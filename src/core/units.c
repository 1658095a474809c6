/* units.c - reads counts and numbers strictly, and prints sizes, times and rates for people. */
#include "core/units.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More digits than these behind the point are refused, so that a fraction's arithmetic fits 64
 * bits. */
enum { FRACTION_DIGITS_MAX = 18 };

/* A number as written: whole + numerator / denominator, times 2^shift. */
struct decimal {
    uint64_t whole, numerator, denominator;
    unsigned shift;
    bool too_large; /* the digits before the point do not fit */
    bool too_fine;  /* the digits behind it do not */
};

static const char *read_whole(const char *text, struct decimal *decimal)
{
    for (; isdigit((unsigned char)*text); text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (__builtin_mul_overflow(decimal->whole, 10, &decimal->whole) ||
            __builtin_add_overflow(decimal->whole, digit, &decimal->whole))
            decimal->too_large = true;
    }
    return text;
}

static const char *read_fraction(const char *text, struct decimal *decimal)
{
    size_t length = strspn(text, "0123456789"), used = length;
    while (used > 0 && text[used - 1] == '0')
        used--;
    decimal->too_fine = used > FRACTION_DIGITS_MAX;
    for (size_t i = 0; i < used && !decimal->too_fine; i++) {
        decimal->numerator = decimal->numerator * 10 + (uint64_t)(text[i] - '0');
        decimal->denominator *= 10;
    }
    return text + length;
}

static const char *read_suffix(const char *text, struct decimal *decimal)
{
    static const char suffixes[] = "kmgt";
    const char *found = *text != '\0' ? strchr(suffixes, tolower((unsigned char)*text)) : NULL;
    if (found == NULL)
        return text;
    decimal->shift = 10 * (unsigned)(found - suffixes + 1);
    text++;
    text += *text == 'i' || *text == 'I';
    text += *text == 'b' || *text == 'B';
    return text;
}

static enum units_result decimal_value(const struct decimal *decimal, uint64_t *count)
{
    if (decimal->too_large || decimal->whole > UINT64_MAX >> decimal->shift)
        return UNITS_TOO_LARGE;
    /* The fraction is doubled `shift` times; what passes 1 on the way is whole. */
    uint64_t rest = decimal->numerator, carried = 0;
    for (unsigned i = 0; i < decimal->shift; i++) {
        bool carry = rest >= decimal->denominator - rest;
        carried = 2 * carried + carry;
        rest = 2 * rest - (carry ? decimal->denominator : 0);
    }
    if (rest != 0 || decimal->too_fine)
        return UNITS_NOT_WHOLE;
    *count = (decimal->whole << decimal->shift) + carried;
    return UNITS_OK;
}

enum units_result units_read_count(const char *text, uint64_t *count)
{
    struct decimal decimal = {.denominator = 1};
    bool negative = *text == '-';
    text += negative;
    const char *end = read_whole(text, &decimal);
    if (end == text)
        return UNITS_NOT_A_NUMBER;
    if (*end == '.') {
        const char *fraction = end + 1;
        end = read_fraction(fraction, &decimal);
        if (end == fraction)
            return UNITS_NOT_A_NUMBER;
    }
    end = read_suffix(end, &decimal);
    if (*end != '\0')
        return UNITS_NOT_A_NUMBER;
    return negative ? UNITS_NEGATIVE : decimal_value(&decimal, count);
}

/* Returns true for what people call a decimal number; strtod() also takes hexadecimal, "inf",
 * "nan" and leading white space. */
static bool is_plain_decimal(const char *text)
{
    static const char digits[] = "0123456789";
    text += *text == '-';
    size_t whole = strspn(text, digits), fraction = 0;
    text += whole;
    if (*text == '.') {
        text++;
        fraction = strspn(text, digits);
        text += fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        size_t exponent = strspn(text, digits);
        if (exponent == 0)
            return false;
        text += exponent;
    }
    return *text == '\0';
}

enum units_result units_read_real(const char *text, double *value)
{
    if (!is_plain_decimal(text))
        return UNITS_NOT_A_NUMBER;
    char *end;
    double number = strtod(text, &end);
    if (*end != '\0') /* the locale has another decimal point */
        return UNITS_NOT_A_NUMBER;
    if (!isfinite(number))
        return UNITS_TOO_LARGE;
    *value = number;
    return UNITS_OK;
}

enum units_result units_read_time(const char *text, int64_t *ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char number[UNITS_TEXT] = "";
    double value = 0;
    size_t digits = strspn(text, "-+.0123456789eE"), count = sizeof units / sizeof units[0];
    const char *unit = text + digits + strspn(text + digits, " ");
    size_t i = 0;
    while (i < count && strcmp(units[i].name, unit) != 0)
        i++;
    if (digits >= sizeof number || (i == count && strcmp(text, "0") != 0))
        return UNITS_NOT_A_NUMBER;
    memcpy(number, text, digits);
    enum units_result result = units_read_real(number, &value);
    if (result != UNITS_OK)
        return result;
    if (number[0] == '-')
        return UNITS_NEGATIVE;
    value = i < count ? value * units[i].ns : 0;
    if (value > 4e18)
        return UNITS_TOO_LARGE;
    *ns = (int64_t)(value + 0.5);
    return UNITS_OK;
}

const char *units_complaint(enum units_result result)
{
    static const char *const complaints[] = {
        [UNITS_OK] = "is a number",
        [UNITS_NOT_A_NUMBER] = "is not a number",
        [UNITS_NEGATIVE] = "is negative",
        [UNITS_TOO_LARGE] = "is too large",
        [UNITS_NOT_WHOLE] = "is not a whole number",
        [UNITS_IN_BYTES] = "is a size in bytes; give a count, such as 64M elements",
    };
    return complaints[result];
}

/* Prints three digits, four from 1000 up, without trailing zeros; %g makes 1000 1e+03. */
static void print_digits(double value, char text[UNITS_TEXT])
{
    double size = fabs(value);
    if (!(size < 1e6)) { /* true for NaN, too */
        snprintf(text, UNITS_TEXT, "%.3g", value);
        return;
    }
    snprintf(text, UNITS_TEXT, "%.*f", size < 9.995 ? 2 : size < 99.95 ? 1 : 0, value);
    if (strchr(text, '.') == NULL)
        return;
    size_t length = strlen(text);
    while (text[length - 1] == '0')
        length--;
    length -= text[length - 1] == '.';
    text[length] = '\0';
}

/* Prints a value with the largest unit that leaves it at 1 or more. `units` go up by `step`,
 * and end with NULL. */
static const char *print_scaled(double value, double step, const char *const units[],
                                char text[UNITS_TEXT])
{
    char digits[UNITS_TEXT];
    /* The next unit comes half a unit early, for 999.7 would round to 1000. */
    while (units[1] != NULL && fabs(value) >= step - 0.5) {
        value /= step;
        units++;
    }
    print_digits(value, digits);
    snprintf(text, UNITS_TEXT, "%.20s %s", digits, *units);
    return text;
}

const char *units_bytes(uint64_t bytes, char text[UNITS_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", NULL};
    return print_scaled((double)bytes, 1024, units, text);
}

static const char *const time_units[] = {"ns", "us", "ms", "s", NULL};

const char *units_time(int64_t ns, char text[UNITS_TEXT])
{
    return print_scaled((double)ns, 1000, time_units, text);
}

/* Writes two times in the unit of a third, which is printed as `time`: "24.9 to 26.5". */
static void print_range(const char *time, int64_t low_ns, int64_t high_ns,
                        char text[UNITS_TEXT])
{
    char low[UNITS_TEXT], high[UNITS_TEXT];
    double unit_ns = 1;
    for (int i = 0; strcmp(strchr(time, ' ') + 1, time_units[i]) != 0; i++)
        unit_ns *= 1000;
    print_digits((double)low_ns / unit_ns, low);
    print_digits((double)high_ns / unit_ns, high);
    snprintf(text, UNITS_TEXT, strcmp(low, high) == 0 ? "%.12s" : "%.12s to %.12s", low, high);
}

const char *units_range(int64_t low_ns, int64_t high_ns, char text[UNITS_ABOUT])
{
    char high[UNITS_TEXT], range[UNITS_TEXT];
    units_time(high_ns, high);
    print_range(high, low_ns, high_ns, range);
    snprintf(text, UNITS_ABOUT, "%s%s", range, strchr(high, ' '));
    return text;
}

const char *units_about(int64_t ns, int64_t low_ns, int64_t high_ns, char text[UNITS_ABOUT])
{
    char time[UNITS_TEXT], range[UNITS_TEXT];
    units_time(ns, time);
    print_range(time, low_ns, high_ns, range);
    if (high_ns == 0 || strstr(range, " to ") == NULL)
        snprintf(text, UNITS_ABOUT, "%s", time);
    else
        snprintf(text, UNITS_ABOUT, "about %.20s, %s", time, range);
    return text;
}

const char *units_rate(double bytes_per_s, char text[UNITS_TEXT])
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", NULL};
    return print_scaled(bytes_per_s, 1000, units, text);
}

const char *units_count(uint64_t count, char text[UNITS_TEXT])
{
    static const char *const suffixes[] = {"", "k", "M", "G", "T"};
    int suffix = 0;
    while (suffix < 4 && count != 0 && count % 1024 == 0) {
        count /= 1024;
        suffix++;
    }
    snprintf(text, UNITS_TEXT, "%llu%s", (unsigned long long)count, suffixes[suffix]);
    return text;
}
