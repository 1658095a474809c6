/* lesson.h - the lessons of configs/lessons/: config files that show one thing each.
 *
 * A lesson's title, its question and what it shows stand in the comments at its file's head,
 * and nowhere else:
 *
 *     ; 02-pinned.ini - Pinned against pageable memory
 *     ; Question: Why does nothing overlap?
 *     ; Exit: 1                                  where a result is wrong on purpose
 *     ; Memory from malloc() is pageable. ...    to the end of the comment */
#ifndef PIPELINE_APP_LESSON_H
#define PIPELINE_APP_LESSON_H

#include "core/status.h"

#include <stdio.h>

enum { LESSON_TEXT = 160 };

struct lesson {
    char title[LESSON_TEXT];
    char question[LESSON_TEXT];
    int exit_code; /* of a run of it: 0, or 1 */
};

/* Reads the head of `text`, the lesson called `name` ("02-pinned"). STATUS_FAILED, and *lesson
 * untouched, where a line is missing, too long, or names another file. */
enum status lesson_read(struct lesson *lesson, const char *name, const char *text,
                        struct error *error);

/* Prints the rest of the head's comments, which say what a run of it shows; nothing where there
 * are none. */
void lesson_print_explanation(FILE *out, const char *text);

#endif
