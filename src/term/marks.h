/* marks.h - NVTX ranges and names, so that a profiler's timeline speaks of tiles and stages.
 *
 * Domain "pipeline"; registered strings; a colour per stage (as in all our pictures); the tile
 * as payload; a category per kind of op; streams and threads named. With no tool attached
 * nothing happens and next to nothing is paid: one look at a flag per call, and loops ask
 * marks_on() once. Where NVTX's headers were not there at build time (term/marks_none.c) it is
 * always false.
 *
 * Global state: NVTX keeps the tool of a process, term/marks.c its domain and strings, from the
 * first call on. Every function may be called on any thread. */
#ifndef PIPELINE_TERM_MARKS_H
#define PIPELINE_TERM_MARKS_H

#include "plan/op.h"

#include <stdbool.h>

/* Returns true if a tool listens. Ask once before a loop. */
bool marks_on(void);

/* Begin and end a range of this thread: "run 3-way", "verify", "prepare". `name` need not last.
 * Ranges nest, on each thread by itself: every begin needs its end, on the same thread. */
void marks_begin(const char *name);
void marks_end(void);

/* Begins a range named by its place among others: "repeat 2 of 5". */
void marks_begin_counted(const char *name, uint32_t number, uint32_t count);

/* Begins a range around the call that issues `op`, or, for the CPU's ops, around the work
 * itself (a callback has both, on two threads): named by its stage, or by `kernel`, a row of
 * kernel_table, for a kernel op; coloured by stage, with its tile, if it has one, as payload.
 * `kernel` is NULL for every other kind. Ended by marks_end(). */
void marks_issue_begin(const struct op *op, const struct kernel *kernel);

/* Names the calling thread ("pipeline callbacks"), and a stream ("pipeline stream 3"); `stream`
 * is a cudaStream_t. A later name takes the place of an earlier one. */
void marks_name_thread(const char *name);
void marks_name_stream(void *stream, const char *name);

#endif
