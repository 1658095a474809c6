/* fail_above.h - --fail-above: a cause that costs too much of a run's time makes the command
 * fail.
 */
#ifndef PIPELINE_REPORT_FAIL_ABOVE_H
#define PIPELINE_REPORT_FAIL_ABOVE_H

#include "report/report.h"

/* STATUS_FAILED names the first run with a cause above what options->fail_above allows, that
 * cause and its share; or a run of which no cause is known at all. */
enum status report_fail_above(const struct report *report, const struct options *options,
                              struct error *error);

#endif
