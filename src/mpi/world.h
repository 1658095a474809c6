/* world.h - who the ranks are, how they agree, and how far their clocks are apart. */
#ifndef PIPELINE_MPI_WORLD_H
#define PIPELINE_MPI_WORLD_H

#include "core/status.h"
#include "plan/timeline.h"

#include <mpi.h>
#include <stdint.h>

enum { WORLD_PIECE = 1 << 30 }; /* bytes of a message at most: MPI counts by an int */

struct world {
    MPI_Comm ranks, watch, courier;
    MPI_Comm host;          /* the ranks of this one's host */
    uint32_t count, number; /* how many ranks there are, and which this one is */
    uint32_t local;         /* its place among those of its host */
    bool failed;            /* all know of a failure, and none waits for another any more */
};

/* The ranks as they are since world_join(). */
extern struct world world;

/* Starts MPI, and learns who is there. STATUS_FAILED where MPI's library knows no threads. */
enum status world_join(int *argc, char ***argv, struct error *error);

/* Agrees on a status among all ranks: see ranks_agree(). */
enum status world_agree(enum status status, struct error *error);

/* Has all ranks compare a number. Returns the first that has another than rank 0; 0: none has.
 */
uint32_t world_unlike(uint64_t own);

/* Writes the name of this rank's host. */
void world_host(char text[RANK_HOST]);

/* Sends or receives bytes, in pieces that MPI can count. */
void world_send(const void *data, uint64_t bytes, uint32_t to);
void world_receive(void *data, uint64_t bytes, uint32_t from);

/* Has each rank tell rank 0 its clock many times. There, `seen` gets what each clock says more
 * than rank 0's, from the message that was back soonest, and half of how long that took as the
 * error. All ranks call it. */
void clocks_compare(struct ranks_seen *seen);

/* Compares them again, after a run: to the larger error of both it adds how far the clocks have
 * gone apart meanwhile, and leaves what each said more than rank 0's before. */
void clocks_compare_again(struct ranks_seen *seen);

#endif
