/* table.c - the figures of a run as cells, and a table of them: how wide, where folded. */
#include "writers/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME_COLUMNS = 20, /* of a run's name */
    GAP = 2,           /* between columns */
};

/* --- cells --- */

void cell_percent(double share, const char *format, char text[CELL_TEXT])
{
    if (isfinite(share))
        snprintf(text, CELL_TEXT, format, fmin(100 * share, 1e7));
    else
        snprintf(text, CELL_TEXT, "-");
}

/* Defines a cell that prints one figure; "-" where it is not known. */
#define KNOWN_CELL(name, known, format, figure)                                                \
    void name(const struct run_report *run, char text[CELL_TEXT])                              \
    {                                                                                          \
        if (known)                                                                             \
            snprintf(text, CELL_TEXT, format, figure);                                         \
        else                                                                                   \
            snprintf(text, CELL_TEXT, "-");                                                    \
    }
#define PRINT_CELL(name, format, figure) KNOWN_CELL(name, true, format, figure)

PRINT_CELL(cell_ways, "%d", run->settings->ways)
PRINT_CELL(cell_order, "%s", order_names[run->settings->order])
PRINT_CELL(cell_layout, "%s", layout_names[run->settings->layout])
PRINT_CELL(cell_streams, "%" PRIu32, run->streams)
PRINT_CELL(cell_tiles, "%" PRIu32, run->settings->tiles)
PRINT_CELL(cell_cpu_tiles, "%" PRIu32, run->cpu_tiles)
PRINT_CELL(cell_slots, "%" PRIu32, run->slots)
PRINT_CELL(cell_issued_by, "%s",
           run->settings->pack ? "pack" : issue_names[run->settings->issue])
PRINT_CELL(cell_limit_cause, "%s", limit_cause_name(run->limit.cause))

TIME_CELL(cell_time, run->median_ns)
TIME_CELL(cell_fastest, run->min_ns)
TIME_CELL(cell_slowest, run->max_ns)
TIME_CELL(cell_limit, run->limit.ns)
TIME_CELL(cell_issue, run->issue_ns)

KNOWN_CELL(cell_speedup, isfinite(run->speedup), "%.2fx", fmin(run->speedup, 1e9))
KNOWN_CELL(cell_result, run->has_result, "%.9g", run->result)
KNOWN_CELL(cell_concurrency, !run->profiled, "%.2f", run->analysis.concurrency)

void cell_gflops(const struct run_report *run, char text[CELL_TEXT])
{
    const double rate = report_gflops(run);
    if (isnan(rate))
        snprintf(text, CELL_TEXT, "-");
    else if (rate < 100)
        snprintf(text, CELL_TEXT, "%.3g", rate);
    else
        snprintf(text, CELL_TEXT, "%.0f", rate);
}

void cell_verified(const struct run_report *run, char text[CELL_TEXT])
{
    static const char *const names[] = {
        [VERIFIED_NO] = "WRONG",
        [VERIFIED_YES] = "yes",
        [VERIFIED_NOT_ASKED] = "not asked",
        [VERIFIED_RACED] = "raced",
    };
    snprintf(text, CELL_TEXT, "%s", names[run->verified]);
}

/* Returns the share of the time that an engine was busy; NaN where nothing was traced. */
static double busy(const struct run_report *run, enum engine engine)
{
    return run->profiled ? (double)NAN : run->analysis.engines[engine].utilisation;
}

/* Defines a cell that shows a share as percent by `format`; "-" where it is NaN. */
#define SHARE_CELL(name, format, share)                                                        \
    void name(const struct run_report *run, char text[CELL_TEXT])                              \
    {                                                                                          \
        cell_percent(share, format, text);                                                     \
    }

SHARE_CELL(cell_h2d, "%.0f%%", busy(run, ENGINE_H2D))
SHARE_CELL(cell_compute, "%.0f%%", busy(run, ENGINE_COMPUTE))
SHARE_CELL(cell_d2h, "%.0f%%", busy(run, ENGINE_D2H))
SHARE_CELL(cell_cpu, "%.0f%%", busy(run, ENGINE_CPU))
SHARE_CELL(cell_hidden, "%.0f%%",
           report_exchanges(run) ? run->analysis.peers_hidden : (double)NAN)
SHARE_CELL(cell_limit_share, "%.1f%%", (double)run->limit.ns / (double)run->median_ns)

/* Writes both directions' bytes over the run's time, in which everything else ran as well.
 * Where kernels reach the host's arrays it was they that moved them, or pages did. */
