/* parts.h - what the files of this room call of one another: ranks.h lists them. */
#ifndef PIPELINE_MPI_PARTS_H
#define PIPELINE_MPI_PARTS_H

#include "core/status.h"
#include "options/options.h"
#include "plan/portion.h"
#include "plan/timeline.h"
#include "run/backend.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* --- world.c: who the ranks are, how they agree, and how far their clocks are apart --- */

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

/* --- settings.c: what all ranks must have in common, and each run's devices. --- */

/* Refuses settings that differ between ranks. STATUS_USAGE: the first of rank 0's settings that
 * another rank has otherwise, and that rank. */
enum status ranks_compare_settings(const struct options *options,
                                   bool (*measures)(const char *device), struct error *error);

/* Refuses what ranks don't share, and has each run's --device name a device for each rank. The
 * names are kept until ranks_free_names(). STATUS_USAGE. */
enum status ranks_name_devices(struct options *options, bool (*measures)(const char *device),
                               struct error *error);
void ranks_free_names(void);

/* --- gather.c: the results and the times of all ranks, brought to rank 0. --- */

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

/* --- courier.c: hands on what crosses from rank to rank during a run.
 *
 * There is a flag for each record that others wait for. Where all ranks are on one host, they
 * have the flags in common, and what is handed on: the stream of one raises a flag, and that of
 * the other awaits it. Else each rank has flags of its own, and a thread. Where the rank's
 * stream raises a flag, the thread sends the crossing's bytes, from the host's memory, to the
 * rank that waits; there the thread leaves them in the same place and raises that rank's flag,
 * which a stream awaits. So nobody waits but streams, and messages overlap with all else. */

/* Makes ready for runs of a plan with crossings, which must outlive that, and gives `workload`
 * its flags. Without arrays nothing is handed on. Ranks come together. STATUS_FAILED where MPI
 * can't tell so many messages apart. */
enum status courier_prepare(const struct crossings *crossings, struct workload *workload,
                            struct error *error);

/* Lowers all flags and starts the thread, where one is needed. No other rank may be in a run
 * that begins before. */
enum status courier_start(struct error *error);

/* Waits until all has come and gone, and ends the thread. A rank that `failed` sends all that
 * others wait for, whatever it holds: they have to end before they can hear of it. */
void courier_end(bool failed);

/* Ends the thread before any flag was raised: a rank has none, and the run will not be. */
void courier_cancel(void);

/* Undoes courier_prepare(). Safe where that failed, or was not called. */
void courier_release(void);

/* --- common.c: memory that the ranks of one host have in common: what they hand each other
 * then lies there, and no message has to carry it. */

/* Puts the buffers through which devices hand things on (BUFFER_HOST_CARRY and
 * BUFFER_HOST_EXCHANGE) into memory that the ranks of this host have in common, where all of
 * them can have it; what was in the buffers is lost. Where they can't, and with
 * PIPELINE_NO_COMMON=1 in any rank, the buffers stay each rank's own; *seen says of which ranks
 * it came true. Ranks come together; the arrays, of one plan in all of them, are given back by
 * arrays_free() as ever. */
void common_take(struct arrays *arrays, struct ranks_seen *seen);

/* Returns true if, since common_take(), what this rank hands on in a buffer lies before `rank`,
 * which may be this one. */
bool common_with(uint32_t rank);

/* Takes `count` flags, all lowered, that all ranks have in common, where all of them have their
 * buffers so: a stream then awaits the very word that another rank's stream raises. Returns
 * false, in all ranks, where that can't be. Ranks come together; flags_free() gives them back.
 */
bool common_flags(struct flags *flags, uint32_t count);

/* --- watch.c: notices a rank that does not live any more. --- */

/* Starts a thread in which each rank gives a sign of life. Rank 0 watches all others and rank 1
 * watches rank 0: of whom nothing is heard for 3.5 s the watcher says so, in one line, and ends
 * all ranks. It needs world_join(). STATUS_FAILED where there is no thread. */
enum status watch_begin(struct error *error);

/* Ends it in all ranks. Nobody is missed from then on. */
void watch_end(void);

#endif
