/* csv.c - the report as CSV, a row per run. Quoting is RFC 4180's; lines end in LF, as text
 * tools expect. */
#include "report/compare.h"
#include "trace/trace.h"
#include "writers/cause.h"
#include "writers/put.h"
#include "writers/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints ns as a field in ms without rounding; an empty one where the time is not known. */
static void put_known_ms(FILE *out, bool known, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    putc(',', out);
    if (known)
        fprintf(out, "%s%" PRIu64 ".%06" PRIu64, ns < 0 ? "-" : "", size / 1000000,
                size % 1000000);
}

static void put_ms(FILE *out, int64_t ns)
{
    put_known_ms(out, true, ns);
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

static void put_setting_nothing(void *context, const char *name, const char *value,
                                enum value_kind kind)
{
    (void)name, (void)value, (void)kind;
    putc(',', context);
}

static void put_deviation(FILE *out, const struct deviation *deviation)
{
    put_ms(out, deviation->median_ns);
    put_ms(out, deviation->p95_ns);
    put_ms(out, deviation->largest_ns);
}

static void put_compared(FILE *out, const struct compared *compared)
{
    const struct comparison *comparison = &compared->comparison;
    put_text(out, compared->device);
    put_ms(out, comparison->simulated_ns);
    put_real(out, comparison->error, 9);
    put_real(out, comparison->noise, 9);
    put_real(out, comparison->traced_error, 9);
    fprintf(out, ",%" PRIu32, comparison->spans);
    put_deviation(out, &comparison->start);
    put_deviation(out, &comparison->end);
    put_real(out, comparison->same_order, 9);
    if (comparison->calibrated) {
        put_ms(out, comparison->file_ns);
        put_real(out, comparison->file_error, 9);
    }
}

/* Returns true if a run of the report has a kernel whose arithmetic is rated, in Gflop/s. */
static bool is_rated(const struct report *report)
{
    int i = 0;
    while (i < report->run_count && isnan(report_gflops(&report->runs[i])))
        i++;
    return i < report->run_count;
}

/* What only reports of some runs have columns for. */
struct columns {
    bool rated; /* a kernel's arithmetic */
    bool peers; /* copies from device to device */
    bool halo;  /* the copies of a stencil's rows */
    struct settings_shown shown;
};

static struct columns columns_of(const struct report *report)
{
    struct columns columns = {.rated = is_rated(report)};
    for (int i = 0; i < report->run_count; i++) {
        columns.peers |= analysis_shows(&report->runs[i].analysis, ENGINE_PEER);
        columns.halo |= report_exchanges(&report->runs[i]);
        columns.shown.several |= settings_devices(report->runs[i].settings) > 1;
        columns.shown.halo |= settings_has_halo(report->runs[i].settings);
    }
    return columns;
}

static void put_engine_names(FILE *out, enum engine engine)
{
    fprintf(out, ",%1$s_busy_ms,%1$s_utilisation,%1$s_bytes", engine_name(engine));
}

static void put_report_header(FILE *out, const struct run_report *first, struct columns columns)
{
    const struct compared *compared = first != NULL ? first->compared : NULL;
    fprintf(out, "run,source,timing,device,driver,verified,time_ms,time_min_ms,time_max_ms,"
                 "limit_ms,limit_ratio,speedup");
    for (int i = 0; i < ENGINE_WORKING; i++)
        if (!engine_rows[i].rare)
            put_engine_names(out, (enum engine)i);
    fprintf(
        out,
        ",concurrency,repeats,timeline_ms,issue_ms,limit_cause,result,hazards,streams,slots,"
        "cpu_tiles,host_bytes,device_bytes,predicted_sim_ms%s",
        columns.rated ? ",gflops" : "");
    if (columns.peers)
        put_engine_names(out, ENGINE_PEER);
    if (columns.halo)
        fputs(",exchange_hidden", out);
    if (compared != NULL)
        fprintf(
            out,
            ",machine,simulated_ms,error,noise,traced_error,spans,start_median_ms,start_p95_ms,"
            "start_largest_ms,end_median_ms,end_p95_ms,end_largest_ms,same_order%s",
            compared->comparison.calibrated ? ",file_simulated_ms,file_error" : "");
    if (first != NULL)
        settings_each_of(first->settings, columns.shown, put_setting_name, out);
    putc('\n', out);
}

static void put_plan_fields(FILE *out, const struct run_report *run)
{
    if (run->foreign) {
        fprintf(out, ",,%" PRIu32 ",,,,", run->streams);
        return;
    }
    fprintf(out, ",%zu,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64,
            run->hazard_count, run->streams, run->slots, run->cpu_tiles, run->host_bytes,
            run->device_bytes);
}

/* Fields of an engine; empty where --profile left the timeline to a profiler. */
static void put_engine(FILE *out, const struct run_report *run, enum engine engine)
{
    const struct engine_use *use = &run->analysis.engines[engine];
    if (run->profiled) {
        fputs(",,,", out);
        return;
    }
    put_ms(out, use->busy_ns);
    put_real(out, use->utilisation, 9);
    fprintf(out, ",%" PRIu64, use->bytes);
}

static void put_analysis(FILE *out, const struct run_report *run)
{
    for (int i = 0; i < ENGINE_WORKING; i++)
        if (!engine_rows[i].rare)
            put_engine(out, run, (enum engine)i);
    put_real(out, run->profiled ? NAN : run->analysis.concurrency, 9);
}

static void put_report_row(FILE *out, const struct run_report *run, struct columns columns)
{
    const bool right = run->verified == VERIFIED_YES, wrong = run->verified == VERIFIED_NO;
    write_csv_field(out, run->settings->name);
    put_text(out, timeline_source(&run->timeline));
    put_text(out, run->profiled ? "" : timeline_timing(&run->timeline));
    put_text(out, writer_device(run));
    put_text(out, run->timeline.driver);
    put_text(out, right ? "true" : wrong ? "false" : "");
    put_ms(out, run->median_ns);
    put_ms(out, run->min_ns);
    put_ms(out, run->max_ns);
    bool limited = !run->foreign || run->verdicts.limit_known;
    put_known_ms(out, limited, run->limit.ns);
    put_real(out, !limited ? NAN : (double)run->limit.ns / (double)run->median_ns, 9);
    put_real(out, run->speedup, 9);
    put_analysis(out, run);
    putc(',', out);
    if (!run->foreign)
        fprintf(out, "%" PRIu32, run->repeats);
    put_known_ms(out, !run->profiled, run->analysis.time_ns);
    put_known_ms(out, !run->foreign, run->issue_ns);
    put_text(out, !limited ? "" : limit_cause_name(run->limit.cause));
    put_real(out, run->has_result ? run->result : NAN, 17);
    put_plan_fields(out, run);
    put_known_ms(out, run->predicted_ns > 0, run->predicted_ns);
    if (columns.rated)
        put_real(out, report_gflops(run), 9);
    if (columns.peers)
        put_engine(out, run, ENGINE_PEER);
    if (columns.halo)
        put_real(out, report_exchanges(run) ? run->analysis.peers_hidden : NAN, 9);
    if (run->compared != NULL)
        put_compared(out, run->compared);
    settings_each_of(run->settings, columns.shown,
                     run->foreign ? put_setting_nothing : put_setting_value, out);
    putc('\n', out);
}

enum status write_csv_report(FILE *out, const struct report *report)
{
    const struct run_report *first = report->run_count > 0 ? &report->runs[0] : NULL;
    const struct columns columns = columns_of(report);
    put_report_header(out, first, columns);
    for (int i = 0; i < report->run_count; i++)
        put_report_row(out, &report->runs[i], columns);
    return STATUS_OK;
}
