/* record.h - `pipeline record`: runs another program and records what it does on a GPU. */
#ifndef PIPELINE_APP_RECORD_H
#define PIPELINE_APP_RECORD_H

#include "options/options.h"
#include "term/child.h"

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

#endif
