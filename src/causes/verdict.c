/* verdict.c - from the facts of a run to its verdicts, whosever it is. */
#include "causes/verdict.h"

#include "analysis/analysis.h"
#include "causes/judge.h"

#include <stdlib.h>

/* Names the causes that were charged, with their fixes, those first that are to be read first.
 */
static void name_causes(struct judge *judge, struct verdicts *verdicts)
{
    (judge->foreign ? foreign_put_fixes : run_put_fixes)(judge);
    judge_list(judge, verdicts);
    judge_rank(judge, verdicts);
    if (judge->foreign) {
        foreign_put_pageable_first(judge, verdicts);
        evidence_foreign(judge, verdicts->items, verdicts->count);
        foreign_put_details(judge, verdicts);
        evidence_foreign(judge, &judge->charges.causes[VERDICT_REST], 1);
        foreign_set_best(judge, verdicts);
    } else {
        evidence_run(judge, verdicts->items, verdicts->count);
        run_set_best(judge, verdicts);
    }
    judge_complete(judge, verdicts);
}

enum status verdicts_find(const struct verdict_case *facts, struct verdicts *verdicts,
                          struct error *error)
{
    const bool ours = facts->plan != NULL && facts->plan->recorded == NULL;
    enum status status = timeline_check(facts->timeline, ours ? facts->plan : NULL, error);
    if (status != STATUS_OK)
        return status;
    /* A judge is too large for a stack that a user has made small. */
    struct judge *judge = calloc(1, sizeof *judge);
    if (judge == NULL)
        return error_set(error, STATUS_NO_MEMORY, "no memory to judge a run");
    judge->facts = facts;
    judge->timeline = facts->timeline;
    judge->foreign = !ours;
    struct verdicts result = {0};
    (ours ? run_charge : foreign_charge)(judge, &result);
    if (judge->why.status == STATUS_OK)
        name_causes(judge, &result);
    if (judge->why.status == STATUS_OK)
        *verdicts = result;
    status = error_pass(error, &judge->why);
    traced_end(&judge->trace);
    free(judge);
    return status;
}
