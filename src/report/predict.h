/* predict.h - --model=sim: the time that the simulator predicts for a run. */
#ifndef PIPELINE_REPORT_PREDICT_H
#define PIPELINE_REPORT_PREDICT_H

#include "core/status.h"
#include "machine/machine.h"
#include "plan/plan.h"

/* Simulates `plan` on `machine` with its default queues and without data, and sets *time_ns to
 * the run's time on STATUS_OK. STATUS_FAILED when the simulation fails. */
enum status predict_time_ns(const struct machine *machine, const struct plan *plan,
                            int64_t *time_ns, struct error *error);

#endif
