/* writer_csv.c - the report as CSV, a row per run, and the timeline as CSV, a row per span.
 *
 * Quoting is RFC 4180's; lines end in LF, as text tools expect. */
#include "writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Prints ns as ms without rounding. */
static void put_ms(FILE *out, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    fprintf(out, "%s%" PRIu64 ".%06" PRIu64, ns < 0 ? "-" : "", size / 1000000, size % 1000000);
}

/* A field of its own; empty where there is no number to give. */
static void put_real(FILE *out, double value, int digits)
{
    putc(',', out);
    if (isfinite(value))
        fprintf(out, "%.*g", digits, value);
}

static void put_text(FILE *out, const char *text)
{
    putc(',', out);
    write_csv_field(out, text);
}

static void put_comma_ms(FILE *out, int64_t ns)
{
    putc(',', out);
    put_ms(out, ns);
}

/* Setting columns carry a prefix: some options are called like a column of the report. */
static void put_setting_name(void *context, const char *name, const char *value,
                             enum value_kind kind)
{
    (void)value, (void)kind;
    fprintf(context, ",settings.%s", name);
}

static void put_setting_value(void *context, const char *name, const char *value,
                              enum value_kind kind)
{
    (void)name;
    put_text(context, kind == VALUE_NULL ? "" : value);
}

static void put_report_header(FILE *out, const struct settings *settings)
{
    fputs("run,source,timing,device,driver,verified,span_ms,span_min_ms,span_max_ms,limit_ms,"
          "limit_ratio,speedup",
          out);
    for (int i = 0; i < ENGINE_WORKING; i++)
        fprintf(out, ",%1$s_busy_ms,%1$s_utilisation,%1$s_bytes", engine_name((enum engine)i));
    fputs(",concurrency,repeats,timeline_ms,issue_ms,limit_cause,result,hazards,streams,slots,"
          "cpu_tiles,host_bytes,device_bytes",
          out);
    if (settings != NULL)
        settings_each(settings, put_setting_name, out);
    putc('\n', out);
}

static void put_plan_fields(FILE *out, const struct run_report *run)
{
    fprintf(out, ",%zu,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64,
            run->hazard_count, run->streams, run->slots, run->cpu_tiles, run->host_bytes,
            run->device_bytes);
}

static void put_report_row(FILE *out, const struct run_report *run)
{
    static const char *const verified[] = {
        [VERIFIED_NO] = "false", [VERIFIED_YES] = "true", [VERIFIED_NOT_ASKED] = ""};
    write_csv_field(out, run->settings->name);
    put_text(out, timeline_source(&run->timeline));
    put_text(out, timeline_timing(&run->timeline));
    put_text(out, writer_device(run));
    put_text(out, run->timeline.driver);
    put_text(out, verified[run->verified]);
    put_comma_ms(out, run->median_ns);
    put_comma_ms(out, run->min_ns);
    put_comma_ms(out, run->max_ns);
    put_comma_ms(out, run->limit.ns);
    put_real(out, (double)run->limit.ns / (double)run->median_ns, 9);
    put_real(out, run->speedup, 9);
    for (int i = 0; i < ENGINE_WORKING; i++) {
        const struct engine_use *use = &run->analysis.engines[i];
        put_comma_ms(out, use->busy_ns);
        put_real(out, use->utilisation, 9);
        fprintf(out, ",%" PRIu64, use->bytes);
    }
    put_real(out, run->analysis.concurrency, 9);
    fprintf(out, ",%" PRIu32, run->repeats);
    put_comma_ms(out, timeline_span_ns(&run->timeline));
    put_comma_ms(out, run->issue_ns);
    put_text(out, limit_cause_name(run->limit.cause));
    put_real(out, run->has_result ? run->result : NAN, 17);
    put_plan_fields(out, run);
    settings_each(run->settings, put_setting_value, out);
    putc('\n', out);
}

void write_csv_report(FILE *out, const struct report *report)
{
    put_report_header(out, report->run_count > 0 ? report->runs[0].settings : NULL);
    for (int i = 0; i < report->run_count; i++)
        put_report_row(out, &report->runs[i]);
}

static void put_line(FILE *out, const char *text)
{
    char clean[4096 * 3];
    fputs(writer_clean(clean, sizeof clean, text, true), out);
}

static void put_setting(void *context, const char *name, const char *value,
                        enum value_kind kind)
{
    FILE *out = context;
    bool quoted = kind != VALUE_NULL && strpbrk(value, " \t") != NULL;
    fprintf(out, " %s=%s", name, quoted ? "\"" : "");
    put_line(out, kind == VALUE_NULL ? "" : value);
    if (quoted)
        putc('"', out);
}

static void put_provenance(FILE *out, const struct run_report *run)
{
    const struct timeline *timeline = &run->timeline;
    fputs("# run: ", out);
    put_line(out, run->settings->name);
    fprintf(out, "\n#   source: %s\n#   timing: %s\n#   device: ", timeline_source(timeline),
            timeline_timing(timeline));
    put_line(out, writer_device(run));
    if (timeline->driver[0] != '\0') {
        fputs("\n#   driver: ", out);
        put_line(out, timeline->driver);
    }
    fprintf(out, "\n#   resolution_ns: %" PRId64 "\n#   settings:", timeline->resolution_ns);
    settings_each(run->settings, put_setting, out);
    putc('\n', out);
}

/* By hand: a timeline may have millions of spans, each with nine numbers. */
static void put_integer(FILE *out, int64_t value)
{
    char digits[24];
    char *first = digits + sizeof digits;
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        *--first = (char)('0' + size % 10);
        size /= 10;
    } while (size != 0);
    if (value < 0)
        *--first = '-';
    fwrite_unlocked(first, 1, (size_t)(digits + sizeof digits - first), out);
}

static void put_comma_integer(FILE *out, int64_t value)
{
    putc_unlocked(',', out);
    put_integer(out, value);
}

static void put_span(FILE *out, const struct run_report *run, const struct span *span)
{
    char name[SPAN_NAME];
    write_csv_field(out, run->settings->name);
    put_comma_integer(out, span->op);
    put_text(out, op_kind_name(span->kind));
    put_text(out, timeline_span_name(&run->timeline, span, name));
    if (span->tile < 0)
        putc_unlocked(',', out);
    else
        put_comma_integer(out, span->tile);
    put_comma_integer(out, span->stream);
    put_text(out, engine_name(span->engine));
    put_comma_integer(out, span->lane);
    put_comma_integer(out, (int64_t)span->bytes);
    put_comma_integer(out, span->issue_ns);
    put_comma_integer(out, span->start_ns);
    put_comma_integer(out, span->end_ns);
    putc_unlocked('\n', out);
}

void write_csv_timeline(FILE *out, const struct report *report)
{
    flockfile(out);
    fputs("# pipeline ", out);
    put_line(out, report->version);
    fputs(" timeline\n", out);
    for (int i = 0; i < report->run_count; i++)
        put_provenance(out, &report->runs[i]);
    fputs("run,op,kind,name,tile,stream,engine,lane,bytes,issue_ns,start_ns,end_ns\n", out);
    for (int i = 0; i < report->run_count; i++) {
        const struct run_report *run = &report->runs[i];
        for (uint32_t k = 0; k < run->timeline.span_count; k++)
            put_span(out, run, &run->timeline.spans[k]);
    }
    funlockfile(out);
}
