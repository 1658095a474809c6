/* gantt.h - shared by the files that draw the terminal Gantt. */
#ifndef PIPELINE_WRITERS_GANTT_H
#define PIPELINE_WRITERS_GANTT_H

#include "writers/writer.h"

/* The marks that a column can show, in the order of the legend. */
enum mark {
    MARK_H2D,
    MARK_KERNEL, /* the first of the chain; the others follow */
    MARK_D2H = MARK_KERNEL + CHAIN_MAX,
    MARK_PEER,
    MARK_CPU,
    MARK_CALLBACK,
    MARK_D2D,
    MARK_MEMSET,
    MARK_SYNC,
    MARK_ALLOC,
    MARK_PACK,
    MARK_WAIT,
    MARK_COUNT,
    MARK_IDLE = MARK_COUNT,
    MARK_LIMIT,
};

/* Returns the mark of a kind of op; of a kernel that of the chain's first. */
int gantt_mark(enum op_kind kind);

/* Returns the letter or sign of a mark, from 0 to MARK_LIMIT. */
char gantt_letter(int mark);

enum {
    GANTT_WIDTH_MAX = 400,
    LANES_SHOWN = 32,        /* of an engine, or streams; unless verbose */
    LANES_MAX = STREAMS_MAX, /* in any case */
};

/* Half of a column's time, less the little that may be lost when small shares are added up. */
#define GANTT_HALF 0.499F

struct picture {
    FILE *out;
    const struct report *report;
    const struct writer_style *style;
    int64_t length_ns; /* length of the axis: that of the longest run */
    int64_t clock_ns;  /* of the run that is drawn */
    int columns;       /* columns of the axis; one more is kept for a limit at its end */
    int margin;        /* columns of the rows' labels */
    double scale;      /* columns per ns */
    bool one_kernel;   /* there are more names than letters: all are shown as one */
    bool seen[MARK_LIMIT + 1], seen_small, seen_bar, seen_tile, seen_span, seen_gap, seen_race,
        seen_issue;
    uint32_t shared; /* ops that share columns with others */
    int color;       /* the colour that is on; 0: none */
};

/* One column of a row. */
struct cell {
    float share[MARK_COUNT]; /* shares of its time that shorter spans take, by mark */
    char letter;             /* letter of a bar that covers it; '\0' where none does */
    uint8_t mark;            /* mark of that bar */
};

/* Turns on the colour of `mark`, on a plain ground or, if `solid`, as the ground itself. */
void gantt_color(struct picture *picture, int mark, bool solid);
void gantt_color_off(struct picture *picture);

/* Says in `small` which columns are shown as busy for less than half: those of short ops with
 * short gaps between them. `busy` is the share of each column's time, negative where a bar
 * covers it. */
void gantt_even(const float *busy, int columns, bool *small);

/* Shows columns of short ops by how busy the engine is about there. */
void gantt_even_cells(struct cell *cells, int columns);

/* Returns true if the mark of the limit may stand on this cell: it must hide no span's letter
 * and no tile's number. In a busy column its neighbours say what it hides. */
bool gantt_cell_is_free(const struct cell *cell);

/* Prints a row. `limit` is the column of the limit's mark, or -1. The mark is `forced` where no
 * row of the run has a free cell for it. */
void gantt_put_cells(struct picture *picture, const struct cell *cells, int limit, bool forced);

/* Returns the columns of the rows' labels. */
int gantt_margin(const struct picture *picture);

/* Prints the name and the figures of a run. A long name is cut, so that the figures fit. */
void gantt_put_heading(const struct picture *picture, const struct run_report *run);

/* Print the time axis below all runs, and the meaning of the letters. */
void gantt_put_axis(const struct picture *picture);
void gantt_put_legend(struct picture *picture);

#endif
