/* embedded.h - files that are part of the program: machines, lessons, configs, plot scripts. */
#ifndef PIPELINE_CORE_EMBEDDED_H
#define PIPELINE_CORE_EMBEDDED_H

#include <stddef.h>
#include <string.h>

struct embedded {
    const char *name, *text;
};

/* Generated at build time from configs/machines/ and configs/lessons/ (names without ".ini")
 * and plots/ (names as they are); each ended by a row with no name. */
extern const struct embedded machine_texts[];
extern const struct embedded lesson_texts[];
extern const struct embedded config_texts[]; /* of configs/ itself and configs/history/ */
extern const struct embedded plot_texts[];
extern const struct embedded own_texts[];      /* what `pipeline kernel new` writes */
extern const struct embedded program_texts[];  /* of programs/: what --emit's are made of */
extern const struct embedded exercise_texts[]; /* of programs/exercises/ */
extern const struct embedded lab_texts[]; /* of the lab page; none where it was not built */

/* Returns the text called `name` in `list`, or NULL. */
static inline const char *embedded_find(const struct embedded *list, const char *name)
{
    while (list->name != NULL && strcmp(list->name, name) != 0)
        list++;
    return list->text;
}

#endif
