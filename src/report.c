/* report.c - gives back what the runs of a report own. */
#include "report.h"

#include "compare_run.h"

#include <stdlib.h>

void report_free(struct report *report)
{
    for (int i = 0; i < report->run_count; i++) {
        timeline_free(&report->runs[i].timeline);
        critical_free(&report->runs[i].critical);
        compared_free(report->runs[i].compared);
        free(report->runs[i].hazards);
        free(report->runs[i].hazard_texts);
    }
}
