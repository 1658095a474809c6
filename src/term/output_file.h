/* output_file.h - files that appear whole or not at all.
 *
 * A file is opened before the run, which proves that it can be written, under a temporary name
 * beside its place; it takes its name when it is complete. A path that exists and is no regular
 * file (a pipe, /dev/stdout) is written directly. The temporaries still open can be removed
 * from a signal handler. */
#ifndef PIPELINE_TERM_OUTPUT_FILE_H
#define PIPELINE_TERM_OUTPUT_FILE_H

#include "core/status.h"

#include <stdio.h>

struct output_file {
    FILE *stream;
    char *path, *temporary; /* temporary is NULL where path is written directly */
    int slot;               /* where output_files_unlink() finds the temporary */
};

enum { OUTPUT_FILES_MAX = 64 };

/* Opens `path` for writing. STATUS_USAGE names the path and why it can't be written. */
enum status output_file_open(struct output_file *file, const char *path, struct error *error);

/* Completes the file: flushes, checks every write, renames. STATUS_FAILED on a full disk or the
 * like; the temporary is then removed. Either way `file` is closed. */
enum status output_file_commit(struct output_file *file, struct error *error);

/* Closes and removes the temporary. Safe on a zeroed or already closed file. */
void output_file_discard(struct output_file *file);

/* Removes every temporary still open. Async-signal-safe. */
void output_files_unlink(void);

#endif
