/* lesson.h - the lessons of configs/lessons/: config files that show one thing each.
 *
 * What a lesson is called, what it is about and which question it answers stand in the comments
 * at its file's head, and nowhere else:
 *
 *     ; 02-pinned.ini - Pinned against pageable memory
 *     ; Question: Why does nothing overlap?
 *     ; Exit: 1                                  where a result is wrong on purpose
 */
#ifndef PIPELINE_APP_LESSON_H
#define PIPELINE_APP_LESSON_H

#include "core/status.h"

#include <stddef.h>

enum { LESSON_TEXT = 160, LESSON_PATH = 1024 };

struct lesson {
    char title[LESSON_TEXT];
    char question[LESSON_TEXT];
    int exit_code; /* of a run of it: 0, or 1 */
};

/* Reads the head of `text`, the lesson called `name` ("02-pinned"). STATUS_FAILED, and *lesson
 * untouched, where a line is missing, too long, or names another file. */
enum status lesson_read(struct lesson *lesson, const char *name, const char *text,
                        struct error *error);

/* Finds the folder with the lessons' files, as a path from here: configs/lessons/, else where
 * `make install` put them beside the program that runs. Writes it into `path` and returns it;
 * NULL where it is in neither place. `file` is one that has to be there. */
const char *lesson_folder(const char *file, char path[LESSON_PATH]);

#endif
