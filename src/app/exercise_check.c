/* exercise_check.c - `pipeline exercise check`: a program is tried, also in other orders of its
 * streams, by `pipeline try`, its recording is judged by `pipeline view`, each in a process of
 * its own, and programs/exercises/exercises.ini says what that must come to. */
#include "app/commands.h"
#include "app/try.h"

#include "core/units.h"
#include "options/exercise.h"
#include "options/input_file.h"
#include "term/child.h"

#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 4, SECONDS = 600, OUTPUT_MAX = 64 << 20 };

struct grade {
    bool right, passed;
    double time_ms, limit_ms, reached, wanted; /* not known: 0 */
    char hint[CHILD_ERRORS + 256];
};

/* Reads a file, without what Windows adds to lines. The text is to be freed. */
static enum status read_text(const char *path, char **text, struct error *error)
{
    char why[INPUT_WHY];
    size_t length;
    const enum status status = input_text(path, text, &length, why);
    if (status != STATUS_OK)
        return error_set(error, status, "%.300s: %s", path, why);
    char *to = *text;
    for (const char *from = *text; *from != '\0'; from++)
        if (*from != '\r')
            *to++ = *from;
    *to = '\0';
    return STATUS_OK;
}

/* --- the program's text --- */

struct parts {
    const char *begin, *own, *end; /* the first #include; the student's part; what is behind */
};

static bool take_apart(const char *text, struct parts *parts)
{
    parts->begin = strstr(text, "#include");
    parts->own =
        parts->begin != NULL ? strstr(parts->begin, "\n// ---- your part begins") : NULL;
    parts->end = parts->own != NULL ? strstr(parts->own, "\n// ---- your part ends") : NULL;
    return parts->end != NULL;
}

/* Returns true if two texts are the same but for blanks and newlines at the end. */
static bool ends_alike(const char *one, const char *other)
{
    while (*one != '\0' && *one == *other)
        one++, other++;
    return one[strspn(one, " \t\n")] == '\0' && other[strspn(other, " \t\n")] == '\0';
}

/* Returns true if what checks the result is as it was handed out. */
static bool only_own_part_differs(const char *text, const char *start)
{
    struct parts now, then;
    return take_apart(start, &then) && take_apart(text, &now) &&
           now.own - now.begin == then.own - then.begin &&
           memcmp(now.begin, then.begin, (size_t)(now.own - now.begin)) == 0 &&
           ends_alike(now.end, then.end);
}

/* Blanks comments out, and ends the text with the student's part. */
static void keep_own_code(char *text)
{
    struct parts parts;
    if (!take_apart(text, &parts))
        return;
    text[parts.end - text] = '\0';
    memset(text, ' ', (size_t)(parts.own - text));
    for (char *at = text; (at = strchr(at, '/')) != NULL; at++) {
        const char *behind = at[1] == '/'   ? strchr(at, '\n')
                             : at[1] == '*' ? strstr(at, "*/")
                                            : at;
        memset(at, ' ', behind != NULL ? (size_t)(behind - at) : strlen(at));
    }
}

/* Returns true if one of `words`, which '|' divides, is in `text`; with quotes around it there,
 * if `quoted`. */
static bool has_any(const char *text, const char *words, bool quoted)
{
    char copy[INI_LINE_MAX + 1], word[INI_LINE_MAX + 3], *rest = copy;
    snprintf(copy, sizeof copy, "%s", words);
    for (const char *name; (name = strsep(&rest, "|")) != NULL;) {
        snprintf(word, sizeof word, quoted ? "\"%s\"" : "%s", name);
        if (strstr(text, word) != NULL)
            return true;
    }
    return false;
}

static bool has_line(const char *text, const char *line)
{
    const size_t length = strlen(line);
    while (text != NULL && (strncmp(text, line, length) != 0 || text[length] != '\n')) {
        text = strchr(text, '\n');
        text += text != NULL;
    }
    return text != NULL;
}

/* --- the table --- */

/* Copies what the table says of `key`, or `otherwise`. */
static void setting(const struct exercise *exercise, const char *key, const char *otherwise,
                    char value[INI_LINE_MAX + 1])
{
    struct ini_text ini;
    exercise_lines(&ini);
    snprintf(value, INI_LINE_MAX + 1, "%s", otherwise);
    while (exercise_next_line(exercise, &ini)) {
        if (strcmp(ini.key, key) == 0)
            snprintf(value, INI_LINE_MAX + 1, "%s", ini.value);
    }
}

/* Returns a figure of a run's report, as "engines.h2d.bytes"; an element of a list is named by
 * its code. 0: it is not there. */
