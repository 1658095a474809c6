/* output_file.h - files that appear whole or not at all.
 *
 * A file is opened before the run, which proves that it can be written, and is named when it is
 * complete. Until then it has no name at all, so that nothing is left of it however the program
 * ends; where the file system has no such files it has a temporary one, beside its place, which
 * a signal handler can remove. A path that exists and is no regular file (a pipe, /dev/stdout)
 * is written directly. */
#ifndef PIPELINE_TERM_OUTPUT_FILE_H
#define PIPELINE_TERM_OUTPUT_FILE_H

#include "core/status.h"

#include <stdio.h>

struct output_name; /* the file's name and a temporary one, with their folder */

struct output_file {
    FILE *stream; /* for writing; its descriptor may be read as well. NULL: closed */
    char *path;   /* as it was given: a symbolic link is followed */
    struct output_name
        *temporary; /* where it is to be named; NULL: `path` is written directly */
};

/* Opens `path` for writing. STATUS_USAGE names the path and why it can't be written. As many
 * can be open as the system allows. */
enum status output_file_open(struct output_file *file, const char *path, struct error *error);

/* Completes the file: flushes, checks every write, names it. STATUS_FAILED on a full disk or
 * the like; what was there before then stays. Either way `file` is closed. */
enum status output_file_commit(struct output_file *file, struct error *error);

/* Completes the file with what the file at `from` holds, which is moved to the place, or copied
 * and then removed where that lies on another file system or in the way of a pipe or device.
 * Errors as above; `from` then stays, too. */
enum status output_file_take(struct output_file *file, const char *from, struct error *error);

/* Closes the file, of which nothing stays. Safe on a zeroed or already closed file. */
void output_file_discard(struct output_file *file);

/* Removes every temporary name, as the program ends. For signal handlers and atexit(). */
void output_files_unlink(void);

#endif
