/* mistake.h - what --mistake breaks on purpose, so that one can see what it does.
 *
 * A mistake is a value of the enum, a row of the table, and the place that makes it: mostly
 * plan_build.c, which asks settings->mistake. Everything else - the option, its completions,
 * `pipeline list mistakes` - goes through the table. */
#ifndef PIPELINE_MISTAKE_H
#define PIPELINE_MISTAKE_H

#include <stdbool.h>

enum mistake {
    MISTAKE_NONE,
    MISTAKE_MISSING_WAIT,
    MISTAKE_COUNT,
};

struct mistake_row {
    const char *name;    /* what --mistake takes */
    const char *summary; /* what is done wrong, in one line */
    const char *effect;  /* what comes of it, in one line */
    bool races;          /* its plans have hazards, and run all the same */
};

/* By enum mistake, ended by a row with no name. */
extern const struct mistake_row mistake_rows[MISTAKE_COUNT + 1];

/* Finds the mistake called `name`. False, and *mistake untouched, where there is none. */
bool mistake_find(const char *name, enum mistake *mistake);

/* The name in the table nearest to `name` by edit distance, or NULL if none is near. */
const char *mistake_nearest(const char *name);

/* "none", "missing-wait". */
const char *mistake_name(enum mistake mistake);

#endif
