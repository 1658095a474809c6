/* judge.c - what the program promises of every input: it ends, by itself and with a code that
 * is documented; it says why where that is not 0; what it says can't be taken for orders by a
 * terminal; files are there whole, as they were, or not at all; and nothing else stays. */
#include "hostile.h"

#include "../hostile_cases.h"

#include <ftw.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- files --- */

static bool ends_with(const char *bytes, size_t size, const char *end, size_t end_size)
{
    return size >= end_size && memcmp(bytes + size - end_size, end, end_size) == 0;
}

static const char *json_why(const char *bytes, size_t size)
{
    json_t *value = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
    const char *why = value == NULL ? "is no JSON" : NULL;
    json_decref(value);
    return why;
}

/* A cell that a spreadsheet would take for a formula. */
static bool is_formula(const char *cell, size_t size)
{
    char text[64] = "", *end;
    if (size == 0 || strchr("=+-@\t\r", cell[0]) == NULL)
        return false;
    snprintf(text, sizeof text, "%.*s", (int)size, cell);
    strtod(text, &end);
    return end == text || *end != '\0';
}

/* Lines that begin with '#' may stand before the head of columns; every record has as many
 * fields as that. */
static const char *csv_why(const char *bytes, size_t size)
{
    const char *at = bytes, *end = bytes + size;
    int width = 0, fields = 0;
    while (at < end && *at == '#') {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        at = line != NULL ? line + 1 : end;
    }
    while (at < end) {
        const bool quoted = *at == '"';
        const char *cell = at += quoted;
        while (at < end && (quoted ? *at != '"' || (at + 1 < end && at[1] == '"')
                                   : strchr(",\n\"", *at) == NULL))
            at += quoted && *at == '"' ? 2 : 1;
        if (is_formula(cell, (size_t)(at - cell)))
            return "has a cell that a spreadsheet takes for a formula";
        at += quoted;
        fields++;
        if (at >= end || (*at != ',' && *at != '\n'))
            return "has a cell that does not end";
        if (*at++ == ',')
            continue;
        if (width != 0 && fields != width)
            return "has records of different widths";
        width = fields;
        fields = 0;
    }
    return fields > 0 || width == 0 ? "does not end with a line" : NULL;
}

/* The page's data is JSON in an element of its own. */
static const char *html_why(const char *bytes, size_t size)
{
    static const char begin[] = "<script type=\"application/json\" id=\"data\">";
    const char *data = memmem(bytes, size, begin, strlen(begin));
    if (data == NULL || !ends_with(bytes, size, "</html>\n", 8))
        return "is no whole page";
    data += strlen(begin);
    const char *end = memmem(data, size - (size_t)(data - bytes), "</script>", 9);
    return end == NULL ? "is no whole page" : json_why(data, (size_t)(end - data));
}

/* Every element that begins also ends. */
static const char *svg_why(const char *bytes, size_t size)
{
    long open = 0;
    bool any = false;
    const char *why = hostile_text_why(bytes, size, "\n\t");
    if (why != NULL)
        return why;
    for (const char *at = bytes, *end; (at = strchr(at, '<')) != NULL; at = end) {
        const char *close = strncmp(at, "<!--", 4) == 0        ? "-->"
                            : strncmp(at, "<![CDATA[", 9) == 0 ? "]]>"
                                                               : ">";
        end = strstr(at, close);
        if (end == NULL)
            return "ends within a tag";
        bool element = at[1] != '!' && at[1] != '?';
        any |= element;
        open += !element || end[-1] == '/' ? 0 : at[1] == '/' ? -1 : 1;
    }
    while (size > 0 && bytes[size - 1] == '\n')
        size--;
    return any && open == 0 && ends_with(bytes, size, "</svg>", 6) ? NULL
                                                                   : "is no whole picture";
}

