/* compare.c - simulated times beside measured ones: the comparison, a row for each run and how
 * they do together, and what --model predicted. */
#include "report/compare.h"
#include "writers/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MAX = 40, /* of more runs only the worst are shown, unless verbose */
    WORST = 10,
};

/* --- cells --- */

static const struct comparison *comparison_of(const struct run_report *run)
{
    return &run->compared->comparison;
}

/* An error of nothing has no sign. */
static void put_percent(double share, const char *format, char text[CELL_TEXT])
{
    cell_percent(share, share == 0 ? "%.1f%%" : format, text);
}

/* Defines a cell that shows a share of a run's comparison. */
#define SHARE_CELL(name, format, share)                                                        \
    static void name(const struct run_report *run, char text[CELL_TEXT])                       \
    {                                                                                          \
        put_percent(share, format, text);                                                      \
    }

/* Returns true if the measured time lies in the simulated one's interval. */
static bool is_inside(const struct run_report *run)
{
    const struct time_range *sure = &run->compared->run.sure;
    return run->median_ns >= sure->low_ns && run->median_ns <= sure->high_ns;
}

static void cell_inside(const struct run_report *run, char text[CELL_TEXT])
{
    const bool known = run->compared->run.sure.high_ns > 0;
    snprintf(text, CELL_TEXT, "%s", !known ? "-" : is_inside(run) ? "yes" : "no");
}

SHARE_CELL(cell_noise, "%.2f%%", run->repeats > 1 ? comparison_of(run)->noise : NAN)
SHARE_CELL(cell_error, "%+.1f%%", comparison_of(run)->error)
SHARE_CELL(cell_file_error, "%+.1f%%", comparison_of(run)->file_error)
SHARE_CELL(cell_same_order, "%.1f%%", comparison_of(run)->same_order)

/* clang-format off */
static RANGE_CELL(cell_interval, run->compared->run.sure)
static TIME_CELL(cell_simulated, comparison_of(run)->simulated_ns)
static TIME_CELL(cell_start_p95, comparison_of(run)->start.p95_ns)
static TIME_CELL(cell_end_p95, comparison_of(run)->end.p95_ns)
    /* clang-format on */

    /* The titles of the two times are those of runs that were measured: see name_columns(). */
    enum {
        COLUMN_TIME = 3,
        COLUMN_SIMULATED = 5,
        COLUMN_FILE = 7 /* of runs that were compared with --calibrate */
    };
static const struct table_column columns[] = {
    {0, "tiles", cell_tiles, false},
    {0, "streams", cell_streams, false},
    {0, "order", cell_order, true},
    {0, "measured", cell_time, false},
    {0, "noise", cell_noise, false},
    {0, "simulated", cell_simulated, false},
    {0, "error", cell_error, false},
    {0, "by file", cell_file_error, false},
    {1, "interval", cell_interval, false},
    {1, "inside", cell_inside, true},
    {1, "start p95", cell_start_p95, false},
    {1, "end p95", cell_end_p95, false},
    {1, "order kept", cell_same_order, false},
};
enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

/* --- what ran, and what it is held against --- */

static bool same_device(const struct run_report *a, const struct run_report *b)
{
    return timeline_source(&a->timeline) == timeline_source(&b->timeline) &&
           strcmp(report_device(a), report_device(b)) == 0 &&
           strcmp(a->compared->device, b->compared->device) == 0;
}

/* Writes "measured, NVIDIA H200, driver 13.0; against simulated, NVIDIA H200 (sim:h200)". */
static void put_devices(FILE *out, const struct run_report *run, const char *head)
{
    char origin[ORIGIN_TEXT], machine[DEVICES_TEXT], name[3 * sizeof run->compared->device];
    writer_origin(run, origin);
    writer_devices(&run->compared->run, machine);
    escape_text(name, sizeof name, run->compared->device);
    fprintf(out, "%s%s\n%*sagainst simulated, %s (%s)\n", head, origin, writer_columns(head),
            "", machine, name);
}

