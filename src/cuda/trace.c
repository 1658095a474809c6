/* trace.c - the run with a timeline: by CUPTI, and where that does not work by events. */
#include "cuda/trace.h"

#include "cuda/trace_events.h"
#include "plan/mistake.h"

#include <stdlib.h>

static void describe_timeline(struct timeline *timeline, const struct cuda_device *device,
                              const char *no_cupti)
{
    timeline->timing = no_cupti == NULL ? TIMING_CUPTI : TIMING_EVENTS;
    timeline->resolution_ns = no_cupti == NULL ? 1 : CUDA_EVENT_RESOLUTION_NS;
    snprintf(timeline->device, sizeof timeline->device, "%s", device->machine.name);
    snprintf(timeline->driver, sizeof timeline->driver, "%s%s%s", device->driver,
             no_cupti == NULL ? "" : "; no CUPTI: ", no_cupti == NULL ? "" : no_cupti);
}

/* Makes the run with CUPTI. One whose records do not add up is made again with events; then its
 * callbacks have been called already, and are muted. */
static enum status run_either_way(struct cuda_tracer *tracer, bool recorded,
                                  struct traced_run *traced, struct run_times *times,
                                  struct error *error)
{
    bool complete = false;
    if (recorded) {
        enum status status = trace_with_cupti(tracer, traced, times, &complete, error);
        if (status != STATUS_OK || complete)
            return status;
        if (traced->plan->loads_lazily)
            return error_set(error, STATUS_FAILED,
                             "--mistake=%s: this run can't be traced (%s) nor made again: with "
                             "PIPELINE_NO_CUPTI=1 times come from events",
                             mistake_name(traced->run->workload.settings->mistake),
                             tracer->no_cupti);
        traced->run->listener.muted = true;
    }
    enum status status = trace_with_events(traced, times, error);
    traced->run->listener.muted = false;
    return status;
}

enum status cuda_run_traced(struct cuda_tracer *tracer, const struct cuda_device *device,
                            struct cuda_run *run, struct timeline *timeline,
                            struct run_times *times, struct error *error)
{
    const struct plan *plan = run->workload.plan;
    struct traced_run traced = {.run = run, .plan = plan, .timeline = timeline};
    enum status status = timeline_begin(timeline, plan, error);
    if (status != STATUS_OK)
        return status;
    if (plan->cpu_tiles > 0) {
        traced.cpu_times = calloc(plan->op_count, sizeof *traced.cpu_times);
        if (traced.cpu_times == NULL)
            return error_set(error, STATUS_FAILED, "no memory for a timeline");
    }
    bool recorded = trace_cupti_start(tracer, run);
    status = run_either_way(tracer, recorded, &traced, times, error);
    if (status == STATUS_OK) {
        describe_timeline(timeline, device, tracer->no_cupti);
        status = timeline_finish(timeline, plan, error);
    }
    if (recorded && plan->issue == ISSUE_GRAPH)
        tracer->no_cupti = NULL; /* CUPTI may work for the next run if that is no graph */
    free(traced.cpu_times);
    return status;
}