/* The header says how many bytes follow, of one dimension or of none. */
static const char *npy_why(const char *bytes, size_t size)
{
    const char *shape = size > 10 ? memmem(bytes, size, "'shape': (", 10) : NULL;
    const char *type = size > 10 ? memmem(bytes, size, "'descr': '<", 11) : NULL;
    if (shape == NULL || type == NULL || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return "is no array";
    char *end;
    const uint64_t count = strtoull(shape + 10, &end, 10);
    const size_t head = 10u + (unsigned char)bytes[8] + ((size_t)(unsigned char)bytes[9] << 8);
    const uint64_t bytes_each = (uint64_t)(type[12] - '0');
    return head + (end == shape + 10 ? 1 : count) * bytes_each == size ? NULL
                                                                       : "is no whole array";
}

static const char *png_why(const char *bytes, size_t size)
{
    return size > 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0 &&
                   ends_with(bytes, size, "IEND\xae\x42\x60\x82", 8)
               ? NULL
               : "is no whole picture";
}

static const char *pdf_why(const char *bytes, size_t size)
{
    return size > 5 && memcmp(bytes, "%PDF-", 5) == 0 && ends_with(bytes, size, "%%EOF\n", 6)
               ? NULL
               : "is no whole picture";
}

const char *whole_why(const char *path, const char *bytes, size_t size)
{
    static const struct form {
        const char *ending;
        const char *(*why)(const char *bytes, size_t size);
    } forms[] = {{".json", json_why}, {".csv", csv_why}, {".html", html_why}, {".svg", svg_why},
                 {".npy", npy_why},   {".png", png_why}, {".pdf", pdf_why}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (ends_with(path, strlen(path), forms[i].ending, strlen(forms[i].ending)))
            return forms[i].why(bytes, size);
    }
    return NULL;
}

/* --- the files in the scratch folder --- */

enum { KNOWN_MAX = 64 };

static char *known[KNOWN_MAX]; /* the paths of files that were there before */
static int known_count;

static const char *const places[] = {".", "../disk", "../tmp"};

static int remember(const char *path, const struct stat *about, int type, struct FTW *at)
{
    (void)about;
    (void)type;
    if (at->level > 0 && known_count < KNOWN_MAX)
        known[known_count++] = strdup(path);
    return 0;
}

void judge_begin(struct input *input)
{
    for (; known_count > 0; known_count--)
        free(known[known_count - 1]);
    for (int i = 0; i < 3; i++)
        nftw(places[i], remember, 16, FTW_PHYS);
    for (int i = 0; i < input->output_count; i++) {
        struct output *output = &input->outputs[i];
        free(output->before);
        output->before = file_read(output->path, &output->before_size);
    }
}

static struct input *looked_at;

static bool is_same(const char *bytes, size_t size, const char *other, size_t other_size)
{
    return bytes != NULL && other != NULL && size == other_size &&
           memcmp(bytes, other, size) == 0;
}

/* A file that is whole, and about to take its place, stays where SIGKILL comes just then. */
static bool is_killed_at_the_end(const char *path)
{
    size_t size = 0;
    bool found = false;
    if (looked_at->call.signal != SIGKILL)
        return false;
    char *bytes = file_read(path, &size);
    for (int i = 0; i < looked_at->output_count; i++)
        found |=
            is_same(bytes, size, looked_at->outputs[i].whole, looked_at->outputs[i].whole_size);
    free(bytes);
    return found;
}

/* A path as nftw() gives it, "./x", and one as it is given, "x". */
static bool is_path(const char *found, const char *given)
{
    return strcmp(found, given) == 0 ||
           (strncmp(found, "./", 2) == 0 && strcmp(found + 2, given) == 0);
}

static int find_stranger(const char *path, const struct stat *about, int type, struct FTW *at)
{
    (void)about;
    (void)type;
    bool expected = at->level == 0;
    for (int i = 0; i < known_count && !expected; i++)
        expected = strcmp(path, known[i]) == 0;
    for (int i = 0; i < looked_at->output_count && !expected; i++)
        expected = is_path(path, looked_at->outputs[i].path);
    if (strcmp(path + at->base, "canary") == 0)
        fault(looked_at, "a command in a name was obeyed");
    else if (!expected && !is_killed_at_the_end(path))
        fault(looked_at, "the file '%s' is left", path);
    return 0;
}

/* An output is not there, as it was, or whole; and it is there and whole where all went well.
 */
static void judge_output(struct input *input, const struct output *output, bool accepted)
{
    size_t size = 0;
    struct stat about;
    if (stat(output->path, &about) == 0 && !S_ISREG(about.st_mode))
        return;
    char *bytes = file_read(output->path, &size);
    const bool before = is_same(bytes, size, output->before, output->before_size);
    const bool whole = is_same(bytes, size, output->whole, output->whole_size) ||
                       is_same(bytes, size, output->other, output->other_size);
    const char *why =
        bytes == NULL || before || output->raw ? NULL : whole_why(output->path, bytes, size);
    if (why == NULL && bytes != NULL && !before && !whole && output->whole != NULL)
        why = "is not as it should be";
    if (why != NULL)
        fault(input, "a file is broken: %s, of %zu bytes, %s", output->path, size, why);
    else if (bytes == NULL && output->before != NULL)
        fault(input, "a file is lost: %s", output->path);
    else if (accepted && output->whole != NULL && !whole)
        fault(input, "exit 0, but %s is not written", output->path);
    free(bytes);
}

/* --- the report --- */

static int64_t ns_of(const json_t *run, const char *key)
{
    return llround(json_number_value(json_object_get(run, key)) * 1e6);
}

/* The charges add up to what the run took above its limit, and none is negative. */
static void judge_charges(struct input *input, const json_t *run)
{
    const json_t *verdicts = json_object_get(run, "verdicts"), *verdict;
    const int64_t time = ns_of(run, "timeline_ms"), least = ns_of(run, "limit_ms");
    int64_t sum = 0;
    size_t i;
    json_array_foreach(verdicts, i, verdict)
    {
        const int64_t cost = json_integer_value(json_object_get(verdict, "ns"));
        if (cost < 0)
            fault(input, "a charge of %lld ns", (long long)cost);
        sum += cost;
    }
    if (i > 0 && sum != time - least)
        fault(input, "the charges add up to %lld ns, not %lld", (long long)sum,
              (long long)(time - least));
}

static void judge_run(struct input *input, const json_t *run)
{
    const bool own = json_is_object(json_object_get(run, "settings"));
    const bool races = json_array_size(json_object_get(run, "hazards")) > 0;
    if (json_string_value(json_object_get(run, "name")) == NULL)
        fault(input, "a run without a name");
    if (ns_of(run, "time_ms") < 0)
        fault(input, "a negative time");
    if (own && ns_of(run, "limit_ms") > ns_of(run, "time_ms"))
        fault(input, "the limit, %lld ns, is above the time, %lld ns",
              (long long)ns_of(run, "limit_ms"), (long long)ns_of(run, "time_ms"));
    if (races && json_is_true(json_object_get(run, "verified")))
        fault(input, "ops race, and yet the result is verified");
    if (own)
        judge_charges(input, run);
}

void judge_report(struct input *input, const char *text, size_t size)
{
    json_error_t why;
    json_t *report = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why), *run;
    const json_t *runs = json_object_get(report, "runs");
    size_t i;
    if (report == NULL)
        fault(input, "the report is no JSON: line %d: %s", why.line, why.text);
    else if (!json_is_array(runs))
        fault(input, "the report has no runs");
    else
        json_array_foreach(runs, i, run) judge_run(input, run);
    json_decref(report);
}

