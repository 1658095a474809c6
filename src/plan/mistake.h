/* mistake.h - what --mistake breaks on purpose, so that one can see what it does.
 *
 * A mistake is a value of the enum, a row of this table, and a row of the one in
 * plan/mistake_hooks.c, which makes it in a plan. Everything else - the option, its
 * completions, `pipeline list mistakes` - goes through this table. */
#ifndef PIPELINE_PLAN_MISTAKE_H
#define PIPELINE_PLAN_MISTAKE_H

#include <stdbool.h>

enum mistake {
    MISTAKE_NONE,
    MISTAKE_MISSING_WAIT,
    MISTAKE_PAGEABLE_MEMORY,
    MISTAKE_LEGACY_STREAM,
    MISTAKE_BLOCKING_STREAM,
    MISTAKE_SYNC_IN_LOOP,
    MISTAKE_ALLOC_IN_LOOP,
    MISTAKE_PINNED_ALLOC_IN_LOOP,
    MISTAKE_MEMSET_IN_LOOP,
    MISTAKE_LAUNCH_BLOCKING,
    MISTAKE_SLOW_CALLBACK,
    MISTAKE_LAZY_LOADING,
    MISTAKE_PIN_IN_RUN,
    MISTAKE_COUNT,
};

struct mistake_row {
    const char *name;    /* what --mistake takes */
    const char *summary; /* what is done wrong, in one line */
    const char *effect;  /* what comes of it, in one line */
    const char *shows;   /* on which GPUs one sees that, in one line */
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
