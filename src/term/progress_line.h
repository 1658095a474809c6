/* progress_line.h - the text of the progress line. It is a function of numbers alone; the
 * thread that draws it is in term/progress.c. */
#ifndef PIPELINE_TERM_PROGRESS_LINE_H
#define PIPELINE_TERM_PROGRESS_LINE_H

#include <stdint.h>

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
