/* gather.h - the results and the times of all ranks, brought to rank 0. */
#ifndef PIPELINE_MPI_GATHER_H
#define PIPELINE_MPI_GATHER_H

#include "run/backend.h"

/* This is what a rank knows of its part of a measured run. All ranks run the same program, so
 * that it is sent as it is. */
struct rank_run {
    struct run_times times;
    int64_t resolution_ns;
    enum timing timing;
    int begins; /* how often its timed part began: more than once where it was made again */
    char device[TIMELINE_TEXT], driver[TIMELINE_TEXT];
    struct numa_place device_node, buffers_node;
};

/* Brings the results of all ranks' tiles into rank 0's output. */
void gather_output(const struct plan *plan, const struct arrays *arrays);

/* Brings the spans of all ranks, each `part` the timeline of its portion of `plan`, into rank
 * 0's `timeline`, on rank 0's clock. `runs` has what each rank sent of itself. Other ranks'
 * `timeline` stays as it is. All ranks agree on the status. */
enum status gather_spans(const struct plan *plan, struct timeline *part,
                         const struct ranks_seen *seen, const struct rank_run *runs,
                         struct timeline *timeline, struct error *error);

/* Sets *times to those of all ranks' runs as one, from the first that began to the last that
 * ended: in rank 0, which alone knows the clocks. */
void gather_times(const struct rank_run *runs, const struct ranks_seen *seen,
                  struct run_times *times);

#endif
