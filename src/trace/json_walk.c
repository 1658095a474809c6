/* json_walk.c - finds the values of a JSON text that is read as a stream. */
#include "trace/json_walk.h"

#include "trace/recording_line.h"

#include <string.h>

enum {
    FIRST = 1 << 12,     /* bytes in which a value is looked for at first */
    VALUE_MAX = 1 << 26, /* and at most */
};

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

static bool ends_scalar(char byte)
{
    return byte == ',' || byte == ']' || byte == '}' || is_space(byte);
}

/* Returns what is behind the text that begins at `at`; NULL: it goes beyond `end`. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        at = memchr(at, '"', (size_t)(end - at));
        if (at == NULL)
            return NULL;
        const char *slash = at;
        while (slash[-1] == '\\') /* an odd number of them makes the mark part of the text */
            slash--;
        if ((at - slash) % 2 == 0)
            return at + 1;
    }
    return NULL;
}

/* Returns what is behind the value that begins at `at`; NULL: it goes beyond `end`, or is none.
 * What is within its brackets is not looked at but for where it ends. */
static const char *skip_value(const char *at, const char *end)
{
    size_t depth = 0;
    while (at < end) {
        const char byte = *at;
        if (byte == '"') {
            at = skip_string(at, end);
            if (at == NULL || depth == 0)
                return at;
            continue;
        }
        depth += byte == '{' || byte == '[';
        if (depth == 0)
            break;
        at++;
        if ((byte == '}' || byte == ']') && --depth == 0)
            return at;
    }
    const char *begin = at;
    while (at < end && !ends_scalar(*at))
        at++;
    return at > begin && at < end ? at : NULL;
}

/* --- the stream --- */

static bool has(struct walk_text *text, size_t wanted)
{
    struct trace_input *input = text->input;
    text->no_memory |= !trace_input_fill(input, wanted);
    return !text->no_memory && input->end - input->at >= wanted;
}

static void take(struct walk_text *text, size_t bytes)
{
    const char *at = text->input->text + text->input->at;
    for (size_t i = 0; i < bytes; i++)
        text->lines += at[i] == '\n';
    text->input->at += bytes;
}

uint64_t walk_line(const struct walk_text *text)
{
    const struct trace_input *input = text->input;
    const bool ended = text->lines > 0 && input->at == input->end && input->at > 0 &&
                       input->text[input->at - 1] == '\n';
    return text->lines + 1 - ended;
}

char walk_peek(struct walk_text *text)
{
    while (has(text, 1)) {
        const char byte = text->input->text[text->input->at];
        if (!is_space(byte))
            return byte;
        take(text, 1);
    }
    return '\0';
}

bool walk_take(struct walk_text *text, char wanted)
{
    const bool there = walk_peek(text) == wanted && wanted != '\0';
    take(text, there);
    return there;
}

bool walk_take_value(struct walk_text *text, struct walk_value *value)
{
    struct trace_input *input = text->input;
    const char first = walk_peek(text);
    if (first == ':' || ends_scalar(first)) /* no value begins so */
        return false;
    for (size_t wanted = FIRST;; wanted *= 2) {
        const bool more = has(text, wanted);
        const char *begin = input->text + input->at;
        const char *end = skip_value(begin, input->text + input->end);
        if (text->no_memory)
            return false;
        if (end != NULL) {
            *value = (struct walk_value){begin, (size_t)(end - begin)};
            take(text, value->length);
            return true;
        }
        text->ended = !more;
        text->too_large = more && wanted >= VALUE_MAX;
        if (text->ended || text->too_large)
            return false;
    }
}

/* --- what is in a value --- */

static void drop_space(struct walk_value *left)
{
    while (left->length > 0 && is_space(*left->at))
        left->at++, left->length--;
}

/* Takes the byte `wanted`, with spaces before and behind it. */
static bool drop(struct walk_value *left, char wanted)
{
    drop_space(left);
    const bool there = left->length > 0 && *left->at == wanted;
    left->at += there;
    left->length -= there;
    drop_space(left);
    return there;
}

static bool drop_value(struct walk_value *left, struct walk_value *value)
{
    const char *end = skip_value(left->at, left->at + left->length);
    *value = (struct walk_value){left->at, end != NULL ? (size_t)(end - left->at) : 0};
    left->at += value->length;
    left->length -= value->length;
    return end != NULL;
}

/* Takes what opens or parts a list. False: there is nothing more in it, or it is damaged. */
static bool drop_mark(struct walk_value *left, char opens, char closes, bool *damaged)
{
    const bool first = drop(left, opens);
    if (drop(left, closes))
        return false;
    *damaged |= !first && !drop(left, ',');
    return !*damaged;
}

bool walk_member(struct walk_value *left, struct walk_value *key, struct walk_value *value,
                 bool *damaged)
{
    if (!drop_mark(left, '{', '}', damaged))
        return false;
    *damaged = left->length == 0 || *left->at != '"' || !drop_value(left, key) ||
               !drop(left, ':') || !drop_value(left, value);
    if (*damaged)
        return false;
    key->at++;
    key->length -= 2;
    return true;
}

