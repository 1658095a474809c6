/* writer_text.c - the report for people: what was done, a table with a row per run, hazards.
 *
 * Everything hangs on the columns: a row of `columns` per figure. The table is folded between
 * groups of columns where it is wider than the terminal, repeating the runs' names. */
#include "units.h"
#include "writer.h"
#include "writer_cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME_COLUMNS = 20, /* of a run's name in the table */
    GAP = 2,           /* between columns */
    FACT_TEXT = 1024,
    PATH_COLUMNS = 60,
    HAZARDS_SHOWN = 8, /* per run, unless verbose */
};

/* When a column is worth its place. */
enum when { ALWAYS, REPEATED, REDUCED, SHARED, VERBOSE };

struct column {
    int group;
    const char *title;
    cell_show *show;
    enum when when;
    bool left; /* words stand left, figures right */
};

static const struct column columns[] = {
    {0, "ways", cell_ways, ALWAYS, false},
    {0, "order", cell_order, ALWAYS, true},
    {0, "layout", cell_layout, ALWAYS, true},
    {0, "streams", cell_streams, ALWAYS, false},
    {0, "tiles", cell_tiles, ALWAYS, false},
    {0, "CPU tiles", cell_cpu_tiles, SHARED, false},
    {0, "slots", cell_slots, VERBOSE, false},
    {1, "span", cell_span, ALWAYS, false},
    {1, "fastest", cell_fastest, REPEATED, false},
    {1, "slowest", cell_slowest, REPEATED, false},
    {1, "speed-up", cell_speedup, ALWAYS, false},
    {1, "limit", cell_limit, ALWAYS, false},
    {1, "of limit", cell_limit_share, ALWAYS, false},
    {1, "result", cell_result, REDUCED, false},
    {1, "verified", cell_verified, ALWAYS, true},
    {2, "bound by", cell_limit_cause, ALWAYS, true},
    {2, "H2D busy", cell_h2d, ALWAYS, false},
    {2, "compute busy", cell_compute, ALWAYS, false},
    {2, "D2H busy", cell_d2h, ALWAYS, false},
    {2, "CPU busy", cell_cpu, SHARED, false},
    {2, "concurrency", cell_concurrency, ALWAYS, false},
    {3, "copied", cell_copied, VERBOSE, false},
    {3, "issue", cell_issue, VERBOSE, false},
    {3, "host memory", cell_host_bytes, VERBOSE, false},
    {3, "device memory", cell_device_bytes, VERBOSE, false},
};
enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

/* A table being printed: the columns that are in it and how wide each is. */
struct table {
    FILE *out;
    const struct report *report;
    const struct writer_style *style;
    const struct column *columns[COLUMN_COUNT];
    int widths[COLUMN_COUNT];
    int count;
    int name_width;
};

static bool column_wanted(const struct column *column, const struct report *report,
                          const struct writer_style *style)
{
    if (column->when == ALWAYS || (column->when == VERBOSE && style->verbose > 0))
        return true;
    for (int i = 0; i < report->run_count; i++) {
        const struct run_report *run = &report->runs[i];
        if ((column->when == REPEATED && run->repeats > 1) ||
            (column->when == REDUCED && run->has_result) ||
            (column->when == SHARED && run->cpu_tiles > 0))
            return true;
    }
    return false;
}

