/* view.c - what a trace of another program shows, in words and figures. */
#include "writers/view.h"
#include "core/units.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    NAMES_SHOWN = 8, /* unless verbose */
    GAPS_SHOWN = 2,  /* of an engine, unless verbose */
    STREAMS_SHOWN = 8,
    NAME_MIN = 16,
    FIGURES = 58, /* columns of a row of figures after its name */
    LINE_TEXT = 512,
};

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* --- figures --- */

static void put_streams(const struct timeline *timeline, char text[LINE_TEXT])
{
    text[0] = '\0';
    for (uint32_t i = 0; i < timeline->streams && i < STREAMS_SHOWN; i++)
        text_add(text, LINE_TEXT, ", ", "%" PRIu32, timeline_stream_id(timeline, i));
    if (timeline->streams > STREAMS_SHOWN)
        text_add(text, LINE_TEXT, ", ", "..");
}

/* Adds ", 200 ms of it in allocations" and the like to a line, where that is much of it. */
static void put_share(char line[LINE_TEXT], int64_t part_ns, int64_t whole_ns, const char *name)
{
    enum { NAMED_PARTS = 50 };
    char time[UNITS_TEXT];
    if (part_ns > 0 && part_ns >= whole_ns / NAMED_PARTS)
        text_add(line, LINE_TEXT, line[strlen(line) - 1] == ':' ? " " : ", ", "%s %s",
                 units_time(part_ns, time), name);
}

/* Writes which loop is judged, and what came before and after it. */
static void put_loop(FILE *out, const struct run_report *run, const struct writer_style *style)
{
    const struct trace *trace = run->trace;
    char line[LINE_TEXT], passes[WRITER_LOOP], time[UNITS_TEXT];
    if (trace == NULL || trace->saved || trace->part[0] != '\0')
        return;
    const struct loop_startup *startup = &trace->loop.startup;
    if (!writer_loop(run, passes)) {
        if (trace->loop_sought)
            fputs("no loop was found: all is judged\n", out);
        return;
    }
    writer_print_words(out, style->width, 2,
                       "the loop: %s; all that follows is about these (--all: about "
                       "everything)",
                       passes);
    snprintf(line, sizeof line, "start-up %s:", units_time(trace->startup_ns, time));
    if (run->timeline.calls != NULL)
        put_share(line, trace_outside_ns(trace), trace->startup_ns, "outside CUDA");
    put_share(line, startup->loads_ns, trace->startup_ns, "in first loads");
    put_share(line, startup->allocs_ns, trace->startup_ns, "in allocations");
    put_share(line, startup->waits_ns, trace->startup_ns, "waiting for the device");
    put_share(line, startup->calls_ns, trace->startup_ns, "in other calls");
    const size_t used = strlen(line);
    line[used - 1] = line[used - 1] == ':' ? '\0' : line[used - 1];
    if (trace->end_ns > 0)
        writer_print_words(out, style->width, 2, "%s; after the loop %s", line,
                           units_time(trace->end_ns, time));
    else
        writer_put_words(out, style->width, 2, line);
}

/* Writes the one bound that there is on the time: the limit or, where none is known, the time
 * of the busiest engine. */
static void put_bound(FILE *out, const struct run_report *run, const struct writer_style *style)
{
    const struct engine_use *engines = run->analysis.engines;
    char time[UNITS_TEXT];
    int busiest = 0;
    for (int i = 1; i < DEVICE_ENGINES; i++)
        busiest = engines[i].busy_ns > engines[busiest].busy_ns ? i : busiest;
    const int64_t busy_ns = engines[busiest].busy_ns;
    const bool kernels = busiest == ENGINE_COMPUTE;
    if (writer_limit_known(run))
        writer_print_words(out, style->width, 2, "limit, by the %s%s: %s",
                           run->verdicts.limit_known ? "machine file" : "file",
                           kernels && run->limit.cause == LIMIT_COMPUTE &&
                                   run->limit.ns < busy_ns
                               ? ", with kernels side by side"
                               : "",
                           units_time(run->limit.ns, time));
    else if (run->critical.holds != NULL) /* all streams are there */
        writer_print_words(out, style->width, 2,
                           "busiest engine: %s, at work for %s, %.0f%% of the time: no order "
                           "of these ops ends sooner%s",
                           engine_rows[busiest].label, units_time(busy_ns, time),
                           share(busy_ns, run->median_ns),
                           kernels ? " unless more kernels run side by side" : "");
}

