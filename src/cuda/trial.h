/* trial.h - a launcher's work on its own, for run/trial.h: right on the stream that it is
 * given, and there alone. */
#ifndef PIPELINE_CUDA_TRIAL_H
#define PIPELINE_CUDA_TRIAL_H

#include "run/trial.h"

/* Launches the work on a copy of the image in the current device's memory, captured into a
 * graph, which shows what was launched where: STATUS_FAILED where the launcher fails, makes a
 * call that waits or takes memory, launches nothing on its stream, or has work done before the
 * stream comes to it; else the graph is launched. Where streams can't be captured the work is
 * launched at once.
 */
enum status cuda_trial(const struct kernel *kernel, const struct trial_work *work, char *image,
                       uint64_t bytes, struct error *error);

#endif
