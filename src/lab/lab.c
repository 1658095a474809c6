/* lab.c - from a config to the data of a page, by the stages of the command's own runs. */
#include "lab/lab.h"

#include "app/job.h"
#include "core/version.h"
#include "emit/emit.h"
#include "trace/view.h"
#include "writers/json.h"
#include "writers/writer.h"

#include <stdio.h>
#include <stdlib.h>

/* The name by which errors call the config: a reader of the page has no file. */
static const char config_name[] = "lab";

/* One run, from its settings to what is known of it. */
static enum status run_one(struct job *job, struct run_report *run, struct error *error)
{
    enum status status = job_open(job, error);
    if (status == STATUS_OK)
        status = job_plan(job, run, error);
    if (status == STATUS_OK)
        status = job_prepare(job, run, error);
    if (status == STATUS_OK)
        status = job_run(job, run, error);
    if (status == STATUS_OK)
        status = job_analyse(job, run, error);
    return status;
}

static enum status run_all(const struct options *options, struct job *jobs,
                           struct report *report, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < options->run_count && status == STATUS_OK; i++) {
        struct error why = {0};
        jobs[i].options = options;
        jobs[i].settings = options->runs[i];
        report->runs[i].settings = &jobs[i].settings;
        report->runs[i].timeline = (struct timeline){0};
        report->run_count++;
        status = run_one(&jobs[i], &report->runs[i], &why);
        job_end(&jobs[i]);
        if (status != STATUS_OK && options->run_count > 1)
            error_set(error, status, "run %s: %s", options->runs[i].name, why.text);
        else if (status != STATUS_OK)
            error_pass(error, &why);
    }
    if (status == STATUS_OK)
        report_find_speedups(report);
    return status;
}

/* --- answers --- */

/* A lack of memory is no refusal: what was asked for is not wrong. */
static enum status put_error(FILE *out, enum status status, const struct error *error)
{
    struct put put;
    struct json json = {.put = &put};
    put_begin(&put, out);
    json_open(&json, '{');
    json_put_text(json_key(&json, "error"), error->text);
    json_put_bool(json_key(&json, "refused"), status != STATUS_NO_MEMORY);
    json_close(&json, '}');
    return put_end(&put);
}

static char *answer_of(enum status status, const struct report *report,
                       const struct error *error)
{
    struct answer answer;
    if (!answer_begin(&answer))
        return NULL;
    return answer_end(&answer, status == STATUS_OK ? write_page_data(answer.out, report)
                                                   : put_error(answer.out, status, error));
}

/* --- questions --- */

char *lab_run(const char *config)
{
    struct options options;
    struct error error = {0};
    struct report report = {.version = PIPELINE_VERSION};
    enum status status = options_read_text(config_name, config, &options, &error);
    if (status != STATUS_OK)
        return answer_of(status, &report, &error);
    struct job *jobs = calloc((size_t)options.run_count, sizeof *jobs);
    report.runs = calloc((size_t)options.run_count, sizeof *report.runs);
    if (jobs == NULL || report.runs == NULL)
        status = error_no_memory(&error, "for %d runs", options.run_count);
    else
        status = run_all(&options, jobs, &report, &error);
    char *answer = answer_of(status, &report, &error);
    report_free(&report);
    free(report.runs);
    free(jobs);
    options_free(&options);
    return answer;
}

/* Writes the member of a run: its program, or why it has none. */
static enum status put_program(struct json *json, const struct options *options,
                               const struct settings *settings, struct error *error)
{
    struct job job = {.options = options, .settings = *settings};
    struct run_report run = {.settings = &job.settings};
    struct report report = {.runs = &run, .run_count = 1};
    struct answer code;
    struct error why = {0};
    if (!answer_begin(&code))
        return error_no_memory(error, "for a program");
    run.timeline = (struct timeline){0};
    enum status status = job_open(&job, &why);
    if (status == STATUS_OK)
        status = job_plan(&job, &run, &why);
    if (status == STATUS_OK)
        status = write_program(code.out, &job.plan, &job.settings, &why);
    job_end(&job);
    report_free(&report);
    char *text = answer_end(&code, STATUS_OK);
    if (status == STATUS_NO_MEMORY || text == NULL) {
        free(text);
        return error_no_memory(error, "for a program");
    }
    json_open(json, '{');
    json_put_text(json_key(json, "name"), settings->name);
    if (status == STATUS_OK)
        json_put_text(json_key(json, "code"), text);
    else
        json_put_text(json_key(json, "refusal"), why.text);
    json_close(json, '}');
    free(text);
    return STATUS_OK;
}

char *lab_code(const char *config)
{
    struct options options;
    struct error error = {0};
    struct answer answer;
    struct put put;
    struct json json = {.put = &put};
    enum status status = options_read_text(config_name, config, &options, &error);
    if (status != STATUS_OK)
        return answer_of(status, NULL, &error);
    if (!answer_begin(&answer)) {
        options_free(&options);
        return NULL;
    }
    put_begin(&put, answer.out);
    json_open(&json, '{');
    json_open(json_key(&json, "programs"), '[');
    for (int i = 0; i < options.run_count && status == STATUS_OK; i++)
        status = put_program(&json, &options, &options.runs[i], &error);
    json_close(&json, ']');
    json_close(&json, '}');
    const enum status written = put_end(&put);
    options_free(&options);
    char *text = answer_end(&answer, written);
    if (status == STATUS_OK)
        return text;
    free(text);
    return answer_of(status, NULL, &error);
}

char *lab_view(const char *path)
{
    struct options options;
    struct view view = {0};
    struct error error = {0};
    char command[] = "pipeline", verb[] = "view", end[] = "--";
    char *const arguments[] = {command, verb, end, (char *)path, NULL};
    enum status status = options_parse(4, arguments, &options, &error);
    if (status != STATUS_OK)
        return answer_of(status, NULL, &error);
    status = view_read(&options, NULL, &view, &error);
    char *answer = answer_of(status, &view.report, &error);
    view_free(&view);
    options_free(&options);
    return answer;
}
