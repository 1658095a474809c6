/* predictions.c - what --model predicted, beside what came of it. */
#include "core/units.h"
#include "report/compare.h"
#include "writers/table.h"
#include "writers/writer.h"

#include <math.h>

/* What `model` predicted for `run`. */
static void put_span(const struct run_report *run, enum model model, char text[CELL_TEXT])
{
    if (run->predicted_ns[model] > 0)
        units_time(run->predicted_ns[model], text);
    else
        snprintf(text, CELL_TEXT, "-");
}

/* How far that is from the median span. */
static void put_error(const struct run_report *run, enum model model, char text[CELL_TEXT])
{
    double error = compare_error(run->predicted_ns[model], run->median_ns);
    if (run->predicted_ns[model] > 0 && isfinite(error))
        snprintf(text, CELL_TEXT, "%+.1f%%", fmin(100 * error, 1e7));
    else
        snprintf(text, CELL_TEXT, "-");
}

static void cell_sim(const struct run_report *run, char text[CELL_TEXT])
{
    put_span(run, MODEL_SIM, text);
}

static void cell_sim_error(const struct run_report *run, char text[CELL_TEXT])
{
    put_error(run, MODEL_SIM, text);
}

static void cell_werkhoven(const struct run_report *run, char text[CELL_TEXT])
{
    put_span(run, MODEL_WERKHOVEN, text);
}

static void cell_werkhoven_error(const struct run_report *run, char text[CELL_TEXT])
{
    put_error(run, MODEL_WERKHOVEN, text);
}

static void cell_gomez_luna(const struct run_report *run, char text[CELL_TEXT])
{
    put_span(run, MODEL_GOMEZ_LUNA, text);
}

static void cell_gomez_luna_error(const struct run_report *run, char text[CELL_TEXT])
{
    put_error(run, MODEL_GOMEZ_LUNA, text);
}

static const struct {
    cell_show *span, *error;
} cells[MODEL_COUNT] = {
    [MODEL_SIM] = {cell_sim, cell_sim_error},
    [MODEL_WERKHOVEN] = {cell_werkhoven, cell_werkhoven_error},
    [MODEL_GOMEZ_LUNA] = {cell_gomez_luna, cell_gomez_luna_error},
};

static bool any_predicted(const struct report *report, enum model model)
{
    for (int i = 0; i < report->run_count; i++) {
        if (report->runs[i].predicted_ns[model] > 0)
            return true;
    }
    return false;
}

void write_predictions(FILE *out, const struct report *report, const struct writer_style *style)
{
    struct table_column columns[1 + 2 * MODEL_COUNT] = {{0, "span", cell_span, false}};
    int count = 1;
    for (int model = MODEL_SIM; model < MODEL_COUNT; model++) {
        if (!any_predicted(report, (enum model)model))
            continue;
        columns[count++] = (struct table_column){model, model_name((enum model)model),
                                                 cells[model].span, false};
        columns[count++] = (struct table_column){model, "off by", cells[model].error, false};
    }
    if (count > 1)
        table_write(out, report, style, columns, count);
}
