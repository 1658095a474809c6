/* record.h - `pipeline record`: runs another program and records what it does on a GPU. */
#ifndef PIPELINE_APP_RECORD_H
#define PIPELINE_APP_RECORD_H

#include "core/status.h"
#include "options/options.h"
#include "term/child.h"
#include "term/output_file.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* How the program ended, if that is what the exit code is to say. */
struct record_end {
    bool decided;
    enum child_end how;
    int code;
};

/* Runs the program that options->words name, as it would run by itself: with its arguments,
 * standard streams, signals and terminal. Says on standard error what was recorded; what goes
 * wrong with that changes nothing for the program, nor its exit code. STATUS_USAGE where the
 * program is not started; `end` is set where that is for a fault of its own. */
enum status record_command(const struct options *options, struct record_end *end,
                           struct error *error);

/* --- guest.c: another program, run in our place --- */

struct guest {
    /* The owner sets these before guest_run(). */
    const char *path;       /* of the program */
    char *const *arguments; /* ended by NULL; the first is the program as it was called */
    sigset_t mask;          /* the signals that it finds blocked */
    bool keeps_output;      /* what we print comes behind what it prints */

    /* guest_run() sets these. */
    pid_t process; /* the number that it had */
    int code;      /* as enum child_end says */
};

/* Runs the program, in our process group and with our environment, and waits for its end. The
 * caller has all signals blocked, and leaves them so: what reaches us alone is passed on, what
 * the terminal sends to the whole group is not, and where the program is stopped so are we.
 * Standard input, standard output (unless we keep that) and whatever else we were given open is
 * the program's alone from then on: who reads or writes the other end sees it closed when the
 * program closes it.
 * Should we be killed, so is the program. Returns CHILD_EXITED, CHILD_SIGNALLED,
 * CHILD_NOT_STARTED or CHILD_LOST. */
enum child_end guest_run(struct guest *guest);

/* --- record_files.c: the recordings of a program and of the processes that it started --- */

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

/* --- record_scan.c: what a recording holds, counted line by line --- */

enum { RECORD_NOTES_MAX = 8, RECORD_NOTE_ROOM = 400 };

struct record_tally {
    bool headed; /* the first line is a recording's */
    uint64_t kernels, copies, memsets, calls;
    int64_t first_ns, last_ns; /* first start and last end of what ran; equal: nothing did */
    uint64_t lines;            /* behind the first, without one that says that it ended */
    bool ended, limited;       /* it says that it ended, and that its limit was reached */
    char notes[RECORD_NOTES_MAX][RECORD_NOTE_ROOM]; /* and what was lost, in the file's words */
    int note_count;
    uint64_t more_notes; /* that there was no room for */
};

/* Reads the recording from its beginning. False with errno where it can't be read. */
bool record_scan(FILE *file, struct record_tally *tally);

/* Returns where the recording ends: where its last line begins that says so, and sets *ended;
 * or behind its last whole line. */
off_t record_end(FILE *file, bool *ended);

/* --- record_words.c: what is said of a recording on standard error --- */

/* Prints "pipeline: " and what the format says as a line, escaped; nothing if `quiet`. */
__attribute__((format(printf, 2, 3))) void record_say(bool quiet, const char *format, ...);

/* Prints what the recording at `place` holds, what it lacks, and how to see it where it is
 * `viewable`. */
void record_say_tally(bool quiet, const char *place, const struct record_tally *tally,
                      bool viewable);

/* Prints that there is no recording. `output` was asked for; NULL: no name was. */
void record_say_nothing(bool quiet, const char *program, const char *output);

/* --- record_lines.c: the source lines that calls were made from --- */

/* Adds a "line" to the recording at `path` for each of its "frames" of which one is in code
 * that has debug information; addr2line, of GNU's binutils, reads that. The recording's last
 * line stays the last. STATUS_FAILED says why lines are missing; the recording is whole all the
 * same. */
enum status record_lines_add(const char *path, struct error *error);

/* --- source_line.c: the source lines of places in programs and libraries --- */

/* A place in a program or library. */
struct source_place {
    const char *file; /* as the dynamic loader names it */
    uint64_t offset;  /* of the byte behind the call, from where the file begins in memory */
    char *line;       /* "/home/me/saxpy.cu:42", to be freed; NULL: not known */
};

/* Finds the lines of `places`, which all have NULL and are sorted by file. Files without debug
 * information have none. STATUS_FAILED says why it can't be asked for; lines may be set. */
enum status source_lines_find(struct source_place *places, size_t count, struct error *error);

/* --- record_anonymous.c: a recording without the names that it is to leave out --- */

/* Rewrites the recording at `path` so that it has neither the program's name nor folders of
 * files nor template arguments of kernels. STATUS_FAILED or STATUS_NO_MEMORY where that can't
 * be done: it is as it was then. */
enum status record_anonymise(const char *path, struct error *error);

#endif