static void put_heading(FILE *out, const struct run_report *run,
                        const struct writer_style *style)
{
    static const char *const sources[TIMING_COUNT] = {
        [TIMING_VIRTUAL] = "simulated",
        [TIMING_CUPTI] = "measured by CUPTI",
        [TIMING_EVENTS] = "measured by events",
        [TIMING_NSYS] = "measured",
        [TIMING_RECORDED] = "recorded by pipeline",
        [TIMING_CHROME] = "measured",
    };
    const struct timeline *timeline = &run->timeline;
    char name[3 * RUN_NAME_MAX], devices[DEVICES_TEXT], driver[3 * TIMELINE_TEXT],
        streams[LINE_TEXT], time[UNITS_TEXT], ops[VIEW_OPS_TEXT];
    escape_text(name, sizeof name, run->settings->name);
    writer_devices(run, devices);
    escape_text(driver, sizeof driver, timeline->driver);
    fprintf(out, "\n%s%s%s\n", style->color ? "\033[1m" : "", name,
            style->color ? "\033[0m" : "");
    writer_print_words(out, style->width, 2, "%s, %s%s%s", sources[timeline->timing], devices,
                       driver[0] != '\0' ? ", " : "", driver);
    if (run->trace != NULL && run->trace->part[0] != '\0')
        writer_print_words(out, style->width, 2, "only a part: %s%s%s", run->trace->part,
                           run->trace->from_ns > 0 ? "; times count from " : "",
                           run->trace->from_ns > 0 ? units_time(run->trace->from_ns, time)
                                                   : "");
    if (timeline->span_count == 0) {
        fprintf(out, "no copy and no kernel %s: there is nothing to draw\n",
                run->trace != NULL && run->trace->unseen > 0 ? "was recorded as it ran"
                                                             : "ran");
        return;
    }
    put_loop(out, run, style);
    put_streams(timeline, streams);
    view_count_ops(run, ops);
    writer_print_words(out, style->width, 2,
                       "%s in %" PRIu32 " stream%s (%s); %s from the first %s to the last end",
                       ops, timeline->streams, timeline->streams == 1 ? "" : "s", streams,
                       units_time(run->median_ns, time),
                       timeline->issue_unknown ? "start" : "issue");
    put_bound(out, run, style);
}

static void put_engines(FILE *out, const struct run_report *run, const struct view_facts *facts)
{
    const uint32_t devices = run->analysis.devices;
    fprintf(out, "\n%-8s%8s%11s%8s%12s%10s%13s\n", "engine", "ops", "busy", "of time",
            "longest gap", "bytes", "rate");
    for (uint32_t i = 0; i < resource_count(devices); i++) {
        const struct resource engine = resource_at(i, devices);
        if (engine.kind >= ENGINE_WORKING)
            continue;
        const struct engine_use *use = &run->analysis.on[engine.device][engine.kind];
        if (use->spans == 0) /* a trace of kernels alone says nothing of copies */
            continue;
        char busy[UNITS_TEXT], gap[UNITS_TEXT] = "-", bytes[UNITS_TEXT] = "-",
                               rate[UNITS_TEXT] = "-", label[ENGINE_LABEL];
        if (i < DEVICE_ENGINES && devices == 1 && facts->gap_counts[i] > 0)
            units_time(facts->gaps[i][0].end_ns - facts->gaps[i][0].start_ns, gap);
        if (use->bytes > 0)
            units_bytes(use->bytes, bytes);
        if (use->bytes > 0 && use->busy_ns > 0)
            units_rate((double)use->bytes * 1e9 / (double)use->busy_ns, rate);
        fprintf(out, "%-8s%8" PRIu32 "%11s%7.0f%%%12s%10s%13s\n",
                writer_engine(engine, devices, label), use->spans,
                units_time(use->busy_ns, busy), 100 * use->utilisation, gap, bytes, rate);
    }
}

/* A name that is wider than its column is cut or, if it is to be `whole`, has a line of its
 * own.
 */
