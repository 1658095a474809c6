/* trace.c - finds the reader that a trace is for. */
#include "trace/trace.h"

#include "options/input_file.h"
#include "trace/build.h"
#include "trace/gunzip.h"
#include "trace/input.h"

#include <stdio.h>
#include <string.h>

#define SQLITE "SQLite format 3" /* and a NUL: 16 bytes */

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

/* What is known, but not read: by its first bytes, by a text near them, or as no text that has
 * a certain ending; and what to do. */
#define UNPACK "a packed file: unpack it by "
#define NVPROF                                                                                 \
    "a database of nvprof: nvprof -i FILE --print-gpu-trace --csv --log-file FILE.csv "        \
    "exports "                                                                                 \
    "what can be read"
#define NSYS                                                                                   \
    "a report that only Nsight Systems reads: export it with nsys export -t sqlite FILE, or "  \
    "nsys stats -r cuda_gpu_trace --format csv FILE"
static const struct other {
    const char *begins, *has, *ends, *why;
} others[] = {
    {"\xfd"
     "7zXZ",
     NULL, NULL, UNPACK "xz -dk"},
    {"\x28\xb5\x2f\xfd", NULL, NULL, UNPACK "zstd -d"},
    {"BZh", NULL, NULL, UNPACK "bzip2 -dk"},
    {"PK\x03\x04", NULL, NULL, UNPACK "unzip"},
    {"\xff\xfe", NULL, NULL,
     "UTF-16, as PowerShell writes: iconv -f UTF-16 -t UTF-8 makes it text"},
    {SQLITE, "StringTable", NULL, NVPROF},
    {NULL, NULL, ".nvvp", NVPROF},
    {NULL, NULL, ".nvprof", NVPROF},
    {NULL, NULL, ".nsys-rep", NSYS},
    {NULL, NULL, ".qdrep", NSYS},
    {NULL, NULL, ".qdstrm",
     "what Nsight Systems makes a report of: QdstrmImporter -i FILE, of its folder host-*, "
     "does, "
     "and nsys export -t sqlite exports that"},
    {NULL, NULL, ".ncu-rep",
     "a report of Nsight Compute, which runs kernel after kernel: when they ran tells nsys "
     "profile -t cuda"},
};

/* Returns what is to be done with a file that is not read; NULL: nothing is known of it. */
static const char *find_other(const char *path, const char *bytes, size_t count)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const struct other *other = &others[i];
        if ((other->begins == NULL ||
             (count >= strlen(other->begins) &&
              memcmp(bytes, other->begins, strlen(other->begins)) == 0)) &&
            (other->has == NULL ||
             memmem(bytes, count, other->has, strlen(other->has)) != NULL) &&
            (other->ends == NULL ||
             (ends_in(path, other->ends) && memchr(bytes, '\0', count) != NULL)))
            return other->why;
    }
    return NULL;
}

/* Its first bytes say what a file is. They stay in the input, for its reader. */
static enum status read_file(struct trace_input *input, const char *path, bool regular,
                             struct traces *traces, struct error *error)
{
    char shown[TRACE_SHOWN];
    if (!trace_input_fill(input, HEADER_MAX))
        return error_no_memory(error, "for the trace");
    const char *bytes = input->text + input->at;
    size_t count = input->end - input->at;
    const char *why = find_other(path, bytes, count);
    const bool database = count >= sizeof SQLITE && memcmp(bytes, SQLITE, sizeof SQLITE) == 0;
    if (why == NULL && database && input->packed != NULL)
        why = "an SQLite database that gzip packed: unpack it by gunzip";
    else if (why == NULL && database && !regular)
        why = "an SQLite database can't be read through a pipe: name its file";
    if (why != NULL)
        return error_set(error, STATUS_USAGE, "%s:1: %s", trace_shown(path, shown), why);
    if (database)
        return trace_sqlite_read(path, traces, error);
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
    traces_add_unread(&whole, path, status == STATUS_OK && input.cut && whole.unread[0] == '\0',
                      "what gzip packed has no end, and this is what there is");
    const size_t doubled = whole.recording != NULL ? whole.recording->doubled : 0;
    traces_add_unread(&whole, path, status == STATUS_OK && doubled > 0,
                      "calls that have the correlation of another: %zu; their operations count "
                      "as that one's",
                      doubled);
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
