/* catalogue.c - what the page's controls are made of: the tables of the other rooms. */
#include "lab/lab.h"

#include "causes/verdict.h"
#include "core/version.h"
#include "options/exercise.h"
#include "options/lesson.h"
#include "options/options.h"
#include "options/table.h"
#include "plan/mistake.h"
#include "writers/json.h"

#include <string.h>

static void put_member(struct json *json, const char *key, const char *text)
{
    if (text != NULL)
        json_put_text(json_key(json, key), text);
}

/* Returns true if a simulated run without data is another one with the option. */
static bool has_use(const struct option_row *row)
{
    static const char *const useless[] = {"device", "runs",    "warmup", "profile",
                                          "seed",   "no-data", "scatter"};
    if (row->scope != SCOPE_RUN || row->type == TYPE_FILE || row->type == TYPE_NAME)
        return false;
    for (size_t i = 0; i < sizeof useless / sizeof useless[0]; i++) {
        if (strcmp(row->name, useless[i]) == 0)
            return false;
    }
    return true;
}

static void put_choices(struct json *json, const struct option_row *row)
{
    json_open(json_key(json, "choices"), '[');
    for (int i = 0; row->type == TYPE_CHOICE && row->choices[i] != NULL; i++)
        json_put_text(json, row->choices[i]);
    for (const struct mistake_row *mistake = mistake_rows;
         row->type == TYPE_MISTAKE && mistake->name != NULL; mistake++)
        json_put_text(json, mistake->name);
    json_close(json, ']');
}

static void put_option(struct json *json, const struct option_row *row,
                       const struct settings *defaults)
{
    static const char *const types[] = {
        [TYPE_NUMBER] = "number",  [TYPE_SHARE] = "share", [TYPE_CHOICE] = "choice",
        [TYPE_FLAG] = "flag",      [TYPE_CHAIN] = "chain", [TYPE_PRIORITIES] = "priorities",
        [TYPE_MISTAKE] = "choice",
    };
    char text[OPTION_TEXT], with[OPTION_WITH];
    enum value_kind kind;
    json_open(json, '{');
    put_member(json, "name", row->name);
    put_member(json, "type", types[row->type]);
    put_member(json, "default", option_show(row, defaults, text, &kind));
    if (row->type == TYPE_NUMBER) {
        json_put_count(json_key(json, "least"), row->least);
        json_put_count(json_key(json, "most"), row->most);
        json_put_bool(json_key(json, "automatic"), row->automatic);
        json_put_bool(json_key(json, "suffixes"), row->suffixes);
    }
    put_choices(json, row);
    put_member(json, "placeholder", row->placeholder);
    put_member(json, "help", row->help);
    put_member(json, "with", option_with(row, with));
    put_member(json, "absent", row->absent);
    json_close(json, '}');
}

static void put_options(struct json *json, const struct settings *defaults)
{
    json_open(json_key(json, "options"), '[');
    for (int id = 0; id < OPTION_COUNT; id++) {
        if (has_use(&option_rows[id]))
            put_option(json, &option_rows[id], defaults);
    }
    json_close(json, ']');
}

