/* npy.c - reads and writes arrays in files: numpy's .npy format and raw elements.
 *
 * A .npy file is a magic string, a version, the length of a header, the header (a Python dict
 * literal with the keys descr, fortran_order and shape) and the elements. */
#include "run/arrays.h"

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
    HEADER_MAX = 65536,                /* version 1.0 allows this; real ones have 118 bytes */
    DATA_ALIGNMENT = 64,               /* numpy pads its headers to a multiple of this */
};

static const char magic[MAGIC_BYTES + 1] = "\x93NUMPY";

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

/* Reads the bytes before the header, and sets where the header starts and how long it is. */
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

static enum status npy_probe(const char *path, int fd, uint64_t file_bytes, enum dtype dtype,
                             struct array_file *file, struct error *error)
{
    uint64_t start = 0, length = 0, got;
    enum status status = npy_read_prelude(path, fd, file_bytes, &start, &length, error);
    if (status != STATUS_OK)
        return status;
    char *text = malloc(length + 1); /* an empty header must not look like a failure */
    if (text == NULL)
        return error_no_memory(error, "for the header of '%s'", path);
    int failure = file_read_at(fd, text, length, start, &got);
    if (failure != 0 || got < length) {
        status = error_set(error, STATUS_FAILED, "cannot read the header of '%s': %s", path,
                           failure != 0 ? strerror(failure) : "the file has become shorter");
        goto free_text;
    }
    status = npy_header_read(path, text, length, dtype, file_bytes - start - length, error);
    if (status == STATUS_OK)
        *file = (struct array_file){dtype, (file_bytes - start - length) / dtype_bytes(dtype),
                                    start + length};

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
                          npy_dtype_code(dtype), count);
    const int prelude = MAGIC_BYTES + 4;
    const int padded = (prelude + length + DATA_ALIGNMENT) / DATA_ALIGNMENT * DATA_ALIGNMENT;
    const int header = padded - prelude; /* with the newline that ends it */
    const uint8_t fields[4] = {1, 0, (uint8_t)header, (uint8_t)(header >> 8)};
    return fwrite(magic, MAGIC_BYTES, 1, stream) == 1 &&
           fwrite(fields, sizeof fields, 1, stream) == 1 &&
           fprintf(stream, "%-*s\n", header - 1, dict) == header;
}

enum status array_file_write(FILE *stream, const char *path, int npy,
                             const struct array_file *file, uint64_t first, uint64_t count,
                             const void *data, struct error *error)
{
    const bool last = first + count == file->count;
    bool written = !npy || first > 0 || npy_write_header(stream, file->dtype, file->count);
    written = written && fwrite(data, dtype_bytes(file->dtype), count, stream) == count;
    if (!written || (last && fflush(stream) != 0))
        return error_set(error, STATUS_FAILED, "cannot write '%s': %s", path, strerror(errno));
    return STATUS_OK;
}

int array_path_is_npy(const char *path)
{
    const size_t length = strlen(path);
    return length >= 4 && strcmp(path + length - 4, ".npy") == 0;
}