void cell_copied(const struct run_report *run, char text[CELL_TEXT])
{
    const struct engine_use *engines = run->analysis.engines;
    double bytes = (double)engines[ENGINE_H2D].bytes + (double)engines[ENGINE_D2H].bytes;
    if (memory_is_reached(run->settings->memory))
        bytes += (double)engines[ENGINE_COMPUTE].bytes;
    if (run->median_ns > 0 && !run->profiled)
        units_rate(bytes * 1e9 / (double)run->median_ns, text);
    else
        snprintf(text, CELL_TEXT, "-");
}

void cell_host_bytes(const struct run_report *run, char text[CELL_TEXT])
{
    units_bytes(run->host_bytes, text);
}

void cell_device_bytes(const struct run_report *run, char text[CELL_TEXT])
{
    units_bytes(run->device_bytes, text);
}

/* --- the table --- */

/* A table being written, and how wide each column is. */
struct table {
    FILE *out;
    const struct report *report;
    const struct writer_style *style;
    const struct table_column *columns;
    int widths[TABLE_COLUMNS_MAX];
    int count;
    int name_width;
};

void table_name(const struct run_report *run, char text[TABLE_NAME])
{
    const char *name = run->settings->name;
    writer_fit(text, TABLE_NAME, name, NAME_COLUMNS);
    char *bracket = strrchr(text, '(');
    if (bracket == NULL || strcmp(text, name) == 0 || strchr(bracket, ')') != NULL)
        return;
    /* A bracket that was cut open is left out: "run", not "run (100 us to 300..". */
    while (bracket > text && bracket[-1] == ' ')
        bracket--;
    if (bracket > text)
        *bracket = '\0';
}

static void measure(struct table *table)
{
    char text[TABLE_NAME];
    for (int i = 0; i < table->report->run_count; i++) {
        table_name(&table->report->runs[i], text);
        table->name_width = larger(table->name_width, writer_columns(text));
    }
    for (int c = 0; c < table->count; c++) {
        int width = (int)strlen(table->columns[c].title);
        for (int i = 0; i < table->report->run_count; i++) {
            table->columns[c].show(&table->report->runs[i], text);
            width = larger(width, (int)strlen(text));
        }
        table->widths[c] = width;
    }
}

/* Returns the end of the group that begins at column `first`. */
static int group_end(const struct table *table, int first)
{
    int end = first + 1;
    while (end < table->count && table->columns[end].group == table->columns[first].group)
        end++;
    return end;
}

static int columns_width(const struct table *table, int first, int end)
{
    int width = 0;
    for (int c = first; c < end; c++)
        width += GAP + table->widths[c];
    return width;
}

/* Returns the end of the fold that begins at column `first`: it has as many whole groups as
 * there is room for or, where not even one fits, as many columns, at least one. */
static int fold_end(const struct table *table, int first)
{
    int room = table->style->width - table->name_width, end = first;
    while (end < table->count && columns_width(table, first, group_end(table, end)) <= room)
        end = group_end(table, end);
    if (end > first)
        return end;
    end = first + 1;
    while (end < group_end(table, first) && columns_width(table, first, end + 1) <= room)
        end++;
    return end;
}

/* Prints one line. Blanks are kept back until something follows them: no line ends in blanks.
 */
static void print_line(const struct table *table, const char *name, int first, int end,
                       const struct run_report *run)
{
    int blanks = table->name_width - writer_columns(name);
    fputs(name, table->out);
    for (int c = first; c < end; c++) {
        const struct table_column *column = &table->columns[c];
        char text[CELL_TEXT];
        if (run != NULL)
            column->show(run, text);
        else
            snprintf(text, sizeof text, "%s", column->title);
        int padding = table->widths[c] - (int)strlen(text);
        blanks += GAP + (column->left ? 0 : padding);
        fprintf(table->out, "%*s%s", blanks, "", text);
        blanks = column->left ? padding : 0;
    }
}

void table_write(FILE *out, const struct report *report, const struct writer_style *style,
                 const struct table_column *columns, int count)
{
    struct table table = {.out = out,
                          .report = report,
                          .style = style,
                          .columns = columns,
                          .count = count,
                          .name_width = sizeof "run" - 1};
    measure(&table);
    const char *bold = table.style->color ? "\033[1m" : "";
    const char *plain = table.style->color ? "\033[0m" : "";
    for (int first = 0; first < table.count;) {
        int end = fold_end(&table, first);
        fprintf(table.out, "\n%s", bold);
        print_line(&table, "run", first, end, NULL);
        fprintf(table.out, "%s\n", plain);
        for (int i = 0; i < table.report->run_count; i++) {
            char name[TABLE_NAME];
            table_name(&table.report->runs[i], name);
            print_line(&table, name, first, end, &table.report->runs[i]);
            putc('\n', table.out);
        }
        first = end;
    }
}
