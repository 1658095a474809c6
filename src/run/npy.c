/* npy.c - reads and writes arrays in files: numpy's .npy format and raw elements.
 *
 * A .npy file is a magic string, a version, the length of a header, the header (a Python dict
 * literal with the keys descr, fortran_order and shape) and the elements. */
#include "run/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "array files hold little-endian data");

enum {
    MAGIC_BYTES = 6,
    PRELUDE_MAX = MAGIC_BYTES + 2 + 4, /* magic, version, header length */
    HEADER_MAX = 65536,                /* what version 1.0 allows; real ones have 118 bytes */
    DATA_ALIGNMENT = 64,               /* numpy pads its headers so */
    SHOWN_MAX = 32,                    /* of a text that came from a file */
};

static const char magic[MAGIC_BYTES + 1] = "\x93NUMPY";

/* numpy's type codes, by enum dtype. */
static const char *const dtype_codes[DTYPE_COUNT] = {
    [DTYPE_F32] = "f4", [DTYPE_I32] = "i4", [DTYPE_F64] = "f8"};

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
    unsigned long_dimensions; /* of more than one element; with one at most, the order of
                                 dimensions makes no difference */
    unsigned keys_seen;       /* a bit per row of header_keys */
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

/* The next character that is not blank, or NUL at the end. */
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

/* One dimension, as Python prints it; Python 2 may have put an L behind it. */
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

/* A tuple: (), (n,), (a, b), (a, b,). One number in parentheses is none. */
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

/* How much of a text from a file a message shows, for "%.*s". */
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
    const char *code = dtype_codes[dtype];
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

/* Reads up to `bytes` bytes at `offset`, fewer only at the end of the file; *got says how many.
 * Returns 0 or an errno. */
static int file_read_at(int fd, void *data, uint64_t bytes, uint64_t offset, uint64_t *got)
{
    *got = 0;
    while (*got < bytes) {
        ssize_t part = pread(fd, (char *)data + *got, bytes - *got, (off_t)(offset + *got));
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return errno;
        if (part == 0)
            break;
        *got += (uint64_t)part;
    }
    return 0;
}

/* Opens a regular file. Without O_NONBLOCK a pipe would wait for its writer. */
static enum status file_open(const char *path, int *fd, uint64_t *bytes, struct error *error)
{
    int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat about;
    if (opened < 0 || fstat(opened, &about) != 0) {
        error_set(error, STATUS_USAGE, "cannot open the array file '%s': %s", path,
                  strerror(errno));
        goto refuse;
    }
    if (!S_ISREG(about.st_mode)) {
        error_set(error, STATUS_USAGE, "'%s' is %s; an array file must be a regular file", path,
                  S_ISDIR(about.st_mode) ? "a directory" : "a pipe, a device or a socket");
        goto refuse;
    }
    *fd = opened;
    *bytes = (uint64_t)about.st_size;
    return STATUS_OK;

refuse:
    if (opened >= 0)
        close(opened);
    return STATUS_USAGE;
}

/* Reads what comes before the header: sets where the header starts and how long it is. */
static enum status npy_read_prelude(const char *path, int fd, uint64_t file_bytes,
                                    uint64_t *start, uint64_t *length, struct error *error)
{
    unsigned char prelude[PRELUDE_MAX] = {0};
    uint64_t got;
    int failure = file_read_at(fd, prelude, sizeof prelude, 0, &got);
    if (failure != 0)
        return error_set(error, STATUS_FAILED, "cannot read '%s': %s", path, strerror(failure));
    if (got < MAGIC_BYTES || memcmp(prelude, magic, MAGIC_BYTES) != 0)
        return error_set(error, STATUS_USAGE, "%s: is not a .npy file", path);
    const unsigned major = prelude[MAGIC_BYTES], minor = prelude[MAGIC_BYTES + 1];
    const unsigned char *field = prelude + MAGIC_BYTES + 2;
    if (got >= MAGIC_BYTES + 2 && (major < 1 || major > 3 || minor != 0))
        return error_set(error, STATUS_USAGE,
                         "%s: is in .npy format %u.%u; allowed are 1.0, 2.0 and 3.0", path,
                         major, minor);
    *start = MAGIC_BYTES + 2 + (major == 1 ? 2 : 4);
    *length = field[0] | (uint64_t)field[1] << 8;
    if (major > 1)
        *length |= (uint64_t)field[2] << 16 | (uint64_t)field[3] << 24;
    if (*start + *length > file_bytes)
        return error_set(error, STATUS_USAGE, "%s: ends within its .npy header", path);
    if (*length > HEADER_MAX)
        return error_set(error, STATUS_USAGE,
                         "%s: its .npy header has %" PRIu64 " bytes; at most %d are allowed",
                         path, *length, HEADER_MAX);
    return STATUS_OK;
}