/* --- all of it --- */

/* Returns the last argument that begins so, which is the one that counts; "" without one. */
static const char *argument_of(const struct call *call, const char *begin)
{
    for (int i = call->count; i >= 1; i--) {
        if (strncmp(call->arguments[i], begin, strlen(begin)) == 0)
            return call->arguments[i];
    }
    return "";
}

static void judge_end(struct input *input, const struct call *call, const struct result *result)
{
    static const char *const reports[] = {"AddressSanitizer",         "LeakSanitizer",
                                          "runtime error: ",          "stack smashing",
                                          "buffer overflow detected", "*** "};
    const bool sent = result->signal != 0 && result->signal == call->signal;
    const bool full = result->signal == SIGPIPE && call->out_path != NULL;
    if (result->timed_out)
        fault(input, "it hangs");
    else if (result->signal != 0 && !sent && !full)
        fault(input, "ended by SIG%s", sigabbrev_np(result->signal));
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        if (strstr(result->err, reports[i]) != NULL) {
            fault(input, "%.200s", strstr(result->err, reports[i]));
            return;
        }
    }
    if (result->signal == 0 && result->code > 2 && result->code != 77)
        fault(input, "exit %d", result->code);
    if (result->code > 0 && result->err_size == 0 && (call->closed & 4) == 0)
        fault(input, "exit %d without a word", result->code);
    if (result->left_process)
        fault(input, "a process that it started is left");
}

static void judge_words(struct input *input, const struct call *call,
                        const struct result *result)
{
    const char *why = hostile_text_why(result->err, result->err_size, "\n\t");
    if (why != NULL)
        fault(input, "what it says of errors %s: %.80s", why, result->err);
    why = hostile_text_why(result->out, result->out_size, "\n\t");
    if (why != NULL)
        fault(input, "what it prints %s", why);
    bool report = result->code == 0 && call->out_path == NULL && (call->closed & 2) == 0;
    static const char *const others[] = {"--help", "-h", "--version", "--emit"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        report &= *argument_of(call, others[i]) == '\0';
    const char *format = argument_of(call, "--format=");
    const bool plan = *argument_of(call, "--dry-run") != '\0';
    if (report && strcmp(format, "--format=json") == 0 && !plan)
        judge_report(input, result->out, result->out_size);
    else if (report && strcmp(format, "--format=json") == 0 &&
             json_why(result->out, result->out_size) != NULL)
        fault(input, "the plan is no JSON");
    why = strcmp(format, "--format=csv") == 0 ? csv_why(result->out, result->out_size) : NULL;
    if (report && why != NULL)
        fault(input, "the report %s", why);
}

void judge_result(struct input *input, const struct call *call, const struct result *result)
{
    judge_end(input, call, result);
    judge_words(input, call, result);
}

void judge_files(struct input *input, bool accepted)
{
    looked_at = input;
    for (int i = 0; i < 3; i++)
        nftw(places[i], find_stranger, 16, FTW_PHYS);
    for (int i = 0; i < input->output_count; i++)
        judge_output(input, &input->outputs[i], accepted);
}
