/* text.c - the report for people: what was done, a table with a row per run, hazards.
 *
 * Everything hangs on the columns: a row of `columns` per figure. */
#include "writers/table.h"
#include "writers/writer.h"

#include <math.h>
#include <stdio.h>

enum { HAZARDS_SHOWN = 8 /* per run, unless verbose */ };

/* The runs for which a column is worth its place. */
enum when {
    ALWAYS,
    COMPARED,
    REPEATED,
    REDUCED,
    SHARED,
    RATED,
    EXCHANGED,
    NOT_CALLS,
    ISSUED,
    VERBOSE
};

struct text_column {
    struct table_column shown;
    enum when when;
};

static const struct text_column columns[] = {
    {{0, "ways", cell_ways, false}, ALWAYS},
    {{0, "order", cell_order, true}, ALWAYS},
    {{0, "layout", cell_layout, true}, ALWAYS},
    {{0, "streams", cell_streams, false}, ALWAYS},
    {{0, "tiles", cell_tiles, false}, ALWAYS},
    {{0, "CPU tiles", cell_cpu_tiles, false}, SHARED},
    {{0, "slots", cell_slots, false}, VERBOSE},
    {{0, "issued by", cell_issued_by, true}, NOT_CALLS},
    {{1, "time", cell_time, false}, ALWAYS},
    {{1, "fastest", cell_fastest, false}, REPEATED},
    {{1, "slowest", cell_slowest, false}, REPEATED},
    {{1, "speed-up", cell_speedup, false}, COMPARED},
    {{1, "limit", cell_limit, false}, ALWAYS},
    {{1, "of limit", cell_limit_share, false}, ALWAYS},
    {{1, "result", cell_result, false}, REDUCED},
    {{1, "Gflop/s", cell_gflops, false}, RATED},
    {{1, "verified", cell_verified, true}, ALWAYS},
    {{2, "bound by", cell_limit_cause, true}, ALWAYS},
    {{2, "H2D busy", cell_h2d, false}, ALWAYS},
    {{2, "compute busy", cell_compute, false}, ALWAYS},
    {{2, "D2H busy", cell_d2h, false}, ALWAYS},
    {{2, "CPU busy", cell_cpu, false}, SHARED},
    {{2, "exchange hidden", cell_hidden, false}, EXCHANGED},
    {{2, "concurrency", cell_concurrency, false}, ALWAYS},
    {{3, "copied", cell_copied, false}, VERBOSE},
    {{3, "issue", cell_issue, false}, ISSUED},
    {{3, "host memory", cell_host_bytes, false}, VERBOSE},
    {{3, "device memory", cell_device_bytes, false}, VERBOSE},
};
enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

static bool column_wanted(const struct text_column *column, const struct report *report,
                          const struct writer_style *style)
{
    bool told = column->when == VERBOSE || column->when == ISSUED;
    if (column->when == ALWAYS || (told && style->verbose > 0) ||
        (column->when == COMPARED && report->run_count > 1))
        return true;
    EACH (const struct run_report, run, report->runs, report->run_count) {
        if ((column->when == REPEATED && run->repeats > 1) ||
            (column->when == REDUCED && run->has_result) ||
            (column->when == EXCHANGED && report_exchanges(run)) ||
            ((column->when == NOT_CALLS || column->when == ISSUED) &&
             run->settings->issue != ISSUE_STREAMS) ||
            (column->when == NOT_CALLS && run->settings->pack) ||
            (column->when == RATED && !isnan(report_gflops(run))) ||
            (column->when == SHARED && run->cpu_tiles > 0))
            return true;
    }
    return false;
}

/* Prints the table with the columns that are worth their place for these runs. */
static void print_table(FILE *out, const struct report *report,
                        const struct writer_style *style)
{
    struct table_column shown[COLUMN_COUNT];
    int count = 0;
    EACH (const struct text_column, column, columns, COLUMN_COUNT) {
        if (column_wanted(column, report, style))
            shown[count++] = column->shown;
    }
    table_write(out, report, style, shown, count);
}

static void print_hazards(FILE *out, const struct run_report *run, int verbose)
{
    char name[TABLE_NAME], text[3 * sizeof run->hazard_texts[0]];
    if (run->hazard_count == 0)
        return;
    table_name(run, name);
    fprintf(out, "\n%s: %zu hazard%s", name, run->hazard_count,
            run->hazard_count > 1 ? "s" : "");
    if (!run->profiled && run->hazards_lost > 0)
        fprintf(out, ", %zu of them lost in this run", run->hazards_lost);
    else if (!run->profiled)
        fputs(", none of them lost in this run", out);
    fputs(": another run may give another result\n", out);
    size_t shown = run->hazard_count;
    if (verbose == 0 && shown > HAZARDS_SHOWN)
        shown = HAZARDS_SHOWN;
    for (size_t i = 0; i < shown; i++)
        fprintf(out, "  %s\n", escape_text(text, sizeof text, run->hazard_texts[i]));
    if (shown < run->hazard_count)
        fprintf(out, "  and %zu more (--verbose shows them)\n", run->hazard_count - shown);
}

void write_text(FILE *out, const struct report *report, const struct writer_style *style)
{
    writer_put_title(out, report);
    if (report->run_count == 0)
        return;
    write_facts(out, report, style);
    if (report->sweep == NULL)
        write_answers(out, report, style);
    print_table(out, report, style);
    write_predictions(out, report, style);
    write_latency(out, report, style);
    for (int i = 0; i < report->run_count; i++)
        print_hazards(out, &report->runs[i], style->verbose);
}
