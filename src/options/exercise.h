/* exercise.h - the exercises of programs/exercises/: CUDA programs to be made faster, and
 * exercises.ini, which says what each must come to. */
#ifndef PIPELINE_OPTIONS_EXERCISE_H
#define PIPELINE_OPTIONS_EXERCISE_H

#include "core/embedded.h"
#include "core/ini_text.h"

#include <stdbool.h>

enum { EXERCISE_NAME = 64, EXERCISE_TITLE = 128 };

struct exercise {
    char name[EXERCISE_NAME];   /* "02-three-way" */
    char title[EXERCISE_TITLE]; /* "from 2-way to 3-way, with streams" */
    const char *start, *answer; /* programs, which are the build's own */
};

/* Reads the next exercise, from *text on, which is exercise_texts at first. Returns false
 * behind the last one. */
bool exercise_next(const struct embedded **text, struct exercise *exercise);

/* Passes each paragraph of what the head of the starting program asks for, on one line, to
 * put(). The text holds during that call. */
void exercise_task(const struct exercise *exercise,
                   void (*put)(void *context, const char *paragraph), void *context);

/* Begin to read, and go on to, an exercise's next line in the table. False: there is none. */
void exercise_lines(struct ini_text *ini);
bool exercise_next_line(const struct exercise *exercise, struct ini_text *ini);

#endif
