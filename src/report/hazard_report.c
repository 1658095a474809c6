/* hazard_report.c - names the ops that race, and says which of them came too early. */
#include "report/report.h"

#include "core/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { HAZARDS_FIRST = 64 }; /* room for as many is taken at first */

enum status hazards_refuse(const struct plan *plan, struct error *error)
{
    struct hazard hazard;
    size_t count;
    enum status status = plan_hazards(plan, &hazard, 1, &count, error);
    if (status != STATUS_OK || count == 0)
        return status;
    char first[OP_LABEL], second[OP_LABEL];
    return error_set(error, STATUS_FAILED,
                     "the plan has a hazard: op %" PRIu32 " (%s) and op %" PRIu32
                     " (%s) both touch %s and nothing orders them",
                     hazard.first, plan_op_label(plan, &plan->ops[hazard.first], first),
                     hazard.second, plan_op_label(plan, &plan->ops[hazard.second], second),
                     buffer_name(hazard.where.buffer));
}

/* Takes more room until some of it is left, which shows that all hazards are there. */
enum status hazards_find(const struct plan *plan, struct hazard **hazards, size_t *count,
                         struct error *error)
{
    struct hazard *found = NULL;
    size_t found_count = 0, room = 0;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && found_count == room) {
        room = room > 0 ? 4 * room : HAZARDS_FIRST;
        free(found);
        found = malloc(room * sizeof *found);
        if (found == NULL)
            return error_no_memory(error, "for %zu hazards", room);
        status = plan_hazards(plan, found, room, &found_count, error);
    }
    if (status != STATUS_OK || found_count == 0) {
        free(found);
        found = NULL;
    }
    if (status == STATUS_OK) {
        *hazards = found;
        *count = found_count;
    }
    return status;
}

const char *hazard_text(const struct plan *plan, const struct hazard *hazard,
                        char text[HAZARD_TEXT])
{
    char first[OP_LABEL], second[OP_LABEL];
    const struct range *where = &hazard->where;
    snprintf(text, HAZARD_TEXT, "%s and %s both touch %s [%" PRIu64 ", %" PRIu64 ")",
             plan_op_label(plan, &plan->ops[hazard->first], first),
             plan_op_label(plan, &plan->ops[hazard->second], second),
             buffer_name(where->buffer), where->offset, where->offset + where->bytes);
    return text;
}

/* Adds the outcome of a hazard to `text`. Returns true if the race was lost. */
static bool add_outcome(const struct plan *plan, const struct hazard *hazard,
                        struct timeline *timeline, char text[HAZARD_TEXT])
{
    char first[OP_LABEL], second[OP_LABEL], time[UNITS_TEXT];
    const struct span *one = timeline_span(timeline, hazard->first);
    const struct span *other = timeline_span(timeline, hazard->second);
    if (one == NULL || other == NULL)
        return false;
    plan_op_label(plan, &plan->ops[hazard->first], first);
    plan_op_label(plan, &plan->ops[hazard->second], second);
    if (one->end_ns <= other->start_ns)
        text_add(text, HAZARD_TEXT, "; ", "in this run %s ended %s before %s began", first,
                 units_time(other->start_ns - one->end_ns, time), second);
    else if (other->end_ns <= one->start_ns)
        text_add(text, HAZARD_TEXT, "; ", "in this run %s ended %s before %s began", second,
                 units_time(one->start_ns - other->end_ns, time), first);
    else
        text_add(text, HAZARD_TEXT, "; ", "in this run %s began %s before %s ended", second,
                 units_time(one->end_ns - other->start_ns, time), first);
    return one->end_ns > other->start_ns;
}

enum status hazards_tell(const struct plan *plan, struct run_report *report,
                         struct error *error)
{
    if (report->hazard_count == 0)
        return STATUS_OK;
    char(*texts)[HAZARD_TEXT] = calloc(report->hazard_count, sizeof *texts);
    if (texts == NULL)
        return error_no_memory(error, "to tell of %zu hazards", report->hazard_count);
    report->hazards_lost = 0;
    for (size_t i = 0; i < report->hazard_count; i++) {
        hazard_text(plan, &report->hazards[i], texts[i]);
        if (!report->profiled)
            report->hazards_lost +=
                add_outcome(plan, &report->hazards[i], &report->timeline, texts[i]);
    }
    report->hazard_texts = texts;
    return STATUS_OK;
}
