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

/* --- progress_line.c --- */

/* The text of the progress line. It is a function of numbers alone; the
 * thread that draws it is in term/progress.c. */

struct progress_state {
    int run, runs;            /* number of the run, from 0, and how many there are */
    const char *name;         /* of the run */
    uint32_t repeat, repeats; /* likewise of the repeat; 0 repeats: the run is being prepared */
    double tiles;             /* share of this repeat's tiles that is done */
    double elapsed_s;         /* since all began */
    double run_s;             /* since this run began */
    double repeats_s;         /* since its first repeat began */
    double work, work_left;   /* of this run; of all that come after it */
    double rate_s;            /* seconds for one unit of work, from the runs that have ended;
                                 later ones count more. 0: none has ended */
};

/* Returns the seconds left; negative: unknown. */
double progress_left_s(const struct progress_state *state);

/* Writes the line for a terminal of `columns` columns into `text` and returns it. It is at
 * least four columns shorter, which leaves room for the terminal's own ^C. `least` is the share
 * that the bar showed before, below which it never goes. */
enum { PROGRESS_TEXT = 128 };
const char *progress_line(const struct progress_state *state, int columns, double *least,
                          char text[PROGRESS_TEXT]);

#endif
