/* csv_number.c - numbers of a CSV, whatever country's program wrote it. */
#include "trace/input.h"

#include <ctype.h>
#include <string.h>

enum { PART_DIGITS = 18 }; /* behind a point, that count */

static bool is_digit(char c)
{
    return isdigit((unsigned char)c) != 0;
}

/* Returns the bytes of what parts digits into groups in any notation: a blank, also one that
 * does not break, thin or not, or an apostrophe, straight or not; 0: it is none. */
static size_t group_length(const char *text)
{
    static const char *const groups[] = {
        " ", "'", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89", "\xe2\x80\x99"};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (strncmp(text, groups[i], strlen(groups[i])) == 0)
            return strlen(groups[i]);
    }
    return 0;
}

void csv_notation_learn(struct csv_notation *notation, const char *number, bool commas,
                        bool whole)
{
    const char *point = strrchr(number, '.'), *comma = strrchr(number, ',');
    const char *last = comma == NULL || (point != NULL && point > comma) ? point : comma;
    if (last == NULL || notation->decimal != '\0')
        return;
    const char other = *last == '.' ? ',' : '.', *first = strchr(number, *last);
    const bool three = strspn(last + 1, "0123456789") == 3 && last[4] == '\0';
    if (point != NULL && comma != NULL)
        notation->decimal = *last;
    else if (first != last)
        notation->decimal = three ? other : '\0';
    else if (!three || first == number || first > number + 3 || *number == '0')
        notation->decimal = *last;
    else if (*last == '.' && commas)
        notation->decimal = '.';
    else if (whole)
        notation->likely = other;
    else if (notation->unclear[0] == '\0')
        trace_shown(number, notation->unclear);
}

/* Leaves of a number its digits and a point before decimals. */
static void make_plain(char *text, char decimal)
{
    const char other = decimal == '.' ? ',' : '.';
    char *to = text;
    bool decimals = false;
    for (const char *from = text; *from != '\0';) {
        const size_t length = *from == other ? 1 : group_length(from);
        const bool inside =
            !decimals && to > text && is_digit(to[-1]) && is_digit(from[length]);
        const bool blank = *from == ' ' && (to == text || from[1] == '\0');
        if (length > 0 && (inside || blank)) {
            from += length;
            continue;
        }
        decimals |= *from == decimal;
        *to++ = *from == decimal ? '.' : *from;
        from++;
    }
    *to = '\0';
}

/* Reads the digits behind a point as part of `unit`, rounded. */
static const char *read_part(const char *text, uint64_t unit, uint64_t *part, int *decimals)
{
    uint64_t numerator = 0, denominator = 1;
    int digits = 0;
    for (; is_digit(*text); text++) {
        if (digits++ >= PART_DIGITS)
            continue;
        numerator = 10 * numerator + (uint64_t)(*text - '0');
        denominator *= 10;
    }
    __extension__ unsigned __int128 product = (unsigned __int128)numerator * unit;
    *part = (uint64_t)((product + denominator / 2) / denominator);
    *decimals = digits > *decimals ? digits : *decimals;
    return text;
}

enum units_result csv_number(char *text, char decimal, uint64_t unit, int64_t *value,
                             int *decimals)
{
    make_plain(text, decimal);
    const char *at = text + (*text == '-');
    const bool digits = is_digit(*at);
    uint64_t whole = 0, part = 0;
    bool large = false;
    for (; is_digit(*at); at++)
        large |= __builtin_mul_overflow(whole, 10, &whole) ||
                 __builtin_add_overflow(whole, (uint64_t)(*at - '0'), &whole);
    if (*at == '.')
        at = read_part(at + 1, unit, &part, decimals);
    if (*at != '\0' || !digits)
        return UNITS_NOT_A_NUMBER;
    if (*text == '-' && (whole > 0 || part > 0))
        return UNITS_NEGATIVE;
    if (large || __builtin_mul_overflow(whole, unit, &whole) ||
        __builtin_add_overflow(whole, part, &whole) || whole > INT64_MAX)
        return UNITS_TOO_LARGE;
    *value = (int64_t)whole;
    return UNITS_OK;
}
