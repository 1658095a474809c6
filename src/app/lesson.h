/* lesson.h - what `pipeline lesson` prints around a lesson's report. */
#ifndef PIPELINE_APP_LESSON_H
#define PIPELINE_APP_LESSON_H

#include "options/lesson.h"

#include <stdio.h>

/* Prints the title and the question of the lesson that `text` is. */
void lesson_print_question(FILE *out, const struct embedded *text, const struct lesson *lesson);

/* Prints what a run of it shows, and the sentence to remember. */
void lesson_print_explanation(FILE *out, const struct embedded *text,
                              const struct lesson *lesson);

#endif
