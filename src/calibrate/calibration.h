/* calibration.h - what a calibration found, and the machine file that says it. */
#ifndef PIPELINE_CALIBRATE_CALIBRATION_H
#define PIPELINE_CALIBRATE_CALIBRATION_H

#include "machine/machine.h"
#include "plan/timeline.h"

#include <stdio.h>

enum { FIGURES_MAX = 64 + 8 * MACHINE_KERNELS_MAX, FIGURE_TEXT = 160 };

/* Where a figure of the machine comes from. */
struct figure {
    const char *key;       /* in a machine file */
    const char *kernel;    /* the NAME of [kernel NAME]; NULL: the machine's own figure */
    double spread;         /* of a figure that was timed: half the range of its passes, in its
                              own unit; negative: it was not timed */
    char how[FIGURE_TEXT]; /* how it was found: timed, counted, read off the device, taken from
                              documentation, or not measured and why */
};

struct calibration {
    struct machine machine;
    char driver[TIMELINE_TEXT]; /* "" for a simulated machine */
    bool simulated;
    struct figure figures[FIGURES_MAX];
    int figure_count;
    int64_t took_ns;
};

/* Writes the machine file: a comment beside each figure says how it was found and how much its
 * passes differ. machine_parse() reads it back, with rates and shares to four digits. */
void calibration_write(FILE *out, const struct calibration *calibration);

/* Returns the same as a string, to be freed. NULL: no memory. */
char *calibration_text(const struct calibration *calibration);

#endif
