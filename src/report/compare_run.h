/* compare_run.h - simulates the plan of a run and compares the two. */
#ifndef PIPELINE_REPORT_COMPARE_RUN_H
#define PIPELINE_REPORT_COMPARE_RUN_H

#include "machine/machine.h"
#include "report/report.h"

/* Simulates `plan`, which `measured` is the report of a run of, on `machine`, whose queues are
 * those to simulate with, and compares. Sets measured->compared, which report_free() frees.
 * `measured` needs its timeline: not one with --profile. STATUS_FAILED when it can't be
 * simulated, or memory runs out. */
enum status compare_run(const struct plan *plan, const struct machine *machine,
                        struct run_report *measured, struct error *error);

/* Summarises the runs of `report`, each of which has been compared. `settings` as
 * compare_summarise() has them. */
enum status compare_report(const struct report *report, const struct settings *settings,
                           struct compare_summary *summary, struct error *error);

/* Makes `pairs` of `report`: each run and, behind it, the simulated one, for writers of
 * timelines. Everything but pairs->runs, which is to be freed, still belongs to `report`. */
enum status compare_pairs(const struct report *report, struct report *pairs,
                          struct error *error);

#endif
