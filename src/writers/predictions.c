/* predictions.c - what --model predicted, beside what came of it. */
#include "core/units.h"
#include "report/compare.h"
#include "writers/table.h"
#include "writers/writer.h"

#include <math.h>

static void cell_predicted(const struct run_report *run, char text[CELL_TEXT])
{
    units_time(run->predicted_ns, text);
}

/* Writes how far the prediction is from the median of the measured times. */
static void cell_error(const struct run_report *run, char text[CELL_TEXT])
{
    double error = compare_error(run->predicted_ns, run->median_ns);
    if (isfinite(error))
        snprintf(text, CELL_TEXT, "%+.1f%%", fmin(100 * error, 1e7));
    else
        snprintf(text, CELL_TEXT, "-");
}

void write_predictions(FILE *out, const struct report *report, const struct writer_style *style)
{
    static const struct table_column columns[] = {
        {0, "time", cell_time, false},
        {1, "sim", cell_predicted, false},
        {1, "off by", cell_error, false},
    };
    /* All runs are predicted, or none is: --model is about all of them. */
    if (report->run_count > 0 && report->runs[0].predicted_ns > 0)
        table_write(out, report, style, columns, sizeof columns / sizeof columns[0]);
}
