/* trace.c - finds the reader that a trace is for. */
#include "trace/trace.h"

#include "trace/build.h"
#include "trace/own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Returns a file that can be read twice: a copy of `file`, such as a pipe, which can't. Closes
 * `file`. NULL where it can't be read, or there is no room for a copy; errno says why. */
static FILE *copied(FILE *file)
{
    FILE *copy = tmpfile();
    char block[1 << 14];
    size_t got;
    bool whole = copy != NULL;
    while (whole && (got = fread(block, 1, sizeof block, file)) > 0)
        whole = fwrite(block, 1, got, copy) == got;
    whole = whole && !ferror(file) && fflush(copy) == 0;
    int why = errno;
    fclose(file);
    if (whole)
        rewind(copy);
    else if (copy != NULL)
        fclose(copy);
    errno = why;
    return whole ? copy : NULL;
}

/* Opens `path` so that it can be read twice; sets whether it is a regular file. NULL: it can't
 * be read, and `error` says why. */
static FILE *open_file(const char *path, bool *regular, struct error *error)
{
    char shown[TRACE_SHOWN];
    struct stat status;
    FILE *file = fopen(path, "r");
    bool there = file != NULL && fstat(fileno(file), &status) == 0;
    if (there && S_ISDIR(status.st_mode)) {
        fclose(file);
        error_set(error, STATUS_USAGE, "%s: a folder, not a trace", trace_shown(path, shown));
        return NULL;
    }
    *regular = there && S_ISREG(status.st_mode);
    if (file != NULL && !*regular)
        file = copied(file);
    if (file == NULL)
        error_set(error, STATUS_USAGE, "%s: can't be read: %s", trace_shown(path, shown),
                  strerror(errno));
    return file;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), end = strlen(ending);
    return length >= end && strcmp(path + length - end, ending) == 0;
}

/* Returns the reader for a file that this program wrote; NULL: it is none. */
typedef enum status reader(FILE *file, const char *path, struct traces *traces,
                           struct error *error);
static reader *own_reader(const char *bytes, size_t count)
{
    static const char csv[] = "# pipeline ", header[] = "run,op,kind";
    size_t at = count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const char *text = bytes + at;
    count -= at;
    if ((count >= sizeof csv - 1 && memcmp(text, csv, sizeof csv - 1) == 0) ||
        (count >= sizeof header - 1 && memcmp(text, header, sizeof header - 1) == 0))
        return own_csv_read;
    while (count > 0 && (*text == ' ' || *text == '\n' || *text == '\r' || *text == '\t'))
        text++, count--;
    return count > 0 && *text == '{' ? own_json_read : NULL;
}

static enum status read_file(FILE *file, const char *path, bool regular, struct traces *traces,
                             struct error *error)
{
    static const char sqlite[] = "SQLite format 3"; /* and a NUL: 16 bytes */
    char bytes[sizeof sqlite], shown[TRACE_SHOWN];
    size_t count = fread(bytes, 1, sizeof bytes, file);
    rewind(file);
    if (count == sizeof sqlite && memcmp(bytes, sqlite, sizeof sqlite) == 0) {
        if (regular)
            return trace_sqlite_read(path, traces, error);
        return error_set(error, STATUS_USAGE,
                         "%s:1: an SQLite database can't be read through a pipe: name its file",
                         trace_shown(path, shown));
    }
    if (ends_in(path, ".nsys-rep") || ends_in(path, ".qdrep"))
        return error_set(error, STATUS_USAGE,
                         "%s:1: a report that only Nsight Systems reads: export it with nsys "
                         "stats -r cuda_gpu_trace --format csv, or nsys export -t sqlite",
                         trace_shown(path, shown));
    reader *own = own_reader(bytes, count);
    return (own != NULL ? own : trace_csv_read)(file, path, traces, error);
}

enum status traces_read(const char *path, struct traces *traces, struct error *error)
{
    bool regular;
    FILE *file = open_file(path, &regular, error);
    if (file == NULL)
        return STATUS_USAGE;
    enum status status = read_file(file, path, regular, traces, error);
    fclose(file);
    return status;
}