/* Returns how many runs were measured, and not simulated on another machine. */
static int count_measured(const struct report *report)
{
    int count = 0;
    for (int i = 0; i < report->run_count; i++)
        count += report->runs[i].timeline.timing != TIMING_VIRTUAL;
    return count;
}

static void put_head(FILE *out, const struct report *report)
{
    char text[TABLE_NAME], head[TABLE_NAME + 4];
    bool same = true;
    writer_put_title(out, report);
    for (int i = 0; i < report->run_count; i++)
        same &= same_device(&report->runs[0], &report->runs[i]);
    for (int i = 0; i < (same ? 1 : report->run_count); i++) {
        table_name(&report->runs[i], text);
        snprintf(head, sizeof head, "  %s: ", text);
        put_devices(out, &report->runs[i], same ? "" : head);
    }
    if (report->comparison->calibrated)
        fputs("with the host's calls as calibrated first; \"by file\" is the error without\n",
              out);
    if (count_measured(report) == 0)
        fputs("nothing was measured: the errors are those of one machine file to another\n",
              out);
}

/* --- the rows --- */

static int compare_by_error(const void *a, const void *b)
{
    const struct run_report *x = *(const struct run_report *const *)a;
    const struct run_report *y = *(const struct run_report *const *)b;
    double one = fabs(comparison_of(x)->error), other = fabs(comparison_of(y)->error);
    if (one != other)
        return one > other ? -1 : 1;
    return x < y ? -1 : 1;
}

/* Returns copies of the WORST runs, those of the largest errors, to be freed but not their
 * parts; NULL for lack of memory. */
static struct run_report *find_worst(const struct report *report)
{
    size_t count = (size_t)report->run_count;
    const struct run_report **sorted = calloc(count, sizeof *sorted);
    struct run_report *worst = calloc(WORST, sizeof *worst);
    if (sorted != NULL && worst != NULL) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = &report->runs[i];
        qsort(sorted, count, sizeof *sorted, compare_by_error);
        for (int i = 0; i < WORST; i++)
            worst[i] = *sorted[i];
    } else {
        free(worst);
        worst = NULL;
    }
    free(sorted);
    return worst;
}

/* Names both machines over their times where nothing was measured. */
static void name_columns(const struct report *report, char titles[2][TABLE_NAME],
                         struct table_column shown[COLUMN_COUNT])
{
    const struct run_report *first = &report->runs[0];
    int measured = count_measured(report);
    bool same = true;
    memcpy(shown, columns, sizeof columns);
    if (measured == report->run_count)
        return;
    for (int i = 0; i < report->run_count; i++)
        same &= strcmp(report->runs[i].settings->device, first->settings->device) == 0 &&
                strcmp(report->runs[i].compared->device, first->compared->device) == 0;
    escape_text(titles[0], TABLE_NAME, same ? first->settings->device : "time");
    escape_text(titles[1], TABLE_NAME, same ? first->compared->device : "simulated");
    shown[COLUMN_TIME].title = titles[0];
    shown[COLUMN_SIMULATED].title = titles[1];
}

static enum status put_rows(FILE *out, const struct report *report,
                            const struct writer_style *style)
{
    struct table_column named[COLUMN_COUNT];
    char titles[2][TABLE_NAME];
    bool many = report->run_count > ROWS_MAX && style->verbose == 0;
    struct run_report *worst = many ? find_worst(report) : NULL;
    struct report shown = *report;
    if (many && worst == NULL)
        return STATUS_NO_MEMORY;
    if (worst != NULL) {
        shown.runs = worst;
        shown.run_count = WORST;
        fprintf(out, "\nthe %d worst of %d runs (--verbose shows all):\n", WORST,
                report->run_count);
    }
    name_columns(report, titles, named);
    bool calibrated = report->comparison->calibrated;
    if (!calibrated)
        memmove(&named[COLUMN_FILE], &named[COLUMN_FILE + 1],
                (COLUMN_COUNT - COLUMN_FILE - 1) * sizeof named[0]);
    table_write(out, &shown, style, named, COLUMN_COUNT - !calibrated);
    free(worst);
    return STATUS_OK;
}

