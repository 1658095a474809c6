/* progress.h - how far the program is: a line on standard error.
 *
 * On a terminal it is one line of the whole program, drawn over and over with nothing but
 * carriage returns and blanks. It appears once the work has lasted a second and then tells how
 * much is done and left, also in the middle of one long repeat: a thread of its own draws it,
 * four times a second at most. Where standard error is no terminal (or a dumb one), as in a
 * batch job's log, a line of its own says so every five seconds, and less often in long jobs.
 * With --quiet there is no such thread, and every call here returns at once.
 *
 * Measurements are not disturbed: that thread sleeps, never calls CUDA, and while a timed
 * part runs draws nothing until that has lasted over a second by itself; one drawing then takes
 * tens of microseconds of another core. */
#ifndef PIPELINE_TERM_PROGRESS_H
#define PIPELINE_TERM_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Begins a program of `runs` runs, whose work adds up to `work`, in any unit. */
void progress_begin(int runs, double work, bool quiet);

/* There are more runs than the program began with: so many, and so much work. */
void progress_more(int runs, double work);

/* The next run begins, called `name` (copied), and the one before it has ended. */
void progress_next(const char *name, double work);

/* Repeat `repeat`, from 0, of `repeats` of this run begins. */
void progress_repeat(uint32_t repeat, uint32_t repeats);

/* The timed part of a repeat begins, or ends. */
void progress_timed(bool timed);

/* `done` of `tiles` tiles of this repeat are done. May be called from any thread, also in a
 * callback: it stores two numbers. */
void progress_tile(uint32_t done, uint32_t tiles);

/* Prints "pipeline: note: " and what the format says on standard error, clear of the progress
 * line; nothing if `quiet`, or if it was the last note already. What a terminal would obey is
 * escaped (core/escape.h). */
__attribute__((format(printf, 2, 3))) void note_print(bool quiet, const char *format, ...);

/* Ends the thread and clears the line. Safe to call twice, and without a begin. */
void progress_end(void);

/* Clears the line for good; for a signal handler that ends the program. */
void progress_abort(void);

#endif