static void put_machines(struct json *json)
{
    json_open(json_key(json, "machines"), '[');
    for (const struct embedded *text = machine_texts; text->name != NULL; text++) {
        struct machine machine;
        if (machine_parse(&machine, text->text, text->name, NULL) != STATUS_OK)
            continue;
        json_open(json, '{');
        put_member(json, "name", text->name);
        put_member(json, "summary", machine.summary);
        put_member(json, "architecture", machine.architecture);
        json_put_count(json_key(json, "devices"), machine.devices);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_kernels(struct json *json)
{
    json_open(json_key(json, "kernels"), '[');
    for (const struct kernel *kernel = kernel_table; kernel->name != NULL; kernel++) {
        json_open(json, '{');
        put_member(json, "name", kernel->name);
        put_member(json, "summary", kernel->summary);
        put_member(json, "in", dtype_name(kernel->in));
        put_member(json, "out", dtype_name(kernel->out));
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_mistakes(struct json *json)
{
    json_open(json_key(json, "mistakes"), '[');
    for (const struct mistake_row *row = mistake_rows; row->name != NULL; row++) {
        json_open(json, '{');
        put_member(json, "name", row->name);
        put_member(json, "summary", row->summary);
        put_member(json, "effect", row->effect);
        put_member(json, "shows", row->shows);
        put_member(json, "needs", row->needs);
        put_member(json, "verdict", row->verdict != NULL ? row->verdict : row->name);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_verdicts(struct json *json)
{
    json_open(json_key(json, "verdicts"), '[');
    for (int code = 0; code < VERDICT_COUNT; code++) {
        json_open(json, '{');
        put_member(json, "code", verdict_rows[code].name);
        put_member(json, "text", verdict_rows[code].text);
        put_member(json, "fix", verdict_rows[code].fix);
        put_member(json, "cuda", verdict_rows[code].cuda);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* --- lessons --- */

/* The settings of a run that differ from the defaults, on their way into an open object. */
struct difference {
    struct json *json;
    const struct settings *defaults;
};

static void put_difference(void *context, const char *name, const char *value,
                           enum value_kind kind)
{
    struct difference *difference = context;
    const struct option_row *row = option_find(name);
    char text[OPTION_TEXT];
    enum value_kind default_kind;
    const char *fallback = option_show(row, difference->defaults, text, &default_kind);
    bool same =
        value == NULL || fallback == NULL ? value == fallback : strcmp(value, fallback) == 0;
    (void)kind;
    if (value != NULL && !same && (has_use(row) || row->type == TYPE_DEVICE))
        json_put_text(json_key(difference->json, name), value);
}

static void put_runs(struct json *json, const struct embedded *text,
                     const struct settings *defaults)
{
    struct options options;
    json_open(json_key(json, "runs"), '[');
    if (options_read_text(text->name, text->text, &options, NULL) == STATUS_OK) {
        for (int i = 0; i < options.run_count; i++) {
            json_open(json, '{');
            put_member(json, "name", options.runs[i].name);
            json_open(json_key(json, "settings"), '{');
            struct difference difference = {json, defaults};
            settings_each(&options.runs[i], put_difference, &difference);
            json_close(json, '}');
            json_close(json, '}');
        }
        options_free(&options);
    }
    json_close(json, ']');
}

static void put_guess(struct json *json, const struct lesson_guess *guess)
{
    json_open(json, '{');
    put_member(json, "kind", guess_kind_names[guess->kind]);
    put_member(json, "question", guess->question);
    json_open(json_key(json, "runs"), '[');
    for (int i = 0; i < guess->run_count; i++)
        json_put_text(json, guess->runs[i]);
    json_close(json, ']');
    if (guess->kind == GUESS_FASTER) {
        json_put_real(json_key(json, "least"), guess->factors[0]);
        json_put_real(json_key(json, "most"), guess->factors[guess->choice_count - 1]);
    }
    json_open(json_key(json, "codes"), '[');
    for (int i = 0; i < guess->choice_count && guess->kind == GUESS_CAUSE; i++)
        json_put_text(json, verdict_rows[guess->codes[i]].name);
    json_close(json, ']');
    json_close(json, '}');
}

static void put_paragraph(void *json, const char *paragraph)
{
    json_put_text(json, paragraph);
}

static void put_head(struct json *json, const struct embedded *text)
{
    struct lesson lesson;
    if (lesson_read(&lesson, text->name, text->text, NULL) != STATUS_OK)
        return;
    put_member(json, "title", lesson.title);
    put_member(json, "question", lesson.question);
    put_member(json, "message", lesson.message);
    json_put_count(json_key(json, "exit"), (uint64_t)lesson.exit_code);
    json_open(json_key(json, "guesses"), '[');
    for (int i = 0; i < lesson.guess_count; i++)
        put_guess(json, &lesson.guesses[i]);
    json_close(json, ']');
    json_open(json_key(json, "explanation"), '[');
    lesson_explain(text->text, put_paragraph, json);
    json_close(json, ']');
}

static void put_lessons(struct json *json, const struct settings *defaults)
{
    json_open(json_key(json, "lessons"), '[');
    for (const struct embedded *text = lesson_texts; text->name != NULL; text++) {
        json_open(json, '{');
        put_member(json, "name", text->name);
        put_head(json, text);
        put_runs(json, text, defaults);
        put_member(json, "ini", text->text);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* --- exercises --- */

/* Writes the settings of a list such as "ways=1 streams=4", a line each. */
static void write_settings(const char *list, FILE *out)
{
    for (; *list != '\0'; list += strcspn(list, " "), list += strspn(list, " ")) {
        const int name = (int)strcspn(list, "="), all = (int)strcspn(list, " ");
        fprintf(out, "%.*s = %.*s\n", name, list, all - name - 1, list + name + 1);
    }
}

/* Writes the runs that show an exercise, as a config file has them. */
static void put_shown(struct json *json, const struct exercise *exercise)
{
    static const char shown[] = "shown", run[] = "shown.";
    struct ini_text ini;
    struct answer answer;
    if (!answer_begin(&answer))
        return;
    exercise_lines(&ini);
    while (exercise_next_line(exercise, &ini)) {
        if (strcmp(ini.key, shown) == 0)
            fputs("[global]\n", answer.out);
        else if (strncmp(ini.key, run, strlen(run)) == 0)
            fprintf(answer.out, "[%s]\n", ini.key + strlen(run));
        else
            continue;
        write_settings(ini.value, answer.out);
    }
    char *text = answer_end(&answer, STATUS_OK);
    put_member(json, "ini", text);
    free(text);
}

static void put_exercises(struct json *json)
{
    struct exercise exercise;
    json_open(json_key(json, "exercises"), '[');
    for (const struct embedded *text = exercise_texts; exercise_next(&text, &exercise);) {
        json_open(json, '{');
        put_member(json, "name", exercise.name);
        put_member(json, "title", exercise.title);
        json_open(json_key(json, "task"), '[');
        exercise_task(&exercise, put_paragraph, json);
        json_close(json, ']');
        put_member(json, "start", exercise.start);
        put_member(json, "answer", exercise.answer);
        put_shown(json, &exercise);
        json_close(json, '}');
    }
    json_close(json, ']');
}

char *lab_catalogue(void)
{
    struct settings defaults;
    struct answer answer;
    struct put put;
    struct json json = {.put = &put};
    enum status status = settings_set_defaults(&defaults, NULL);
    if (status != STATUS_OK || !answer_begin(&answer))
        return NULL;
    put_begin(&put, answer.out);
    json_open(&json, '{');
    put_member(&json, "version", PIPELINE_VERSION);
    put_options(&json, &defaults);
    put_machines(&json);
    put_kernels(&json);
    put_mistakes(&json);
    put_verdicts(&json);
    put_lessons(&json, &defaults);
    put_exercises(&json);
    json_close(&json, '}');
    return answer_end(&answer, put_end(&put));
}
