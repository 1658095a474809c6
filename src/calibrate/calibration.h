/* calibration.h - what a calibration found, and the machine file that says it. */
#ifndef PIPELINE_CALIBRATE_CALIBRATION_H
#define PIPELINE_CALIBRATE_CALIBRATION_H

#include "machine/fields.h"
#include "plan/timeline.h"

#include <stdio.h>

enum { FIGURES_MAX = MACHINE_FIELDS_MAX + 8 * MACHINE_KERNELS_MAX, FIGURE_TEXT = 160 };

/* Where a figure of the machine comes from. */
struct figure {
    const char *key;    /* in a machine file */
    const char *kernel; /* the NAME of [kernel NAME] or [own NAME]; NULL: the machine's own
                           figure */
    double value;
    double spread;         /* of a figure that was timed: half the range of its passes, in its
                              own unit; negative: it was not timed */
    char how[FIGURE_TEXT]; /* how it was found: timed, counted, read off the device, taken from
                              documentation, or not measured and why */
};

/* How a figure came out that was held against a plain run. */
struct outcome {
    const char *key, *kernel; /* the figure's, as in struct figure */
    double said_ns, took_ns;  /* what a step of the run takes by the file, and took */
    double apart;             /* by so much is one longer than the other, as a part of it */
    double usual, allowed;    /* by so much may it be: on a quiet host, and here */
};
enum { OUTCOMES_MAX = 64 };

/* A part of the calibration and the time that it took in all passes together. */
struct part_time {
    const char *name;
    int64_t took_ns;
};
enum { PARTS_MAX = 16 };

enum { FIGURE_NAME = MACHINE_TEXT + 48 };

struct calibration {
    struct machine machine;
    char driver[TIMELINE_TEXT]; /* "" for a simulated machine */
    bool simulated;
    struct figure figures[FIGURES_MAX];
    int figure_count;
    struct outcome outcomes[OUTCOMES_MAX];
    int outcome_count;
    struct part_time parts[PARTS_MAX];
    int part_count;
    int64_t took_ns;
};

/* Returns the figure of the kernel's section, or with NULL of the machine's own; NULL: none. */
const struct figure *calibration_figure(const struct calibration *calibration,
                                        const char *kernel, const char *key);

/* Writes a figure's name: "KEY", "[kernel NAME] KEY" or "[own NAME] KEY". */
void figure_name(const char *kernel, const char *key, char name[FIGURE_NAME]);

/* Writes the machine file: a comment beside each figure says how it was found and how much its
 * passes differ, and lines at the end how the figures were held against plain runs.
 * machine_parse() reads it back, with rates and shares to four digits. */
void calibration_write(FILE *out, const struct calibration *calibration);

/* Returns the same as a string, to be freed. NULL: no memory. */
char *calibration_text(const struct calibration *calibration);

#endif
