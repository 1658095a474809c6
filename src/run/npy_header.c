/* npy_header.c - reads the header of a .npy file: a Python dict literal. */
#include "run/arrays.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { SHOWN_MAX = 32 }; /* characters that a message shows of a text from a file */

const char *npy_dtype_code(enum dtype dtype)
{
    static const char *const codes[DTYPE_COUNT] = {
        [DTYPE_F32] = "f4", [DTYPE_I32] = "i4", [DTYPE_F64] = "f8"};
    return codes[dtype];
}

/* A place in a header, which is not NUL-terminated. */
struct cursor {
    const char *path; /* for messages */
    const char *text;
    size_t at, end;
};

/* A quoted text in a header. */
struct quoted {
    const char *text;
    size_t length;
};

struct npy_header {
    struct quoted descr;
    bool fortran_order;
    uint64_t count;
    /* Dimensions of more than one element. With one of them at most, the order of dimensions
     * makes no difference. */
    unsigned long_dimensions;
    unsigned keys_seen; /* a bit per row of header_keys */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void cursor_skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && is_blank(cursor->text[cursor->at]))
        cursor->at++;
}

/* Returns the next character that is not blank, or NUL at the end. */
static char cursor_peek(struct cursor *cursor)
{
    cursor_skip_blanks(cursor);
    return cursor->at < cursor->end ? cursor->text[cursor->at] : '\0';
}

static bool cursor_take(struct cursor *cursor, char wanted)
{
    if (cursor_peek(cursor) != wanted)
        return false;
    cursor->at++;
    return true;
}

