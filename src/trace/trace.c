/* trace.c - finds the reader that a trace is for. */
#include "trace/trace.h"

#include "trace/build.h"
#include "trace/own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Reads the first bytes of a regular file; none of anything else, such as a pipe, which can't
 * be read twice. */
static enum status read_beginning(const char *path, char *bytes, size_t room, size_t *count,
                                  struct error *error)
{
    char shown[TRACE_SHOWN];
    struct stat status;
    *count = 0;
    if (stat(path, &status) != 0)
        return error_set(error, STATUS_USAGE, "%s: can't be read: %s", trace_shown(path, shown),
                         strerror(errno));
    if (S_ISDIR(status.st_mode))
        return error_set(error, STATUS_USAGE, "%s: a folder, not a trace",
                         trace_shown(path, shown));
    if (!S_ISREG(status.st_mode))
        return STATUS_OK;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return error_set(error, STATUS_USAGE, "%s: can't be read: %s", trace_shown(path, shown),
                         strerror(errno));
    *count = fread(bytes, 1, room, file);
    fclose(file);
    return STATUS_OK;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), end = strlen(ending);
    return length >= end && strcmp(path + length - end, ending) == 0;
}

/* Returns the reader for a file that this program wrote; NULL: it is none. */
static enum status (*own_reader(const char *bytes, size_t count))(const char *, struct traces *,
                                                                  struct error *)
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

enum status traces_read(const char *path, struct traces *traces, struct error *error)
{
    static const char sqlite[] = "SQLite format 3"; /* and a NUL: 16 bytes */
    char bytes[sizeof sqlite], shown[TRACE_SHOWN];
    size_t count;
    enum status status = read_beginning(path, bytes, sizeof bytes, &count, error);
    if (status != STATUS_OK)
        return status;
    if (count == sizeof sqlite && memcmp(bytes, sqlite, sizeof sqlite) == 0)
        return trace_sqlite_read(path, traces, error);
    if (ends_in(path, ".nsys-rep") || ends_in(path, ".qdrep"))
        return error_set(error, STATUS_USAGE,
                         "%s:1: a report that only Nsight Systems reads: export it with nsys "
                         "stats -r cuda_gpu_trace --format csv, or nsys export -t sqlite",
                         trace_shown(path, shown));
    enum status (*own)(const char *, struct traces *, struct error *) =
        own_reader(bytes, count);
    return (own != NULL ? own : trace_csv_read)(path, traces, error);
}
