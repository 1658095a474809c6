/* clocks.h - how far the clocks of ranks are apart. */
#ifndef PIPELINE_MPI_CLOCKS_H
#define PIPELINE_MPI_CLOCKS_H

#include "plan/ranks.h"

/* Has each rank tell rank 0 its clock many times. There, `seen` gets what each clock says more
 * than rank 0's, from the message that was back soonest, and half of how long that took as the
 * error. All ranks call it. */
void clocks_compare(struct ranks_seen *seen);

/* Compares them again, after a run: to the larger error of both it adds how far the clocks have
 * gone apart meanwhile, and leaves what each said more than rank 0's before. */
void clocks_compare_again(struct ranks_seen *seen);

#endif
