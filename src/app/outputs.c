/* outputs.c - opens and writes the files of a command, and its report. */
#include "app/outputs.h"

#include "emit/emit.h"
#include "report/compare.h"
#include "term/output_file.h"
#include "term/progress.h"
#include "writers/writer.h"

#include <stdlib.h>
#include <string.h>

/* Opens the file of --emit. */
static enum status open_program(const struct options *options, struct outputs *outputs,
                                struct error *error)
{
    if (strcmp(options->emit, "-") == 0) {
        outputs->gathered = open_memstream(&outputs->programs, &outputs->programs_length);
        return outputs->gathered != NULL ? STATUS_OK : error_no_memory(error, "for a program");
    }
    if (options->run_count > 1)
        return error_set(error, STATUS_USAGE,
                         "--emit: a file takes one program, and there are %d runs: allowed is "
                         "one run, or --emit=- for all on standard output",
                         options->run_count);
    return output_file_open(&outputs->program, options->emit, error);
}

enum status outputs_open(const struct options *options, struct outputs *outputs,
                         struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < options->timeline_count && status == STATUS_OK; i++)
        status = timeline_writer_find(options->timelines[i], &outputs->writers[i], error);
    if (status == STATUS_OK && options->emit != NULL)
        return open_program(options, outputs, error);
    if (options->dry_run)
        return status;
    for (int i = 0; i < options->timeline_count && status == STATUS_OK; i++)
        status = output_file_open(&outputs->timelines[i], options->timelines[i], error);
    for (int i = 0; i < options->run_count && status == STATUS_OK; i++) {
        if (options->runs[i].output != NULL)
            status = output_file_open(&outputs->arrays[i], options->runs[i].output, error);
    }
    return status;
}

void outputs_discard(const struct options *options, struct outputs *outputs)
{
    for (int i = 0; i < TIMELINE_FILES_MAX; i++)
        output_file_discard(&outputs->timelines[i]);
    output_file_discard(&outputs->program);
    if (outputs->gathered != NULL)
        fclose(outputs->gathered);
    outputs->gathered = NULL;
    free(outputs->programs);
    outputs->programs = NULL;
    for (int i = 0; i < options->run_count; i++)
        output_file_discard(&outputs->arrays[i]);
}

/* nvcc tells what a file holds by the end of its name. */
static bool is_cuda_source(const char *path)
{
    const char *end = strrchr(path, '.');
    return end != NULL && strcmp(end, ".cu") == 0;
}

/* Returns true if a kernel of the chain is in a library, which the program opens. */
static bool has_own_kernel(const struct plan *plan)
{
    for (int i = 0; i < plan->chain_length; i++)
        if (plan->chain[i]->file != NULL)
            return true;
    return false;
}

/* Writes the program of one of several runs behind those before it, under its name. One that
 * has none leaves the others theirs: why is written in its place. */
static enum status gather_program(const struct options *options, struct outputs *outputs,
                                  const struct plan *plan, const struct settings *settings,
                                  struct error *error)
{
    struct error why = {0};
    const bool several = options->run_count > 1;
    if (several)
        fprintf(outputs->gathered, "%s// ---- run %s ----\n",
                ftell(outputs->gathered) > 0 ? "\n" : "", settings->name);
    const enum status status = write_program(outputs->gathered, plan, settings, &why);
    outputs->gathered_count += status == STATUS_OK;
    if (status != STATUS_USAGE || !several)
        return status == STATUS_OK ? status : error_pass(error, &why);
    fprintf(outputs->gathered, "// %s\n", why.text);
    if (outputs->refusal.status == STATUS_OK)
        outputs->refusal = why;
    return STATUS_OK;
}

enum status outputs_write_program(const struct options *options, struct outputs *outputs,
                                  const struct plan *plan, const struct settings *settings,
                                  struct error *error)
{
    if (outputs->gathered != NULL)
        return gather_program(options, outputs, plan, settings, error);
    enum status status = write_program(outputs->program.stream, plan, settings, error);
    if (status == STATUS_OK)
        status = output_file_commit(&outputs->program, error);
    if (status == STATUS_OK)
        note_print(options->quiet, "to compile it: nvcc %s-O3%s %.200s%s%s",
                   is_cuda_source(options->emit) ? "" : "-x cu ",
                   plan->packs ? " -Xcompiler -fopenmp" : "", options->emit,
                   has_own_kernel(plan) ? " -ldl" : "",
                   plan->chain[0]->resident_count != NULL ? " -lcublas" : "");
    return status;
}

