/* judge.h - a run that is held against the rows of what goes together: private to judge.c and
 * check.c. */
#ifndef PIPELINE_OPTIONS_JUDGE_H
#define PIPELINE_OPTIONS_JUDGE_H

#include "options/table.h"
#include "plan/together.h"

/* A run, as it was asked for and settled. */
struct judged {
    struct draft draft;       /* as it was asked for */
    bool asked;               /* false: where its settings come from is forgotten, and they are
                                 settled already */
    bool named;               /* they are options of a command line or a file: with dashes */
    struct settings settings; /* settled */
};

/* Settles what follows from the draft, and returns the first row that it breaks; NULL: it goes
 * together. */
const struct together_row *judged_misfit(struct judged *judged);

/* Returns true where the run, once judged_misfit() has settled it, breaks the row. */
bool judged_breaks(const struct judged *judged, const struct together_row *row);

#endif
