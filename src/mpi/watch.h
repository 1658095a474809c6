/* watch.h - notices a rank that does not live any more. */
#ifndef PIPELINE_MPI_WATCH_H
#define PIPELINE_MPI_WATCH_H

#include "core/status.h"

/* Starts a thread in which each rank gives a sign of life. Rank 0 watches all others and rank 1
 * watches rank 0: of whom nothing is heard for 3.5 s the watcher says so, in one line, and ends
 * all ranks. It needs world_join(). STATUS_FAILED where there is no thread. */
enum status watch_begin(struct error *error);

/* Ends it in all ranks. Nobody is missed from then on. */
void watch_end(void);

#endif
