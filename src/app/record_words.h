/* record_words.h - what `pipeline record` says on standard error of what was recorded. */
#ifndef PIPELINE_APP_RECORD_WORDS_H
#define PIPELINE_APP_RECORD_WORDS_H

#include "app/record_scan.h"

/* Prints "pipeline: " and what the format says as a line, escaped; nothing if `quiet`. */
__attribute__((format(printf, 2, 3))) void record_say(bool quiet, const char *format, ...);

/* Prints what the recording at `place` holds, what it lacks, and how to see it where it is
 * `viewable`. */
void record_say_tally(bool quiet, const char *place, const struct record_tally *tally,
                      bool viewable);

/* Prints that there is no recording. `output` was asked for; NULL: no name was. */
void record_say_nothing(bool quiet, const char *program, const char *output);

#endif
