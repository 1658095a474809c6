/* progress.h - the progress line: on standard error, only on a terminal. */
#ifndef PIPELINE_PROGRESS_H
#define PIPELINE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *name; /* of the run; not owned */
    bool on;
    uint32_t run, runs;
    int64_t shown_ns; /* when the line was last drawn, CLOCK_MONOTONIC */
};

/* Begins; nothing is shown if `quiet` or standard error is no terminal. */
void progress_begin(struct progress *progress, const char *name, bool quiet);

/* Repeat `run` of `runs` starts. */
void progress_run(struct progress *progress, uint32_t run, uint32_t runs);

/* `done` of `tiles` tiles of this repeat are done. Draws at most ten times a second, so it can
 * be called from a callback. */
void progress_tile(struct progress *progress, uint32_t done, uint32_t tiles);

/* Clears the line. */
void progress_end(struct progress *progress);

#endif
