/* latency.c - how long tiles or batches took, by priority: a row of figures for each group of
 * them, and how they are spread, all on one time axis. */
#include "core/units.h"
#include "writers/gantt.h"
#include "writers/table.h"
#include "writers/writer.h"

#include <inttypes.h>
#include <string.h>

enum {
    NAME_COLUMNS = 18, /* of a run's name: a line of figures then has 80 */
    SPREAD_COLUMNS_MIN = 20,
    FIGURES = 5,
};

/* The signs of a column, from light to dark: the more of a group it has, the darker. */
static const char shades[] = ".:-=+*#@";

static bool latency_shown(const struct report *report, const struct writer_style *style)
{
    bool shown = style->verbose > 0, any = false;
    for (int i = 0; i < report->run_count; i++) {
        shown |= report->runs[i].settings->priority_count > 0;
        any |= report->runs[i].latency.group_count > 0;
    }
    return shown && any;
}

static int name_width(const struct report *report)
{
    char name[TABLE_NAME];
    int width = (int)strlen("run");
    for (int i = 0; i < report->run_count; i++) {
        writer_fit(name, sizeof name, report->runs[i].settings->name, NAME_COLUMNS);
        width = larger(width, writer_columns(name));
    }
    return width;
}

/* Writes a name, and blanks up to `width` characters. */
static void put_name(FILE *out, const char *name, int width)
{
    fprintf(out, "%s%*s", name, width - writer_columns(name), "");
}

static void put_figures(FILE *out, const struct run_report *run, int width)
{
    char name[TABLE_NAME], text[FIGURES][UNITS_TEXT];
    writer_fit(name, sizeof name, run->settings->name, NAME_COLUMNS);
    for (uint32_t i = 0; i < run->latency.group_count; i++) {
        const struct latency_group *group = &run->latency.groups[i];
        const int64_t figures[FIGURES] = {group->min_ns, group->median_ns, group->p95_ns,
                                          group->max_ns, (int64_t)group->mean_ns};
        put_name(out, i == 0 ? name : "", width);
        fprintf(out, "  %8d  %5" PRIu32, group->priority, group->count);
        for (int f = 0; f < FIGURES; f++)
            fprintf(out, "  %7s", units_time(figures[f], text[f]));
        putc('\n', out);
    }
}

static int column_of(const struct picture *axis, int64_t ns)
{
    const int column = (int)((double)ns * axis->scale);
    return column < axis->columns ? column : axis->columns - 1;
}

/* Writes one group along the axis, the median and the 95th percentile as letters. */
static void put_spread(const struct picture *axis, const struct latency_group *group)
{
    uint32_t counts[GANTT_WIDTH_MAX] = {0}, most = 1;
    char line[GANTT_WIDTH_MAX + 1];
    for (uint32_t i = 0; i < group->count; i++) {
        const int column = column_of(axis, group->latencies[i]);
        if (++counts[column] > most)
            most = counts[column];
    }
    int end = 0;
    for (int c = 0; c < axis->columns; c++) {
        const uint64_t shade =
            ((uint64_t)counts[c] * (sizeof shades - 1) + most - 1) / most; /* 0: none */
        line[c] = shade > 0 ? shades[shade - 1] : ' ';
        end = shade > 0 ? c + 1 : end;
    }
    line[column_of(axis, group->p95_ns)] = 'P';
    line[column_of(axis, group->median_ns)] = 'M';
    fprintf(axis->out, "%.*s\n", end, line);
}

static void put_spreads(const struct picture *axis, const struct run_report *run, int width)
{
    char name[TABLE_NAME];
    writer_fit(name, sizeof name, run->settings->name, NAME_COLUMNS);
    for (uint32_t i = 0; i < run->latency.group_count; i++) {
        put_name(axis->out, i == 0 ? name : "", width);
        fprintf(axis->out, "  %8d  ", run->latency.groups[i].priority);
        put_spread(axis, &run->latency.groups[i]);
    }
}

/* Returns an axis from 0 to the longest latency of all runs. */
static struct picture axis_of(FILE *out, const struct report *report,
                              const struct writer_style *style, int margin)
{
    struct picture axis = {.out = out, .report = report, .style = style, .margin = margin};
    for (int i = 0; i < report->run_count; i++) {
        const struct latency *latency = &report->runs[i].latency;
        for (uint32_t g = 0; g < latency->group_count; g++) {
            if (latency->groups[g].max_ns > axis.length_ns)
                axis.length_ns = latency->groups[g].max_ns;
        }
    }
    axis.columns = style->width - margin - 1;
    if (axis.columns < SPREAD_COLUMNS_MIN)
        axis.columns = SPREAD_COLUMNS_MIN;
    if (axis.columns > GANTT_WIDTH_MAX - margin)
        axis.columns = GANTT_WIDTH_MAX - margin;
    axis.scale = axis.length_ns > 0 ? axis.columns / (double)axis.length_ns : 0;
    return axis;
}

/* A table's words for what its rows count: tiles, batches of them, or one in some rows and the
 * other in others. */
struct counted {
    const char *title, *one, *column, *of_row;
};

static const struct counted *counted_in(const struct report *report)
{
    static const struct counted words[] = {
        {"tile latency", "tile", "tiles", "the row's tiles"},
        {"batch latency", "batch of tiles", "count", "them"},
        {"latency", "tile or batch", "count", "them"},
    };
    const int batched = report_batched(report);
    return &words[batched == 0 ? 0 : batched == report->run_count ? 1 : 2];
}

void write_latency(FILE *out, const struct report *report, const struct writer_style *style)
{
    if (!latency_shown(report, style))
        return;
    const int width = name_width(report);
    const struct counted *counted = counted_in(report);
    fprintf(out, "\n%s: from when a %s could begin to the end of its last op\n", counted->title,
            counted->one);
    put_name(out, "run", width);
    fprintf(out, "  priority  %s      min   median      p95      max     mean\n",
            counted->column);
    for (int i = 0; i < report->run_count; i++)
        put_figures(out, &report->runs[i], width);
    const struct picture axis = axis_of(out, report, style, width + 12);
    putc('\n', out);
    for (int i = 0; i < report->run_count; i++)
        put_spreads(&axis, &report->runs[i], width);
    gantt_put_axis(&axis);
    fprintf(out, "  %s the darker, the more of %s; M median, P 95th percentile\n", shades,
            counted->of_row);
}
