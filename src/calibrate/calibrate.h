/* calibrate.h - measures a device and writes the machine file that stands for it.
 *
 * What the host pays, and rows of copies, are timed without tracing, which would make every op
 * take longer; gaps, single launches and the CPU's work are traced. The difference between a
 * plan of many alike ops and one of fewer is the time of one op more; where several figures
 * have a part in it, equations tell them apart. A simulated machine gives its own figures back,
 * which is how the method is tested. */
#ifndef PIPELINE_CALIBRATE_H
#define PIPELINE_CALIBRATE_H

#include "machine/fields.h"
#include "options/options.h"
#include "plan/timeline.h"
#include "run/backend.h"

#include <stdio.h>

/* --- calibration.c: what a calibration found, and the machine file that says it --- */

enum { FIGURES_MAX = MACHINE_FIELDS_MAX + 8 * MACHINE_KERNELS_MAX, FIGURE_TEXT = 160 };

/* Where a figure of the machine comes from. */
struct figure {
    const char *key;    /* in a machine file */
    const char *kernel; /* the NAME of [kernel NAME] or [own NAME]; NULL: the machine's own
                           figure */
    double value;
    double spread;         /* of a figure that was timed: half the range of its passes, in its
                              own unit; negative: it was not timed */
    int passes;            /* that were timed */
    char how[FIGURE_TEXT]; /* how it was found: timed, counted, read off the device, taken from
                              documentation, or not measured and why */
};

/* How a figure came out that was held against a plain run. */
struct outcome {
    const char *key, *kernel; /* the figure's, as in struct figure */
    double said_ns, took_ns;  /* what a step of the run takes by the file, and took */
    double apart;             /* by so much is one longer than the other, as a part of it */
    double usual;             /* by so much it is by what the rules leave out */
};
enum { OUTCOMES_MAX = 64 };

/* A part of the calibration and the time that it took in all passes together. */
struct part_time {
    const char *name;
    int64_t took_ns;
    int passes;    /* that it was measured in */
    size_t sample; /* the number of its first sample */
};
enum { PARTS_MAX = 16 };

enum { FIGURE_NAME = MACHINE_TEXT + 48 };

/* How much is measured: all or what is most needed of a device, or some of what its host
 * decides, in a second. */
enum calibration_scope {
    CALIBRATE_ALL = 1,   /* in 20 s */
    CALIBRATE_QUICK = 2, /* what most runs depend on, in 5 s */
    CALIBRATE_CALLS = 4, /* calls and callbacks */
    CALIBRATE_PACKING = 8,
    CALIBRATE_PAGEABLE = 16,
    CALIBRATE_GRAPHS = 32, /* what launching them costs the host */
    CALIBRATE_HOST =
        CALIBRATE_CALLS | CALIBRATE_PACKING | CALIBRATE_PAGEABLE | CALIBRATE_GRAPHS,
};

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

/* Measures the opened device, all or what is most needed; `settings` are those it was opened
 * with; a kernel of the user's own that begins their chain is measured with those of the table,
 * and STATUS_USAGE is that it has no twin and the device is simulated; with their no_data no
 * host arrays are made, which a real device needs. Takes 768 MiB of the device's memory and as
 * much of the host's. Where `settings` have several devices, the figures are of the first,
 * which plans of one device are on, but for what the host gives all of them at once: that takes
 * 256 MiB of each one's memory, and as much of the host's for each. A figure that could not be
 * measured is that of the machine file for such a device or, without one, what a file means
 * that leaves it out. STATUS_FAILED when a run fails, or the figures make no machine.
 * *calibration is set only on STATUS_OK. */
enum status calibrate(const struct backend_ops *ops, struct backend *backend,
                      const struct settings *settings, unsigned scope,
                      struct calibration *calibration, struct error *error);

/* Returns what plans by these settings rest on of what the host decides: bits of
 * CALIBRATE_HOST. */
unsigned calibrate_needs(const struct settings *settings);

/* Measures only what the host decides on the opened device, in the same way: those parts of it
 * that `scope` has, and graphs only if `machine` knows them. These figures of `machine` are
 * replaced, and the spreads of their groups. It shows no progress. As calibrate() otherwise; on
 * a failure `machine` stays as it was. */
enum status calibrate_host_of(const struct backend_ops *ops, struct backend *backend,
                              const struct settings *settings, unsigned scope,
                              struct machine *machine, struct error *error);

/* Opens the device that `settings` name by its backend in the list, and calibrates it, with
 * progress and a note unless `quiet`. As calibrate() but for errors of the backend. */
enum status calibrate_device(const struct settings *settings, unsigned scope, bool quiet,
                             const struct backend_ops *const list[],
                             struct calibration *calibration, struct error *error);

/* The command: opens the device of the first run in `options` by its backend in the list,
 * calibrates it, and prints the machine file, all of it or nothing. */
enum status calibrate_command(const struct options *options,
                              const struct backend_ops *const list[], FILE *out,
                              struct error *error);

#endif
