/* outputs.c - opens and writes the files of a command, and its report. */
#include "app/outputs.h"

#include "report/compare.h"

#include <stdlib.h>

enum status outputs_open(const struct options *options, struct outputs *outputs,
                         struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < options->timeline_count && status == STATUS_OK; i++)
        status = timeline_writer_find(options->timelines[i], &outputs->writers[i], error);
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
    for (int i = 0; i < options->run_count; i++)
        output_file_discard(&outputs->arrays[i]);
}

void report_write(const struct options *options, const struct report *report)
{
    struct writer_style style = terminal_style(options);
    if (report_writers[options->format] != NULL) {
        report_writers[options->format](stdout, report);
    } else if (options->command == COMMAND_COMPARE) {
        write_compare(stdout, report, &style);
    } else if (report->sweep != NULL) {
        write_sweep(stdout, report, &style);
    } else {
        (options->command == COMMAND_VIEW ? write_view : write_text)(stdout, report, &style);
        if (options->gantt != GANTT_NONE)
            write_gantt(stdout, report, &style);
        write_verdicts(stdout, report, &style);
    }
}

static enum status write_timelines(const struct options *options, struct outputs *outputs,
                                   const struct report *report, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < options->timeline_count && status == STATUS_OK; i++) {
        struct output_file *file = &outputs->timelines[i];
        const struct timeline_writer *writer = outputs->writers[i];
        const struct picture_style style = {
            .size = options->size, .rows = options->gantt, .ending = writer->ending};
        if (writer->draw != NULL)
            status = writer->draw(file, report, &style, error);
        else
            writer->write(file->stream, report);
        if (status == STATUS_OK)
            status = output_file_commit(file, error);
    }
    return status;
}

/* In files of a comparison the simulated run stands beside each run; a sweep's pictures are
 * curves, so its files have the runs alone. */
enum status outputs_write(const struct options *options, struct outputs *outputs,
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
