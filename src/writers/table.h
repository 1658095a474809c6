/* table.h - the figures of a run as cells of text, and a table with a row per run, folded where
 * it is wider than the terminal. */
#ifndef PIPELINE_WRITERS_TABLE_H
#define PIPELINE_WRITERS_TABLE_H

#include "core/units.h"
#include "writers/writer.h"

enum {
    CELL_TEXT = 64,
    TABLE_COLUMNS_MAX = 32,
    TABLE_NAME = CELL_TEXT * 4, /* room for a run's name in a table */
};

/* Writes one figure of `run` into `text`: "5.67 ms", "1.84x", "99.1%"; "-" where there is none.
 */
typedef void cell_show(const struct run_report *run, char text[CELL_TEXT]);

/* Figures of the settings and the plan. What --pack's tiles are issued by is "pack", as where
 * --issue=auto lists the ways. */
cell_show cell_ways, cell_order, cell_layout, cell_streams, cell_tiles, cell_cpu_tiles,
    cell_slots, cell_issued_by, cell_host_bytes, cell_device_bytes;

/* Results. cell_copied is both directions' bytes over the run's time. */
cell_show cell_time, cell_fastest, cell_slowest, cell_speedup, cell_limit, cell_limit_share,
    cell_limit_cause, cell_result, cell_verified, cell_issue, cell_copied, cell_gflops;

/* Figures of the run that was traced. */
cell_show cell_h2d, cell_compute, cell_d2h, cell_cpu, cell_hidden, cell_concurrency;

/* Defines a cell that shows a time of `run`. */
#define TIME_CELL(name, ns)                                                                    \
    void name(const struct run_report *run, char text[CELL_TEXT])                              \
    {                                                                                          \
        units_time(ns, text);                                                                  \
    }

/* Defines a cell that shows where a time may lie; "-" where that is not known. */
#define RANGE_CELL(name, range)                                                                \
    void name(const struct run_report *run, char text[CELL_TEXT])                              \
    {                                                                                          \
        if ((range).high_ns > 0)                                                               \
            units_range((range).low_ns, (range).high_ns, text);                                \
        else                                                                                   \
            snprintf(text, CELL_TEXT, "-");                                                    \
    }

/* Writes a share as percent by `format`, "%.1f%%". */
void cell_percent(double share, const char *format, char text[CELL_TEXT]);

struct table_column {
    int group; /* a table is folded between groups, where a whole one finds room on a line */
    const char *title;
    cell_show *show;
    bool left; /* words stand left, figures right */
};

/* Writes the run's name as tables show it: cut where it is long. */
void table_name(const struct run_report *run, char text[TABLE_NAME]);

/* Writes a row for each run, under titles: the run's name, and `count` columns, at most
 * TABLE_COLUMNS_MAX. Each fold begins with an empty line and repeats the names. */
void table_write(FILE *out, const struct report *report, const struct writer_style *style,
                 const struct table_column *columns, int count);

/* --- sweep.c, sweep_head.c: a sweep's tables --- */

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
