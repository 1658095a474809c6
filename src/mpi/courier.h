/* courier.h - hands on what crosses from rank to rank during a run.
 *
 * Each rank has a flag for each record that others wait for, and a thread. Where the rank's
 * stream raises a flag, the thread sends the crossing's bytes, from the host's memory, to the
 * rank that waits; there the thread leaves them in the same place and raises that rank's flag,
 * which a stream awaits. So nobody waits but streams, and messages overlap with all else. */
#ifndef PIPELINE_MPI_COURIER_H
#define PIPELINE_MPI_COURIER_H

#include "core/status.h"
#include "plan/portion.h"
#include "run/backend.h"

/* Makes ready for runs of a plan with crossings, which must outlive that, and gives `workload`
 * its flags. Without arrays nothing is handed on. STATUS_FAILED where MPI can't tell so many
 * messages apart. */
enum status courier_prepare(const struct crossings *crossings, struct workload *workload,
                            struct error *error);

/* Lowers all flags and starts the thread. No other rank may be in a run that begins before. */
enum status courier_start(struct error *error);

/* Waits until all has come and gone, and ends the thread. A rank that `failed` sends all that
 * others wait for, whatever it holds: they have to end before they can hear of it. */
void courier_end(bool failed);

/* Ends the thread before any flag was raised: a rank has none, and the run will not be. */
void courier_cancel(void);

/* Undoes courier_prepare(). Safe where that failed, or was not called. */
void courier_release(void);

#endif
