/* order.h - whether the order of issue, depth or breadth, matters to a run. */
#ifndef PIPELINE_REPORT_ORDER_H
#define PIPELINE_REPORT_ORDER_H

#include "report/report.h"

/* Sets run->other_order_ns of tiles in several streams: simulates `settings`, as used, in both
 * orders on `model`. Fails with STATUS_NO_MEMORY alone: what can't be simulated is not weighed.
 */
enum status order_weigh(struct run_report *run, const struct plan *plan,
                        const struct settings *settings, const struct machine *model,
                        struct error *error);

/* Writes whether the order of issue matters to the runs of a report, and the time of the one to
 * which it matters most with the other order; "" where none was weighed, or where the runs
 * compare both orders. */
enum { ORDER_TEXT = 512 };
void order_message(const struct report *report, char text[ORDER_TEXT]);

#endif
