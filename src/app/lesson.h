/* lesson.h - a lesson in the terminal: what it asks, and what its runs answered. */
#ifndef PIPELINE_APP_LESSON_H
#define PIPELINE_APP_LESSON_H

#include "options/lesson.h"
#include "options/options.h"
#include "report/report.h"

/* Reads the head of options->lesson, and asks. On a terminal it takes guesses; *leaves: the
 * reader wants no answers. */
enum status lesson_begin(const struct options *options, struct lesson *lesson, bool *leaves,
                         struct error *error);

/* Prints what the runs answered, and the lesson's explanation. */
void lesson_end(const struct options *options, const struct lesson *lesson,
                const struct report *report);

#endif
