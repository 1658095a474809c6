/* verdicts.c - why each run took longer than its limit, in words. */
#include "core/units.h"
#include "writers/table.h"
#include "writers/writer.h"

#include <inttypes.h>
#include <stdio.h>

enum { LINE_BYTES = 1024, INDENT = 4 };

/* Writes "1.2 ms, 21%: ", or nothing for a verdict that has no cost. */
static void put_cost(const struct verdicts *verdicts, const struct verdict *verdict,
                     char text[LINE_BYTES])
{
    char cost[UNITS_TEXT];
    text[0] = '\0';
    bool bound = verdict->code >= VERDICT_COPY_BOUND && verdict->code <= VERDICT_CPU_BOUND;
    if (bound || verdict->code == VERDICT_MISSING_WAIT)
        return;
    bool negative = verdict->cost_ns < 0;
    units_time(negative ? -verdict->cost_ns : verdict->cost_ns, cost);
    double share =
        verdicts->time_ns > 0 ? 100 * (double)verdict->cost_ns / (double)verdicts->time_ns : 0;
    snprintf(text, LINE_BYTES, "%s%s, %.1f%%: ", negative ? "-" : "", cost, share);
}

static void put_verdict(FILE *out, const struct verdicts *verdicts, int index,
                        const struct writer_style *style)
{
    const struct verdict *verdict = &verdicts->items[index];
    const struct verdict_row *row = &verdict_rows[verdict->code];
    char cost[LINE_BYTES];
    put_cost(verdicts, verdict, cost);
    writer_print_words(out, style->width, INDENT, "  %s%s%s%s", cost,
                       index < verdicts->named ? row->name : "",
                       index < verdicts->named ? ": " : "", row->text);
    if (index >= verdicts->named)
        return;
    writer_print_words(out, style->width, 2 * INDENT, "    fix: %s", row->fix);
}

/* Writes a line for the run, and one for each of its verdicts. */
static void put_run(FILE *out, const struct run_report *run, const struct writer_style *style)
{
    const struct verdicts *verdicts = &run->verdicts;
    char name[TABLE_NAME], time[UNITS_TEXT], limit[UNITS_TEXT];
    table_name(run, name);
    if (run->no_verdict[0] != '\0') {
        writer_print_words(out, style->width, INDENT, "%s: %s", name, run->no_verdict);
        return;
    }
    if (verdicts->count == 0)
        return;
    writer_print_words(out, style->width, INDENT, "%s: %s; %s %s", name,
                       units_time(verdicts->time_ns, time),
                       verdicts->limit_known ? "limit" : "its busiest engine",
                       units_time(verdicts->limit_ns, limit));
    for (int i = 0; i < verdicts->count; i++)
        put_verdict(out, verdicts, i, style);
}

void write_verdicts(FILE *out, const struct report *report, const struct writer_style *style)
{
    bool any = false, foreign = false;
    for (int i = 0; i < report->run_count; i++) {
        const struct run_report *run = &report->runs[i];
        any |= run->verdicts.count > 0 || run->no_verdict[0] != '\0';
        foreign |= run->foreign;
    }
    if (!any)
        return;
    fputs("\nwhy\n", out);
    if (foreign)
        writer_put_words(
            out, style->width, 0,
            "A trace records when ops ran. It does not record which data and buffers "
            "they use, nor the machine's hardware queues, so the limit is not known.");
    for (int i = 0; i < report->run_count; i++)
        put_run(out, &report->runs[i], style);
}