static void show_name(const struct run_report *run, char text[CELL_TEXT * 4])
{
    writer_fit(text, CELL_TEXT * 4, run->settings->name, NAME_COLUMNS);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static void table_begin(struct table *table, FILE *out, const struct report *report,
                        const struct writer_style *style)
{
    char text[CELL_TEXT * 4];
    *table = (struct table){.out = out, .report = report, .style = style, .name_width = 3};
    for (int i = 0; i < report->run_count; i++) {
        show_name(&report->runs[i], text);
        table->name_width = larger(table->name_width, writer_columns(text));
    }
    for (int c = 0; c < COLUMN_COUNT; c++) {
        const struct column *column = &columns[c];
        if (!column_wanted(column, report, style))
            continue;
        int width = (int)strlen(column->title);
        for (int i = 0; i < report->run_count; i++) {
            column->show(&report->runs[i], text);
            width = larger(width, (int)strlen(text));
        }
        table->columns[table->count] = column;
        table->widths[table->count++] = width;
    }
}

/* Where the group that begins at column `first` ends. */
static int group_end(const struct table *table, int first)
{
    int end = first + 1;
    while (end < table->count && table->columns[end]->group == table->columns[first]->group)
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

/* Where a fold that begins at column `first` ends: as many whole groups as there is room for,
 * or, where not even one fits, as many columns, at least one. */
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

/* One line; trailing blanks are kept back until something follows them. */
static void print_line(const struct table *table, const char *name, int first, int end,
                       const struct run_report *run)
{
    int blanks = table->name_width - writer_columns(name);
    fputs(name, table->out);
    for (int c = first; c < end; c++) {
        const struct column *column = table->columns[c];
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

static void print_table(const struct table *table)
{
    const char *bold = table->style->color ? "\033[1m" : "";
    const char *plain = table->style->color ? "\033[0m" : "";
    for (int first = 0; first < table->count;) {
        int end = fold_end(table, first);
        fprintf(table->out, "\n%s", bold);
        print_line(table, "run", first, end, NULL);
        fprintf(table->out, "%s\n", plain);
        for (int i = 0; i < table->report->run_count; i++) {
            char name[CELL_TEXT * 4];
            show_name(&table->report->runs[i], name);
            print_line(table, name, first, end, &table->report->runs[i]);
            putc('\n', table->out);
        }
        first = end;
    }
}

/* A fact of a run in words. */
typedef void fact(const struct run_report *run, char text[FACT_TEXT]);

static void fact_device(const struct run_report *run, char text[FACT_TEXT])
{
    char device[3 * sizeof run->device], driver[3 * TIMELINE_TEXT];
    writer_clean(device, sizeof device, writer_device(run), true);
    writer_clean(driver, sizeof driver, run->timeline.driver, true);
    snprintf(text, FACT_TEXT, "%s, %s%s%s", timeline_source(&run->timeline), device,
             driver[0] ? ", " : "", driver);
}

static void fact_conditions(const struct run_report *run, char text[FACT_TEXT])
{
    static const char *const words[] = {
        [TIMING_VIRTUAL] = "virtual time",
        [TIMING_CUPTI] = "CUPTI",
        [TIMING_EVENTS] = "events, starts rebuilt from engine order",
    };
    const char *memory = memory_name(run->settings->memory);
    if (run->profiled)
        snprintf(text, FACT_TEXT, "%s memory; profiled: span by the host's clock, no timeline",
                 memory);
    else
        snprintf(text, FACT_TEXT, "%s memory; timeline: %s", memory,
                 words[run->timeline.timing]);
}

static uint64_t bytes_in(const struct settings *settings)
{
    uint64_t bytes = settings->elements * dtype_bytes(settings->chain[0]->in);
    for (int i = 0; i < settings->chain_length; i++) {
        if (settings->chain[i]->inputs > 1)
            return bytes + settings->elements * dtype_bytes(settings->chain[i]->in);
    }
    return bytes;
}

static uint64_t bytes_out(const struct settings *settings)
{
    const struct kernel *last = settings->chain[settings->chain_length - 1];
    uint64_t count = last->shape == KERNEL_REDUCE ? settings->tiles : settings->elements;
    return count * dtype_bytes(last->out);
}

static void chain_text(const struct settings *settings, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < settings->chain_length && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i > 0 ? "," : "",
                                 settings->chain[i]->name);
}

static void fact_work(const struct run_report *run, char text[FACT_TEXT])
{
    const struct settings *settings = run->settings;
    char chain[256], count[UNITS_TEXT], in[UNITS_TEXT], out[UNITS_TEXT];
    char path[4 * PATH_COLUMNS], intensity[32] = "", from[sizeof path + 32],
                                 to[sizeof path + 32] = "";
    chain_text(settings, chain, sizeof chain);
    if (settings->intensity > 1)
        snprintf(intensity, sizeof intensity, " at intensity %" PRIu32, settings->intensity);
    snprintf(from, sizeof from, "seed %" PRIu64, settings->seed);
    if (settings->input != NULL)
        snprintf(from, sizeof from, "from %s",
                 writer_fit(path, sizeof path, settings->input, PATH_COLUMNS));
    if (settings->output != NULL)
        snprintf(to, sizeof to, ", to %s",
                 writer_fit(path, sizeof path, settings->output, PATH_COLUMNS));
    snprintf(text, FACT_TEXT, "%s%s on %s elements: %s in, %s out; %s%s", chain, intensity,
             units_count(settings->elements, count), units_bytes(bytes_in(settings), in),
             units_bytes(bytes_out(settings), out), from, to);
}

/* Prints a fact once where it holds for all runs (there is one at least), else run by run. */
static void print_fact(FILE *out, const struct report *report, fact *state)
{
    char first[FACT_TEXT] = "", text[FACT_TEXT] = "", name[CELL_TEXT * 4];
    bool same = true;
    state(&report->runs[0], first);
    for (int i = 1; i < report->run_count && same; i++) {
        state(&report->runs[i], text);
        same = strcmp(first, text) == 0;
    }
    if (same) {
        fprintf(out, "%s\n", first);
        return;
    }
    for (int i = 0; i < report->run_count; i++) {
        state(&report->runs[i], text);
        show_name(&report->runs[i], name);
        fprintf(out, "  %s: %s\n", name, text);
    }
}

static void print_hazards(FILE *out, const struct run_report *run, int verbose)
{
    char name[CELL_TEXT * 4], text[3 * sizeof run->hazard_texts[0]];
    if (run->hazard_count == 0)
        return;
    show_name(run, name);
    fprintf(out, "\n%s: %zu hazard%s: another run may give another result\n", name,
            run->hazard_count, run->hazard_count > 1 ? "s" : "");
    size_t shown = run->hazard_count;
    if (verbose == 0 && shown > HAZARDS_SHOWN)
        shown = HAZARDS_SHOWN;
    for (size_t i = 0; i < shown; i++)
        fprintf(out, "  %s\n", writer_clean(text, sizeof text, run->hazard_texts[i], true));
    if (shown < run->hazard_count)
        fprintf(out, "  and %zu more (--verbose shows them)\n", run->hazard_count - shown);
}

void write_text(FILE *out, const struct report *report, const struct writer_style *style)
{
    char version[CELL_TEXT * 4];
    struct table table;
    fprintf(out, "pipeline %s\n", writer_clean(version, sizeof version, report->version, true));
    if (report->run_count == 0)
        return;
    print_fact(out, report, fact_device);
    print_fact(out, report, fact_work);
    print_fact(out, report, fact_conditions);
    table_begin(&table, out, report, style);
    print_table(&table);
    for (int i = 0; i < report->run_count; i++)
        print_hazards(out, &report->runs[i], style->verbose);
}
