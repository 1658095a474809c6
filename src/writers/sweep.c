/* sweep.c - a sweep as tables: what all runs share, then, for each run of the config
 * files, a row for every value or, with two axes, a matrix.
 *
 * A matrix that is wider than the terminal is written as rows, one for each pair of values. */

#include "writers/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_COLUMNS = 24, GAP = 2, WIDTH_MIN = 40 };

/* --- cells --- */

static const struct run_report *run_at(const struct sweep_table *table, int section, int point)
{
    return &table->report->runs[section * table->points + point];
}

/* Writes a value of an axis as short as people write it: "64M". */
static void value_text(const struct sweep_axis *axis, int at, char text[CELL_TEXT * 4])
{
    char count[UNITS_TEXT];
    const char *value = axis->values[at];
    if (strcmp(axis->option, "elements") == 0)
        value = units_count(strtoull(value, NULL, 10), count);
    writer_fit(text, CELL_TEXT * 4, value, VALUE_COLUMNS);
}

/* --- a row for each point --- */

static const struct sweep_column {
    const char *title;
    cell_show *show;
    bool repeated; /* only of repeats */
    int sized;     /* 1: only where runs differ in elements; -1: only where not */
} columns[] = {
    {"time", cell_time, false, 0},
    {"fastest", cell_fastest, true, 0},
    {"slowest", cell_slowest, true, 0},
    {"speed-up", cell_speedup, false, -1},
    {"copied", cell_copied, false, 1},
    {"limit", cell_limit, false, 0},
    {"of limit", cell_limit_share, false, 0},
    {"bound by", cell_limit_cause, false, 0},
};
enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

static bool is_wanted(const struct sweep_table *table, const struct sweep_column *column)
{
    bool lacking = !table->compared && column->show == cell_speedup;
    return !lacking && (!column->repeated || table->repeated) &&
           (column->sized == 0 || (column->sized > 0) == table->sized);
}

static int values_width(const struct sweep_axis *axis)
{
    char text[CELL_TEXT * 4];
    int width = 0;
    for (int i = 0; i < axis->count; i++) {
        value_text(axis, i, text);
        width = larger(width, writer_columns(text));
    }
    return width;
}

static int axis_width(const struct sweep_axis *axis)
{
    return larger((int)strlen(axis->option), values_width(axis));
}

static int cells_width(const struct sweep_table *table, cell_show *show)
{
    char text[CELL_TEXT];
    int width = 0;
    for (int i = 0; i < table->report->run_count; i++) {
        show(&table->report->runs[i], text);
        width = larger(width, (int)strlen(text));
    }
    return width;
}

static void put_bold(const struct sweep_table *table, bool on)
{
    if (table->style->color)
        fputs(on ? "\033[1m" : "\033[0m", table->out);
}

/* Figures and words alike stand to the right, under their titles. */
static void put_cell(const struct sweep_table *table, int width, const char *text)
{
    fprintf(table->out, "%*s%s", width - writer_columns(text), "", text);
}

static void put_row(const struct sweep_table *table, const int widths[], int section, int point)
{
    char text[CELL_TEXT * 4];
    const struct sweep *sweep = table->sweep;
    for (int i = 0; i < sweep->axis_count; i++) {
        bool first = i == 0;
        snprintf(text, sizeof text, "%s", sweep->axes[i].option);
        if (point >= 0)
            value_text(&sweep->axes[i], first ? point / table->inner : point % table->inner,
                       text);
        put_cell(table, axis_width(&sweep->axes[i]) + (first ? 0 : GAP), text);
    }
    for (int c = 0; c < COLUMN_COUNT; c++) {
        if (widths[c] == 0)
            continue;
        snprintf(text, CELL_TEXT, "%s", columns[c].title);
        if (point >= 0)
            columns[c].show(run_at(table, section, point), text);
        put_cell(table, widths[c] + GAP, text);
    }
}