/* Judges what the header says; `data_bytes` is what follows it. */
static enum status npy_check_header(const char *path, const struct npy_header *header,
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

static enum status npy_probe(const char *path, int fd, uint64_t file_bytes, enum dtype dtype,
                             struct array_file *file, struct error *error)
{
    uint64_t start = 0, length = 0, got;
    enum status status = npy_read_prelude(path, fd, file_bytes, &start, &length, error);
    if (status != STATUS_OK)
        return status;
    char *text = malloc(length + 1); /* an empty header must not look like a failure */
    if (text == NULL)
        return error_set(error, STATUS_FAILED, "no memory for the header of '%s'", path);
    int failure = file_read_at(fd, text, length, start, &got);
    if (failure != 0 || got < length) {
        status = error_set(error, STATUS_FAILED, "cannot read the header of '%s': %s", path,
                           failure != 0 ? strerror(failure) : "the file has become shorter");
        goto free_text;
    }
    struct cursor cursor = {.path = path, .text = text, .end = length};
    struct npy_header header = {0};
    status = header_parse(&cursor, &header, error);
    if (status == STATUS_OK)
        status = npy_check_header(path, &header, dtype, file_bytes - start - length, error);
    if (status == STATUS_OK)
        *file = (struct array_file){dtype, header.count, start + length};

free_text:
    free(text);
    return status;
}

static enum status raw_probe(const char *path, uint64_t file_bytes, enum dtype dtype,
                             struct array_file *file, struct error *error)
{
    const uint64_t element_bytes = dtype_bytes(dtype);
    if (file_bytes == 0 || file_bytes % element_bytes != 0)
        return error_set(error, STATUS_USAGE,
                         "%s: holds %" PRIu64 " bytes; a raw file must hold one or more whole "
                         "%s elements of %" PRIu64 " bytes",
                         path, file_bytes, dtype_name(dtype), element_bytes);
    *file = (struct array_file){dtype, file_bytes / element_bytes, 0};
    return STATUS_OK;
}

enum status array_file_probe(const char *path, enum dtype dtype, struct array_file *file,
                             struct error *error)
{
    int fd;
    uint64_t file_bytes;
    enum status status = file_open(path, &fd, &file_bytes, error);
    if (status != STATUS_OK)
        return status;
    status = array_path_is_npy(path) ? npy_probe(path, fd, file_bytes, dtype, file, error)
                                     : raw_probe(path, file_bytes, dtype, file, error);
    close(fd);
    return status;
}

enum status array_file_read(const char *path, const struct array_file *file, uint64_t first,
                            uint64_t count, void *data, struct error *error)
{
    int fd;
    uint64_t file_bytes, got;
    enum status status = file_open(path, &fd, &file_bytes, error);
    if (status != STATUS_OK)
        return status;
    const uint64_t element_bytes = dtype_bytes(file->dtype);
    int failure = file_read_at(fd, data, count * element_bytes,
                               file->data_offset + first * element_bytes, &got);
    close(fd);
    if (failure != 0)
        return error_set(error, STATUS_FAILED, "cannot read '%s': %s", path, strerror(failure));
    if (got < count * element_bytes)
        return error_set(error, STATUS_FAILED,
                         "cannot read '%s': it has become shorter: it ends at element %" PRIu64
                         " of %" PRIu64,
                         path, first + got / element_bytes, file->count);
    return STATUS_OK;
}

/* Writes a version 1.0 header, byte for byte as numpy does. */
static bool npy_write_header(FILE *stream, enum dtype dtype, uint64_t count)
{
    char dict[128];
    int length = snprintf(dict, sizeof dict,
                          "{'descr': '<%s', 'fortran_order': False, 'shape': (%" PRIu64 ",), }",
                          dtype_codes[dtype], count);
    const int prelude = MAGIC_BYTES + 4;
    const int padded = (prelude + length + DATA_ALIGNMENT) / DATA_ALIGNMENT * DATA_ALIGNMENT;
    const int header = padded - prelude; /* with the newline that ends it */
    const uint8_t fields[4] = {1, 0, (uint8_t)header, (uint8_t)(header >> 8)};
    return fwrite(magic, MAGIC_BYTES, 1, stream) == 1 &&
           fwrite(fields, sizeof fields, 1, stream) == 1 &&
           fprintf(stream, "%-*s\n", header - 1, dict) == header;
}

enum status array_file_write(FILE *stream, const char *path, int npy, enum dtype dtype,
                             uint64_t count, const void *data, struct error *error)
{
    bool written = !npy || npy_write_header(stream, dtype, count);
    written = written && fwrite(data, dtype_bytes(dtype), count, stream) == count;
    if (!written || fflush(stream) != 0)
        return error_set(error, STATUS_FAILED, "cannot write '%s': %s", path, strerror(errno));
    return STATUS_OK;
}

int array_path_is_npy(const char *path)
{
    const size_t length = strlen(path);
    return length >= 4 && strcmp(path + length - 4, ".npy") == 0;
}