static double figure(const json_t *run, const char *path)
{
    char words[INI_LINE_MAX + 1], *rest = words;
    snprintf(words, sizeof words, "%s", path);
    for (const char *word; (word = strsep(&rest, ".")) != NULL;) {
        const json_t *found = json_object_get(run, word);
        for (size_t i = 0; i < json_array_size(run); i++) {
            const json_t *row = json_array_get(run, i);
            const char *code = json_string_value(json_object_get(row, "code"));
            if (code != NULL && strcmp(code, word) == 0)
                found = row;
        }
        run = found;
    }
    return json_number_value(run);
}

static bool is_met(const struct ini_text *ini, const struct grade *grade, const json_t *run,
                   const char *recording, const char *code)
{
    const double value = strtod(ini->value, NULL);
    if (strcmp(ini->key, "reached") == 0)
        return grade->reached >= value;
    if (strncmp(ini->key, "least.", 6) == 0)
        return figure(run, ini->key + 6) >= value;
    if (strncmp(ini->key, "most.", 5) == 0)
        return figure(run, ini->key + 5) <= value;
    if (strcmp(ini->key, "recorded") == 0)
        return has_any(recording, ini->value, true);
    if (strcmp(ini->key, "unrecorded") == 0)
        return !has_any(recording, ini->value, true);
    return strcmp(ini->key, "source") != 0 || has_any(code, ini->value, false);
}

static void judge(const struct exercise *exercise, const json_t *run, const char *recording,
                  const char *code, struct grade *grade)
{
    char value[INI_LINE_MAX + 1];
    struct ini_text ini;
    bool met = true;
    setting(exercise, "time", "time_ms", value);
    grade->time_ms = figure(run, value);
    setting(exercise, "limit_ms", "", value);
    grade->limit_ms = value[0] != '\0' ? strtod(value, NULL) : figure(run, "limit_ms");
    grade->reached = grade->time_ms > 0 ? grade->limit_ms / grade->time_ms : 0;
    exercise_lines(&ini);
    grade->passed = true;
    while (exercise_next_line(exercise, &ini) && grade->passed) {
        if (strcmp(ini.key, "hint") != 0) {
            met = is_met(&ini, grade, run, recording, code);
        } else if (!met) {
            snprintf(grade->hint, sizeof grade->hint, "%s", ini.value);
            grade->passed = false;
        }
    }
}

/* --- the runs --- */

/* Runs this program with `words` behind its name; what that prints ends with a 0. Returns true
 * where it ended well. */
static bool run_ourselves(const char *const *words, struct child *child, enum child_end *end)
{
    char *arguments[10] = {"/proc/self/exe"};
    for (size_t i = 0; words[i] != NULL; i++)
        arguments[i + 1] = (char *)words[i];
    *child =
        (struct child){.arguments = arguments, .output_max = OUTPUT_MAX, .seconds = SECONDS};
    *end = child_run(child);
    char *output = realloc(child->output, child->length + 1);
    if (output == NULL)
        free(child->output);
    else
        output[child->length] = '\0';
    child->output = output;
    return output != NULL && *end == CHILD_EXITED && child->code == 0;
}

/* Says in the hint why a program is not right: what we found, else what it says itself. */
static void say_wrong(const struct child *child, enum child_end end, struct grade *grade)
{
    static const char mark[] = "pipeline: ";
    const char *line = NULL;
    for (const char *at = child->errors; (at = strstr(at, mark)) != NULL; at++)
        line = at + strlen(mark);
    if (end == CHILD_LATE)
        line = "It does not end.";
    else if (end == CHILD_SIGNALLED || child->code > 128)
        line = "A signal ended it: it crashed.";
    if (line == NULL && child->output != NULL)
        line = strstr(child->output, "wrong: ");
    if (line == NULL)
        line = "The program does not say that its result is right.";
    snprintf(grade->hint, sizeof grade->hint, "%.*s", (int)strcspn(line, "\n"), line);
}

