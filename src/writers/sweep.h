/* sweep.h - shared by the files that write a sweep's tables. */
#ifndef PIPELINE_WRITERS_SWEEP_H
#define PIPELINE_WRITERS_SWEEP_H

#include "writers/writer.h"

struct sweep_table {
    FILE *out;
    const struct report *report;
    const struct sweep *sweep;
    const struct writer_style *style;
    int points, inner; /* number of runs in a section, and of those along the second axis */
    int sections;
    bool repeated; /* the runs were measured more than once */
    bool sized;    /* the runs differ in elements, so that times do not compare */
    bool compared; /* there are speed-ups */
    bool alike; /* the runs have the same chain with the same parameters on the same device */
};

/* Writes "pipeline 0.1.0", "simulated, NVIDIA H200", and the settings that all runs share. */
void sweep_put_head(const struct sweep_table *table);

/* Writes the settings that `count` runs from `runs` on share but those that are swept; if
 * `apart`, only those that not all runs share. They go on a line of `used` columns, and further
 * lines begin with `indent` blanks. */
void sweep_put_settings(const struct sweep_table *table, const struct run_report *runs,
                        int count, bool apart, int used, int indent);

/* Puts words on a line of `used` columns, which it counts, or on a new one that begins with
 * `indent` blanks. */
void sweep_put_words(const struct sweep_table *table, int *used, int indent, const char *words);

/* Returns true if the result was wrong, as a mistake on purpose makes it. */
bool sweep_is_wrong(const struct run_report *run);

/* The run of least cost, and those that are as good as it. */
struct sweep_leaders {
    int best;          /* the first of equals; -1: every result is wrong */
    int others, right; /* how many more are as good; how many results are right */
    bool alike;        /* costs are times of an element, else shares of each run's limit */
};
struct sweep_leaders sweep_find_leaders(const struct run_report *runs, int count);

/* Returns true if run `index` is to be marked: where all are as good, none is. */
bool sweep_is_marked(const struct run_report *runs, const struct sweep_leaders *leaders,
                     int index);

#endif