static void put_name(FILE *out, const struct run_report *run, const struct view_name *name,
                     int columns, bool whole)
{
    enum { WHOLE = 4096 };
    char fitted[2 * WHOLE], sum[UNITS_TEXT], mean[UNITS_TEXT];
    const char *shown = name->engine == ENGINE_H2D   ? "copies in"
                        : name->engine == ENGINE_D2H ? "copies out"
                                                     : name->name;
    writer_fit(fitted, sizeof fitted, shown, whole ? WHOLE : columns);
    if (writer_columns(fitted) > columns) {
        fprintf(out, "%s\n", fitted);
        fitted[0] = '\0';
    }
    fprintf(out, "%s%*s%9" PRIu32 "%11s%11s%9.1f%%", fitted, columns - writer_columns(fitted),
            "", name->ops, units_time(name->sum_ns, sum),
            units_time(name->sum_ns / name->ops, mean), share(name->sum_ns, run->median_ns));
    if (run->critical.holds != NULL)
        fprintf(out, "%9.1f%%\n", share(name->path_ns, run->median_ns));
    else
        fprintf(out, "%10s\n", "-");
}

static void put_names(FILE *out, const struct run_report *run, const struct view_facts *facts,
                      const struct writer_style *style)
{
    uint32_t shown = facts->name_count;
    if (style->verbose == 0 && shown > NAMES_SHOWN)
        shown = NAMES_SHOWN;
    int columns = style->width - FIGURES, widest = NAME_MIN;
    for (uint32_t i = 0; i < shown; i++) {
        char fitted[LINE_TEXT];
        int own = writer_columns(writer_fit(fitted, sizeof fitted, facts->names[i].name, 100));
        widest = own > widest ? own : widest;
    }
    columns = columns < NAME_MIN ? NAME_MIN : columns > widest ? widest : columns;
    fprintf(out, "\n%-*s%9s%11s%11s%10s%10s\n", columns, "name", "ops", "sum", "mean",
            "of time", "critical");
    for (uint32_t i = 0; i < shown; i++)
        put_name(out, run, &facts->names[i], columns, style->verbose > 0);
    if (shown < facts->name_count)
        fprintf(out, "and %" PRIu32 " more names (--verbose shows them)\n",
                facts->name_count - shown);
}

static void put_together(FILE *out, const struct run_report *run,
                         const struct view_facts *facts, const struct writer_style *style)
{
    static const unsigned pairs[] = {1U << ENGINE_H2D | 1U << ENGINE_COMPUTE,
                                     1U << ENGINE_H2D | 1U << ENGINE_D2H,
                                     1U << ENGINE_COMPUTE | 1U << ENGINE_D2H};
    static const char *const words[] = {"none", "one", "two", "three", "all four"};
    unsigned there = 0; /* what the trace has nothing of is not spoken of */
    for (int i = 0; i < DEVICE_ENGINES; i++)
        there |= (unsigned)(run->analysis.engines[i].spans > 0) << i;
    char line[LINE_TEXT] = "at work at once:", time[UNITS_TEXT];
    const int engines = __builtin_popcount(there);
    for (int count = 0; count <= engines; count++) {
        int64_t ns = view_facts_at_once_ns(facts, count);
        const char *word = count == 3 && engines == 3 ? "all three" : words[count];
        text_add(line, sizeof line, count > 0 ? "," : "", " %s %s (%.0f%%)", word,
                 units_time(ns, time), share(ns, run->median_ns));
    }
    text_add(line, sizeof line, "; ", "%.2f operations on average", run->analysis.concurrency);
    putc('\n', out);
    writer_put_words(out, style->width, 2, line);
    line[0] = '\0';
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if ((pairs[i] & there) != pairs[i])
            continue;
        text_add(line, sizeof line, ",", "%s %s and %s %s", line[0] != '\0' ? "" : "together:",
                 engine_rows[i == 2 ? ENGINE_COMPUTE : ENGINE_H2D].label,
                 engine_rows[i == 0 ? ENGINE_COMPUTE : ENGINE_D2H].label,
                 units_time(view_facts_together_ns(facts, pairs[i]), time));
    }
    if (line[0] != '\0')
        writer_put_words(out, style->width, 2, line);
}

/* --- what it comes to --- */