static bool cursor_take_word(struct cursor *cursor, const char *word)
{
    const size_t length = strlen(word);
    cursor_skip_blanks(cursor);
    if (cursor->end - cursor->at < length ||
        memcmp(cursor->text + cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

static enum status cursor_complain(const struct cursor *cursor, const char *expected,
                                   struct error *error)
{
    return error_set(error, STATUS_USAGE,
                     "%s: its .npy header is not valid: %s is expected at byte %zu",
                     cursor->path, expected, cursor->at);
}

/* Names and type codes are printable ASCII and need no escapes. */
static enum status cursor_read_quoted(struct cursor *cursor, struct quoted *quoted,
                                      const char *expected, struct error *error)
{
    const char quote = cursor_peek(cursor);
    if (quote != '\'' && quote != '"')
        return cursor_complain(cursor, expected, error);
    const size_t start = ++cursor->at;
    for (; cursor->at < cursor->end; cursor->at++) {
        const char c = cursor->text[cursor->at];
        if (c == quote) {
            *quoted = (struct quoted){cursor->text + start, cursor->at - start};
            cursor->at++;
            return STATUS_OK;
        }
        if (c < ' ' || c > '~' || c == '\\')
            break;
    }
    return cursor_complain(cursor, "the end of a quoted text", error);
}

static enum status read_descr(struct cursor *cursor, struct npy_header *header,
                              struct error *error)
{
    if (cursor_peek(cursor) == '[')
        return error_set(error, STATUS_USAGE,
                         "%s: holds structured elements; allowed are plain numbers",
                         cursor->path);
    return cursor_read_quoted(cursor, &header->descr, "a quoted type", error);
}

static enum status read_fortran_order(struct cursor *cursor, struct npy_header *header,
                                      struct error *error)
{
    header->fortran_order = cursor_take_word(cursor, "True");
    if (!header->fortran_order && !cursor_take_word(cursor, "False"))
        return cursor_complain(cursor, "True or False", error);
    return STATUS_OK;
}

/* Reads a dimension as Python prints it; Python 2 may have put an L behind it. */
static enum status read_dimension(struct cursor *cursor, struct npy_header *header,
                                  struct error *error)
{
    const char first = cursor_peek(cursor);
    if (first < '0' || first > '9')
        return cursor_complain(cursor, "a dimension", error);
    uint64_t size = 0;
    bool overflow = false;
    for (; cursor->at < cursor->end; cursor->at++) {
        const char digit = cursor->text[cursor->at];
        if (digit < '0' || digit > '9')
            break;
        overflow |= __builtin_mul_overflow(size, 10, &size);
        overflow |= __builtin_add_overflow(size, (uint64_t)(digit - '0'), &size);
    }
    if (cursor->at < cursor->end && cursor->text[cursor->at] == 'L')
        cursor->at++;
    overflow |= __builtin_mul_overflow(header->count, size, &header->count);
    header->long_dimensions += size > 1;
    if (overflow)
        return error_set(error, STATUS_USAGE,
                         "%s: its header's shape has more elements than 64 bits can count",
                         cursor->path);
    return STATUS_OK;
}

/* Reads a tuple: (), (n,), (a, b), (a, b,). One number in parentheses is no tuple. */
static enum status read_shape(struct cursor *cursor, struct npy_header *header,
                              struct error *error)
{
    if (!cursor_take(cursor, '('))
        return cursor_complain(cursor, "a tuple", error);
    header->count = 1;
    bool more = true;
    for (int dimensions = 0; !cursor_take(cursor, ')'); dimensions++) {
        if (!more)
            return cursor_complain(cursor, "',' or ')'", error);
        enum status status = read_dimension(cursor, header, error);
        if (status != STATUS_OK)
            return status;
        more = cursor_take(cursor, ',');
        if (!more && dimensions == 0)
            return cursor_complain(cursor, "','", error);
    }
    return STATUS_OK;
}

static const struct {
    const char *name;
    enum status (*read)(struct cursor *cursor, struct npy_header *header, struct error *error);
} header_keys[] = {
    {"descr", read_descr},
    {"fortran_order", read_fortran_order},
    {"shape", read_shape},
};
enum { HEADER_KEYS = sizeof header_keys / sizeof header_keys[0] };

static bool quoted_is(const struct quoted *quoted, const char *text)
{
    return quoted->length == strlen(text) && memcmp(quoted->text, text, quoted->length) == 0;
}

/* Returns how many characters of a text from a file a message shows, for "%.*s". */
static int quoted_shown(const struct quoted *quoted)
{
    return quoted->length < SHOWN_MAX ? (int)quoted->length : SHOWN_MAX;
}

static enum status header_read_item(struct cursor *cursor, struct npy_header *header,
                                    struct error *error)
{
    struct quoted key;
    enum status status = cursor_read_quoted(cursor, &key, "a quoted key", error);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < HEADER_KEYS; i++) {
        if (!quoted_is(&key, header_keys[i].name))
            continue;
        if (header->keys_seen & 1u << i)
            return error_set(error, STATUS_USAGE, "%s: its .npy header gives '%s' twice",
                             cursor->path, header_keys[i].name);
        header->keys_seen |= 1u << i;
        if (!cursor_take(cursor, ':'))
            return cursor_complain(cursor, "':'", error);
        return header_keys[i].read(cursor, header, error);
    }
    return error_set(error, STATUS_USAGE,
                     "%s: its .npy header has the unknown key '%.*s'; allowed are descr, "
                     "fortran_order and shape",
                     cursor->path, quoted_shown(&key), key.text);
}

static enum status header_parse(struct cursor *cursor, struct npy_header *header,
                                struct error *error)
{
    if (!cursor_take(cursor, '{'))
        return cursor_complain(cursor, "'{'", error);
    bool more = true;
    while (!cursor_take(cursor, '}')) {
        if (!more)
            return cursor_complain(cursor, "',' or '}'", error);
        enum status status = header_read_item(cursor, header, error);
        if (status != STATUS_OK)
            return status;
        more = cursor_take(cursor, ',');
    }
    cursor_skip_blanks(cursor);
    if (cursor->at < cursor->end)
        return cursor_complain(cursor, "nothing more", error);
    for (int i = 0; i < HEADER_KEYS; i++) {
        if ((header->keys_seen & 1u << i) == 0)
            return error_set(error, STATUS_USAGE, "%s: its .npy header does not give '%s'",
                             cursor->path, header_keys[i].name);
    }
    return STATUS_OK;
}

/* '<f4' is little-endian; '=f4' and 'f4' are native, which is the same here. */
static enum status header_check_descr(const char *path, const struct quoted *descr,
                                      enum dtype dtype, struct error *error)
{
    const char *code = npy_dtype_code(dtype);
    const char order = descr->length > 0 ? descr->text[0] : '\0';
    struct quoted rest = *descr;
    if (order == '<' || order == '=' || order == '>') {
        rest.text++;
        rest.length--;
    }
    if (!quoted_is(&rest, code))
        return error_set(error, STATUS_USAGE,
                         "%s: holds elements of type '%.*s'; allowed is '<%s' (%s)", path,
                         quoted_shown(descr), descr->text, code, dtype_name(dtype));
    if (order == '>')
        return error_set(error, STATUS_USAGE,
                         "%s: holds big-endian elements ('>%s'); allowed is little-endian "
                         "('<%s')",
                         path, code, code);
    return STATUS_OK;
}

/* Refuses a header that does not fit the array that is wanted, or the data that follows. */
static enum status header_check(const char *path, const struct npy_header *header,
                                enum dtype dtype, uint64_t data_bytes, struct error *error)
{
    enum status status = header_check_descr(path, &header->descr, dtype, error);
    if (status != STATUS_OK)
        return status;
    if (header->fortran_order && header->long_dimensions > 1)
        return error_set(
            error, STATUS_USAGE,
            "%s: is in Fortran order; allowed is C order (numpy.ascontiguousarray)", path);
    const uint64_t element_bytes = dtype_bytes(dtype);
    if (data_bytes % element_bytes != 0 || data_bytes / element_bytes != header->count)
        return error_set(error, STATUS_USAGE,
                         "%s: its header says %" PRIu64 " elements, the file holds %" PRIu64
                         " (%" PRIu64 " bytes of data)",
                         path, header->count, data_bytes / element_bytes, data_bytes);
    if (header->count == 0)
        return error_set(error, STATUS_USAGE, "%s: holds no elements; at least 1 is needed",
                         path);
    return STATUS_OK;
}

enum status npy_header_read(const char *path, const char *text, size_t length, enum dtype dtype,
                            uint64_t data_bytes, struct error *error)
{
    struct cursor cursor = {.path = path, .text = text, .end = length};
    struct npy_header header = {0};
    enum status status = header_parse(&cursor, &header, error);
    return status == STATUS_OK ? header_check(path, &header, dtype, data_bytes, error) : status;
}
