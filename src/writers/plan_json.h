/* plan_json.h - `--dry-run --format=json`: the plans of all runs, one after the other. */
#ifndef PIPELINE_WRITERS_PLAN_JSON_H
#define PIPELINE_WRITERS_PLAN_JSON_H

#include "report/report.h"
#include "writers/json.h"

#include <stdio.h>

/* A document that is being written to `out`, which is not owned. Zero-initialise the rest. */
struct plan_list {
    FILE *out;
    struct put put;
    struct json json;
};

/* Writes a plan, its settings, the hazards of `run` and all ops; the first also begins the
 * document. */
void plan_list_add(struct plan_list *list, const struct plan *plan,
                   const struct settings *settings, const struct run_report *run);

/* Ends the document, also after a failure, so that it is JSON. Nothing is written where no plan
 * was. */
void plan_list_end(struct plan_list *list);

#endif