enum status outputs_print_programs(struct outputs *outputs, struct error *error)
{
    if (outputs->gathered == NULL)
        return STATUS_OK;
    const bool whole = !ferror(outputs->gathered) && fclose(outputs->gathered) == 0;
    outputs->gathered = NULL;
    if (!whole)
        return error_no_memory(error, "for all programs");
    if (outputs->gathered_count == 0)
        return error_pass(error, &outputs->refusal);
    fwrite(outputs->programs, 1, outputs->programs_length, stdout);
    return STATUS_OK;
}

/* A lesson's picture comes first; --all asks for the rest, too. */
static enum status write_lesson(const struct options *options, const struct report *report,
                                const struct writer_style *style)
{
    const enum status status = write_gantt(stdout, report, style);
    if (options->all || options->gantt == GANTT_NONE) {
        write_text(stdout, report, style);
        write_verdicts(stdout, report, style);
    }
    return status;
}

static enum status write_words(const struct options *options, const struct report *report,
                               const struct writer_style *style)
{
    enum status status = STATUS_OK;
    if (options->command == COMMAND_LESSON)
        return write_lesson(options, report, style);
    if (options->command == COMMAND_VIEW)
        status = write_view(stdout, report, style);
    else
        write_text(stdout, report, style);
    if (status == STATUS_OK)
        status = write_gantt(stdout, report, style);
    write_verdicts(stdout, report, style);
    return status;
}

static enum status report_write(const struct options *options, const struct report *report,
                                struct error *error)
{
    struct writer_style style = terminal_style(options);
    enum status status = STATUS_OK;
    if (report_writers[options->format] != NULL) {
        status = report_writers[options->format](stdout, report);
    } else if (options->command == COMMAND_COMPARE) {
        status = write_compare(stdout, report, &style);
    } else if (report->sweep != NULL) {
        write_sweep(stdout, report, &style);
    } else {
        status = write_words(options, report, &style);
    }
    if (status != STATUS_OK)
        return error_set(error, status, "no memory for the whole report");
    return STATUS_OK;
}

static enum status write_timeline(const struct options *options, struct outputs *outputs,
                                  int index, const struct report *report, struct error *error)
{
    enum status status = STATUS_OK;
    struct output_file *file = &outputs->timelines[index];
    const struct timeline_writer *writer = outputs->writers[index];
    const struct picture_style style = {
        .size = options->size, .rows = options->gantt, .ending = writer->ending};
    if (writer->draw != NULL)
        status = writer->draw(file, report, &style, error);
    else if (writer->write(file->stream, report) != STATUS_OK)
        status = error_no_memory(error, "to write '%s'", options->timelines[index]);
    return status == STATUS_OK ? output_file_commit(file, error) : status;
}

/* Writes all that can be written. Returns the first failure. */
static enum status write_timelines(const struct options *options, struct outputs *outputs,
                                   const struct report *report, struct error *error)
{
    enum status first = STATUS_OK;
    for (int i = 0; i < options->timeline_count; i++) {
        enum status status =
            write_timeline(options, outputs, i, report, first == STATUS_OK ? error : NULL);
        first = first == STATUS_OK ? status : first;
    }
    return first;
}

/* In files of a comparison the simulated run stands beside each run; a sweep's pictures are
 * curves, so its files have the runs alone. */
static enum status write_files(const struct options *options, struct outputs *outputs,
                               const struct report *report, struct error *error)
{
    if (options->command != COMMAND_COMPARE || report->sweep != NULL)
        return write_timelines(options, outputs, report, error);
    struct report pairs;
    enum status status = compare_pairs(report, &pairs, error);
    if (status != STATUS_OK)
        return status;
    status = write_timelines(options, outputs, &pairs, error);
    free(pairs.runs);
    return status;
}

enum status outputs_write(const struct options *options, struct outputs *outputs,
                          const struct report *report, struct error *error)
{
    enum status files = write_files(options, outputs, report, error);
    enum status printed = report_write(options, report, files == STATUS_OK ? error : NULL);
    return files != STATUS_OK ? files : printed;
}

/* --- the lab page, which is part of the program --- */

enum status lab_command(const struct options *options, struct error *error)
{
    const char *path = options->output != NULL ? options->output : "lab.html";
    struct output_file file;
    if (lab_texts[0].name == NULL)
        return error_set(
            error, STATUS_FAILED,
            "this pipeline was built without the lab page, for which a build needs "
            "clang, lld, wasi-libc and libclang-rt-14-dev-wasm32: `make lab` "
            "installs them");
    enum status status = output_file_open(&file, path, error);
    if (status != STATUS_OK)
        return status;
    status = write_lab(file.stream);
    if (status == STATUS_OK)
        status = output_file_commit(&file, error);
    else
        error_set(error, status, "no memory to write %s", path);
    output_file_discard(&file);
    if (status == STATUS_OK && !options->quiet)
        printf("%s: open it in a browser; it needs no network\n", path);
    return status;
}
