/* calibrate.h - measures a device and writes the machine file that stands for it.
 *
 * Everything is measured by running small plans through the backend, without tracing, which
 * would make every op take longer: a plan of many alike ops against one of fewer tells what one
 * op more takes, and what several such figures have in common is told apart by linear
 * equations. So a simulated machine can be calibrated as well, and gives its own figures back.
 */
#ifndef PIPELINE_CALIBRATE_H
#define PIPELINE_CALIBRATE_H

#include "run/backend.h"

#include <stdio.h>

enum { FIGURES_MAX = 64 + 8 * MACHINE_KERNELS_MAX, FIGURE_TEXT = 160 };

/* Where a figure of the machine comes from. */
struct figure {
    const char *key;    /* of a machine file */
    const char *kernel; /* of [kernel NAME]; NULL: of the machine */
    double spread;      /* of one that was timed: half the distance between the quartiles of its
                           repeats, in its own unit; negative: not timed, but counted, read off the
                           device, taken from documentation or not measured: `how` says which */
    char how[FIGURE_TEXT];
};

struct calibration {
    struct machine machine;
    char driver[TIMELINE_TEXT]; /* "" of a simulated machine */
    bool simulated;
    struct figure figures[FIGURES_MAX];
    int figure_count;
    int64_t took_ns;
};

/* Measures the opened device; `settings` are those it was opened with. Takes some 10 s on a
 * real device, 768 MiB of its memory and 512 MiB of the host's. STATUS_FAILED when a
 * measurement fails or its figures are impossible or contradict each other; nothing is guessed
 * in their place. *calibration is set only on STATUS_OK. */
enum status calibrate(const struct backend_ops *ops, struct backend *backend,
                      const struct settings *settings, struct calibration *calibration,
                      struct error *error);

/* Writes the machine file: a comment beside each figure says how it was found and how much its
 * repeats differ. machine_parse() reads it back, with rates and shares to four digits. */
void calibration_write(FILE *out, const struct calibration *calibration);

/* The same as a string, to be freed. NULL: no memory. */
char *calibration_text(const struct calibration *calibration);

/* The command: opens the device of options' first run, calibrates it, and prints the file: all
 * of it or nothing. */
enum status calibrate_command(const struct options *options, FILE *out, struct error *error);

#endif