static void put_path(FILE *out, const struct run_report *run, const struct view_facts *facts,
                     const struct writer_style *style)
{
    char line[LINE_TEXT], time[UNITS_TEXT];
    int64_t work_ns = 0, first_ns = 0;
    snprintf(line, sizeof line, "critical path: %" PRIu32 " op%s", run->critical.path_count,
             run->critical.path_count == 1 ? "" : "s");
    for (int i = 0; i < DEVICE_ENGINES; i++) {
        work_ns += facts->path_ns[i];
        if (run->analysis.engines[i].spans > 0)
            text_add(line, sizeof line, ", ", "%s %s", engine_rows[i].label,
                     units_time(facts->path_ns[i], time));
    }
    if (run->critical.path_count > 0 && run->timeline.issue_unknown)
        first_ns = run->timeline.spans[run->critical.path[0]].start_ns;
    writer_print_words(out, style->width, 2, "%s; %s between them", line,
                       units_time(run->median_ns - work_ns - first_ns, time));
    if (first_ns == 0)
        return;
    writer_print_words(
        out, style->width, 2,
        "  It goes back to %s: the trace does not tell what its first op waited for.",
        units_time(first_ns, time));
}

static void put_gaps(FILE *out, const struct run_report *run, const struct view_facts *facts,
                     const struct writer_style *style)
{
    uint32_t most = style->verbose > 0 ? GAPS_KEPT : GAPS_SHOWN;
    bool any = false;
    for (int i = 0; i < DEVICE_ENGINES; i++) {
        for (uint32_t g = 0; g < facts->gap_counts[i] && g < most; g++) {
            const struct view_gap *gap = &facts->gaps[i][g];
            const struct span *next = &run->timeline.spans[gap->next];
            char why[CRITICAL_TEXT], name[SPAN_NAME], line[4 * LINE_TEXT], clean[4 * LINE_TEXT],
                fitted[4 * SPAN_NAME], length[UNITS_TEXT], at[UNITS_TEXT];
            if (!any)
                fputs("\nlongest gaps, and what the op after each had waited for\n", out);
            any = true;
            writer_fit(fitted, sizeof fitted, timeline_span_name(&run->timeline, next, name),
                       40);
            snprintf(line, sizeof line,
                     "  %s idle for %s at %s, until %s (stream %" PRIu32 "): %s",
                     engine_rows[i].label, units_time(gap->end_ns - gap->start_ns, length),
                     units_time(gap->start_ns, at), fitted,
                     timeline_stream_id(&run->timeline, next->stream),
                     critical_explain(&run->timeline, &run->critical, gap->next, why));
            writer_put_words(out, style->width, 4, escape_text(clean, sizeof clean, line));
        }
    }
}

static enum status put_run(FILE *out, const struct run_report *run,
                           const struct writer_style *style)
{
    struct view_facts facts;
    put_heading(out, run, style);
    if (run->timeline.span_count == 0)
        return STATUS_OK;
    enum status status = view_facts_find(&run->timeline, &run->critical, &facts, NULL);
    if (status != STATUS_OK)
        return status;
    if (run->critical.holds != NULL)
        view_put_findings(out, run, &facts, style);
    put_engines(out, run, &facts);
    put_names(out, run, &facts, style);
    if (run->analysis.devices == 1)
        put_together(out, run, &facts, style);
    if (run->critical.holds != NULL) {
        put_path(out, run, &facts, style);
        put_gaps(out, run, &facts, style);
        view_put_races(out, run, style);
    }
    view_facts_free(&facts);
    return STATUS_OK;
}

enum status write_view(FILE *out, const struct report *report, const struct writer_style *style)
{
    writer_put_title(out, report);
    write_answers(out, report, style);
    if (report->late != NULL)
        writer_put_words(out, style->width, 2, report->late);
    enum status status = report->paired ? view_put_pairs(out, report, style) : STATUS_OK;
    bool all = !report->paired || style->verbose > 0;
    for (int i = 0; i < report->run_count && all && status == STATUS_OK; i++)
        status = put_run(out, &report->runs[i], style);
    const bool weighed = report->run_count == 2 && report->runs[1].trace->rounds > 0;
    return status == STATUS_OK && weighed && !report->paired
               ? view_put_pairs(out, report, style)
               : status;
}
