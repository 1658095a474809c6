/* hazard_report.h - a plan's hazards in words, and their outcome in a run. */
#ifndef PIPELINE_REPORT_HAZARD_REPORT_H
#define PIPELINE_REPORT_HAZARD_REPORT_H

#include "core/status.h"
#include "plan/hazard.h"
#include "report/report.h"

/* Refuses a plan with hazards: STATUS_FAILED names the two ops of the first. */
enum status hazards_refuse(const struct plan *plan, struct error *error);

/* Finds all hazards of `plan`: an array to be freed, in order of issue; NULL where there are
 * none. */
enum status hazards_find(const struct plan *plan, struct hazard **hazards, size_t *count,
                         struct error *error);

/* Writes "h2d 4 and scale 4 both touch device.in0 [0, 4096)" into `text` and returns it. */
const char *hazard_text(const struct plan *plan, const struct hazard *hazard,
                        char text[HAZARD_TEXT]);

/* Sets report->hazard_texts and hazards_lost from its hazards and, unless it was left to a
 * profiler, its timeline. A race is lost where the op that was issued later starts before the
 * other has ended; the text says what happened, and by how much time. */
enum status hazards_tell(const struct plan *plan, struct run_report *report,
                         struct error *error);

#endif
