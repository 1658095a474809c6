/* compare.h - how far a simulated run is from the same plan's run on a device.
 *
 * No I/O, no global state. All quantiles are by nearest rank: the smallest value that is not
 * less than that share of them. */
#ifndef PIPELINE_REPORT_COMPARE_H
#define PIPELINE_REPORT_COMPARE_H

#include "options/options.h"
#include "plan/timeline.h"

#include <stddef.h>

struct machine;
struct plan;
struct report;
struct run_report;

/* Distances between times of the same spans, simulated and measured, in ns without sign. */
struct deviation {
    int64_t median_ns, p95_ns, largest_ns;
};

/* One run, measured and simulated. */
struct comparison {
    int64_t measured_ns,
        simulated_ns;  /* times: the median of the repeats that nothing traced; virtual */
    double error;      /* compare_error(simulated_ns, measured_ns) */
    bool calibrated;   /* by a machine whose host's calls were measured, not by its file */
    int64_t file_ns;   /* the virtual time by the machine file as it is */
    double file_error; /* compare_error(file_ns, measured_ns) */
    double noise;      /* of the hardware: compare_noise() of its repeats */
    uint32_t spans;    /* number of spans that were compared: those on engines */
    struct deviation start, end; /* how far their starts and ends are apart, each timeline from
                                    its own first issue */
    double traced_error; /* compare_error() for the traced run, which takes longer: the spans
                            are from there */
    double same_order;   /* share of an engine's neighbouring spans, by start, that the
                            simulator has in the same order; 1 where there are no two. Spans
                            that start at once have no order to keep */
};

/* predicted / measured - 1: 0.02 is 2 % too long. Infinite where only the measured is 0. */
double compare_error(int64_t predicted_ns, int64_t measured_ns);

/* Returns how much repeats differ: half the distance of the quartiles of `count` sorted times,
 * over their median. There is at least one time. */
double compare_noise(const int64_t *sorted_ns, size_t count);

/* Compares two timelines of one plan, span by span, and fills spans, start, end, traced_error
 * and same_order; the rest stays. O(n log n). STATUS_FAILED when they are of different
 * plans; STATUS_NO_MEMORY. */
enum status compare_timelines(const struct timeline *measured, const struct timeline *simulated,
                              struct comparison *comparison, struct error *error);

/* Quantiles of |error| over many runs. */
struct compare_quantiles {
    double median, p95, largest;
};
struct compare_summary {
    uint32_t settings;
    struct compare_quantiles simulator, noise;
    bool calibrated; /* some were compared so */
    struct compare_quantiles file;
    uint32_t pairs, apart, right; /* pairs of settings that differ in their order alone; those
                                     that are over 3 % apart as measured; and those of them in
                                     which the simulator has the same winner */
};

/* Simulates `plan`, which `measured` is the report of a run of, on `machine`, whose queues are
 * those to simulate with, and compares. Unless `file` is NULL, `machine` is that file's with
 * its host's calls as calibrated, and the file's own prediction stands beside it. Sets
 * measured->compared, which report_free() frees. `measured` needs its timeline: not one with
 * --profile. STATUS_FAILED when it can't be simulated; STATUS_NO_MEMORY. */
enum status compare_run(const struct plan *plan, const struct machine *machine,
                        const struct machine *file, struct run_report *measured,
                        struct error *error);

/* Summarises the runs of `report`, each of which has been compared. Give the settings as they
 * were read, one for each, before a plan resolved the CPU's share: pairs are found by comparing
 * them. STATUS_NO_MEMORY or STATUS_OK. */
enum status compare_report(const struct report *report, const struct settings *settings,
                           struct compare_summary *summary, struct error *error);

/* Makes `pairs` of `report`: each run and, behind it, the simulated one, for writers of
 * timelines. Everything but pairs->runs, which is to be freed, still belongs to `report`. */
enum status compare_pairs(const struct report *report, struct report *pairs,
                          struct error *error);

#endif
