/* trace.c - finds the reader that a trace is for. */
#include "trace/trace.h"

#include "options/input_file.h"
#include "trace/gunzip.h"
#include "trace/input.h"

#include <stdio.h>
#include <string.h>

enum {
    HEADER_MAX = 1 << 14, /* bytes that say what a file is; a recording's header is shorter */
};

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), end = strlen(ending);
    return length >= end && strcmp(path + length - end, ending) == 0;
}

/* Returns true if the first line is an object with the key of a recording. */
static bool is_recording(const char *text, size_t count)
{
    static const char key[] = "\"pipeline_recording\"";
    const char *line_end = memchr(text, '\n', count);
    const char *end = line_end != NULL ? line_end : text + count;
    const char *at = count > 0 && *text == '{'
                         ? memmem(text, (size_t)(end - text), key, sizeof key - 1)
                         : NULL;
    if (at == NULL)
        return false;
    at += sizeof key - 1;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at < end && *at == ':';
}

/* Returns the reader for JSON and for what this program wrote; NULL: it is neither. */
static trace_reader *saved_reader(const char *bytes, size_t count)
{
    static const char csv[] = "# pipeline ", header[] = "run,op,kind";
    size_t at = count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const char *text = bytes + at;
    count -= at;
    if (is_recording(text, count))
        return trace_recording_read;
    if ((count >= sizeof csv - 1 && memcmp(text, csv, sizeof csv - 1) == 0) ||
        (count >= sizeof header - 1 && memcmp(text, header, sizeof header - 1) == 0))
        return saved_csv_read;
    while (count > 0 && (*text == ' ' || *text == '\n' || *text == '\r' || *text == '\t'))
        text++, count--;
    return count > 0 && (*text == '{' || *text == '[') ? trace_chrome_read : NULL;
}

/* Its first bytes say what a file is. They stay in the input, for its reader. */
static enum status read_file(struct trace_input *input, const char *path, bool regular,
                             struct traces *traces, struct error *error)
{
    static const char sqlite[] = "SQLite format 3"; /* and a NUL: 16 bytes */
    char shown[TRACE_SHOWN];
    if (!trace_input_fill(input, HEADER_MAX))
        return error_set(error, STATUS_NO_MEMORY, "no memory for the trace");
    const char *bytes = input->text + input->at;
    size_t count = input->end - input->at;
    if (count >= sizeof sqlite && memcmp(bytes, sqlite, sizeof sqlite) == 0) {
        if (input->packed != NULL)
            return error_set(error, STATUS_USAGE,
                             "%s:1: an SQLite database that gzip packed: unpack it by gunzip",
                             trace_shown(path, shown));
        if (regular)
            return trace_sqlite_read(path, traces, error);
        return error_set(error, STATUS_USAGE,
                         "%s:1: an SQLite database can't be read through a pipe: name its file",
                         trace_shown(path, shown));
    }
    if (count >= 6 && memcmp(bytes,
                             "\xfd"
                             "7zXZ",
                             6) == 0)
        return error_set(error, STATUS_USAGE, "%s:1: xz packed it: unpack it by xz -dk",
                         trace_shown(path, shown));
    if (ends_in(path, ".nsys-rep") || ends_in(path, ".qdrep"))
        return error_set(error, STATUS_USAGE,
                         "%s:1: a report that only Nsight Systems reads: export it with nsys "
                         "stats -r cuda_gpu_trace --format csv, or nsys export -t sqlite",
                         trace_shown(path, shown));
    trace_reader *saved = saved_reader(bytes, count);
    return (saved != NULL ? saved : trace_csv_read)(input, path, traces, error);
}

enum status traces_read(const char *path, struct traces *traces, struct error *error)
{
    char shown[TRACE_SHOWN], why[INPUT_WHY];
    bool regular;
    struct trace_input input = {0};
    enum status status = input_open(path, &input.file, &regular, why);
    if (status != STATUS_OK)
        return error_set(error, status, "%s: can't be read: %s", trace_shown(path, shown), why);
    struct traces whole = {0};
    struct error what = {0};
    status = read_file(&input, path, regular, &whole, &what);
    if (input.failed) { /* what was read of it is not all */
        error_clear(&what);
        status =
            error_set(&what, input.why == gunzip_no_memory ? STATUS_NO_MEMORY : STATUS_USAGE,
                      "%s: can't be read: %s", trace_shown(path, shown), input.why);
    }
    if (status == STATUS_OK && input.cut && whole.unread[0] == '\0')
        snprintf(whole.unread, sizeof whole.unread,
                 "%s: what gzip packed has no end, and this is what there is",
                 trace_shown(path, shown));
    if (status == STATUS_OK) {
        *traces = whole;
    } else {
        traces_free(&whole);
        error_pass(error, &what);
    }
    trace_input_free(&input);
    fclose(input.file);
    return status;
}
