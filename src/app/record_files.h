/* record_files.h - the recordings of a program and of the processes that it started: the folder
 * that they are written to, and the places that they get. */
#ifndef PIPELINE_APP_RECORD_FILES_H
#define PIPELINE_APP_RECORD_FILES_H

#include "core/status.h"
#include "term/output_file.h"

#include <stdbool.h>
#include <sys/types.h>

struct record_files {
    char *folder;              /* absolute, hidden and new; beside the places */
    char *output;              /* the file asked for, links followed; NULL: none */
    struct output_file opened; /* that file */
    bool lines;                /* the owner sets it: calls get their source lines */
    bool anonymous;            /* likewise: names are left out */
};

/* Opens `output`, which may be NULL, as output_file_open() does, and makes the folder beside
 * it, else in the current one. STATUS_USAGE says why it can't be. Nothing stays on failure. */
enum status record_files_begin(struct record_files *files, const char *output,
                               struct error *error);

/* Gives each recording its place, and says on standard error what it holds, unless `quiet`:
 * that of `process`, or the only one there is, becomes the output; others are named after it,
 * and after the program where there is no output. Nothing but the output is replaced.
 * Recordings that other processes are still writing are not waited for: they stay in the
 * folder, which is then named. What fails is said, and the others go on. Frees all. */
void record_files_end(struct record_files *files, pid_t process, const char *program,
                      bool quiet);

/* Removes the folder, which is empty, and leaves no output. Frees all. */
void record_files_discard(struct record_files *files);

#endif