/* Chooses the columns, and leaves out those at the end that there is no room for. */
static void choose_columns(const struct sweep_table *table, int widths[COLUMN_COUNT])
{
    static const int mark = sizeof "  best" - 1;
    int used = mark - GAP;
    for (int i = 0; i < table->sweep->axis_count; i++)
        used += axis_width(&table->sweep->axes[i]) + GAP;
    for (int c = 0; c < COLUMN_COUNT; c++) {
        widths[c] = 0;
        if (!is_wanted(table, &columns[c]))
            continue;
        int width = larger((int)strlen(columns[c].title), cells_width(table, columns[c].show));
        if (c > 0 && used + GAP + width > table->style->width)
            continue;
        widths[c] = width;
        used += GAP + width;
    }
}

static void put_rows(const struct sweep_table *table, int section)
{
    int widths[COLUMN_COUNT];
    choose_columns(table, widths);
    const struct run_report *runs = run_at(table, section, 0);
    const struct sweep_leaders leaders = sweep_find_leaders(runs, table->points);
    put_bold(table, true);
    put_row(table, widths, section, -1);
    put_bold(table, false);
    putc('\n', table->out);
    for (int point = 0; point < table->points; point++) {
        bool marked = sweep_is_marked(runs, &leaders, point);
        if (marked)
            put_bold(table, true);
        put_row(table, widths, section, point);
        if (marked) {
            fputs("  best", table->out);
            put_bold(table, false);
        } else if (sweep_is_wrong(run_at(table, section, point))) {
            fputs("  WRONG", table->out);
        }
        putc('\n', table->out);
    }
}

/* --- a matrix for two axes --- */

/* Writes "streams \ tiles": rows are of the first axis. Returns the width of their column. */
static int corner_text(const struct sweep_table *table, char text[CELL_TEXT])
{
    const struct sweep_axis *axes = table->sweep->axes;
    int length = snprintf(text, CELL_TEXT, "%s \\ %s", axes[0].option, axes[1].option);
    return larger(length, axis_width(&axes[0]));
}

/* Returns the width of a matrix' columns. Each has room behind it for the mark of the best. */
static int matrix_width(const struct sweep_table *table, cell_show *show)
{
    return larger(cells_width(table, show), values_width(&table->sweep->axes[1]));
}

/* Returns the figure that tells runs apart beside their times: times compare only where the
 * work and the device are the same. */
static cell_show *gain_of(const struct sweep_table *table)
{
    return table->sized ? cell_copied : table->compared ? cell_speedup : cell_limit_share;
}

static bool matrix_fits(const struct sweep_table *table)
{
    char corner[CELL_TEXT];
    if (table->sweep->axis_count < 2)
        return false;
    int64_t width = larger(matrix_width(table, cell_time), matrix_width(table, gain_of(table)));
    return corner_text(table, corner) + table->inner * (GAP + width) + 1 <= table->style->width;
}

static void put_matrix_row(const struct sweep_table *table, cell_show *show, int section,
                           int row)
{
    char text[CELL_TEXT * 4];
    const struct run_report *runs = run_at(table, section, 0);
    const struct sweep_leaders leaders = sweep_find_leaders(runs, table->points);
    int width = matrix_width(table, show), owed = 1; /* the blank behind what is not the best */
    int corner = corner_text(table, text);
    value_text(&table->sweep->axes[0], row, text);
    put_cell(table, corner, text);
    for (int i = 0; i < table->inner; i++) {
        int point = row * table->inner + i;
        bool marked = sweep_is_marked(runs, &leaders, point);
        show(run_at(table, section, point), text);
        fprintf(table->out, "%*s", owed + GAP - 1, "");
        if (marked)
            put_bold(table, true);
        put_cell(table, width, text);
        bool wrong = sweep_is_wrong(run_at(table, section, point));
        if (marked || wrong)
            putc(wrong ? '!' : '*', table->out);
        if (marked)
            put_bold(table, false);
        owed = !marked && !wrong;
    }
    putc('\n', table->out);
}

