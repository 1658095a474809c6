/* ranks.h - the processes that share a run, each with a device of its own: MPI's ranks.
 *
 * Every rank reads the same settings, builds the one plan for all devices, and does its own
 * device's part. Rank 0 alone writes: report, files, errors. A failure of one rank becomes that
 * of all at the next call of ranks_agree(), so that none waits for one that gave up; nothing
 * may fail between that and the next exchange. The program without MPI has one rank, to which
 * all of this does nothing (ranks_none.c).
 *
 * The files of this room from top to bottom; each uses only those below it:
 * - ranks: what the program calls; settings: what ranks must have in common, and their devices;
 * - backend: the device of a rank as that of all; gather: results and times brought to rank 0;
 *   courier: what crosses from rank to rank in a run;
 * - common: memory that the ranks of one host have in common, for that;
 * - clocks: how far the hosts' clocks are apart; watch: whether all ranks are alive;
 * - world: who the ranks are, and agreeing. */
#ifndef PIPELINE_MPI_RANKS_H
#define PIPELINE_MPI_RANKS_H

#include "core/status.h"
#include "options/options.h"
#include "run/backend.h"
#include "run/verify.h"

#include <stdbool.h>
#include <stdint.h>

/* Joins the ranks, and takes off the command line what MPI's library finds there. Comes before
 * all others. STATUS_USAGE where ranks are of different versions. */
enum status ranks_begin(int *argc, char ***argv, struct error *error);

/* Leaves them, once all have come here. Returns what ranks_agree() does in the rank that
 * writes, and STATUS_OK in others: mpirun ends all ranks when the first one fails, be there
 * words to print or not. */
enum status ranks_end(enum status status, struct error *error);

/* Returns how many there are: 1 without MPI. */
uint32_t ranks_count(void);

/* Returns true in the rank that writes. */
bool ranks_speak(void);

/* Returns STATUS_OK where all ranks call it with that; else each gets the status and the error
 * of the first rank that failed, which then begins with that rank's name. After a failure it
 * returns at once. */
enum status ranks_agree(enum status status, struct error *error);

/* Refuses what ranks can't share, and settings that differ between them, and gives each run as
 * many devices as there are ranks. `measures` says whether a value of --device measures here.
 * The devices' names live until ranks_end(). STATUS_USAGE. */
enum status ranks_take(struct options *options, bool (*measures)(const char *device),
                       struct error *error);

/* Refuses plans that differ between ranks. STATUS_FAILED. */
enum status ranks_compare_plans(const struct plan *plan, struct error *error);

/* Returns a backend whose device is those of all ranks, each of which is one of `ops`; or `ops`
 * itself where there is one rank. The latest one returned is the one to be opened. */
const struct backend_ops *ranks_backend(const struct backend_ops *ops);

/* Returns what makes the ranks' judgements one; NULL where there is one rank. */
judgement_agree *ranks_judges(void);

#endif
