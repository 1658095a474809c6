/* lesson.h - a lesson in the terminal: what it asks, and what its runs answered. */
#ifndef PIPELINE_APP_LESSON_H
#define PIPELINE_APP_LESSON_H

#include "options/lesson.h"
#include "options/options.h"
#include "report/report.h"

/* Reads the head of options->lesson, and asks. On a terminal it waits for the Enter key. */
enum status lesson_begin(const struct options *options, struct lesson *lesson,
                         struct error *error);

/* Prints what the runs answered, and the lesson's explanation. */
void lesson_end(const struct options *options, const struct lesson *lesson,
                const struct report *report);

#endif