static void put_matrix(const struct sweep_table *table, const char *title, cell_show *show,
                       int section)
{
    char text[CELL_TEXT * 4];
    int width = matrix_width(table, show);
    fprintf(table->out, "%s\n", title);
    put_bold(table, true);
    put_cell(table, corner_text(table, text), text);
    for (int i = 0; i < table->inner; i++) {
        value_text(&table->sweep->axes[1], i, text);
        put_cell(table, width + GAP, text);
    }
    put_bold(table, false);
    putc('\n', table->out);
    for (int row = 0; row < table->sweep->axes[0].count; row++)
        put_matrix_row(table, show, section, row);
}

/* --- all of it --- */

/* The name of the config file's run: the runs' names go on with their point. */
static void section_name(const struct sweep_table *table, int section,
                         char name[4 * RUN_NAME_MAX])
{
    char raw[RUN_NAME_MAX], mark[CELL_TEXT];
    snprintf(raw, sizeof raw, "%s", run_at(table, section, 0)->settings->name);
    snprintf(mark, sizeof mark, " %s=", table->sweep->axes[0].option);
    char *end = NULL;
    for (char *found = raw; (found = strstr(found, mark)) != NULL; found++)
        end = found;
    if (end != NULL)
        *end = '\0';
    writer_fit(name, 4 * RUN_NAME_MAX, raw, RUN_NAME_MAX);
}

/* Writes "serial: ways=1 streams=1", or nothing where there is one section, called "run". */
static void put_section_name(const struct sweep_table *table, int section)
{
    char name[4 * RUN_NAME_MAX];
    section_name(table, section, name);
    putc('\n', table->out);
    if (table->sections == 1 && strcmp(name, "run") == 0)
        return;
    put_bold(table, true);
    fputs(name, table->out);
    put_bold(table, false);
    putc(':', table->out);
    int used = writer_columns(name) + 1;
    sweep_put_settings(table, run_at(table, section, 0), table->points, true, used, GAP);
    putc('\n', table->out);
}

static void put_section(const struct sweep_table *table, int section)
{
    put_section_name(table, section);
    if (matrix_fits(table)) {
        put_matrix(table, "time", cell_time, section);
        putc('\n', table->out);
        cell_show *gain = gain_of(table);
        put_matrix(table,
                   gain == cell_copied    ? "copied"
                   : gain == cell_speedup ? "speed-up"
                                          : "of limit",
                   gain, section);
        if (table->style->verbose == 0)
            return;
        putc('\n', table->out);
    }
    put_rows(table, section);
}

/* Returns the widest spread of repeats of all runs, as a share of the median. */
static double spread_of(const struct report *report)
{
    double most = 0;
    EACH (const struct run_report, run, report->runs, report->run_count) {
        if (run->median_ns > 0)
            most = fmax(most, (double)(run->max_ns - run->min_ns) / (double)run->median_ns);
    }
    return most;
}

/* Puts "best: depth streams=4 (5.67 ms, 1.84x, 99.1% of limit)". A run alone has no speed-up.
 */