/* --- all of them together --- */

static void put_quantiles(FILE *out, const char *name, const struct compare_quantiles *of)
{
    char median[CELL_TEXT], p95[CELL_TEXT], largest[CELL_TEXT];
    put_percent(of->median, "%.2f%%", median);
    put_percent(of->p95, "%.2f%%", p95);
    put_percent(of->largest, "%.2f%%", largest);
    fprintf(out, "%-17s%9s%9s%9s\n", name, median, p95, largest);
}

static void put_orders(FILE *out, const struct compare_summary *summary, bool measured)
{
    if (summary->pairs == 0)
        return;
    fprintf(out,
            "\ndepth or breadth: %" PRIu32 " of %" PRIu32 " pairs are over 3%% apart%s;\n"
            "%s has the right winner in %" PRIu32 " of %" PRIu32 "\n",
            summary->apart, summary->pairs, measured ? " as measured" : "",
            measured ? "the simulator" : "the other machine", summary->right, summary->apart);
}

/* Says how many times lie in their intervals, of those that have one. */
static void put_inside(FILE *out, const struct report *report)
{
    int known = 0, inside = 0;
    EACH (const struct run_report, run, report->runs, report->run_count) {
        known += run->compared->run.sure.high_ns > 0;
        inside += is_inside(run);
    }
    if (known > 0)
        fprintf(out, "\n%d of %d times lie in the interval of the simulated one\n", inside,
                known);
}

static void put_summary(FILE *out, const struct report *report)
{
    const struct compare_summary *summary = report->comparison;
    bool repeated = false;
    for (int i = 0; i < report->run_count; i++)
        repeated |= report->runs[i].repeats > 1;
    fprintf(out, "\n%-17s%9s%9s%9s\n", "|error| of", "median", "p95", "largest");
    bool measured = count_measured(report) > 0;
    put_quantiles(out, measured ? "the simulator" : "the other machine", &summary->simulator);
    if (summary->calibrated)
        put_quantiles(out, "its file alone", &summary->file);
    if (repeated)
        put_quantiles(out, "noise of repeats", &summary->noise);
    put_inside(out, report);
    put_orders(out, summary, measured);
}

enum status write_compare(FILE *out, const struct report *report,
                          const struct writer_style *style)
{
    if (report->run_count == 0)
        return STATUS_OK;
    put_head(out, report);
    if (put_rows(out, report, style) != STATUS_OK)
        return STATUS_NO_MEMORY;
    if (report->run_count > 1)
        put_summary(out, report);
    return STATUS_OK;
}

/* --- predictions --- */

/* clang-format off */
static TIME_CELL(cell_predicted, run->predicted_ns)
static RANGE_CELL(cell_predicted_range, run->predicted)
    /* clang-format on */

    /* Writes how far the prediction is from the median of the measured times. */
    static void cell_off_by(const struct run_report *run, char text[CELL_TEXT])
{
    cell_percent(compare_error(run->predicted_ns, run->median_ns), "%+.1f%%", text);
}

void write_predictions(FILE *out, const struct report *report, const struct writer_style *style)
{
    static const struct table_column shown[] = {
        {0, "time", cell_time, false},
        {1, "sim", cell_predicted, false},
        {1, "off by", cell_off_by, false},
        {2, "interval", cell_predicted_range, false},
    };
    /* All runs are predicted, or none is: --model is about all of them. */
    if (report->run_count > 0 && report->runs[0].predicted_ns > 0)
        table_write(out, report, style, shown, sizeof shown / sizeof shown[0]);
}
