/* recording_line.c - takes a line of a recording apart. */
#include "trace/recording_line.h"

#include "core/escape.h"

#include <string.h>

static const char *skip_space(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* --- numbers --- */

static const char *skip_digits(const char *at)
{
    while (is_digit(*at))
        at++;
    return at;
}

/* Reads a number at `at`. Returns its end; NULL: it is none. */
static const char *scan_number(const char *at, struct line_value *value)
{
    bool fits = true;
    *value = (struct line_value){.kind = LINE_NUMBER, .negative = *at == '-'};
    at += value->negative;
    const char *first = at;
    for (; is_digit(*at); at++)
        fits = fits && !__builtin_mul_overflow(value->number, 10, &value->number) &&
               !__builtin_add_overflow(value->number, (uint64_t)(*at - '0'), &value->number);
    if (at == first || (*first == '0' && at > first + 1))
        return NULL;
    if (*at == '.') {
        fits = false;
        first = ++at;
        at = skip_digits(at);
    }
    if (at > first && (*at == 'e' || *at == 'E')) {
        fits = false;
        at += at[1] == '+' || at[1] == '-' ? 2 : 1;
        first = at;
        at = skip_digits(at);
    }
    if (!fits)
        value->kind = LINE_OTHER;
    return at > first ? at : NULL;
}

/* --- texts --- */

/* Reads what stands behind "\u", which may be half of a pair. Returns its end, or NULL. */
static const char *scan_unicode(const char *at, char **to)
{
    uint32_t high, low;
    if (!escape_hex(at, 4, &high) || high == 0 || (high >= 0xdc00 && high <= 0xdfff))
        return NULL;
    at += 4;
    if (high >= 0xd800 && high <= 0xdbff) {
        if (at[0] != '\\' || at[1] != 'u' || !escape_hex(at + 2, 4, &low) || low < 0xdc00 ||
            low > 0xdfff)
            return NULL;
        at += 6;
        high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    }
    *to = escape_put_utf8(*to, high);
    return at;
}

/* Reads what stands behind a backslash. Returns its end, or NULL. */
static const char *scan_escape(const char *at, char **to)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (*at == 'u')
        return scan_unicode(at + 1, to);
    const char *name = *at != '\0' ? strchr(names, *at) : NULL;
    if (name == NULL)
        return NULL;
    *(*to)++ = meant[name - names];
    return at + 1;
}

/* It is read in its place, and never grows. */
const char *line_text(char *at, struct line_value *value)
{
    char *to = at;
    const char *from = at;
    *value = (struct line_value){.kind = LINE_TEXT, .text = at};
    while (*from != '"') {
        uint32_t character;
        if ((unsigned char)*from < ' ')
            return NULL;
        if (*from == '\\') {
            from = scan_escape(from + 1, &to);
            if (from == NULL)
                return NULL;
            continue;
        }
        size_t length = (unsigned char)*from < 0x80 ? 1 : escape_utf8(from, &character);
        if (length == 0)
            return NULL;
        for (; length > 0; length--)
            *to++ = *from++;
    }
    *to = '\0';
    return from + 1;
}

/* --- values --- */

/* Reads `word` at `at` as a value of that kind. Returns its end, or NULL. */
static const char *scan_word(const char *at, const char *word, enum line_kind kind,
                             struct line_value *value)
{
    size_t length = strlen(word);
    *value = (struct line_value){.kind = kind, .number = *word == 't'};
    return strncmp(at, word, length) == 0 ? at + length : NULL;
}

/* Reads a value that may be in a list. */
static const char *scan_item(const char *at, struct line_value *value)
{
    return *at == 'n' ? scan_word(at, "null", LINE_NULL, value) : scan_number(at, value);
}

/* Reads up to what ends a list. Returns its end, or NULL. */
static const char *scan_list(char *at, struct line_value *value)
{
    struct line_value item;
    const char *end = skip_space(at);
    *value = (struct line_value){.kind = LINE_LIST, .text = at};
    if (*end == ']')
        return end + 1;
    for (;;) {
        end = scan_item(skip_space(end), &item);
        if (end == NULL)
            return NULL;
        end = skip_space(end);
        if (*end == ']')
            return end + 1;
        if (*end++ != ',')
            return NULL;
    }
}

bool line_next(const char **text, struct line_value *value)
{
    const char *at = skip_space(*text);
    if (*at == ']')
        return false;
    at = skip_space(scan_item(at, value));
    *text = *at == ',' ? at + 1 : at;
    return true;
}

static const char *scan_value(char *at, struct line_value *value)
{
    switch (*at) {
    case '"':
        return line_text(at + 1, value);
    case '[':
        return scan_list(at + 1, value);
    case 't':
        return scan_word(at, "true", LINE_BOOL, value);
    case 'f':
        return scan_word(at, "false", LINE_BOOL, value);
    default:
        return scan_item(at, value);
    }
}

/* Takes what stands between two brackets apart. In an object every second separator is a colon,
 * and every first value a text. */
static const char *scan_all(char *text, size_t length, bool object, struct line *line)
{
    const char *at = skip_space(text);
    bool key = object;
    line->count = 0;
    if (*at++ != (object ? '{' : '['))
        return object ? "it is no JSON object" : "it is no JSON array";
    for (;;) {
        struct line_value beyond = {.kind = LINE_NULL};
        struct line_value *value =
            line->count < LINE_VALUES ? &line->values[line->count++] : &beyond;
        at = skip_space(at);
        at = scan_value(text + (at - text), value);
        if (at == NULL || (key && value->kind != LINE_TEXT))
            return "a value in it is no number, text, null or list of numbers";
        at = skip_space(at);
        if (!key && *at == (object ? '}' : ']'))
            break;
        if (*at++ != (key ? ':' : ','))
            return "it lacks a comma or its end";
        key = object && !key;
    }
    return skip_space(at + 1) == text + length ? NULL : "there is text behind its end";
}

const char *line_scan(char *text, size_t length, struct line *line)
{
    return scan_all(text, length, false, line);
}

const char *line_scan_object(char *text, size_t length, struct line *line)
{
    return scan_all(text, length, true, line);
}

const struct line_value *line_member(const struct line *line, const char *key)
{
    for (int i = 0; i + 1 < line->count; i += 2) {
        if (strcmp(line->values[i].text, key) == 0)
            return line->values[i + 1].kind != LINE_NULL ? &line->values[i + 1] : NULL;
    }
    return NULL;
}