static void put_best(const struct sweep_table *table)
{
    const struct report *report = table->report;
    const struct sweep_leaders leaders = sweep_find_leaders(report->runs, report->run_count);
    const char *near = table->repeated ? "within 1% or the noise" : "within 1%";
    char words[4 * RUN_NAME_MAX + 4 * CELL_TEXT];
    int at = leaders.best;
    if (at < 0) { /* the blank line stays */
        putc('\n', table->out);
        return;
    }
    if (leaders.others > 0 && leaders.others + 1 == leaders.right) {
        int used = fprintf(table->out, "\nbest: none;") - 1;
        sweep_put_words(table, &used, GAP, "all are alike,");
        sweep_put_words(table, &used, GAP, near);
        putc('\n', table->out);
        return;
    }
    const struct run_report *best = &report->runs[at];
    char name[4 * RUN_NAME_MAX], time[CELL_TEXT], gain[CELL_TEXT], share[CELL_TEXT];
    section_name(table, at / table->points, name);
    bool named = table->sections > 1 || strcmp(name, "run") != 0;
    writer_fit(name, sizeof name, best->settings->name, RUN_NAME_MAX);
    cell_time(best, time);
    bool gained = table->sized || table->compared;
    gain_of(table)(best, gain);
    cell_limit_share(best, share);
    int used = fprintf(table->out, "\nbest:") - 1;
    snprintf(words, sizeof words, "%s", named ? name : strchr(name, ' ') + 1);
    sweep_put_words(table, &used, GAP, words);
    snprintf(words, sizeof words, "(%s, %s%s%s of limit)", time, gained ? gain : "",
             gained ? ", " : "", share);
    sweep_put_words(table, &used, GAP, words);
    snprintf(words, sizeof words, "and %d more,", leaders.others);
    if (leaders.others > 0) {
        sweep_put_words(table, &used, GAP, words);
        sweep_put_words(table, &used, GAP, near);
    }
    putc('\n', table->out);
}

static void put_foot(const struct sweep_table *table)
{
    const struct report *report = table->report;
    bool asked = report->runs[0].verified != VERIFIED_NOT_ASKED;
    char words[2 * CELL_TEXT], verified[CELL_TEXT];
    int used = 0, wrong = 0, raced = 0;
    for (int i = 0; i < report->run_count; i++) {
        wrong += sweep_is_wrong(&report->runs[i]);
        raced += report->runs[i].verified == VERIFIED_RACED;
    }
    bool compared = !table->sized && table->compared;
    put_best(table);
    snprintf(verified, sizeof verified, "%s", asked ? "verified" : "not verified (--no-data)");
    if (wrong > 0)
        snprintf(verified, sizeof verified, "%d of them WRONG", wrong);
    else if (raced > 0)
        snprintf(verified, sizeof verified, "%d of them not verified: ops raced", raced);
    snprintf(words, sizeof words, "%d run%s, %s%s", report->run_count,
             report->run_count == 1 ? "" : "s", verified, compared ? ";" : "");
    sweep_put_words(table, &used, 0, words);
    if (compared)
        sweep_put_words(table, &used, 0,
                        table->alike ? "speed-ups are against the first"
                                     : "speed-ups are against the first of the same work");
    putc('\n', table->out);
    if (!table->repeated)
        return;
    used = fprintf(table->out, "medians of repeats,");
    snprintf(words, sizeof words, "which differ by %.1f%% at most", 100 * spread_of(report));
    sweep_put_words(table, &used, 0, words);
    putc('\n', table->out);
}

void write_sweep(FILE *out, const struct report *report, const struct writer_style *style)
{
    const struct sweep *sweep = report->sweep;
    struct writer_style wide = *style;
    struct sweep_table table = {
        .out = out, .report = report, .sweep = sweep, .style = &wide, .alike = true};
    if (report->run_count == 0)
        return;
    wide.width = larger(style->width, WIDTH_MIN);
    table.inner = sweep->axis_count > 1 ? sweep->axes[1].count : 1;
    table.points = sweep->axes[0].count * table.inner;
    table.sections = report->run_count / table.points;
    for (int i = 0; i < report->run_count; i++) {
        table.repeated |= report->runs[i].repeats > 1;
        table.sized |= report->runs[i].elements != report->runs[0].elements;
        table.compared |= report->run_count > 1 && isfinite(report->runs[i].speedup);
        table.alike &= report_is_comparable(&report->runs[0], &report->runs[i]);
    }
    sweep_put_head(&table);
    for (int section = 0; section < table.sections; section++)
        put_section(&table, section);
    write_predictions(out, report, &wide);
    put_foot(&table);
}
