/* outputs.h - the files that a command writes, and its report. */
#ifndef PIPELINE_APP_OUTPUTS_H
#define PIPELINE_APP_OUTPUTS_H

#include "core/status.h"
#include "options/options.h"
#include "report/report.h"
#include "term/output_file.h"
#include "writers/writer.h"

/* Every file that will be written; opened before anything runs. */
struct outputs {
    struct output_file *arrays; /* one per run; not opened where a run keeps no output */
    struct output_file timelines[TIMELINE_FILES_MAX];
    const struct timeline_writer *writers[TIMELINE_FILES_MAX];
    struct output_file program; /* --emit; not opened where that is standard output */
    FILE *gathered;             /* there programs are kept until all are written; or NULL */
    char *programs;             /* the memory behind it */
    size_t programs_length;
    int gathered_count;   /* programs among them */
    struct error refusal; /* of the first run that has none */
};

/* Opens all files; with --dry-run only looks for the timelines' writers, and with --emit opens
 * that file alone. STATUS_USAGE for a
 * file that can't be written. Whatever comes of it, outputs_discard() follows. */
enum status outputs_open(const struct options *options, struct outputs *outputs,
                         struct error *error);

/* Writes the timelines of `report` into their files, and prints the report on standard output,
 * in the form that --format names. What can't be written keeps nothing else from it: the first
 * failure is returned. STATUS_NO_MEMORY: a part of the report is missing. */
enum status outputs_write(const struct options *options, struct outputs *outputs,
                          const struct report *report, struct error *error);

/* Writes a run's plan as a program, as --emit asks: into the file, or where it waits for
 * outputs_print_programs(): of several runs each is named there, and one that has no program
 * says why. STATUS_USAGE where it is the only one. */
enum status outputs_write_program(const struct options *options, struct outputs *outputs,
                                  const struct plan *plan, const struct settings *settings,
                                  struct error *error);

/* Prints the programs of all runs on standard output, if that is where --emit wants them.
 * STATUS_NO_MEMORY; STATUS_USAGE where no run has a program. */
enum status outputs_print_programs(struct outputs *outputs, struct error *error);

/* Closes and removes the files that were not completed. */
void outputs_discard(const struct options *options, struct outputs *outputs);

/* `pipeline lab`: writes the lab page into options->output, or lab.html in the current folder,
 * and says so on standard output. STATUS_FAILED where the program was built without the page.
 */
enum status lab_command(const struct options *options, struct error *error);

#endif