bool walk_item(struct walk_value *left, struct walk_value *item, bool *damaged)
{
    if (!drop_mark(left, '[', ']', damaged))
        return false;
    *damaged = !drop_value(left, item);
    return !*damaged;
}

static struct walk_value unquoted(const struct walk_value *value)
{
    const bool quoted = value->length > 1 && *value->at == '"';
    return (struct walk_value){value->at + quoted, value->length - 2 * (size_t)quoted};
}

bool walk_is(const struct walk_value *value, const char *word)
{
    const struct walk_value bare = unquoted(value);
    return bare.length == strlen(word) && memcmp(bare.at, word, bare.length) == 0;
}

/* --- numbers --- */

/* Reads a number as its digits and the decimals that they include; an exponent moves the point.
 * Digits that 64 bits have no room for are left out where they are decimals. */
static bool read_number(const struct walk_value *value, uint64_t *digits, int *decimals)
{
    enum { EXPONENT_MAX = 64 };
    struct walk_value left = unquoted(value);
    bool point = false, any = false;
    *digits = 0;
    *decimals = 0;
    for (; left.length > 0; left.at++, left.length--) {
        const unsigned digit = (unsigned char)*left.at - '0';
        if (*left.at == '.' && !point) {
            point = true;
            continue;
        }
        if (digit > 9)
            break;
        any = true;
        uint64_t next;
        if (__builtin_mul_overflow(*digits, 10, &next) ||
            __builtin_add_overflow(next, digit, &next)) {
            if (!point)
                return false;
            continue;
        }
        *digits = next;
        *decimals += point;
    }
    if (left.length > 1 && (*left.at == 'e' || *left.at == 'E')) {
        const bool down = left.at[1] == '-';
        const size_t sign = down || left.at[1] == '+';
        int exponent = 0;
        for (left.at += 1 + sign, left.length -= 1 + sign; left.length > 0;
             left.at++, left.length--) {
            if (*left.at < '0' || *left.at > '9' || exponent > EXPONENT_MAX)
                return false;
            exponent = 10 * exponent + (*left.at - '0');
        }
        *decimals += down ? exponent : -exponent;
    }
    return any && left.length == 0;
}

/* Moves the point by `places` to the right: what is behind it then is cut off. */
static bool shift(uint64_t *digits, int places)
{
    for (; places < 0 && *digits > 0; places++)
        *digits /= 10;
    for (; places > 0 && *digits > 0; places--) {
        if (__builtin_mul_overflow(*digits, 10, digits))
            return false;
    }
    return true;
}

bool walk_whole(const struct walk_value *value, uint64_t *number)
{
    int decimals;
    return read_number(value, number, &decimals) && shift(number, -decimals);
}

bool walk_thousands(const struct walk_value *value, int64_t *ones)
{
    struct walk_value left = unquoted(value);
    const bool negative = left.length > 0 && *left.at == '-';
    uint64_t digits;
    int decimals;
    left.at += negative;
    left.length -= negative;
    if (!read_number(&left, &digits, &decimals) || !shift(&digits, 3 - decimals) ||
        digits > INT64_MAX)
        return false;
    *ones = negative ? -(int64_t)digits : (int64_t)digits;
    return true;
}

/* --- texts --- */

const char *walk_string(const struct walk_value *value, char *text, size_t size)
{
    struct line_value read;
    const struct walk_value bare = unquoted(value);
    *text = '\0';
    if (bare.length == value->length)
        return text;
    size_t length = bare.length;
    if (length > size - 2) { /* cut where no escape is cut, nor what begins one */
        length = size - 2;
        while (length > 0 && (memchr(bare.at + length - (length < 12 ? length : 12), '\\',
                                     length < 12 ? length : 12) != NULL ||
                              ((unsigned char)bare.at[length] & 0xc0) == 0x80))
            length--;
    }
    memcpy(text, bare.at, length);
    memcpy(text + length, "\"", 2);
    if (line_text(text, &read) == NULL)
        *text = '\0';
    return text;
}

bool walk_find(struct walk_value object, const char *const *names, int count,
               struct walk_value *values)
{
    bool damaged = false;
    struct walk_value key, value;
    for (int i = 0; i < count; i++)
        values[i] = (struct walk_value){.at = ""};
    if (object.length == 0 || *object.at != '{')
        return true;
    while (walk_member(&object, &key, &value, &damaged)) {
        for (int i = 0; i < count; i++) {
            if (values[i].length == 0 && walk_is(&key, names[i])) {
                values[i] = value;
                break;
            }
        }
    }
    return !damaged;
}

uint64_t walk_whole_or(const struct walk_value *value, uint64_t most, uint64_t instead)
{
    uint64_t number;
    return value->length > 0 && walk_whole(value, &number) && number <= most ? number : instead;
}