/* Runs the program and judges it. */
static enum status run_and_judge(const struct exercise *exercise, const char *path,
                                 const char *code, const char *folder, struct grade *grade,
                                 struct error *error)
{
    char device[INI_LINE_MAX + 16] = "--device=", orders[32], to[PATH_MAX];
    struct child tried, viewed = {.output = NULL};
    enum child_end end;
    enum status status = STATUS_OK;
    setting(exercise, "device", "sim:h200", device + strlen(device));
    snprintf(orders, sizeof orders, "--orders=%d", ORDERS);
    snprintf(to, sizeof to, "--output=%s/run.jsonl", folder);
    const bool right = run_ourselves(
        (const char *const[]){"try", "-q", "--gantt=none", device, orders, to, path, NULL},
        &tried, &end);
    grade->right = right && has_line(tried.output, "right");
    if (!grade->right && end == CHILD_EXITED && tried.code == 2 && tried.length == 0) {
        fputs(tried.errors, stderr);
        status = error_set(error, STATUS_USAGE, "exercise check: %.300s can't be run", path);
    } else if (!grade->right) {
        say_wrong(&tried, end, grade);
    } else {
        const char *recorded = to + strlen("--output=");
        char *recording = NULL;
        run_ourselves(
            (const char *const[]){"view", "-q", "--all", "--format=json", recorded, NULL},
            &viewed, &end);
        json_t *report = viewed.output != NULL ? json_loads(viewed.output, 0, NULL) : NULL;
        status = report != NULL ? read_text(recorded, &recording, error)
                                : error_set(error, STATUS_FAILED,
                                            "exercise check: the run can't be judged");
        if (status == STATUS_OK)
            judge(exercise, json_array_get(json_object_get(report, "runs"), 0), recording, code,
                  grade);
        json_decref(report);
        free(recording);
    }
    free(tried.output);
    free(viewed.output);
    return status;
}

/* --- the grade --- */

static json_t *known(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static void print_json(const struct exercise *exercise, const struct grade *grade, bool answer)
{
    json_t *root = json_pack("{s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:f, s:s?}", "exercise",
                             exercise->name, "passed", grade->passed, "right", grade->right,
                             "orders", grade->right ? json_integer(ORDERS) : json_null(),
                             "time_ms", known(grade->time_ms), "limit_ms",
                             known(grade->limit_ms), "reached", known(grade->reached), "wanted",
                             grade->wanted, "hint", grade->passed ? NULL : grade->hint);
    if (answer)
        json_object_set_new(root, "answer", json_string(exercise->answer));
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(root);
}

static void print_text(const struct exercise *exercise, const struct grade *grade, bool answer)
{
    char time[UNITS_TEXT], limit[UNITS_TEXT];
    printf("exercise %.2s, %s: %s\n", exercise->name, exercise->title,
           grade->passed ? "passed" : "not yet");
    if (grade->right)
        printf("  right, also in %d other orders of the streams\n", ORDERS);
    if (grade->time_ms > 0)
        printf("  %s; limit %s: it reaches %.0f%%, wanted %.0f%%\n",
               units_time((int64_t)(1e6 * grade->time_ms), time),
               units_time((int64_t)(1e6 * grade->limit_ms), limit), 100 * grade->reached,
               100 * grade->wanted);
    if (!grade->passed) {
        fputs("  hint: ", stdout);
        options_print_wrapped(stdout, 8, 8, grade->hint);
    }
    if (answer)
        printf("\n%s", exercise->answer);
}

enum status exercise_check(const struct exercise *exercise, const char *path,
                           const struct options *options, struct error *error)
{
    struct grade grade = {.passed = false};
    struct try_folder folder = {.pipe = -1};
    char wanted[INI_LINE_MAX + 1], *code;
    enum status status = read_text(path, &code, error);
    if (status != STATUS_OK)
        return status;
    setting(exercise, "reached", "0", wanted);
    grade.wanted = strtod(wanted, NULL);
    if (!only_own_part_differs(code, exercise->start)) {
        snprintf(grade.hint, sizeof grade.hint,
                 "Change your part alone, between the two lines that say so: the rest differs "
                 "from `pipeline exercise %.2s`.",
                 exercise->name);
    } else {
        keep_own_code(code);
        /* The same times on any computer, and nothing that only happens once. */
        if (setenv("PIPELINE_TRY_HOST", "0", 1) != 0 ||
            setenv("CUDA_MODULE_LOADING", "EAGER", 1) != 0)
            status = error_no_memory(error, "to run the program");
        if (status == STATUS_OK)
            status = try_folder_begin(&folder, error);
        if (status == STATUS_OK)
            status = run_and_judge(exercise, path, code, folder.path, &grade, error);
        try_folder_end(&folder);
    }
    free(code);
    if (status != STATUS_OK)
        return status;
    (options->format == FORMAT_JSON ? print_json : print_text)(exercise, &grade,
                                                               options->answer);
    return grade.passed ? STATUS_OK
                        : error_set(error, STATUS_FAILED, "exercise %.2s is not passed yet",
                                    exercise->name);
}
